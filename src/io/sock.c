/* SPDX-License-Identifier: Apache-2.0 */
/* sock.c - frames over Unix sockets, on the loop and blocking. */
#include "io/sock.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "io/sock_internal.h"

#define ROUNDS_MAX 16 /* receives per wake-up, so that one peer cannot starve others */
#define FDS_MAX 8     /* descriptors that one receive looks at; the kernel closes others */

/* ---- what both kinds share ---- */

socklen_t th_sock_address(const char *path, struct sockaddr_un *ret, struct th_err *err)
{
	size_t len = strlen(path);
	if (len == 0 || len >= sizeof(ret->sun_path)) {
		th_fail(err, TH_ELIMIT, "%s: a socket's path may have 1 to %zu bytes", path,
			sizeof(ret->sun_path) - 1);
		return 0;
	}
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
}

bool th_sock_peer_allowed(int fd)
{
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       (peer.uid == geteuid() || peer.uid == 0);
}

enum th_code th_sock_connect_path(const char *path, int *ret_fd, struct th_err *err)
{
	struct sockaddr_un addr;
	socklen_t len = th_sock_address(path, &addr, err);
	if (len == 0)
		return TH_ELIMIT;
	TH_CLEANUP(th_fd_close) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return th_fail_errno(err, errno, "make a socket");
	int status;
	do
		status = connect(fd, (const struct sockaddr *)&addr, len);
	while (status < 0 && errno == EINTR);
	if (status < 0)
		return th_fail_errno(err, errno, "%s", path);
	if (!th_sock_peer_allowed(fd))
		return th_fail(err, TH_EPERM, "%s: belongs to another user", path);
	*ret_fd = fd;
	fd = -1;
	return TH_OK;
}

/* Appends the bytes that have come to `in`: >0 their count, 0 at the end, -1 with errno. */
ssize_t th_sock_receive(int fd, struct th_buf *in)
{
	char *to = th_buf_grow(in, TH_SOCK_CHUNK);
	ssize_t got;

	if (!to) {
		errno = EMSGSIZE;
		return -1;
	}
	do
		got = recv(fd, to, TH_SOCK_CHUNK, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	th_buf_grown(in, got > 0 ? (size_t)got : 0);
	return got;
}

/* The same, and keeps the first descriptor that comes along. */
static ssize_t receive_fd(int fd, struct th_buf *in, int *ret_fd)
{
	union {
		char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
		struct cmsghdr align;
	} control;
	char *to = th_buf_grow(in, TH_SOCK_CHUNK);
	struct iovec iov = { to, TH_SOCK_CHUNK };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	ssize_t got;

	if (!to) {
		errno = EMSGSIZE;
		return -1;
	}
	do
		got = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	th_buf_grown(in, got > 0 ? (size_t)got : 0);
	if (got < 0)
		return got;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int one;

			memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (*ret_fd < 0)
				*ret_fd = one;
			else
				close(one);
		}
	}
	return got;
}

ssize_t th_sock_transmit(int fd, struct th_str bytes)
{
	ssize_t put;

	do
		put = send(fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (put < 0 && errno == EINTR);
	return put;
}

enum th_code th_sock_check_size(struct th_str json, struct th_str attachment, struct th_err *err)
{
	if (json.len <= TH_FRAME_JSON_MAX &&
	    json.len + attachment.len <= TH_FRAME_SIZE_MAX - TH_FRAME_HEAD_SIZE)
		return TH_OK;
	return th_fail(err, TH_ELIMIT, "a message of %zu bytes is too large",
		       json.len + attachment.len);
}

/* ---- on the loop ---- */

struct th_sock {
	struct th_loop *loop;
	struct th_poll *poll;
	int fd;
	struct th_sock_handlers on;
	struct th_buf in, out;
	size_t in_used, out_used;
	struct th_deferred kick; /* reports the end outside the caller's stack */
	struct th_err failed;
	bool ended;  /* no more comes: EOF or failed */
	bool closed; /* on_close was called */
	bool told_busy, busy, freed;
	bool takes_fds;
	int came_fd; /* -1: none */
};

static void sock_destroy(struct th_sock *s)
{
	th_fd_close(&s->came_fd);
	th_loop_undefer(s->loop, &s->kick);
	th_poll_free(s->poll);
	th_fd_close(&s->fd);
	th_buf_deinit(&s->in);
	th_buf_deinit(&s->out);
	free(s);
}

static void sock_watch(struct th_sock *s)
{
	unsigned write = s->out.len > s->out_used ? TH_POLL_WRITE : 0;

	th_poll_set(s->poll, s->ended ? 0 : TH_POLL_READ | write);
}

static void sock_fail(struct th_sock *s, const struct th_err *why)
{
	if (s->ended)
		return;
	s->ended = true;
	s->failed = *why;
	sock_watch(s);
	th_loop_defer(s->loop, &s->kick);
}

/* Gives out whole frames; the caller holds `busy`. */
static void sock_deliver(struct th_sock *s)
{
	struct th_err err = {};
	while (!s->freed && s->failed.code == TH_OK) {
		struct th_frame frame;
		int status = th_frame_read(th_str_n(s->in.ptr + s->in_used, s->in.len - s->in_used),
					   &frame, &err);
		if (status < 0)
			sock_fail(s, &err);
		if (status <= 0)
			break;
		s->in_used += frame.size;
		s->on.on_frame(s->on.ctx, s, &frame);
	}
	if (s->freed)
		return;
	th_buf_drop(&s->in, s->in_used);
	s->in_used = 0;
	if (s->in.len == 0 && s->in.cap > TH_SOCK_CHUNK * 2)
		th_buf_deinit(&s->in);
}

static void sock_report_end(struct th_sock *s)
{
	if (!s->ended || s->closed || s->freed)
		return;
	if (s->failed.code == TH_OK && s->in.len > 0)
		th_fail(&s->failed, TH_ECONN, "the connection was cut in the middle of a message");
	s->closed = true;
	if (s->on.on_close)
		s->on.on_close(s->on.ctx, s, &s->failed);
}

static void sock_leave(struct th_sock *s)
{
	s->busy = false;
	if (s->freed)
		sock_destroy(s);
}

static void sock_kick(void *ctx)
{
	struct th_sock *s = (struct th_sock *)ctx;
	s->busy = true;
	sock_deliver(s);
	if (!s->freed)
		sock_report_end(s);
	sock_leave(s);
}

static void sock_read(struct th_sock *s)
{
	for (int round = 0; round < ROUNDS_MAX && !s->ended && !s->freed; round++) {
		struct th_err err = {};
		ssize_t got = s->takes_fds ? receive_fd(s->fd, &s->in, &s->came_fd)
					   : th_sock_receive(s->fd, &s->in);
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (got < 0)
			th_fail_errno(&err, errno, "th_sock_receive");
		if (err.code) {
			sock_fail(s, &err);
		} else if (got == 0) {
			s->ended = true;
			sock_watch(s);
			th_loop_defer(s->loop, &s->kick);
		} else {
			sock_deliver(s);
		}
	}
}

static void sock_write(struct th_sock *s)
{
	while (s->out_used < s->out.len && !s->ended) {
		size_t size = s->out.len - s->out_used;
		ssize_t put = th_sock_transmit(s->fd, th_str_n(s->out.ptr + s->out_used, size));
		if (put < 0) {
			struct th_err err;
			if (errno == EAGAIN || errno == EWOULDBLOCK)
				break;
			th_fail_errno(&err, errno, "send");
			sock_fail(s, &err);
			return;
		}
		s->out_used += (size_t)put;
	}
	if (s->out_used == s->out.len) {
		s->out_used = 0;
		if (s->out.cap > TH_SOCK_CHUNK * 2)
			th_buf_deinit(&s->out);
		else
			th_buf_clear(&s->out);
	} else if (s->out_used > TH_SOCK_QUEUE_MAX / 8) {
		th_buf_drop(&s->out, s->out_used);
		s->out_used = 0;
	}
	sock_watch(s);
}

static void on_sock_poll(void *ctx, unsigned events)
{
	struct th_sock *s = (struct th_sock *)ctx;
	s->busy = true;
	if (events & TH_POLL_READ)
		sock_read(s);
	if (events & TH_POLL_WRITE && !s->freed)
		sock_write(s);
	if (s->told_busy && !s->freed && !s->ended && s->out_used == s->out.len) {
		s->told_busy = false;
		if (s->on.on_drain)
			s->on.on_drain(s->on.ctx, s);
	}
	sock_leave(s);
}

enum th_code th_sock_new(struct th_loop *l, int fd, const struct th_sock_handlers *h,
			 struct th_sock **ret, struct th_err *err)
{
	struct th_sock *s = (struct th_sock *)th_alloc(sizeof(*s));
	enum th_code code = th_poll_new(l, fd, on_sock_poll, s, &s->poll, err);
	if (code) {
		close(fd);
		free(s);
		return code;
	}
	assert(h->on_frame);
	s->loop = l;
	s->fd = fd;
	s->came_fd = -1;
	s->on = *h;
	s->kick.fn = sock_kick;
	s->kick.ctx = s;
	th_buf_init(&s->in, TH_FRAME_SIZE_MAX + TH_FRAME_HEAD_SIZE + TH_SOCK_CHUNK);
	th_buf_init(&s->out, 2 * TH_SOCK_QUEUE_MAX + TH_FRAME_SIZE_MAX + TH_FRAME_HEAD_SIZE +
				 TH_SOCK_QUEUE_MAX / 8);
	sock_watch(s);
	*ret = s;
	return TH_OK;
}

enum th_code th_sock_connect(struct th_loop *l, const char *path, const struct th_sock_handlers *h,
			     struct th_sock **ret, struct th_err *err)
{
	int fd;
	enum th_code code = th_sock_connect_path(path, &fd, err);
	return code ? code : th_sock_new(l, fd, h, ret, err);
}

struct th_sock *th_sock_free(struct th_sock *s)
{
	if (!s)
		return NULL;
	assert(!s->freed);
	s->freed = true;
	if (!s->busy)
		sock_destroy(s);
	return NULL;
}

static size_t queued(const struct th_sock *s)
{
	return s->out.len - s->out_used;
}

void th_sock_takes_fds(struct th_sock *s)
{
	s->takes_fds = true;
}

int th_sock_take_fd(struct th_sock *s)
{
	int fd = s->came_fd;

	s->came_fd = -1;
	return fd;
}

enum th_code th_sock_send_fd(struct th_sock *s, struct th_str json, int fd, struct th_err *err)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	enum th_code code = th_sock_check_size(json, TH_STR(""), err);
	ssize_t put;

	assert(!s->freed && queued(s) == 0);
	if (s->ended)
		return th_fail(err, TH_ECONN, "the connection is closed");
	if (code)
		return code;
	th_frame_write(&s->out, json, TH_STR(""));
	assert(!s->out.failed);
	struct iovec iov = { s->out.ptr + s->out_used, queued(s) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	do
		put = sendmsg(s->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (put < 0 && errno == EINTR);
	if (put < 0)
		return th_fail_errno(err, errno, "send a descriptor");
	s->out_used += (size_t)put; /* the rest of the frame needs no descriptor */
	sock_write(s);
	return TH_OK;
}

enum th_code th_sock_send(struct th_sock *s, struct th_str json, struct th_str attachment,
			  struct th_err *err)
{
	enum th_code code = th_sock_check_size(json, attachment, err);

	assert(!s->freed);
	if (s->ended)
		return th_fail(err, TH_ECONN, "the connection is closed");
	if (code)
		return code;
	if (queued(s) > 2 * TH_SOCK_QUEUE_MAX)
		return th_fail(err, TH_ELIMIT,
			       "%zu bytes wait to be sent: the other end does not read", queued(s));
	th_frame_write(&s->out, json, attachment);
	assert(!s->out.failed);
	if (!(th_poll_get(s->poll) & TH_POLL_WRITE))
		sock_write(s); /* a failure is reported to on_close */
	if (queued(s) <= TH_SOCK_QUEUE_MAX)
		return TH_OK;
	s->told_busy = true;
	return th_fail(err, TH_EBUSY, "%zu bytes wait to be sent", queued(s));
}
