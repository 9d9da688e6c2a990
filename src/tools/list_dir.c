/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_dir.c - shows what is in a folder of the workspace: one entry per line,
 * sorted, folders with a slash, files with their size, links with their target.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/files.h"
#include "io/loop.h"
#include "tools/path.h"

#define TH_FIELDS_list_dir(F)                  \
	F(list_dir, str, path, "path", TH_REQ, \
	  "Folder, relative to the workspace or absolute inside it; \".\" is the workspace.")

TH_STRUCT(list_dir)
extern const struct th_table th_list_dir_table;
TH_TABLE(list_dir, "arguments of list_dir", false)

struct listing {
	struct th_tool_job *job;
	const struct th_list_dir *args;
	char *names[TH_LIST_ENTRIES_MAX];
	size_t count, left_out;
	struct th_buf text;
	struct th_err err;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum th_code collect(struct listing *l, DIR *dir, struct th_err *err)
{
	for (;;) {
		errno = 0;
		struct dirent *e = readdir(dir);
		if (!e && errno)
			return th_fail_errno(err, errno, "read the folder");
		if (!e)
			break;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (l->count == TH_LIST_ENTRIES_MAX) {
			l->left_out++;
			continue;
		}
		size_t size = strlen(e->d_name) + 1;
		l->names[l->count] = (char *)th_alloc(size);
		memcpy(l->names[l->count++], e->d_name, size);
	}
	qsort(l->names, l->count, sizeof(*l->names), compare);
	return TH_OK;
}

static void add_entry(struct th_buf *out, int dir_fd, const char *name)
{
	char target[TH_PATH_LEN_MAX];
	struct stat st;
	ssize_t len;

	th_text_line(out, th_str_of(name), 255);
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		th_buf_add(out, TH_STR("  (gone)"));
	else if (S_ISDIR(st.st_mode))
		th_buf_add_char(out, '/');
	else if (S_ISREG(st.st_mode))
		th_buf_printf(out, "  %lld bytes%s", (long long)st.st_size,
			      st.st_mode & 0111 ? ", executable" : "");
	else if (S_ISLNK(st.st_mode) &&
		 (len = readlinkat(dir_fd, name, target, sizeof(target))) >= 0) {
		th_buf_add(out, TH_STR(" -> "));
		th_text_line(out, th_str_n(target, (size_t)len), 255);
	} else
		th_buf_add(out, TH_STR("  (not a regular file)"));
	th_buf_add_char(out, '\n');
}

/* In a worker. */
static void work(void *ctx)
{
	struct listing *l = (struct listing *)ctx;
	const struct th_tool_env *env = l->job->env;
	TH_CLEANUP(th_fd_close) int fd = -1;

	th_tool_owner_enter(env);
	enum th_code code =
	    th_tool_open(env, l->args->path, O_RDONLY | O_DIRECTORY, 0, &fd, &l->err);
	DIR *dir = code == TH_OK ? fdopendir(fd) : NULL;
	if (dir) {
		fd = -1; /* the folder's now */
		if (collect(l, dir, &l->err) == TH_OK)
			for (size_t i = 0; i < l->count; i++)
				add_entry(&l->text, dirfd(dir), l->names[i]);
		closedir(dir);
	} else if (code == TH_OK) {
		th_fail_errno(&l->err, errno, "%.*s", TH_FMT(l->args->path));
	}
	th_tool_owner_leave(env);
}

/* On the loop. */
static void worked(void *ctx)
{
	struct listing *l = (struct listing *)ctx;
	struct th_tool_job *job = l->job;
	struct th_err err = l->err;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(2 * TH_TOOL_OUTPUT_MODEL_MAX);
	struct th_buf evidence = TH_BUF_INIT(256);
	struct th_jw w = th_jw(&evidence);
	struct th_str all = th_buf_str(&l->text),
		      shown = th_str_sub(all, 0, TH_TOOL_OUTPUT_MODEL_MAX);

	size_t lines = 0;
	while (shown.len > 0 && shown.len < all.len && shown.ptr[shown.len - 1] != '\n')
		shown.len--;
	for (size_t i = 0; i < shown.len; i++)
		lines += shown.ptr[i] == '\n';
	size_t left_out = l->left_out + l->count - lines;
	th_buf_add(&text, shown);
	if (left_out > 0)
		th_buf_printf(&text, "… %zu entries left out …\n", left_out);
	if (l->count == 0)
		th_buf_add(&text, TH_STR("[empty folder]"));
	th_jw_object(&w);
	th_jw_kuint(&w, "entries", l->count + l->left_out);
	if (left_out > 0)
		th_jw_kuint(&w, "left_out", left_out);
	th_jw_object_end(&w);
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i]);
	th_buf_deinit(&l->text);
	free(l);
	if (err.code)
		th_tool_fail(job,
			     err.code == TH_EPERM || err.code == TH_EUSAGE ? TH_OUTCOME_REFUSED
									   : TH_OUTCOME_FAILED,
			     &err);
	else
		th_tool_text(job, TH_OUTCOME_DONE, th_buf_str(&text), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static void start(struct th_tool_job *job)
{
	struct listing *l = (struct listing *)th_alloc(sizeof(*l));
	l->job = job;
	l->args = (const struct th_list_dir *)job->args;
	th_buf_init(&l->text, TH_LIST_ENTRIES_MAX * 2048);
	th_work(job->env->loop, work, worked, l);
}

const struct th_tool th_tool_list_dir = {
	.name = "list_dir",
	.description =
	    "Show what is in a folder of the workspace: names, sizes, folders with a slash.",
	.class = TH_CLASS_R,
	.scope = { TH_TARGET_FILES, TH_SHOWS_FOLDER },
	.was_default = true,
	.arguments = &th_list_dir_table,
	.start = start,
};
