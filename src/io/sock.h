/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock.h - Unix stream sockets between our own processes, carrying the frames
 * of base/codec.h.
 *
 * The socket file is 0600 and a peer of another user (root excepted) is
 * refused.  Queues are bounded: a sender that is faster than its reader gets
 * TH_EBUSY.  Frames too large or malformed end the connection.
 */
#ifndef TH_IO_SOCK_H
#define TH_IO_SOCK_H

#include "base/buf.h"
#include "base/codec.h"
#include "io/loop.h"

struct th_sock;
struct th_sock_server;

struct th_sock_handlers {
	/* One whole frame, borrowed until return. */
	void (*on_frame)(void *ctx, struct th_sock *s, const struct th_frame *frame);
	/* The queue is empty again after th_sock_send said TH_EBUSY.  May be NULL. */
	void (*on_drain)(void *ctx, struct th_sock *s);
	/* The other end closed (TH_OK) or the connection failed; once; the socket is still to be
	 * freed by its owner, here or later. */
	void (*on_close)(void *ctx, struct th_sock *s, const struct th_err *err);
	void *ctx;
};

/* Sockets that are open; takes over `fd` also on failure. */
TH_NODISCARD enum th_code th_sock_new(struct th_loop *l, int fd, const struct th_sock_handlers *h,
				      struct th_sock **ret, struct th_err *err);
/* TH_ENOENT: no such socket; TH_ECONN: nobody listens there. */
TH_NODISCARD enum th_code th_sock_connect(struct th_loop *l, const char *path,
					  const struct th_sock_handlers *h, struct th_sock **ret,
					  struct th_err *err);
struct th_sock *th_sock_free(struct th_sock *s); /* closes; what is queued is lost */

/*
 * Sends or queues one frame.  TH_EBUSY: queued, but more than TH_SOCK_QUEUE_MAX
 * waits now: send no more before on_drain.  TH_ELIMIT: not queued, twice that
 * waits or the frame is over TH_FRAME_SIZE_MAX.  TH_ECONN: closed.
 */
#define TH_SOCK_QUEUE_MAX ((size_t)8 * 1024 * 1024)
TH_NODISCARD enum th_code th_sock_send(struct th_sock *s, struct th_str json,
				       struct th_str attachment, struct th_err *err);
/*
 * A descriptor beside a frame.  The sender's stays its own; nothing may wait to be sent yet.  Who
 * receives says before that it takes descriptors (others are closed by the kernel), and takes the
 * one that came with or before this frame, or gets -1; of several only the first is kept.
 */
TH_NODISCARD enum th_code th_sock_send_fd(struct th_sock *s, struct th_str json, int fd,
					  struct th_err *err);
void th_sock_takes_fds(struct th_sock *s);
int th_sock_take_fd(struct th_sock *s);

/* ---- server ---- */

/* A peer that passed the check; the callback makes a th_sock of it or closes it. */
typedef void th_sock_accept_fn(void *ctx, int fd);

/*
 * Listens at `path` (made 0600; its folder must exist).  A stale socket file,
 * where nobody listens, is replaced; a live one is TH_EBUSY.  TH_ELIMIT: the
 * path is longer than a socket's may be (107 bytes).
 */
TH_NODISCARD enum th_code th_sock_listen(struct th_loop *l, const char *path, th_sock_accept_fn *fn,
					 void *ctx, struct th_sock_server **ret,
					 struct th_err *err);
struct th_sock_server *
th_sock_server_free(struct th_sock_server *s); /* removes the file if still ours */

/* ---- blocking, for single-threaded roles and commands: no loop ---- */

struct th_pipe {
	int fd; /* owned */
	struct th_buf in;
	size_t used; /* of in: the frame given out last */
};

void th_pipe_init(struct th_pipe *p, int fd);
void th_pipe_deinit(struct th_pipe *p); /* closes */
TH_NODISCARD enum th_code th_pipe_connect(struct th_pipe *p, const char *path, struct th_err *err);
/* Waits at most timeout_ms (-1: for ever).  `ret` is borrowed until the next call.  TH_ECONN: the
 * other end closed.  TH_ETIMEOUT leaves the connection as it was. */
TH_NODISCARD enum th_code th_pipe_read(struct th_pipe *p, int timeout_ms, struct th_frame *ret,
				       struct th_err *err);
TH_NODISCARD enum th_code th_pipe_write(struct th_pipe *p, struct th_str json,
					struct th_str attachment, int timeout_ms,
					struct th_err *err);
/* A listening socket that does not block; same checks as th_sock_listen. */
TH_NODISCARD enum th_code th_pipe_listen(const char *path, int *ret_fd, struct th_err *err);
/* Two connected ends, close-on-exec. */
TH_NODISCARD enum th_code th_pipe_pair(int ret_fds[static 2], struct th_err *err);

#endif
