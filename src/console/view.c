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

void th_view_event(struct th_view *v, const struct th_event *ev, struct th_buf *out)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err = {};
	const struct th_json *data;

	if (!v->first_ms)
		v->first_ms = ev->ts_ms;
	v->last_ms = ev->ts_ms;
	if (th_json_parse(ev->data, &doc, &err) != TH_OK) {
		th_view_line(v, ev, "unreadable", TH_VIEW_RED, th_str_of(err.msg), out);
		return;
	}
	data = th_json_root(doc);
	th_arena_reset(&v->scratch);
	switch (ev->kind) {
	case TH_EV_SESSION_CREATED:
		th_view_show_created(v, ev, data, out);
		break;
	case TH_EV_MESSAGE:
		show_held(v, out);
		th_view_show_message(v, ev, data, out);
		break;
	case TH_EV_MODEL_REQUESTED:
		show_held(v, out);
		v->turn = th_json_get_int(data, "turn", v->turn);
		v->streamed_text = v->streamed_thought = false;
		break;
	case TH_EV_MODEL_STARTED: /* how it is asked, which the log alone tells */
		break;
	case TH_EV_MODEL_ANSWERED:
		th_view_show_answer(v, ev, data, out);
		break;
	case TH_EV_MODEL_FAILED:
		th_view_show_model_failed(v, ev, data, out);
		break;
	case TH_EV_CALL:
		th_view_show_call(v, ev, data, out);
		break;
	case TH_EV_APPROVAL_REQUESTED:
	case TH_EV_APPROVAL_DECIDED:
		th_view_show_approval(v, ev, data, out);
		break;
	case TH_EV_INTENT: /* between what it does and how that ended */
		break;
	case TH_EV_OUTCOME:
		th_view_show_outcome(v, ev, data, out);
		break;
	case TH_EV_QUESTION:
		th_view_show_question(v, ev, data, out);
		break;
	case TH_EV_SAMPLED:
		th_view_show_sampled(v, ev, data, out);
		break;
	case TH_EV_SERVER_TASK:
		th_view_line(v, ev, "task", TH_VIEW_DIM, th_json_get_str(data, "task"), out);
		break;
	case TH_EV_PARKED:
	case TH_EV_SETTLED:
		th_view_show_parked(v, ev, data, out);
		break;
	case TH_EV_DELEGATION_STARTED:
	case TH_EV_DELEGATION_WAITS:
	case TH_EV_DELEGATION_FINISHED:
		th_view_show_delegation(v, ev, data, out);
		break;
	case TH_EV_CONTROL:
	case TH_EV_INPUT:
	case TH_EV_INPUT_DONE:
		th_view_show_person(v, ev, data, out);
		break;
	case TH_EV_STATE_CHANGED:
		th_view_show_state(v, ev, data, out);
		break;
	case TH_EV_ERROR:
		th_view_line(v, ev, "error", TH_VIEW_RED, th_json_get_str(data, "message"), out);
		break;
	case TH_EV_FINAL:
		th_view_show_final(v, ev, data, out);
		break;
	case TH_EV_SESSION_FORKED:
		th_view_show_forked(v, ev, data, out);
		break;
	case TH_EV_GUARDRAIL:
		th_view_show_guardrail(v, ev, data, out);
		break;
	case TH_EV_HOOK_STARTED:
		th_view_show_hook(v, ev, data, out);
		break;
	case TH_EV_ANALYSIS:
		th_view_show_analysis(v, ev, data, out);
		break;
	case TH_EV_HANDOFF:
		th_view_show_handoff(v, ev, data, out);
		break;
	case TH_EV_CODE:
		th_view_show_code(v, ev, data, out);
		break;
	case TH_EV_MCP_TOOLS:
		th_view_show_mcp_tools(v, ev, data, out);
		break;
	case TH_EV_ITEMS_ADDED:
	case TH_EV_ITEMS_REMOVED:
	case TH_EV_CONDENSATION:
	case TH_EV_CONDENSATION_REQUESTED:
		th_view_show_history(v, ev, data, out);
		break;
	case TH_EV_BUDGET:
		th_view_show_limits(v, ev, data, out);
		break;
	case TH_EV_PLAN:
		th_view_line(v, ev, "plan mode", TH_VIEW_BOLD,
			     th_json_bool(th_json_get(data, "on"), false)
				 ? TH_STR("begins: nothing is changed")
				 : TH_STR("ends"),
			     out);
		break;
	case TH_EV_GOAL:
		th_view_line(v, ev, "goal", TH_VIEW_BOLD,
			     th_json_get_str(data, "goal").len ? th_json_get_str(data, "goal")
							       : TH_STR("ends"),
			     out);
		break;
	case TH_EV_VERDICT:
		th_view_show_verdict(v, ev, data, out);
		break;
	case TH_EV_ASKED:
		th_view_show_asked(v, ev, data, out);
		break;
	case TH_EV_SESSION_CHANGED:
		th_view_show_changed(v, ev, data, out);
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
