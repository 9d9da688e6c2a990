/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_space.c - a child makes the namespace and its socket, hands them out and
 * ends.  After fork it uses system calls only.
 */
#include "io/net_space.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/files.h"

#define FDS 3
#define BACKLOG 256

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

static bool raise_loopback(void)
{
	struct ifreq r = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool good = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &r) == 0;

	if (fd >= 0)
		close(fd);
	return good;
}

static int listen_inside(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(TH_NET_SPACE_PORT) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, BACKLOG) < 0)
		return -1;
	return fd;
}

static bool send_fds(int to, const int *fds, size_t count)
{
	union {
		char bytes[CMSG_SPACE(FDS * sizeof(int))];
		struct cmsghdr align;
	} control = {};
	char byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	return sendmsg(to, &msg, MSG_NOSIGNAL) == 1;
}

static bool receive_fds(int from, int *fds, size_t count)
{
	union {
		char bytes[CMSG_SPACE(FDS * sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	ssize_t got;

	do
		got = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	const struct cmsghdr *c = got == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(count * sizeof(int)))
		return false;
	memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	return true;
}

/* Exit status: the errno of what failed. */
static _Noreturn void make(int to, bool root, const char *uid_map, const char *gid_map)
{
	int fds[FDS];
	size_t count = root ? 2 : 3;

	errno = 0;
	if (unshare(CLONE_NEWNET | (root ? 0 : CLONE_NEWUSER)) == 0 &&
	    (root || (write_file("/proc/self/setgroups", "deny") &&
		      write_file("/proc/self/uid_map", uid_map) &&
		      write_file("/proc/self/gid_map", gid_map))) &&
	    raise_loopback() && (fds[0] = listen_inside()) >= 0 &&
	    (fds[1] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) >= 0 &&
	    (root || (fds[2] = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC)) >= 0) &&
	    send_fds(to, fds, count))
		_exit(0);
	_exit(errno && errno < 255 ? errno : 255);
}

enum th_code th_net_space_new(struct th_net_space *ret, struct th_err *err)
{
	bool root = geteuid() == 0;
	char uid_map[64], gid_map[64];
	sigset_t all, old;
	int pair[2], fds[FDS] = { -1, -1, -1 }, status;

	snprintf(uid_map, sizeof(uid_map), "%u %u 1", geteuid(), geteuid());
	snprintf(gid_map, sizeof(gid_map), "%u %u 1", getegid(), getegid());
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return th_fail_errno(err, errno, "make a socket pair");
	/* No handler of ours may run in the child. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid_t pid = fork();
	if (pid == 0)
		make(pair[1], root, uid_map, gid_map);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	th_fd_close(&pair[1]);
	bool got = pid > 0 && receive_fds(pair[0], fds, root ? 2 : 3);
	th_fd_close(&pair[0]);
	if (pid < 0)
		return th_fail_errno(err, errno, "fork");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			break;
	if (!got)
		return th_fail(err, TH_EUNSUPPORTED, "a network namespace cannot be made here: %s",
			       WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "killed");
	*ret = (struct th_net_space){ .listen_fd = fds[0], .net_fd = fds[1], .user_fd = fds[2] };
	return TH_OK;
}

void th_net_space_close(struct th_net_space *s)
{
	th_fd_close(&s->net_fd);
	th_fd_close(&s->user_fd);
	th_fd_close(&s->listen_fd);
}

int th_net_space_enter(int net_fd, int user_fd)
{
	if (user_fd >= 0 && setns(user_fd, CLONE_NEWUSER) < 0)
		return -1;
	return setns(net_fd, CLONE_NEWNET);
}
