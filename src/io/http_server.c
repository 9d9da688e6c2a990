/* SPDX-License-Identifier: Apache-2.0 */
#include "io/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/tls.h"
#include "wire/http1.h"
#include "wire/ws.h"

#define READ_SIZE (64 * TH_KIB)
#define LINGER_BYTES (1 * TH_MIB) /* read over after a refusal */

enum state {
	READS,   /* a request, or waits for one */
	ANSWERS, /* the owner has it */
	STREAMS, /* the owner writes */
	SOCKET,  /* it is a WebSocket */
	LINGERS, /* all is said; what the peer still sends is read over */
	DEAD     /* to be freed */
};

struct th_http_request {
	struct th_http_request *prev, *next;
	struct th_http_server *server;
	enum state state;
	int fd;
	struct th_poll *poll;
	struct th_timer timer;
	struct th_deferred again; /* goes on with what was read already */
	struct th_http1 *parser;
	struct th_ws *ws;
	struct th_tls *tls;
	struct th_buf in;    /* not parsed yet */
	struct th_buf out;   /* not sent yet, as the peer reads it (encrypted, if at all) */
	struct th_buf plain; /* of a WebSocket or of TLS, on its way to `out` */
	size_t sent;         /* of out */
	uint64_t total, started_ms;
	size_t over; /* bytes read over */
	int status;
	int depth; /* how many of the owner's functions are at work */
	void *data;
	bool headed, chunked, last, wants_room, is_head, head_done, goodbye;
	bool events; /* the stream is one of events */
	bool held;   /* the owner of a socket that is passed on takes no more */
	bool has_peer;
	struct th_address peer;
};

struct th_http_server {
	struct th_loop *loop;
	struct th_http_handlers h;
	struct th_tls_config *tls;
	struct th_http_times times;
	struct th_http_request *list;
	size_t count;
	bool finishing;
	time_t date_at;
	char date[40];
};

static char read_bytes[READ_SIZE]; /* of whichever connection is read */

static void process(struct th_http_request *r);
static void flush(struct th_http_request *r);

/* ---- life ---- */

static void free_request(struct th_http_request *r)
{
	struct th_http_server *s = r->server;

	if (r->prev)
		r->prev->next = r->next;
	else
		s->list = r->next;
	if (r->next)
		r->next->prev = r->prev;
	s->count--;
	th_timer_stop(&r->timer);
	th_loop_undefer(s->loop, &r->again);
	th_poll_free(r->poll);
	th_fd_close(&r->fd);
	th_http1_free(r->parser);
	th_ws_free(r->ws);
	th_tls_free(r->tls);
	th_buf_deinit(&r->in);
	th_buf_deinit(&r->out);
	th_buf_deinit(&r->plain);
	free(r);
}

static bool is_owned(const struct th_http_request *r)
{
	return r->state == ANSWERS || r->state == STREAMS || r->state == SOCKET;
}

static void note_end(struct th_http_request *r)
{
	if (r->server->h.on_end && r->headed)
		r->server->h.on_end(r->server->h.ctx, r, r->status, r->total);
	r->headed = false;
}

/* The connection is over; it is freed where nobody is at work with it. */
static void kill_request(struct th_http_request *r)
{
	bool owned = is_owned(r);

	if (r->state == DEAD)
		return;
	r->state = DEAD;
	th_poll_set(r->poll, 0);
	th_timer_stop(&r->timer);
	if (owned) {
		r->depth++;
		r->server->h.on_gone(r->server->h.ctx, r);
		r->depth--;
	}
	note_end(r);
	th_loop_defer(r->server->loop, &r->again);
}

/* ---- time ---- */

static void set_timer(struct th_http_request *r)
{
	const struct th_http_times *t = &r->server->times;

	if (r->state == DEAD)
		return;
	if (r->out.len > r->sent)
		th_timer_start(&r->timer, t->stall_ms ?: TH_HTTP_STALL_MS, 0);
	else if (r->state == LINGERS)
		th_timer_start(&r->timer, t->linger_ms ?: TH_HTTP_LINGER_MS, 0);
	else if (r->state != READS)
		th_timer_stop(&r->timer);
	else if (r->headed)
		th_timer_start(&r->timer, t->body_ms ?: TH_HTTP_BODY_MS, 0);
	else if (th_http1_begun(r->parser) || r->tls)
		th_timer_start(&r->timer, t->head_ms ?: TH_HTTP_HEAD_MS, 0);
	else
		th_timer_start(&r->timer, t->idle_ms ?: TH_HTTP_IDLE_MS, 0);
}

static void on_time(void *ctx)
{
	kill_request(ctx);
}

static const char *date_now(struct th_http_server *s)
{
	time_t now = (time_t)(th_clock_wall_ms() / 1000);
	struct tm tm;

	if (now != s->date_at && gmtime_r(&now, &tm)) {
		strftime(s->date, sizeof(s->date), "%a, %d %b %Y %H:%M:%S GMT", &tm);
		s->date_at = now;
	}
	return s->date;
}

/* ---- writing ---- */

static void set_poll(struct th_http_request *r)
{
	unsigned events = 0;

	if (r->state == DEAD)
		return;
	if (!r->held &&
	    (r->in.len < TH_HTTP_AHEAD_MAX || r->state == LINGERS || r->state == SOCKET))
		events |= TH_POLL_READ;
	if (r->out.len > r->sent)
		events |= TH_POLL_WRITE;
	if (th_poll_get(r->poll) != events)
		th_poll_set(r->poll, events);
}

/* All is sent: what comes next is the state's. */
static void sent_all(struct th_http_request *r)
{
	th_buf_deinit(&r->out);
	r->sent = 0;
	if (r->last && r->state == READS) {
		r->state = LINGERS;
		if (shutdown(r->fd, SHUT_WR) != 0)
			kill_request(r);
	}
	if (r->wants_room && is_owned(r)) {
		r->wants_room = false;
		r->depth++;
		r->server->h.on_room(r->server->h.ctx, r);
		r->depth--;
	}
}

static void flush(struct th_http_request *r)
{
	bool moved = false;

	if (r->tls && r->last && r->state == READS && !r->goodbye) { /* else it looks cut off */
		r->goodbye = true;
		th_tls_close(r->tls, &r->out);
	}
	while (r->state != DEAD && r->sent < r->out.len) {
		ssize_t n = send(r->fd, r->out.ptr + r->sent, r->out.len - r->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			r->sent += (size_t)n;
			moved = true;
		} else if (n < 0 && errno == EINTR) {
			continue;
		} else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
			break;
		} else {
			kill_request(r);
			return;
		}
	}
	if (r->state == DEAD)
		return;
	if (r->sent == r->out.len)
		sent_all(r);
	else if (r->sent > TH_HTTP_QUEUE_MAX) {
		th_buf_drop(&r->out, r->sent);
		r->sent = 0;
	}
	if (moved || !th_timer_running(&r->timer) || r->out.len == 0)
		set_timer(r);
	set_poll(r);
}

/* Bytes for the peer, through TLS where there is one. */
static void put(struct th_http_request *r, struct th_str bytes)
{
	struct th_err err = {};

	if (r->state == DEAD)
		return;
	if (r->tls && th_tls_write(r->tls, bytes, &r->out, &err) != TH_OK)
		kill_request(r);
	else if (!r->tls)
		th_buf_add(&r->out, bytes);
	if (r->out.failed)
		kill_request(r);
}

static const char *status_text(int status)
{
	static const struct {
		int status;
		const char *text;
	} texts[] = {
		{ 101, "Switching Protocols" },
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 406, "Not Acceptable" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" },
		{ 422, "Unprocessable Content" },
		{ 426, "Upgrade Required" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
	};

	for (size_t i = 0; i < TH_COUNT(texts); i++)
		if (texts[i].status == status)
			return texts[i].text;
	return "Unknown";
}

static void put_head(struct th_http_request *r, int status, const char *type, struct th_str headers,
		     int64_t size)
{
	struct th_buf head TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP1_HEAD_MAX);

	r->status = status;
	th_buf_printf(&head, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, status_text(status),
		      date_now(r->server));
	if (type)
		th_buf_printf(&head, "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n",
			      type);
	th_buf_add(&head, headers);
	if (size >= 0)
		th_buf_printf(&head, "Content-Length: %lld\r\n", (long long)size);
	else if (r->chunked)
		th_buf_add_cstr(&head, "Transfer-Encoding: chunked\r\n");
	if (r->last && status != 101)
		th_buf_add_cstr(&head, "Connection: close\r\n");
	th_buf_add_cstr(&head, "\r\n");
	put(r, th_buf_str(&head));
}

/* The request was answered: the connection waits for the next one. */
static void answered(struct th_http_request *r)
{
	if (r->state == DEAD)
		return;
	note_end(r);
	r->state = READS;
	r->data = NULL;
	r->total = 0;
	r->wants_room = false;
	r->head_done = false;
	if (!r->last)
		th_http1_next(r->parser);
	flush(r);
	if (r->state == READS && !r->last)
		th_loop_defer(r->server->loop, &r->again);
}

static bool must_end(const struct th_http_request *r)
{
	return r->server->finishing || !th_http1_keep_alive(r->parser);
}

bool th_http_is_begun(const struct th_http_request *r)
{
	return r->state != ANSWERS;
}

bool th_http_is_events(const struct th_http_request *r)
{
	return r->state == STREAMS && r->events;
}

bool th_http_is_socket(const struct th_http_request *r)
{
	return r->state == SOCKET && r->ws;
}

void th_http_reply(struct th_http_request *r, int status, const char *type, struct th_str headers,
		   struct th_str body)
{
	if (r->state != ANSWERS)
		return;
	r->last = r->last || must_end(r) || !r->head_done;
	put_head(r, status, type, headers, status == 204 || status == 304 ? -1 : (int64_t)body.len);
	if (!r->is_head)
		put(r, body);
	r->total = body.len;
	answered(r);
}

void th_http_begin(struct th_http_request *r, int status, const char *type, struct th_str headers)
{
	if (r->state != ANSWERS)
		return;
	r->chunked = th_http1_chunks(r->parser);
	r->last = r->last || must_end(r) || !r->chunked;
	r->state = STREAMS;
	r->events = type && strcmp(type, "text/event-stream") == 0;
	put_head(r, status, type, headers, -1);
	/* Not sent here: that its peer has left is told later, when its owner is ready for it. */
	set_timer(r);
	set_poll(r);
}

static enum th_code full(struct th_http_request *r)
{
	if (r->out.len - r->sent <= TH_HTTP_QUEUE_MAX)
		return TH_OK;
	r->wants_room = true;
	return TH_EBUSY;
}

enum th_code th_http_write(struct th_http_request *r, struct th_str bytes)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	if (r->state != STREAMS)
		return TH_ECONN;
	if (r->out.len - r->sent > 2 * TH_HTTP_QUEUE_MAX)
		return TH_ELIMIT;
	r->total += bytes.len;
	if (bytes.len == 0 || r->is_head)
		return TH_OK;
	if (r->chunked)
		th_buf_printf(&frame, "%zx\r\n", bytes.len);
	th_buf_add(&frame, bytes);
	if (r->chunked)
		th_buf_add_cstr(&frame, "\r\n");
	put(r, th_buf_str(&frame));
	flush(r);
	return r->state == DEAD ? TH_ECONN : full(r);
}

void th_http_end(struct th_http_request *r)
{
	if (r->state != STREAMS)
		return;
	if (r->chunked && !r->is_head)
		put(r, TH_STR("0\r\n\r\n"));
	answered(r);
}

void th_http_abort(struct th_http_request *r)
{
	if (!is_owned(r))
		return;
	r->state = READS; /* the owner knows */
	kill_request(r);
}

size_t th_http_waiting(const struct th_http_request *r)
{
	return r->out.len - r->sent;
}

/* ---- WebSockets ---- */

static bool has_word(struct th_str list, const char *word)
{
	while (list.len)
		if (th_str_ieq(th_str_trim(th_str_split(&list, ',')), th_str_of(word)))
			return true;
	return false;
}

bool th_http_wants_socket(const struct th_http_request *r)
{
	return th_http1_upgrade(r->parser) && has_word(th_http_header(r, "upgrade"), "websocket");
}

static void on_ws(void *ctx, struct th_str message, bool text)
{
	struct th_http_request *r = ctx;

	if (r->state != SOCKET)
		return;
	r->depth++;
	r->server->h.on_message(r->server->h.ctx, r, message, text);
	r->depth--;
}

/* What wslay has written goes to the peer. */
static void ws_flush(struct th_http_request *r)
{
	struct th_buf plain = r->plain;

	if (r->plain.len == 0 || r->state == DEAD)
		return;
	th_buf_init(&r->plain, plain.max);
	put(r, th_buf_str(&plain));
	th_buf_deinit(&plain);
	flush(r);
}

/* 101 with these headers; what came behind the head is read soon. */
static void become_socket(struct th_http_request *r, struct th_str headers)
{
	r->chunked = false;
	r->last = true;
	r->state = SOCKET;
	put_head(r, 101, NULL, headers, -1);
	flush(r);
	th_loop_defer(r->server->loop, &r->again);
}

bool th_http_pass_socket(struct th_http_request *r, struct th_str headers)
{
	if (r->state == ANSWERS)
		become_socket(r, headers);
	return r->state == SOCKET;
}

void th_http_hold(struct th_http_request *r, bool hold)
{
	r->held = hold;
	if (r->state == SOCKET && !hold && r->in.len)
		th_loop_defer(r->server->loop, &r->again);
	set_poll(r);
}

bool th_http_upgrade(struct th_http_request *r, struct th_str headers)
{
	struct th_str key = th_http_header(r, "sec-websocket-key");
	struct th_buf more TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP1_HEAD_MAX);
	char accept[29];

	if (r->state != ANSWERS)
		return false;
	if (!th_http_wants_socket(r) || !th_str_is(th_http_method(r), "GET") || key.len != 24 ||
	    !th_str_is(th_http_header(r, "sec-websocket-version"), "13")) {
		th_http_reply(
		    r, 400, "application/json", TH_STR("Sec-WebSocket-Version: 13\r\n"),
		    TH_STR("{\"error\":{\"message\":\"this is not a valid WebSocket handshake\","
			   "\"type\":\"invalid_request_error\",\"param\":null,\"code\":null}}"));
		return false;
	}
	th_tls_accept_key(key, accept);
	th_buf_printf(&more,
		      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
		      accept);
	th_buf_add(&more, headers);
	r->ws = th_ws_new(TH_HTTP_MESSAGE_MAX, on_ws, r, &r->plain);
	become_socket(r, th_buf_str(&more));
	return r->state == SOCKET;
}

enum th_code th_http_send(struct th_http_request *r, struct th_str message, bool text)
{
	if (r->state != SOCKET)
		return TH_ECONN;
	if (r->out.len - r->sent > 2 * TH_HTTP_QUEUE_MAX)
		return TH_ELIMIT;
	r->total += message.len;
	if (r->ws) {
		th_ws_send(r->ws, message, text);
		ws_flush(r);
	} else {
		put(r, message);
		flush(r);
	}
	return r->state == DEAD ? TH_ECONN : full(r);
}

void th_http_close(struct th_http_request *r, unsigned code)
{
	if (r->state != SOCKET)
		return;
	if (r->ws) {
		th_ws_close(r->ws, code);
		ws_flush(r);
	}
	if (r->state == DEAD)
		return;
	note_end(r);
	r->state = READS;
	r->last = true;
	r->held = false;
	flush(r);
}

/* ---- reading ---- */

static void refuse(struct th_http_request *r, const struct th_err *err)
{
	int status = err->code == TH_ELIMIT ? 431 : err->code == TH_EBUSY ? 413 : 400;
	struct th_buf body TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&body);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("error"));
	th_jw_object(&w);
	th_jw_kstr(&w, "message", th_str_of(err->msg));
	th_jw_kstr(&w, "type", TH_STR("invalid_request_error"));
	th_jw_kraw(&w, "param", TH_STR("null"));
	th_jw_kraw(&w, "code", TH_STR("null"));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	r->headed = true;
	r->last = true;
	r->state = ANSWERS;
	th_http_reply(r, status, "application/json", (struct th_str){ NULL, 0 }, th_buf_str(&body));
}

static void at_head(struct th_http_request *r)
{
	struct th_http_server *s = r->server;
	size_t max;

	r->headed = true;
	r->status = 0;
	r->is_head = th_str_is(th_http1_method(r->parser), "HEAD");
	r->started_ms = th_loop_now_ms(s->loop);
	r->state = ANSWERS;
	r->head_done = !th_http1_has_body(r->parser);
	r->depth++;
	max = s->h.on_head(s->h.ctx, r);
	r->depth--;
	if (r->state != ANSWERS) /* it was answered */
		return;
	r->state = READS;
	th_http1_body_max(r->parser, max);
	if (th_http1_expects(r->parser) && th_http1_has_body(r->parser) &&
	    th_http1_body_fits(r->parser)) {
		put(r, TH_STR("HTTP/1.1 100 Continue\r\n\r\n"));
		flush(r);
	}
}

static void at_whole(struct th_http_request *r)
{
	struct th_http_server *s = r->server;

	r->state = ANSWERS;
	r->head_done = true;
	th_timer_stop(&r->timer);
	r->depth++;
	s->h.on_request(s->h.ctx, r);
	r->depth--;
}

static void process_socket(struct th_http_request *r)
{
	struct th_buf in = r->in;
	struct th_err err = {};
	enum th_code code;

	if (in.len == 0 || r->held)
		return;
	th_buf_init(&r->in, READ_SIZE + TH_HTTP_AHEAD_MAX);
	if (!r->ws) {
		on_ws(r, th_buf_str(&in), false);
		th_buf_deinit(&in);
		return;
	}
	code = th_ws_feed(r->ws, th_buf_str(&in), &err);
	th_buf_deinit(&in);
	ws_flush(r);
	if (code && r->state == SOCKET) {
		r->depth++;
		r->server->h.on_gone(r->server->h.ctx, r);
		r->depth--;
		note_end(r);
		r->state = READS;
		flush(r);
	}
}

/* What was read, as far as the state takes it. */
static void process(struct th_http_request *r)
{
	while (r->state == READS && !r->last) {
		struct th_err err = {};
		size_t used;
		enum th_http1_step step = th_http1_feed(r->parser, th_buf_str(&r->in), &used, &err);

		th_buf_drop(&r->in, used);
		if (step == TH_HTTP1_BAD)
			refuse(r, &err);
		else if (step == TH_HTTP1_HEAD)
			at_head(r);
		else if (step == TH_HTTP1_WHOLE)
			at_whole(r);
		else
			break;
	}
	if (r->state == SOCKET)
		process_socket(r);
	if (r->in.len == 0)
		th_buf_deinit(&r->in);
}

static void on_again(void *ctx)
{
	struct th_http_request *r = ctx;

	if (r->state == DEAD) {
		free_request(r);
		return;
	}
	process(r);
	if (r->state == READS && r->server->finishing && !th_http1_begun(r->parser) &&
	    r->out.len == r->sent)
		kill_request(r);
	set_poll(r);
	if (r->state == READS && r->out.len == r->sent)
		set_timer(r);
}

static void take(struct th_http_request *r, struct th_str bytes)
{
	struct th_err err = {};
	enum th_code code = TH_OK;

	if (r->tls) {
		code = th_tls_read(r->tls, bytes, &r->in, &r->out, &err);
		flush(r);
	} else {
		th_buf_add(&r->in, bytes);
	}
	if (r->in.failed || (code && code != TH_ECONN)) {
		kill_request(r);
		return;
	}
	process(r);
	if (code == TH_ECONN)
		kill_request(r);
}

static void on_readable(struct th_http_request *r)
{
	bool fresh = !th_http1_begun(r->parser) && r->state == READS;
	ssize_t n;

	do
		n = recv(r->fd, read_bytes, sizeof(read_bytes), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		kill_request(r);
		return;
	}
	if (r->state == LINGERS || (r->state == READS && r->last)) {
		r->over += (size_t)n;
		if (r->over > LINGER_BYTES)
			kill_request(r);
		return;
	}
	take(r, th_str_n(read_bytes, (size_t)n));
	if (r->state == READS && r->out.len == r->sent && fresh)
		set_timer(r);
}

static void on_poll(void *ctx, unsigned events)
{
	struct th_http_request *r = ctx;

	if (r->state != DEAD && events & TH_POLL_READ && th_poll_get(r->poll) & TH_POLL_READ)
		on_readable(r);
	if (r->state != DEAD && events & TH_POLL_WRITE && r->out.len > r->sent)
		flush(r);
	set_poll(r);
}

/* ---- the server ---- */

struct th_http_server *th_http_server_new(struct th_loop *l, const struct th_http_handlers *h,
					  struct th_tls_config *tls)
{
	struct th_http_server *s = th_alloc(sizeof(*s));

	*s = (struct th_http_server){ .loop = l, .h = *h, .tls = tls, .date_at = -1 };
	return s;
}

void th_http_server_times(struct th_http_server *s, const struct th_http_times *times)
{
	s->times = *times;
}

/* Now: of one that has left nobody can say any more who it was. */
static void note_peer(struct th_http_request *r)
{
	struct sockaddr_storage at;
	socklen_t size = sizeof(at);

	r->has_peer = getpeername(r->fd, (struct sockaddr *)&at, &size) == 0 &&
		      th_address_of((const struct sockaddr *)&at, &r->peer);
}

void th_http_server_take(struct th_http_server *s, int fd)
{
	struct th_http_request *r;
	struct th_err err = {};

	if (s->count >= (s->times.connections ?: TH_HTTP_CONNECTIONS_MAX) || s->finishing) {
		th_fd_close(&fd);
		return;
	}
	r = th_alloc(sizeof(*r));
	*r = (struct th_http_request){ .server = s, .fd = fd, .next = s->list };
	if (s->list)
		s->list->prev = r;
	s->list = r;
	s->count++;
	note_peer(r);
	r->again = (struct th_deferred){ .fn = on_again, .ctx = r };
	th_timer_init(&r->timer, s->loop, on_time, r);
	th_buf_init(&r->in, READ_SIZE + TH_HTTP_AHEAD_MAX);
	th_buf_init(&r->out, TH_HTTP_REPLY_MAX + TH_MIB);
	th_buf_init(&r->plain, TH_HTTP_REPLY_MAX);
	r->parser = th_http1_new();
	if (s->tls)
		r->tls = th_tls_new(s->tls);
	if (th_poll_new(s->loop, fd, on_poll, r, &r->poll, &err) != TH_OK) {
		free_request(r);
		return;
	}
	set_timer(r);
	set_poll(r);
}

void th_http_server_finish(struct th_http_server *s)
{
	s->finishing = true;
	for (struct th_http_request *r = s->list; r; r = r->next)
		if (r->state == READS && !th_http1_begun(r->parser))
			th_loop_defer(s->loop, &r->again);
}

size_t th_http_server_count(const struct th_http_server *s)
{
	return s->count;
}

struct th_http_server *th_http_server_free(struct th_http_server *s)
{
	if (s) {
		while (s->list) {
			note_end(s->list);
			free_request(s->list);
		}
		free(s);
	}
	return NULL;
}

/* ---- the request ---- */

struct th_str th_http_method(const struct th_http_request *r)
{
	return th_http1_method(r->parser);
}

struct th_str th_http_path(const struct th_http_request *r)
{
	struct th_str target = th_http1_target(r->parser);

	return th_str_split(&target, '?');
}

struct th_str th_http_query(const struct th_http_request *r)
{
	struct th_str target = th_http1_target(r->parser);

	(void)th_str_split(&target, '?');
	return target;
}

struct th_str th_http_header(const struct th_http_request *r, const char *name)
{
	return th_http1_header(r->parser, name);
}

size_t th_http_header_count(const struct th_http_request *r, const char *name)
{
	return th_http1_header_count(r->parser, name);
}

struct th_str th_http_body(const struct th_http_request *r)
{
	return th_http1_body(r->parser);
}

bool th_http_secure(const struct th_http_request *r)
{
	return r->tls != NULL;
}

bool th_http_peer(const struct th_http_request *r, struct th_address *ret)
{
	if (r->has_peer)
		*ret = r->peer;
	return r->has_peer;
}

uint64_t th_http_started_ms(const struct th_http_request *r)
{
	return r->started_ms;
}

void th_http_set_data(struct th_http_request *r, void *data)
{
	r->data = data;
}

void *th_http_data(const struct th_http_request *r)
{
	return r->data;
}
