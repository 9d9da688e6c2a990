/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/cli.h"
#include "core/action.h"

#define COLUMNS_DEFAULT 160
#define INDENT 20     /* columns before the text: time and label */
#define LINES_MAX 200 /* of one text */
#define THOUGHT_LINES_MAX 8
#define LINE_COLUMNS_MAX 4000

enum style { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };

struct th_view {
	struct th_view_options options;
	int64_t first_ms, last_ms; /* of the events so far */
	int64_t turn;
	enum th_delta_kind streaming; /* of the open line */
	bool line_open;               /* streaming stands inside a line */
	bool streamed_text, streamed_thought;
	bool many; /* the answer has several calls: results name theirs */
	struct th_arena scratch;
};

struct th_view *th_view_new(const struct th_view_options *options)
{
	struct th_view *v = th_alloc(sizeof(*v));

	v->options = *options;
	if (v->options.columns < INDENT + 20)
		v->options.columns = options->columns ? INDENT + 20 : COLUMNS_DEFAULT;
	th_arena_init(&v->scratch, TH_TURN_MEMORY_MAX);
	return v;
}

struct th_view *th_view_free(struct th_view *v)
{
	if (v)
		th_arena_deinit(&v->scratch);
	free(v);
	return NULL;
}

void th_view_freep(struct th_view **v)
{
	*v = th_view_free(*v);
}

bool th_view_streams(const struct th_view *v)
{
	return v->options.stream;
}

/* ---- lines ---- */

static const char *code_of(enum style s)
{
	switch (s) {
	case BOLD:
		return "\033[1m";
	case DIM:
		return "\033[2m";
	case RED:
		return "\033[31m";
	case GREEN:
		return "\033[32m";
	case YELLOW:
		return "\033[33m";
	case CYAN:
		return "\033[36m";
	case PLAIN:
		break;
	}
	return "";
}

static void style(const struct th_view *v, enum style s, struct th_buf *out)
{
	if (v->options.colour && s != PLAIN)
		th_buf_add_cstr(out, code_of(s));
}

static void unstyle(const struct th_view *v, enum style s, struct th_buf *out)
{
	if (v->options.colour && s != PLAIN)
		th_buf_add_cstr(out, "\033[0m");
}

void th_view_break(struct th_view *v, struct th_buf *out)
{
	if (!v->line_open)
		return;
	unstyle(v, v->streaming == TH_DELTA_REASONING ? DIM : PLAIN, out);
	th_buf_add_char(out, '\n');
	v->line_open = false;
}

/* "   1:02  says      " */
static void begin_line(struct th_view *v, const struct th_event *ev, const char *label,
		       enum style s, struct th_buf *out)
{
	int64_t ms = ev ? ev->ts_ms - v->first_ms : -1;

	th_view_break(v, out);
	style(v, DIM, out);
	if (ms >= 0)
		th_buf_printf(out, "%4lld:%02lld", (long long)(ms / 60000),
			      (long long)(ms / 1000 % 60));
	else
		th_buf_add_cstr(out, "       ");
	unstyle(v, DIM, out);
	th_buf_add_cstr(out, "  ");
	style(v, s, out);
	th_buf_printf(out, "%-10s", label);
	unstyle(v, s, out);
	th_buf_add_char(out, ' ');
}

static size_t room(const struct th_view *v)
{
	return v->options.columns - INDENT;
}

/* Text of several lines, each on its own under the label. */
static void add_lines(struct th_view *v, struct th_str text, enum style s, size_t lines_max,
		      struct th_buf *out)
{
	size_t lines = 0;

	text = th_str_trim(text);
	style(v, s, out);
	do {
		struct th_str line = th_str_split(&text, '\n');

		if (lines > 0)
			th_buf_printf(out, "\n%*s", INDENT, "");
		th_text_line(out, line, LINE_COLUMNS_MAX);
	} while (text.len && ++lines < lines_max);
	if (text.len) {
		size_t more = 0;

		while (text.len) {
			(void)th_str_split(&text, '\n');
			more++;
		}
		th_buf_printf(out, "\n%*s\xe2\x80\xa6 %zu more lines", INDENT, "", more);
	}
	unstyle(v, s, out);
	th_buf_add_char(out, '\n');
}

static void whole(struct th_view *v, const struct th_event *ev, const char *label, enum style s,
		  struct th_str text, struct th_buf *out)
{
	begin_line(v, ev, label, s, out);
	add_lines(v, text, PLAIN, LINES_MAX, out);
}

static void one_line(struct th_view *v, const struct th_event *ev, const char *label, enum style s,
		     struct th_str text, struct th_buf *out)
{
	begin_line(v, ev, label, s, out);
	th_text_line(out, text, room(v));
	th_buf_add_char(out, '\n');
}

void th_view_note(struct th_view *v, const char *label, struct th_str text, struct th_buf *out)
{
	begin_line(v, NULL, label, DIM, out);
	add_lines(v, text, PLAIN, LINES_MAX, out);
}

/* ---- calls ---- */

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

static void show_call(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		      struct th_buf *out)
{
	struct th_ev_call d;

	if (th_table_parse(&th_ev_call_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	begin_line(v, ev, "does", CYAN, out);
	(void)th_view_call(d.tool, d.arguments, room(v), out);
	th_buf_add_char(out, '\n');
	if (th_str_is(d.policy, "refuse"))
		one_line(v, ev, "refused", RED, d.reason, out);
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

static void show_outcome(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_buf tail TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_json *evidence = th_json_get(data, "evidence");
	struct th_ev_outcome d;
	int64_t exit_code = th_json_get_int(evidence, "exit_code", -1);
	enum style s;
	size_t room_left;

	if (th_table_parse(&th_ev_outcome_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	s = th_str_is(d.status, "done")      ? (exit_code > 0 ? YELLOW : GREEN)
	    : th_str_is(d.status, "unknown") ? YELLOW
					     : RED;
	if (exit_code >= 0)
		th_buf_printf(&tail, ", exit %lld", (long long)exit_code);
	if (d.elapsed_ms) {
		th_buf_add_cstr(&tail, ", ");
		th_cli_time(&tail, d.elapsed_ms);
	}
	add_output(th_json_get(data, "output"), exit_code, &text);
	begin_line(v, ev, "", s, out);
	style(v, s, out);
	th_text_line(out, d.status, 20);
	unstyle(v, s, out);
	th_text_line(out, th_buf_str(&tail), 60);
	room_left = room(v) - TH_MIN(room(v) - 20, d.status.len + tail.len + 2);
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

/* ---- answers ---- */

static bool is_call(const struct th_json *item)
{
	struct th_str type = th_json_get_str(item, "type");

	return th_str_ends(type, TH_STR("_call"));
}

/* All texts in a list of parts, one after the other. */
static void add_parts(const struct th_json *parts, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(parts);

	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		if (!text.ptr)
			text = th_json_get_str(it.val, "refusal");
		if (out->len && text.len)
			th_buf_add_char(out, '\n');
		th_buf_add(out, text);
	}
}

static void show_items(struct th_view *v, const struct th_event *ev, const struct th_json *items,
		       bool final, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(items);

	while (th_json_next(&it)) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "reasoning") && !v->streamed_thought) {
			add_parts(th_json_get(it.val, "summary"), &text);
			if (!text.len)
				continue;
			begin_line(v, ev, "thinks", DIM, out);
			add_lines(v, th_buf_str(&text), DIM, THOUGHT_LINES_MAX, out);
		} else if (th_str_is(type, "message") && !final && !v->streamed_text) {
			add_parts(th_json_get(it.val, "content"), &text);
			if (text.len)
				whole(v, ev, "says", PLAIN, th_buf_str(&text), out);
		}
	}
}

static void add_usage(const struct th_json *usage, struct th_buf *out)
{
	int64_t cached = th_json_get_int(usage, "cached", 0),
		in = th_json_get_int(usage, "input", -1);

	if (in < 0)
		return;
	th_cli_number(out, in);
	th_buf_add_cstr(out, " tokens in");
	if (cached > 0) {
		th_buf_add_cstr(out, " (");
		th_cli_number(out, cached);
		th_buf_add_cstr(out, " cached)");
	}
	th_buf_add_cstr(out, ", ");
	th_cli_number(out, TH_MAX(th_json_get_int(usage, "output", 0), 0));
	th_buf_add_cstr(out, " out, ");
}

static void show_answer(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_json *items = th_json_get(data, "items");
	struct th_json_iter it = th_json_iter(items);
	struct th_ev_model_answered d;
	size_t calls = 0;
	bool incomplete;

	if (th_table_parse(&th_ev_model_answered_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	while (th_json_next(&it))
		calls += is_call(it.val);
	incomplete = th_str_is(d.status, "incomplete");
	/* The final text comes with its own event. */
	show_items(v, ev, items, calls == 0 && !incomplete, out);
	v->many = calls > 1;
	if (!v->streamed_text || calls > 0)
		v->streamed_text = false;
	v->streamed_thought = false;
	if (incomplete) {
		th_buf_printf(&text, "the answer is cut short: %.*s", TH_FMT(d.reason));
		one_line(v, ev, "cut", RED, th_buf_str(&text), out);
		th_buf_clear(&text);
	}
	th_buf_printf(&text, "%lld: ", (long long)v->turn);
	add_usage(th_json_get(data, "usage"), &text);
	if (th_json_get(data, "cost_nano")) {
		th_cli_cost(&text, d.cost_nano);
		th_buf_add_cstr(&text, ", ");
	}
	th_cli_time(&text, d.elapsed_ms);
	begin_line(v, ev, "turn", DIM, out);
	style(v, DIM, out);
	th_text_line(out, th_buf_str(&text), room(v));
	unstyle(v, DIM, out);
	th_buf_add_char(out, '\n');
}

static void show_model_failed(struct th_view *v, const struct th_event *ev,
			      const struct th_json *data, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_ev_model_failed d;

	if (th_table_parse(&th_ev_model_failed_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	v->streamed_text = v->streamed_thought = false;
	th_buf_printf(&text, "%.*s", TH_FMT(d.class));
	if (d.http_status)
		th_buf_printf(&text, ", HTTP %lld", (long long)d.http_status);
	th_buf_printf(&text, ": %.*s", TH_FMT(th_utf8_cut(d.message, 2000)));
	if (d.retry) {
		th_buf_add_cstr(&text, "; again in ");
		th_cli_time(&text, d.retry_in_ms);
	} else if (d.next.len) {
		th_buf_printf(&text, "; goes on with %.*s", TH_FMT(th_utf8_cut(d.next, 200)));
	}
	one_line(v, ev,
		 d.retry      ? "retries"
		 : d.next.len ? "next model"
			      : "no answer",
		 d.retry || d.next.len ? YELLOW : RED, th_buf_str(&text), out);
}

/* ---- the other events ---- */

static void show_created(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	const struct th_json *agent = th_json_get(data, "agent");
	const struct th_json *computer = th_json_get(agent, "computer");
	struct th_str begins = th_json_get_str(data, "begins");

	th_buf_printf(
	    &text, "agent %.*s, model %.*s",
	    TH_FMT(th_utf8_cut(begins.len ? begins : th_json_get_str(agent, "name"), 200)),
	    TH_FMT(th_utf8_cut(th_json_get_str(data, "model"), 200)));
	if (th_json_is_object(computer))
		th_buf_printf(&text, ", computer %.*s",
			      TH_FMT(th_utf8_cut(th_json_get_str(computer, "kind"), 80)));
	if (th_json_get_str(data, "workspace").len)
		th_buf_printf(&text, ", in %.*s",
			      TH_FMT(th_utf8_cut(th_json_get_str(data, "workspace"), 2000)));
	one_line(v, ev, "agent", DIM, th_buf_str(&text), out);
}

static void show_message(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MESSAGE_MAX * 2);
	const struct th_json *content = th_json_get(data, "content");

	if (th_json_str(content).ptr)
		th_buf_add(&text, th_json_str(content));
	else
		add_parts(content, &text);
	whole(v, ev, "message", BOLD, th_buf_str(&text), out);
}

static void show_approval(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	bool asked = ev->kind == TH_EV_APPROVAL_REQUESTED;
	bool approve = th_json_bool(th_json_get(data, "approve"), false);
	struct th_str by = th_json_get_str(data, "by"), message = th_json_get_str(data, "message");

	if (asked) {
		th_buf_printf(&text, "%.*s  [%.*s]", TH_FMT(th_json_get_str(data, "reason")),
			      TH_FMT(th_json_get_str(data, "call_id")));
		one_line(v, ev, "asks", YELLOW, th_buf_str(&text), out);
		return;
	}
	if (by.len)
		th_buf_printf(&text, "by %.*s", TH_FMT(by));
	if (message.len)
		th_buf_printf(&text, "%s%.*s", text.len ? ": " : "", TH_FMT(message));
	one_line(v, ev, approve ? "approved" : "rejected", approve ? GREEN : RED, th_buf_str(&text),
		 out);
}

static void show_question(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	one_line(v, ev, "asks", YELLOW, th_json_get_str(th_json_get(data, "arguments"), "question"),
		 out);
}

/* Why it waits; then what was said. */
static void show_parked(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str by = th_json_get_str(data, "by"), message = th_json_get_str(data, "message");

	if (ev->kind == TH_EV_PARKED) {
		th_buf_printf(&text,
			      "what became of it? nobody here knows; a person must say  [%.*s]",
			      TH_FMT(th_json_get_str(data, "call_id")));
		one_line(v, ev, "asks", YELLOW, th_buf_str(&text), out);
		return;
	}
	th_buf_printf(&text, "%.*s", TH_FMT(th_json_get_str(data, "status")));
	if (by.len)
		th_buf_printf(&text, ", says %.*s", TH_FMT(by));
	if (message.len)
		th_buf_printf(&text, ": %.*s", TH_FMT(message));
	one_line(v, ev, "settled", YELLOW, th_buf_str(&text), out);
}

static void show_final(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		       struct th_buf *out)
{
	if (v->streamed_text) /* it stands there already */
		v->streamed_text = false;
	else
		whole(v, ev, "says", BOLD, th_json_get_str(data, "output"), out);
}

/* A person in the agent's place. */
static void show_person(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str by = th_json_get_str(data, "by"), note = th_json_get_str(data, "note"),
		      status = th_json_get_str(data, "status"), why = th_json_get_str(data, "why");
	struct th_json_iter it =
	    th_json_iter(th_json_get(th_json_get(data, "arguments"), "actions"));

	if (ev->kind == TH_EV_INPUT_DONE && th_str_is(status, "done"))
		return;
	if (ev->kind == TH_EV_CONTROL)
		th_buf_add_cstr(&text, th_json_bool(th_json_get(data, "taken"), false)
					   ? "takes over"
					   : "gives back");
	while (ev->kind == TH_EV_INPUT && th_json_next(&it)) {
		struct th_action action;

		th_buf_add_cstr(&text, it.index ? "; " : "");
		if (th_action_parse(it.val, &v->scratch, &action, NULL) == TH_OK)
			th_action_line(&action, &text);
	}
	if (ev->kind == TH_EV_INPUT_DONE)
		th_buf_printf(&text, "%.*s%s%.*s", TH_FMT(status), why.len ? ": " : "",
			      TH_FMT(th_utf8_cut(why, 2000)));
	if (note.len)
		th_buf_printf(&text, ": %.*s", TH_FMT(note));
	if (by.len)
		th_buf_printf(&text, " (%.*s)", TH_FMT(by));
	one_line(v, ev, "person", YELLOW, th_buf_str(&text), out);
}

static void show_state(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		       struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_str reason = th_json_get_str(data, "reason");

	th_buf_printf(&text, "%.*s%s%.*s", TH_FMT(th_json_get_str(data, "to")),
		      reason.len ? ": " : "", TH_FMT(th_utf8_cut(reason, 2000)));
	one_line(v, ev, "state", YELLOW, th_buf_str(&text), out);
}

/* The session that works on a call: who, for what it waits, and what it took. */
static void show_delegation(struct th_view *v, const struct th_event *ev,
			    const struct th_json *data, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_json_iter it = th_json_iter(th_json_get(data, "waits"));

	th_buf_add(&text, th_json_get_str(data, "child"));
	if (ev->kind == TH_EV_DELEGATION_STARTED) {
		th_buf_printf(&text, ": agent %.*s", TH_FMT(th_json_get_str(data, "agent")));
	} else if (ev->kind == TH_EV_DELEGATION_FINISHED) {
		th_buf_printf(&text, " is %.*s after ", TH_FMT(th_json_get_str(data, "state")));
		th_cli_count(&text, th_json_get_int(data, "turns", 0), "turn");
	} else {
		th_buf_add_cstr(&text, th_json_count(it.parent) ? " waits:" : " goes on");
		while (th_json_is_array(it.parent) && th_json_next(&it))
			th_buf_printf(&text, " %.*s %.*s (%.*s)",
				      TH_FMT(th_json_get_str(it.val, "tool")),
				      TH_FMT(th_json_get_str(it.val, "call_id")),
				      TH_FMT(th_json_get_str(it.val, "reason")));
		if (th_json_get_int(data, "more", 0) > 0)
			th_buf_printf(&text, " and %lld more",
				      (long long)th_json_get_int(data, "more", 0));
	}
	one_line(v, ev, "delegate", ev->kind == TH_EV_DELEGATION_WAITS ? YELLOW : DIM,
		 th_buf_str(&text), out);
}

static void show_guardrail(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			   struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_ev_guardrail d;

	if (th_table_parse(&th_ev_guardrail_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	th_buf_printf(&text, "%.*s (%.*s) ", TH_FMT(d.name), TH_FMT(d.stage));
	th_buf_add_cstr(&text, d.tripped         ? "stops the run"
			       : d.message.len   ? "has the model told instead"
			       : d.again         ? "sends the agent back"
			       : d.arguments.len ? "changes the arguments"
						 : "passed");
	if (d.message.len)
		th_buf_printf(&text, ": %.*s", TH_FMT(d.message));
	one_line(v, ev, "guardrail",
		 d.tripped                                     ? RED
		 : d.message.len || d.again || d.arguments.len ? YELLOW
							       : DIM,
		 th_buf_str(&text), out);
}

static void show_hook(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		      struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_buf_printf(&text, "%.*s: %.*s", TH_FMT(th_json_get_str(data, "name")),
		      TH_FMT(th_json_get_str(data, "command")));
	one_line(v, ev, "hook", DIM, th_buf_str(&text), out);
}

static void show_analysis(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str why = th_json_get_str(data, "failed");

	th_buf_printf(&text, "%.*s sees the risk %.*s", TH_FMT(th_json_get_str(data, "name")),
		      TH_FMT(th_json_get_str(data, "risk")));
	if (!why.len)
		why = th_json_get_str(data, "reason");
	if (why.len)
		th_buf_printf(&text, ": %.*s", TH_FMT(why));
	one_line(v, ev, "analysis", th_json_get_str(data, "failed").len ? YELLOW : DIM,
		 th_buf_str(&text), out);
}

/* A function that was asked: what it said, or why it could not. */
static void show_code(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		      struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_ev_code d;

	if (th_table_parse(&th_ev_code_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	th_buf_printf(&text, "%.*s (%.*s)", TH_FMT(d.name), TH_FMT(d.use));
	if (d.failed.len)
		th_buf_printf(&text, " failed: %.*s", TH_FMT(d.failed));
	else if (d.answer.len)
		th_buf_printf(&text, " says %.*s", TH_FMT(d.answer));
	one_line(v, ev, "code", d.failed.len ? YELLOW : DIM, th_buf_str(&text), out);
}

/* What the model sees of what was before changes. */
static void put_side(const char *kind, const struct th_side_usage *u, struct th_buf *out)
{
	th_buf_printf(out, " (%s: ", kind);
	th_cli_count(out, u->requests, "request");
	if (u->cost_nano || !u->cost_unknown) {
		th_buf_add_cstr(out, u->cost_unknown ? ", at least " : ", ");
		th_cli_cost(out, u->cost_nano);
	}
	th_buf_add_char(out, ')');
}

static void show_history(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str by = th_json_get_str(data, "name"),
		      summary = th_json_get_str(data, "summary"),
		      fallback = th_json_get_str(data, "fallback");
	const struct th_json *usage = th_json_get(data, "usage");
	struct th_side_usage took = th_side_read(usage);
	int64_t count = th_json_get_int(data, "count", 0);

	if (ev->kind == TH_EV_ITEMS_ADDED) {
		th_cli_count(&text, (int64_t)th_json_count(th_json_get(data, "items")), "item");
		th_buf_add_cstr(&text, " added");
	} else if (ev->kind == TH_EV_ITEMS_REMOVED) {
		th_buf_add_cstr(&text, count ? "the newest " : "all items");
		if (count)
			th_cli_count(&text, count, "item");
		th_buf_add_cstr(&text, " taken out");
	} else if (ev->kind == TH_EV_CONDENSATION_REQUESTED) {
		th_buf_add_cstr(&text, "is to be shortened before the next request");
	} else {
		th_buf_printf(&text, "shortened up to event %lld",
			      (long long)th_json_get_int(data, "last_seq", 0));
		if (by.len)
			th_buf_printf(&text, " by %.*s", TH_FMT(by));
		if (fallback.len)
			th_buf_printf(&text, " (%.*s)", TH_FMT(fallback));
		if (usage)
			put_side("condenser", &took, &text);
		if (summary.len)
			th_buf_printf(&text, ": %.*s", TH_FMT(summary));
	}
	one_line(v, ev, "history", DIM, th_buf_str(&text), out);
}

static void show_handoff(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_buf_printf(&text, "from %.*s to %.*s", TH_FMT(th_json_get_str(data, "from")),
		      TH_FMT(th_json_get_str(data, "to")));
	one_line(v, ev, "handoff", CYAN, th_buf_str(&text), out);
}

static void show_forked(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text, "from %.*s, after event %lld",
		      TH_FMT(th_utf8_cut(th_json_get_str(data, "parent"), TH_SESSION_ID_MAX)),
		      (long long)th_json_get_int(data, "seq", 0));
	one_line(v, ev, "forked", DIM, th_buf_str(&text), out);
}

static void show_limits(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_json_print(th_json_get(data, "limits"), &text);
	for (size_t i = 0; i < 2; i++) {
		const char *name = i ? "seconds" : "turns";
		int64_t more = th_json_get_int(data, name, 0);

		if (more)
			th_buf_printf(&text, "; this task: %lld %s more", (long long)more, name);
	}
	one_line(v, ev, "limits", DIM, th_buf_str(&text), out);
}

/* "done, score 0.9", or what is missing. */
static void show_verdict(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str failed = th_json_get_str(data, "failed");
	struct th_json_iter it = th_json_iter(th_json_get(data, "missing"));

	if (failed.len)
		th_buf_printf(&text, "none: %.*s", TH_FMT(failed));
	else
		th_buf_printf(&text, "%s, score %.2f",
			      th_json_bool(th_json_get(data, "complete"), false) ? "done"
										 : "not done",
			      th_json_num(th_json_get(data, "score"), 0));
	while (!failed.len && th_json_next(&it))
		th_buf_printf(&text, "; %.*s", TH_FMT(th_json_str(it.val)));
	one_line(v, ev, "verdict", DIM, th_buf_str(&text), out);
}

static void show_changed(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str title = th_json_get_str(data, "title");

	if (title.len)
		th_buf_add(&text, title);
	if (th_json_get(data, "metadata")) {
		th_buf_add_cstr(&text, title.len ? "; metadata " : "metadata ");
		th_json_print(th_json_get(data, "metadata"), &text);
	}
	one_line(v, ev, "changed", DIM, th_buf_str(&text), out);
}

static void show_mcp_tools(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			   struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str failed = th_json_get_str(data, "failed");
	struct th_json_iter it = th_json_iter(th_json_get(data, "tools"));
	size_t left =
	    th_json_count(th_json_get(data, "left_out")) + (size_t)th_json_get_int(data, "more", 0);

	th_buf_add(&text, th_json_get_str(data, "server"));
	if (failed.len)
		th_buf_printf(&text, ": %.*s", TH_FMT(failed));
	else
		th_buf_printf(&text, ": %zu tools", th_json_count(it.parent));
	while (th_json_is_array(it.parent) && th_json_next(&it))
		th_buf_printf(&text, "%s %.*s", it.index ? "," : ":",
			      TH_FMT(th_json_get_str(it.val, "name")));
	if (left)
		th_buf_printf(&text, "; %zu left out", left);
	one_line(v, ev, "server", failed.len ? RED : DIM, th_buf_str(&text), out);
}

void th_view_event(struct th_view *v, const struct th_event *ev, struct th_buf *out)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err = {};
	const struct th_json *data;

	if (!v->first_ms)
		v->first_ms = ev->ts_ms;
	v->last_ms = ev->ts_ms;
	if (th_json_parse(ev->data, &doc, &err) != TH_OK) {
		one_line(v, ev, "unreadable", RED, th_str_of(err.msg), out);
		return;
	}
	data = th_json_root(doc);
	th_arena_reset(&v->scratch);
	switch (ev->kind) {
	case TH_EV_SESSION_CREATED:
		show_created(v, ev, data, out);
		break;
	case TH_EV_MESSAGE:
		show_message(v, ev, data, out);
		break;
	case TH_EV_MODEL_REQUESTED:
		v->turn = th_json_get_int(data, "turn", v->turn);
		v->streamed_text = v->streamed_thought = false;
		break;
	case TH_EV_MODEL_STARTED: /* how it is asked, which the log alone tells */
		break;
	case TH_EV_MODEL_ANSWERED:
		show_answer(v, ev, data, out);
		break;
	case TH_EV_MODEL_FAILED:
		show_model_failed(v, ev, data, out);
		break;
	case TH_EV_CALL:
		show_call(v, ev, data, out);
		break;
	case TH_EV_APPROVAL_REQUESTED:
	case TH_EV_APPROVAL_DECIDED:
		show_approval(v, ev, data, out);
		break;
	case TH_EV_INTENT: /* between what it does and how that ended */
		break;
	case TH_EV_OUTCOME:
		show_outcome(v, ev, data, out);
		break;
	case TH_EV_QUESTION:
		show_question(v, ev, data, out);
		break;
	case TH_EV_PARKED:
	case TH_EV_SETTLED:
		show_parked(v, ev, data, out);
		break;
	case TH_EV_DELEGATION_STARTED:
	case TH_EV_DELEGATION_WAITS:
	case TH_EV_DELEGATION_FINISHED:
		show_delegation(v, ev, data, out);
		break;
	case TH_EV_CONTROL:
	case TH_EV_INPUT:
	case TH_EV_INPUT_DONE:
		show_person(v, ev, data, out);
		break;
	case TH_EV_STATE_CHANGED:
		show_state(v, ev, data, out);
		break;
	case TH_EV_ERROR:
		one_line(v, ev, "error", RED, th_json_get_str(data, "message"), out);
		break;
	case TH_EV_FINAL:
		show_final(v, ev, data, out);
		break;
	case TH_EV_SESSION_FORKED:
		show_forked(v, ev, data, out);
		break;
	case TH_EV_GUARDRAIL:
		show_guardrail(v, ev, data, out);
		break;
	case TH_EV_HOOK_STARTED:
		show_hook(v, ev, data, out);
		break;
	case TH_EV_ANALYSIS:
		show_analysis(v, ev, data, out);
		break;
	case TH_EV_HANDOFF:
		show_handoff(v, ev, data, out);
		break;
	case TH_EV_CODE:
		show_code(v, ev, data, out);
		break;
	case TH_EV_MCP_TOOLS:
		show_mcp_tools(v, ev, data, out);
		break;
	case TH_EV_ITEMS_ADDED:
	case TH_EV_ITEMS_REMOVED:
	case TH_EV_CONDENSATION:
	case TH_EV_CONDENSATION_REQUESTED:
		show_history(v, ev, data, out);
		break;
	case TH_EV_BUDGET:
		show_limits(v, ev, data, out);
		break;
	case TH_EV_PLAN:
		one_line(v, ev, "plan mode", BOLD,
			 th_json_bool(th_json_get(data, "on"), false)
			     ? TH_STR("begins: nothing is changed")
			     : TH_STR("ends"),
			 out);
		break;
	case TH_EV_VERDICT:
		show_verdict(v, ev, data, out);
		break;
	case TH_EV_SESSION_CHANGED:
		show_changed(v, ev, data, out);
		break;
	case TH_EVENT_COUNT: /* no event has it */
		break;
	}
}

/* ---- streaming ---- */

void th_view_progress(struct th_view *v, struct th_str tool, struct th_str bytes,
		      struct th_buf *out)
{
	struct th_event before = { .ts_ms = v->last_ms };

	while (bytes.len) {
		struct th_str line = th_str_split(&bytes, '\n');

		if (!th_str_trim(line).len)
			continue;
		begin_line(v, &before, "progress", DIM, out);
		style(v, DIM, out);
		th_text_line(out, tool, 40);
		th_buf_add_cstr(out, ": ");
		th_text_line(out, line, LINE_COLUMNS_MAX);
		unstyle(v, DIM, out);
		th_buf_add_char(out, '\n');
	}
}

void th_view_delta(struct th_view *v, enum th_delta_kind kind, struct th_str text,
		   struct th_buf *out)
{
	bool thought = kind == TH_DELTA_REASONING;

	if (!v->options.stream || !text.len ||
	    (!thought && kind != TH_DELTA_TEXT && kind != TH_DELTA_REFUSAL))
		return;
	if (v->line_open && v->streaming != kind)
		th_view_break(v, out);
	if (!v->line_open) {
		struct th_event before = { .ts_ms = v->last_ms };

		begin_line(v, &before, thought ? "thinks" : "says", thought ? DIM : PLAIN, out);
		style(v, thought ? DIM : PLAIN, out);
		v->line_open = true;
		v->streaming = kind;
	}
	if (thought)
		v->streamed_thought = true;
	else
		v->streamed_text = true;
	for (;;) {
		ptrdiff_t end = th_str_find_char(text, '\n');

		th_text_line(out, end < 0 ? text : th_str_sub(text, 0, (size_t)end),
			     LINE_COLUMNS_MAX);
		if (end < 0)
			break;
		th_buf_printf(out, "\n%*s", INDENT, "");
		text = th_str_sub(text, (size_t)end + 1, text.len);
	}
}

/* ---- the end ---- */

void th_view_summary(const struct th_session *s, struct th_buf *out)
{
	const struct th_totals *t = &s->totals;

	th_buf_printf(out, "%s: ", th_state_name(s->state));
	th_cli_count(out, t->turns, "turn");
	th_buf_add_cstr(out, ", ");
	th_cli_count(out, t->calls, "call");
	if (t->calls_unknown)
		th_buf_printf(out, " (%lld of unknown outcome)", (long long)t->calls_unknown);
	if (t->tokens_in || t->tokens_out) {
		th_buf_add_cstr(out, ", ");
		th_cli_number(out, t->tokens_in);
		th_buf_add_cstr(out, " tokens in, ");
		th_cli_number(out, t->tokens_out);
		th_buf_add_cstr(out, " out");
	}
	if (t->cost_nano || (t->turns && !t->cost_unknown)) {
		th_buf_add_cstr(out, t->cost_unknown ? ", at least " : ", ");
		th_cli_cost(out, t->cost_nano);
	}
	for (int i = 0; i < TH_SIDE_KIND_COUNT; i++)
		if (t->side[i].requests)
			put_side(th_side_name((enum th_side_kind)i), &t->side[i], out);
	th_buf_add_cstr(out, ", ");
	th_cli_time(out, TH_MAX(s->updated_ms - (s->task_ms ?: s->created_ms), 0));
}
