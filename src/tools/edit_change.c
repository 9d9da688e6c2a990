/* SPDX-License-Identifier: Apache-2.0 */
/* edit_change.c - what a file becomes by a call of the tool `edit`. */
#include "base/text.h"
#include "tools/edit_parts.h"
#include "tools/edit_text.h"
#include "tools/edit_view.h"

#define AROUND 4               /* lines shown around a change */
#define SHOWN_MAX (8 * TH_KIB) /* of an argument that is said again */

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
		return th_editing_refuse(
		    e,
		    "No replacement was performed, old_str `%.*s` did not appear "
		    "verbatim in %.*s.",
		    TH_FMT(th_utf8_cut(old, SHOWN_MAX)), TH_FMT(e->path));
	if (f.count > 1) {
		th_buf_init(&lines, 4 * TH_KIB);
		add_place_lines(&lines, &f);
		(void)th_editing_refuse(
		    e,
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
		return th_editing_refuse(
		    e,
		    "Invalid `insert_line` parameter: %lld. It should be within the "
		    "range of allowed values: [0, %lld]",
		    (long long)line, (long long)total);
	if (th_seen_is(e->job->env, e->place.path, &e->place.digest) == TH_SEEN_CHANGED)
		return th_editing_refuse(
		    e,
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
		return e->place.exists ? th_editing_refuse(e, "No edit history found for %.*s.",
							   TH_FMT(e->path))
				       : th_editing_missing(e);
	if (code == TH_EUSAGE)
		return th_editing_refuse(e, "%s", e->err.msg);
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
		return th_editing_refuse(
		    e,
		    "%.*s is written in %s, which has no character U+%04X; nothing was "
		    "changed",
		    TH_FMT(e->path), th_charset_name(e->charset), bad);
	e->new_bytes = th_buf_str(&e->encoded);
	return th_buf_check(&e->encoded, "the file", &e->err);
}

static enum th_code check_replace(struct th_editing *e)
{
	if (!e->args->old_str.ptr)
		return th_editing_wants(e, "old_str");
	if (!e->args->new_str.ptr)
		return th_editing_wants(e, "new_str");
	if (!e->args->old_str.len)
		return th_editing_refuse(e, "Invalid `old_str` parameter: it is empty.");
	if (th_str_eq(e->args->old_str, e->args->new_str))
		return th_editing_refuse(
		    e,
		    "Invalid `new_str` parameter: %.*s. No replacement was performed. "
		    "`new_str` and `old_str` must be different.",
		    TH_FMT(th_utf8_cut(e->args->new_str, SHOWN_MAX)));
	return TH_OK;
}

enum th_code th_editing_change(struct th_editing *e)
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
		code = th_editing_wants(e, "insert_line");
	if (!code && a->command == TH_EDIT_INSERT && !a->new_str.ptr && !a->insert_text.ptr)
		code = th_editing_wants(e, "new_str");
	if (!code && a->command == TH_EDIT_UNDO) {
		code = th_place_look(e->job->env, &e->place, NULL, &e->err);
		return code ? code : undo(e);
	}
	if (!code)
		code = th_editing_read(e, &text);
	if (!code)
		code = a->command == TH_EDIT_REPLACE ? replace(e, text) : insert(e, text);
	return code ? code : encode(e);
}
