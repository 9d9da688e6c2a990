/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_bwrap.c - a plan with namespaces: the arguments for bwrap.
 *
 * The file system is an allow-list: an empty root into which the system
 * folders are bound read-only, then what is hidden is covered, then the
 * workspace is bound, without our own folders should it hold them.  What is not
 * named is not there.
 */
#include "io/sandbox_bwrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"
#include "io/sandbox_kernel.h"

const char *const th_sandbox_system_paths[] = { "/usr",
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

static const char *find_prlimit(void)
{
	static const char *const paths[] = { "/usr/bin/prlimit", "/bin/prlimit", NULL };
	return first_there(paths);
}

bool th_sandbox_beneath(const char *path, const char *folder)
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
	for (size_t i = 0; th_sandbox_system_paths[i]; i++)
		if (th_sandbox_beneath(path, th_sandbox_system_paths[i]))
			return;
	make_parents(p, path);
}

static void bind_system(struct th_sandbox_plan *p)
{
	char target[TH_PATH_LEN_MAX];
	struct stat st;
	for (size_t i = 0; th_sandbox_system_paths[i]; i++) {
		const char *path = th_sandbox_system_paths[i];
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

/* All of a folder but what has this name. */
static void bind_others(struct th_sandbox_plan *p, const char *folder, const char *name)
{
	char path[TH_PATH_LEN_MAX];
	DIR *dir = opendir(folder);
	const struct dirent *e;

	while (dir && (e = readdir(dir))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    strcmp(e->d_name, name) == 0)
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= (int)sizeof(path))
			p->failed = true;
		else
			args3(p, "--ro-bind-try", path, path); /* a link may lead nowhere */
	}
	if (dir)
		closedir(dir);
}

/* On the way to the file each folder is made anew, with all else that is in it. */
static void place(struct th_sandbox_plan *p, const struct th_sandbox_placed *f)
{
	char at[TH_PATH_LEN_MAX], name[NAME_MAX + 1];
	const char *rest = f->path;
	struct stat st;

	if (lstat(f->folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	if (strlen(f->folder) + 1 + strlen(f->path) >= sizeof(at)) {
		p->failed = true;
		return;
	}
	args2(p, "--perms", "0755");
	args2(p, "--tmpfs", f->folder);
	snprintf(at, sizeof(at), "%s", f->folder);
	for (size_t len; *rest; rest += len + (rest[len] == '/')) {
		len = strcspn(rest, "/");
		snprintf(name, sizeof(name), "%.*s", (int)TH_MIN(len, sizeof(name) - 1), rest);
		bind_others(p, at, name);
		snprintf(at + strlen(at), sizeof(at) - strlen(at), "/%s", name);
		if (!rest[len])
			break;
		args2(p, "--perms", "0755");
		args2(p, "--dir", at);
	}
	args3(p, "--ro-bind", f->from, at);
	args2(p, "--remount-ro", f->folder);
}

size_t th_sandbox_own_inside(const char *workspace,
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
	size_t count = th_sandbox_own_inside(s->workspace, paths);

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
	if (s->placed)
		place(p, s->placed);
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

/*
 * Who is not root has a user namespace of bwrap's for each command, unless bwrap is setuid.  Root
 * becomes another user, whom all sessions share: these are counted apart in a namespace in which
 * each user is himself.  bwrap goes there when all is mounted, so that nothing else changes.
 */
static void count_alone(struct th_sandbox_plan *p, const char *bwrap)
{
	struct stat st;
	const char *prlimit = find_prlimit();

	if (!prlimit || !th_userns_count())
		return;
	p->prlimit = keep(p, prlimit);
	if (p->drop) {
		p->users_fd = th_userns_same();
		p->counted_alone = p->users_fd >= 0;
	} else {
		p->counted_alone = stat(bwrap, &st) == 0 && !(st.st_mode & S_ISUID);
	}
	p->counted_alone = p->counted_alone && p->prlimit;
}

void th_sandbox_plan_count_together(struct th_sandbox_plan *p)
{
	th_fd_close(&p->users_fd);
	p->counted_alone = false;
}

size_t th_sandbox_options(const struct th_sandbox_plan *p, const char **ret)
{
	_Static_assert(TH_PLAN_FD_USERS == 202, "its text is below");
	size_t n = 0;

	for (size_t i = 0; i < p->arg_count; i++)
		ret[n++] = p->args[i];
	if (p->users_fd >= 0) {
		ret[n++] = "--userns2";
		ret[n++] = "202";
		ret[n++] = "--sync-fd"; /* closes it for the command, which needs none */
		ret[n++] = "202";
	}
	return n;
}

/*
 * Folders of another owner are shown to the unprivileged user as its own.  One that is open to all
 * can be used as it is, and so is where nothing can be mapped.  But what is in it need not be open:
 * so the workspace, in which the file tools and people work too, is shown where that can be done.
 */
static enum th_code add_shown(struct th_sandbox_plan *p, const char *path, bool is_workspace,
			      struct th_err *err)
{
	struct stat st;
	if (!p->drop || !path)
		return TH_OK;
	if (stat(path, &st) < 0)
		return th_fail_errno(err, errno, "%s", path);
	bool open = (st.st_mode & 0003) == 0003;
	if (st.st_uid == p->uid || !S_ISDIR(st.st_mode) || (open && !is_workspace))
		return TH_OK;
	if (p->shown_count == TH_PLAN_SHOWN_MAX)
		return th_fail(err, TH_ELIMIT, "more than %d writable folders", TH_PLAN_SHOWN_MAX);
	int fd = th_userns_swapping(st.st_uid, p->uid, st.st_gid, p->gid);
	if (fd < 0 || !th_idmap_works(path, fd)) {
		th_fd_close(&fd);
		if (open)
			return TH_OK;
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

enum th_code th_sandbox_plan_namespaces(struct th_sandbox_plan *p, const struct th_sandbox *s,
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
	count_alone(p, bwrap);
	enum th_code code =
	    th_filter_new(true, s->gui, &p->filter, err); /* the network is the namespace's */
	if (code)
		return code;
	args2(p, "--seccomp", number(p, "", TH_PLAN_FD_FILTER));
	args2(p, "--json-status-fd", number(p, "", TH_PLAN_FD_STATUS));
	if (p->failed)
		return th_fail(err, TH_ELIMIT, "too many paths for one sandbox");
	code = s->workspace_readonly ? TH_OK : add_shown(p, s->workspace, true, err);
	for (size_t i = 0; code == TH_OK && s->writable && s->writable[i]; i++)
		code = add_shown(p, s->writable[i], false, err);
	if (code == TH_OK)
		code = add_shown(p, s->tmp, false, err);
	p->namespaced = true;
	return code;
}
