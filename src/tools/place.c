/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/files.h"

#define LINKS_MAX 8

/* Replaces the last component of p->path by what it links to, if it is a link. */
static enum th_code follow(const struct th_tool_env *env, struct th_place *p, bool *ret_link,
			   struct th_err *err)
{
	char target[TH_PATH_LEN_MAX], joined[TH_PATH_LEN_MAX];
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct th_str to;

	*ret_link = false;
	if (th_tool_open(env, th_str_of(p->path), O_PATH | O_NOFOLLOW, 0, &fd, NULL))
		return TH_OK;
	ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);
	if (len <= 0)
		return TH_OK;
	*ret_link = true;
	to = th_str_n(target, (size_t)len);
	const char *slash = strrchr(p->path, '/');
	int dir_len = slash && target[0] != '/' ? (int)(slash - p->path) + 1 : 0;
	/* A path here is relative to the workspace: of an absolute one what is behind that. */
	enum th_code code = target[0] == '/' ? th_tool_relative(env, to, &to, err) : TH_OK;
	if (code)
		return code;
	int n = snprintf(joined, sizeof(joined), "%.*s%.*s", dir_len, p->path, TH_FMT(to));
	if (n <= 0 || (size_t)n >= sizeof(joined))
		return th_fail(err, TH_EUSAGE, "%s: its link names no file of the workspace",
			       p->path);
	memcpy(p->path, joined, (size_t)n + 1);
	return TH_OK;
}

/* The path as it was named. */
static enum th_code name(const struct th_tool_env *env, struct th_str asked, struct th_place *ret,
			 struct th_err *err)
{
	struct th_str relative;
	enum th_code code = th_tool_relative(env, asked, &relative, err);

	*ret = (struct th_place){ .mode = 0644 };
	if (code)
		return code;
	if (relative.len > 0 && relative.ptr[relative.len - 1] == '/')
		return th_fail(err, TH_EUSAGE, "%.*s names a folder, not a file", TH_FMT(asked));
	if (relative.len == 0)
		return th_fail(err, TH_EUSAGE, "%.*s is the workspace itself", TH_FMT(asked));
	memcpy(ret->path, relative.ptr, relative.len);
	ret->path[relative.len] = '\0';
	return TH_OK;
}

enum th_code th_place_find(const struct th_tool_env *env, struct th_str asked, struct th_place *ret,
			   struct th_err *err)
{
	enum th_code code = name(env, asked, ret, err);
	bool link = true;

	for (int i = 0; link && !code; i++)
		code = i > LINKS_MAX ? th_fail(err, TH_EPERM, "%.*s: too many links", TH_FMT(asked))
				     : follow(env, ret, &link, err);
	return code;
}

enum th_code th_place_find_name(const struct th_tool_env *env, struct th_str asked,
				struct th_place *ret, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;
	enum th_code code = name(env, asked, ret, err);

	if (code)
		return code;
	code = th_tool_open(env, th_str_of(ret->path), O_PATH | O_NOFOLLOW, 0, &fd, err);
	if (code == TH_ENOENT)
		*err = (struct th_err){};
	else if (code)
		return code;
	else if (fstat(fd, &st) < 0)
		return th_fail_errno(err, errno, "%s", ret->path);
	else
		ret->link = S_ISLNK(st.st_mode);
	return TH_OK;
}

static enum th_code too_large(const struct th_place *p, size_t size_max, struct th_err *err)
{
	return th_fail(err, TH_ELIMIT, "%s is larger than %zu bytes: a command can change it",
		       p->path, size_max);
}

/* A file may grow while it is read. */
static enum th_code read_all(int fd, struct th_place *p, size_t size_max, struct th_buf *content,
			     struct th_err *err)
{
	struct th_sha256 h;
	char chunk[64 * TH_KIB];
	size_t size = 0;

	th_sha256_init(&h);
	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return th_fail_errno(err, errno, "read what is there");
		if (got == 0)
			break;
		size += (size_t)got;
		if (size > size_max)
			return too_large(p, size_max, err);
		th_sha256_add(&h, chunk, (size_t)got);
		if (content)
			th_buf_add_mem(content, chunk, (size_t)got);
	}
	p->digest = th_sha256_end(&h);
	return content ? th_buf_check(content, p->path, err) : TH_OK;
}

static enum th_code look_at_link(const struct th_tool_env *env, struct th_place *p,
				 struct th_buf *content, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	char target[TH_PATH_LEN_MAX];
	enum th_code code = th_tool_open(env, th_str_of(p->path), O_PATH | O_NOFOLLOW, 0, &fd, err);
	ssize_t len;

	p->exists = false;
	if (code == TH_ENOENT)
		*err = (struct th_err){};
	if (code)
		return code == TH_ENOENT ? TH_OK : code;
	len = readlinkat(fd, "", target, sizeof(target));
	if (len <= 0 || (size_t)len == sizeof(target))
		return th_fail(err, TH_EUSAGE, "%s is no link any more", p->path);
	p->exists = true;
	p->size = len;
	p->digest = th_sha256_of(target, (size_t)len);
	if (content)
		th_buf_add_mem(content, target, (size_t)len);
	return content ? th_buf_check(content, p->path, err) : TH_OK;
}

enum th_code th_place_look(const struct th_tool_env *env, struct th_place *p,
			   struct th_buf *content, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	size_t size_max = content ? content->max - content->len : TH_PLACE_SIZE_MAX;
	struct stat st;

	if (p->link)
		return look_at_link(env, p, content, err);
	enum th_code code =
	    th_tool_open(env, th_str_of(p->path), O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);
	p->exists = false;
	p->mode = 0644;
	if (code == TH_ENOENT) {
		*err = (struct th_err){};
		return TH_OK;
	}
	if (code)
		return code;
	if (fstat(fd, &st) < 0)
		return th_fail_errno(err, errno, "%s", p->path);
	if (S_ISDIR(st.st_mode))
		return th_fail(err, TH_EUSAGE, "%s is a folder", p->path);
	if (!S_ISREG(st.st_mode))
		return th_fail(err, TH_EUSAGE, "%s is not a regular file", p->path);
	p->exists = true;
	p->mode = st.st_mode & 0777;
	p->size = st.st_size;
	p->inode = st.st_ino;
	p->changed = st.st_ctim;
	/* One with holes takes as long to read as a full one. */
	if (st.st_size > (int64_t)size_max)
		return too_large(p, size_max, err);
	if (content)
		th_buf_reserve(content, (size_t)st.st_size);
	return read_all(fd, p, size_max, content, err);
}

enum th_code th_place_still(const struct th_tool_env *env, const struct th_place *p, bool *ret,
			    struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;
	enum th_code code = th_tool_open(env, th_str_of(p->path), O_PATH, 0, &fd, err);

	*ret = code == TH_ENOENT && !p->exists;
	if (code == TH_ENOENT) {
		*err = (struct th_err){};
		return TH_OK;
	}
	if (code)
		return code;
	if (fstat(fd, &st) < 0)
		return th_fail_errno(err, errno, "%s", p->path);
	*ret = p->exists && st.st_ino == p->inode && st.st_size == p->size &&
	       st.st_ctim.tv_sec == p->changed.tv_sec && st.st_ctim.tv_nsec == p->changed.tv_nsec;
	return TH_OK;
}

enum th_code th_place_folder(const struct th_tool_env *env, const struct th_place *p, bool make,
			     int *ret_fd, const char **ret_name, struct th_err *err)
{
	int at = -1;
	const char *slash = strrchr(p->path, '/'), *last = slash ? slash + 1 : p->path;
	struct th_str rest = th_str_of(p->path), done = { p->path, 0 };
	enum th_code code;

	if (!*last || !strcmp(last, ".") || !strcmp(last, ".."))
		return th_fail(err, TH_EUSAGE, "%s does not name a file", p->path);
	code = th_tool_open(env, TH_STR("."), O_RDONLY | O_DIRECTORY, 0, &at, err);

	while (code == TH_OK && th_str_find_char(rest, '/') >= 0) {
		struct th_str name = th_str_split(&rest, '/');
		done.len = (size_t)(name.ptr + name.len - done.ptr);
		if (name.len == 0 || th_str_is(name, "."))
			continue;
		char folder[TH_PATH_LEN_MAX];
		memcpy(folder, name.ptr, name.len);
		folder[name.len] = '\0';
		/* A name that leads elsewhere (.., a link) exists, so it is never made. */
		if (make && mkdirat(at, folder, 0755) < 0 && errno != EEXIST)
			code = th_fail_errno(err, errno, "make the folder %.*s", TH_FMT(done));
		th_fd_close(&at);
		if (code == TH_OK)
			code = th_tool_open(env, done, O_RDONLY | O_DIRECTORY, 0, &at, err);
	}
	if (code) {
		th_fd_close(&at);
		return code;
	}
	*ret_fd = at;
	*ret_name = rest.ptr;
	return TH_OK;
}

static enum th_code make_link(int dir_fd, const char *at, struct th_str to, struct th_err *err)
{
	char target[TH_PATH_LEN_MAX];

	assert(to.len < sizeof(target));
	memcpy(target, to.ptr, to.len);
	target[to.len] = '\0';
	if (symlinkat(target, dir_fd, at) < 0)
		return th_fail_errno(err, errno, "make the link %s", at);
	return fsync(dir_fd) < 0 ? th_fail_errno(err, errno, "flush the folder of %s", at) : TH_OK;
}

enum th_code th_place_write(const struct th_tool_env *env, const struct th_place *p,
			    struct th_str content, bool *touched, struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	const char *at;
	enum th_code code = th_place_folder(env, p, true, &fd, &at, err);

	*touched = !code;
	if (code)
		return code;
	return p->link ? make_link(fd, at, content, err)
		       : th_file_write_at(fd, at, content, p->mode, err);
}

enum th_code th_place_remove(const struct th_tool_env *env, const struct th_place *p,
			     struct th_err *err)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	const char *at;
	enum th_code code = th_place_folder(env, p, false, &fd, &at, err);

	if (code)
		return code;
	if (unlinkat(fd, at, 0) < 0)
		return th_fail_errno(err, errno, "remove %s", p->path);
	return fsync(fd) < 0 ? th_fail_errno(err, errno, "flush the folder of %s", p->path) : TH_OK;
}

void th_place_put_digest(struct th_jw *w, const char *key, bool exists, const struct th_digest *d)
{
	char hex[TH_SHA256_HEX_SIZE + 1];

	th_jw_key(w, th_str_of(key));
	if (!exists) {
		th_jw_null(w);
		return;
	}
	th_digest_hex(d, hex);
	th_jw_str(w, th_str_of(hex));
}
