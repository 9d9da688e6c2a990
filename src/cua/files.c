/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.c - commands and files of the face's desktop (cua.h): all by its shell,
 * so that its sandbox holds for them too.
 *
 * A shell gives back half a MiB at once for certain, and takes 96 KiB: what is
 * longer is read and written piece by piece.
 */
#include <math.h>
#include <stdio.h>

#include "base/codec.h"
#include "base/shell.h"
#include "base/text.h"

#include "cua/cua.h"

#define READ_PIECE (384 * TH_KIB)
#define WRITE_PIECE (48 * TH_KIB)
#define COMMAND_MS_MAX 3600000
#define TOO_LONG "the file is longer than %d MiB; read_bytes reads it in parts"

static void fail_said(struct th_cua_job *job, struct th_str bytes)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);

	th_utf8_clean(&text, th_str_trim(th_str_sub(bytes, 0, TH_KIB)));
	th_cua_fail(job, "%s", text.len ? text.ptr : "the command failed");
}

static bool need_path(struct th_cua_job *job)
{
	struct th_str path;

	if (!th_cua_need(job, "path", &path))
		return false;
	if (!path.len || path.len >= TH_PATH_LEN_MAX || memchr(path.ptr, 0, path.len)) {
		th_cua_fail(job, "the path is not usable");
		return false;
	}
	th_buf_clear(&job->path);
	th_buf_add(&job->path, path);
	return true;
}

/* ---- one script ---- */

static void then_plain(struct th_cua_job *job, struct th_str said, int exit_code,
		       struct th_str bytes)
{
	(void)said;
	if (exit_code)
		fail_said(job, bytes);
	else
		th_cua_done(job, TH_STR(""));
}

void th_cua_path(struct th_cua_job *job)
{
	if (need_path(job))
		th_cua_shell(job, th_buf_str(&job->path), th_str_of(job->row->detail), then_plain);
}

static void then_exists(struct th_cua_job *job, struct th_str said, int exit_code,
			struct th_str bytes)
{
	(void)said, (void)bytes;
	th_cua_done(job, exit_code ? TH_STR("\"exists\":false") : TH_STR("\"exists\":true"));
}

void th_cua_exists(struct th_cua_job *job)
{
	char script[32];

	snprintf(script, sizeof(script), "[ %s \"$p\" ]", job->row->detail);
	if (need_path(job))
		th_cua_shell(job, th_buf_str(&job->path), th_str_of(script), then_exists);
}

static void then_file_size(struct th_cua_job *job, struct th_str said, int exit_code,
			   struct th_str bytes)
{
	char text[64];
	int64_t size;

	(void)said;
	if (exit_code || !th_str_i64(th_str_trim(bytes), &size)) {
		fail_said(job, bytes);
		return;
	}
	snprintf(text, sizeof(text), "\"size\":%lld", (long long)size);
	th_cua_done(job, th_str_of(text));
}

void th_cua_size(struct th_cua_job *job)
{
	if (need_path(job))
		th_cua_shell(job, th_buf_str(&job->path), TH_STR("stat -L -c %s -- \"$p\""),
			     then_file_size);
}

static void then_list(struct th_cua_job *job, struct th_str said, int exit_code,
		      struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_buf name TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&out);

	(void)said;
	if (exit_code) {
		fail_said(job, bytes);
		return;
	}
	th_buf_add_cstr(&out, "\"files\":");
	th_jw_array(&w);
	while (bytes.len) {
		th_buf_clear(&name);
		th_utf8_clean(&name, th_str_split(&bytes, '\0'));
		th_jw_str(&w, th_buf_str(&name));
	}
	th_jw_array_end(&w);
	th_cua_done(job, th_buf_str(&out));
}

void th_cua_list(struct th_cua_job *job)
{
	if (need_path(job))
		th_cua_shell(job, th_buf_str(&job->path),
			     TH_STR("cd -- \"$p\" && find -L . -mindepth 1 -maxdepth 1 "
				    "\\( -type f -o -type d \\) -printf '%f\\0'"),
			     then_list);
}

/* ---- reading, piece by piece ---- */

/* Those of the file from job->at up to job->end, into job->bytes; then job->step says what for. */
enum { FOR_TEXT, FOR_BYTES, FOR_STDOUT, FOR_STDERR };
static void read_on(struct th_cua_job *job);

static void give_text(struct th_cua_job *job)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_SERVE_CUA_READ_MAX);
	struct th_jw w = th_jw(&out);
	struct th_str bytes = th_buf_str(&job->bytes);

	if (job->step == FOR_TEXT && th_utf8_valid(bytes) < bytes.len) {
		th_cua_fail(job, "the file is not UTF-8 text; read_bytes reads it");
		return;
	}
	if (job->step == FOR_BYTES) {
		th_buf_add_cstr(&out, "\"content_b64\":\"");
		th_base64_encode(&out, bytes.ptr, bytes.len);
		th_buf_add_char(&out, '"');
	} else {
		th_buf_add_cstr(&out, "\"content\":");
		th_jw_str(&w, bytes);
	}
	th_cua_done(job, th_buf_str(&out));
}

static void add_clean(struct th_buf *out, const char *name, struct th_str bytes)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_SERVE_CUA_READ_MAX);
	struct th_jw w = th_jw(out);

	th_utf8_clean(&text, bytes);
	th_buf_printf(out, "\"%s\":", name);
	th_jw_str(&w, th_buf_str(&text));
	th_buf_add_char(out, ',');
}

static void then_cleared(struct th_cua_job *job, struct th_str said, int exit_code,
			 struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_SERVE_CUA_READ_MAX);

	(void)said, (void)exit_code, (void)bytes;
	if (job->cut)
		th_buf_printf(&job->bytes, "\n[cut after %d MiB]\n",
			      (int)(TH_SERVE_CUA_READ_MAX / TH_MIB));
	add_clean(&out, "stdout", th_buf_str(&job->out));
	add_clean(&out, "stderr", th_buf_str(&job->bytes));
	th_buf_printf(&out, "\"return_code\":%d", job->exit_code);
	th_cua_done(job, th_buf_str(&out));
}

/* All of one output was read: the errors are next, and then its folder goes. */
static void read_over(struct th_cua_job *job)
{
	struct th_str bytes = th_buf_str(&job->bytes);

	job->cut |= job->at == TH_SERVE_CUA_READ_MAX;
	switch (job->step) {
	case FOR_STDOUT:
		th_buf_add(&job->out, bytes);
		th_buf_clear(&job->bytes);
		job->path.ptr[job->path.len - 1] = 'e';
		job->at = 0;
		job->end = TH_SERVE_CUA_READ_MAX;
		job->step = FOR_STDERR;
		read_on(job);
		break;
	case FOR_STDERR:
		th_cua_shell(job, th_buf_str(&job->path), TH_STR("rm -rf -- \"${p%/e}\""),
			     then_cleared);
		break;
	default:
		give_text(job);
	}
}

static void then_read(struct th_cua_job *job, struct th_str said, int exit_code,
		      struct th_str bytes)
{
	size_t wanted = TH_MIN(job->end - job->at, (size_t)READ_PIECE);

	(void)said;
	if (exit_code) {
		fail_said(job, bytes);
		return;
	}
	th_buf_add(&job->bytes, bytes);
	job->at += bytes.len;
	if (bytes.len < wanted || (job->at == job->end && !job->whole))
		read_over(job);
	else if (job->at == job->end)
		th_cua_fail(job, TOO_LONG, (int)(TH_SERVE_CUA_READ_MAX / TH_MIB));
	else
		read_on(job);
}

static void read_on(struct th_cua_job *job)
{
	struct th_buf script TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_add_cstr(&script, "[ -f \"$p\" ] || { echo \"there is no file $p\"; exit 1; }; ");
	if (job->whole) /* seen before it is read */
		th_buf_printf(&script,
			      "[ \"$(stat -L -c %%s -- \"$p\")\" -lt %zu ] || "
			      "{ echo '" TOO_LONG "'; exit 1; }; ",
			      job->end, (int)(TH_SERVE_CUA_READ_MAX / TH_MIB));
	th_buf_printf(&script, "tail -c +%zu -- \"$p\" | head -c %zu", job->at + 1,
		      TH_MIN(job->end - job->at, (size_t)READ_PIECE));
	th_cua_shell(job, th_buf_str(&job->path), th_buf_str(&script), then_read);
}

void th_cua_read(struct th_cua_job *job)
{
	const struct th_json *p = job->command.params;
	bool text = strcmp(job->row->detail, "text") == 0;
	int64_t offset = text ? 0 : th_json_get_int(p, "offset", 0);
	int64_t length = text ? -1 : th_json_get_int(p, "length", -1);

	if (!need_path(job))
		return;
	if (offset < 0 || offset > INT64_MAX / 2 || length > (int64_t)TH_SERVE_CUA_READ_MAX) {
		th_cua_fail(job, "offset is 0 or more, and length at most %d",
			    (int)TH_SERVE_CUA_READ_MAX);
		return;
	}
	job->step = text ? FOR_TEXT : FOR_BYTES;
	job->at = (size_t)offset;
	/* Without a length all of it: one byte more shows that it is too much. */
	job->whole = length < 0;
	job->end = job->at + (job->whole ? TH_SERVE_CUA_READ_MAX + 1 : (size_t)length);
	if (job->at == job->end)
		give_text(job);
	else
		read_on(job);
}

/* ---- writing, piece by piece ---- */

static void write_on(struct th_cua_job *job, bool append);

static void then_written(struct th_cua_job *job, struct th_str said, int exit_code,
			 struct th_str bytes)
{
	(void)said;
	if (exit_code)
		fail_said(job, bytes);
	else if (job->at < job->bytes.len)
		write_on(job, true);
	else
		th_cua_done(job, TH_STR(""));
}

static void write_on(struct th_cua_job *job, bool append)
{
	struct th_buf script TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(128 * TH_KIB);
	size_t size = TH_MIN(job->bytes.len - job->at, (size_t)WRITE_PIECE);

	th_buf_add_cstr(&script, "printf %s '");
	th_base64_encode(&script, size ? job->bytes.ptr + job->at : "", size);
	th_buf_printf(&script, "' | base64 -d %s \"$p\"", append ? ">>" : ">");
	job->at += size;
	th_cua_shell(job, th_buf_str(&job->path), th_buf_str(&script), then_written);
}

void th_cua_write(struct th_cua_job *job)
{
	const struct th_json *p = job->command.params;
	struct th_str content;

	if (!need_path(job) || !th_cua_need(job, job->row->detail, &content))
		return;
	job->at = 0;
	if (strcmp(job->row->detail, "content") == 0) {
		th_buf_add(&job->bytes, content);
	} else if (!th_base64_decode(&job->bytes, content)) {
		th_cua_fail(job, "content_b64 is not base64");
		return;
	}
	if (job->bytes.failed || job->bytes.len > TH_SERVE_CUA_READ_MAX)
		th_cua_fail(job, "that is more than %d MiB; write it in parts",
			    (int)(TH_SERVE_CUA_READ_MAX / TH_MIB));
	else
		write_on(job, th_json_bool(th_json_get(p, "append"), false));
}

/* ---- commands ---- */

static void then_late(struct th_cua_job *job, struct th_str said, int exit_code,
		      struct th_str bytes)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	double timeout = th_json_num(th_json_get(job->command.params, "timeout"), 0);

	(void)said, (void)exit_code, (void)bytes;
	th_buf_printf(&out,
		      "{\"success\":false,\"stdout\":\"\",\"stderr\":"
		      "\"Command timed out after %gs\",\"return_code\":-1}",
		      timeout > 0 ? timeout : COMMAND_MS_MAX / 1000.0);
	th_cua_answer(job, th_buf_str(&out));
}

/* It said the name of its folder, where both its outputs are. */
static void then_ran(struct th_cua_job *job, struct th_str said, int exit_code, struct th_str bytes)
{
	bool late = exit_code < 0;

	(void)said;
	bytes = th_str_trim(job->written);
	if (!bytes.len || bytes.ptr[0] != '/' || bytes.len >= TH_PATH_LEN_MAX - 2) {
		if (late)
			then_late(job, said, exit_code, bytes);
		else
			fail_said(job, bytes);
		return;
	}
	job->exit_code = exit_code;
	th_buf_clear(&job->path);
	th_buf_add(&job->path, bytes);
	if (late) {
		th_cua_shell(job, th_buf_str(&job->path), TH_STR("rm -rf -- \"$p\""), then_late);
		return;
	}
	th_buf_add_cstr(&job->path, "/o");
	job->at = 0;
	job->end = TH_SERVE_CUA_READ_MAX;
	job->step = FOR_STDOUT;
	read_on(job);
}

void th_cua_run(struct th_cua_job *job)
{
	struct th_buf script TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	double timeout = th_json_num(th_json_get(job->command.params, "timeout"), 0);
	struct th_jw w = th_jw(&json);
	struct th_str command;

	if (!th_cua_need(job, "command", &command))
		return;
	if (!(timeout >= 0 && timeout * 1000 <= COMMAND_MS_MAX)) {
		th_cua_fail(job, "timeout is in seconds, at most an hour");
		return;
	}
	th_buf_add_cstr(&script, "d=$(mktemp -d) || exit 1; echo \"$d\"; exec </dev/null "
				 ">\"$d/o\" 2>\"$d/e\"; exec /bin/sh -c ");
	th_shell_word(command, &script);
	th_jw_object(&w);
	th_jw_kstr(&w, "command", th_buf_str(&script));
	th_jw_object_end(&w);
	if (json.failed || script.failed)
		th_cua_fail(job, "the command is too long");
	else
		th_cua_call(job, "shell", th_buf_str(&json),
			    timeout > 0 ? TH_MAX((int64_t)lround(timeout * 1000), 1) : 0, then_ran);
}

static void then_launched(struct th_cua_job *job, struct th_str said, int exit_code,
			  struct th_str bytes)
{
	char text[64];
	int64_t pid;

	(void)said;
	if (exit_code || !th_str_i64(th_str_trim(bytes), &pid)) {
		fail_said(job, bytes);
		return;
	}
	snprintf(text, sizeof(text), "\"pid\":%lld", (long long)pid);
	th_cua_done(job, th_str_of(text));
}

/* With arguments a program, without them a line of the shell. */
void th_cua_launch(struct th_cua_job *job)
{
	struct th_buf script TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	const struct th_json *args = th_json_get(job->command.params, "args");
	struct th_json_iter it = th_json_iter(args);
	struct th_str app;

	if (!th_cua_need(job, "app", &app))
		return;
	if (th_json_is_array(args)) {
		th_shell_word(app, &script);
		while (th_json_next(&it)) {
			th_buf_add_char(&script, ' ');
			th_shell_word(th_json_str(it.val), &script);
		}
	} else {
		th_buf_add_cstr(&script, "/bin/sh -c ");
		th_shell_word(app, &script);
	}
	th_buf_add_cstr(&script, " </dev/null >/dev/null 2>&1 & echo $!");
	th_cua_shell(job, TH_STR(""), th_buf_str(&script), then_launched);
}
