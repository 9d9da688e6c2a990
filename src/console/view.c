/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - a session as people read it: what is shown of which event, and what streams. */
#include "console/view_parts.h"

#include <stdlib.h>

#include "base/text.h"

#define COLUMNS_DEFAULT 160

struct th_view *th_view_new(const struct th_view_options *options)
{
	struct th_view *v = th_alloc(sizeof(*v));

	v->options = *options;
	if (v->options.columns < TH_VIEW_INDENT + 20)
		v->options.columns = options->columns ? TH_VIEW_INDENT + 20 : COLUMNS_DEFAULT;
	th_arena_init(&v->scratch, TH_TURN_MEMORY_MAX);
	v->held = (struct th_buf)TH_BUF_INIT(TH_ANSWER_MAX);
	return v;
}

struct th_view *th_view_free(struct th_view *v)
{
	if (v) {
		th_arena_deinit(&v->scratch);
		th_buf_deinit(&v->held);
	}
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

/* The run went on behind an answer: a task, a judge or a schema did not let it be the last one. */
static void show_held(struct th_view *v, struct th_buf *out)
{
	struct th_event then = { .ts_ms = v->held_ms };

	if (v->held.len)
		th_view_whole(v, &then, "says", TH_VIEW_PLAIN, th_buf_str(&v->held), out);
	th_buf_clear(&v->held);
}

static void show_message(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	show_held(v, out);
	th_view_show_message(v, ev, data, out);
}

static void show_requested(struct th_view *v, const struct th_event *ev TH_UNUSED,
			   const struct th_json *data, struct th_buf *out)
{
	show_held(v, out);
	v->turn = th_json_get_int(data, "turn", v->turn);
	v->streamed_text = v->streamed_thought = false;
}

/* An intent stands between what a call does and how it ended; how a model is asked, the log alone
 * tells. */
static void show_nothing(struct th_view *v TH_UNUSED, const struct th_event *ev TH_UNUSED,
			 const struct th_json *data TH_UNUSED, struct th_buf *out TH_UNUSED)
{
}

static void show_task(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		      struct th_buf *out)
{
	th_view_line(v, ev, "task", TH_VIEW_DIM, th_json_get_str(data, "task"), out);
}

static void show_error(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		       struct th_buf *out)
{
	th_view_line(v, ev, "error", TH_VIEW_RED, th_json_get_str(data, "message"), out);
}

static void show_plan(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		      struct th_buf *out)
{
	bool on = th_json_bool(th_json_get(data, "on"), false);

	th_view_line(v, ev, "plan mode", TH_VIEW_BOLD,
		     on ? TH_STR("begins: nothing is changed") : TH_STR("ends"), out);
}

static void show_goal(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		      struct th_buf *out)
{
	struct th_str goal = th_json_get_str(data, "goal");

	th_view_line(v, ev, "goal", TH_VIEW_BOLD, goal.len ? goal : TH_STR("ends"), out);
}

/* Every kind has a row. */
static th_view_show_fn *const shows[TH_EVENT_COUNT] = {
	[TH_EV_SESSION_CREATED] = th_view_show_created,
	[TH_EV_MESSAGE] = show_message,
	[TH_EV_MODEL_REQUESTED] = show_requested,
	[TH_EV_MODEL_STARTED] = show_nothing,
	[TH_EV_MODEL_ANSWERED] = th_view_show_answer,
	[TH_EV_MODEL_FAILED] = th_view_show_model_failed,
	[TH_EV_CALL] = th_view_show_call,
	[TH_EV_APPROVAL_REQUESTED] = th_view_show_approval,
	[TH_EV_APPROVAL_DECIDED] = th_view_show_approval,
	[TH_EV_INTENT] = show_nothing,
	[TH_EV_OUTCOME] = th_view_show_outcome,
	[TH_EV_QUESTION] = th_view_show_question,
	[TH_EV_SAMPLED] = th_view_show_sampled,
	[TH_EV_SERVER_TASK] = show_task,
	[TH_EV_PARKED] = th_view_show_parked,
	[TH_EV_SETTLED] = th_view_show_parked,
	[TH_EV_DELEGATION_STARTED] = th_view_show_delegation,
	[TH_EV_DELEGATION_WAITS] = th_view_show_delegation,
	[TH_EV_DELEGATION_FINISHED] = th_view_show_delegation,
	[TH_EV_CONTROL] = th_view_show_person,
	[TH_EV_INPUT] = th_view_show_person,
	[TH_EV_INPUT_DONE] = th_view_show_person,
	[TH_EV_STATE_CHANGED] = th_view_show_state,
	[TH_EV_ERROR] = show_error,
	[TH_EV_FINAL] = th_view_show_final,
	[TH_EV_SESSION_FORKED] = th_view_show_forked,
	[TH_EV_GUARDRAIL] = th_view_show_guardrail,
	[TH_EV_HOOK_STARTED] = th_view_show_hook,
	[TH_EV_ANALYSIS] = th_view_show_analysis,
	[TH_EV_HANDOFF] = th_view_show_handoff,
	[TH_EV_CODE] = th_view_show_code,
	[TH_EV_MCP_TOOLS] = th_view_show_mcp_tools,
	[TH_EV_ITEMS_ADDED] = th_view_show_history,
	[TH_EV_ITEMS_REMOVED] = th_view_show_history,
	[TH_EV_CONDENSATION] = th_view_show_history,
	[TH_EV_CONDENSATION_REQUESTED] = th_view_show_history,
	[TH_EV_BUDGET] = th_view_show_limits,
	[TH_EV_PLAN] = show_plan,
	[TH_EV_GOAL] = show_goal,
	[TH_EV_VERDICT] = th_view_show_verdict,
	[TH_EV_ASKED] = th_view_show_asked,
	[TH_EV_SESSION_CHANGED] = th_view_show_changed,
};

void th_view_event(struct th_view *v, const struct th_event *ev, struct th_buf *out)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err = {};

	if (!v->first_ms)
		v->first_ms = ev->ts_ms;
	v->last_ms = ev->ts_ms;
	if (th_json_parse(ev->data, &doc, &err) != TH_OK) {
		th_view_line(v, ev, "unreadable", TH_VIEW_RED, th_str_of(err.msg), out);
		return;
	}
	th_arena_reset(&v->scratch);
	assert(ev->kind < TH_EVENT_COUNT && shows[ev->kind]);
	shows[ev->kind](v, ev, th_json_root(doc), out);
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
		th_view_begin(v, &before, "progress", TH_VIEW_DIM, out);
		th_view_style(v, TH_VIEW_DIM, out);
		th_text_line(out, tool, 40);
		th_buf_add_cstr(out, ": ");
		th_text_line(out, line, TH_VIEW_COLUMNS_MAX);
		th_view_unstyle(v, TH_VIEW_DIM, out);
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

		th_view_begin(v, &before, thought ? "thinks" : "says",
			      thought ? TH_VIEW_DIM : TH_VIEW_PLAIN, out);
		th_view_style(v, thought ? TH_VIEW_DIM : TH_VIEW_PLAIN, out);
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
			     TH_VIEW_COLUMNS_MAX);
		if (end < 0)
			break;
		th_buf_printf(out, "\n%*s", TH_VIEW_INDENT, "");
		text = th_str_sub(text, (size_t)end + 1, text.len);
	}
}
