/* SPDX-License-Identifier: Apache-2.0 */
#include "io/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "io/files.h"

struct th_relay {
	struct th_loop *loop;
	struct th_stream *stream; /* NULL: it is over */
	struct th_poll *poll;
	int fd;
	struct th_buf out; /* for fd */
	size_t sent;
	struct th_deferred ended;
	void (*on_end)(void *ctx);
	void *ctx;
	bool full; /* the stream takes no more now */
	bool held; /* and is held itself */
	bool done; /* fd gives no more, or failed */
};

static void watch(struct th_relay *r)
{
	unsigned events = 0;

	if (!r->done && !r->full && r->stream)
		events |= TH_POLL_READ;
	if (r->out.len > r->sent)
		events |= TH_POLL_WRITE;
	th_poll_set(r->poll, events);
}

/* Nothing more can be done with fd. */
static void local_end(struct th_relay *r)
{
	r->done = true;
	th_buf_clear(&r->out);
	r->sent = 0;
	if (r->stream)
		th_stream_end(r->stream);
}

static void write_out(struct th_relay *r)
{
	while (r->sent < r->out.len) {
		ssize_t n = send(r->fd, r->out.ptr + r->sent, r->out.len - r->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			local_end(r);
			break;
		}
		r->sent += (size_t)n;
	}
	if (r->sent == r->out.len) {
		th_buf_clear(&r->out);
		r->sent = 0;
	}
	if (r->held && r->out.len == 0 && r->stream) {
		r->held = false;
		th_stream_hold(r->stream, false);
	}
	if (!r->stream && r->out.len == 0)
		th_loop_defer(r->loop, &r->ended);
}

static void read_in(struct th_relay *r)
{
	char piece[16 * TH_KIB];
	ssize_t n;
	enum th_code code;

	do
		n = recv(r->fd, piece, sizeof(piece), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		local_end(r);
		return;
	}
	code = th_stream_write(r->stream, th_str_n(piece, (size_t)n));
	r->full = code == TH_EBUSY;
	if (code && code != TH_EBUSY)
		local_end(r);
}

static void on_poll(void *ctx, unsigned events)
{
	struct th_relay *r = ctx;

	if (events & TH_POLL_WRITE && r->out.len > r->sent)
		write_out(r);
	if (events & TH_POLL_READ && !r->done && !r->full && r->stream)
		read_in(r);
	watch(r);
}

static void on_ended(void *ctx)
{
	struct th_relay *r = ctx;

	r->on_end(r->ctx);
}

enum th_code th_relay_new(struct th_loop *l, int fd, struct th_stream *stream,
			  void (*on_end)(void *ctx), void *ctx, struct th_relay **ret,
			  struct th_err *err)
{
	struct th_relay *r = th_alloc(sizeof(*r));
	enum th_code code = th_poll_new(l, fd, on_poll, r, &r->poll, err);

	if (code) {
		th_fd_close(&fd);
		free(r);
		return code;
	}
	r->loop = l;
	r->fd = fd;
	r->stream = stream;
	r->on_end = on_end;
	r->ctx = ctx;
	r->ended = (struct th_deferred){ .fn = on_ended, .ctx = r };
	/* A hold lets through what was on its way. */
	th_buf_init(&r->out, 2 * TH_RELAY_SIZE_MAX + TH_EXEC_GATE_HELLO_MAX);
	watch(r);
	*ret = r;
	return TH_OK;
}

struct th_relay *th_relay_free(struct th_relay *r)
{
	if (!r)
		return NULL;
	th_loop_undefer(r->loop, &r->ended);
	th_poll_free(r->poll);
	th_fd_close(&r->fd);
	th_buf_deinit(&r->out);
	free(r);
	return NULL;
}

void th_relay_data(struct th_relay *r, struct th_str bytes)
{
	if (r->done)
		return;
	if (r->sent) {
		th_buf_drop(&r->out, r->sent);
		r->sent = 0;
	}
	th_buf_add(&r->out, bytes);
	if (r->out.failed) { /* it came in spite of the hold */
		local_end(r);
		return;
	}
	write_out(r);
	if (r->stream && r->out.len - r->sent >= TH_RELAY_SIZE_MAX) {
		r->held = true;
		th_stream_hold(r->stream, true);
	}
	watch(r);
}

void th_relay_room(struct th_relay *r)
{
	r->full = false;
	watch(r);
}

void th_relay_over(struct th_relay *r)
{
	r->stream = NULL;
	if (r->out.len == 0)
		th_loop_defer(r->loop, &r->ended);
	watch(r);
}
