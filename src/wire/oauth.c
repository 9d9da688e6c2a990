/* SPDX-License-Identifier: Apache-2.0 */
/* oauth.c - what we say: registrations, the address for the person, requests for tokens. */
#include "wire/oauth.h"

#include "base/codec.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "base/wiped.h"
#include "wire/percent.h"

#define NAME "thole"
#define JWT_LIFE_S 120

void th_oauth_base64(struct th_buf *out, const void *ptr, size_t len)
{
	size_t from = out->len;

	th_base64_encode(out, ptr, len);
	for (size_t i = from; i < out->len; i++) {
		if (out->ptr[i] == '+')
			out->ptr[i] = '-';
		else if (out->ptr[i] == '/')
			out->ptr[i] = '_';
	}
	while (out->len > from && out->ptr[out->len - 1] == '=')
		th_buf_truncate(out, out->len - 1);
}

/* ---- clients -------------------------------------------------------------------------------- */

void th_oauth_registration_put(const struct th_oauth_server *s, struct th_str redirect,
			       struct th_buf *out)
{
	enum th_oauth_method method =
	    s->methods & 1u << TH_OAUTH_NONE ? TH_OAUTH_NONE : th_oauth_method_of(s, true);
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "client_name", TH_STR(NAME));
	th_jw_kstr(&w, "application_type", TH_STR("native"));
	th_jw_name(&w, TH_STR("redirect_uris"));
	th_jw_array(&w);
	th_jw_str(&w, redirect);
	th_jw_array_end(&w);
	th_jw_kraw(&w, "grant_types", TH_STR("[\"authorization_code\",\"refresh_token\"]"));
	th_jw_kraw(&w, "response_types", TH_STR("[\"code\"]"));
	th_jw_kstr(&w, "token_endpoint_auth_method", th_str_of(th_oauth_methods[method]));
	th_jw_object_end(&w);
}

/* ---- the person's way ----------------------------------------------------------------------- */

static bool has_word(struct th_str words, struct th_str word)
{
	while (words.len)
		if (th_str_eq(th_str_split(&words, ' '), word))
			return true;
	return false;
}

static void add_words(struct th_buf *out, struct th_str words)
{
	while (words.len) {
		struct th_str word = th_str_split(&words, ' ');

		if (!word.len || has_word(th_buf_str(out), word))
			continue;
		th_buf_add_cstr(out, out->len ? " " : "");
		th_buf_add(out, word);
	}
}

void th_oauth_scope_put(const struct th_oauth_server *s, struct th_str challenge,
			struct th_str resource, struct th_str before, struct th_buf *out)
{
	add_words(out, before);
	add_words(out, challenge.len ? challenge : resource);
	if (out->len && has_word(s->scopes, TH_STR("offline_access")))
		add_words(out, TH_STR("offline_access"));
}

static void add_member(struct th_buf *out, bool first, const char *name, struct th_str value)
{
	if (!value.len)
		return;
	th_buf_add_cstr(out, first ? "" : "&");
	th_buf_add_cstr(out, name);
	th_buf_add_char(out, '=');
	th_percent_encode(value, out);
}

void th_oauth_authorize_put(const struct th_oauth_ask *ask, struct th_buf *out)
{
	struct th_digest digest = th_sha256_of(ask->verifier.ptr, ask->verifier.len);
	struct th_buf challenge = TH_BUF_INIT(64);

	th_oauth_base64(&challenge, digest.bytes, sizeof(digest.bytes));
	th_buf_add(out, ask->server->authorize);
	th_buf_add_char(out, th_str_find_char(ask->server->authorize, '?') >= 0 ? '&' : '?');
	add_member(out, true, "response_type", TH_STR("code"));
	add_member(out, false, "client_id", ask->client_id);
	add_member(out, false, "redirect_uri", ask->redirect);
	add_member(out, false, "scope", ask->scope);
	add_member(out, false, "state", ask->state);
	add_member(out, false, "code_challenge", th_buf_str(&challenge));
	add_member(out, false, "code_challenge_method", TH_STR("S256"));
	add_member(out, false, "resource", ask->resource);
	th_buf_deinit(&challenge);
}

enum member { MEMBER_NONE, MEMBER_GOOD, MEMBER_BAD }; /* bad: twice, empty or not well formed */

/* A member of a form; *ret is empty unless it is good. */
static enum member take_member(struct th_str form, const char *name, struct th_arena *a,
			       struct th_str *ret)
{
	struct th_buf plain = TH_BUF_INIT(TH_OAUTH_TOKEN_MAX);
	int found = 0;

	*ret = (struct th_str){ NULL, 0 };
	while (form.len) {
		struct th_str value = th_str_split(&form, '&');
		struct th_str key = th_str_split(&value, '=');

		if (!th_str_is(key, name))
			continue;
		found++;
		th_buf_clear(&plain);
		for (size_t i = 0; i < value.len; i++) {
			struct th_str at = th_str_sub(value, i, value.ptr[i] == '%' ? 3 : 1);

			if (value.ptr[i] == '+')
				at = TH_STR(" ");
			if (!th_percent_decode(at, &plain))
				found = 2;
			i += value.ptr[i] == '%' ? 2 : 0;
		}
	}
	if (found == 1 && !plain.failed)
		*ret = th_arena_str(a, th_buf_str(&plain));
	th_buf_deinit(&plain);
	return !found ? MEMBER_NONE : ret->len > 0 ? MEMBER_GOOD : MEMBER_BAD;
}

static enum th_code redirect_refused(struct th_str error, struct th_str more, struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_KIB);

	th_text_line(&text, th_utf8_cut(error, 100), 100);
	if (more.len) {
		th_buf_add_cstr(&text, ": ");
		th_text_line(&text, th_utf8_cut(more, 300), 300);
	}
	th_fail(err, TH_EPERM, "the login was refused (%s)", text.ptr);
	th_buf_deinit(&text);
	return TH_EPERM;
}

enum th_code th_oauth_redirect_read(struct th_str query, const struct th_oauth_ask *ask,
				    struct th_arena *a, struct th_str *ret_code, struct th_err *err)
{
	struct th_str state, iss, error, more;
	enum member issuer, refusal;
	ptrdiff_t at = th_str_find_char(query, '?');

	if (at >= 0)
		query = th_str_sub(query, (size_t)at + 1, query.len);
	query = th_str_split(&query, '#');
	if (take_member(query, "state", a, &state) != MEMBER_GOOD || !th_str_eq(state, ask->state))
		return th_fail(err, TH_EPROTO, "that is no answer to this login");
	/* Before anything else is believed: a code of another server must not go to this one. */
	issuer = take_member(query, "iss", a, &iss);
	if (issuer == MEMBER_NONE ? ask->server->says_issuer : !th_str_eq(iss, ask->server->issuer))
		return th_fail(err, TH_EPROTO,
			       "the login was answered by another authorization server than the "
			       "one asked");
	refusal = take_member(query, "error", a, &error);
	if (refusal != MEMBER_NONE) {
		(void)take_member(query, "error_description", a, &more);
		return redirect_refused(error, more, err);
	}
	if (take_member(query, "code", a, ret_code) != MEMBER_GOOD)
		return th_fail(err, TH_EPROTO, "the answer to this login has no code");
	return TH_OK;
}

/* ---- tokens --------------------------------------------------------------------------------- */

static void put_basic(const struct th_oauth_client *c, struct th_buf *out)
{
	struct th_buf pair = TH_BUF_INIT(8 * TH_OAUTH_TEXT_MAX);

	th_percent_encode(c->id, &pair);
	th_buf_add_char(&pair, ':');
	th_percent_encode(c->secret, &pair);
	th_buf_add_cstr(out, "Basic ");
	th_base64_encode(out, pair.ptr, pair.len);
	th_buf_wipe(&pair);
}

void th_oauth_request_put(const struct th_oauth_request *r, struct th_buf *body,
			  struct th_buf *authorization)
{
	static const char *const grants[] = { "authorization_code", "refresh_token",
					      "client_credentials" };

	add_member(body, true, "grant_type", th_str_of(grants[r->grant]));
	if (r->grant == TH_OAUTH_CODE) {
		add_member(body, false, "code", r->code);
		add_member(body, false, "redirect_uri", r->redirect);
		add_member(body, false, "code_verifier", r->verifier);
	} else {
		add_member(body, false, "refresh_token", r->refresh);
		add_member(body, false, "scope", r->scope);
	}
	add_member(body, false, "resource", r->resource);
	switch (r->client->method) {
	case TH_OAUTH_BASIC:
		put_basic(r->client, authorization);
		break;
	case TH_OAUTH_POST:
		add_member(body, false, "client_id", r->client->id);
		add_member(body, false, "client_secret", r->client->secret);
		break;
	case TH_OAUTH_JWT:
		add_member(body, false, "client_id", r->client->id);
		add_member(body, false, "client_assertion_type",
			   TH_STR("urn:ietf:params:oauth:client-assertion-type:jwt-bearer"));
		add_member(body, false, "client_assertion", r->assertion);
		break;
	case TH_OAUTH_NONE:
	case TH_OAUTH_METHOD_COUNT:
		add_member(body, false, "client_id", r->client->id);
		break;
	}
}

void th_oauth_assertion_put(struct th_str client_id, struct th_str audience, struct th_str id,
			    struct th_str algorithm, int64_t now_s, struct th_buf *out)
{
	struct th_buf head = TH_BUF_INIT(TH_KIB), claims = TH_BUF_INIT(8 * TH_OAUTH_TEXT_MAX);
	struct th_jw h = th_jw(&head), c = th_jw(&claims);

	th_jw_object(&h);
	th_jw_kstr(&h, "alg", algorithm);
	th_jw_kstr(&h, "typ", TH_STR("JWT"));
	th_jw_object_end(&h);
	th_jw_object(&c);
	th_jw_kstr(&c, "iss", client_id);
	th_jw_kstr(&c, "sub", client_id);
	th_jw_kstr(&c, "aud", audience);
	th_jw_kstr(&c, "jti", id);
	th_jw_kint(&c, "iat", now_s);
	th_jw_kint(&c, "exp", now_s + JWT_LIFE_S);
	th_jw_object_end(&c);
	th_oauth_base64(out, head.ptr, head.len);
	th_buf_add_char(out, '.');
	th_oauth_base64(out, claims.ptr, claims.len);
	th_buf_deinit(&head);
	th_buf_deinit(&claims);
}
