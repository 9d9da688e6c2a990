/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.c - plans: which layers, with which arguments; and the live probe.
 *
 * With namespaces the file system is an allow-list: an empty root into which
 * the system folders are bound read-only, then what is hidden is covered, then
 * the workspace is bound, without our own folders should it hold them.  What is
 * not named is not there.
 */
#include "io/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/cgroup.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/sandbox_kernel.h"

#define NOBODY 65534

static const char *const level_names[] = {
	[TH_SANDBOX_OFF] = "off", [TH_SANDBOX_KERNEL] = "kernel", [TH_SANDBOX_FULL] = "full"
};

const char *th_sandbox_level_name(enum th_sandbox_level level)
{
	assert(level < TH_COUNT(level_names));
	return level_names[level];
}

/* What programs need of the system, read-only. */
static const char *const system_paths[] = { "/usr",
					    "/bin",
					    "/sbin",
					    "/lib",
					    "/lib32",
					    "/lib64",
					    "/libx32",
					    "/etc",
					    "/opt",
					    "/nix/store",
					    "/gnu/store",
					    "/sys",
					    "/var/cache/fontconfig",
					    "/var/lib/fonts",
					    "/run/current-system",
					    NULL };

/* What of these nobody should see, whatever the modes say. */
static const char *const hidden_paths[] = {
	"/etc/shadow",    "/etc/shadow-",     "/etc/gshadow",     "/etc/gshadow-",
	"/etc/sudoers",   "/etc/sudoers.d",   "/etc/ssl/private", "/etc/NetworkManager",
	"/etc/wireguard", "/etc/krb5.keytab", "/etc/thole",       NULL
};

static const char *const device_paths[] = { "/dev/null",    "/dev/zero", "/dev/full", "/dev/random",
					    "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/pts",
					    "/dev/shm",     NULL };

/* ---- arguments for bwrap ---- */

static const char *keep(struct th_sandbox_plan *p, const char *text)
{
	return th_arena_cstr(&p->arena, th_str_of(text));
}

/* Copies, for the plan outlives the description.  Too many are found once, at the end. */
static void arg(struct th_sandbox_plan *p, const char *text)
{
	if (p->arg_count < TH_PLAN_ARGS_MAX)
		p->args[p->arg_count] = keep(p, text);
	if (p->arg_count >= TH_PLAN_ARGS_MAX || !p->args[p->arg_count])
		p->failed = true;
	else
		p->arg_count++;
}

static const char *number(struct th_sandbox_plan *p, const char *prefix, unsigned value)
{
	char text[32];
	snprintf(text, sizeof(text), "%s%u", prefix, value);
	return keep(p, text);
}

static void args2(struct th_sandbox_plan *p, const char *a, const char *b)
{
	arg(p, a);
	arg(p, b);
}

static void args3(struct th_sandbox_plan *p, const char *a, const char *b, const char *c)
{
	arg(p, a);
	arg(p, b);
	arg(p, c);
}

static const char *first_there(const char *const *paths)
{
	for (; *paths; paths++)
		if (access(*paths, X_OK) == 0)
			return *paths;
	return NULL;
}

static const char *find_bwrap(void)
{
	static const char *const paths[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap",
					     "/run/current-system/sw/bin/bwrap", NULL };
	return first_there(paths);
}

static const char *find_setpriv(void)
{
	static const char *const paths[] = { "/usr/bin/setpriv", "/bin/setpriv", NULL };
	return first_there(paths);
}

static bool beneath(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* bwrap would make the folders above a mount for root only. */
static void make_parents(struct th_sandbox_plan *p, const char *path)
{
	char parent[TH_PATH_LEN_MAX];
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		args2(p, "--perms", "0755");
		args2(p, "--dir", parent);
	}
}

static void add_parents(struct th_sandbox_plan *p, const char *path)
{
	for (size_t i = 0; system_paths[i]; i++)
		if (beneath(path, system_paths[i]))
			return;
	make_parents(p, path);
}

static void bind_system(struct th_sandbox_plan *p)
{
	char target[TH_PATH_LEN_MAX];
	struct stat st;
	for (size_t i = 0; system_paths[i]; i++) {
		const char *path = system_paths[i];
		if (lstat(path, &st) < 0)
			continue;
		make_parents(p, path);
		ssize_t len = S_ISLNK(st.st_mode) ? readlink(path, target, sizeof(target) - 1) : -1;
		if (len > 0) {
			target[len] = '\0';
			args3(p, "--symlink", target, path);
		} else {
			args3(p, "--ro-bind", path, path);
		}
	}
}

static void hide(struct th_sandbox_plan *p, const char *const *paths)
{
	struct stat st;
	for (; paths && *paths; paths++) {
		if (stat(*paths, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			args2(p, "--perms", "0555");
			args2(p, "--tmpfs", *paths);
			args2(p, "--remount-ro", *paths);
		} else {
			args3(p, "--ro-bind", "/dev/null", *paths);
		}
	}
}

static void bind_path(struct th_sandbox_plan *p, const char *option, const char *path)
{
	add_parents(p, path);
	args3(p, option, path, path);
}

static void bind_all(struct th_sandbox_plan *p, const char *option, const char *const *paths)
{
	for (; paths && *paths; paths++)
		bind_path(p, option, *paths);
}

/* A link to a file elsewhere (systemd-resolved) would dangle inside. */
static void bind_resolver(struct th_sandbox_plan *p)
{
	char path[TH_PATH_LEN_MAX];
	if (realpath("/etc/resolv.conf", path) && strcmp(path, "/etc/resolv.conf") != 0)
		bind_path(p, "--ro-bind-try", path);
}

/* Our own folders (logs, journals, settings) that lie in a workspace such as a home folder. */
static size_t own_inside(const char *workspace,
			 char paths[static TH_DIR_KIND_COUNT][TH_PATH_LEN_MAX])
{
	char real[TH_PATH_LEN_MAX];
	size_t count = 0;

	if (!workspace || !realpath(workspace, real))
		return 0;
	for (int kind = 0; kind < TH_DIR_KIND_COUNT; kind++) {
		struct th_buf path = TH_BUF_INIT(TH_PATH_LEN_MAX - 1);
		size_t len = strlen(real);
		size_t given = strlen(workspace);
		if (th_dir_find((enum th_dir_kind)kind, &path, NULL) == TH_OK && path.len > len &&
		    memcmp(path.ptr, real, len) == 0 && path.ptr[len] == '/' &&
		    given + path.len - len < TH_PATH_LEN_MAX) {
			/* By the name under which the workspace is shown. */
			memcpy(paths[count], workspace, given);
			memcpy(paths[count++] + given, path.ptr + len, path.len - len + 1);
		}
		th_buf_deinit(&path);
	}
	return count;
}

/* Whatever is granted: who can write the log can make it say anything.  The folders on the way
 * there become mounts too, which cannot be renamed: to hide a name is not enough. */
static void hide_own(struct th_sandbox_plan *p, const struct th_sandbox *s)
{
	char paths[TH_DIR_KIND_COUNT][TH_PATH_LEN_MAX];
	size_t count = own_inside(s->workspace, paths);

	for (size_t i = 0; i < count; i++) {
		char *slash = paths[i] + strlen(s->workspace);
		while ((slash = strchr(slash + 1, '/'))) {
			*slash = '\0';
			args3(p, s->workspace_readonly ? "--ro-bind" : "--bind", keep(p, paths[i]),
			      keep(p, paths[i]));
			*slash = '/';
		}
	}
	for (size_t i = 0; i < count; i++) {
		const char *const list[] = { keep(p, paths[i]), NULL };
		hide(p, list);
	}
}

static void add_mounts(struct th_sandbox_plan *p, const struct th_sandbox *s)
{
	bind_system(p);
	args2(p, "--proc", "/proc");
	args2(p, "--dev", "/dev");
	args2(p, "--perms", "1777");
	args2(p, "--tmpfs", "/dev/shm");
	args2(p, "--perms", "1777");
	args2(p, "--tmpfs", "/var/tmp");
	args2(p, "--perms", "0755");
	args2(p, "--tmpfs", "/run");
	hide(p, hidden_paths);
	hide(p, s->hidden);
	if (s->net == TH_SANDBOX_NET_HOST)
		bind_resolver(p);
	if (s->tmp) {
		args3(p, "--bind", s->tmp, "/tmp");
	} else {
		args2(p, "--perms", "1777");
		args2(p, "--tmpfs", "/tmp");
	}
	bind_all(p, "--ro-bind", s->readable);
	bind_all(p, "--bind", s->writable);
	if (s->workspace)
		bind_path(p, s->workspace_readonly ? "--ro-bind" : "--bind", s->workspace);
	hide_own(p, s);
	args2(p, "--remount-ro", "/");
}

static void add_drop(struct th_sandbox_plan *p, const char *setpriv)
{
	/* setpriv needs to be root with these for the one moment in which it stops being it. */
	args2(p, "--cap-drop", "ALL");
	args2(p, "--cap-add", "CAP_SETUID");
	args2(p, "--cap-add", "CAP_SETGID");
	/* bwrap itself goes into the workspace, which may be open to its owner alone. */
	args2(p, "--cap-add", "CAP_DAC_READ_SEARCH");
	p->tail[p->tail_count++] = setpriv;
	p->tail[p->tail_count++] = number(p, "--reuid=", p->uid);
	p->tail[p->tail_count++] = number(p, "--regid=", p->gid);
	p->tail[p->tail_count++] = "--clear-groups";
	p->tail[p->tail_count++] = "--no-new-privs";
	p->tail[p->tail_count++] = "--";
}

/* Folders of another owner are shown to the unprivileged user as its own. */
static enum th_code add_shown(struct th_sandbox_plan *p, const char *path, struct th_err *err)
{
	struct stat st;
	if (!p->drop || !path)
		return TH_OK;
	if (stat(path, &st) < 0)
		return th_fail_errno(err, errno, "%s", path);
	if (st.st_uid == p->uid || !S_ISDIR(st.st_mode) || (st.st_mode & 0003) == 0003)
		return TH_OK;
	if (p->shown_count == TH_PLAN_SHOWN_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d writable folders", TH_PLAN_SHOWN_MAX);
	int fd = th_userns_swapping(st.st_uid, p->uid, st.st_gid, p->gid);
	if (fd < 0 || !th_idmap_works(path, fd)) {
		th_fd_close(&fd);
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "%s belongs to user %u, commands run as user %u, and its file system "
		    "cannot be shown to another user: give it to that user (chown)",
		    path, st.st_uid, p->uid);
	}
	p->shown[p->shown_count].path = keep(p, path);
	p->shown[p->shown_count++].userns_fd = fd;
	return TH_OK;
}

static enum th_code plan_namespaces(struct th_sandbox_plan *p, const struct th_sandbox *s,
				    struct th_err *err)
{
	const char *bwrap = find_bwrap(), *setpriv = find_setpriv();
	if (!bwrap)
		return th_fail(err, TH_EUNSUPPORTED, "bubblewrap (bwrap) is not installed");
	if (p->drop && !setpriv)
		return th_fail(err, TH_EUNSUPPORTED, "setpriv (util-linux) is not installed");
	arg(p, bwrap);
	arg(p, "--unshare-pid");
	arg(p, "--unshare-ipc");
	arg(p, "--unshare-uts");
	arg(p, "--unshare-cgroup-try");
	args2(p, "--hostname", "thole");
	if (s->net == TH_SANDBOX_NET_NONE)
		arg(p, "--unshare-net");
	if (s->net == TH_SANDBOX_NET_SPACE) {
		p->net_fd = s->net_fd;
		p->user_fd = s->user_fd;
	}
	add_mounts(p, s);
	if (p->drop)
		add_drop(p, setpriv);
	enum th_code code =
	    th_filter_new(true, s->gui, &p->filter, err); /* the network is the namespace's */
	if (code)
		return code;
	args2(p, "--seccomp", number(p, "", TH_PLAN_FD_FILTER));
	args2(p, "--json-status-fd", number(p, "", TH_PLAN_FD_STATUS));
	if (p->failed)
		return th_fail(err, TH_ELIMIT, "too many paths for one sandbox");
	code = s->workspace_readonly ? TH_OK : add_shown(p, s->workspace, err);
	for (size_t i = 0; code == TH_OK && s->writable && s->writable[i]; i++)
		code = add_shown(p, s->writable[i], err);
	if (code == TH_OK)
		code = add_shown(p, s->tmp, err);
	p->namespaced = true;
	return code;
}

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
		for (size_t j = 0; system_paths[j]; j++)
			if (beneath(s->hidden[i], system_paths[j]))
				return th_fail(err, TH_EUNSUPPORTED,
					       "landlock cannot hide %s inside %s", s->hidden[i],
					       system_paths[j]);
	char inside[TH_DIR_KIND_COUNT][TH_PATH_LEN_MAX];
	if (!for_self && own_inside(s->workspace, inside) > 0)
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
		code = allow_list(p, abi, system_paths, false, err);
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
	p->landlock_fd = p->net_fd = p->user_fd = -1;
	p->drop = geteuid() == 0;
	p->uid = s->uid ? s->uid : NOBODY;
	p->gid = s->gid ? s->gid : s->uid ? (gid_t)s->uid : NOBODY;
	return p;
}

struct th_sandbox_plan *th_sandbox_plan_free(struct th_sandbox_plan *p)
{
	if (!p)
		return NULL;
	th_fd_close(&p->landlock_fd);
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
	size_t n = 0;
	int status = -1;

	for (size_t i = 0; i < p->arg_count; i++)
		argv[n++] = p->args[i];
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
static bool namespaces_work(const struct th_sandbox_plan *p, struct th_err *err)
{
	static int works[2] = { -1, -1 }; /* without, with an unprivileged user to become */
	static const char *const command[] = { "/bin/true", NULL };
	int *known = &works[p->drop];
	if (*known < 0)
		*known = try_plan(p, command) == 0;
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
		code = plan_namespaces(p, s, err);
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

/* ---- the probe ---- */

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
			syscall(SYS_setresgid, NOBODY, NOBODY, NOBODY) |
			syscall(SYS_setresuid, NOBODY, NOBODY, NOBODY));
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
	int fd = geteuid() == 0 ? th_userns_swapping(0, NOBODY, 0, NOBODY) : -1;
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
