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

enum th_code th_tool_open(const struct th_tool_env *env, struct th_str path, int flags, mode_t mode,
			  int *ret_fd, struct th_err *err)
{
	struct th_str relative;
	TH_CLEANUP(th_fd_close) int fd = -1;
	enum th_code code = th_tool_relative(env, path, &relative, err);
	if (code)
		return code;
	errno = 0;
	code = th_open_beneath(env->workspace_fd, relative, flags, mode, &fd, err);
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
