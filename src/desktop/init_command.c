/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init_command.c - the commands that th_desktop_prefix asks for.  Whoever
 * asks is one of the desktop's own programs: nothing that it says is believed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "desktop/init.h"
#include "io/clock.h"
#include "io/files.h"

#define REQUEST_MS 2000 /* to read a whole request */

static bool env_is_ours(const struct th_desktop_init *in, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (size_t i = 0; i < in->env_count; i++)
		if (strncmp(in->env[i], entry, len + 1) == 0)
			return true;
	return false;
}

/* Splits the text of a request; NULL when it is not what its numbers say.  One free() for all. */
static char **split(struct th_desktop_init *in, const struct th_desktop_request *r, char *text,
		    char ***ret_env, const char **ret_cwd)
{
	size_t count = 1 + (size_t)r->argc + r->envc;
	char **list = th_alloc((count + 2 + in->env_count) * sizeof(*list));
	char *at = text, *end = text + r->size;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		char *nul = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;
		if (!nul) {
			free(list);
			return NULL;
		}
		if (i == 0)
			*ret_cwd = at;
		else if (i <= r->argc || !env_is_ours(in, at))
			list[n++] = at;
		at = nul + 1;
		if (i == r->argc) {
			list[n++] = NULL;
			*ret_env = list + n;
		}
	}
	for (size_t i = 0; i < in->env_count; i++)
		list[n++] = in->env[i];
	list[n] = NULL;
	return list;
}

static void set_limits(const struct th_desktop_request *r)
{
	for (int i = 0; i < TH_DESKTOP_LIMITS; i++) {
		struct rlimit have, want = { r->soft[i], r->hard[i] };
		if (getrlimit((__rlimit_resource_t)i, &have))
			continue;
		/* Never more than we have. */
		want.rlim_max = TH_MIN(want.rlim_max, have.rlim_max);
		want.rlim_cur = TH_MIN(want.rlim_cur, want.rlim_max);
		setrlimit((__rlimit_resource_t)i, &want);
	}
}

static _Noreturn void run_command(struct th_desktop_init *in, const struct th_desktop_request *r,
				  char **argv, char **env, const char *cwd, const int fds[static 3],
				  int report_fd)
{
	th_desktop_init_child(SIGKILL);
	for (int i = 0; i < 3; i++) /* they are above 2: our own 0 to 2 are open */
		dup2(fds[i], i);
	if (isatty(0))
		ioctl(0, TIOCSCTTY, 0); /* fails where the other side owns it */
	set_limits(r);
	if ((cwd[0] == '\0' || chdir(cwd)) && chdir(in->home))
		(void)!chdir("/");
	for (char **e = env; *e; e++)
		if (strncmp(*e, "PATH=", 5) == 0)
			setenv("PATH", *e + 5, 1);
	execvpe(argv[0], argv, env);
	int error = errno;
	(void)!write(report_fd, &error, sizeof(error));
	_exit(127);
}

/* The command's process id, or -1 with errno. */
static pid_t start_command(struct th_desktop_init *in, const struct th_desktop_request *r,
			   char *text, const int fds[static 3])
{
	int report[2], error = 0;
	char **env;
	const char *cwd;

	if (r->argc == 0) {
		errno = EINVAL;
		return -1;
	}
	char **argv = split(in, r, text, &env, &cwd);
	if (!argv) {
		errno = EBADMSG;
		return -1;
	}
	if (pipe2(report, O_CLOEXEC)) {
		free(argv);
		return -1;
	}
	pid_t pid = fork();
	if (pid == 0)
		run_command(in, r, argv, env, cwd, fds, report[1]);
	error = pid < 0 ? errno : 0;
	close(report[1]);
	if (pid > 0 && read(report[0], &error, sizeof(error)) == (ssize_t)sizeof(error)) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	close(report[0]);
	free(argv);
	errno = error;
	return pid;
}

static bool wait_readable(int fd, uint64_t until_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t now = th_clock_ms();
	return now < until_ms && poll(&p, 1, (int)(until_ms - now)) > 0;
}

static bool read_all(int fd, void *to, size_t len, uint64_t until_ms)
{
	while (len > 0) {
		if (!wait_readable(fd, until_ms))
			return false;
		ssize_t got = read(fd, to, len);
		if (got <= 0)
			return false;
		to = (char *)to + got;
		len -= (size_t)got;
	}
	return true;
}

/* The head of a request comes in one piece, with the descriptors. */
static bool read_head(int conn, struct th_desktop_request *r, int fds[static 3], uint64_t until_ms)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 8)];
		struct cmsghdr align;
	} control;
	struct iovec iov = { r, sizeof(*r) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	size_t count = 0;

	if (!wait_readable(conn, until_ms) ||
	    recvmsg(conn, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL) != (ssize_t)sizeof(*r))
		return false;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (count < 3)
				fds[count++] = fd;
			else
				close(fd);
		}
	}
	return count == 3 && r->size <= TH_DESKTOP_REQUEST_MAX && r->argc <= r->size &&
	       r->envc <= r->size;
}

void th_desktop_init_answer(int conn, int32_t kind, int32_t value)
{
	struct th_desktop_answer a = { kind, value };
	(void)!send(conn, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static struct th_desktop_job *free_slot(struct th_desktop_init *in)
{
	for (size_t i = 0; i < TH_COUNT(in->jobs); i++)
		if (in->jobs[i].pid == 0)
			return &in->jobs[i];
	return NULL;
}

void th_desktop_init_request(struct th_desktop_init *in)
{
	uint64_t until = th_clock_ms() + REQUEST_MS;
	struct th_desktop_request r;
	int fds[3] = { -1, -1, -1 };
	struct th_desktop_job *job = free_slot(in);
	int conn = accept4(TH_DESKTOP_LAUNCH_FD, NULL, NULL, SOCK_CLOEXEC);

	if (conn < 0)
		return;
	char *text = NULL;
	pid_t pid = -1;
	bool full = false;
	errno = EBADMSG;
	if (read_head(conn, &r, fds, until)) {
		text = th_alloc((size_t)r.size + 1);
		if (read_all(conn, text, r.size, until)) {
			full = !job; /* said to one who has asked: before that he does not listen */
			pid = full ? -1 : start_command(in, &r, text, fds);
		}
	}
	int error = errno;
	free(text);
	for (int i = 0; i < 3; i++)
		th_fd_close(&fds[i]);
	th_desktop_init_answer(conn,
			       pid > 0 ? TH_DESKTOP_STARTED
			       : full  ? TH_DESKTOP_FULL
				       : TH_DESKTOP_REFUSED,
			       pid > 0 ? (int32_t)pid : error);
	if (pid <= 0) {
		close(conn);
		return;
	}
	job->conn = conn;
	job->pid = pid;
}

void th_desktop_init_job(struct th_desktop_job *job)
{
	int32_t signum;
	ssize_t got = recv(job->conn, &signum, sizeof(signum), MSG_DONTWAIT | MSG_WAITALL);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got == (ssize_t)sizeof(signum)) {
		if (signum > 0 && signum < NSIG)
			kill(-job->pid, signum);
		return;
	}
	kill(-job->pid, SIGKILL);
	th_fd_close(&job->conn);
}
