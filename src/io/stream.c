/* SPDX-License-Identifier: Apache-2.0 */
#include "io/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "io/dial.h"
#include "io/files.h"
#include "rules/net_rule.h"
#include "wire/authority.h"

#define PIECE (16 * TH_KIB)
#define ALIVE_IDLE_S 10 /* then the peer's machine is asked whether it is there */
#define ALIVE_EVERY_S 5
#define ALIVE_COUNT 3

struct th_stream {
	struct th_loop *loop;
	struct th_stream_handlers on;
	struct th_tls_config *config;
	struct th_tls *tls; /* NULL: plain, or not connected yet */
	struct th_dial *dial;
	struct th_poll *poll;
	struct th_timer timer; /* the handshake's, and of a peer that takes nothing */
	int fd;
	struct th_buf out; /* as it is sent */
	size_t sent;
	bool client, is_address, open, held, told_busy, ending, closed, freed;
	unsigned depth;
	char host[TH_NET_HOST_MAX + 1];
};

static void destroy(struct th_stream *s)
{
	th_timer_stop(&s->timer);
	th_dial_free(s->dial);
	th_poll_free(s->poll);
	th_tls_free(s->tls);
	th_fd_close(&s->fd);
	th_buf_deinit(&s->out);
	free(s);
}

static void enter(struct th_stream *s)
{
	s->depth++;
}

static void leave(struct th_stream *s)
{
	if (--s->depth == 0 && s->freed)
		destroy(s);
}

static size_t waiting(const struct th_stream *s)
{
	return s->out.len - s->sent;
}

static void watch(struct th_stream *s)
{
	unsigned events = 0;

	if (s->closed || !s->poll)
		return;
	if (!s->held && !s->ending)
		events |= TH_POLL_READ;
	if (waiting(s))
		events |= TH_POLL_WRITE;
	th_poll_set(s->poll, events);
}

/* `why` NULL: as it should. */
static void close_now(struct th_stream *s, const struct th_err *why)
{
	static const struct th_err none;

	if (s->closed || s->freed)
		return;
	s->closed = true;
	th_timer_stop(&s->timer);
	s->poll = th_poll_free(s->poll);
	th_fd_close(&s->fd);
	s->on.on_close(s->on.ctx, why ?: &none);
}

static void on_time(void *ctx)
{
	struct th_stream *s = ctx;
	struct th_err err = { 0 };

	th_fail(&err, TH_ETIMEOUT, "%s",
		s->open ? "the other end takes nothing"
			: "the other end does not end its handshake");
	enter(s);
	close_now(s, s->ending ? NULL : &err);
	leave(s);
}

static void sent_all(struct th_stream *s)
{
	th_buf_deinit(&s->out);
	s->sent = 0;
	if (s->open)
		th_timer_stop(&s->timer);
	if (s->ending) {
		close_now(s, NULL);
	} else if (s->told_busy) {
		s->told_busy = false;
		if (s->on.on_room)
			s->on.on_room(s->on.ctx);
	}
}

static void send_out(struct th_stream *s)
{
	struct th_err err = { 0 };
	bool moved = false;

	while (!s->closed && waiting(s)) {
		ssize_t n =
		    send(s->fd, s->out.ptr + s->sent, waiting(s), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			th_fail_errno(&err, errno, "send");
			err.code = TH_ECONN;
			close_now(s, &err);
			return;
		}
		s->sent += (size_t)n;
		moved = true;
	}
	if (s->closed)
		return;
	if (s->sent == s->out.len)
		sent_all(s);
	else if (moved || !th_timer_running(&s->timer))
		th_timer_start(&s->timer, TH_STREAM_STALL_MS, 0);
	if (!s->freed)
		watch(s);
}

static void opened(struct th_stream *s)
{
	s->open = true;
	th_timer_stop(&s->timer);
	s->on.on_open(s->on.ctx);
}

/* What came from the peer; empty: it ended. */
static void heard(struct th_stream *s, struct th_str bytes)
{
	struct th_buf plain TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * PIECE);
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	if (!s->tls) {
		if (bytes.len)
			s->on.on_data(s->on.ctx, bytes);
		else
			close_now(s, NULL);
		return;
	}
	if (bytes.len)
		code = th_tls_read(s->tls, bytes, &plain, &s->out, &err);
	else /* without TLS's own end: it may have been cut by anybody */
		code = th_fail(&err, TH_EIO, "the connection was cut");
	if (waiting(s))
		send_out(s); /* also why the handshake failed */
	if (!s->open && !s->closed && th_tls_is_ready(s->tls))
		opened(s);
	if (plain.len && !s->closed && !s->freed && !s->ending)
		s->on.on_data(s->on.ctx, th_buf_str(&plain));
	if (code == TH_ECONN) {
		close_now(s, s->open ? NULL : &err);
	} else if (code) {
		err.code = code == TH_EIO ? TH_ECONN : code;
		close_now(s, &err);
	}
}

static void on_poll(void *ctx, unsigned events)
{
	struct th_stream *s = ctx;
	struct th_err err = { 0 };
	char piece[PIECE];
	ssize_t n = -1;

	enter(s);
	if (events & TH_POLL_WRITE && (waiting(s) || s->ending))
		send_out(s);
	if (events & TH_POLL_READ && !s->closed && !s->freed && !s->held && !s->ending) {
		do
			n = recv(s->fd, piece, sizeof(piece), MSG_DONTWAIT);
		while (n < 0 && errno == EINTR);
		if (n >= 0) {
			heard(s, th_str_n(piece, (size_t)n));
		} else if (errno != EAGAIN && errno != EWOULDBLOCK) {
			th_fail_errno(&err, errno, "receive");
			err.code = TH_ECONN;
			close_now(s, &err);
		}
	}
	if (!s->freed)
		watch(s);
	leave(s);
}

/* Connected: from now on a machine that is gone is noticed. */
static enum th_code begin(struct th_stream *s, struct th_err *err)
{
	const int on = 1, idle = ALIVE_IDLE_S, every = ALIVE_EVERY_S, count = ALIVE_COUNT;
	enum th_code code = th_poll_new(s->loop, s->fd, on_poll, s, &s->poll, err);

	if (code)
		return code;
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(s->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
	(void)setsockopt(s->fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	th_timer_start(&s->timer, TH_STREAM_STALL_MS, 0);
	if (s->config && s->client)
		code = th_tls_connect(s->config, s->host, s->is_address, &s->out, &s->tls, err);
	else if (s->config)
		s->tls = th_tls_new(s->config);
	return code;
}

static void on_dialled(void *ctx, int fd, bool refused, const char *why)
{
	struct th_stream *s = ctx;
	struct th_err err = { 0 };

	(void)refused;
	enter(s);
	if (fd < 0) {
		th_fail(&err, TH_ECONN, "%s", why);
		close_now(s, &err);
	} else {
		s->fd = fd;
		if (begin(s, &err) != TH_OK) {
			close_now(s, &err);
		} else {
			if (!s->tls)
				opened(s);
			if (!s->freed && !s->closed)
				send_out(s);
		}
	}
	leave(s);
}

static struct th_stream *make(struct th_loop *l, struct th_tls_config *tls,
			      const struct th_stream_handlers *h)
{
	struct th_stream *s = th_alloc(sizeof(*s));

	*s = (struct th_stream){ .loop = l, .on = *h, .config = tls, .fd = -1 };
	/* Encrypted bytes are more than those that they stand for. */
	th_buf_init(&s->out, 3 * TH_STREAM_QUEUE_MAX);
	th_timer_init(&s->timer, l, on_time, s);
	return s;
}

bool th_stream_place(struct th_str place, char host[static 254], bool *ret_address,
		     uint16_t *ret_port)
{
	struct th_str name = th_authority_host(place);
	size_t end = name.len ? (size_t)(name.ptr - place.ptr) + name.len : 0;
	int64_t port;

	if (end < place.len && place.ptr[end] == ']')
		end++;
	if (!name.len || end >= place.len || place.ptr[end] != ':' ||
	    !th_str_i64(th_str_sub(place, end + 1, place.len), &port) || port < 1 ||
	    port > UINT16_MAX || !th_net_host(name, host, ret_address))
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

enum th_code th_stream_dial(struct th_loop *l, struct th_str place, struct th_tls_config *tls,
			    const struct th_stream_handlers *h, struct th_stream **ret,
			    struct th_err *err)
{
	char host[TH_NET_HOST_MAX + 1];
	struct th_stream *s;
	bool is_address;
	uint16_t port;

	if (!th_stream_place(place, host, &is_address, &port))
		return th_fail(err, TH_EUSAGE, "%.*s is not HOST:PORT", TH_FMT(place));
	s = make(l, tls, h);
	s->client = true;
	s->is_address = is_address;
	memcpy(s->host, host, sizeof(s->host));
	s->dial = th_dial_new(l, NULL, s->host, port, on_dialled, s);
	*ret = s;
	return TH_OK;
}

enum th_code th_stream_take(struct th_loop *l, int fd, struct th_tls_config *tls,
			    const struct th_stream_handlers *h, struct th_stream **ret,
			    struct th_err *err)
{
	struct th_stream *s = make(l, tls, h);
	enum th_code code;

	s->fd = fd;
	code = begin(s, err);
	if (code) {
		destroy(s);
		return code;
	}
	s->open = !s->tls;
	watch(s);
	*ret = s;
	return TH_OK;
}

struct th_stream *th_stream_free(struct th_stream *s)
{
	if (!s)
		return NULL;
	s->freed = true;
	if (s->depth == 0)
		destroy(s);
	return NULL;
}

enum th_code th_stream_write(struct th_stream *s, struct th_str bytes)
{
	struct th_err ignored;
	enum th_code code = TH_OK;

	if (s->closed || s->ending || !s->open)
		return TH_ECONN;
	if (waiting(s) + bytes.len > 2 * TH_STREAM_QUEUE_MAX)
		return TH_ELIMIT;
	if (s->sent > TH_STREAM_QUEUE_MAX / 4) {
		th_buf_drop(&s->out, s->sent);
		s->sent = 0;
	}
	if (s->tls)
		code = th_tls_write(s->tls, bytes, &s->out, &ignored);
	else
		th_buf_add(&s->out, bytes);
	if (code || s->out.failed)
		return TH_ECONN;
	/* It is sent when the loop can: what fails is told to on_close, outside of this. */
	th_poll_set(s->poll, th_poll_get(s->poll) | TH_POLL_WRITE);
	if (!th_timer_running(&s->timer))
		th_timer_start(&s->timer, TH_STREAM_STALL_MS, 0);
	if (waiting(s) <= TH_STREAM_QUEUE_MAX)
		return TH_OK;
	s->told_busy = true;
	return TH_EBUSY;
}

void th_stream_hold(struct th_stream *s, bool hold)
{
	s->held = hold;
	watch(s);
}

void th_stream_end(struct th_stream *s)
{
	if (s->closed || s->ending)
		return;
	s->ending = true;
	if (s->tls && s->open)
		th_tls_close(s->tls, &s->out);
	if (!s->poll) { /* it was not connected yet, and will not be */
		s->dial = th_dial_free(s->dial);
		th_timer_start(&s->timer, 0, 0);
		return;
	}
	th_timer_start(&s->timer, TH_STREAM_STALL_MS, 0);
	/* Also with nothing left: what follows is told outside of this. */
	th_poll_set(s->poll, TH_POLL_WRITE);
}
