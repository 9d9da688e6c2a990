/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - a server at an address (streamable HTTP): each message is a POST; its answer
 * is one message, or a stream of events that has it.
 *
 * A request that may do something has a connection of its own and is sent once:
 * a kept connection that breaks makes clients send again.  What only looks shares the
 * connections of all sessions.  Redirects are not followed, so a token goes to the
 * address it was meant for.
 *
 * An older server (2024-11-05) has one stream for all its answers: http_old.c.
 *
 * Where a server closes a stream before the answer and has numbered its events
 * (revisions up to 2025-11-25), the stream is taken up again behind the last one.  With
 * a session of these revisions it speaks unasked on a stream of its own (GET).
 */
#include "mcp/http.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "io/variable.h"

#define TOKEN_MAX (16 * TH_KIB)

/* ---- what is sent --------------------------------------------------------------------------- */

static void send(struct th_mcp_process *p, struct th_str message)
{
	struct th_mcp_exchange *e;
	struct th_rpc m;
	int64_t id = 0;

	th_rpc_read(message, &m);
	if (p->client.era == TH_MCP_ERA_MODERN && th_str_is(m.method, "notifications/cancelled"))
		return; /* the stream is closed */
	e = th_mcp_exchange_new(p, message);
	if (m.kind == TH_RPC_REQUEST && th_str_i64(m.id, &id))
		e->id = (uint64_t)id;
	e->is_first = th_str_is(m.method, "server/discover") || th_str_is(m.method, "initialize");
	e->quiet = !e->id || th_str_is(m.method, "subscriptions/listen");
	e->once = th_mcp_exchange_acts(e, &m);
	th_mcp_http_dispatch(e);
}

void th_mcp_http_dispatch(struct th_mcp_exchange *e)
{
	struct th_mcp_http_channel *h = th_mcp_http_of(e->p);

	if (h->login && th_mcp_renew_due(h->login) && th_mcp_renew_start(h->login)) {
		e->waits = true;
	} else if (h->old && !h->endpoint.len && !e->carries) {
		e->waits_place = true;
		th_mcp_old_open(e->p);
	} else {
		th_mcp_exchange_start(e, e->carries, e->once);
	}
}

/* A server that has a session for us may speak unasked: questions, and changes of its lists. */
static void opened(struct th_mcp_process *p)
{
	struct th_mcp_exchange *e;

	if (p->client.era != TH_MCP_ERA_LEGACY || !th_mcp_http_of(p)->session[0])
		return;
	e = th_mcp_exchange_new(p, TH_STR(""));
	e->quiet = e->listens = true;
	th_mcp_exchange_start(e, true, false);
}

/* Sends what waited for a token; without one that was refused stays refused. */
static void on_renewed(void *ctx, bool good)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_mcp_http_channel *h = th_mcp_http_of(p);
	struct th_mcp_exchange *e = h->exchanges;

	while (e) {
		bool waits = e->waits;

		e->waits = false;
		if (!waits || p->stage == TH_MCP_DOOMED) {
			e = e->next;
			continue;
		}
		e->renewed |= e->status != 0;
		if ((good || !e->status) && h->old && !h->endpoint.len && !e->carries) {
			e->waits_place = true; /* its stream waited for the token, too */
			th_mcp_old_open(p);
		} else if (good || !e->status) {
			th_mcp_exchange_send_again(e);
		} else {
			th_mcp_exchange_refused(e);
			e = h->exchanges; /* it has gone, and others may have */
			continue;
		}
		e = e->next;
	}
}

static void cancelled(struct th_mcp_process *p, uint64_t id)
{
	for (struct th_mcp_exchange *e = th_mcp_http_of(p)->exchanges; e; e = e->next)
		if (e->id == id) {
			th_mcp_exchange_free(e);
			return;
		}
}

/* ---- its start and its end ------------------------------------------------------------------ */

static void exchanges_free(struct th_mcp_http_channel *h)
{
	while (h->exchanges)
		th_mcp_exchange_free(h->exchanges);
}

static void on_end(void *ctx)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct th_mcp_http_channel *h = th_mcp_http_of(p);

	exchanges_free(h);
	h->session[0] = '\0';
	th_buf_clear(&h->endpoint);
	th_mcp_process_over(p, &h->why);
}

static void stop(struct th_mcp_process *p, const struct th_err *why)
{
	th_mcp_http_of(p)->why = *why;
	th_timer_start(&th_mcp_http_of(p)->end, 0, 0);
}

static enum th_code copy_headers(struct th_mcp_process *p, struct th_mcp_http_channel *h,
				 const struct th_strs *headers, struct th_err *err)
{
	h->names = (const char **)th_arena_array(&p->memory, headers->count + 1, sizeof(*h->names));
	h->values =
	    (struct th_str *)th_arena_array(&p->memory, headers->count + 1, sizeof(*h->values));
	if (!h->names || !h->values || headers->count > TH_MCP_PATTERNS_MAX)
		return th_fail(err, TH_ELIMIT, "the server has too many headers");
	for (size_t i = 0; i < headers->count; i++) {
		struct th_str line = headers->list[i];
		struct th_str name = th_str_trim(th_str_split(&line, ':'));

		h->names[i] = th_arena_cstr(&p->memory, name);
		h->values[i] = th_arena_str(&p->memory, th_str_trim(line));
		if (!h->names[i] || !h->values[i].ptr)
			return th_fail(err, TH_ELIMIT, "the server's headers are too long");
	}
	h->header_count = headers->count;
	return TH_OK;
}

static enum th_code take_token(struct th_mcp_process *p, struct th_mcp_http_channel *h,
			       struct th_str variable, struct th_err *err)
{
	const char *value = th_variable(variable);

	if (!variable.len)
		return TH_OK;
	if (!value || !value[0] || strlen(value) > TOKEN_MAX)
		return th_fail(err, TH_EUSAGE,
			       "the environment variable %.*s, which has the token of the server "
			       "%.*s, is not set, or too long",
			       TH_FMT(th_utf8_cut(variable, 80)), TH_FMT(p->name));
	h->token = th_secret_new(th_str_of(value));
	return h->token ? TH_OK : th_fail_memory(err);
}

static enum th_code init(struct th_mcp_process *p, const struct th_mcp_process_spec *spec,
			 struct th_err *err)
{
	struct th_mcp_http_channel *h =
	    (struct th_mcp_http_channel *)TH_NEW(&p->memory, struct th_mcp_http_channel);
	enum th_code code;

	if (!p->env->fetcher)
		return th_fail(err, TH_EUNSUPPORTED,
			       "a server at an address is not called from here");
	if (!h)
		return th_fail(err, TH_ELIMIT, "the server's address is too long");
	*h = (struct th_mcp_http_channel){ .url = th_arena_cstr(&p->memory, spec->url) };
	th_timer_init(&h->end, p->env->loop, on_end, p);
	th_buf_init(&h->endpoint, 2 * TH_MCP_ENDPOINT_MAX);
	p->channel = h;
	code = h->url ? copy_headers(p, h, &spec->headers, err)
		      : th_fail(err, TH_EUSAGE, "the server's address cannot be used");
	code = code ?: take_token(p, h, spec->token_env, err);
	if (!code && !h->token)
		h->login =
		    th_mcp_renew_new(p->env->loop, p->env->fetcher, spec->url, on_renewed, p);
	return code;
}

static enum th_code start(struct th_mcp_process *p, struct th_err *err)
{
	(void)p;
	(void)err;
	return TH_OK;
}

/* A session that the server keeps for us is over: it is told, and nobody waits for its answer. */
static void end_session(struct th_mcp_process *p, struct th_mcp_http_channel *h)
{
	struct th_fetch_header list[TH_MCP_HEADERS_OWN + TH_MCP_PATTERNS_MAX];
	struct th_fetch_request r = {
		.method = "DELETE",
		.url = th_str_of(h->url),
		.headers = list,
		.secret = th_mcp_http_token(h),
		.connect_ms = TH_MODEL_CONNECT_MS,
		.total_ms = TH_MCP_DISCOVER_MS,
	};
	struct th_fetch_id id;
	size_t count = 0;

	th_mcp_http_add(list, &count, "Mcp-Session-Id", th_str_of(h->session));
	th_mcp_http_add(list, &count, "MCP-Protocol-Version", th_str_of(p->client.revision));
	for (size_t i = 0; i < h->header_count; i++)
		th_mcp_http_add(list, &count, h->names[i], h->values[i]);
	r.header_count = count;
	(void)!th_fetch_start(p->env->fetcher, &r, &id, NULL);
}

static void free_(struct th_mcp_process *p)
{
	struct th_mcp_http_channel *h = th_mcp_http_of(p);

	if (!h)
		return;
	exchanges_free(h);
	th_timer_stop(&h->end);
	if (h->session[0] && h->url)
		end_session(p, h);
	th_buf_deinit(&h->endpoint);
	h->token = th_secret_free(h->token);
	h->login = th_mcp_renew_free(h->login);
}

const struct th_mcp_transport th_mcp_http = {
	.init = init,
	.start = start,
	.send = send,
	.opened = opened,
	.cancelled = cancelled,
	.stop = stop,
	.free = free_,
};
