/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detach.c - fork twice, so that the process has no parent to speak of.
 *
 * Between fork and exec there are system calls only: other threads may have
 * held locks when we forked.
 */
#include "io/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/child_start.h"
#include "io/files.h"

#define FDS_MAX 8
#define HIGH_FD 64

/* The sources go above all targets first, so that no target overwrites one still needed. */
static bool map_fds(const struct th_child_fd *fds, size_t count, int *report_fd)
{
	int high[FDS_MAX];
	bool standard[3] = { false, false, false };
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	*report_fd = fcntl(*report_fd, F_DUPFD_CLOEXEC, HIGH_FD);
	null_fd = fcntl(null_fd, F_DUPFD_CLOEXEC, HIGH_FD);
	if (*report_fd < 0 || null_fd < 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		high[i] = fcntl(fds[i].ours, F_DUPFD_CLOEXEC, HIGH_FD);
		if (high[i] < 0)
			return false;
	}
	if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) < 0)
		for (int fd = 3; fd < 65536; fd++)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < count; i++) {
		if (dup2(high[i], fds[i].theirs) < 0)
			return false;
		if (fds[i].theirs < 3)
			standard[fds[i].theirs] = true;
	}
	for (int fd = 0; fd < 3; fd++)
		if (!standard[fd] && dup2(null_fd, fd) < 0)
			return false;
	return true;
}

/* Before exec, over a socket of packets: the pidfd of the new process, or why there is none. */
static void report(int fd, int errnum, int pidfd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} buf = {};
	struct iovec iov = { &errnum, sizeof(errnum) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (pidfd >= 0) {
		msg.msg_control = buf.bytes;
		msg.msg_controllen = sizeof(buf.bytes);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &pidfd, sizeof(int));
	}
	(void)!sendmsg(fd, &msg, MSG_NOSIGNAL);
}

/* Until exec closes the other end.  Returns the errno that was reported, or 0. */
static int await_reports(int fd, int *pidfd)
{
	for (int errnum = 0;;) {
		union {
			char bytes[CMSG_SPACE(sizeof(int))];
			struct cmsghdr align;
		} buf;
		int reported;
		struct iovec iov = { &reported, sizeof(reported) };
		struct msghdr msg = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = buf.bytes,
				      .msg_controllen = sizeof(buf.bytes) };
		ssize_t got = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
		if (got < 0 && errno == EINTR)
			continue;
		if (got != (ssize_t)sizeof(reported))
			return errnum;
		const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		if (c && c->cmsg_type == SCM_RIGHTS)
			memcpy(pidfd, CMSG_DATA(c), sizeof(int));
		if (reported)
			errnum = reported;
	}
}

enum th_code th_detach(const char *program, const char *const *argv, const char *const *env,
		       const struct th_child_fd *fds, size_t fd_count, int *ret_pidfd,
		       struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int pidfd = -1;
	int pair[2], errnum = 0, status;

	assert(fd_count <= FDS_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return th_fail_errno(err, errno, "start %s", program);
	pid_t pid = fork();
	if (pid == 0) {
		int report_fd = pair[1];
		th_start_reset_signals();
		bool ok = setsid() >= 0;
		pid_t second = ok ? fork() : -1;
		if (second > 0)
			_exit(0);
		if (second == 0)
			report(report_fd, 0, (int)syscall(SYS_pidfd_open, getpid(), 0u));
		ok = second == 0 && chdir("/") == 0 && map_fds(fds, fd_count, &report_fd);
		if (ok)
			execve(program, (char *const *)(uintptr_t)argv,
			       (char *const *)(uintptr_t)env);
		report(report_fd, errno, -1);
		_exit(127);
	}
	if (pid < 0)
		errnum = errno;
	th_fd_close(&pair[1]);
	if (pid > 0) {
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		errnum = await_reports(pair[0], &pidfd);
	}
	th_fd_close(&pair[0]);
	if (errnum)
		return th_fail_errno(err, errnum, "start %s", program);
	if (ret_pidfd) {
		*ret_pidfd = pidfd;
		pidfd = -1;
	}
	return TH_OK;
}

const char *th_program_self(char *path)
{
	static const char link[] = "/proc/self/exe";
	ssize_t len = readlink(link, path, TH_PATH_LEN_MAX - 1);
	struct stat named, running;

	if (len <= 0 || stat(link, &running) != 0)
		return link;
	path[len] = '\0';
	/* A program that was replaced has the name "NAME (deleted)". */
	if (stat(path, &named) != 0 || access(path, X_OK) != 0)
		return link;
	return named.st_dev == running.st_dev && named.st_ino == running.st_ino ? link : path;
}
