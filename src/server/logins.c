/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.c - people in a browser: the code of a link, or a token, for a cookie.
 *
 * No script can read the cookie, and no other site's page can have it sent.
 * The file of tokens has its digest alone, so a login outlives the server and
 * ends by `thole token revoke`, too.
 */
#include <stdio.h>

#include "base/wiped.h"
#include "io/clock.h"
#include "server/service.h"

// clang-format off
#define TH_FIELDS_login(F)                                                                          \
	F(login, str, code, "code", TH_NONEMPTY, "of a link that thole serve or thole token link printed; good once") \
	F(login, str, token, "token", TH_NONEMPTY, "or a token")
// clang-format on
TH_STRUCT(login)
TH_TABLE(login, "login", false)

/* ---- answers ---- */

static void put_who(const char *user, unsigned scopes, int64_t expires_ms, struct th_buf *out)
{
	struct th_buf names TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(out);
	struct th_str rest;

	th_scopes_print(scopes, &names);
	rest = th_buf_str(&names);
	th_jw_object(&w);
	th_jw_kstr(&w, "user", th_str_of(user));
	th_jw_name(&w, TH_STR("scopes"));
	th_jw_array(&w);
	while (rest.len)
		th_jw_str(&w, th_str_split(&rest, ','));
	th_jw_array_end(&w);
	if (expires_ms)
		th_jw_kint(&w, "expires_ms", expires_ms);
	th_jw_object_end(&w);
}

/* `value` empty: the browser forgets it. */
static void put_cookie(const struct th_access *a, struct th_str value, struct th_buf *headers)
{
	th_buf_printf(headers,
		      "Cache-Control: no-store\r\nSet-Cookie: " TH_LOGIN_COOKIE
		      "=%.*s; Path=/; HttpOnly; "
		      "SameSite=Strict; Max-Age=%lld%s\r\n",
		      TH_FMT(value), value.len ? (long long)(TH_LOGIN_MS / 1000) : 0LL,
		      th_guard_https(a) ? "; Secure" : "");
}

/* ---- in ---- */

struct exchange {
	const struct th_tokens *known; /* of the server, the file of plain tokens included */
	struct th_str code, token;
	struct th_token login;
	struct th_buf text; /* the cookie */
};

/* Who brings this code or token; a code is used up. */
static bool whose(struct exchange *x, struct th_tokens *t, struct th_token *ret)
{
	const struct th_token *key;
	struct th_err err = {};

	if (x->token.len) {
		key = th_tokens_find(x->known, x->token);
		if (key)
			*ret = *key;
		return key;
	}
	return th_tokens_find_of(t, TH_TOKEN_CODE, x->code, (int64_t)th_clock_wall_ms(), ret) &&
	       th_tokens_revoke(t, th_str_of(ret->id), &err) == TH_OK;
}

static enum th_code exchange(void *ctx, struct th_tokens *t, struct th_err *err)
{
	struct exchange *x = ctx;
	struct th_token row;
	enum th_code code;

	if (!whose(x, t, &row))
		return th_fail(err, TH_EPERM,
			       x->code.len ? "the code of the link is used or too old; thole token "
					     "link makes another"
					   : "there is no such token");
	code = th_tokens_new_for(t, TH_TOKEN_LOGIN, th_str_of(row.user), row.scopes,
				 x->token.len ? row.id : "", TH_LOGIN_MS, &x->text, err);
	if (!code)
		x->login = t->list[t->count - 1];
	return code;
}

static void fail(struct th_access *a, enum th_code code, const struct th_err *err)
{
	if (code == TH_EPERM)
		a->server->metrics.refused_tokens++;
	th_access_fail(a, code == TH_EPERM ? 401 : 503, code == TH_EPERM ? "invalid_login" : NULL,
		       "%s", err->msg);
}

/* The next request looks at the file again, in this pass of the loop, too. */
static enum th_code change(struct th_server *s, th_tokens_change_fn *fn, void *ctx,
			   struct th_err *err)
{
	char path[TH_PATH_LEN_MAX];

	snprintf(path, sizeof(path), "%.*s", TH_FMT(s->o.token_store));
	s->tokens_pass = 0;
	return th_tokens_change(path, false, fn, ctx, err);
}

static void log_in(struct th_access *a, const struct th_login *body)
{
	struct th_buf headers TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_KIB);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct exchange x = {
		.known = th_guard_tokens(a->server),
		.code = body->code,
		.token = body->token,
		.text = TH_BUF_INIT(TH_KIB),
	};
	struct th_err err = {};
	enum th_code code;

	if (!th_guard_stranger(a))
		return;
	code = change(a->server, exchange, &x, &err);
	if (code) {
		fail(a, code, &err);
	} else {
		snprintf(a->user, sizeof(a->user), "%s", x.login.user);
		put_cookie(a, th_buf_str(&x.text), &headers);
		put_who(x.login.user, x.login.scopes, x.login.expires_ms, &json);
		th_http_reply(a->request, 200, "application/json", th_buf_str(&headers),
			      th_buf_str(&json));
	}
	th_buf_wipe(&x.text);
}

void th_api_login(struct th_access *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_login body;
	struct th_err err = {};

	th_arena_init(&memory, TH_SERVE_SMALL_MAX);
	doc = th_access_body(a);
	if (!doc)
		return;
	if (th_table_parse(&th_login_table, th_json_root(doc), &memory, &body, &err) != TH_OK)
		th_access_fail(a, 400, "invalid_body", "%s", err.msg);
	else if (!body.code.len == !body.token.len)
		th_access_fail(a, 400, "invalid_body", "a login has a code or a token");
	else
		log_in(a, &body);
}

/* ---- out ---- */

static enum th_code forget(void *ctx, struct th_tokens *t, struct th_err *err)
{
	const struct th_str *cookie = ctx;
	struct th_token row;

	/* One that is gone already is no mistake of who wants it gone. */
	if (!th_tokens_find_of(t, TH_TOKEN_LOGIN, *cookie, 0, &row))
		return TH_OK;
	return th_tokens_revoke(t, th_str_of(row.id), err);
}

void th_api_logout(struct th_access *a)
{
	struct th_buf headers TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str cookie = th_guard_cookie(a);
	struct th_err err = {};
	enum th_code code = TH_OK;

	if (cookie.len)
		code = change(a->server, forget, &cookie, &err);
	if (code) {
		fail(a, TH_EBUSY, &err);
		return;
	}
	put_cookie(a, (struct th_str){ NULL, 0 }, &headers);
	th_http_reply(a->request, 204, NULL, th_buf_str(&headers), (struct th_str){ NULL, 0 });
}

void th_api_me(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	put_who(a->user, a->scopes, a->login_ms, &json);
	th_access_json(a, 200, &json);
}
