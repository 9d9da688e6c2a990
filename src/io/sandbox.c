/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - plans: which layers, and whether they can be had.  The one with
 * namespaces is made in sandbox_bwrap.c.
 */
#include "io/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "io/sandbox_bwrap.h"
#include "io/sandbox_kernel.h"

static const char *const level_names[] = {
	[TH_SANDBOX_OFF] = "off", [TH_SANDBOX_KERNEL] = "kernel", [TH_SANDBOX_FULL] = "full"
};

const char *th_sandbox_level_name(enum th_sandbox_level level)
{
	assert(level < TH_COUNT(level_names));
	return level_names[level];
}

static const char *const device_paths[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
					    "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/pts",
					    "/dev/shm",     NULL };

/* ---- landlock and seccomp ---- */

static enum th_code allow_list(struct th_sandbox_plan *p, int abi, const char *const *paths,
			       bool writable, struct th_err *err)
{
	for (; paths && *paths; paths++)
		if (th_landlock_allow(p->landlock_fd, abi, *paths, writable) < 0)
			return th_fail_errno(err, errno, "landlock: allow %s", *paths);
	return TH_OK;
}

static enum th_code make_tmp(struct th_sandbox_plan *p, struct th_err *err)
{
	char path[] = "/tmp/thole-tmp-XXXXXX";
	if (!mkdtemp(path))
		return th_fail_errno(err, errno, "make a folder in /tmp");
	p->tmp = strdup(path);
	if (!p->tmp)
		return th_fail(err, TH_ENOMEM, "no memory");
	if (p->drop && chown(path, p->uid, p->gid) < 0)
		return th_fail_errno(err, errno, "%s", path);
	return TH_OK;
}

static enum th_code plan_kernel(struct th_sandbox_plan *p, const struct th_sandbox *s,
				bool for_self, struct th_err *err)
{
	int abi = th_landlock_abi();
	if (s->net == TH_SANDBOX_NET_SPACE)
		return th_fail(err, TH_EUNSUPPORTED, "a list of hosts needs network namespaces");
	if (abi == 0)
		return th_fail(err, TH_EUNSUPPORTED, "this kernel has no landlock");
	for (size_t i = 0; s->hidden && s->hidden[i]; i++)
		for (size_t j = 0; th_sandbox_system_paths[j]; j++)
			if (th_sandbox_beneath(s->hidden[i], th_sandbox_system_paths[j]))
				return th_fail(err, TH_EUNSUPPORTED,
					       "landlock cannot hide %s inside %s", s->hidden[i],
					       th_sandbox_system_paths[j]);
	char inside[TH_DIR_KIND_COUNT][TH_PATH_LEN_MAX];
	if (!for_self && th_sandbox_own_inside(s->workspace, inside) > 0)
		return th_fail(
		    err, TH_EPERM,
		    "the workspace %s holds thole's own folder %s, which cannot be kept from "
		    "commands without namespaces: use another workspace",
		    s->workspace, inside[0]);
	p->landlock_fd = th_landlock_new(abi, s->net == TH_SANDBOX_NET_NONE);
	if (p->landlock_fd < 0)
		return th_fail_errno(err, errno, "make a landlock ruleset");
	const char *const own[] = { s->workspace, NULL };
	const char *const proc[] = { "/proc", NULL };
	enum th_code code = TH_OK;
	if (!s->tmp && !for_self)
		code = make_tmp(p, err);
	const char *const tmp[] = { s->tmp ? s->tmp : p->tmp, NULL };
	if (code == TH_OK)
		code = allow_list(p, abi, th_sandbox_system_paths, false, err);
	if (code == TH_OK)
		code = allow_list(p, abi, proc, false, err);
	if (code == TH_OK)
		code = allow_list(p, abi, device_paths, true, err);
	if (code == TH_OK)
		code = allow_list(p, abi, s->readable, false, err);
	if (code == TH_OK)
		code = allow_list(p, abi, s->writable, true, err);
	if (code == TH_OK)
		code = allow_list(p, abi, tmp, true, err);
	if (code == TH_OK)
		code = allow_list(p, abi, own, !s->workspace_readonly, err);
	return code ? code : th_filter_new(s->net == TH_SANDBOX_NET_HOST, s->gui, &p->filter, err);
}

/* ---- plans ---- */

static struct th_sandbox_plan *plan_alloc(const struct th_sandbox *s)
{
	struct th_sandbox_plan *p = (struct th_sandbox_plan *)th_alloc(sizeof(*p));
	th_arena_init(&p->arena, 256 * TH_KIB);
	p->landlock_fd = p->net_fd = p->user_fd = p->users_fd = -1;
	p->drop = geteuid() == 0;
	p->uid = s->uid ? s->uid : TH_SANDBOX_NOBODY;
	p->gid = s->gid ? s->gid : s->uid ? (gid_t)s->uid : TH_SANDBOX_NOBODY;
	return p;
}

struct th_sandbox_plan *th_sandbox_plan_free(struct th_sandbox_plan *p)
{
	if (!p)
		return NULL;
	th_fd_close(&p->landlock_fd);
	th_fd_close(&p->users_fd);
	for (size_t i = 0; i < p->shown_count; i++)
		th_fd_close(&p->shown[i].userns_fd);
	if (p->tmp)
		(void)!th_dir_remove(p->tmp, NULL);
	free(p->tmp);
	free(p->filter.filter);
	th_arena_deinit(&p->arena);
	free(p);
	return NULL;
}

void th_sandbox_plan_freep(struct th_sandbox_plan **p)
{
	*p = th_sandbox_plan_free(*p);
}

enum th_sandbox_level th_sandbox_plan_level(const struct th_sandbox_plan *p)
{
	return p->level;
}

/* Runs `command` inside the plan, silently; its exit status, or -1. */
static int try_plan(const struct th_sandbox_plan *p, const char *const *command)
{
	const char *argv[TH_PLAN_ARGS_MAX + 32];
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	size_t n = th_sandbox_options(p, argv);
	int status = -1;

	if (p->namespaced)
		argv[n++] = "--";
	for (size_t i = 0; i < p->tail_count; i++)
		argv[n++] = p->tail[i];
	for (size_t i = 0; command[i] && n < TH_COUNT(argv) - 1; i++)
		argv[n++] = command[i];
	argv[n] = NULL;
	TH_CLEANUP(th_fd_close) int filter = p->namespaced ? th_sandbox_filter_fd(p) : -1;
	pid_t pid = fork();
	if (pid == 0) {
		const char *step;
		int null_fd = open("/dev/null", O_RDWR);
		for (int i = 0; i < 3; i++)
			dup2(null_fd, i);
		dup2(null_fd, TH_PLAN_FD_STATUS);
		if (filter >= 0)
			dup2(filter, TH_PLAN_FD_FILTER);
		if (p->users_fd >= 0)
			dup2(p->users_fd, TH_PLAN_FD_USERS);
		if (th_sandbox_join(p, &step) == 0 &&
		    (p->namespaced ? th_sandbox_show(p, &step) : th_sandbox_apply(p, &step)) == 0)
			execve(argv[0], (char *const *)(uintptr_t)argv,
			       (char *const *)(uintptr_t)env);
		_exit(126);
	}
	if (pid < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Whether namespaces work here is found out once per process, by making some. */
static bool namespaces_work(struct th_sandbox_plan *p, struct th_err *err)
{
	static int works[2] = { -1, -1 }; /* without, with an unprivileged user to become */
	static bool alone = true;         /* with a namespace to count in */
	static const char *const command[] = { "/bin/true", NULL };
	int *known = &works[p->drop];
	if (*known < 0) {
		*known = try_plan(p, command) == 0;
		alone = *known || p->users_fd < 0;
		if (!alone) {
			th_sandbox_plan_count_together(p);
			*known = try_plan(p, command) == 0;
		}
	}
	if (!alone)
		th_sandbox_plan_count_together(p);
	if (!*known)
		th_fail(
		    err, TH_EUNSUPPORTED,
		    "bwrap cannot make namespaces here: the kernel or the container forbids it");
	return *known;
}

static enum th_code plan_level(const struct th_sandbox *s, enum th_sandbox_level level,
			       struct th_sandbox_plan **ret, struct th_err *err)
{
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *p = plan_alloc(s);
	enum th_code code = TH_OK;

	p->level = level;
	if (level == TH_SANDBOX_FULL)
		code = th_sandbox_plan_namespaces(p, s, err);
	else if (level == TH_SANDBOX_KERNEL)
		code = plan_kernel(p, s, false, err);
	if (code == TH_OK && level == TH_SANDBOX_FULL && !namespaces_work(p, err))
		code = TH_EUNSUPPORTED;
	if (code)
		return code;
	*ret = p;
	p = NULL;
	return TH_OK;
}

static enum th_code check_path(const char *path, struct th_err *err)
{
	if (path && (path[0] != '/' || strstr(path, "/../")))
		return th_fail(err, TH_EUSAGE, "%s: a sandbox takes absolute paths only", path);
	return TH_OK;
}

static enum th_code check(const struct th_sandbox *s, struct th_err *err)
{
	const char *const *const lists[] = { s->readable, s->writable, s->hidden };
	enum th_code code = check_path(s->workspace, err);
	if (code == TH_OK)
		code = check_path(s->tmp, err);
	for (size_t i = 0; i < TH_COUNT(lists); i++)
		for (size_t j = 0; code == TH_OK && lists[i] && lists[i][j]; j++)
			code = check_path(lists[i][j], err);
	if (code == TH_OK && s->net == TH_SANDBOX_NET_SPACE && s->level_min != TH_SANDBOX_FULL)
		code =
		    th_fail(err, TH_EUSAGE, "sandbox: a network of its own needs the level full");
	if (code == TH_OK && s->level_min > s->level_max)
		code = th_fail(err, TH_EUSAGE, "sandbox: the least level is above the highest");
	if (code == TH_OK && s->workspace && access(s->workspace, F_OK) < 0)
		code = th_fail_errno(err, errno, "the workspace %s", s->workspace);
	return code;
}

enum th_code th_sandbox_plan_new(const struct th_sandbox *s, struct th_sandbox_plan **ret,
				 struct th_err *err)
{
	struct th_err why = {};
	enum th_code code = check(s, err);
	if (code)
		return code;
	for (int level = (int)s->level_max; level >= (int)s->level_min; level--) {
		code = plan_level(s, (enum th_sandbox_level)level, ret, why.code ? NULL : &why);
		if (code != TH_EUNSUPPORTED)
			break;
	}
	if (code == TH_EUNSUPPORTED)
		return th_fail(err, code, "the sandbox level \"%s\" cannot be reached: %s",
			       level_names[s->level_min], why.msg);
	if (code && err)
		*err = why;
	return code;
}

enum th_code th_sandbox_enter(const struct th_sandbox *s, struct th_err *err)
{
	const char *step = "";
	enum th_code code = check(s, err);
	if (code)
		return code;
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *p = plan_alloc(s);
	p->drop = p->drop && s->uid != 0;
	code = plan_kernel(p, s, true, err);
	if (code == TH_OK && th_sandbox_apply(p, &step) < 0)
		code = th_fail_errno(err, errno, "sandbox: %s", step);
	return code;
}
