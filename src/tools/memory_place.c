/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_place.c - deleting and moving in the folder of memories.
 *
 * Both are one rename, so that they have happened or not: what is deleted gets
 * a hidden name first and is removed under that.  What was moved is known by its
 * inode and its time of change, since numbers of inodes are given again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "io/files.h"
#include "tools/memory.h"
#include "tools/place.h"

#define GONE ".deleted-" /* and its inode: what is deleted is called so first */

TH_PRINTF(2, 3) static enum th_code refuse(struct th_memory_move *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	th_buf_clear(&m->say);
	th_buf_add_cstr(&m->say, TH_ERROR_MARK);
	th_buf_vprintf(&m->say, fmt, ap);
	va_end(ap);
	m->status = TH_OUTCOME_REFUSED;
	return th_fail(&m->err, TH_EUSAGE, "refused");
}

/* Where a path leads, as a place of which only the path is set; links are not followed. */
static enum th_code find(const struct th_tool_env *within, struct th_memory_move *m,
			 struct th_str path, struct th_place *ret)
{
	struct th_str relative;
	enum th_code code = th_tool_relative(within, path, &relative, &m->err);

	*ret = (struct th_place){ .mode = 0644 };
	if (code)
		return code;
	while (relative.len > 0 && relative.ptr[relative.len - 1] == '/')
		relative.len--;
	if (relative.len == 0)
		return refuse(m, "The %s directory itself stays as it is", TH_MEMORY_SHOWN);
	memcpy(ret->path, relative.ptr, relative.len);
	ret->path[relative.len] = '\0';
	return TH_OK;
}

/* What a rename leaves as it is; inode 0: there is nothing. */
struct identity {
	ino_t inode;
	int64_t changed_ns;
};

static bool same(struct identity a, struct identity b)
{
	return a.inode == b.inode && a.changed_ns == b.changed_ns;
}

/* The folder that it is in, and what it is itself. */
static enum th_code look(const struct th_tool_env *within, struct th_memory_move *m,
			 const struct th_place *p, bool make, int *ret_fd, const char **ret_name,
			 struct identity *ret)
{
	struct stat st;
	enum th_code code = th_place_folder(within, p, make, ret_fd, ret_name, &m->err);

	*ret = (struct identity){ 0, 0 };
	if (code)
		return code;
	if (fstatat(*ret_fd, *ret_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		*ret = (struct identity){ st.st_ino, (int64_t)st.st_mtim.tv_sec * 1000000000 +
							 st.st_mtim.tv_nsec };
	return TH_OK;
}

static struct identity identity_of(const struct th_tool_env *within, struct th_str path)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct th_buf none = TH_BUF_INIT(TH_KIB);
	struct th_memory_move m = { .say = none };
	struct th_place p;
	const char *name;
	struct identity ret = { 0, 0 };

	if (!find(within, &m, path, &p) && look(within, &m, &p, false, &fd, &name, &ret))
		ret.inode = 0;
	th_buf_deinit(&m.say);
	return ret;
}

void th_memory_plan(const struct th_tool_env *within, struct th_memory_move *m)
{
	struct th_place p;
	struct th_jw w = th_jw(&m->note);
	struct identity it;

	if (find(within, m, m->from, &p) || (m->to.len && find(within, m, m->to, &p)))
		goto out;
	it = identity_of(within, m->from);
	if (!it.inode)
		(void)refuse(m, "The path %.*s does not exist", TH_FMT(m->from));
	else if (m->to.len && identity_of(within, m->to).inode)
		(void)refuse(m, "The destination %.*s already exists", TH_FMT(m->to));
	if (m->err.code)
		goto out;
	th_jw_object(&w);
	th_jw_kstr(&w, "path", m->from);
	if (m->to.len)
		th_jw_kstr(&w, "to", m->to);
	th_jw_kuint(&w, "inode", it.inode);
	th_jw_kint(&w, "changed_ns", it.changed_ns);
	th_jw_object_end(&w);
out:
	if (m->err.code && m->status == TH_OUTCOME_DONE)
		m->status = m->err.code == TH_EPERM ? TH_OUTCOME_REFUSED : TH_OUTCOME_FAILED;
}

/* Removes what is there, of a tree at most `*left` entries. */
static void sweep(int at, const char *name, size_t depth, size_t *left)
{
	int fd;
	DIR *dir;

	if (unlinkat(at, name, 0) == 0 || depth == 0 || *left == 0)
		return;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		th_fd_close(&fd);
		return;
	}
	for (const struct dirent *d; *left > 0 && (d = readdir(dir));) {
		if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		(*left)--;
		sweep(fd, d->d_name, depth - 1, left);
	}
	closedir(dir);
	unlinkat(at, name, AT_REMOVEDIR);
}

/* What a call that was killed, or a tree that was too large, has left. */
static void sweep_all(int at, size_t *left)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		th_fd_close(&fd);
		return;
	}
	for (const struct dirent *d; *left > 0 && (d = readdir(dir));)
		if (strncmp(d->d_name, GONE, strlen(GONE)) == 0)
			sweep(at, d->d_name, TH_MEMORY_DEPTH_MAX, left);
	closedir(dir);
}

static enum th_code move(const struct th_tool_env *within, struct th_memory_move *m)
{
	TH_CLEANUP(th_fd_close) int from = -1, to = -1;
	char gone[64];
	const char *from_name, *to_name = gone;
	struct th_place p, there;
	struct identity it;
	size_t left = TH_MEMORY_SWEEP_MAX;
	enum th_code code = find(within, m, m->from, &p);

	if (!code)
		code = look(within, m, &p, false, &from, &from_name, &it);
	if (code)
		return code;
	if (!m->to.len) {
		to = openat(within->workspace_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (to < 0)
			return th_fail_errno(&m->err, errno, "open %s", TH_MEMORY_SHOWN);
		sweep_all(to, &left);
		snprintf(gone, sizeof(gone), GONE "%ju", (uintmax_t)it.inode);
	} else {
		code = find(within, m, m->to, &there);
		if (!code)
			code = look(within, m, &there, true, &to, &to_name, &it);
		if (code)
			return code;
	}
	if (renameat2(from, from_name, to, to_name, RENAME_NOREPLACE) < 0)
		return th_fail_errno(&m->err, errno, m->to.len ? "rename %.*s" : "delete %.*s",
				     TH_FMT(m->from));
	if (fsync(from) < 0 || fsync(to) < 0)
		return th_fail_errno(&m->err, errno, "flush the folder of %.*s", TH_FMT(m->from));
	left = TH_MEMORY_SWEEP_MAX;
	if (!m->to.len)
		sweep(to, gone, TH_MEMORY_DEPTH_MAX, &left);
	return TH_OK;
}

void th_memory_do(const struct th_tool_env *within, struct th_memory_move *m)
{
	if (move(within, m)) {
		m->status = TH_OUTCOME_FAILED;
		return;
	}
	if (m->to.len)
		th_buf_printf(&m->say, "Successfully renamed %.*s to %.*s", TH_FMT(m->from),
			      TH_FMT(m->to));
	else
		th_buf_printf(&m->say, "Successfully deleted %.*s", TH_FMT(m->from));
}

void th_memory_probe(const struct th_tool_env *within, struct th_str noted,
		     struct th_memory_move *m)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *note;
	struct identity it, from, to = { 0, 0 };

	m->status = TH_OUTCOME_UNKNOWN;
	if (th_json_parse(noted, &doc, NULL))
		return;
	note = th_json_root(doc);
	it.inode = (ino_t)th_json_get_int(note, "inode", 0);
	it.changed_ns = th_json_get_int(note, "changed_ns", 0);
	m->from = th_json_get_str(note, "path");
	m->to = th_json_get_str(note, "to");
	from = identity_of(within, m->from);
	if (m->to.len)
		to = identity_of(within, m->to);
	if (same(from, it))
		m->status = TH_OUTCOME_NOT_STARTED;
	else if (m->to.len ? same(to, it) : !from.inode)
		m->status = TH_OUTCOME_DONE;
	th_buf_printf(&m->say,
		      m->status == TH_OUTCOME_DONE ? "%.*s was %s as asked."
		      : m->status == TH_OUTCOME_NOT_STARTED
			  ? "%.*s is there as before; it was not %s."
			  : "%.*s may have been %s or not: look.",
		      TH_FMT(m->from), m->to.len ? "renamed" : "deleted");
}
