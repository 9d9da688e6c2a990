/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c - see folder.h. */
#include "io/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/files.h"

#define FOLDER (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

/* ---- the walk ---- */

struct walk {
	struct th_folder *tree;
	const struct th_folder_limits *limits;
	struct th_buf path;
	dev_t device;
	size_t seen;
	bool full;
};

static void miss(struct walk *w, const char *why)
{
	if (!w->tree->missed)
		w->tree->missed = why;
}

static void stop(struct walk *w, const char *why)
{
	miss(w, why);
	w->full = true;
}

static void add(struct walk *w, const struct stat *st)
{
	struct th_folder *t = w->tree;
	struct th_str path = th_arena_str(&t->memory, th_buf_str(&w->path));

	if (!path.ptr) {
		stop(w, "the names of its files are too long to be followed");
		return;
	}
	if (t->count == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 64;
		t->list = th_realloc(t->list, t->cap * sizeof(*t->list));
	}
	t->list[t->count++] = (struct th_folder_entry){
		.path = path,
		.kind = S_ISREG(st->st_mode)   ? TH_FOLDER_FILE
			: S_ISLNK(st->st_mode) ? TH_FOLDER_LINK
					       : TH_FOLDER_SPECIAL,
		.size = S_ISREG(st->st_mode) || S_ISLNK(st->st_mode) ? (uint64_t)st->st_size : 0,
		.mtime_ns = (int64_t)st->st_mtim.tv_sec * INT64_C(1000000000) + st->st_mtim.tv_nsec,
	};
}

static void walk(struct walk *w, int fd, size_t depth);

static void look(struct walk *w, int dir_fd, const char *name, size_t depth)
{
	struct stat st;
	int fd;

	if (++w->seen > w->limits->entries) {
		stop(w, "it has more files than are followed");
		return;
	}
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != ENOENT) /* just removed */
			miss(w, "a file cannot be looked at");
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		add(w, &st);
		return;
	}
	if (st.st_dev != w->device) {
		miss(w, "another file system is mounted in it");
		return;
	}
	if (depth >= w->limits->depth) {
		miss(w, "its folders are nested too deep to be followed");
		return;
	}
	fd = openat(dir_fd, name, FOLDER);
	if (fd >= 0)
		walk(w, fd, depth + 1);
	else if (errno != ENOENT)
		miss(w, "a folder in it cannot be read");
}

/* Takes `fd` over. */
static void walk(struct walk *w, int fd, size_t depth)
{
	DIR *dir = fdopendir(fd);
	size_t base = w->path.len;

	if (!dir) {
		close(fd);
		miss(w, "a folder in it cannot be read");
		return;
	}
	errno = 0;
	for (struct dirent *e; !w->full && (e = readdir(dir)); errno = 0) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		th_buf_truncate(&w->path, base);
		if (base)
			th_buf_add_char(&w->path, '/');
		th_buf_add_cstr(&w->path, e->d_name);
		look(w, dirfd(dir), e->d_name, depth);
	}
	if (!w->full && errno)
		miss(w, "a folder in it cannot be read");
	th_buf_truncate(&w->path, base);
	closedir(dir);
}

static int by_path(const void *a, const void *b)
{
	return th_str_cmp(((const struct th_folder_entry *)a)->path,
			  ((const struct th_folder_entry *)b)->path);
}

void th_folder_read(int dir_fd, const struct th_folder_limits *limits, struct th_folder *ret)
{
	struct walk w = { .tree = ret, .limits = limits };
	int fd = openat(dir_fd, ".", FOLDER);
	struct stat st;

	*ret = (struct th_folder){};
	th_arena_init(&ret->memory, limits->paths);
	/* The depth bounds it; a path that the system takes is shorter yet. */
	th_buf_init(&w.path, (limits->depth + 2) * 256);
	if (fd >= 0 && fstat(fd, &st) == 0) {
		w.device = st.st_dev;
		walk(&w, fd, 0);
	} else {
		th_fd_close(&fd);
		miss(&w, "the folder cannot be read");
	}
	th_buf_deinit(&w.path);
	if (ret->count)
		qsort(ret->list, ret->count, sizeof(*ret->list), by_path);
}

void th_folder_deinit(struct th_folder *t)
{
	free(t->list);
	th_arena_deinit(&t->memory);
	*t = (struct th_folder){};
}

/* ---- one file ---- */

/* No empty part, no "." or "..", no NUL. */
static bool is_good(struct th_str path)
{
	struct th_str rest = path;

	if (!path.len || path.len >= TH_PATH_LEN_MAX || memchr(path.ptr, '\0', path.len) ||
	    path.ptr[path.len - 1] == '/')
		return false;
	while (rest.len) {
		struct th_str part = th_str_split(&rest, '/');

		if (!part.len || th_str_is(part, ".") || th_str_is(part, ".."))
			return false;
	}
	return true;
}

/* The folder that holds it, open, and its name there.  Each part is opened by itself, so that none
 * of them is a link at the time. */
static enum th_code open_parent(int dir_fd, struct th_str path, int *ret_fd,
				char name[static NAME_MAX + 1], struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int at = openat(dir_fd, ".", FOLDER);
	struct th_str rest = path;

	if (!is_good(path))
		return th_fail(err, TH_EUSAGE,
			       "a path is one below the folder, with no part that is empty, . or "
			       "..");
	if (at < 0)
		return th_fail_errno(err, errno, "the folder");
	for (;;) {
		struct th_str part = th_str_split(&rest, '/');
		int next;

		if (part.len > NAME_MAX)
			return th_fail(err, TH_ENOENT, "no name is so long");
		memcpy(name, part.ptr, part.len);
		name[part.len] = '\0';
		if (!rest.len)
			break;
		next = openat(at, name, FOLDER);
		if (next < 0) {
			struct stat st;

			if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
				return th_fail(err, TH_EPERM,
					       "a folder on the way is a link, which is not "
					       "followed");
			return th_fail_errno(err, errno, "a folder on the way");
		}
		th_fd_close(&at);
		at = next;
	}
	*ret_fd = at;
	at = -1;
	return TH_OK;
}

/* `owner`: of the folder.  Root may read what the one who gave it a second name there may not. */
static enum th_code check(const struct stat *st, uid_t owner, struct th_err *err)
{
	if (S_ISLNK(st->st_mode))
		return th_fail(err, TH_EPERM, "it is a link, which is not followed");
	if (!S_ISREG(st->st_mode))
		return th_fail(err, TH_EUNSUPPORTED, "it is no ordinary file");
	if (st->st_nlink > 1 && st->st_uid != owner)
		return th_fail(err, TH_EPERM,
			       "it has another name, which may be outside of the folder");
	return TH_OK;
}

enum th_code th_folder_open(int dir_fd, struct th_str path, int *ret_fd, struct stat *ret_stat,
			    struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int parent = -1;
	TH_CLEANUP(th_fd_close) int fd = -1;
	char name[NAME_MAX + 1];
	struct stat folder;
	enum th_code code = open_parent(dir_fd, path, &parent, name, err);

	if (code)
		return code;
	if (fstat(dir_fd, &folder) != 0 ||
	    fstatat(parent, name, ret_stat, AT_SYMLINK_NOFOLLOW) != 0)
		return th_fail_errno(err, errno, "the file");
	code = check(ret_stat, folder.st_uid, err);
	if (code)
		return code;
	/* It may be another by now: a pipe does not block so, and is found out below. */
	fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, ret_stat) != 0)
		return th_fail_errno(err, errno == ELOOP ? EPERM : errno, "the file");
	code = check(ret_stat, folder.st_uid, err);
	if (code)
		return code;
	*ret_fd = fd;
	fd = -1;
	return TH_OK;
}

enum th_code th_folder_link(int dir_fd, struct th_str path, struct th_buf *out, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int parent = -1;
	char name[NAME_MAX + 1], text[TH_PATH_LEN_MAX];
	enum th_code code = open_parent(dir_fd, path, &parent, name, err);
	ssize_t len;

	if (code)
		return code;
	len = readlinkat(parent, name, text, sizeof(text));
	if (len < 0)
		return th_fail_errno(err, errno, "the link");
	th_buf_add_mem(out, text, (size_t)len);
	return th_buf_check(out, "the link", err);
}
