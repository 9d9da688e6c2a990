/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edit.c - shows and changes a file of the workspace exactly where it is told
 * to: view, create, str_replace, insert and undo_edit.
 *
 * Texts are looked for byte by byte; a text that stands nowhere, or twice, is
 * an answer that names the lines, never a guess.  What is not changed keeps its
 * bytes: line ends, encoding, a missing last line end (edit_text.h, charset.h).
 * A change replaces the file in one step and can be taken back
 * (edit_history.h).  A call that goes by line numbers is refused when the file
 * is not what the model saw.
 *
 * Class V as write_file is: digests of before and after are noted first.  Calls
 * of one session run one after the other, in their order, so that several edits
 * of a file in one answer all hold.
 *
 * The words are those of the editors that models were trained with.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/charset.h"
#include "base/text.h"
#include "io/files.h"
#include "io/loop.h"
#include "tools/edit.h"
#include "tools/edit_history.h"
#include "tools/edit_text.h"
#include "tools/edit_view.h"

#define AROUND 4               /* lines shown around a change */
#define SHOWN_MAX (8 * TH_KIB) /* of an argument that is said again */

static const char *const commands[] = {
	"view", "create", "str_replace", "insert", "undo_edit", NULL
};

#define ROW(kind, field, flags, doc) TH_FIELD_ROW(edit, kind, field, #field, flags, doc)
/* clang-format off */
static const struct th_field fields[] = {
	{ .name = "command", .offset = offsetof(struct th_edit, command), .kind = TH_FIELD_enum,
	  .flags = TH_REQ, .doc = "What to do.", .names = commands },
	ROW(str, path, TH_REQ | TH_NONEMPTY, "File or folder, absolute or relative to the workspace.")
	ROW(str, file_text, 0, "create: the new file's content.")
	ROW(str, old_str, 0,
	    "str_replace: text that stands exactly once in the file, with its white space.")
	ROW(str, new_str, 0, "str_replace: what takes its place; insert: the lines to put in.")
	{ .name = "insert_line", .offset = offsetof(struct th_edit, insert_line),
	  .kind = TH_FIELD_int, .flags = TH_NONEG, .doc = "insert: the line behind which they go; 0: the file's start.",
	  .has_default = true, .default_int = TH_EDIT_LINE_UNSET },
	ROW(ints, view_range, 0, "view: first and last line, from 1; -1: to the end.")
	/* Words of other editors. */
	ROW(str, insert_text, TH_HIDDEN, "new_str of insert")
	ROW(str, security_risk, TH_HIDDEN, "not looked at")
	ROW(str, summary, TH_HIDDEN, "not looked at")
	ROW(str, description, TH_HIDDEN, "not looked at")
};
/* clang-format on */
#undef ROW

static const struct th_table th_edit_table = { "edit",           "arguments of edit",    fields,
					       TH_COUNT(fields), sizeof(struct th_edit), false };

struct th_editing {
	struct th_editing *next;
	struct th_tool_job *job;
	const struct th_edit *args;
	struct th_str path;          /* without what names nothing: "a/./b/" is "a/b" */
	bool probing, goes, touched; /* goes: taking back what made it */
	bool is_parts;               /* `say` is JSON, and has a picture */
	struct th_place place;
	enum th_charset charset;
	struct th_buf bytes, decoded; /* of the file; its text where that is another one */
	struct th_buf result, encoded;
	struct th_str new_bytes; /* what is written: of `result` or `encoded` */
	struct th_digest new_digest;
	struct th_undo undo;
	struct th_buf say, note;
	const char *picture_type;
	enum th_outcome_status status;
	struct th_err err;
};

/* ---- in a worker: what is wrong ---- */

TH_PRINTF(2, 3) static enum th_code refuse(struct th_editing *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	th_buf_clear(&e->say);
	th_buf_add_cstr(&e->say, TH_ERROR_MARK);
	th_buf_vprintf(&e->say, fmt, ap);
	va_end(ap);
	e->status = TH_OUTCOME_REFUSED;
	return th_fail(&e->err, TH_EUSAGE, "refused");
}

static enum th_code wants(struct th_editing *e, const char *parameter)
{
	return refuse(e, "Parameter `%s` is required for command: %s.", parameter,
		      commands[e->args->command]);
}

/* What is at the path, before anything is read. */
enum what { NOTHING, FILE_, FOLDER, OTHER };

static enum th_code look_at(struct th_editing *e, enum what *ret, int64_t *ret_size)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;
	enum th_code code = th_tool_open(e->job->env, e->path, O_PATH, 0, &fd, &e->err);

	*ret = NOTHING;
	*ret_size = 0;
	if (code == TH_ENOENT) {
		e->err = (struct th_err){};
		return TH_OK;
	}
	if (code)
		return code;
	if (fstat(fd, &st) < 0)
		return TH_OK;
	*ret = S_ISDIR(st.st_mode) ? FOLDER : S_ISREG(st.st_mode) ? FILE_ : OTHER;
	*ret_size = st.st_size;
	return TH_OK;
}

static enum th_code is_missing(struct th_editing *e)
{
	return refuse(e,
		      "Invalid `path` parameter: %.*s. The path %.*s does not exist. Please "
		      "provide a valid path.",
		      TH_FMT(e->path), TH_FMT(e->path));
}

static enum th_code check_path(struct th_editing *e, enum what what, int64_t size)
{
	struct th_str path = e->path;

	if (e->args->command == TH_EDIT_CREATE) {
		if (!e->args->file_text.ptr)
			return wants(e, "file_text");
		return what == NOTHING
			   ? TH_OK
			   : refuse(e,
				    "Invalid `path` parameter: %.*s. File already exists at: "
				    "%.*s. Cannot overwrite files using command `create`.",
				    TH_FMT(path), TH_FMT(path));
	}
	if (what == NOTHING && e->args->command != TH_EDIT_UNDO)
		return is_missing(e);
	if (what == FOLDER && e->args->command != TH_EDIT_VIEW)
		return refuse(e,
			      "Invalid `path` parameter: %.*s. The path %.*s is a directory and "
			      "only the `view` command can be used on directories.",
			      TH_FMT(path), TH_FMT(path));
	if (what == OTHER)
		return refuse(e, "Invalid `path` parameter: %.*s. It is no regular file.",
			      TH_FMT(path));
	if (what == FILE_ && size > (int64_t)TH_EDIT_FILE_MAX)
		return refuse(e, "File is too large (%.1fMB). Maximum allowed size is %zuMB.",
			      (double)size / TH_MIB, TH_EDIT_FILE_MAX / TH_MIB);
	return TH_OK;
}

/* The file as a text; *ret lives in `e`. */
static enum th_code read_text(struct th_editing *e, struct th_str *ret)
{
	enum th_code code = th_place_look(e->job->env, &e->place, &e->bytes, &e->err);

	if (code)
		return code;
	*ret = th_buf_str(&e->bytes);
	e->charset = th_charset_of(*ret);
	if (e->charset == TH_CHARSET_BINARY)
		return refuse(e, "File appears to be binary and this file type cannot be read or "
				 "edited by this tool.");
	if (e->charset == TH_CHARSET_UTF8)
		return TH_OK;
	th_charset_decode(e->charset, *ret, &e->decoded);
	*ret = th_buf_str(&e->decoded);
	return th_buf_check(&e->decoded, e->place.path, &e->err);
}

/* ---- in a worker: view ---- */

static enum th_code show_picture(struct th_editing *e)
{
	struct th_jw w = th_jw(&e->say);
	char hex[TH_SHA256_HEX_SIZE + 1];

	if (e->bytes.len > TH_TOOL_PICTURE_MAX)
		return refuse(e, "%.*s is a picture of %zu bytes; at most %zu can be shown",
			      TH_FMT(e->path), e->bytes.len, TH_TOOL_PICTURE_MAX);
	th_digest_hex(&e->place.digest, hex);
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", TH_STR("Image file displayed below."));
	th_jw_object_end(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("image"));
	th_jw_kstr(&w, "media_type", th_str_of(e->picture_type));
	th_jw_kstr(&w, "blob", th_str_of(hex));
	th_jw_kuint(&w, "size", e->bytes.len);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	e->is_parts = true;
	return TH_OK;
}

static enum th_code bad_range(struct th_editing *e, const char *why)
{
	struct th_buf shown = TH_BUF_INIT(256);
	const struct th_ints *r = &e->args->view_range;
	enum th_code code;

	for (size_t i = 0; i < r->count && i < 4; i++)
		th_buf_printf(&shown, "%s%lld", i ? ", " : "", (long long)r->list[i]);
	code = refuse(e, "Invalid `view_range` parameter: [%s%s]. %s", shown.ptr,
		      r->count > 4 ? ", …" : "", why);
	th_buf_deinit(&shown);
	return code;
}

static enum th_code show_range(struct th_editing *e, struct th_str text)
{
	const struct th_ints *r = &e->args->view_range;
	int64_t total = (int64_t)th_editor_lines(text), first, last;
	char why[160];
	size_t from, to;

	if (r->count != 2)
		return bad_range(e, "It should be a list of two integers.");
	first = r->list[0];
	last = r->list[1] == -1 ? total : r->list[1];
	if (first < 1 || first > total) {
		snprintf(why, sizeof(why),
			 "Its first element `%lld` should be within the range of lines of the "
			 "file: [1, %lld].",
			 (long long)first, (long long)total);
		return bad_range(e, why);
	}
	if (last < first) {
		snprintf(why, sizeof(why),
			 "Its second element `%lld` should be greater than or equal to the first "
			 "element `%lld`.",
			 (long long)last, (long long)first);
		return bad_range(e, why);
	}
	if (last > total) {
		th_buf_printf(&e->say,
			      "NOTE: We only show up to %lld since there're only %lld lines in "
			      "this file.\n",
			      (long long)total, (long long)total);
		last = total;
	}
	from = th_editor_line_at(text, (size_t)first);
	to = th_editor_line_at(text, (size_t)last + 1);
	if (to > from && text.ptr[to - 1] == '\n')
		to -= to - from > 1 && text.ptr[to - 2] == '\r' ? 2 : 1;
	th_editor_put_lines(&e->say, e->path, th_str_sub(text, from, to - from), (size_t)first,
			    (size_t)last);
	return TH_OK;
}

static enum th_code show(struct th_editing *e, enum what what)
{
	struct th_str text;
	enum th_code code;

	if (what == FOLDER && e->args->view_range.count)
		return bad_range(e, "The `view_range` parameter is not allowed when `path` points "
				    "to a directory.");
	if (what == FOLDER)
		return th_editor_view_folder(e->job->env, e->path, &e->say, &e->err);
	code = th_place_look(e->job->env, &e->place, &e->bytes, &e->err);
	if (code)
		return code;
	e->picture_type = th_editor_picture_type(e->path, th_buf_str(&e->bytes));
	if (e->picture_type)
		return show_picture(e);
	th_buf_clear(&e->bytes);
	code = read_text(e, &text);
	if (code)
		return code;
	if (e->args->view_range.count)
		code = show_range(e, text);
	else
		th_editor_put_lines(&e->say, e->path, text, 1, th_editor_lines(text));
	if (!code)
		th_seen_put(e->job->env, e->place.path, &e->place.digest);
	return code;
}

/* ---- in a worker: what the file becomes ---- */

/* Lines `first` to `last` of the new text, and what was done. */
static void say_edited(struct th_editing *e, struct th_str what, int64_t first, int64_t last,
		       const char *check)
{
	struct th_str text = th_buf_str(&e->result);
	size_t total = th_editor_lines(text), from, to;

	first = TH_MAX(first, 1);
	from = th_editor_line_at(text, (size_t)first);
	to = th_editor_line_at(text, (size_t)last + 1);
	if (th_seen_is(e->job->env, e->place.path, &e->place.digest) == TH_SEEN_CHANGED)
		th_buf_printf(&e->say,
			      "NOTE: %.*s had been changed by something else since it was last "
			      "shown here.\n",
			      TH_FMT(e->path));
	th_buf_printf(&e->say, "The file %.*s has been edited. ", TH_FMT(e->path));
	th_editor_put_lines(&e->say, what, th_str_sub(text, from, to - from), (size_t)first, total);
	th_buf_add_cstr(&e->say, check);
}

static void add_place_lines(struct th_buf *out, const struct th_edit_found *f)
{
	for (size_t i = 0; i < f->line_count; i++)
		th_buf_printf(out, "%s%zu", i ? ", " : "", f->lines[i]);
	if (f->count == TH_EDIT_PLACES_MAX)
		th_buf_add_cstr(out, ", …");
}

static enum th_code replace(struct th_editing *e, struct th_str text)
{
	struct th_str old = e->args->old_str, new = e->args->new_str;
	struct th_buf what = TH_BUF_INIT(TH_PATH_LEN_MAX + 64), lines;
	struct th_edit_found f;
	size_t news = 0;

	th_editor_find(text, old, &f);
	if (f.count == 0 && th_str_trim(old).len > 0 && th_str_trim(old).len < old.len) {
		old = th_str_trim(old);
		new = th_str_trim(new);
		th_editor_find(text, old, &f);
	}
	if (f.count == 0)
		return refuse(e,
			      "No replacement was performed, old_str `%.*s` did not appear "
			      "verbatim in %.*s.",
			      TH_FMT(th_utf8_cut(old, SHOWN_MAX)), TH_FMT(e->path));
	if (f.count > 1) {
		th_buf_init(&lines, 4 * TH_KIB);
		add_place_lines(&lines, &f);
		(void)refuse(e,
			     "No replacement was performed. Multiple occurrences of old_str "
			     "`%.*s` in lines [%s]. Please ensure it is unique.",
			     TH_FMT(th_utf8_cut(old, SHOWN_MAX)), lines.ptr);
		th_buf_deinit(&lines);
		return TH_EUSAGE;
	}
	th_editor_replace(text, &f, old, new, &e->result);
	for (size_t i = 0; i < new.len; i++)
		news += new.ptr[i] == '\n';
	th_buf_printf(&what, "a snippet of %.*s", TH_FMT(e->path));
	say_edited(e, th_buf_str(&what), (int64_t)f.lines[0] - AROUND + 1,
		   (int64_t)(f.lines[0] + AROUND + news),
		   "Review the changes and make sure they are as expected. Edit the file again if "
		   "necessary.");
	th_buf_deinit(&what);
	return TH_OK;
}

static enum th_code insert(struct th_editing *e, struct th_str text)
{
	struct th_str new = e->args->new_str.ptr ? e->args->new_str : e->args->insert_text;
	int64_t total = (int64_t)th_editor_lines(text), line = e->args->insert_line;

	if (line < 0 || line > total)
		return refuse(e,
			      "Invalid `insert_line` parameter: %lld. It should be within the "
			      "range of allowed values: [0, %lld]",
			      (long long)line, (long long)total);
	if (th_seen_is(e->job->env, e->place.path, &e->place.digest) == TH_SEEN_CHANGED)
		return refuse(e,
			      "%.*s was changed by something else since it was last shown here, so "
			      "its lines may have other numbers: view it again, then insert.",
			      TH_FMT(e->path));
	th_editor_insert(text, (size_t)line, new, &e->result);
	say_edited(e, TH_STR("a snippet of the edited file"), line - AROUND + 1,
		   line + AROUND + (int64_t)TH_MAX(th_editor_lines(new), 1),
		   "Review the changes and make sure they are as expected (correct indentation, "
		   "no duplicate lines, etc). Edit the file again if necessary.");
	return TH_OK;
}

static enum th_code undo(struct th_editing *e)
{
	struct th_str text, before;
	enum th_code code = th_undo_find(e->job->env, &e->place, &e->undo, &e->result, &e->err);

	if (code == TH_ENOENT)
		return e->place.exists
			   ? refuse(e, "No edit history found for %.*s.", TH_FMT(e->path))
			   : is_missing(e);
	if (code == TH_EUSAGE)
		return refuse(e, "%s", e->err.msg);
	if (code)
		return code;
	th_buf_printf(&e->say, "Last edit to %.*s undone successfully.", TH_FMT(e->path));
	before = th_buf_str(&e->result);
	e->goes = !e->undo.existed;
	e->new_bytes = before;
	if (e->goes) {
		th_buf_add_cstr(&e->say, " It had made the file, which is gone now.");
		return TH_OK;
	}
	if (!e->place.exists)
		e->place.mode = e->undo.mode;
	th_buf_add_char(&e->say, ' ');
	th_buf_clear(&e->decoded);
	th_charset_decode(th_charset_of(before), before, &e->decoded);
	text = th_buf_str(&e->decoded);
	th_editor_put_lines(&e->say, e->path, text, 1, th_editor_lines(text));
	return TH_OK;
}

/* From the new text to the new bytes. */
static enum th_code encode(struct th_editing *e)
{
	uint32_t bad = 0;
	enum th_code code = th_buf_check(&e->result, "the file", &e->err);

	e->new_bytes = th_buf_str(&e->result);
	if (code || e->charset == TH_CHARSET_UTF8)
		return code;
	if (!th_charset_encode(e->charset, th_buf_str(&e->result), &e->encoded, &bad))
		return refuse(e,
			      "%.*s is written in %s, which has no character U+%04X; nothing was "
			      "changed",
			      TH_FMT(e->path), th_charset_name(e->charset), bad);
	e->new_bytes = th_buf_str(&e->encoded);
	return th_buf_check(&e->encoded, "the file", &e->err);
}

static enum th_code check_replace(struct th_editing *e)
{
	if (!e->args->old_str.ptr)
		return wants(e, "old_str");
	if (!e->args->new_str.ptr)
		return wants(e, "new_str");
	if (!e->args->old_str.len)
		return refuse(e, "Invalid `old_str` parameter: it is empty.");
	if (th_str_eq(e->args->old_str, e->args->new_str))
		return refuse(e,
			      "Invalid `new_str` parameter: %.*s. No replacement was performed. "
			      "`new_str` and `old_str` must be different.",
			      TH_FMT(th_utf8_cut(e->args->new_str, SHOWN_MAX)));
	return TH_OK;
}

static enum th_code plan_change(struct th_editing *e)
{
	const struct th_edit *a = e->args;
	struct th_str text;
	enum th_code code;

	if (a->command == TH_EDIT_CREATE) {
		th_buf_add(&e->result, a->file_text);
		th_buf_printf(&e->say, "File created successfully at: %.*s", TH_FMT(e->path));
		return encode(e);
	}
	code = a->command == TH_EDIT_REPLACE ? check_replace(e) : TH_OK;
	if (!code && a->command == TH_EDIT_INSERT && a->insert_line == TH_EDIT_LINE_UNSET)
		code = wants(e, "insert_line");
	if (!code && a->command == TH_EDIT_INSERT && !a->new_str.ptr && !a->insert_text.ptr)
		code = wants(e, "new_str");
	if (!code && a->command == TH_EDIT_UNDO) {
		code = th_place_look(e->job->env, &e->place, NULL, &e->err);
		return code ? code : undo(e);
	}
	if (!code)
		code = read_text(e, &text);
	if (!code)
		code = a->command == TH_EDIT_REPLACE ? replace(e, text) : insert(e, text);
	return code ? code : encode(e);
}

static void put_note(struct th_editing *e)
{
	struct th_jw w = th_jw(&e->note);

	e->new_digest = th_sha256_of(e->new_bytes.ptr, e->new_bytes.len);
	th_jw_object(&w);
	th_jw_kstr(&w, "path", th_str_of(e->place.path));
	th_place_put_digest(&w, "old_sha256", e->place.exists, &e->place.digest);
	th_place_put_digest(&w, "new_sha256", !e->goes, &e->new_digest);
	th_jw_object_end(&w);
}

static void work_plan(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;
	const struct th_tool_env *env = e->job->env;
	enum what what;
	int64_t size;
	enum th_code code;

	th_tool_owner_enter(env);
	code = look_at(e, &what, &size);
	if (!code)
		code = check_path(e, what, size);
	if (!code && what != FOLDER)
		code = th_place_find(env, e->path, &e->place, &e->err);
	if (!code)
		code = e->args->command == TH_EDIT_VIEW ? show(e, what) : plan_change(e);
	th_tool_owner_leave(env);
	if (!code && e->args->command != TH_EDIT_VIEW)
		put_note(e);
	if (code && !e->err.code)
		th_fail(&e->err, code, "refused");
	if (code == TH_EPERM && e->status == TH_OUTCOME_DONE)
		e->status = TH_OUTCOME_REFUSED;
	else if (code && e->status == TH_OUTCOME_DONE)
		e->status = TH_OUTCOME_FAILED;
}

/* ---- in a worker: doing it ---- */

/* A command may have changed it meanwhile. */
static enum th_code still_so(struct th_editing *e)
{
	bool still = false;
	enum th_code code = th_place_still(e->job->env, &e->place, &still, &e->err);

	if (code || still)
		return code;
	(void)refuse(e,
		     "%.*s was changed by something else at this very moment; nothing was edited. "
		     "View it again.",
		     TH_FMT(e->path));
	e->status = TH_OUTCOME_FAILED;
	return TH_EUSAGE;
}

static void work_change(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;
	struct th_tool_env *env = e->job->env;
	bool taking_back = e->args->command == TH_EDIT_UNDO;
	struct th_err why = {};
	enum th_code code;

	th_tool_owner_enter(env);
	code = still_so(e);
	th_tool_owner_leave(env);
	if (code)
		return;
	if (!taking_back &&
	    th_undo_push(env, &e->place, th_buf_str(&e->bytes), &e->new_digest, &why))
		th_buf_printf(&e->say, "\n[undo_edit cannot take this back: %s]", why.msg);
	th_tool_owner_enter(env);
	e->touched = e->goes;
	if (e->goes)
		code = th_place_remove(env, &e->place, &e->err);
	else
		code = th_place_write(env, &e->place, e->new_bytes, &e->touched, &e->err);
	th_tool_owner_leave(env);
	if (code) {
		e->status =
		    !e->touched && code == TH_EPERM ? TH_OUTCOME_REFUSED : TH_OUTCOME_FAILED;
		return;
	}
	if (taking_back)
		th_undo_drop(env, &e->undo);
	th_seen_put(env, e->place.path, e->goes ? NULL : &e->new_digest);
}

/* ---- in a worker: what became of it ---- */

static bool is_as(const struct th_place *p, const struct th_json *note, const char *key)
{
	struct th_str hex = th_json_get_str(note, key);
	struct th_digest digest;

	if (!hex.ptr)
		return !p->exists;
	return p->exists && th_digest_parse(hex, &digest) && th_digest_eq(&digest, &p->digest);
}

static void work_probe(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *note;
	bool old = false, new = false;

	e->status = TH_OUTCOME_UNKNOWN;
	if (!th_json_parse(e->job->noted, &doc, NULL)) {
		note = th_json_root(doc);
		th_tool_owner_enter(e->job->env);
		if (!th_place_find(e->job->env, th_json_get_str(note, "path"), &e->place, NULL) &&
		    !th_place_look(e->job->env, &e->place, NULL, NULL)) {
			old = is_as(&e->place, note, "old_sha256");
			new = is_as(&e->place, note, "new_sha256");
		}
		th_tool_owner_leave(e->job->env);
	}
	if (new)
		e->status = TH_OUTCOME_DONE;
	else if (old)
		e->status = TH_OUTCOME_NOT_STARTED;
	th_buf_printf(&e->say,
		      new   ? "%.*s was edited as asked."
		      : old ? "%.*s is as it was before and was not edited."
			    : "%.*s is neither as it was before nor as the edit makes it: view it "
			      "before editing it again.",
		      TH_FMT(e->path));
}

/* ---- on the loop ---- */

static void run_first(struct th_edit_state *s);

static void finish(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;
	struct th_tool_job *job = e->job;
	struct th_edit_state *s = job->env->edit;
	struct th_buf say = e->say, note = e->note,
		      *bufs[] = { &e->decoded, &e->result, &e->encoded };
	enum th_outcome_status status = e->status;
	struct th_err err = e->err;
	bool failed = status != TH_OUTCOME_DONE && say.len == 0, parts = e->is_parts;
	char hex[TH_SHA256_HEX_SIZE + 1];

	assert(s->first == e);
	s->first = e->next;
	if (!s->first)
		s->last = NULL;
	if (parts) {
		th_digest_hex(&e->place.digest, hex);
		job->picture(job, th_buf_str(&e->bytes), th_str_of(hex),
			     th_str_of(e->picture_type));
	}
	for (size_t i = 0; i < TH_COUNT(bufs); i++)
		th_buf_deinit(bufs[i]);
	th_buf_deinit(&e->bytes);
	free(e);
	run_first(s);
	if (failed || (status == TH_OUTCOME_FAILED && err.code && err.code != TH_EUSAGE))
		th_tool_fail(job, status, &err);
	else if (parts)
		job->done(job, status, th_buf_str(&say), TH_STR(""));
	else
		th_tool_text(job, status, th_buf_str(&say), th_buf_str(&note));
	th_buf_deinit(&say);
	th_buf_deinit(&note);
}

static void planned(void *ctx)
{
	struct th_editing *e = (struct th_editing *)ctx;

	if (e->err.code || e->args->command == TH_EDIT_VIEW) {
		finish(e);
		return;
	}
	if (!e->job->note(e->job, th_buf_str(&e->note))) {
		e->status = TH_OUTCOME_NOT_STARTED;
		th_buf_clear(&e->say);
		th_fail(&e->err, TH_EIO,
			"the executor's journal takes no more, so nothing was edited");
		finish(e);
		return;
	}
	th_work(e->job->env->loop, work_change, finish, e);
}

static void run_first(struct th_edit_state *s)
{
	struct th_editing *e = s->first;

	if (e && e->probing)
		th_work(e->job->env->loop, work_probe, finish, e);
	else if (e)
		th_work(e->job->env->loop, work_plan, planned, e);
}

static struct th_str tidy(struct th_arena *a, struct th_str path)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_PATH_LEN_MAX + 2);
	struct th_str rest = path;

	if (path.len > TH_PATH_LEN_MAX)
		return path; /* refused soon */
	if (th_str_starts(path, TH_STR("/")))
		th_buf_add_char(&out, '/');
	while (rest.len) {
		struct th_str part = th_str_split(&rest, '/');

		if (part.len && !th_str_is(part, "."))
			th_buf_printf(&out, "%s%.*s",
				      out.len && out.ptr[out.len - 1] != '/' ? "/" : "",
				      TH_FMT(part));
	}
	return out.len ? th_arena_str(a, th_buf_str(&out)) : TH_STR(".");
}

static void begin(struct th_tool_job *job, bool probing)
{
	struct th_editing *e = (struct th_editing *)th_alloc(sizeof(*e));
	struct th_edit_state *s = th_editor_state(job->env);
	bool idle = !s->first;

	e->job = job;
	e->args = (const struct th_edit *)job->args;
	e->path = tidy(job->arena, e->args->path);
	e->probing = probing;
	e->status = TH_OUTCOME_DONE;
	th_buf_init(&e->bytes, TH_EDIT_FILE_MAX);
	th_buf_init(&e->decoded, 3 * TH_EDIT_FILE_MAX);
	th_buf_init(&e->result, TH_FILE_WRITE_MAX);
	th_buf_init(&e->encoded, TH_FILE_WRITE_MAX);
	th_buf_init(&e->say, TH_TOOL_OUTPUT_MAX);
	th_buf_init(&e->note, 2 * TH_PATH_LEN_MAX + 512);
	if (idle)
		s->first = e;
	else
		s->last->next = e;
	s->last = e;
	if (idle)
		run_first(s);
}

static void start(struct th_tool_job *job)
{
	begin(job, false);
}

static void probe(struct th_tool_job *job)
{
	begin(job, true);
}

static const char *const looking[] = { "view", NULL };
static const struct th_effect_looks looks = { "command", looking };

const struct th_tool th_tool_edit = {
	.name = "edit",
	.description =
	    "View, create and edit text files of the workspace. view: a file with numbered lines, "
	    "a "
	    "picture, or two levels of a folder. str_replace: put new_str in place of old_str, "
	    "which must stand exactly once. insert: put lines behind a line. undo_edit: take the "
	    "last edit of the file back.",
	.class = TH_CLASS_V,
	.looks = &looks,
	.scope = { TH_TARGET_FILES, TH_SHOWS_ONE },
	.in_default = true,
	.arguments = &th_edit_table,
	.start = start,
	.probe = probe,
};
