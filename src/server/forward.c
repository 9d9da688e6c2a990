/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward.c - a request about a session that another node may have: who has it is looked for, and
 * the request passed on, or answered here.  forward_takes.c says which requests those are.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/wiped.h"
#include "server/forward.h"
#include "wire/percent.h"

#define CONNECT_MS 2000
#define READ_IDLE_MS (4 * TH_SERVE_PING_MS) /* of what is only read: streams say that they live */
#define AGAIN_MS 150                        /* before the next look, and longer each time */

struct th_forward {
	struct th_forward *prev, *next;
	struct th_fleet *fleet;
	struct th_access *access;
	struct th_node_find find;
	th_access_fn *here; /* answers it where no other node does; NULL: one must */
	struct th_fetch_id fetch;
	struct th_passed_socket *socket; /* instead of that; NULL: none */
	struct th_str body;              /* the request's */
	struct th_timer again;
	struct th_buf headers; /* of the answer */
	int tries, status;
	bool begun;            /* of the answer, the head was passed on */
	bool stream;           /* of events */
	bool moved;            /* that node says that it has not got the session */
	bool full;             /* who asked does not read */
	bool named_by_request; /* what is looked for is asked of the service again each time */
	bool sent;             /* the node that was found has the request */
};

static void find(struct th_forward *w);

bool th_forward_session_of(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1])
{
	return a->service->session_of && a->service->session_of(a, ret);
}

bool th_forward_keeper_of(const struct th_access *a, char ret[static TH_FLEET_TAG_SIZE + 1])
{
	return a->service->keeper_of && a->service->keeper_of(a, ret);
}

static bool only_reads(const struct th_forward *w)
{
	return strcmp(w->access->route->method, "GET") == 0;
}

/* Who asked for an answer waits for it as long as an agent works. */
static uint64_t idle_ms(const struct th_forward *w)
{
	const struct th_serve_fleet *set = w->access->server->settings.s.fleet;

	if (only_reads(w))
		return READ_IDLE_MS;
	return 1000 * (uint64_t)(set && set->idle_s ? set->idle_s : TH_FLEET_IDLE_S);
}

struct th_forward *th_forward_next(const struct th_forward *f)
{
	return f->next;
}

const char *th_forward_address(const struct th_forward *f)
{
	return f->sent || f->socket ? f->find.address : "";
}

/* ---- its end ---- */

/* The access is somebody else's again. */
static void forward_free(struct th_forward *w)
{
	struct th_fleet *f = w->fleet;

	w->access->gone = w->access->room = NULL;
	w->access->message = NULL;
	w->access->reads = false;
	w->access->ctx = NULL;
	th_node_find_stop(&w->find);
	if (w->sent)
		th_fetch_cancel(f->fetcher, w->fetch);
	th_passed_socket_free(w->socket);
	th_timer_stop(&w->again);
	th_buf_deinit(&w->headers);
	*(w->prev ? &w->prev->next : &f->first) = w->next;
	if (w->next)
		w->next->prev = w->prev;
	f->count--;
	free(w);
}

void th_forward_free(struct th_forward *w)
{
	forward_free(w);
}

static void on_gone(struct th_access *a)
{
	forward_free(a->ctx);
}

/* As if there were no other node. */
static void answer_here(struct th_forward *w)
{
	struct th_access *a = w->access;
	th_access_fn *here = w->here;

	forward_free(w);
	a->again = here;
	here(a);
}

static void refuse(struct th_forward *w, int status, const char *code, const char *why)
{
	struct th_access *a = w->access;

	forward_free(w);
	th_access_fail(a, status, code, "%s", why);
}

/* 421: the session is at another node, and this request has to go there itself. */
static void say_where(struct th_forward *w)
{
	struct th_access *a = w->access;
	struct th_buf headers TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_KIB);

	th_buf_printf(&headers, "Thole-Node: %s\r\n", w->find.address);
	th_buf_printf(&text, "session %s is at the node %s", w->find.what, w->find.address);
	th_error_print(421, "other_node", text.ptr, &json);
	forward_free(w);
	th_http_reply(a->request, 421, "application/json", th_buf_str(&headers), th_buf_str(&json));
}

/* ---- the answer of the other node ---- */

/* What is between two machines alone, and what this server says itself. */
static bool is_passed_on(struct th_str name)
{
	static const char *const not_those[] = {
		"connection",
		"keep-alive",
		"transfer-encoding",
		"content-length",
		"content-type",
		"date",
		"x-content-type-options",
		"server",
		"trailer",
		"upgrade",
		"te",
		"set-cookie",
		"proxy-authenticate",
	};

	for (size_t i = 0; i < TH_COUNT(not_those); i++)
		if (th_str_ieq(name, th_str_of(not_those[i])))
			return false;
	return true;
}

static void on_header(void *ctx, struct th_str name, struct th_str value)
{
	struct th_forward *w = ctx;

	if (is_passed_on(name) && w->headers.len + name.len + value.len < TH_HTTP1_HEAD_MAX / 2)
		th_buf_printf(&w->headers, "%.*s: %.*s\r\n", TH_FMT(name), TH_FMT(value));
}

static bool on_head(void *ctx, const struct th_fetch_head *head)
{
	struct th_forward *w = ctx;
	char type[TH_FETCH_TEXT_MAX + 1];

	w->status = head->status;
	w->moved = head->status == 421;
	if (w->moved)
		return false;
	if (head->status == 204 || head->status == 304)
		return true;
	snprintf(type, sizeof(type), "%.*s", TH_FMT(head->content_type));
	w->begun = true;
	w->stream = th_str_starts(head->content_type, TH_STR("text/event-stream"));
	th_http_begin(w->access->request, head->status, type[0] ? type : NULL,
		      th_buf_str(&w->headers));
	return true;
}

static bool on_data(void *ctx, struct th_str bytes)
{
	struct th_forward *w = ctx;
	enum th_code code = w->begun ? th_http_write(w->access->request, bytes) : TH_OK;

	if (code == TH_EBUSY) {
		w->full = true;
		th_fetch_hold(w->fleet->fetcher, w->fetch, true);
	}
	return code == TH_OK || code == TH_EBUSY;
}

static void on_room(struct th_access *a)
{
	struct th_forward *w = a->ctx;

	if (w->socket)
		th_passed_socket_room(w->socket);
	if (!w->full)
		return;
	w->full = false;
	th_fetch_hold(w->fleet->fetcher, w->fetch, false);
}

static void look_later(struct th_forward *w)
{
	th_timer_start(&w->again, (uint64_t)w->tries * AGAIN_MS, 0);
}

/* The access is over with the request, so it is let go of before. */
static void end_socket(struct th_forward *w)
{
	struct th_passed_socket *p = w->socket;

	w->socket = NULL;
	forward_free(w);
	th_passed_socket_end(p);
}

/* It does not answer, or not to its end. */
static void lose(struct th_forward *w, bool taken)
{
	struct th_access *a = w->access;

	w->fleet->lost++;
	if (w->socket && w->begun) {
		end_socket(w);
	} else if (w->begun) {
		forward_free(w);
		th_http_abort(a->request);
	} else if (only_reads(w) && w->find.by == TH_FIND_SESSION) {
		answer_here(w);
	} else if (taken) {
		refuse(w, 502, "other_node",
		       "the node that has the session went away; whether it took the request is "
		       "not known");
	} else if (w->tries < TH_FLEET_TRIES_MAX) {
		look_later(w);
	} else {
		refuse(w, 503, "other_node",
		       "the node that has the session does not answer; another one takes it when "
		       "its lease is over");
	}
}

static void on_done(void *ctx, const struct th_fetch_result *result)
{
	struct th_forward *w = ctx;
	struct th_access *a = w->access;

	w->sent = false;
	if (w->moved && w->tries < TH_FLEET_TRIES_MAX) {
		w->fleet->moved++;
		look_later(w);
	} else if (w->moved) {
		refuse(w, 503, "other_node", "the session moves from node to node; try again");
	} else if (result->end != TH_FETCH_OK && result->end != TH_FETCH_STATUS) {
		lose(w, result->sent);
	} else if (w->begun) {
		forward_free(w);
		th_http_end(a->request);
	} else {
		int status = w->status;

		forward_free(w);
		th_access_empty(a, status);
	}
}

/* ---- the request ---- */

static void send_on(struct th_forward *w)
{
	static const char *const passed_on[] = {
		"content-type",         "accept",         "last-event-id", "idempotency-key",
		"anthropic-version",    "anthropic-beta", "openai-beta",   "range",
		"a2a-version",          "mcp-session-id", "mcp-method",    "mcp-name",
		"mcp-protocol-version",
	};
	struct th_access *a = w->access;
	struct th_buf url TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP1_HEAD_MAX);
	struct th_buf user TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_USER_MAX);
	struct th_buf scopes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_fetch_header headers[TH_COUNT(passed_on) + 3];
	struct th_str body = th_http_body(a->request), query = th_http_query(a->request);
	struct th_err err = { 0 };
	size_t count = 2;

	th_buf_printf(&url, "%s%.*s%s%.*s", w->find.address, TH_FMT(th_http_path(a->request)),
		      query.len ? "?" : "", TH_FMT(query));
	th_percent_encode(th_str_of(a->user), &user);
	th_scopes_print(a->scopes, &scopes);
	headers[0] = (struct th_fetch_header){ "thole-node-user", th_buf_str(&user) };
	headers[1] = (struct th_fetch_header){ "thole-node-scopes", th_buf_str(&scopes) };
	if (a->door)
		headers[count++] =
		    (struct th_fetch_header){ TH_DOOR_HEADER, th_str_of(a->service->name) };
	for (size_t i = 0; i < TH_COUNT(passed_on); i++) {
		struct th_str value = th_http_header(a->request, passed_on[i]);

		if (value.ptr)
			headers[count++] = (struct th_fetch_header){ passed_on[i], value };
	}
	th_buf_clear(&w->headers);
	w->moved = false;
	w->tries++;
	w->fleet->forwarded++;
	const struct th_fetch_request request = {
		.method = a->route->method,
		.url = th_buf_str(&url),
		.headers = headers,
		.header_count = count,
		.secret = a->server->settings.fleet_secret,
		.body = &w->body,
		.body_count = body.len ? 1 : 0,
		.once = !only_reads(w),
		.connect_ms = CONNECT_MS,
		.byte_idle_ms = idle_ms(w),
		.body_max = SIZE_MAX,
		.on_head = on_head,
		.on_header = on_header,
		.on_data = on_data,
		.on_done = on_done,
		.ctx = w,
	};

	w->body = body;
	if (th_fetch_start(w->fleet->fetcher, &request, &w->fetch, &err) != TH_OK)
		refuse(w, 503, "other_node", err.msg);
	else
		w->sent = true;
}

/* ---- a WebSocket ---- */

static void on_passed(void *ctx, enum th_passed what)
{
	struct th_forward *w = ctx;

	if (what == TH_PASSED_BEGUN) {
		w->begun = w->stream = true;
		return;
	}
	if (what == TH_PASSED_OVER) {
		end_socket(w);
		return;
	}
	w->socket = th_passed_socket_free(w->socket);
	w->fleet->moved += what == TH_PASSED_MOVED;
	w->fleet->lost += what == TH_PASSED_LOST;
	if (w->tries < TH_FLEET_TRIES_MAX)
		look_later(w);
	else
		refuse(w, 503, "other_node", "the node that has the session does not answer");
}

static void on_message(struct th_access *a, struct th_str bytes, bool text)
{
	struct th_forward *w = a->ctx;

	(void)text;
	th_passed_socket_say(w->socket, bytes);
}

static void pass_socket(struct th_forward *w)
{
	struct th_access *a = w->access;
	struct th_buf identity TH_CLEANUP(th_buf_wipe) = TH_BUF_INIT(TH_HTTP1_HEAD_MAX);
	struct th_buf user TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_USER_MAX);
	struct th_str token = th_secret_expose(a->server->settings.fleet_secret);
	struct th_err err = { 0 };
	enum th_code code;

	th_percent_encode(th_str_of(a->user), &user);
	th_buf_printf(&identity, "Authorization: Bearer %.*s\r\nThole-Node-User: %.*s\r\n",
		      TH_FMT(token), TH_FMT(th_buf_str(&user)));
	th_buf_add_cstr(&identity, "Thole-Node-Scopes: ");
	th_scopes_print(a->scopes, &identity);
	th_buf_add_cstr(&identity, "\r\n");
	w->tries++;
	w->fleet->forwarded++;
	a->message = on_message;
	code = th_passed_socket_new(a, w->find.address, th_buf_str(&identity), on_passed, w,
				    &w->socket, &err);
	if (code)
		refuse(w, 503, "other_node", err.msg);
}

/* ---- where it goes ---- */

static void refuse_place(struct th_forward *w)
{
	char why[sizeof(w->find.what) + 80];

	snprintf(why, sizeof(why),
		 "no node that takes sessions has all the labels that this needs: %s",
		 w->find.what);
	refuse(w, 503, thole_code_name(THOLE_EPLACE), why);
}

/* Of a session that nobody has: the node which keeps something of the request may go on with it. */
static bool asks_keeper(struct th_forward *w)
{
	char tag[TH_FLEET_TAG_SIZE + 1];

	if (w->find.by != TH_FIND_SESSION || w->find.found || !th_forward_keeper_of(w->access, tag))
		return false;
	w->find.by = TH_FIND_TAG;
	snprintf(w->find.what, sizeof(w->find.what), "%s", tag);
	find(w); /* what the request names was asked for just now */
	return true;
}

static void on_found(void *ctx, int code, const struct thole_error *err)
{
	struct th_forward *w = ctx;
	const struct th_server *s = w->access->server;

	if (code)
		refuse(w, th_status_of(code), thole_code_name(code), err->text);
	else if (w->find.by == TH_FIND_LABELS && !w->find.found)
		refuse_place(w);
	else if (asks_keeper(w))
		;
	else if (!w->find.found || !w->find.address[0] || !s->settings.s.fleet ||
		 th_str_is(s->settings.s.fleet->address, w->find.address))
		answer_here(w);
	else if (w->access->by_node)
		say_where(w);
	else if (th_http_wants_socket(w->access->request))
		pass_socket(w);
	else
		send_on(w);
}

static void find(struct th_forward *w)
{
	struct th_server *s = w->access->server;
	struct thole_error e;
	int code = th_node_find_start(&w->find, &e);

	if (code == THOLE_EUSAGE && w->find.by == TH_FIND_SESSION) /* it is no session's id */
		answer_here(w);
	else if (code)
		refuse(w, th_status_of(e.code), thole_code_name(e.code), e.text);
	else
		th_server_kick(s);
}

static void name_again(struct th_access *a)
{
	struct th_forward *w = a->ctx;

	if (th_forward_session_of(a, w->find.what))
		w->find.by = TH_FIND_SESSION;
	if (!th_needs_wait(&a->needs))
		find(w);
}

static void look(void *ctx)
{
	struct th_forward *w = ctx;
	struct th_access *a = w->access;

	if (!w->named_by_request || !w->tries) {
		find(w);
		return;
	}
	/* What a request is about may be another session by now: the newest of a conversation. */
	th_needs_forget(&a->needs);
	a->again = name_again;
	name_again(a);
}

void th_forward_begin(struct th_access *a, enum th_find_by by, const char *what, th_access_fn *here,
		      bool named_by_request)
{
	struct th_fleet *f = a->server->fleet;
	struct th_forward *w = th_alloc(sizeof(*w));

	th_quota_leave(&a->needs); /* the other node counts */
	*w = (struct th_forward){ .fleet = f,
				  .access = a,
				  .here = here,
				  .next = f->first,
				  .named_by_request = named_by_request };
	th_node_find_init(&w->find, a->server, on_found, w);
	w->find.by = by;
	snprintf(w->find.what, sizeof(w->find.what), "%s", what);
	th_buf_init(&w->headers, TH_HTTP1_HEAD_MAX);
	th_timer_init(&w->again, a->server->loop, look, w);
	if (w->next)
		w->next->prev = w;
	f->first = w;
	f->count++;
	a->ctx = w;
	a->gone = on_gone;
	a->room = on_room;
	a->reads = true;
	look(w);
}

void th_forward_lose(struct th_forward *w)
{
	if (w->sent)
		th_fetch_cancel(w->fleet->fetcher, w->fetch);
	w->sent = false;
	if (w->socket && !w->begun)
		on_passed(w, TH_PASSED_LOST);
	else
		lose(w, true);
}

void th_forward_finish(struct th_forward *w)
{
	struct th_access *a = w->access;

	if (!w->begun || !w->stream)
		return;
	if (w->socket) {
		end_socket(w);
		return;
	}
	forward_free(w);
	th_http_abort(a->request);
}
