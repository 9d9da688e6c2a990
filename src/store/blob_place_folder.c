/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_place_folder.c - blobs as files: FOLDER/ID/ab/abcd…-0123456789abcdef.
 *
 * The folder with the id is made once, when a store begins to use the place.  Where
 * it is missing later, the file system is not mounted: then nothing is made.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "store/blob_place_kinds.h"

#define PARTS 256

struct folder {
	struct th_blob_place base;
	char *path;
	int fd; /* of FOLDER/ID; -1: not opened yet */
};

static struct folder *folder_of(struct th_blob_place *p)
{
	return TH_CONTAINER_OF(p, struct folder, base);
}

static enum th_code folder_open(struct th_str rest, struct th_blob_place *base,
				struct th_blob_place **ret, struct th_err *err)
{
	struct folder *f;

	if (!th_str_starts(rest, TH_STR("/")))
		return th_fail(err, TH_EUSAGE,
			       "folder: needs an absolute path, as in folder:/srv/blobs");
	f = th_try_alloc(sizeof(*f));
	if (!f)
		return th_fail_memory(err);
	f->base = *base;
	f->fd = -1;
	f->path = strndup(rest.ptr, rest.len);
	if (!f->path) {
		free(f);
		return th_fail_memory(err);
	}
	*ret = &f->base;
	return TH_OK;
}

static void folder_close(struct th_blob_place *p)
{
	struct folder *f = folder_of(p);

	th_fd_close(&f->fd);
	free(f->path);
	free(f);
}

static enum th_code folder_make(struct th_blob_place *p, struct th_err *err)
{
	struct folder *f = folder_of(p);
	char path[TH_PLACE_URL_MAX + TH_PLACE_ID_SIZE + 2];
	int fd TH_CLEANUP(th_fd_close) = -1;

	snprintf(path, sizeof(path), "%s/%s", f->path, p->id);
	enum th_code code = th_dir_make(path, 0700, err);
	if (code != TH_OK)
		return code;
	fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 && fsync(fd) == 0 ? TH_OK : th_fail_errno(err, errno, "%s", f->path);
}

/* The folder with the id, open. */
static enum th_code here(struct folder *f, struct th_err *err)
{
	char path[TH_PLACE_URL_MAX + TH_PLACE_ID_SIZE + 2];

	if (f->fd >= 0)
		return TH_OK;
	snprintf(path, sizeof(path), "%s/%s", f->path, f->base.id);
	f->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd >= 0)
		return TH_OK;
	if (errno == ENOENT)
		return th_fail(
		    err, TH_ECONN,
		    "%s: the folder %s, which this store made there, is not there; is the "
		    "file system mounted?",
		    f->base.url, f->base.id);
	return th_fail_errno(err, errno, "%s", path);
}

/* The folder of a name, and what is left of the name. */
static int part_open(const struct folder *f, const char *name, const char **ret_rest)
{
	char part[3] = { name[0], name[1], '\0' };

	*ret_rest = name + 3;
	return openat(f->fd, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static enum th_code part_make(struct folder *f, const char *name, struct th_err *err)
{
	char part[3] = { name[0], name[1], '\0' };

	if (mkdirat(f->fd, part, 0700) < 0 && errno != EEXIST)
		return th_fail_errno(err, errno, "make the folder %s", part);
	return fsync(f->fd) == 0 ? TH_OK : th_fail_errno(err, errno, "fsync");
}

static enum th_code put_one(struct folder *f, const struct th_blob_place_put *put,
			    struct th_err *err)
{
	const char *rest;
	int fd TH_CLEANUP(th_fd_close) = part_open(f, put->name, &rest);
	enum th_code code = TH_OK;

	if (fd < 0 && errno == ENOENT) {
		code = part_make(f, put->name, err);
		if (code == TH_OK)
			fd = part_open(f, put->name, &rest);
	}
	if (code != TH_OK)
		return code;
	if (fd < 0)
		return th_fail_errno(err, errno, "%.2s", put->name);
	return th_file_write_at(fd, rest, put->bytes, 0600, err);
}

static enum th_code folder_put(struct th_blob_place *p, const struct th_blob_place_put *list,
			       size_t count, struct th_err *err)
{
	struct folder *f = folder_of(p);
	enum th_code code = here(f, err);

	for (size_t i = 0; i < count && code == TH_OK; i++)
		code = put_one(f, &list[i], err);
	if (code == TH_OK)
		return code;
	th_fd_close(&f->fd); /* it may be mounted anew */
	return th_prefix(err, code, "%s", p->url);
}

static enum th_code folder_get(struct th_blob_place *p, const char *name, struct th_buf *out,
			       struct th_err *err)
{
	struct folder *f = folder_of(p);
	int fd TH_CLEANUP(th_fd_close) = -1, part TH_CLEANUP(th_fd_close) = -1;
	const char *rest;
	struct stat st;
	enum th_code code = here(f, err);

	if (code != TH_OK)
		return code;
	part = part_open(f, name, &rest);
	if (part >= 0)
		fd = openat(part, rest, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		th_fd_close(&f->fd); /* it may be mounted anew */
	if (fd < 0 && errno == ENOENT)
		return th_fail(err, TH_ENOENT, "%s: the object %s is not there", p->url, name);
	if (fd < 0 || fstat(fd, &st) < 0)
		return th_fail_errno(err, errno, "%s: the object %s", p->url, name);
	if (!S_ISREG(st.st_mode))
		return th_fail(err, TH_ECORRUPT, "%s: the object %s is no file", p->url, name);
	code = th_file_read_fd(fd, TH_BLOB_MAX, out, err);
	return code ? th_prefix(err, code, "%s: the object %s", p->url, name) : TH_OK;
}

/* ---- walking ---- */

static enum th_code give(const struct dirent *e, int dir_fd, unsigned part,
			 th_blob_place_found_fn *fn, void *ctx, struct th_err *err)
{
	char name[3 + sizeof(e->d_name)];
	struct th_blob_place_found found = { 0 };
	struct stat st;

	snprintf(name, sizeof(name), "%02x/%s", part % PARTS, e->d_name);
	found.name = th_str_of(name);
	found.has_hash = th_blob_place_name_parse(found.name, &found.hash);
	if (!found.has_hash && (found.name.len >= TH_PLACE_NAME_SIZE ||
				!th_str_starts(th_str_of(e->d_name), TH_STR(".thole-"))))
		return TH_OK; /* not ours */
	if (fstatat(dir_fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? TH_OK : th_fail_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return TH_OK;
	found.age_ms =
	    (int64_t)th_clock_wall_ms() - (st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000);
	return fn(ctx, &found, err);
}

/* A piece is one of the 256 folders. */
static enum th_code folder_walk(struct th_blob_place *p, struct th_blob_place_walk *w,
				th_blob_place_found_fn *fn, void *ctx, struct th_err *err)
{
	struct folder *f = folder_of(p);
	enum th_code code = here(f, err);
	const char *rest;
	char part[4];
	DIR *dir;
	int fd;

	if (code != TH_OK)
		return code;
	snprintf(part, sizeof(part), "%02x/", w->part % PARTS);
	fd = part_open(f, part, &rest);
	if (fd < 0 && errno != ENOENT)
		return th_fail_errno(err, errno, "%s: %.2s", p->url, part);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0) {
		code = th_fail_errno(err, errno, "%s: %.2s", p->url, part);
		th_fd_close(&fd);
		return code;
	}
	for (;;) {
		struct dirent *e = NULL;

		errno = 0;
		e = dir && code == TH_OK ? readdir(dir) : NULL;
		if (!e)
			break;
		code = give(e, fd, w->part, fn, ctx, err);
	}
	if (code == TH_OK && errno)
		code = th_fail_errno(err, errno, "%s: %.2s", p->url, part);
	if (dir)
		closedir(dir);
	w->over = ++w->part == PARTS;
	return code;
}

static enum th_code folder_remove(struct th_blob_place *p, const struct th_str *names, size_t count,
				  struct th_err *err)
{
	struct folder *f = folder_of(p);
	enum th_code code = here(f, err);

	for (size_t i = 0; i < count && code == TH_OK; i++) {
		char name[TH_PLACE_NAME_SIZE];
		const char *rest;

		snprintf(name, sizeof(name), "%.*s", TH_FMT(names[i]));
		int fd TH_CLEANUP(th_fd_close) = part_open(f, name, &rest);
		if ((fd < 0 || unlinkat(fd, rest, 0) < 0) && errno != ENOENT)
			code = th_fail_errno(err, errno, "%s: remove %s", p->url, name);
	}
	return code;
}

const struct th_blob_place_kind th_blob_place_folder = {
	.scheme = "folder",
	.summary = "folder:PATH",
	.open = folder_open,
	.close = folder_close,
	.make = folder_make,
	.put = folder_put,
	.get = folder_get,
	.walk = folder_walk,
	.remove = folder_remove,
};
