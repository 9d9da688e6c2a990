/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - a call as an editor is shown it: what it does, where, and what it would change. */
#include "acp/acp.h"
#include "base/text.h"
#include "console/view.h"
#include "io/files.h"
#include "tools/tool.h"

#define TITLE_COLUMNS 300
#define DIFF_SIZE_MAX TH_MIB /* of a file that is shown beside what it would become */

/* By what the tool's row says of it. */
static const char *kind_of(struct th_str name)
{
	const struct th_tool *tool = th_tool_find(name);

	if (!tool)
		return th_str_ends(name, TH_STR("shell")) ? "execute"
		       : th_str_is(name, "web_search")    ? "search"
							  : "other";
	if (tool->class == TH_CLASS_R)
		return tool->scope.target == TH_TARGET_FILES ? "read" : "search";
	return tool->class == TH_CLASS_V ? "edit" : "execute";
}

/* Absolute; empty: it is none that a file of this machine can have. */
static void add_path(const struct acp_session *s, struct th_str path, struct th_buf *out)
{
	if (!path.len || path.len > TH_PATH_LEN_MAX || memchr(path.ptr, 0, path.len))
		return;
	if (path.ptr[0] != '/')
		th_buf_printf(out, "%s/", s->cwd);
	th_buf_add(out, path);
}

static void put_diff(struct th_str path, const struct th_str *before, struct th_str after,
		     struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("diff"));
	th_jw_kstr(w, "path", path);
	if (before)
		th_jw_kstr(w, "oldText", *before);
	th_jw_kstr(w, "newText", after);
	th_jw_object_end(w);
}

/* A file that would be written anew, as it is now. */
static void put_whole(struct th_str path, struct th_str after, struct th_jw *w)
{
	struct th_buf before TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(DIFF_SIZE_MAX);
	struct th_err err;
	enum th_code code = th_file_read(path.ptr, DIFF_SIZE_MAX, &before, &err);
	struct th_str text = th_buf_str(&before);

	if (code == TH_ENOENT)
		put_diff(path, NULL, after, w);
	else if (code == TH_OK && th_utf8_valid(text) == text.len)
		put_diff(path, &text, after, w);
}

/* `waits`: it has not run, so the file is as it would find it. */
static void put_change(const struct acp_session *s, const struct th_json *arguments, bool waits,
		       struct th_jw *w)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX + 2);
	struct th_str before = th_json_get_str(arguments, "old_str");
	struct th_str after = th_json_get_str(arguments, "new_str");
	struct th_str whole = th_json_get_str(arguments, "content");

	if (!whole.ptr)
		whole = th_json_get_str(arguments, "file_text");
	add_path(s, th_json_get_str(arguments, "path"), &path);
	if (!path.len)
		return;
	if (before.len)
		put_diff(th_buf_str(&path), &before, after, w);
	else if (whole.ptr && waits)
		put_whole(th_buf_str(&path), whole, w);
}

static void put_content(const struct acp_session *s, const struct th_json *arguments,
			const char *why, bool edits, struct th_jw *w)
{
	th_jw_name(w, TH_STR("content"));
	th_jw_array(w);
	if (why && why[0]) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("content"));
		th_jw_name(w, TH_STR("content"));
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("text"));
		th_jw_kstr(w, "text", th_str_of(why));
		th_jw_object_end(w);
		th_jw_object_end(w);
	}
	if (edits)
		put_change(s, arguments, why != NULL, w);
	th_jw_array_end(w);
}

void th_acp_put_call(const struct acp_session *s, struct th_str tool, struct th_str arguments,
		     const char *why, struct th_jw *w)
{
	struct th_buf title TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_PATH_LEN_MAX + 2);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	bool edits = strcmp(kind_of(tool), "edit") == 0;

	(void)th_view_call(tool, arguments, TITLE_COLUMNS, &title);
	th_jw_kstr(w, "title", th_buf_str(&title));
	th_jw_kstr(w, "kind", th_str_of(kind_of(tool)));
	th_jw_kstr(w, "status", TH_STR("pending"));
	if (th_json_parse(arguments, &doc, NULL) != TH_OK)
		return;
	th_jw_kraw(w, "rawInput", arguments);
	put_content(s, th_json_root(doc), why, edits, w);
	add_path(s, th_json_get_str(th_json_root(doc), "path"), &path);
	if (!path.len)
		return;
	th_jw_name(w, TH_STR("locations"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "path", th_buf_str(&path));
	th_jw_object_end(w);
	th_jw_array_end(w);
}
