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
 * Where a server closes a stream before the answer and has numbered its events
 * (revisions up to 2025-11-25), the stream is taken up again behind the last one.  With
 * a session of these revisions it speaks unasked on a stream of its own (GET).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/mcp_header.h"
#include "io/fetch.h"
#include "mcp/internal.h"
#include "mcp/renew.h"
#include "wire/jsonrpc.h"
#include "wire/sse.h"

#define HEADERS_OWN 8
#define SESSION_MAX 256
#define TOKEN_MAX (16 * TH_KIB)

struct http;

/* One message on its way, and what comes back for it. */
struct exchange {
	struct exchange *next;
	struct th_mcp_process *p;
	struct th_fetch_id fetch;
	bool running, is_stream, is_first, has_session, quiet;
	bool waits;   /* for a token */
	bool renewed; /* it was refused once, and a new token was asked for */
	bool once;    /* what it asks for does something */
	bool listens; /* the stream on which the server speaks unasked */
	uint64_t id;  /* of the request; 0: a notification, or an answer of ours */
	int status, resumes;
	char *text;          /* of the message; it must live as long as the fetch */
	struct th_str piece; /* of the body */
	struct th_buf answer;
	struct th_sse events;
	struct th_timer again;
	struct th_err broken;    /* it could not be sent at all */
	struct th_buf challenge; /* WWW-Authenticate */
};

struct http {
	const char *url;
	const char **names; /* of the headers */
	struct th_str *values;
	size_t header_count;
	struct th_secret *token;       /* of token_env; or */
	struct th_mcp_renew *login;    /* what a person has logged in for */
	char session[SESSION_MAX + 1]; /* Mcp-Session-Id; empty: none */
	struct exchange *exchanges;
	struct th_timer end; /* a server is ended from outside of its callbacks */
	struct th_err why;
};

static struct http *of(const struct th_mcp_process *p)
{
	return (struct http *)p->channel;
}

/* ---- exchanges ------------------------------------------------------------------------------ */

static void exchange_free(struct exchange *e)
{
	struct exchange **at = &of(e->p)->exchanges;

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (e->running)
		th_fetch_cancel(e->p->env->fetcher, e->fetch);
	th_timer_stop(&e->again);
	th_sse_deinit(&e->events);
	th_buf_deinit(&e->answer);
	th_buf_deinit(&e->challenge);
	free(e->text);
	free(e);
}

static bool is_visible(struct th_str s, size_t len_max)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < 0x21 || s.ptr[i] > 0x7e)
			return false;
	return s.len > 0 && s.len <= len_max;
}

static void on_header(void *ctx, struct th_str name, struct th_str value)
{
	struct exchange *e = (struct exchange *)ctx;

	if (e->is_first && th_str_ieq(name, TH_STR("mcp-session-id")) &&
	    is_visible(value, SESSION_MAX))
		snprintf(of(e->p)->session, SESSION_MAX + 1, "%.*s", TH_FMT(value));
	if (th_str_ieq(name, TH_STR("www-authenticate"))) {
		th_buf_add_cstr(&e->challenge, e->challenge.len ? ", " : "");
		th_buf_add(&e->challenge, value);
	}
}

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct exchange *e = (struct exchange *)ctx;

	e->status = head->status;
	e->is_stream = head->status / 100 == 2 &&
		       th_str_istarts(head->content_type, TH_STR("text/event-stream"));
	return true;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct exchange *e = (struct exchange *)ctx;
	struct th_sse_event event;
	struct th_err err = {};
	int got;

	if (!e->is_stream) {
		th_buf_add(&e->answer, bytes);
		return !e->answer.failed;
	}
	e->p->client.heard_for = e->id;
	while ((got = th_sse_next(&e->events, &bytes, &event, &err)) > 0)
		if (event.data.len && (!event.name.len || th_str_is(event.name, "message"))) {
			e->resumes = e->listens ? 0 : e->resumes;
			th_mcp_process_take(e->p, event.data);
		}
	e->p->client.heard_for = 0;
	return got == 0 && e->p->stage != TH_MCP_DOOMED;
}

/* The request has no answer, and will have none. */
static void lose(struct th_mcp_process *p, uint64_t id, bool certain, const struct th_err *why)
{
	struct th_mcp_work *w = (struct th_mcp_work *)th_mcp_client_forget(&p->client, id);

	if (!w)
		return;
	w->unsent = certain;
	th_mcp_process_remove(p, w, NULL);
	w->ops->lost(w, why);
}

static void take_up(struct exchange *e);
static void send_again(struct exchange *e);
static void on_done(void *ctx, const struct th_fetch_result *r);

static void on_again(void *ctx)
{
	struct exchange *e = (struct exchange *)ctx;
	struct th_fetch_result r = { .end = TH_FETCH_CONNECT, .err = e->broken };

	if (e->broken.code)
		on_done(e, &r);
	else
		take_up(e);
}

/* Whose request it is; NULL: nobody's any more, or none of a work. */
static const struct th_mcp_work *work_of(const struct th_mcp_process *p, uint64_t id)
{
	const struct th_mcp_client *c = &p->client;

	for (size_t i = 0; id && i < TH_COUNT(c->requests); i++)
		if (c->requests[i].id == id)
			return (const struct th_mcp_work *)c->requests[i].user;
	return NULL;
}

static bool is_waited_for(const struct exchange *e)
{
	return work_of(e->p, e->id) != NULL;
}

/* The stream on which the server speaks unasked has ended: it is opened again, later each time that
 * nothing came.  False: the server has none. */
static bool listens_again(struct exchange *e, const struct th_fetch_result *r)
{
	uint64_t ms = (uint64_t)TH_MCP_RESUME_MS << TH_MIN(e->resumes, 16);

	if (!e->listens || e->p->stage != TH_MCP_READY ||
	    (r->end == TH_FETCH_STATUS && e->status / 100 == 4))
		return false;
	e->resumes++;
	th_timer_start(&e->again, TH_MIN(ms, (uint64_t)TH_MCP_BACKOFF_MS_MAX), 0);
	return true;
}

/* A stream that a server closed before the answer, to be taken up again. */
static bool resumes(struct exchange *e, const struct th_fetch_result *r)
{
	int64_t ms = e->events.retry_ms >= 0 ? e->events.retry_ms : TH_MCP_RESUME_MS;

	if (!e->is_stream || !is_waited_for(e) || !e->events.last_id.len ||
	    e->p->client.era != TH_MCP_ERA_LEGACY || e->resumes == TH_MCP_RESUMES_MAX ||
	    (r->end != TH_FETCH_OK && r->end != TH_FETCH_CUT))
		return false;
	e->resumes++;
	th_timer_start(&e->again, (uint64_t)TH_MIN(ms, (int64_t)TH_MCP_BACKOFF_MS_MAX), 0);
	return true;
}

/* The server wants a login, or more than was granted: the next login asks for that. */
static void say_login(struct exchange *e, struct th_err *err)
{
	struct http *h = of(e->p);
	struct th_oauth_challenge c = {};
	struct th_arena arena;
	bool has_login = h->login && th_mcp_renew_token(h->login);

	th_arena_init(&arena, 16 * TH_OAUTH_TEXT_MAX);
	(void)th_oauth_challenge_read(th_buf_str(&e->challenge), &arena, &c);
	if (h->token)
		th_fail(err, TH_EUSAGE, "the server %.*s wants another token (HTTP status %d)",
			TH_FMT(e->p->name), e->status);
	else
		th_fail(err, TH_EUSAGE,
			"the server %.*s wants %s (HTTP status %d): thole mcp login %s",
			TH_FMT(e->p->name),
			!has_login         ? "a login"
			: e->status == 403 ? "more than the login allows"
					   : "a new login",
			e->status, h->url);
	if (h->login && (e->status == 401 || th_str_is(c.error, "insufficient_scope")))
		th_mcp_login_note(th_str_of(h->url), &c);
	th_arena_deinit(&arena);
}

static void say_status(struct exchange *e, const struct th_fetch_result *r, struct th_err *err)
{
	struct th_str name = e->p->name;

	if (r->end != TH_FETCH_OK && r->end != TH_FETCH_STATUS)
		th_fail(err, TH_ECONN, "the server %.*s: %s", TH_FMT(name), r->err.msg);
	else if (e->status == 401 || e->status == 403)
		say_login(e, err);
	else if (e->status / 100 != 2)
		th_fail(err, TH_EPROTO, "the server %.*s answered with HTTP status %d",
			TH_FMT(name), e->status);
	else
		th_fail(err, TH_EPROTO, "the connection to the server %.*s ended before an answer",
			TH_FMT(name));
}

/* What was refused was not done, so it is sent again, once: with a token that was renewed, or of
 * a login since. */
static bool renews(struct exchange *e)
{
	struct http *h = of(e->p);

	if (!h->login || e->renewed)
		return false;
	if (e->status == 403 && th_mcp_renew_reload(h->login)) {
		e->renewed = true;
		send_again(e);
		return true;
	}
	e->waits = e->status == 401 && th_mcp_renew_start(h->login);
	return e->waits;
}

/* An answer that is no answer to its message.  `certain`: the server did nothing. */
static void not_answered(struct exchange *e, const struct th_fetch_result *r)
{
	struct th_mcp_process *p = e->p;
	/* Who refuses to go on with a stream has taken the message before. */
	bool certain = !e->resumes && (!r->sent || e->status == 401 || e->status == 403 ||
				       e->status == 404 || e->status == 405);
	struct th_err err = {};

	say_status(e, r, &err);
	/* What an older server says of `server/discover`, which it does not know. */
	if (e->is_first && e->status / 100 == 4 && e->status != 401 && e->status != 403 &&
	    th_mcp_client_silent(&p->client)) {
		th_timer_start(&p->timer, (uint64_t)p->start_ms, 0);
		return;
	}
	if (e->is_first || (e->status == 404 && e->has_session)) {
		lose(p, e->id, certain, &err);
		th_mcp_process_doom(p, &err); /* the session is over: a new one is begun */
		return;
	}
	lose(p, e->id, certain, &err);
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct exchange *e = (struct exchange *)ctx;
	struct th_mcp_process *p = e->p;
	struct th_str body = th_str_trim(th_buf_str(&e->answer));
	struct th_rpc m;

	e->running = false;
	if (p->stage == TH_MCP_DOOMED)
		return; /* which frees it */
	if (listens_again(e, r) || resumes(e, r) || renews(e))
		return;
	th_rpc_read(body, &m);
	if (m.kind == TH_RPC_RESULT || m.kind == TH_RPC_ERROR)
		th_mcp_process_take(p, body);
	if (p->stage != TH_MCP_DOOMED && !e->quiet &&
	    (is_waited_for(e) ||
	     (e->is_first && p->stage == TH_MCP_STARTING &&
	      p->client.discover_id + p->client.initialize_id != 0 &&
	      (e->id == p->client.discover_id || e->id == p->client.initialize_id))))
		not_answered(e, r);
	exchange_free(e);
}

/* ---- what is sent --------------------------------------------------------------------------- */

static void add(struct th_fetch_header *list, size_t *count, const char *name, struct th_str value)
{
	list[(*count)++] = (struct th_fetch_header){ name, value };
}

/* What the body says, for who looks only at the head. */
static void add_modern(const struct th_rpc *m, struct th_fetch_header *list, size_t *count,
		       struct th_buf *method, struct th_buf *name, struct th_buf *coded)
{
	const char *member = NULL;

	th_buf_add(method, m->method);
	add(list, count, "MCP-Protocol-Version", TH_STR(TH_MCP_REVISION_MODERN));
	add(list, count, "Mcp-Method", th_buf_str(method));
	if (th_str_is(m->method, "tools/call") || th_str_is(m->method, "prompts/get"))
		member = "name";
	else if (th_str_is(m->method, "resources/read"))
		member = "uri";
	if (member && th_json_unescape(th_json_raw_get(m->params, member), name)) {
		th_mcp_header_value(th_buf_str(name), coded);
		add(list, count, "Mcp-Name", th_buf_str(coded));
	}
}

static const struct th_secret *token_of(const struct http *h)
{
	return h->login ? th_mcp_renew_token(h->login) : h->token;
}

static void start_fetch(struct exchange *e, bool resume, bool once)
{
	struct http *h = of(e->p);
	struct th_fetch_header list[HEADERS_OWN + TH_MCP_HEADERS_MAX + TH_MCP_PATTERNS_MAX];
	const struct th_mcp_work *work = work_of(e->p, e->id);
	struct th_buf method TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf coded TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_rpc m;
	size_t count = 0;
	struct th_fetch_request r = {
		.method = resume ? "GET" : "POST",
		.url = th_str_of(h->url),
		.headers = list,
		.secret = token_of(h),
		.body = resume ? NULL : &e->piece,
		.body_count = resume ? 0 : 1,
		.once = once,
		.connect_ms = TH_MODEL_CONNECT_MS,
		.body_max = 4 * TH_MCP_LINE_MAX,
		.on_head = on_head,
		.on_header = on_header,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = e,
	};
	th_rpc_read(e->piece, &m);
	if (!resume)
		add(list, &count, "Content-Type", TH_STR("application/json"));
	add(list, &count, "Accept",
	    resume ? TH_STR("text/event-stream") : TH_STR("application/json, text/event-stream"));
	if (th_str_find(m.params, TH_STR("io.modelcontextprotocol/protocolVersion")) >= 0) {
		add_modern(&m, list, &count, &method, &name, &coded);
		for (size_t i = 0; work && i < work->header_count; i++)
			add(list, &count, work->header_names[i], work->header_values[i]);
	} else if (e->p->client.open)
		add(list, &count, "MCP-Protocol-Version", th_str_of(e->p->client.revision));
	e->has_session = h->session[0] != '\0';
	if (e->has_session)
		add(list, &count, "Mcp-Session-Id", th_str_of(h->session));
	if (resume && e->events.last_id.len)
		add(list, &count, "Last-Event-ID", th_buf_str(&e->events.last_id));
	for (size_t i = 0; i < h->header_count; i++)
		add(list, &count, h->names[i], h->values[i]);
	r.header_count = count;
	e->is_stream = false;
	if (th_fetch_start(e->p->env->fetcher, &r, &e->fetch, &e->broken))
		th_timer_start(&e->again, 0, 0); /* who sends it is not called back from inside */
	else
		e->running = true;
}

static void take_up(struct exchange *e)
{
	struct th_buf last = e->events.last_id; /* of the stream before */

	e->events.last_id = (struct th_buf){};
	th_sse_deinit(&e->events);
	th_sse_init(&e->events, TH_MCP_LINE_MAX);
	th_buf_add(&e->events.last_id, th_buf_str(&last));
	th_buf_deinit(&last);
	start_fetch(e, true, false);
}

/* Nothing but a call of a tool does anything; and of these the ones that only look. */
static bool does_something(const struct th_mcp_process *p, const struct th_rpc *m, uint64_t id)
{
	const struct th_mcp_work *w = work_of(p, id);

	return th_str_is(m->method, "tools/call") && !(w && w->reads);
}

static struct exchange *exchange_new(struct th_mcp_process *p, struct th_str message)
{
	struct http *h = of(p);
	struct exchange *e = (struct exchange *)th_alloc(sizeof(*e));

	e->p = p;
	e->next = h->exchanges;
	h->exchanges = e;
	e->text = (char *)th_alloc(message.len + 1);
	if (message.len)
		memcpy(e->text, message.ptr, message.len);
	e->piece = th_str_n(e->text, message.len);
	th_buf_init(&e->answer, TH_MCP_LINE_MAX);
	th_sse_init(&e->events, TH_MCP_LINE_MAX);
	th_timer_init(&e->again, p->env->loop, on_again, e);
	th_buf_init(&e->challenge, 4 * TH_OAUTH_TEXT_MAX);
	return e;
}

static void send(struct th_mcp_process *p, struct th_str message)
{
	struct http *h = of(p);
	struct exchange *e;
	struct th_rpc m;
	int64_t id = 0;

	th_rpc_read(message, &m);
	if (p->client.era == TH_MCP_ERA_MODERN && th_str_is(m.method, "notifications/cancelled"))
		return; /* the stream is closed */
	e = exchange_new(p, message);
	if (m.kind == TH_RPC_REQUEST && th_str_i64(m.id, &id))
		e->id = (uint64_t)id;
	e->is_first = th_str_is(m.method, "server/discover") || th_str_is(m.method, "initialize");
	e->quiet = !e->id || th_str_is(m.method, "subscriptions/listen");
	e->once = does_something(p, &m, e->id);
	if (h->login && th_mcp_renew_due(h->login) && th_mcp_renew_start(h->login))
		e->waits = true;
	else
		start_fetch(e, false, e->once);
}

/* A server that has a session for us may speak unasked: questions, and changes of its lists. */
static void opened(struct th_mcp_process *p)
{
	struct exchange *e;

	if (p->client.era != TH_MCP_ERA_LEGACY || !of(p)->session[0])
		return;
	e = exchange_new(p, TH_STR(""));
	e->quiet = e->listens = true;
	start_fetch(e, true, false);
}

static void send_again(struct exchange *e)
{
	th_buf_clear(&e->answer);
	th_buf_clear(&e->challenge);
	e->status = 0;
	/* What is refused may be a stream that is taken up: its message is not sent twice. */
	if (e->resumes || e->listens)
		start_fetch(e, true, false);
	else
		start_fetch(e, false, e->once);
}

/* Sends what waited for a token; without one that was refused stays refused. */
static void on_renewed(void *ctx, bool good)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct http *h = of(p);
	struct exchange *e = h->exchanges;

	while (e) {
		bool waits = e->waits;

		e->waits = false;
		if (!waits || p->stage == TH_MCP_DOOMED) {
			e = e->next;
			continue;
		}
		e->renewed |= e->status != 0;
		if (good || !e->status) {
			send_again(e);
		} else {
			struct th_fetch_result r = { .end = TH_FETCH_STATUS, .sent = true };

			e->renewed = true;
			on_done(e, &r);
			e = h->exchanges; /* it has gone, and others may have */
			continue;
		}
		e = e->next;
	}
}

static void cancelled(struct th_mcp_process *p, uint64_t id)
{
	for (struct exchange *e = of(p)->exchanges; e; e = e->next)
		if (e->id == id) {
			exchange_free(e);
			return;
		}
}

/* ---- its start and its end ------------------------------------------------------------------ */

static void exchanges_free(struct http *h)
{
	while (h->exchanges)
		exchange_free(h->exchanges);
}

static void on_end(void *ctx)
{
	struct th_mcp_process *p = (struct th_mcp_process *)ctx;
	struct http *h = of(p);

	exchanges_free(h);
	h->session[0] = '\0';
	th_mcp_process_over(p, &h->why);
}

static void stop(struct th_mcp_process *p, const struct th_err *why)
{
	of(p)->why = *why;
	th_timer_start(&of(p)->end, 0, 0);
}

static enum th_code copy_headers(struct th_mcp_process *p, struct http *h,
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

static enum th_code take_token(struct th_mcp_process *p, struct http *h, struct th_str variable,
			       struct th_err *err)
{
	const char *name = th_arena_cstr(&p->memory, variable);
	const char *value = name ? getenv(name) : NULL;

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
	struct http *h = (struct http *)TH_NEW(&p->memory, struct http);
	enum th_code code;

	if (!p->env->fetcher)
		return th_fail(err, TH_EUNSUPPORTED,
			       "a server at an address is not called from here");
	if (!h)
		return th_fail(err, TH_ELIMIT, "the server's address is too long");
	*h = (struct http){ .url = th_arena_cstr(&p->memory, spec->url) };
	th_timer_init(&h->end, p->env->loop, on_end, p);
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
static void end_session(struct th_mcp_process *p, struct http *h)
{
	struct th_fetch_header list[HEADERS_OWN + TH_MCP_PATTERNS_MAX];
	struct th_fetch_request r = {
		.method = "DELETE",
		.url = th_str_of(h->url),
		.headers = list,
		.secret = token_of(h),
		.connect_ms = TH_MODEL_CONNECT_MS,
		.total_ms = TH_MCP_DISCOVER_MS,
	};
	struct th_fetch_id id;
	size_t count = 0;

	add(list, &count, "Mcp-Session-Id", th_str_of(h->session));
	add(list, &count, "MCP-Protocol-Version", th_str_of(p->client.revision));
	for (size_t i = 0; i < h->header_count; i++)
		add(list, &count, h->names[i], h->values[i]);
	r.header_count = count;
	(void)!th_fetch_start(p->env->fetcher, &r, &id, NULL);
}

static void free_(struct th_mcp_process *p)
{
	struct http *h = of(p);

	if (!h)
		return;
	exchanges_free(h);
	th_timer_stop(&h->end);
	if (h->session[0] && h->url)
		end_session(p, h);
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
