/* SPDX-License-Identifier: Apache-2.0 */
/* view_call.c - calls and what became of them. */
#include "console/view_parts.h"

#include <stdio.h>

#include "actions/action.h"
#include "base/text.h"
#include "console/console.h"

static void add_actions(const struct th_json *arguments, struct th_arena *a, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(th_json_get(arguments, "actions"));
	bool first = true, looks = false;

	while (th_json_next(&it)) {
		struct th_action action;

		th_buf_add_cstr(out, first ? "" : "; ");
		first = looks = false;
		if (th_action_parse(it.val, a, &action, NULL) == TH_OK) {
			th_action_line(&action, out);
			looks = action.kind == TH_ACTION_SCREENSHOT;
		} else {
			th_json_print(it.val, out);
		}
	}
	if (!looks && th_json_bool(th_json_get(arguments, "screenshot"), false))
		th_buf_add_cstr(out, first ? "look" : ", then look");
}

/* The members that the line has no words for: what somebody approves must not hide among them. */
static bool add_others(const struct th_json *root, const char *shown, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(root);
	struct th_jw w = th_jw(out);
	bool content = false, any = false;

	while (th_json_next(&it)) {
		bool sized = th_str_is(it.key, "content") && th_json_str(it.val).ptr;

		content |= sized;
		if (sized || th_str_is(it.key, shown))
			continue;
		if (!any) {
			th_buf_add_char(out, ' ');
			th_jw_object(&w);
		}
		any = true;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	if (any)
		th_jw_object_end(&w);
	return content;
}

bool th_view_call(struct th_str tool, struct th_str arguments, size_t columns, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	const struct th_json *root;
	const char *key = "command";
	struct th_str main;
	bool sized = false;

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	th_buf_add(&text, tool);
	if (th_json_parse(arguments, &doc, NULL) != TH_OK) {
		th_buf_add_char(&text, ' ');
		th_buf_add(&text, arguments);
		th_text_line(out, th_buf_str(&text), columns);
		return th_utf8_count(th_buf_str(&text)) <= columns;
	}
	root = th_json_root(doc);
	main = th_json_get_str(root, key);
	if (!main.ptr)
		main = th_json_get_str(root, key = "path");
	if (!main.ptr && th_str_is(tool, "ask"))
		main = th_json_get_str(root, key = "question");
	if (th_str_is(tool, "computer") && th_json_is_array(th_json_get(root, "actions"))) {
		th_buf_add_cstr(&text, ": ");
		add_actions(root, &a, &text);
	} else if (main.ptr) {
		th_buf_add_cstr(&text, ": ");
		th_buf_add(&text, main);
		if (th_json_get_str(root, "content").ptr) {
			th_buf_add_cstr(&text, ", ");
			th_cli_size(&text, (int64_t)th_json_get_str(root, "content").len);
		}
		sized = add_others(root, key, &text);
	} else {
		th_buf_add_char(&text, ' ');
		th_json_print(root, &text);
	}
	th_text_line(out, th_buf_str(&text), columns);
	return !sized && th_utf8_count(th_buf_str(&text)) <= columns;
}

void th_view_show_call(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		       struct th_buf *out)
{
	struct th_ev_call d;

	if (th_table_parse(&th_ev_call_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	th_view_begin(v, ev, "does", TH_VIEW_CYAN, out);
	(void)th_view_call(d.tool, d.arguments, th_view_room(v), out);
	th_buf_add_char(out, '\n');
	if (th_str_is(d.policy, "refuse"))
		th_view_line(v, ev, "refused", TH_VIEW_RED, d.reason, out);
}

/* A command's text ends with its exit code for the model; the line has it already. */
static struct th_str without_exit(struct th_str text, int64_t exit_code)
{
	char last[40];
	int len = snprintf(last, sizeof(last), "[exit code %lld]", (long long)exit_code);

	text = th_str_trim(text);
	if (exit_code >= 0 && th_str_ends(text, th_str_n(last, (size_t)len)))
		text = th_str_trim(th_str_sub(text, 0, text.len - (size_t)len));
	return text;
}

/* The parts of an output: how many lines of text, the first of them, and the pictures. */
static void add_output(const struct th_json *output, int64_t exit_code, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(output);
	struct th_str text = th_json_str(output);
	bool first = true;
	size_t lines = 0;

	if (text.ptr) {
		struct th_str line = {};

		text = without_exit(text, exit_code);
		while (text.len) {
			struct th_str l = th_str_split(&text, '\n');

			line = lines++ == 0 ? l : line;
		}
		th_buf_add(out, line);
		if (lines > 1)
			th_buf_printf(out, " (+%zu line%s)", lines - 1, lines > 2 ? "s" : "");
		return;
	}
	while (th_json_next(&it)) {
		struct th_str hash = th_json_get_str(it.val, "blob");

		th_buf_add_cstr(out, first ? "" : ", ");
		first = false;
		text = th_json_get_str(it.val, "text");
		if (text.ptr) {
			add_output(th_json_get(it.val, "text"), exit_code, out);
			continue;
		}
		th_buf_add_cstr(out, "picture ");
		if (th_json_get_int(it.val, "width", 0))
			th_buf_printf(out, "%lldx%lld, ",
				      (long long)th_json_get_int(it.val, "width", 0),
				      (long long)th_json_get_int(it.val, "height", 0));
		if (th_json_get_int(it.val, "size", 0)) {
			th_cli_size(out, th_json_get_int(it.val, "size", 0));
			th_buf_add_char(out, ' ');
		}
		th_buf_printf(out, "%.*s", TH_FMT(th_str_sub(hash, 0, 12)));
	}
}

void th_view_show_outcome(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf tail TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_json *evidence = th_json_get(data, "evidence");
	struct th_ev_outcome d;
	int64_t exit_code = th_json_get_int(evidence, "exit_code", -1);
	enum th_view_style s;
	size_t room_left;

	if (th_table_parse(&th_ev_outcome_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	s = th_str_is(d.status, "done")      ? (exit_code > 0 ? TH_VIEW_YELLOW : TH_VIEW_GREEN)
	    : th_str_is(d.status, "unknown") ? TH_VIEW_YELLOW
					     : TH_VIEW_RED;
	if (exit_code >= 0)
		th_buf_printf(&tail, ", exit %lld", (long long)exit_code);
	if (d.elapsed_ms) {
		th_buf_add_cstr(&tail, ", ");
		th_cli_time(&tail, d.elapsed_ms);
	}
	add_output(th_json_get(data, "output"), exit_code, &text);
	th_view_begin(v, ev, "", s, out);
	th_view_style(v, s, out);
	th_text_line(out, d.status, 20);
	th_view_unstyle(v, s, out);
	th_text_line(out, th_buf_str(&tail), 60);
	room_left = th_view_room(v) - TH_MIN(th_view_room(v) - 20, d.status.len + tail.len + 2);
	if (text.len) {
		th_buf_add_cstr(out, ": ");
		th_text_line(out, th_buf_str(&text), room_left);
	}
	if (v->many) {
		th_buf_add_cstr(out, "  [");
		th_text_line(out, d.call_id, 24);
		th_buf_add_char(out, ']');
	}
	th_buf_add_char(out, '\n');
}
