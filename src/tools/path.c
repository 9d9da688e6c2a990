/* SPDX-License-Identifier: Apache-2.0 */
/* path.c - see path.h. */
#include "tools/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/files.h"

#define LINKS_MAX 16 /* that one path goes through */

/* Says where a path leads, in at most 200 readable characters. */
static enum th_code outside(const struct th_tool_env *env, struct th_str path, struct th_err *err)
{
	struct th_buf shown = TH_BUF_INIT(2048);
	th_text_line(&shown, path, 200);
	enum th_code code = th_fail(err, TH_EPERM,
				    "%s is outside the workspace %.*s; files can only be read and "
				    "written inside it",
				    shown.ptr, TH_FMT(env->workspace));
	th_buf_deinit(&shown);
	return code;
}

enum th_code th_tool_relative(const struct th_tool_env *env, struct th_str path, struct th_str *ret,
			      struct th_err *err)
{
	if (env->workspace_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED,
			       "this session has no workspace, so there are no files");
	if (path.len == 0)
		return th_fail(err, TH_EUSAGE, "path is empty; \".\" is the workspace %.*s",
			       TH_FMT(env->workspace));
	if (path.len >= TH_PATH_LEN_MAX)
		return th_fail(err, TH_EUSAGE, "a path of %zu bytes is too long", path.len);
	if (memchr(path.ptr, '\0', path.len))
		return th_fail(err, TH_EUSAGE, "path holds a NUL byte");
	if (path.ptr[0] == '/') {
		struct th_str ws = env->workspace;
		bool inside = th_str_starts(path, ws) &&
			      (ws.len == 1 || path.len == ws.len || path.ptr[ws.len] == '/');
		if (!inside)
			return outside(env, path, err);
		path = th_str_sub(path, ws.len, path.len);
		while (path.len > 0 && path.ptr[0] == '/')
			path = th_str_sub(path, 1, path.len);
	}
	*ret = path;
	return TH_OK;
}

/* TH_EPERM when `fd`, however it was reached, lies in one of our own folders. */
static enum th_code check_fd(const struct th_tool_env *env, int fd, struct th_err *err)
{
	char link[64], at[TH_PATH_LEN_MAX];

	if (!env->hidden || !env->hidden[0])
		return TH_OK;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, at, sizeof(at) - 1);
	if (len < 0)
		return th_fail_errno(err, errno, "find out where a file is");
	at[len] = '\0';
	for (size_t i = 0; env->hidden[i]; i++) {
		size_t n = strlen(env->hidden[i]);
		if (strncmp(at, env->hidden[i], n) == 0 && (at[n] == '/' || at[n] == '\0'))
			return th_fail(
			    err, TH_EPERM,
			    "%s belongs to thole itself and is not part of the workspace",
			    env->hidden[i]);
	}
	return TH_OK;
}

/* A part of a path that is a link, and where that leads. */
struct link {
	size_t start, end;
	char target[TH_PATH_LEN_MAX];
};

/* The first one; the path's last part is looked at when `last`.  False: there is none. */
static bool find_link(const struct th_tool_env *env, const char *path, bool last, struct link *ret)
{
	for (size_t start = 0, end; path[start]; start = end + strspn(path + end, "/")) {
		TH_CLEANUP(th_fd_close) int fd = -1;
		ssize_t len;

		end = start + strcspn(path + start, "/");
		if (!path[end] && !last)
			return false;
		if (th_open_beneath(env->workspace_fd, th_str_n(path, end), O_PATH | O_NOFOLLOW, 0,
				    &fd, NULL))
			return false;
		len = readlinkat(fd, "", ret->target, sizeof(ret->target) - 1);
		if (len <= 0)
			continue;
		ret->target[len] = '\0';
		ret->start = start;
		ret->end = end;
		return true;
	}
	return false;
}

/* The same path without links; false: it has none, too many, or one that leads outside. */
static bool without_links(const struct th_tool_env *env, char *path, bool last)
{
	struct link link;
	bool any = false;

	for (int links = 0; find_link(env, path, last, &link); links++) {
		char joined[TH_PATH_LEN_MAX];
		struct th_str to = th_str_of(link.target);
		int len;

		if (links == LINKS_MAX)
			return false;
		any = true;
		if (link.target[0] == '/' && th_tool_relative(env, to, &to, NULL))
			return false;
		len = snprintf(joined, sizeof(joined), "%.*s%.*s%s",
			       link.target[0] == '/' ? 0 : (int)link.start, path,
			       TH_FMT(to.len ? to : TH_STR(".")), path + link.end);
		if (len <= 0 || (size_t)len >= sizeof(joined))
			return false;
		memcpy(path, joined, (size_t)len + 1);
	}
	return any;
}

/* To the kernel a link by a whole path leads out, also where it comes back in.  So it is asked once
 * more, by the path that the links make: it decides as it did before. */
static enum th_code open_inside(const struct th_tool_env *env, struct th_str relative, int flags,
				mode_t mode, int *ret_fd, struct th_err *err)
{
	char path[TH_PATH_LEN_MAX];
	enum th_code code;

	errno = 0;
	code = th_open_beneath(env->workspace_fd, relative, flags, mode, ret_fd, err);
	if (code != TH_EPERM || (errno != EXDEV && errno != ELOOP))
		return code;
	memcpy(path, relative.ptr, relative.len);
	path[relative.len] = '\0';
	int saved = errno;
	bool other = without_links(env, path, !(flags & O_NOFOLLOW));
	errno = saved;
	if (!other)
		return code;
	if (err)
		*err = (struct th_err){};
	errno = 0;
	return th_open_beneath(env->workspace_fd, th_str_of(path), flags, mode, ret_fd, err);
}

enum th_code th_tool_open(const struct th_tool_env *env, struct th_str path, int flags, mode_t mode,
			  int *ret_fd, struct th_err *err)
{
	struct th_str relative;
	TH_CLEANUP(th_fd_close) int fd = -1;
	enum th_code code = th_tool_relative(env, path, &relative, err);
	if (code)
		return code;
	code = open_inside(env, relative, flags, mode, &fd, err);
	if (code == TH_EPERM && errno == EXDEV)
		return outside(env, path, err);
	if (code == TH_OK)
		code = check_fd(env, fd, err);
	if (code)
		return code;
	*ret_fd = fd;
	fd = -1;
	return TH_OK;
}

/* Both are of the thread, not of the process.  The file system's user decides about access too: a
 * root that is not the owner loses its privileges over files for that time. */
void th_tool_owner_enter(const struct th_tool_env *env)
{
	if (!env->as_owner)
		return;
	setfsgid(env->owner_gid);
	setfsuid(env->owner_uid);
}

void th_tool_owner_leave(const struct th_tool_env *env)
{
	if (!env->as_owner)
		return;
	setfsuid(0);
	setfsgid(0);
}
