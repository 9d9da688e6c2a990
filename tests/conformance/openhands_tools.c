/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openhands_tools.c - the editor, the shell and patches: the tools
 * themselves are run, in a workspace of their own for each case.
 *
 * Texts are compared as they are, with the workspace's path in place of theirs.
 * Of the shell's, escape sequences and echoed keys that OpenHands lets through are taken
 * out of what is expected, and the names of parameters are ours.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agents/agent.h"
#include "base/limits.h"
#include "io/files.h"
#include "io/loop.h"
#include "openhands.h"
#include "tools/tool.h"

static struct {
	struct th_loop *loop;
	struct th_tool_env env;
	char top[64], workspace[80];
	struct th_buf text, evidence;
	bool done;
} rig;

/* ---- running a tool ---- */

static void on_output(struct th_tool_job *job, struct th_str bytes)
{
	(void)job;
	(void)bytes;
}

static bool on_note(struct th_tool_job *job, struct th_str json)
{
	(void)job;
	(void)json;
	return true;
}

static void on_picture(struct th_tool_job *job, struct th_str bytes, struct th_str hex,
		       struct th_str media_type)
{
	(void)job;
	(void)bytes;
	(void)hex;
	(void)media_type;
}

static void on_done(struct th_tool_job *job, enum th_outcome_status status, struct th_str output,
		    struct th_str evidence)
{
	(void)job;
	(void)status;
	if (!th_json_unescape(output, &rig.text))
		th_buf_add(&rig.text, output);
	th_buf_add(&rig.evidence, evidence);
	rig.done = true;
	th_loop_stop(rig.loop);
}

static void open_rig(void)
{
	static const char *const environment[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", NULL };
	char path[128];

	memset(&rig, 0, sizeof(rig));
	snprintf(rig.top, sizeof(rig.top), "/tmp/thole-oh-XXXXXX");
	if (!mkdtemp(rig.top) || th_loop_new(&rig.loop, NULL))
		abort();
	snprintf(rig.workspace, sizeof(rig.workspace), "%s/W", rig.top);
	snprintf(path, sizeof(path), "%s/undo", rig.top);
	if (mkdir(rig.workspace, 0755) < 0 || mkdir(path, 0700) < 0)
		abort();
	rig.env = (struct th_tool_env){
		.loop = rig.loop,
		.workspace_fd = open(rig.workspace, O_PATH | O_DIRECTORY | O_CLOEXEC),
		.workspace = th_str_of(rig.workspace),
		.environment = environment,
		.undo_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	th_buf_init(&rig.text, 4 * TH_MIB);
	th_buf_init(&rig.evidence, TH_MIB);
}

static void close_rig(void)
{
	th_tool_env_deinit(&rig.env);
	th_fd_close(&rig.env.workspace_fd);
	th_fd_close(&rig.env.undo_fd);
	rig.loop = th_loop_free(rig.loop);
	th_buf_deinit(&rig.text);
	th_buf_deinit(&rig.evidence);
	(void)!th_dir_remove(rig.top, NULL);
}

/* `s` with each `from` as `to`. */
static struct th_str swap(struct th_arena *a, struct th_str s, const char *from, struct th_str to)
{
	struct th_buf out = TH_BUF_INIT(16 * TH_MIB);
	struct th_str ret;
	ptrdiff_t at;

	while (s.len && (at = th_str_find(s, th_str_of(from))) >= 0) {
		th_buf_add(&out, th_str_sub(s, 0, (size_t)at));
		th_buf_add(&out, to);
		s = th_str_sub(s, (size_t)at + strlen(from), s.len);
	}
	th_buf_add(&out, s);
	ret = th_arena_str(a, th_buf_str(&out));
	th_buf_deinit(&out);
	return ret;
}

/* Output and whether it is an error; false: the arguments were refused before. */
static bool call(const char *name, struct th_str arguments, struct th_arena *a, bool *ret_error,
		 struct th_str *ret_text)
{
	const struct th_tool *tool = th_tool_find(th_str_of(name));
	struct th_json_doc *doc = NULL;
	struct th_tool_job job = { .env = &rig.env,
				   .arena = a,
				   .effect_id = TH_STR("effect"),
				   .output = on_output,
				   .note = on_note,
				   .picture = on_picture,
				   .done = on_done };
	struct th_err err = {};
	void *args = th_arena_alloc(a, tool->arguments->size);

	th_buf_clear(&rig.text);
	th_buf_clear(&rig.evidence);
	rig.done = false;
	*ret_error = true;
	if (th_json_parse(arguments, &doc, &err) ||
	    th_table_parse(tool->arguments, th_json_root(doc), a, args, &err)) {
		*ret_text = th_arena_str(a, th_str_of(err.msg));
		th_json_free(doc);
		return false;
	}
	job.args = args;
	tool->start(&job);
	while (!rig.done)
		th_loop_run(rig.loop);
	th_json_free(doc);
	*ret_text = th_arena_str(a, th_buf_str(&rig.text));
	*ret_error = th_str_starts(*ret_text, TH_STR(TH_ERROR_MARK));
	if (*ret_error)
		*ret_text = th_str_sub(*ret_text, sizeof(TH_ERROR_MARK) - 1, ret_text->len);
	return true;
}

/* ---- files ---- */

static void make_file(struct th_str name, struct th_str text)
{
	static const char lines[] = "one\r\ntwo\r\nthree\r\n", none[4096] = { 0 };
	char path[512];
	char *slash;

	/* "<bytes 17>": bytes that the case's JSON does not hold. */
	if (th_str_is(text, "<bytes 17>"))
		text = th_str_of(lines);
	else if (th_str_starts(text, TH_STR("<bytes ")))
		text = th_str_n(none, 64);
	snprintf(path, sizeof(path), "%s/%.*s", rig.workspace, TH_FMT(name));
	for (slash = path + strlen(rig.workspace) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(path, 0755);
		*slash = '/';
	}
	if (th_file_write(path, text, 0644, NULL))
		abort();
}

static void make_files(const struct th_json *files)
{
	for (struct th_json_iter it = th_json_iter(files); th_json_next(&it);)
		make_file(it.key, th_json_str(it.val));
}

/* The file of a case that leaves it out: a long line, and many. */
static void make_long_file(void)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);

	for (int i = 0; i < 40; i++)
		th_buf_add_char(&text, 'x');
	for (int i = 2; i < 1210; i++)
		th_buf_add_cstr(&text, "\nline of text");
	th_buf_add_char(&text, '\n');
	make_file(TH_STR("l.txt"), th_buf_str(&text));
	th_buf_deinit(&text);
}

/* `before`: a file that was not there may end its last line, which it does not there. */
static bool files_are(const struct th_json *files, const struct th_json *before,
		      struct th_buf *found)
{
	bool same = true;

	for (struct th_json_iter it = th_json_iter(files); th_json_next(&it);) {
		struct th_buf text = TH_BUF_INIT(TH_MIB);
		char path[512];

		snprintf(path, sizeof(path), "%s/%.*s", rig.workspace, TH_FMT(it.key));
		(void)!th_file_read(path, TH_MIB, &text, NULL);
		if (before && !th_json_getn(before, it.key) && text.len > 1 &&
		    !th_str_ends(th_json_str(it.val), TH_STR("\n")) &&
		    text.ptr[text.len - 1] == '\n')
			th_buf_truncate(&text, text.len - 1);
		if (!th_str_starts(th_json_str(it.val), TH_STR("<bytes ")) &&
		    !th_str_eq(th_buf_str(&text), th_json_str(it.val))) {
			same = false;
			th_buf_printf(found, "%.*s holds \"%s\"; ", TH_FMT(it.key), text.ptr);
		}
		th_buf_deinit(&text);
	}
	return same;
}

/* The case's own JSON was shortened in the middle: then its ends count. */
static bool same_text(struct th_str text, struct th_str want)
{
	ptrdiff_t from = th_str_find(want, TH_STR("…<cut ")), to;

	if (from < 0)
		return th_str_eq(text, want);
	to = th_str_find(want, TH_STR(" chars>…"));
	return to > from && th_str_starts(text, th_str_sub(want, 0, (size_t)from)) &&
	       th_str_ends(text, th_str_sub(want, (size_t)to + sizeof(" chars>…") - 1, want.len));
}

/* ---- areas ---- */

/* Does the case ask for what docs/DEVIATIONS.md says is done otherwise?  A path that is relative, a
 * folder that is missing, an inserted text that ends with a newline or stands behind a last line
 * without one, an empty text to replace, an undone file that a call had made. */
static const char *otherwise(const struct th_json *call, const struct th_json *before)
{
	struct th_str command = th_json_get_str(call, "command"),
		      path = th_json_get_str(call, "path"), new = th_json_get_str(call, "new_str");
	struct th_json_iter it = th_json_iter(before);
	bool is_insert = th_str_is(command, "insert"), is_made = true;

	if (!th_str_starts(path, TH_STR("/")))
		return "a path may be relative to the workspace";
	if (is_insert && th_str_ends(new, TH_STR("\n")))
		return "a newline at the end of an inserted text makes no empty line";
	if (th_str_is(command, "str_replace") && th_json_get(call, "old_str") &&
	    !th_json_get_str(call, "old_str").len)
		return "an empty text is found nowhere";
	while (th_json_next(&it)) {
		is_made &= !th_str_ends(path, it.key);
		if (is_insert && th_str_ends(path, it.key) && th_json_str(it.val).len &&
		    !th_str_ends(th_json_str(it.val), TH_STR("\n")))
			return "an inserted line is no part of a last line without an end";
	}
	if (th_str_is(command, "undo_edit") && is_made)
		return "a file that is undone is gone";
	return NULL;
}

/* A parameter that the table refuses is named by both. */
static bool both_refuse(struct th_str ours, struct th_str theirs)
{
	struct th_str name = th_str_split(&ours, ':');

	return ours.len && th_str_find(theirs, th_str_split(&name, '[')) >= 0;
}

bool oh_editor(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *results = th_json_get(c->expected, "results");
	TH_CLEANUP(th_arena_deinit) struct th_arena a;
	const char *why = NULL;
	bool same = true;

	th_arena_init(&a, 64 * TH_MIB);
	open_rig();
	make_files(th_json_get(c->input, "files_before"));
	if (th_str_is(th_json_get_str(c->input, "name"), "long"))
		make_long_file();
	for (struct th_json_iter it = th_json_iter(th_json_get(c->input, "calls"));
	     th_json_next(&it);) {
		const struct th_json *want = th_json_at(results, it.index);
		struct th_str arguments = th_json_text(it.val, &a), text;
		bool error, good, taken;

		arguments = swap(&a, arguments, "/tmp/W", th_str_of(rig.workspace));
		taken = call("str_replace_editor", arguments, &a, &error, &text);
		text = swap(&a, text, rig.workspace, TH_STR("/tmp/W"));
		good = error == th_json_bool(th_json_get(want, "is_error"), false) &&
		       (same_text(text, th_json_get_str(want, "text")) ||
			(!taken && both_refuse(text, th_json_get_str(want, "text"))));
		why = why ?: otherwise(it.val, th_json_get(c->input, "files_before"));
		if (!good)
			th_buf_printf(found, "[%zu] %s%.*s; ", it.index, error ? "error: " : "",
				      TH_FMT(text));
		same &= good;
	}
	same &= files_are(th_json_get(c->expected, "files_after"), NULL, found);
	close_rig();
	if (!same && why) {
		th_buf_clear(found);
		th_buf_printf(found, OH_DEVIATES "%s", why);
	}
	return same;
}

/* "*** Add File: NAME" of a file that is there. */
static bool adds_what_is_there(struct th_str patch, const struct th_json *files)
{
	while (patch.len) {
		struct th_str line = th_str_split(&patch, '\n');

		if (th_str_starts(line, TH_STR("*** Add File: ")) &&
		    th_json_getn(files, th_str_sub(line, strlen("*** Add File: "), line.len)))
			return true;
	}
	return false;
}

/* "*** Update File: NAME" with no lines. */
static bool changes_nothing(struct th_str patch)
{
	bool updates = false;

	while (patch.len) {
		struct th_str line = th_str_split(&patch, '\n');

		if (updates && th_str_starts(line, TH_STR("*** ")))
			return true;
		updates = th_str_starts(line, TH_STR("*** Update File: "));
	}
	return false;
}

/* "*** End of File" of a file that ends with a newline: there the line behind it is the last. */
static bool ends_a_file(struct th_str patch, const struct th_json *files)
{
	struct th_json_iter it = th_json_iter(files);

	while (th_json_next(&it))
		if (th_str_ends(th_json_str(it.val), TH_STR("\n")) &&
		    th_str_find(patch, TH_STR("\n*** End of File")) >= 0)
			return true;
	return false;
}

bool oh_patch(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *result = th_json_get(c->expected, "result");
	TH_CLEANUP(th_arena_deinit) struct th_arena a;
	struct th_buf arguments = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&arguments);
	struct th_str text;
	bool error, same;

	th_arena_init(&a, 64 * TH_MIB);
	open_rig();
	make_files(th_json_get(c->input, "files"));
	th_jw_object(&w);
	th_jw_kstr(&w, "patch", th_json_get_str(c->input, "patch"));
	th_jw_object_end(&w);
	(void)call("apply_patch", th_buf_str(&arguments), &a, &error, &text);
	same = error == !th_json_is_array(result);
	if (!same)
		th_buf_printf(found, "%s%.*s; ", error ? "error: " : "", TH_FMT(text));
	same &= files_are(th_json_get(c->expected, "files"), th_json_get(c->input, "files"), found);
	th_buf_deinit(&arguments);
	close_rig();
	if (!same &&
	    ends_a_file(th_json_get_str(c->input, "patch"), th_json_get(c->input, "files"))) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "a newline ends the last line");
	}
	if (!same && error && changes_nothing(th_json_get_str(c->input, "patch"))) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "an update without lines is refused");
	}
	if (!same && error &&
	    adds_what_is_there(th_json_get_str(c->input, "patch"),
			       th_json_get(c->input, "files"))) {
		th_buf_clear(found);
		th_buf_add_cstr(found, OH_DEVIATES "a file that is there is not replaced unsaid");
	}
	return same;
}

/* Without colours; the number of a process that begins in the background is any. */
static struct th_str plain(struct th_arena *a, struct th_str s)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf out = TH_BUF_INIT(16 * TH_MIB);

	while (s.len) {
		struct th_str line = th_str_split(&s, '\n'), rest = line;
		struct th_str job = th_str_split(&rest, ' ');
		int64_t number;

		if (th_str_starts(job, TH_STR("[")) && th_str_ends(job, TH_STR("]")) &&
		    th_str_i64(rest, &number))
			line = job;
		for (size_t i = 0; i < line.len; i++) {
			size_t end = i + 1;

			while (end < line.len && strchr("[;0123456789", line.ptr[end]))
				end++;
			if (line.ptr[i] == '\x1b' && end < line.len && line.ptr[end] == 'm')
				i = end;
			else
				th_buf_add_char(&out, line.ptr[i]);
		}
		if (s.len)
			th_buf_add_char(&out, '\n');
	}
	return th_arena_str(a, th_buf_str(&out));
}

/* Without the lines of a command, which OpenHands' terminal shows when it has several. */
static struct th_str without_echo(struct th_str text, struct th_str command)
{
	if (th_str_find(th_str_trim(command), TH_STR("\n")) < 0)
		return text;
	while (text.len && command.len) {
		struct th_str rest = text, line = th_str_split(&rest, '\n');
		struct th_str left = command, typed = th_str_split(&left, '\n');

		if (line.len && !th_str_eq(line, typed))
			break;
		text = rest;
		command = line.len ? left : command;
	}
	return text;
}

/* Why ours does something else on purpose; NULL: it does not. */
static const char *shell_otherwise(struct th_str want, struct th_str text)
{
	static const struct {
		const char *theirs, *ours, *why;
	} rows[] = {
		{ "Cannot execute multiple commands at once", "The command completed",
		  "several commands run one after the other" },
		{ "has no new output after", "syntax error: unexpected end of file",
		  "a command that is not finished is said at once" },
		{ "has no new output after", "unexpected EOF while looking for",
		  "a command that is not finished is said at once" },
		{ "looks like a Python/JSON", "command not found", "the shell says it" },
		{ "Terminal session has been reset", "begun anew", "other words" },
	};

	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_find(want, th_str_of(rows[i].theirs)) >= 0 &&
		    th_str_find(text, th_str_of(rows[i].ours)) >= 0)
			return rows[i].why;
	return NULL;
}

/* What OpenHands' terminal lets through and ours does not; and our parameters' names. */
static struct th_str normal(struct th_arena *a, struct th_str s)
{
	static const char *const pairs[][2] = {
		{ "\x1b[?2004l", "" },
		{ "\x1b[?2004h", "" },
		{ "Terminal session has been reset. All previous environment variables and "
		  "session state have been cleared.\n\n",
		  "" },
		{ "^C\n", "" },
		{ "^Z\n", "" },
		{ "`is_input`", "`input`" },
		{ "the timeout parameter in terminal for", "the timeout_s parameter for" },
	};

	for (size_t i = 0; i < TH_COUNT(pairs); i++)
		s = swap(a, s, pairs[i][0], th_str_of(pairs[i][1]));
	return s;
}

static struct th_str wanted_text(struct th_arena *a, const struct th_json *want,
				 struct th_str command)
{
	struct th_str text = plain(a, normal(a, th_json_get_str(want, "text")));
	struct th_str suffix = th_str_trim(normal(a, th_json_get_str(want, "suffix")));

	text = th_str_trim(without_echo(text, command));
	return th_arena_printf(a, "%.*s%.*s%s%.*s", TH_FMT(th_json_get_str(want, "prefix")),
			       TH_FMT(text), text.len && suffix.len ? "\n" : "", TH_FMT(suffix));
}

static bool same_result(struct th_arena *a, const struct th_json *want, struct th_str wanted,
			bool error, struct th_str text)
{
	struct th_str evidence = th_buf_str(&rig.evidence), folder = TH_STR("");
	struct th_str there = th_json_get_str(want, "working_dir");
	struct th_json_doc *doc = NULL;
	int64_t code = -1;
	ptrdiff_t at = th_str_find(text, TH_STR("\n[Current working directory: "));

	if (at >= 0)
		text = th_str_sub(text, 0, (size_t)at);
	if (!th_json_parse(evidence, &doc, NULL)) {
		code = th_json_get_int(th_json_root(doc), "exit_code", -1);
		folder = swap(a, th_json_get_str(th_json_root(doc), "folder"), rig.workspace,
			      TH_STR("/tmp/TW"));
		th_json_free(doc);
	}
	return error == th_json_bool(th_json_get(want, "is_error"), false) &&
	       code == th_json_get_int(want, "exit_code", -1) &&
	       (!there.ptr || th_str_eq(there, folder)) &&
	       same_text(th_str_trim(plain(a, swap(a, text, rig.workspace, TH_STR("/tmp/TW")))),
			 th_str_trim(wanted));
}

bool oh_bash(const struct oh_case *c, struct th_buf *found)
{
	const struct th_json *results = th_json_get(c->expected, "results");
	TH_CLEANUP(th_arena_deinit) struct th_arena a;
	bool same = true;
	const char *why = NULL;

	th_arena_init(&a, 64 * TH_MIB);
	open_rig();
	rig.env.bash_idle_ms = 1000 * (uint64_t)th_json_get_int(c->input, "no_change_timeout", 30);
	for (struct th_json_iter it = th_json_iter(th_json_get(c->input, "actions"));
	     same && th_json_next(&it);) {
		const struct th_json *want = th_json_at(results, it.index);
		struct th_str wanted = wanted_text(&a, want, th_json_get_str(it.val, "command"));
		struct th_str text;
		bool error;

		(void)call("terminal",
			   swap(&a, th_json_text(it.val, &a), "/tmp/TW", th_str_of(rig.workspace)),
			   &a, &error, &text);
		if (same_result(&a, want, wanted, error, text))
			continue;
		why = shell_otherwise(wanted, text);
		same = why && th_str_find(wanted, TH_STR("no new output")) < 0;
		th_buf_clear(found);
		if (why)
			th_buf_printf(found, OH_DEVIATES "%s", why);
		else
			th_buf_printf(found, "[%zu] %s%.*s %s wanted %.*s; ", it.index,
				      error ? "error: " : "", TH_FMT(th_str_sub(text, 0, 400)),
				      rig.evidence.ptr, TH_FMT(th_str_sub(wanted, 0, 400)));
	}
	close_rig();
	return same && !why;
}
