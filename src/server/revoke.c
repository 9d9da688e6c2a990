/* SPDX-License-Identifier: Apache-2.0 */
/*
 * revoke.c - a token that is revoked, or a login that is over, ends what was
 * opened with it: streams, WebSockets, and requests that wait for their answer.
 */
#include "io/clock.h"
#include "server/service.h"

static const char why[] = "the token or login that this was opened with is no good any more";

/* Whether who asked may still have what he asked for. */
static bool may(struct th_access *a, int64_t now_ms)
{
	struct th_token t;

	if (a->login_ms && a->login_ms <= now_ms)
		return false;
	if (a->tokens_version == a->server->tokens_version)
		return true;
	a->tokens_version = a->server->tokens_version;
	if (!th_tokens_holds(&a->server->tokens, &a->token, now_ms, &t) ||
	    strcmp(t.user, a->user) != 0 || !(t.scopes & a->scope))
		return false;
	a->scopes &= t.scopes;
	return true;
}

/* In the words of the APIs that have streams; who reads another one passes it over. */
static void say(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_buf error TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&json);

	th_error_print(401, "invalid_api_key", why, &error);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("error"));
	th_jw_kint(&w, "status", 401);
	th_jw_kraw(&w, "error", th_json_raw_get(th_buf_str(&error), "error"));
	th_jw_object_end(&w);
	if (th_http_is_socket(a->request)) {
		(void)!th_http_send(a->request, th_buf_str(&json), true);
		return;
	}
	th_buf_printf(&frame, "event: error\ndata: %s\n\n", json.ptr);
	(void)!th_http_write(a->request, th_buf_str(&frame));
}

/* Its owner lets go of it as if the peer had left. */
static void end(struct th_access *a)
{
	struct th_http_request *r = a->request;
	th_access_fn *gone = a->gone;

	a->server->metrics.refused_tokens++;
	a->gone = NULL;
	a->room = NULL;
	a->message = NULL;
	th_needs_forget(&a->needs);
	gone(a);
	if (th_http_is_socket(r)) {
		say(a);
		th_http_close(r, 1008);
	} else if (th_http_is_events(r)) {
		say(a);
		th_http_end(r);
	} else if (th_http_is_begun(r)) {
		th_http_abort(r);
	} else {
		th_access_fail(a, 401, "invalid_api_key", "%s", why);
	}
}

void th_revoke_sweep(struct th_server *s)
{
	int64_t now_ms = (int64_t)th_clock_wall_ms();
	struct th_access *over = NULL, *next;

	(void)th_guard_tokens(s); /* its file may have changed */
	/* To end one may end others, so they stand in a list of their own meanwhile. */
	for (struct th_access *a = s->callers; a; a = next) {
		next = a->next;
		if (!a->gone || may(a, now_ms)) /* without: it is over at once */
			continue;
		th_access_unlink(a);
		th_access_link(a, &over);
	}
	while (over) {
		struct th_access *a = over;

		th_access_unlink(a);
		if (a->gone)
			end(a);
	}
}
