/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - the prefix that stands outside for a command inside a
 * desktop (desktop.h): it hands over what it was started with, passes signals
 * on, and exits as the command does.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "desktop/desktop.h"
#include "io/child.h"
#include "io/files.h"

enum { EXIT_CANNOT = 126, EXIT_NO_PROGRAM = 127 };

static int refuse(const char *what, int error)
{
	fprintf(stderr, "thole: %s: %s\n", what, strerror(error));
	return error == ENOENT ? EXIT_NO_PROGRAM : EXIT_CANNOT;
}

static bool says; /* somebody wants to know what became of the command */

static void say(char word)
{
	if (says)
		(void)!write(TH_STANDIN_FD, &word, 1);
}

static int connect_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(a.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a))) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	return fd;
}

static uint32_t add_list(struct th_buf *b, const char *const *list)
{
	uint32_t count = 0;

	for (; *list; list++, count++)
		th_buf_add_mem(b, *list, strlen(*list) + 1);
	return count;
}

static bool send_all(int fd, const char *at, size_t len)
{
	while (len > 0) {
		ssize_t put = send(fd, at, len, MSG_NOSIGNAL);
		if (put < 0 && errno != EINTR)
			return false;
		at += TH_MAX(put, 0);
		len -= (size_t)TH_MAX(put, 0);
	}
	return true;
}

static bool send_request(int conn, const struct th_desktop_command *command)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_DESKTOP_REQUEST_MAX);
	struct th_desktop_request r = { 0 };
	union {
		char bytes[CMSG_SPACE(sizeof(command->fds))];
		struct cmsghdr align;
	} control = { 0 };

	th_buf_add_mem(&text, command->cwd, strlen(command->cwd) + 1);
	r.argc = add_list(&text, command->argv);
	r.envc = add_list(&text, command->env);
	if (text.failed) {
		errno = E2BIG;
		return false;
	}
	r.size = (uint32_t)text.len;
	for (int i = 0; i < TH_DESKTOP_LIMITS; i++) {
		struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
		(void)!getrlimit((__rlimit_resource_t)i, &limit);
		r.soft[i] = limit.rlim_cur;
		r.hard[i] = limit.rlim_max;
	}
	struct iovec iov = { &r, sizeof(r) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.bytes,
			      .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(command->fds));
	memcpy(CMSG_DATA(c), command->fds, sizeof(command->fds));
	return sendmsg(conn, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(r) &&
	       send_all(conn, text.ptr, text.len);
}

enum th_code th_desktop_start(struct th_str state_dir, const struct th_desktop_command *command,
			      int *ret_conn, struct th_err *err)
{
	const struct timeval patience = { TH_DESKTOP_START_MS / 1000, 0 };
	TH_CLEANUP(th_fd_close) int conn = -1;
	char path[TH_PATH_LEN_MAX];
	struct th_desktop_answer a;

	snprintf(path, sizeof(path), "%.*s/" TH_DESKTOP_SOCKET, TH_FMT(state_dir));
	conn = connect_to(path);
	if (conn < 0 || setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return th_fail_errno(err, errno, "ask the desktop to start %s", command->argv[0]);
	if (!send_request(conn, command))
		return th_fail_errno(err, errno, "ask the desktop to start %s", command->argv[0]);
	if (recv(conn, &a, sizeof(a), MSG_WAITALL) != (ssize_t)sizeof(a))
		return th_fail(err, TH_EIO, "the desktop did not start %s", command->argv[0]);
	if (a.kind != TH_DESKTOP_STARTED)
		return th_fail(err, TH_EIO, "the desktop did not start %s: %s", command->argv[0],
			       a.kind == TH_DESKTOP_FULL ? "it has too many commands"
							 : strerror(a.value));
	*ret_conn = conn;
	conn = -1;
	return TH_OK;
}

/* Ends as the command did. */
static int exit_as(int status)
{
	if (!WIFSIGNALED(status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_CANNOT;
	int signum = WTERMSIG(status);
	struct rlimit none = { 0, 0 };
	sigset_t set;
	setrlimit(RLIMIT_CORE, &none);
	signal(signum, SIG_DFL);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	raise(signum);
	return 128 + signum;
}

static int open_signals(void)
{
	static const int passed[] = { SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,
				      SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < TH_COUNT(passed); i++)
		sigaddset(&set, passed[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Input and output are the command's now: who holds their other ends shall see its end, not ours.
 */
static void let_go(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return;
	dup2(null_fd, 0);
	dup2(null_fd, 1);
	close(null_fd);
}

/* For a command with what we were started with. */
static bool ask(int conn, char **command)
{
	char *cwd = getcwd(NULL, 0);
	const struct th_desktop_command wanted = {
		.argv = (const char *const *)command,
		.env = (const char *const *)environ,
		.cwd = cwd ?: "",
		.fds = { 0, 1, 2 },
	};
	bool asked = send_request(conn, &wanted);
	int error = errno;

	free(cwd);
	if (!asked && error == E2BIG)
		fprintf(stderr,
			"thole: ask the desktop to start a program: arguments and "
			"environment have more than %zu bytes\n",
			TH_DESKTOP_REQUEST_MAX);
	else if (!asked)
		refuse("ask the desktop to start a program", error);
	return asked;
}

int th_desktop_run_main(const char *socket_path, char **command)
{
	struct th_desktop_answer a;

	says = fcntl(TH_STANDIN_FD, F_SETFD, FD_CLOEXEC) == 0; /* before we open anything */
	int signals = open_signals(); /* before anything is started that they could be for */
	int conn = connect_to(socket_path);
	if (signals < 0 || conn < 0) {
		int error = errno;
		refuse("the desktop is gone", error);
		say(TH_STANDIN_NOT_STARTED);
		return EXIT_CANNOT;
	}
	if (!ask(conn, command)) {
		say(TH_STANDIN_NOT_STARTED);
		return EXIT_CANNOT;
	}
	for (;;) {
		struct pollfd p[2] = { { .fd = conn, .events = POLLIN },
				       { .fd = signals, .events = POLLIN } };
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return refuse("wait for the command", errno);
		if (p[1].revents) {
			struct signalfd_siginfo info;
			if (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
				int32_t signum = (int32_t)info.ssi_signo;
				(void)!send(conn, &signum, sizeof(signum), MSG_NOSIGNAL);
			}
		}
		if (!p[0].revents)
			continue;
		if (recv(conn, &a, sizeof(a), MSG_WAITALL) != (ssize_t)sizeof(a)) {
			fprintf(stderr, "thole: the desktop is gone, and the command with it\n");
			say(TH_STANDIN_LOST);
			return EXIT_CANNOT;
		}
		if (a.kind == TH_DESKTOP_STARTED) {
			say(TH_STANDIN_STARTED);
			let_go();
		}
		if (a.kind == TH_DESKTOP_REFUSED) {
			say(TH_STANDIN_NOT_STARTED);
			return refuse(command[0], a.value);
		}
		if (a.kind == TH_DESKTOP_FULL) {
			say(TH_STANDIN_NOT_STARTED);
			fprintf(stderr,
				"thole: %s: not started: %d commands of this desktop are waited "
				"for, its maximum; let one end, or start it with & and wait for "
				"none\n",
				command[0], TH_DESKTOP_JOBS_MAX);
			return EXIT_CANNOT;
		}
		if (a.kind == TH_DESKTOP_EXITED)
			return exit_as(a.value);
	}
}
