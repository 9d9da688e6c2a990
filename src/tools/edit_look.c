/* SPDX-License-Identifier: Apache-2.0 */
/* edit_look.c - what a call of the tool `edit` is about: what is wrong with it, and `view`. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/picture_type.h"
#include "base/text.h"
#include "io/files.h"
#include "tools/edit_parts.h"
#include "tools/edit_text.h"
#include "tools/edit_view.h"

const char *const th_edit_commands[] = { "view",   "create",    "str_replace",
					 "insert", "undo_edit", NULL };

/* ---- what is wrong ---- */

enum th_code th_editing_refuse(struct th_editing *e, const char *fmt, ...)
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

enum th_code th_editing_wants(struct th_editing *e, const char *parameter)
{
	return th_editing_refuse(e, "Parameter `%s` is required for command: %s.", parameter,
				 th_edit_commands[e->args->command]);
}

enum th_code th_editing_look(struct th_editing *e, enum th_edit_what *ret, int64_t *ret_size)
{
	TH_CLEANUP(th_fd_close) int fd = -1;
	struct stat st;
	enum th_code code = th_tool_open(e->job->env, e->path, O_PATH, 0, &fd, &e->err);

	*ret = TH_EDIT_NOTHING;
	*ret_size = 0;
	if (code == TH_ENOENT) {
		e->err = (struct th_err){};
		return TH_OK;
	}
	if (code)
		return code;
	if (fstat(fd, &st) < 0)
		return TH_OK;
	*ret = S_ISDIR(st.st_mode)   ? TH_EDIT_FOLDER
	       : S_ISREG(st.st_mode) ? TH_EDIT_FILE
				     : TH_EDIT_OTHER;
	*ret_size = st.st_size;
	return TH_OK;
}

enum th_code th_editing_missing(struct th_editing *e)
{
	return th_editing_refuse(
	    e,
	    "Invalid `path` parameter: %.*s. The path %.*s does not exist. Please "
	    "provide a valid path.",
	    TH_FMT(e->path), TH_FMT(e->path));
}

enum th_code th_editing_check(struct th_editing *e, enum th_edit_what what, int64_t size)
{
	struct th_str path = e->path;

	if (e->args->command == TH_EDIT_CREATE) {
		if (!e->args->file_text.ptr)
			return th_editing_wants(e, "file_text");
		return what == TH_EDIT_NOTHING
			   ? TH_OK
			   : th_editing_refuse(
				 e,
				 "Invalid `path` parameter: %.*s. File already exists at: "
				 "%.*s. Cannot overwrite files using command `create`.",
				 TH_FMT(path), TH_FMT(path));
	}
	if (what == TH_EDIT_NOTHING && e->args->command != TH_EDIT_UNDO)
		return th_editing_missing(e);
	if (what == TH_EDIT_FOLDER && e->args->command != TH_EDIT_VIEW)
		return th_editing_refuse(
		    e,
		    "Invalid `path` parameter: %.*s. The path %.*s is a directory and "
		    "only the `view` command can be used on directories.",
		    TH_FMT(path), TH_FMT(path));
	if (what == TH_EDIT_OTHER)
		return th_editing_refuse(
		    e, "Invalid `path` parameter: %.*s. It is no regular file.", TH_FMT(path));
	if (what == TH_EDIT_FILE && size > (int64_t)TH_EDIT_FILE_MAX)
		return th_editing_refuse(
		    e, "File is too large (%.1fMB). Maximum allowed size is %zuMB.",
		    (double)size / TH_MIB, TH_EDIT_FILE_MAX / TH_MIB);
	return TH_OK;
}

enum th_code th_editing_read(struct th_editing *e, struct th_str *ret)
{
	enum th_code code = th_place_look(e->job->env, &e->place, &e->bytes, &e->err);

	if (code)
		return code;
	*ret = th_buf_str(&e->bytes);
	e->charset = th_charset_of(*ret);
	if (e->charset == TH_CHARSET_BINARY)
		return th_editing_refuse(
		    e, "File appears to be binary and this file type cannot be read or "
		       "edited by this tool.");
	if (e->charset == TH_CHARSET_UTF8)
		return TH_OK;
	th_charset_decode(e->charset, *ret, &e->decoded);
	*ret = th_buf_str(&e->decoded);
	return th_buf_check(&e->decoded, e->place.path, &e->err);
}

/* ---- view ---- */

static enum th_code show_picture(struct th_editing *e)
{
	struct th_jw w = th_jw(&e->say);
	char hex[TH_SHA256_HEX_SIZE + 1];

	if (e->bytes.len > TH_TOOL_PICTURE_MAX)
		return th_editing_refuse(e,
					 "%.*s is a picture of %zu bytes; at most %zu can be shown",
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
	code = th_editing_refuse(e, "Invalid `view_range` parameter: [%s%s]. %s", shown.ptr,
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

enum th_code th_editing_show(struct th_editing *e, enum th_edit_what what)
{
	struct th_str text;
	enum th_code code;

	if (what == TH_EDIT_FOLDER && e->args->view_range.count)
		return bad_range(e, "The `view_range` parameter is not allowed when `path` points "
				    "to a directory.");
	if (what == TH_EDIT_FOLDER)
		return th_editor_view_folder(e->job->env, e->path, &e->say, &e->err);
	code = th_place_look(e->job->env, &e->place, &e->bytes, &e->err);
	if (code)
		return code;
	e->picture_type = th_editor_picture_type(e->path, th_buf_str(&e->bytes));
	if (e->picture_type && !th_picture_whole_type(th_buf_str(&e->bytes)))
		return th_editing_refuse(
		    e,
		    "%.*s is a picture that is broken, cut off, or has more than %d pixels a "
		    "side, and cannot be shown; a command can make a smaller one of it.",
		    TH_FMT(e->path), TH_PICTURE_SIDE_MAX);
	if (e->picture_type)
		return show_picture(e);
	th_buf_clear(&e->bytes);
	code = th_editing_read(e, &text);
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
