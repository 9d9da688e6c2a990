/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sock_listen.c - a Unix socket that others connect to: one file, which nobody else listens at.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "io/sock.h"
#include "io/sock_internal.h"

#define ACCEPTS_MAX 16 /* per wake-up, so that one socket cannot starve others */

static bool somebody_listens(const struct sockaddr_un *addr, socklen_t len)
{
	TH_CLEANUP(th_fd_close)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return true;
	return connect(fd, (const struct sockaddr *)addr, len) == 0 ||
	       (errno != ECONNREFUSED && errno != ENOENT);
}

/* Two starters must not both find the same stale file: the folder is locked meanwhile. */
static int lock_folder(const char *path)
{
	char dir[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) + 1 : 1;
	memcpy(dir, slash ? path : ".", len);
	dir[len] = '\0';
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_EX) < 0)
		th_fd_close(&fd);
	return fd;
}

enum th_code th_sock_listen_path(const char *path, int *ret_fd, struct stat *ret_stat,
				 struct th_err *err)
{
	struct sockaddr_un addr;
	socklen_t len = th_sock_address(path, &addr, err);
	if (len == 0)
		return TH_ELIMIT;
	TH_CLEANUP(th_fd_close) int lock = lock_folder(path);
	if (lock < 0)
		return th_fail_errno(err, errno, "the folder of %s", path);
	TH_CLEANUP(th_fd_close)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* Linux gives the file the mode the socket has when it is bound. */
	if (fd < 0 || fchmod(fd, 0600) < 0)
		return th_fail_errno(err, errno, "make a socket");
	int status = bind(fd, (const struct sockaddr *)&addr, len);
	if (status < 0 && errno == EADDRINUSE) {
		struct stat st;
		if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
			return th_fail(err, TH_EEXIST, "%s: exists, but is not a socket", path);
		if (somebody_listens(&addr, len))
			return th_fail(err, TH_EBUSY, "%s: somebody else listens there", path);
		if (unlink(path) < 0 && errno != ENOENT)
			return th_fail_errno(err, errno, "remove the stale socket %s", path);
		status = bind(fd, (const struct sockaddr *)&addr, len);
	}
	if (status < 0 || listen(fd, 64) < 0 || lstat(path, ret_stat) < 0)
		return th_fail_errno(err, errno, "listen at %s", path);
	*ret_fd = fd;
	fd = -1;
	return TH_OK;
}

struct th_sock_server {
	struct th_poll *poll;
	struct th_timer retry; /* out of descriptors: accepts again a little later */
	int fd;
	char *path;
	dev_t device;
	ino_t inode;
	th_sock_accept_fn *fn;
	void *ctx;
	bool busy, freed;
};

static void server_destroy(struct th_sock_server *s)
{
	struct stat st;
	th_timer_stop(&s->retry);
	th_poll_free(s->poll);
	if (lstat(s->path, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode)
		unlink(s->path);
	th_fd_close(&s->fd);
	free(s->path);
	free(s);
}

static void on_retry(void *ctx)
{
	struct th_sock_server *s = (struct th_sock_server *)ctx;
	th_poll_set(s->poll, TH_POLL_READ);
}

static void on_listen(void *ctx, unsigned events)
{
	struct th_sock_server *s = (struct th_sock_server *)ctx;
	(void)events;
	s->busy = true;
	for (int i = 0; i < ACCEPTS_MAX && !s->freed; i++) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
			th_poll_set(s->poll, 0);
			th_timer_start(&s->retry, 100, 0);
		}
		if (fd < 0)
			break;
		if (th_sock_peer_allowed(fd))
			s->fn(s->ctx, fd);
		else
			close(fd);
	}
	s->busy = false;
	if (s->freed)
		server_destroy(s);
}

enum th_code th_sock_listen(struct th_loop *l, const char *path, th_sock_accept_fn *fn, void *ctx,
			    struct th_sock_server **ret, struct th_err *err)
{
	struct stat st;
	int fd;
	enum th_code code = th_sock_listen_path(path, &fd, &st, err);
	if (code)
		return code;
	struct th_sock_server *s = (struct th_sock_server *)th_alloc(sizeof(*s));
	size_t size = strlen(path) + 1;
	s->path = (char *)th_alloc(size);
	memcpy(s->path, path, size);
	s->fd = fd;
	s->device = st.st_dev;
	s->inode = st.st_ino;
	s->fn = fn;
	s->ctx = ctx;
	th_timer_init(&s->retry, l, on_retry, s);
	code = th_poll_new(l, fd, on_listen, s, &s->poll, err);
	if (code) {
		server_destroy(s);
		return code;
	}
	th_poll_set(s->poll, TH_POLL_READ);
	*ret = s;
	return TH_OK;
}

struct th_sock_server *th_sock_server_free(struct th_sock_server *s)
{
	if (!s)
		return NULL;
	s->freed = true;
	if (!s->busy)
		server_destroy(s);
	return NULL;
}
