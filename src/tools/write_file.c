/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_file.c - writes a whole file of the workspace, in one step: afterwards
 * it is the old or the new one, whatever happened in between.
 *
 * Class V.  The digest of what was there is noted before anything is changed,
 * so that after a crash a look at the file says whether it was written: the
 * new content is there (done), the old is (not started), or something else
 * is (unknown).
 *
 * Missing folders are made first; they stay when the write then fails.  A link
 * at the end of the path is followed, inside the workspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "io/files.h"
#include "io/loop.h"
#include "tools/path.h"

#define LINKS_MAX 8

#define TH_FIELDS_write_file(F)                                                               \
	F(write_file, str, path, "path", TH_REQ | TH_NONEMPTY,                                \
	  "File, relative to the workspace or absolute inside it; missing folders are made.") \
	F(write_file, str, content, "content", TH_REQ, "The whole new content.")

TH_STRUCT(write_file)
extern const struct th_table th_write_file_table;
TH_TABLE(write_file, "arguments of write_file", false)

struct writing {
	struct th_tool_job *job;
	const struct th_write_file *args;
	char path[TH_PATH_LEN_MAX]; /* relative to the workspace, links followed */
	struct th_digest new_digest, old_digest;
	bool existed, probing, touched; /* touched: writing has begun */
	mode_t mode;
	int64_t old_size;
	struct th_err err;
};

/* ---- in a worker ---- */

static enum th_code digest_of(int fd, struct th_digest *ret, struct th_err *err)
{
	struct th_sha256 h;
	char chunk[64 * TH_KIB];

	th_sha256_init(&h);
	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return th_fail_errno(err, errno, "read what is there");
		if (got == 0)
			break;
		th_sha256_add(&h, chunk, (size_t)got);
	}
	*ret = th_sha256_end(&h);
	return TH_OK;
}

/* Replaces the last component of w->path by what it links to.  False: it is no link. */
static bool follow(struct writing *w)
{
	char target[TH_PATH_LEN_MAX], joined[TH_PATH_LEN_MAX];
	TH_CLEANUP(th_fd_close) int fd = -1;
	const struct th_tool_env *env = w->job->env;

	if (th_open_beneath(env->workspace_fd, th_str_of(w->path), O_PATH | O_NOFOLLOW, 0, &fd,
			    NULL))
		return false;
	ssize_t len = readlinkat(fd, "", target, sizeof(target) - 1);
	if (len <= 0)
		return false;
	const char *slash = strrchr(w->path, '/');
	int dir_len = slash && target[0] != '/' ? (int)(slash - w->path) + 1 : 0;
	int n = snprintf(joined, sizeof(joined), "%.*s%.*s", dir_len, w->path, (int)len, target);
	if (n <= 0 || (size_t)n >= sizeof(joined))
		return false;
	memcpy(w->path, joined, (size_t)n + 1);
	return true;
}

/* What is there now: existed, digest, mode.  A missing file is fine. */
static enum th_code look(struct writing *w, struct th_err *err)
{
	const struct th_tool_env *env = w->job->env;
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;

	enum th_code code =
	    th_tool_open(env, th_str_of(w->path), O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);
	w->existed = false;
	w->mode = 0644;
	if (code == TH_ENOENT) {
		*err = (struct th_err){};
		return TH_OK;
	}
	if (code)
		return code;
	if (fstat(fd, &st) < 0)
		return th_fail_errno(err, errno, "%s", w->path);
	if (S_ISDIR(st.st_mode))
		return th_fail(err, TH_EUSAGE, "%s is a folder", w->path);
	if (!S_ISREG(st.st_mode))
		return th_fail(err, TH_EUSAGE, "%s is not a regular file", w->path);
	w->existed = true;
	w->mode = st.st_mode & 0777;
	w->old_size = st.st_size;
	return digest_of(fd, &w->old_digest, err);
}

static enum th_code resolve(struct writing *w, struct th_err *err)
{
	struct th_str relative;
	enum th_code code = th_tool_relative(w->job->env, w->args->path, &relative, err);
	if (code)
		return code;
	while (relative.len > 0 && relative.ptr[relative.len - 1] == '/')
		return th_fail(err, TH_EUSAGE, "%.*s names a folder, not a file",
			       TH_FMT(w->args->path));
	if (relative.len == 0)
		return th_fail(err, TH_EUSAGE, "%.*s is the workspace itself",
			       TH_FMT(w->args->path));
	memcpy(w->path, relative.ptr, relative.len);
	w->path[relative.len] = '\0';
	for (int i = 0; follow(w); i++)
		if (i == LINKS_MAX)
			return th_fail(err, TH_EPERM, "%.*s: too many links",
				       TH_FMT(w->args->path));
	return TH_OK;
}

static void work_look(void *ctx)
{
	struct writing *w = (struct writing *)ctx;
	th_tool_owner_enter(w->job->env);
	w->new_digest = th_sha256_of(w->args->content.ptr, w->args->content.len);
	if (resolve(w, &w->err) == TH_OK)
		(void)!look(w, &w->err);
	th_tool_owner_leave(w->job->env);
}

/* Opens the folder that the file goes into, making what is missing. */
static enum th_code open_folder(struct writing *w, int *ret_fd, const char **ret_name,
				struct th_err *err)
{
	int at = -1;
	const struct th_tool_env *env = w->job->env;
	struct th_str rest = th_str_of(w->path), done = { w->path, 0 };
	enum th_code code = th_tool_open(env, TH_STR("."), O_RDONLY | O_DIRECTORY, 0, &at, err);

	while (code == TH_OK && th_str_find_char(rest, '/') >= 0) {
		struct th_str name = th_str_split(&rest, '/');
		done.len = (size_t)(name.ptr + name.len - done.ptr);
		if (name.len == 0 || th_str_is(name, "."))
			continue;
		char folder[TH_PATH_LEN_MAX];
		memcpy(folder, name.ptr, name.len);
		folder[name.len] = '\0';
		/* A name that leads elsewhere (.., a link) exists, so it is never made. */
		if (mkdirat(at, folder, 0755) < 0 && errno != EEXIST)
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

static void work_write(void *ctx)
{
	struct writing *w = (struct writing *)ctx;
	TH_CLEANUP(th_fd_close) int dir_fd = -1;
	const char *name;

	th_tool_owner_enter(w->job->env);
	enum th_code code = open_folder(w, &dir_fd, &name, &w->err);
	if (code == TH_OK && (!name[0] || strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
		th_fail(&w->err, TH_EUSAGE, "%.*s does not name a file", TH_FMT(w->args->path));
	else if (code == TH_OK && (w->touched = true))
		(void)!th_file_write_at(dir_fd, name, w->args->content, w->mode, &w->err);
	th_tool_owner_leave(w->job->env);
}

/* ---- on the loop ---- */

static void add_digest(struct th_jw *w, const char *key, bool there, const struct th_digest *d)
{
	char hex[TH_SHA256_HEX_SIZE + 1];
	th_jw_key(w, th_str_of(key));
	if (!there) {
		th_jw_null(w);
		return;
	}
	th_digest_hex(d, hex);
	th_jw_str(w, th_str_of(hex));
}

static void finish(struct writing *w, enum th_outcome_status status, struct th_str text)
{
	struct th_tool_job *job = w->job;
	struct th_buf evidence = TH_BUF_INIT(1024);
	struct th_jw jw = th_jw(&evidence);

	th_jw_object(&jw);
	add_digest(&jw, "old_sha256", w->existed, &w->old_digest);
	add_digest(&jw, "new_sha256", true, &w->new_digest);
	th_jw_kuint(&jw, "size", w->args->content.len);
	th_jw_object_end(&jw);
	free(w);
	th_tool_text(job, status, text, th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static void fail(struct writing *w, enum th_outcome_status status)
{
	struct th_tool_job *job = w->job;
	struct th_err err = w->err;
	free(w);
	th_tool_fail(job, status, &err);
}

static void written(void *ctx)
{
	struct writing *w = (struct writing *)ctx;
	struct th_buf text = TH_BUF_INIT(2 * TH_PATH_LEN_MAX);

	if (w->err.code && !w->touched && (w->err.code == TH_EPERM || w->err.code == TH_EUSAGE)) {
		fail(w, TH_OUTCOME_REFUSED);
		return;
	}
	if (w->err.code) {
		/* The folder's fsync may fail after the rename: then the file is the new one. */
		fail(w, TH_OUTCOME_FAILED);
		return;
	}
	th_buf_printf(&text, "%s %s: %zu bytes", w->existed ? "replaced" : "created", w->path,
		      w->args->content.len);
	if (w->existed)
		th_buf_printf(&text, " instead of %lld", (long long)w->old_size);
	finish(w, TH_OUTCOME_DONE, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void settle(struct writing *w)
{
	struct th_str noted = w->job->noted;
	bool same_new = w->existed && th_digest_eq(&w->old_digest, &w->new_digest);
	struct th_json_doc *doc = NULL;
	struct th_digest before = {};
	bool known = false, existed = false;

	if (noted.len > 0 && th_json_parse(noted, &doc, NULL) == TH_OK) {
		struct th_str hex = th_json_get_str(th_json_root(doc), "old_sha256");
		existed = hex.ptr != NULL;
		known = !existed || th_digest_parse(hex, &before);
	}
	th_json_free(doc);
	if (same_new)
		finish(w, TH_OUTCOME_DONE, TH_STR("the file has the new content"));
	else if (known && existed == w->existed &&
		 (!existed || th_digest_eq(&before, &w->old_digest)))
		finish(w, TH_OUTCOME_NOT_STARTED,
		       TH_STR("the file is as it was before and was not written"));
	else
		finish(w, TH_OUTCOME_UNKNOWN,
		       TH_STR("the file has neither the new content nor what was noted before: it "
			      "may have been "
			      "written and changed again; read it before writing it once more"));
}

static void looked(void *ctx)
{
	struct writing *w = (struct writing *)ctx;
	struct th_buf note = TH_BUF_INIT(512);
	struct th_jw jw = th_jw(&note);

	if (w->err.code) {
		bool refused = w->err.code == TH_EPERM || w->err.code == TH_EUSAGE;
		fail(w, w->probing ? TH_OUTCOME_UNKNOWN
			: refused  ? TH_OUTCOME_REFUSED
				   : TH_OUTCOME_FAILED);
		return;
	}
	if (w->probing) {
		settle(w);
		return;
	}
	th_jw_object(&jw);
	add_digest(&jw, "old_sha256", w->existed, &w->old_digest);
	th_jw_object_end(&jw);
	bool noted = w->job->note(w->job, th_buf_str(&note));
	th_buf_deinit(&note);
	if (!noted) {
		th_fail(&w->err, TH_EIO,
			"the executor's journal takes no more, so nothing was written");
		fail(w, TH_OUTCOME_NOT_STARTED);
		return;
	}
	th_work(w->job->env->loop, work_write, written, w);
}

static void begin(struct th_tool_job *job, bool probing)
{
	const struct th_write_file *args = (const struct th_write_file *)job->args;
	struct writing *w = (struct writing *)th_alloc(sizeof(*w));

	w->job = job;
	w->args = args;
	w->probing = probing;
	if (args->content.len > TH_FILE_WRITE_MAX) {
		th_fail(&w->err, TH_ELIMIT, "content of %zu bytes is over the limit of %zu",
			args->content.len, TH_FILE_WRITE_MAX);
		fail(w, TH_OUTCOME_REFUSED);
		return;
	}
	th_work(job->env->loop, work_look, looked, w);
}

static void start(struct th_tool_job *job)
{
	begin(job, false);
}

static void probe(struct th_tool_job *job)
{
	begin(job, true);
}

const struct th_tool th_tool_write_file = {
	.name = "write_file",
	.description = "Write a whole file of the workspace, new or instead of the old one; "
		       "missing folders are made.",
	.class = TH_CLASS_V,
	.arguments = &th_write_file_table,
	.start = start,
	.probe = probe,
};
