/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_probe.c - what of the confinement works on this machine, found out by trying it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/cgroup.h"
#include "io/sandbox_kernel.h"

/* Runs `what` in a child; true when it returns true. */
static bool in_child(bool (*what)(void))
{
	int status;
	pid_t pid = fork();
	if (pid == 0)
		_exit(what() ? 0 : 1);
	if (pid < 0)
		return false;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void become_nobody(void)
{
	if (geteuid() == 0)
		(void)!(syscall(SYS_setgroups, (size_t)0, NULL) |
			syscall(SYS_setresgid, TH_SANDBOX_NOBODY, TH_SANDBOX_NOBODY,
				TH_SANDBOX_NOBODY) |
			syscall(SYS_setresuid, TH_SANDBOX_NOBODY, TH_SANDBOX_NOBODY,
				TH_SANDBOX_NOBODY));
}

static bool can_user_namespace(void)
{
	become_nobody();
	return unshare(CLONE_NEWUSER) == 0;
}

static bool can_pid_namespace(void)
{
	return unshare(CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0)) == 0;
}

static bool can_net_namespace(void)
{
	return unshare(CLONE_NEWNET | (geteuid() ? CLONE_NEWUSER : 0)) == 0;
}

static bool landlock_denies_files(void)
{
	int abi = th_landlock_abi(), ruleset = th_landlock_new(abi, false);
	if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0u) < 0)
		return false;
	return open("/etc/passwd", O_RDONLY) < 0 && errno == EACCES;
}

static bool landlock_denies_tcp(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(9) };
	int abi = th_landlock_abi(), ruleset = abi >= 4 ? th_landlock_new(abi, true) : -1;
	if (ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0u) < 0)
		return false;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 &&
	       errno == EACCES;
}

static bool seccomp_denies(void)
{
	struct sock_fprog filter = {};
	if (th_filter_new(false, false, &filter, NULL) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, &filter) < 0)
		return false;
	if (socket(AF_INET, SOCK_DGRAM, 0) >= 0 || errno != EAFNOSUPPORT)
		return false;
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM;
}

static bool can_idmap(void)
{
	int fd =
	    geteuid() == 0 ? th_userns_swapping(0, TH_SANDBOX_NOBODY, 0, TH_SANDBOX_NOBODY) : -1;
	return fd >= 0 && th_idmap_works(".", fd);
}

void th_sandbox_probe(struct th_sandbox_report *ret)
{
	struct th_sandbox s = { .level_min = TH_SANDBOX_FULL, .level_max = TH_SANDBOX_FULL };
	struct th_sandbox_plan *plan = NULL;
	struct th_err err = {};

	*ret =
	    (struct th_sandbox_report){ .root = geteuid() == 0, .landlock_abi = th_landlock_abi() };
	ret->user_namespace = in_child(can_user_namespace);
	ret->pid_namespace = in_child(can_pid_namespace);
	ret->net_namespace = in_child(can_net_namespace);
	ret->landlock_files = ret->landlock_abi > 0 && in_child(landlock_denies_files);
	ret->landlock_tcp = ret->landlock_abi >= 4 && in_child(landlock_denies_tcp);
	ret->seccomp = in_child(seccomp_denies);
	ret->idmap = in_child(can_idmap);
	ret->cgroup_kill = th_cgroup_works();
	ret->bwrap = th_sandbox_plan_new(&s, &plan, &err) == TH_OK;
	th_sandbox_plan_free(plan);
	if (ret->bwrap && ret->seccomp) {
		ret->level = TH_SANDBOX_FULL;
		return;
	}
	ret->level = ret->landlock_files && ret->seccomp ? TH_SANDBOX_KERNEL : TH_SANDBOX_OFF;
	snprintf(ret->why, sizeof(ret->why), "%s",
		 ret->bwrap ? "seccomp filters do not work here" : err.msg);
}
