/* SPDX-License-Identifier: Apache-2.0 */
/* view_decide.c - who has a say in what the agent does: people, guardrails, hooks, functions. */
#include "console/view_parts.h"

#include "actions/action.h"
#include "base/text.h"

void th_view_show_approval(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			   struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	bool asked = ev->kind == TH_EV_APPROVAL_REQUESTED;
	bool approve = th_json_bool(th_json_get(data, "approve"), false);
	struct th_str by = th_json_get_str(data, "by"), message = th_json_get_str(data, "message");

	if (asked) {
		th_buf_printf(&text, "%.*s  [%.*s]", TH_FMT(th_json_get_str(data, "reason")),
			      TH_FMT(th_json_get_str(data, "call_id")));
		th_view_line(v, ev, "asks", TH_VIEW_YELLOW, th_buf_str(&text), out);
		return;
	}
	if (by.len)
		th_buf_printf(&text, "by %.*s", TH_FMT(by));
	if (message.len)
		th_buf_printf(&text, "%s%.*s", text.len ? ": " : "", TH_FMT(message));
	/* Only an answer to a question goes with a text. */
	th_view_line(v, ev,
		     !approve      ? "rejected"
		     : message.len ? "answered"
				   : "approved",
		     approve ? TH_VIEW_GREEN : TH_VIEW_RED, th_buf_str(&text), out);
}

void th_view_show_question(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			   struct th_buf *out)
{
	th_view_line(v, ev, "asks", TH_VIEW_YELLOW,
		     th_json_get_str(th_json_get(data, "arguments"), "question"), out);
}

/* Why it waits; then what was said. */
void th_view_show_parked(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str by = th_json_get_str(data, "by"), message = th_json_get_str(data, "message");

	if (ev->kind == TH_EV_PARKED) {
		th_buf_printf(&text,
			      "what became of it? nobody here knows; a person must say  [%.*s]",
			      TH_FMT(th_json_get_str(data, "call_id")));
		th_view_line(v, ev, "asks", TH_VIEW_YELLOW, th_buf_str(&text), out);
		return;
	}
	th_buf_printf(&text, "%.*s", TH_FMT(th_json_get_str(data, "status")));
	if (by.len)
		th_buf_printf(&text, ", says %.*s", TH_FMT(by));
	if (message.len)
		th_buf_printf(&text, ": %.*s", TH_FMT(message));
	th_view_line(v, ev, "settled", TH_VIEW_YELLOW, th_buf_str(&text), out);
}

/* A person in the agent's place. */
void th_view_show_person(struct th_view *v, const struct th_event *ev, const struct th_json *data,
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
	th_view_line(v, ev, "person", TH_VIEW_YELLOW, th_buf_str(&text), out);
}

void th_view_show_guardrail(struct th_view *v, const struct th_event *ev,
			    const struct th_json *data, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str failed = th_json_get_str(th_json_get(data, "info"), "failed");
	struct th_ev_guardrail d;

	if (th_table_parse(&th_ev_guardrail_table, data, &v->scratch, &d, NULL) != TH_OK)
		return;
	if (d.tripped || d.message.len || d.again || d.arguments.len)
		failed = TH_STR(""); /* what came of it is said */
	th_buf_printf(&text, "%.*s (%.*s) ", TH_FMT(d.name), TH_FMT(d.stage));
	th_buf_add_cstr(&text, d.tripped         ? "stops the run"
			       : d.message.len   ? "has the model told instead"
			       : d.again         ? "sends the agent back"
			       : d.arguments.len ? "changes the arguments"
			       : failed.len      ? "failed, and all goes on: "
						 : "passed");
	th_buf_add(&text, failed);
	if (d.message.len)
		th_buf_printf(&text, ": %.*s", TH_FMT(d.message));
	th_view_line(v, ev, "guardrail",
		     d.tripped                                                   ? TH_VIEW_RED
		     : d.message.len || d.again || d.arguments.len || failed.len ? TH_VIEW_YELLOW
										 : TH_VIEW_DIM,
		     th_buf_str(&text), out);
}

void th_view_show_hook(struct th_view *v, const struct th_event *ev, const struct th_json *data,
		       struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_buf_printf(&text, "%.*s: %.*s", TH_FMT(th_json_get_str(data, "name")),
		      TH_FMT(th_json_get_str(data, "command")));
	th_view_line(v, ev, "hook", TH_VIEW_DIM, th_buf_str(&text), out);
}

void th_view_show_analysis(struct th_view *v, const struct th_event *ev, const struct th_json *data,
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
	th_view_line(v, ev, "analysis",
		     th_json_get_str(data, "failed").len ? TH_VIEW_YELLOW : TH_VIEW_DIM,
		     th_buf_str(&text), out);
}

/* A function that was asked: what it said, or why it could not. */
void th_view_show_code(struct th_view *v, const struct th_event *ev, const struct th_json *data,
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
	th_view_line(v, ev, "code", d.failed.len ? TH_VIEW_YELLOW : TH_VIEW_DIM, th_buf_str(&text),
		     out);
}
