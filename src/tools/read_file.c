/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_file.c - shows a text file of the workspace, or some lines of it.
 *
 * Reads in a worker, never more than TH_FILE_SCAN_MAX, and never from anything
 * but a regular file: a pipe or a device could hold it up for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/files.h"
#include "io/loop.h"
#include "tools/clip.h"
#include "tools/path.h"

#define TH_FIELDS_read_file(F)                                                                  \
	F(read_file, str, path, "path", TH_REQ,                                                 \
	  "File, relative to the workspace or absolute inside it.")                             \
	F(read_file, int, start_line, "start_line", TH_POSITIVE, "First line to show, from 1.") \
	F(read_file, int, end_line, "end_line", TH_POSITIVE, "Last line to show.")

TH_STRUCT(read_file)
extern const struct th_table th_read_file_table;
TH_TABLE(read_file, "arguments of read_file", false)

struct reading {
	struct th_tool_job *job;
	const struct th_read_file *args;
	struct th_buf text; /* the lines that are shown */
	size_t line_start;  /* in the text: where the line being read begins */
	int64_t line, last; /* number of the line being read; last one shown */
	int64_t size;       /* of the file */
	uint64_t read;      /* bytes looked at */
	bool inside;        /* of a line: its newline has not come yet */
	bool cut, long_line, binary;
	struct th_err err;
};

/* The text is full: back to the last whole line, if there is one. */
static void cut(struct reading *r, struct th_str rest)
{
	r->cut = true;
	if (r->line_start > 0) {
		th_buf_truncate(&r->text, r->line_start);
		r->last = r->line - 1;
		return;
	}
	th_buf_add(&r->text, th_utf8_cut(rest, TH_TOOL_OUTPUT_MODEL_MAX - r->text.len));
	r->long_line = true;
	r->last = r->line;
}

/* Takes lines out of what was read; false when no more is wanted. */
static bool take(struct reading *r, struct th_str bytes)
{
	int64_t first = TH_MAX(r->args->start_line, 1);
	int64_t end = r->args->end_line > 0 ? r->args->end_line : INT64_MAX;

	while (bytes.len > 0) {
		ptrdiff_t newline = th_str_find_char(bytes, '\n');
		size_t len = newline < 0 ? bytes.len : (size_t)newline + 1;
		if (r->line > end)
			return false;
		if (r->line >= first) {
			if (!r->inside)
				r->line_start = r->text.len;
			if (r->text.len + len > TH_TOOL_OUTPUT_MODEL_MAX) {
				cut(r, bytes);
				return false;
			}
			th_buf_add(&r->text, th_str_sub(bytes, 0, len));
			r->last = r->line;
		}
		bytes = th_str_sub(bytes, len, bytes.len);
		r->inside = newline < 0;
		if (newline >= 0)
			r->line++;
	}
	return true;
}

static enum th_code read_lines(struct reading *r, int fd, struct th_err *err)
{
	char chunk[64 * TH_KIB];

	while (r->read < TH_FILE_SCAN_MAX) {
		ssize_t got =
		    read(fd, chunk, (size_t)TH_MIN(sizeof(chunk), TH_FILE_SCAN_MAX - r->read));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return th_fail_errno(err, errno, "read");
		if (got == 0)
			return TH_OK;
		if (r->read == 0 && memchr(chunk, '\0', (size_t)TH_MIN(got, 8192))) {
			r->binary = true;
			return TH_OK;
		}
		r->read += (uint64_t)got;
		if (!take(r, th_str_n(chunk, (size_t)got)))
			return TH_OK;
	}
	r->cut = r->size > (int64_t)r->read;
	return TH_OK;
}

/* In a worker. */
static void work(void *ctx)
{
	struct reading *r = (struct reading *)ctx;
	const struct th_tool_env *env = r->job->env;
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;

	th_tool_owner_enter(env);
	enum th_code code =
	    th_tool_open(env, r->args->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, &r->err);
	if (code == TH_OK && fstat(fd, &st) < 0)
		code = th_fail_errno(&r->err, errno, "%.*s", TH_FMT(r->args->path));
	if (code == TH_OK && S_ISDIR(st.st_mode))
		code = th_fail(&r->err, TH_EUSAGE, "%.*s is a folder; list_dir shows what is in it",
			       TH_FMT(r->args->path));
	else if (code == TH_OK && !S_ISREG(st.st_mode))
		code = th_fail(&r->err, TH_EUSAGE, "%.*s is not a regular file",
			       TH_FMT(r->args->path));
	if (code == TH_OK) {
		r->size = st.st_size;
		code = read_lines(r, fd, &r->err);
	}
	th_tool_owner_leave(env);
}

/* A line about what is not shown; nothing when all is. */
static void add_header(const struct reading *r, struct th_buf *out)
{
	int64_t first = TH_MAX(r->args->start_line, 1);
	if (r->binary) {
		th_buf_printf(out, "[binary file of %lld bytes, not shown]", (long long)r->size);
	} else if (r->long_line) {
		th_buf_printf(out, "[line %lld is longer than %zu bytes; its start:]\n",
			      (long long)r->line, TH_TOOL_OUTPUT_MODEL_MAX);
	} else if (r->last == 0 && r->cut) {
		th_buf_printf(out,
			      "[line %lld is not within the first %zu bytes of the file; no more "
			      "can be read]",
			      (long long)first, TH_FILE_SCAN_MAX);
	} else if (r->last == 0 && first > 1) {
		th_buf_printf(out, "[the file ends before line %lld; it has %lld lines]",
			      (long long)first, (long long)(r->line - (r->inside ? 0 : 1)));
	} else if (r->last == 0) {
		th_buf_add(out, TH_STR("[empty file]"));
	} else if (r->cut) {
		th_buf_printf(
		    out, "[lines %lld to %lld of a file of %lld bytes; start_line %lld goes on]\n",
		    (long long)first, (long long)r->last, (long long)r->size,
		    (long long)r->last + 1);
	}
}

/* On the loop. */
static void worked(void *ctx)
{
	struct reading *r = (struct reading *)ctx;
	struct th_tool_job *job = r->job;
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(8 * TH_TOOL_OUTPUT_MODEL_MAX);
	struct th_buf evidence = TH_BUF_INIT(512);
	struct th_jw w = th_jw(&evidence);

	if (r->err.code) {
		struct th_err err = r->err;
		th_buf_deinit(&r->text);
		free(r);
		th_tool_fail(job,
			     err.code == TH_EPERM || err.code == TH_EUSAGE ? TH_OUTCOME_REFUSED
									   : TH_OUTCOME_FAILED,
			     &err);
		return;
	}
	add_header(r, &text);
	if (!r->binary)
		th_clip_clean(&text, th_buf_str(&r->text));
	th_jw_object(&w);
	th_jw_kint(&w, "size", r->size);
	if (r->last > 0) {
		th_jw_kint(&w, "first_line", TH_MAX(r->args->start_line, 1));
		th_jw_kint(&w, "last_line", r->last);
	}
	if (r->cut)
		th_jw_kbool(&w, "cut", true);
	if (r->binary)
		th_jw_kbool(&w, "binary", true);
	th_jw_object_end(&w);
	th_buf_deinit(&r->text);
	free(r);
	th_tool_text(job, TH_OUTCOME_DONE, th_buf_str(&text), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static void start(struct th_tool_job *job)
{
	const struct th_read_file *args = (const struct th_read_file *)job->args;
	struct th_err err;

	if (args->end_line > 0 && args->end_line < args->start_line) {
		th_fail(&err, TH_EUSAGE, "end_line %lld is before start_line %lld",
			(long long)args->end_line, (long long)args->start_line);
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	struct reading *r = (struct reading *)th_alloc(sizeof(*r));
	r->job = job;
	r->args = args;
	r->line = 1;
	th_buf_init(&r->text, TH_TOOL_OUTPUT_MODEL_MAX);
	th_work(job->env->loop, work, worked, r);
}

const struct th_tool th_tool_read_file = {
	.name = "read_file",
	.description =
	    "Show a text file of the workspace, or the lines from start_line to end_line of it.",
	.class = TH_CLASS_R,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ONE },
	.was_default = true,
	.arguments = &th_read_file_table,
	.start = start,
};
