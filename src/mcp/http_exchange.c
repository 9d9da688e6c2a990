/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_exchange.c - a message to a server at an address: how it is sent, what comes back for it,
 * and what is tried again.
 */
#include "mcp/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/mcp_header.h"
#include "base/text.h"

/* ---- what comes back ------------------------------------------------------------------------- */

void th_mcp_exchange_free(struct th_mcp_exchange *e)
{
	struct th_mcp_exchange **at = &th_mcp_http_of(e->p)->exchanges;

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
	struct th_mcp_exchange *e = (struct th_mcp_exchange *)ctx;

	if (e->is_first && th_str_ieq(name, TH_STR("mcp-session-id")) &&
	    is_visible(value, TH_MCP_SESSION_MAX))
		snprintf(th_mcp_http_of(e->p)->session, TH_MCP_SESSION_MAX + 1, "%.*s",
			 TH_FMT(value));
	if (th_str_ieq(name, TH_STR("www-authenticate"))) {
		th_buf_add_cstr(&e->challenge, e->challenge.len ? ", " : "");
		th_buf_add(&e->challenge, value);
	}
}

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct th_mcp_exchange *e = (struct th_mcp_exchange *)ctx;

	e->status = head->status;
	e->is_stream = head->status / 100 == 2 &&
		       th_str_istarts(head->content_type, TH_STR("text/event-stream"));
	return true;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct th_mcp_exchange *e = (struct th_mcp_exchange *)ctx;
	struct th_sse_event event;
	struct th_err err = {};
	int got;

	if (!e->is_stream) {
		th_buf_add(&e->answer, bytes);
		return !e->answer.failed;
	}
	e->p->client.heard_for = e->id;
	while ((got = th_sse_next(&e->events, &bytes, &event, &err)) > 0)
		if (e->carries && th_str_is(event.name, "endpoint")) {
			th_mcp_old_endpoint(e, event.data);
		} else if (event.data.len &&
			   (!event.name.len || th_str_is(event.name, "message"))) {
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

static void take_up(struct th_mcp_exchange *e);
static void on_done(void *ctx, const struct th_fetch_result *r);

static void on_again(void *ctx)
{
	struct th_mcp_exchange *e = (struct th_mcp_exchange *)ctx;
	struct th_fetch_result r = { .end = TH_FETCH_CONNECT, .err = e->broken };

	if (!e->broken.code) {
		take_up(e);
		return;
	}
	e->broken = (struct th_err){ 0 }; /* it is said once */
	on_done(e, &r);
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

static bool is_waited_for(const struct th_mcp_exchange *e)
{
	return work_of(e->p, e->id) != NULL;
}

/* The stream on which the server speaks unasked has ended: it is opened again, later each time that
 * nothing came.  False: the server has none. */
static bool listens_again(struct th_mcp_exchange *e, const struct th_fetch_result *r)
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
static bool resumes(struct th_mcp_exchange *e, const struct th_fetch_result *r)
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
static void say_login(struct th_mcp_exchange *e, struct th_err *err)
{
	struct th_mcp_http_channel *h = th_mcp_http_of(e->p);
	struct th_oauth_challenge c = {};
	struct th_arena arena;
	bool has_login = h->login && th_mcp_renew_token(h->login);
	const char *unsafe = "";

	th_arena_init(&arena, 16 * TH_OAUTH_TEXT_MAX);
	(void)th_oauth_challenge_read(th_buf_str(&e->challenge), &arena, &c);
	if (c.metadata.len && !th_oauth_is_safe(c.metadata))
		unsafe = ", and names a document about it at an address that is not https";
	if (h->token)
		th_fail(err, TH_EUSAGE, "the server %.*s wants another token (HTTP status %d)",
			TH_FMT(e->p->name), e->status);
	else
		th_fail(err, TH_EUSAGE,
			"the server %.*s wants %s (HTTP status %d)%s: thole mcp login %s",
			TH_FMT(e->p->name),
			!has_login         ? "a login"
			: e->status == 403 ? "more than the login allows"
					   : "a new login",
			e->status, unsafe, h->url);
	if (h->login && (e->status == 401 || th_str_is(c.error, "insufficient_scope")))
		th_mcp_login_note(th_str_of(h->url), &c);
	th_arena_deinit(&arena);
}

void th_mcp_exchange_say(struct th_mcp_exchange *e, const struct th_fetch_result *r,
			 struct th_err *err)
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
static bool renews(struct th_mcp_exchange *e)
{
	struct th_mcp_http_channel *h = th_mcp_http_of(e->p);

	if (!h->login || e->renewed)
		return false;
	if (e->status == 403 && th_mcp_renew_reload(h->login)) {
		e->renewed = true;
		th_mcp_exchange_send_again(e);
		return true;
	}
	e->waits = e->status == 401 && th_mcp_renew_start(h->login);
	return e->waits;
}

/* An answer that is no answer to its message.  `certain`: the server did nothing.  True: it is
 * sent elsewhere. */
static bool not_answered(struct th_mcp_exchange *e, const struct th_fetch_result *r)
{
	struct th_mcp_process *p = e->p;
	/* Who refuses to go on with a stream has taken the message before. */
	bool certain = !e->resumes && (!r->sent || e->status == 401 || e->status == 403 ||
				       e->status == 404 || e->status == 405);
	struct th_err err = {};

	th_mcp_exchange_say(e, r, &err);
	/* What an older server says of `server/discover`, which it does not know. */
	if (e->is_first && e->status / 100 == 4 && e->status != 401 && e->status != 403 &&
	    th_mcp_client_silent(&p->client)) {
		th_timer_start(&p->timer, (uint64_t)p->start_ms, 0);
		return false;
	}
	if (th_mcp_old_begin(e))
		return true;
	if (e->is_first || (e->status == 404 && e->has_session)) {
		lose(p, e->id, certain, &err);
		th_mcp_process_doom(p, &err); /* the session is over: a new one is begun */
		return false;
	}
	lose(p, e->id, certain, &err);
	return false;
}

/* Of an older server: it has taken the message, and answers on its stream. */
static bool is_taken(const struct th_mcp_exchange *e, const struct th_fetch_result *r)
{
	return th_mcp_http_of(e->p)->old && r->end == TH_FETCH_OK;
}

static void on_done(void *ctx, const struct th_fetch_result *r)
{
	struct th_mcp_exchange *e = (struct th_mcp_exchange *)ctx;
	struct th_mcp_process *p = e->p;
	struct th_str body = th_str_trim(th_buf_str(&e->answer));
	struct th_buf mended TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(body.len + 1);
	struct th_rpc m;

	e->running = false;
	if (p->stage == TH_MCP_DOOMED)
		return; /* which frees it */
	if (listens_again(e, r) || resumes(e, r) || renews(e))
		return;
	if (e->carries) {
		th_mcp_old_over(e, r);
		return;
	}
	if (th_rpc_mend(body, &mended))
		body = th_buf_str(&mended);
	th_rpc_read(body, &m);
	if (m.kind == TH_RPC_RESULT || m.kind == TH_RPC_ERROR)
		th_mcp_process_take(p, body);
	if (p->stage != TH_MCP_DOOMED && !e->quiet && !is_taken(e, r) &&
	    (is_waited_for(e) ||
	     (e->is_first && p->stage == TH_MCP_STARTING &&
	      p->client.discover_id + p->client.initialize_id != 0 &&
	      (e->id == p->client.discover_id || e->id == p->client.initialize_id))) &&
	    not_answered(e, r))
		return;
	th_mcp_exchange_free(e);
}

/* ---- what is sent --------------------------------------------------------------------------- */

/* What the body says, for who looks only at the head. */
static void add_modern(const struct th_rpc *m, struct th_fetch_header *list, size_t *count,
		       struct th_buf *method, struct th_buf *name, struct th_buf *coded)
{
	const char *member = NULL;

	th_buf_add(method, m->method);
	th_mcp_http_add(list, count, "MCP-Protocol-Version", TH_STR(TH_MCP_REVISION_MODERN));
	th_mcp_http_add(list, count, "Mcp-Method", th_buf_str(method));
	if (th_str_is(m->method, "tools/call") || th_str_is(m->method, "prompts/get"))
		member = "name";
	else if (th_str_is(m->method, "resources/read"))
		member = "uri";
	else if (th_str_starts(m->method, TH_STR("tasks/")))
		member = "taskId";
	if (member && th_json_unescape(th_json_raw_get(m->params, member), name)) {
		th_mcp_header_value(th_buf_str(name), coded);
		th_mcp_http_add(list, count, "Mcp-Name", th_buf_str(coded));
	}
}

void th_mcp_exchange_start(struct th_mcp_exchange *e, bool resume, bool once)
{
	struct th_mcp_http_channel *h = th_mcp_http_of(e->p);
	struct th_fetch_header list[TH_MCP_HEADERS_OWN + TH_MCP_HEADERS_MAX + TH_MCP_PATTERNS_MAX];
	const struct th_mcp_work *work = work_of(e->p, e->id);
	struct th_buf method TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf coded TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_rpc m;
	size_t count = 0;
	struct th_fetch_request r = {
		.method = resume ? "GET" : "POST",
		.url = h->old && !e->carries ? th_buf_str(&h->endpoint) : th_str_of(h->url),
		.headers = list,
		.secret = th_mcp_http_token(h),
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
		th_mcp_http_add(list, &count, "Content-Type", TH_STR("application/json"));
	th_mcp_http_add(list, &count, "Accept",
			resume ? TH_STR("text/event-stream")
			       : TH_STR("application/json, text/event-stream"));
	if (th_str_find(m.params, TH_STR("io.modelcontextprotocol/protocolVersion")) >= 0) {
		add_modern(&m, list, &count, &method, &name, &coded);
		for (size_t i = 0; work && i < work->header_count; i++)
			th_mcp_http_add(list, &count, work->header_names[i],
					work->header_values[i]);
	} else if (e->p->client.open)
		th_mcp_http_add(list, &count, "MCP-Protocol-Version",
				th_str_of(e->p->client.revision));
	e->has_session = h->session[0] != '\0';
	if (e->has_session)
		th_mcp_http_add(list, &count, "Mcp-Session-Id", th_str_of(h->session));
	if (resume && e->events.last_id.len)
		th_mcp_http_add(list, &count, "Last-Event-ID", th_buf_str(&e->events.last_id));
	for (size_t i = 0; i < h->header_count; i++)
		th_mcp_http_add(list, &count, h->names[i], h->values[i]);
	r.header_count = count;
	e->is_stream = false;
	if (th_fetch_start(e->p->env->fetcher, &r, &e->fetch, &e->broken))
		th_timer_start(&e->again, 0, 0); /* who sends it is not called back from inside */
	else
		e->running = true;
}

static void take_up(struct th_mcp_exchange *e)
{
	struct th_buf last = e->events.last_id; /* of the stream before */

	e->events.last_id = (struct th_buf){};
	th_sse_deinit(&e->events);
	th_sse_init(&e->events, TH_MCP_LINE_MAX);
	th_buf_add(&e->events.last_id, th_buf_str(&last));
	th_buf_deinit(&last);
	th_mcp_exchange_start(e, true, false);
}

bool th_mcp_exchange_acts(const struct th_mcp_exchange *e, const struct th_rpc *m)
{
	const struct th_mcp_work *w = work_of(e->p, e->id);

	return th_str_is(m->method, "tools/call") && !(w && w->reads);
}

struct th_mcp_exchange *th_mcp_exchange_new(struct th_mcp_process *p, struct th_str message)
{
	struct th_mcp_http_channel *h = th_mcp_http_of(p);
	struct th_mcp_exchange *e = (struct th_mcp_exchange *)th_alloc(sizeof(*e));

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

void th_mcp_exchange_send_again(struct th_mcp_exchange *e)
{
	th_buf_clear(&e->answer);
	th_buf_clear(&e->challenge);
	e->status = 0;
	/* What is refused may be a stream that is taken up: its message is not sent twice. */
	if (e->resumes || e->listens || e->carries)
		th_mcp_exchange_start(e, true, false);
	else
		th_mcp_exchange_start(e, false, e->once);
}

void th_mcp_exchange_refused(struct th_mcp_exchange *e)
{
	struct th_fetch_result r = { .end = TH_FETCH_STATUS, .sent = true };

	e->renewed = true;
	on_done(e, &r);
}
