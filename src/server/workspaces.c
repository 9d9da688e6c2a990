/* SPDX-License-Identifier: Apache-2.0 */
/* workspaces.c - a folder of its own for each session, and what was in it at the session's start.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/files.h"
#include "server/manifest.h"
#include "server/service.h"

#define NOBODY 65534 /* whom commands of root's sessions run as (io/sandbox.h) */

/* Of the manifests; no id's name begins with a dot. */
#define STARTS "/.starts"
#define COMPUTERS "/.computers" /* of users of MCP */

/* Where it is, in the folder of all.  A name of any bytes becomes that of a folder. */
static void put_path(const struct th_server *s, const char *below, const char *id,
		     struct th_buf *path)
{
	th_buf_add(path, s->o.workspaces);
	th_buf_add_cstr(path, below);
	th_buf_add_char(path, '/');
	for (const char *c = id; *c; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		    (*c >= '0' && *c <= '9') || *c == '-' || *c == '_')
			th_buf_add_char(path, *c);
		else
			th_buf_printf(path, "%%%02x", (unsigned char)*c);
}

static char *path_of(const struct th_server *s, const char *below, const char *id)
{
	struct th_buf path = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);
	size_t len;

	put_path(s, below, id, &path);
	return th_buf_steal(&path, &len);
}

char *th_workspace_path(const struct th_server *s, const char *id)
{
	return path_of(s, "", id);
}

char *th_workspace_start(const struct th_server *s, const char *id)
{
	return path_of(s, STARTS, id);
}

/* What is in the folder before the session's tools can have changed it. */
static enum th_code begin_manifest(struct th_server *s, const char *id, const char *folder,
				   struct th_err *err)
{
	TH_CLEANUP(th_fd_close)
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char *kept;
	enum th_code code;

	if (fd < 0)
		return th_fail_errno(err, errno, "workspace %s", folder);
	if (th_dir_is_empty(fd))
		return TH_OK;
	kept = th_workspace_start(s, id);
	code = th_manifest_begin(fd, kept, &th_manifest_limits, err);
	free(kept);
	return code;
}

int th_workspace_make(struct th_server *s, const char *id, char **ret, struct thole_error *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_err e = {};
	enum th_code code;

	*ret = NULL;
	if (!s->o.workspaces.len)
		return 0;
	put_path(s, "", id, &path);
	code = th_buf_check(&path, "the workspace's path", &e);
	if (!code)
		code = th_dir_make(path.ptr, 0700, &e);
	/* Of a server that is root's, commands run as nobody; a sandbox lends them the folder. */
	if (!code && s->o.no_sandbox && geteuid() == 0 && chown(path.ptr, NOBODY, NOBODY) != 0)
		code = th_fail_errno(&e, errno, "workspace %s", path.ptr);
	if (!code)
		code = begin_manifest(s, id, path.ptr, &e);
	if (code) {
		err->code = code;
		snprintf(err->text, sizeof(err->text), "%s", e.msg);
		return code;
	}
	*ret = th_alloc(path.len + 1);
	memcpy(*ret, path.ptr, path.len + 1);
	return 0;
}

int th_workspace_of_computer(struct th_server *s, const char *user, char **ret,
			     struct thole_error *err)
{
	struct th_buf above TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_err e = {};
	enum th_code code = TH_OK;
	char *path;

	*ret = NULL;
	if (!s->o.workspaces.len)
		code = th_fail(&e, TH_EPROTO, "this server has no folder of workspaces");
	th_buf_printf(&above, "%.*s" COMPUTERS, TH_FMT(s->o.workspaces));
	path = path_of(s, COMPUTERS, user);
	if (!code)
		code = th_buf_check(&above, "the folder of computers", &e);
	if (!code)
		code = th_dir_make(above.ptr, 0700, &e);
	if (!code)
		code = th_dir_make(path, 0700, &e);
	if (!code) {
		*ret = path;
		return 0;
	}
	free(path);
	err->code = (int)code;
	snprintf(err->text, sizeof(err->text), "%s", e.msg);
	return (int)code;
}

/* ---- the end of one ---- */

/* A folder that no session has: its name begins with a dot, which no id's does. */
#define REMOVED ".removed-"

static void remove_job(void *ctx)
{
	struct th_err ignored;

	/* What cannot be removed stays, under a name that says so. */
	if (th_dir_remove(ctx, &ignored) != TH_OK)
		return;
}

static void remove_soon(struct th_server *s, struct th_buf *path)
{
	char *copy = th_alloc(path->len + 1);

	memcpy(copy, path->ptr, path->len + 1);
	th_work(s->loop, remove_job, free, copy);
}

/* At once another session may have the name, and a folder of its own. */
static void remove_below(struct th_server *s, const char *below, const char *id)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct th_buf away TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	char text[TH_UUID_TEXT_SIZE + 1];
	struct th_uuid made = th_uuid_now();

	put_path(s, below, id, &path);
	th_uuid_text(&made, text);
	th_buf_printf(&away, "%.*s/" REMOVED "%s", TH_FMT(s->o.workspaces), text);
	if (!path.failed && !away.failed && rename(path.ptr, away.ptr) == 0)
		remove_soon(s, &away);
}

void th_workspace_remove(struct th_server *s, const char *id)
{
	if (!s->o.workspaces.len)
		return;
	remove_below(s, "", id);
	remove_below(s, STARTS, id);
}

void th_workspaces_sweep(struct th_server *s)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX);
	struct dirent *entry;
	DIR *dir;

	if (!s->o.workspaces.len)
		return;
	th_buf_add(&path, s->o.workspaces);
	dir = opendir(path.ptr);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, REMOVED, strlen(REMOVED)) != 0)
			continue;
		th_buf_clear(&path);
		th_buf_printf(&path, "%.*s/%s", TH_FMT(s->o.workspaces), entry->d_name);
		if (!path.failed)
			remove_soon(s, &path);
	}
	if (dir)
		closedir(dir);
}
