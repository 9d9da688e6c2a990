/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_tree.c - a process and all that it began: killed, and seen to be gone.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/child_internal.h"
#include "io/child_start.h"
#include "io/clock.h"

static struct th_child *children; /* not yet reaped: what else we adopt and lose is nobody's */
static bool subreaper;

/*
 * A process by its pidfd; where there are none (valgrind, gVisor, Linux before 5.3) by its number,
 * looked at again and again.
 */
int th_child_pidfd(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0u);
}

void th_child_process_kill(pid_t pid, int fd, int signum)
{
	if (fd >= 0)
		syscall(SYS_pidfd_send_signal, fd, signum, NULL, 0u);
	else if (pid > 1)
		kill(pid, signum);
}

bool th_child_process_gone(pid_t pid, int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	if (fd >= 0)
		return poll(&pfd, 1, timeout_ms) > 0;
	if (pid > 1 && kill(pid, 0) == 0 && timeout_ms > 0)
		poll(NULL, 0, timeout_ms);
	return pid <= 1 || (kill(pid, 0) < 0 && errno == ESRCH);
}

static bool is_child(pid_t pid)
{
	const struct th_child *c = children;
	while (c && c->pid != pid)
		c = c->next;
	return c != NULL;
}

bool th_child_reap(struct th_child *c)
{
	siginfo_t info = {};
	if (c->reaped)
		return true;
	if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG) < 0) {
		if (errno != ECHILD)
			return false;
	} else if (info.si_pid == 0) {
		return false;
	}
	c->reaped = true;
	for (struct th_child **at = &children; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			break;
		}
	if (subreaper)
		th_adopted_reap(is_child);
	c->result.signalled = info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
	c->result.code = info.si_status;
	return true;
}

void th_child_tree_end(struct th_child *c)
{
	switch (c->tree) {
	case TH_TREE_NAMESPACE:
		th_child_process_kill(c->init_pid, c->init_fd, SIGKILL);
		break;
	case TH_TREE_CGROUP:
		th_cgroup_kill(&c->group);
		break;
	case TH_TREE_ADOPT:
		if (c->contained)
			th_adopted_kill(c->marker, c->reaped ? 0 : c->pid);
		break;
	}
	/* Not reaped, so the number is still its own; afterwards the group may be somebody else's.
	 */
	if (!c->reaped) {
		kill(-c->pid, SIGKILL);
		th_child_process_kill(c->pid, c->pidfd, SIGKILL);
	}
}

bool th_child_tree_gone(struct th_child *c, int timeout_ms)
{
	switch (c->tree) {
	case TH_TREE_NAMESPACE:
		return th_child_process_gone(c->init_pid, c->init_fd, timeout_ms);
	case TH_TREE_CGROUP:
		return th_cgroup_empty(&c->group);
	case TH_TREE_ADOPT:
		break;
	}
	return !c->contained || (th_adopted_kill(c->marker, c->reaped ? 0 : c->pid) == 0 &&
				 th_adopted_reap(is_child) == 0);
}

void th_child_tree_choose(struct th_child *c, const struct th_child_spec *spec)
{
	c->namespaced = spec->sandbox && th_plan_namespaced(spec->sandbox);
	c->contained = spec->sandbox || spec->tree;
	c->tree = TH_TREE_ADOPT;
	if (c->namespaced)
		c->tree = TH_TREE_NAMESPACE;
	else if (c->contained && th_cgroup_new(&c->group))
		c->tree = TH_TREE_CGROUP;
	if (c->contained && c->tree == TH_TREE_ADOPT) {
		struct th_uuid id = th_uuid_now();
		char text[TH_UUID_TEXT_SIZE + 1];
		th_uuid_text(&id, text);
		snprintf(c->marker, sizeof(c->marker), "THOLE_TREE=%s", text);
		subreaper = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
	}
}

void th_child_tree_begin(struct th_child *c)
{
	c->next = children;
	children = c;
}
