/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/authorize.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/wiped.h"
#include "io/clock.h"
#include "mcp/ask.h"
#include "mcp/login.h"

#define CHANCE_SIZE 32
/* What every server knows, so that it says what it wants. */
#define PROBE                                                                              \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"             \
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":" \
	"\"thole\",\"version\":\"" TH_VERSION "\"}}}"

enum stage { PROBED, RESOURCE, SERVER, REGISTERED, VISITED, TOKEN, OVER };

struct th_mcp_authorize {
	struct th_mcp_authorize_spec spec;
	struct th_arena memory;
	enum stage stage;
	struct th_mcp_ask ask;
	struct th_mcp_login login; /* of before, and what becomes of it */
	struct th_oauth_challenge challenge;
	struct th_oauth_resource resource;
	struct th_oauth_server server;
	struct th_oauth_client client;
	struct th_oauth_ask question;
	struct th_str before; /* the scope that was granted by this server before */
	bool given;           /* the client is no registration of ours */
	size_t place;
	struct th_timer end;
	struct th_err err;
};

/* ---- its end -------------------------------------------------------------------------------- */

static void on_end(void *ctx)
{
	struct th_mcp_authorize *a = (struct th_mcp_authorize *)ctx;

	a->spec.done(a->spec.ctx, a->err.code ? &a->err : NULL);
}

static void end(struct th_mcp_authorize *a, const struct th_err *err)
{
	a->stage = OVER;
	if (err)
		a->err = *err;
	th_timer_start(&a->end, 0, 0);
}

TH_PRINTF(3, 4)
static void fail(struct th_mcp_authorize *a, enum th_code code, const char *fmt, ...)
{
	struct th_err err = {};
	va_list args;

	va_start(args, fmt);
	err.code = code;
	vsnprintf(err.msg, sizeof(err.msg), fmt, args);
	va_end(args);
	end(a, &err);
}

/* ---- the token ------------------------------------------------------------------------------ */

/* What is known before the token: a renewal needs it, too. */
static void note_client(struct th_mcp_authorize *a)
{
	struct th_mcp_login *l = &a->login;

	l->issuer = a->server.issuer;
	l->token_at = a->server.token;
	l->resource = a->resource.resource;
	l->scope = a->question.scope;
	l->redirect = a->spec.redirect;
	l->client_id = a->client.id;
	l->key_file = a->spec.key_file;
	l->method = a->client.method;
	l->given = a->given;
	l->by_client = a->spec.by_client;
	l->access = th_secret_free(l->access);
	l->refresh = th_secret_free(l->refresh);
	l->client_secret = th_secret_free(l->client_secret);
	if (a->client.secret.len)
		l->client_secret = th_secret_new(a->client.secret);
}

static void ask_for_token(struct th_mcp_authorize *a, struct th_str code)
{
	struct th_buf body = TH_BUF_INIT(8 * TH_OAUTH_TOKEN_MAX);
	struct th_buf authorization = TH_BUF_INIT(16 * TH_OAUTH_TEXT_MAX);
	struct th_buf assertion = TH_BUF_INIT(TH_OAUTH_TOKEN_MAX);
	struct th_oauth_request q = {
		.grant = a->spec.by_client ? TH_OAUTH_CLIENT : TH_OAUTH_CODE,
		.client = &a->client,
		.code = code,
		.verifier = a->question.verifier,
		.redirect = a->spec.redirect,
		.scope = a->spec.by_client ? a->question.scope : TH_STR(""),
		.resource = a->resource.resource,
	};
	struct th_err err = {};

	a->stage = TOKEN;
	note_client(a);
	if (a->client.method == TH_OAUTH_JWT &&
	    th_mcp_login_assertion(&a->login, (int64_t)(th_clock_wall_ms() / 1000), &assertion,
				   &err)) {
		end(a, &err);
	} else {
		q.assertion = th_buf_str(&assertion);
		th_oauth_request_put(&q, &body, &authorization);
		th_mcp_ask_start(&a->ask, a->server.token, "application/x-www-form-urlencoded",
				 th_buf_str(&body), th_buf_str(&authorization));
	}
	th_buf_wipe(&body);
	th_buf_wipe(&authorization);
	th_buf_deinit(&assertion);
}

static void take_token(struct th_mcp_authorize *a, int status)
{
	struct th_oauth_tokens tokens;
	struct th_err err = {};
	enum th_code code =
	    th_oauth_tokens_read(status, th_buf_str(&a->ask.answer), &a->memory, &tokens, &err);

	if (!code) {
		th_mcp_login_take(&a->login, &tokens, (int64_t)(th_clock_wall_ms() / 1000));
		code = th_mcp_login_write(&a->login, &err);
	}
	end(a, code ? &err : NULL);
}

/* ---- the person's way ----------------------------------------------------------------------- */

static struct th_str chance(struct th_mcp_authorize *a)
{
	struct th_buf text = TH_BUF_INIT(2 * CHANCE_SIZE);
	unsigned char bytes[CHANCE_SIZE];
	struct th_str ret;

	th_random(bytes, sizeof(bytes));
	th_oauth_base64(&text, bytes, sizeof(bytes));
	ret = th_arena_str(&a->memory, th_buf_str(&text));
	th_buf_deinit(&text);
	return ret;
}

static void choose_scope(struct th_mcp_authorize *a)
{
	struct th_buf scope = TH_BUF_INIT(4 * TH_OAUTH_TEXT_MAX);

	if (a->spec.scope.len)
		th_buf_add(&scope, a->spec.scope);
	else
		th_oauth_scope_put(&a->server, a->challenge.scope, a->resource.scopes, a->before,
				   &scope);
	a->question.scope = th_arena_str(&a->memory, th_buf_str(&scope));
	th_buf_deinit(&scope);
}

static void visit(struct th_mcp_authorize *a)
{
	struct th_buf url = TH_BUF_INIT(16 * TH_OAUTH_TEXT_MAX);

	a->question = (struct th_oauth_ask){
		.server = &a->server,
		.client_id = a->client.id,
		.redirect = a->spec.redirect,
		.resource = a->resource.resource,
		.scope = a->question.scope,
		.state = chance(a),
		.verifier = chance(a),
	};
	th_oauth_authorize_put(&a->question, &url);
	if (th_buf_check(&url, "the address of the login", &a->err)) {
		end(a, NULL);
	} else {
		a->stage = VISITED;
		a->spec.visit(a->spec.ctx, th_buf_str(&url));
	}
	th_buf_deinit(&url);
}

enum th_code th_mcp_authorize_answer(struct th_mcp_authorize *a, struct th_str query,
				     struct th_err *err)
{
	struct th_arena scratch TH_CLEANUP(th_arena_deinit) = {};
	struct th_str text;
	enum th_code code;

	if (a->stage != VISITED)
		return th_fail(err, TH_EPROTO, "no answer to a login is waited for");
	th_arena_init(&scratch,
		      8 * TH_OAUTH_TOKEN_MAX); /* any page may guess, any number of times */
	code = th_oauth_redirect_read(query, &a->question, &scratch, &text, err);
	if (!code)
		ask_for_token(a, text);
	else if (code != TH_EPROTO)
		end(a, err);
	return code;
}

/* ---- the client ----------------------------------------------------------------------------- */

static bool is_known(const struct th_mcp_authorize *a)
{
	const struct th_mcp_login *l = &a->login;

	return l->client_id.len && th_str_eq(l->issuer, a->server.issuer) &&
	       (l->given || th_str_eq(l->redirect, a->spec.redirect));
}

static void go_on(struct th_mcp_authorize *a)
{
	if (a->spec.by_client)
		ask_for_token(a, TH_STR(""));
	else
		visit(a);
}

static void take_registration(struct th_mcp_authorize *a, int status)
{
	struct th_err err = {};

	if (status / 100 != 2)
		fail(a, TH_EPERM,
		     "the authorization server did not register this client (HTTP status %d); "
		     "register one there and name it with --client-id",
		     status);
	else if (th_oauth_registration_read(th_buf_str(&a->ask.answer), &a->server, &a->memory,
					    &a->client, &err))
		end(a, &err);
	else
		go_on(a);
}

static void take_given_client(struct th_mcp_authorize *a)
{
	const struct th_mcp_authorize_spec *s = &a->spec;

	a->given = true;
	a->client = (struct th_oauth_client){
		.id = s->client_id,
		.secret = s->client_secret,
		.method = s->key_file.len
			      ? TH_OAUTH_JWT
			      : th_oauth_method_of(&a->server, s->client_secret.len > 0),
	};
}

/* A secret goes to the authorization server that it went to before: a server of tools may not name
 * another one to get it. */
static bool is_elsewhere(const struct th_mcp_authorize *a)
{
	const struct th_mcp_login *l = &a->login;

	return a->spec.client_secret.len && l->issuer.len &&
	       th_str_eq(l->client_id, a->spec.client_id) &&
	       !th_str_eq(l->issuer, a->server.issuer);
}

static void choose_client(struct th_mcp_authorize *a)
{
	struct th_buf body = TH_BUF_INIT(8 * TH_OAUTH_TEXT_MAX);

	choose_scope(a);
	if (is_elsewhere(a)) {
		fail(a, TH_EPERM,
		     "the server names another authorization server than before, which would get "
		     "the client's secret: if that is right, thole mcp logout comes first");
		return;
	}
	if (a->spec.client_id.len) {
		take_given_client(a);
	} else if (a->server.has_documents && a->spec.client_document.len) {
		a->given = true;
		a->client = (struct th_oauth_client){ .id = a->spec.client_document };
	} else if (is_known(a)) {
		struct th_oauth_client c = th_mcp_login_client(&a->login);

		a->given = a->login.given;
		a->client =
		    (struct th_oauth_client){ th_arena_str(&a->memory, c.id),
					      th_arena_str(&a->memory, c.secret), c.method };
		if (!a->spec.key_file.len)
			a->spec.key_file = th_arena_str(&a->memory, a->login.key_file);
	} else if (a->server.registration.len) {
		a->stage = REGISTERED;
		th_oauth_registration_put(&a->server, a->spec.redirect, &body);
		th_mcp_ask_start(&a->ask, a->server.registration, "application/json",
				 th_buf_str(&body), TH_STR(""));
		th_buf_deinit(&body);
		return;
	} else {
		fail(a, TH_EUSAGE,
		     "the authorization server registers no clients by itself: register one there, "
		     "with the redirect %.*s, and name it with --client-id",
		     TH_FMT(a->spec.redirect));
		return;
	}
	go_on(a);
}

/* ---- documents ------------------------------------------------------------------------------ */

static void ask_for_place(struct th_mcp_authorize *a);

static void take_server(struct th_mcp_authorize *a, int status)
{
	struct th_err err = {};

	if (status / 100 != 2) {
		a->place++;
		ask_for_place(a);
		return;
	}
	if (th_oauth_server_read(th_buf_str(&a->ask.answer), a->resource.issuer, &a->memory,
				 &a->server, &err)) {
		end(a, &err);
		return;
	}
	if (!a->spec.by_client && (!a->server.has_s256 || !a->server.authorize.len)) {
		fail(a, TH_EUNSUPPORTED,
		     "the authorization server says of itself no login that is safe for a program "
		     "(PKCE with S256)");
		return;
	}
	choose_client(a);
}

static void find_server(struct th_mcp_authorize *a)
{
	a->stage = SERVER;
	a->place = 0;
	ask_for_place(a);
}

static void take_resource(struct th_mcp_authorize *a, int status)
{
	struct th_err err = {};

	if (status / 100 != 2) {
		a->place++;
		ask_for_place(a);
	} else if (th_oauth_resource_read(th_buf_str(&a->ask.answer), a->spec.url, &a->memory,
					  &a->resource, &err)) {
		end(a, &err);
	} else {
		find_server(a);
	}
}

/* The next place of the document that is looked for. */
static void ask_for_place(struct th_mcp_authorize *a)
{
	struct th_buf url = TH_BUF_INIT(4 * TH_OAUTH_TEXT_MAX);
	bool is_named = a->stage == RESOURCE && a->challenge.metadata.len;
	bool found;

	if (is_named) {
		found = a->place == 0;
		th_buf_add(&url, a->challenge.metadata);
	} else {
		found = a->stage == RESOURCE
			    ? th_oauth_resource_place(a->spec.url, a->place, &url)
			    : th_oauth_issuer_place(a->resource.issuer, a->place, &url);
	}
	if (found) {
		th_mcp_ask_start(&a->ask, th_buf_str(&url), "", TH_STR(""), TH_STR(""));
	} else if (is_named) { /* what it said may be old: the usual places */
		a->challenge.metadata = TH_STR("");
		a->place = 0;
		ask_for_place(a);
	} else if (a->stage == RESOURCE) {
		/* As in 2025-03-26: the server is its own authorization server. */
		a->resource.resource = a->spec.url;
		a->resource.issuer = th_oauth_origin(a->spec.url);
		find_server(a);
	} else {
		fail(a, TH_EPROTO,
		     "no authorization server was found: the server wants no login of this kind, "
		     "or a token that you set with token_env");
	}
	th_buf_deinit(&url);
}

static void find_resource(struct th_mcp_authorize *a)
{
	a->stage = RESOURCE;
	a->place = 0;
	if (a->challenge.metadata.len && !th_oauth_is_safe(a->challenge.metadata))
		fail(a, TH_EPROTO,
		     "the server names a document about its tokens that is not at an https "
		     "address");
	else
		ask_for_place(a);
}

static void take_probe(struct th_mcp_authorize *a, int status)
{
	if (status == 401 || status == 403)
		(void)th_oauth_challenge_read(th_buf_str(&a->ask.challenge), &a->memory,
					      &a->challenge);
	find_resource(a);
}

static void on_answer(void *ctx, int status, const struct th_err *err)
{
	struct th_mcp_authorize *a = (struct th_mcp_authorize *)ctx;

	if (!status) {
		end(a, err);
		return;
	}
	switch (a->stage) {
	case PROBED:
		take_probe(a, status);
		break;
	case RESOURCE:
		take_resource(a, status);
		break;
	case SERVER:
		take_server(a, status);
		break;
	case REGISTERED:
		take_registration(a, status);
		break;
	case TOKEN:
		take_token(a, status);
		break;
	case VISITED:
	case OVER:
		break;
	}
}

/* ---- its start ------------------------------------------------------------------------------ */

static bool copy_spec(struct th_mcp_authorize *a, const struct th_mcp_authorize_spec *s)
{
	struct th_str *texts[] = { &a->spec.url,       &a->spec.redirect,
				   &a->spec.client_id, &a->spec.client_secret,
				   &a->spec.key_file,  &a->spec.client_document,
				   &a->spec.scope };

	a->spec = *s;
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		if (texts[i]->len > TH_OAUTH_TEXT_MAX)
			return false;
		*texts[i] = th_arena_str(&a->memory, *texts[i]);
	}
	return true;
}

/* What the login before has: a registration, the granted scope, and what the server wants since. */
static void begin(struct th_mcp_authorize *a)
{
	const struct th_mcp_login *l = &a->login;

	if (l->access)
		a->before = th_arena_str(&a->memory, l->scope);
	if (l->noted) {
		a->challenge.metadata = th_arena_str(&a->memory, l->note_metadata);
		a->challenge.scope = th_arena_str(&a->memory, l->note_scope);
		find_resource(a);
		return;
	}
	a->stage = PROBED;
	th_mcp_ask_start(&a->ask, a->spec.url, "application/json", TH_STR(PROBE), TH_STR(""));
}

enum th_code th_mcp_authorize_new(const struct th_mcp_authorize_spec *spec,
				  struct th_mcp_authorize **ret, struct th_err *err)
{
	struct th_mcp_authorize *a = (struct th_mcp_authorize *)th_alloc(sizeof(*a));

	th_arena_init(&a->memory, 16 * TH_OAUTH_JSON_MAX);
	th_mcp_ask_init(&a->ask, spec->loop, spec->fetcher, on_answer, a);
	th_timer_init(&a->end, spec->loop, on_end, a);
	th_mcp_login_init(&a->login, spec->url);
	if (!copy_spec(a, spec) || (spec->by_client && !spec->client_id.len) ||
	    (spec->key_file.len && !spec->client_id.len)) {
		th_mcp_authorize_free(a);
		return th_fail(err, TH_EUSAGE,
			       "a login as a client of one's own needs its name (--client-id), "
			       "and nothing of more than %zu bytes",
			       TH_OAUTH_TEXT_MAX);
	}
	(void)!th_mcp_login_read(&a->login, NULL); /* there may be none */
	begin(a);
	*ret = a;
	return TH_OK;
}

struct th_mcp_authorize *th_mcp_authorize_free(struct th_mcp_authorize *a)
{
	if (!a)
		return NULL;
	th_timer_stop(&a->end);
	th_mcp_ask_deinit(&a->ask);
	th_mcp_login_deinit(&a->login);
	th_arena_deinit(&a->memory);
	free(a);
	return NULL;
}
