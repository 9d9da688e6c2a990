/* SPDX-License-Identifier: Apache-2.0 */
/* http_write.c - what a connection sends, how long it may take, and its end. */
#include <errno.h>
#include <sys/socket.h>
#include <time.h>

#include "io/clock.h"
#include "io/http_parts.h"

static bool is_owned(const struct th_http_request *r)
{
	return r->state == TH_HTTP_ANSWERS || r->state == TH_HTTP_STREAMS ||
	       r->state == TH_HTTP_SOCKET;
}

void th_http_note_end(struct th_http_request *r)
{
	if (r->server->h.on_end && r->headed)
		r->server->h.on_end(r->server->h.ctx, r, r->status, r->total);
	r->headed = false;
}

void th_http_kill(struct th_http_request *r)
{
	bool owned = is_owned(r);

	if (r->state == TH_HTTP_DEAD)
		return;
	r->state = TH_HTTP_DEAD;
	th_poll_set(r->poll, 0);
	th_timer_stop(&r->timer);
	if (owned) {
		r->depth++;
		r->server->h.on_gone(r->server->h.ctx, r);
		r->depth--;
	}
	th_http_note_end(r);
	th_loop_defer(r->server->loop, &r->again);
}

/* ---- time ---- */

void th_http_set_timer(struct th_http_request *r)
{
	const struct th_http_times *t = &r->server->times;

	if (r->state == TH_HTTP_DEAD)
		return;
	if (r->out.len > r->sent)
		th_timer_start(&r->timer, t->stall_ms ?: TH_HTTP_STALL_MS, 0);
	else if (r->state == TH_HTTP_LINGERS)
		th_timer_start(&r->timer, t->linger_ms ?: TH_HTTP_LINGER_MS, 0);
	else if (r->state != TH_HTTP_READS)
		th_timer_stop(&r->timer);
	else if (r->headed)
		th_timer_start(&r->timer, t->body_ms ?: TH_HTTP_BODY_MS, 0);
	else if (th_http1_begun(r->parser) || r->tls)
		th_timer_start(&r->timer, t->head_ms ?: TH_HTTP_HEAD_MS, 0);
	else
		th_timer_start(&r->timer, t->idle_ms ?: TH_HTTP_IDLE_MS, 0);
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

void th_http_set_poll(struct th_http_request *r)
{
	unsigned events = 0;

	if (r->state == TH_HTTP_DEAD)
		return;
	if (!r->held && (r->in.len < TH_HTTP_AHEAD_MAX || r->state == TH_HTTP_LINGERS ||
			 r->state == TH_HTTP_SOCKET))
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
	if (r->last && r->state == TH_HTTP_READS) {
		r->state = TH_HTTP_LINGERS;
		if (shutdown(r->fd, SHUT_WR) != 0)
			th_http_kill(r);
	}
	if (r->wants_room && is_owned(r)) {
		r->wants_room = false;
		r->depth++;
		r->server->h.on_room(r->server->h.ctx, r);
		r->depth--;
	}
}

void th_http_flush(struct th_http_request *r)
{
	bool moved = false;

	if (r->tls && r->last && r->state == TH_HTTP_READS &&
	    !r->goodbye) { /* else it looks cut off */
		r->goodbye = true;
		th_tls_close(r->tls, &r->out);
	}
	while (r->state != TH_HTTP_DEAD && r->sent < r->out.len) {
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
			th_http_kill(r);
			return;
		}
	}
	if (r->state == TH_HTTP_DEAD)
		return;
	if (r->sent == r->out.len)
		sent_all(r);
	else if (r->sent > TH_HTTP_QUEUE_MAX) {
		th_buf_drop(&r->out, r->sent);
		r->sent = 0;
	}
	if (moved || !th_timer_running(&r->timer) || r->out.len == 0)
		th_http_set_timer(r);
	th_http_set_poll(r);
}

void th_http_put(struct th_http_request *r, struct th_str bytes)
{
	struct th_err err = {};

	if (r->state == TH_HTTP_DEAD)
		return;
	if (r->tls && th_tls_write(r->tls, bytes, &r->out, &err) != TH_OK)
		th_http_kill(r);
	else if (!r->tls)
		th_buf_add(&r->out, bytes);
	if (r->out.failed)
		th_http_kill(r);
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

void th_http_put_head(struct th_http_request *r, int status, const char *type,
		      struct th_str headers, int64_t size)
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
	th_http_put(r, th_buf_str(&head));
}

/* The request was answered: the connection waits for the next one. */
static void answered(struct th_http_request *r)
{
	if (r->state == TH_HTTP_DEAD)
		return;
	th_http_note_end(r);
	r->state = TH_HTTP_READS;
	r->data = NULL;
	r->total = 0;
	r->wants_room = false;
	r->chunked = false;
	r->head_done = false;
	if (!r->last)
		th_http1_next(r->parser);
	th_http_flush(r);
	if (r->state == TH_HTTP_READS && !r->last)
		th_loop_defer(r->server->loop, &r->again);
}

static bool must_end(const struct th_http_request *r)
{
	return r->server->finishing || !th_http1_keep_alive(r->parser);
}

void th_http_reply(struct th_http_request *r, int status, const char *type, struct th_str headers,
		   struct th_str body)
{
	if (r->state != TH_HTTP_ANSWERS)
		return;
	r->last = r->last || must_end(r) || !r->head_done;
	th_http_put_head(r, status, type, headers,
			 status == 204 || status == 304 ? -1 : (int64_t)body.len);
	if (!r->is_head)
		th_http_put(r, body);
	r->total = body.len;
	answered(r);
}

void th_http_begin(struct th_http_request *r, int status, const char *type, struct th_str headers)
{
	if (r->state != TH_HTTP_ANSWERS)
		return;
	r->chunked = th_http1_chunks(r->parser);
	r->last = r->last || must_end(r) || !r->chunked;
	r->state = TH_HTTP_STREAMS;
	r->events = type && strcmp(type, "text/event-stream") == 0;
	th_http_put_head(r, status, type, headers, -1);
	/* Not sent here: that its peer has left is told later, when its owner is ready for it. */
	th_http_set_timer(r);
	th_http_set_poll(r);
}

enum th_code th_http_full(struct th_http_request *r)
{
	if (r->out.len - r->sent <= TH_HTTP_QUEUE_MAX)
		return TH_OK;
	r->wants_room = true;
	return TH_EBUSY;
}

enum th_code th_http_write(struct th_http_request *r, struct th_str bytes)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	if (r->state != TH_HTTP_STREAMS)
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
	th_http_put(r, th_buf_str(&frame));
	th_http_flush(r);
	return r->state == TH_HTTP_DEAD ? TH_ECONN : th_http_full(r);
}

void th_http_end(struct th_http_request *r)
{
	if (r->state != TH_HTTP_STREAMS)
		return;
	if (r->chunked && !r->is_head)
		th_http_put(r, TH_STR("0\r\n\r\n"));
	answered(r);
}

void th_http_abort(struct th_http_request *r)
{
	if (!is_owned(r))
		return;
	r->state = TH_HTTP_READS; /* the owner knows */
	th_http_kill(r);
}
