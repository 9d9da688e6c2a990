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

enum th_code th_detach(const char *program, const char *const *argv, const char *const *env,
		       const struct th_child_fd *fds, size_t fd_count, struct th_err *err)
{
	int pipe_fds[2], errnum = 0, status;

	assert(fd_count <= FDS_MAX);
	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return th_fail_errno(err, errno, "start %s", program);
	pid_t pid = fork();
	if (pid == 0) {
		int report_fd = pipe_fds[1];
		th_start_reset_signals();
		bool ok = setsid() >= 0;
		pid_t second = ok ? fork() : -1;
		if (second > 0)
			_exit(0);
		ok = second == 0 && chdir("/") == 0 && map_fds(fds, fd_count, &report_fd);
		if (ok)
			execve(program, (char *const *)(uintptr_t)argv,
			       (char *const *)(uintptr_t)env);
		errnum = errno;
		(void)!write(report_fd, &errnum, sizeof(errnum));
		_exit(127);
	}
	if (pid < 0)
		errnum = errno;
	th_fd_close(&pipe_fds[1]);
	if (pid > 0) {
		ssize_t got;
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		do /* until exec closes the pipe */
			got = read(pipe_fds[0], &errnum, sizeof(errnum));
		while (got < 0 && errno == EINTR);
	}
	th_fd_close(&pipe_fds[0]);
	return errnum ? th_fail_errno(err, errnum, "start %s", program) : TH_OK;
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
