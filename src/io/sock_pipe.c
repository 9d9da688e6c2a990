/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock_pipe.c - frames over Unix sockets for those who wait for them.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "io/clock.h"
#include "io/files.h"
#include "io/sock_internal.h"

void th_pipe_init(struct th_pipe *p, int fd)
{
	*p = (struct th_pipe){ .fd = fd };
	th_buf_init(&p->in, TH_FRAME_SIZE_MAX + TH_FRAME_HEAD_SIZE + TH_SOCK_CHUNK);
}

void th_pipe_deinit(struct th_pipe *p)
{
	th_fd_close(&p->fd);
	th_buf_deinit(&p->in);
}

enum th_code th_pipe_connect(struct th_pipe *p, const char *path, struct th_err *err)
{
	int fd = -1;
	enum th_code code = th_sock_connect_path(path, &fd, err);
	th_pipe_init(p, fd);
	return code;
}

/* TH_OK when the descriptor is ready (or has failed: the next call will say). */
static enum th_code wait_for(int fd, short events, uint64_t until_ms, struct th_err *err)
{
	for (;;) {
		uint64_t now_ms = th_clock_ms();
		int wait_ms = until_ms == UINT64_MAX ? -1
			      : until_ms <= now_ms
				  ? 0
				  : (int)TH_MIN(until_ms - now_ms, (uint64_t)INT32_MAX);
		struct pollfd pfd = { .fd = fd, .events = events };
		int status = poll(&pfd, 1, wait_ms);
		if (status > 0)
			return TH_OK;
		if (status < 0 && errno != EINTR)
			return th_fail_errno(err, errno, "wait");
		if (status == 0 && wait_ms >= 0 && th_clock_ms() >= until_ms)
			return th_fail(err, TH_ETIMEOUT, "the other end did not %s in time",
				       events & POLLIN ? "answer" : "read");
	}
}

static uint64_t until(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : th_clock_ms() + (uint64_t)timeout_ms;
}

enum th_code th_pipe_read(struct th_pipe *p, int timeout_ms, struct th_frame *ret,
			  struct th_err *err)
{
	uint64_t until_ms = until(timeout_ms);

	th_buf_drop(&p->in, p->used);
	p->used = 0;
	for (;;) {
		int status = th_frame_read(th_buf_str(&p->in), ret, err);
		if (status < 0)
			return (enum th_code)status;
		if (status > 0) {
			p->used = ret->size;
			return TH_OK;
		}
		ssize_t got = th_sock_receive(p->fd, &p->in);
		if (got == 0)
			return th_fail(err, TH_ECONN,
				       p->in.len
					   ? "the connection was cut in the middle of a message"
					   : "the other end closed the connection");
		if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			return th_fail_errno(err, errno, "th_sock_receive");
		if (got < 0) {
			enum th_code code = wait_for(p->fd, POLLIN, until_ms, err);
			if (code)
				return code;
		}
	}
}

enum th_code th_pipe_write(struct th_pipe *p, struct th_str json, struct th_str attachment,
			   int timeout_ms, struct th_err *err)
{
	uint64_t until_ms = until(timeout_ms);
	TH_CLEANUP(th_buf_deinit)
	struct th_buf out = TH_BUF_INIT(TH_FRAME_SIZE_MAX + TH_FRAME_HEAD_SIZE);
	enum th_code code = th_sock_check_size(json, attachment, err);

	if (code)
		return code;
	th_frame_write(&out, json, attachment);
	struct th_str rest = th_buf_str(&out);
	while (rest.len > 0) {
		ssize_t put = th_sock_transmit(p->fd, rest);
		if (put >= 0) {
			rest = th_str_sub(rest, (size_t)put, rest.len);
			continue;
		}
		if (errno != EAGAIN && errno != EWOULDBLOCK)
			return th_fail_errno(err, errno, "send");
		code = wait_for(p->fd, POLLOUT, until_ms, err);
		if (code)
			return code;
	}
	return TH_OK;
}

enum th_code th_pipe_listen(const char *path, int *ret_fd, struct th_err *err)
{
	struct stat st;
	return th_sock_listen_path(path, ret_fd, &st, err);
}

enum th_code th_pipe_pair(int ret_fds[static 2], struct th_err *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret_fds) < 0)
		return th_fail_errno(err, errno, "make a socket pair");
	return TH_OK;
}
