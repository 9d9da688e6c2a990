/* SPDX-License-Identifier: Apache-2.0 */
/*
 * init.c - the process inside a desktop that starts and ends all
 * others: Xvfb, the window manager, a message bus when somebody wants one, and
 * the commands that th_desktop_prefix asks for.  One thread, one poll loop.
 *
 * It runs with the rights of the programs themselves, so whoever takes it over
 * has won nothing.  It ends when Xvfb ends or the display process is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "desktop/init.h"
#include "io/clock.h"
#include "io/files.h"

#define TEARDOWN_MS 2000

/* ---- the end ---- */

/* False: Xvfb is gone. */
static bool reap(struct th_desktop_init *in)
{
	int status;
	pid_t pid;
	bool alive = true;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == in->xvfb) {
			in->xvfb = 0;
			alive = false;
		} else if (pid == in->wm) {
			in->wm = 0;
			th_desktop_init_wm(in);
		}
		for (size_t i = 0; i < TH_DESKTOP_BUS_COUNT; i++)
			if (pid == in->buses[i].pid)
				in->buses[i].pid = 0;
		for (size_t i = 0; i < TH_COUNT(in->jobs); i++) {
			struct th_desktop_job *job = &in->jobs[i];
			if (job->pid != pid)
				continue;
			job->pid = 0;
			if (job->conn >= 0)
				th_desktop_init_answer(job->conn, TH_DESKTOP_EXITED, status);
			th_fd_close(&job->conn);
		}
	}
	return alive;
}

static size_t kill_children(pid_t except)
{
	char path[64], text[4096];
	size_t count = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	th_fd_close(&fd);
	text[len > 0 ? len : 0] = '\0';
	for (char *at = text, *end; *at; at = end) {
		pid_t pid = (pid_t)strtol(at, &end, 10);
		if (end == at)
			break;
		if (pid <= 1 || pid == except)
			continue;
		count++;
		kill(pid, SIGKILL);
	}
	return count;
}

/* What Xvfb leaves when it is killed, if it is its own. */
static void remove_display(int number, pid_t owner)
{
	char path[64], text[32] = "";

	snprintf(path, sizeof(path), "/tmp/.X%d-lock", number);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	ssize_t len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0 || strtol(text, NULL, 10) != owner)
		return;
	unlink(path);
	snprintf(path, sizeof(path), "/tmp/.X11-unix/X%d", number);
	unlink(path);
}

/* Without namespaces nobody cleans up for us.  All that lost their parents are our children now. */
static void tear_down(struct th_desktop_init *in, pid_t xvfb)
{
	uint64_t until = th_clock_ms() + TEARDOWN_MS;

	close(TH_DESKTOP_LAUNCH_FD); /* the next desktop of the session may listen there */
	if (in->xvfb > 0)
		kill(in->xvfb, SIGTERM);
	for (;;) {
		size_t left = kill_children(th_clock_ms() < until ? in->xvfb : 0);
		pid_t pid;
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			if (pid == in->xvfb)
				in->xvfb = 0;
		if ((left == 0 && in->xvfb <= 0) || th_clock_ms() >= until + TEARDOWN_MS)
			break;
		poll(NULL, 0, 2);
	}
	if (in->number >= 0)
		remove_display(in->number, xvfb);
	/* Again, because a process that is ending may still have made a file. */
	for (int tries = 0; tries < 20 && th_dir_remove(in->config.base, NULL) &&
			    access(in->config.base, F_OK) == 0;
	     tries++)
		poll(NULL, 0, 20);
}

/* The display process wants to hear what is in the windows: a connection to the bus that tells.
 * False: it is gone. */
static bool on_order(const struct th_desktop_init *in)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const struct th_desktop_bus *bus = &in->buses[TH_DESKTOP_BUS_TREE];
	char order;
	int fd = -1;

	if (recv(TH_DESKTOP_CONTROL_FD, &order, 1, 0) != 1)
		return false;
	if (bus->there) {
		memcpy(a.sun_path, bus->path, strlen(bus->path) + 1);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a)))
			th_fd_close(&fd);
	}
	th_desktop_init_tell(TH_DESKTOP_TREE, 0,
			     bus->there ? "the bus of accessibility does not answer" : "", fd);
	th_fd_close(&fd);
	return true;
}

/* ---- the loop ---- */

/* False: it is over. */
static bool serve(struct th_desktop_init *in, const struct pollfd *p, size_t fixed)
{
	struct signalfd_siginfo info;

	if (p[0].revents && !on_order(in))
		return false;
	if (p[1].revents) {
		(void)!read(in->signal_fd, &info, sizeof(info));
		if (!reap(in))
			return false;
	}
	if (p[2].revents && th_desktop_init_ready(in))
		return in->number <
		       0; /* Xvfb ended: SIGCHLD follows.  A failed connection is the end. */
	if (p[3].revents)
		th_desktop_init_request(in);
	for (int i = 0; i < TH_DESKTOP_BUS_COUNT; i++)
		if (p[4 + i].revents && in->buses[i].fd >= 0)
			th_desktop_init_bus(in, (enum th_desktop_bus_kind)i);
	for (size_t i = 0; i < TH_COUNT(in->jobs); i++)
		if (p[fixed + i].fd >= 0 && p[fixed + i].revents &&
		    in->jobs[i].conn == p[fixed + i].fd)
			th_desktop_init_job(&in->jobs[i]);
	return true;
}

static void loop(struct th_desktop_init *in)
{
	enum { FIXED = 4 + TH_DESKTOP_BUS_COUNT };
	struct pollfd p[FIXED + TH_DESKTOP_JOBS_MAX];
	bool more = true;

	while (more) {
		p[0] = (struct pollfd){ .fd = TH_DESKTOP_CONTROL_FD, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = in->signal_fd, .events = POLLIN };
		p[2] = (struct pollfd){ .fd = in->ready_fd, .events = POLLIN };
		p[3] = (struct pollfd){ .fd = in->number >= 0 ? TH_DESKTOP_LAUNCH_FD : -1,
					.events = POLLIN };
		for (int i = 0; i < TH_DESKTOP_BUS_COUNT; i++)
			p[4 + i] = (struct pollfd){ .fd = in->buses[i].fd, .events = POLLIN };
		for (size_t i = 0; i < TH_COUNT(in->jobs); i++) {
			const struct th_desktop_job *job = &in->jobs[i];
			p[FIXED + i] =
			    (struct pollfd){ .fd = job->pid ? job->conn : -1, .events = POLLIN };
		}
		if (poll(p, TH_COUNT(p), -1) < 0 && errno != EINTR)
			return;
		more = serve(in, p, FIXED);
	}
}

static int take_config(struct th_desktop_config *config)
{
	ssize_t got = recv(TH_DESKTOP_CONTROL_FD, config, sizeof(*config), 0);

	if (got != (ssize_t)sizeof(*config)) {
		errno = got < 0 ? errno : EBADMSG;
		return -1;
	}
	config->base[sizeof(config->base) - 1] = '\0';
	return 0;
}

int th_desktop_init_main(void)
{
	static struct th_desktop_init in;
	sigset_t set;

	in.signal_fd = in.ready_fd = in.number = -1;
	for (size_t i = 0; i < TH_COUNT(in.jobs); i++)
		in.jobs[i].conn = -1;
	for (int fd = TH_DESKTOP_CONTROL_FD; fd <= TH_DESKTOP_SELF_FD; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	prctl(PR_SET_NAME, "thole-desktop", 0, 0, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	in.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (in.signal_fd < 0 || take_config(&in.config))
		return th_desktop_init_fail("the desktop's first process");
	if (th_desktop_init_files(&in))
		return th_desktop_init_fail("make the desktop's folders");
	if (th_desktop_init_xvfb(&in))
		return th_desktop_init_fail("start Xvfb");
	pid_t xvfb = in.xvfb;
	loop(&in);
	if (in.number < 0) {
		char text[300], log[384];
		th_desktop_init_log(&in, text, sizeof(text));
		snprintf(log, sizeof(log), "Xvfb did not start: %s",
			 text[0] ? text : "it says nothing");
		th_desktop_init_tell(TH_DESKTOP_FAILED, 0, log, -1);
	}
	if (in.config.plain)
		tear_down(&in, xvfb);
	return 0;
}
