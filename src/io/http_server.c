/* SPDX-License-Identifier: Apache-2.0 */
#include "io/http_server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.h"
#include "io/files.h"
#include "io/http_parts.h"

#define LINGER_BYTES (1 * TH_MIB) /* read over after a refusal */

static char read_bytes[TH_HTTP_READ_SIZE]; /* of whichever connection is read */

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

static void on_time(void *ctx)
{
	th_http_kill(ctx);
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
	r->state = TH_HTTP_ANSWERS;
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
	r->state = TH_HTTP_ANSWERS;
	r->head_done = !th_http1_has_body(r->parser);
	r->depth++;
	max = s->h.on_head(s->h.ctx, r);
	r->depth--;
	if (r->state != TH_HTTP_ANSWERS) /* it was answered */
		return;
	r->state = TH_HTTP_READS;
	th_http1_body_max(r->parser, max);
	if (th_http1_expects(r->parser) && th_http1_has_body(r->parser) &&
	    th_http1_body_fits(r->parser)) {
		th_http_put(r, TH_STR("HTTP/1.1 100 Continue\r\n\r\n"));
		th_http_flush(r);
	}
}

static void at_whole(struct th_http_request *r)
{
	struct th_http_server *s = r->server;

	r->state = TH_HTTP_ANSWERS;
	r->head_done = true;
	th_timer_stop(&r->timer);
	r->depth++;
	s->h.on_request(s->h.ctx, r);
	r->depth--;
}

/* What was read, as far as the state takes it. */
static void process(struct th_http_request *r)
{
	while (r->state == TH_HTTP_READS && !r->last) {
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
	if (r->state == TH_HTTP_SOCKET)
		th_http_socket_feed(r);
	if (r->in.len == 0)
		th_buf_deinit(&r->in);
}

static void on_again(void *ctx)
{
	struct th_http_request *r = ctx;

	if (r->state == TH_HTTP_DEAD) {
		free_request(r);
		return;
	}
	process(r);
	if (r->state == TH_HTTP_READS && r->server->finishing && !th_http1_begun(r->parser) &&
	    r->out.len == r->sent)
		th_http_kill(r);
	th_http_set_poll(r);
	if (r->state == TH_HTTP_READS && r->out.len == r->sent)
		th_http_set_timer(r);
}

static void take(struct th_http_request *r, struct th_str bytes)
{
	struct th_err err = {};
	enum th_code code = TH_OK;

	if (r->tls) {
		code = th_tls_read(r->tls, bytes, &r->in, &r->out, &err);
		th_http_flush(r);
	} else {
		th_buf_add(&r->in, bytes);
	}
	if (r->in.failed || (code && code != TH_ECONN)) {
		th_http_kill(r);
		return;
	}
	process(r);
	if (code == TH_ECONN)
		th_http_kill(r);
}

static void on_readable(struct th_http_request *r)
{
	bool fresh = !th_http1_begun(r->parser) && r->state == TH_HTTP_READS;
	ssize_t n;

	do
		n = recv(r->fd, read_bytes, sizeof(read_bytes), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		th_http_kill(r);
		return;
	}
	if (r->state == TH_HTTP_LINGERS || (r->state == TH_HTTP_READS && r->last)) {
		r->over += (size_t)n;
		if (r->over > LINGER_BYTES)
			th_http_kill(r);
		return;
	}
	take(r, th_str_n(read_bytes, (size_t)n));
	if (r->state == TH_HTTP_READS && r->out.len == r->sent && fresh)
		th_http_set_timer(r);
}

static void on_poll(void *ctx, unsigned events)
{
	struct th_http_request *r = ctx;

	if (r->state != TH_HTTP_DEAD && events & TH_POLL_READ &&
	    th_poll_get(r->poll) & TH_POLL_READ)
		on_readable(r);
	if (r->state != TH_HTTP_DEAD && events & TH_POLL_WRITE && r->out.len > r->sent)
		th_http_flush(r);
	th_http_set_poll(r);
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
	th_buf_init(&r->in, TH_HTTP_READ_SIZE + TH_HTTP_AHEAD_MAX);
	th_buf_init(&r->out, TH_HTTP_REPLY_MAX + TH_MIB);
	th_buf_init(&r->plain, TH_HTTP_REPLY_MAX);
	r->parser = th_http1_new();
	if (s->tls)
		r->tls = th_tls_new(s->tls);
	if (th_poll_new(s->loop, fd, on_poll, r, &r->poll, &err) != TH_OK) {
		free_request(r);
		return;
	}
	th_http_set_timer(r);
	th_http_set_poll(r);
}

void th_http_server_finish(struct th_http_server *s)
{
	s->finishing = true;
	for (struct th_http_request *r = s->list; r; r = r->next)
		if (r->state == TH_HTTP_READS && !th_http1_begun(r->parser))
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
			th_http_note_end(s->list);
			free_request(s->list);
		}
		free(s);
	}
	return NULL;
}
