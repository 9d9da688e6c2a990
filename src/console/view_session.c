/* SPDX-License-Identifier: Apache-2.0 */
/* view_session.c - the session as a whole: how it begins, what changes in it, its sum. */
#include "console/view_parts.h"

#include "base/text.h"
#include "console/console.h"

void th_view_show_created(struct th_view *v, const struct th_event *ev, const struct th_json *data,
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
	th_view_line(v, ev, "agent", TH_VIEW_DIM, th_buf_str(&text), out);
}

void th_view_show_state(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_str reason = th_json_get_str(data, "reason");

	th_buf_printf(&text, "%.*s%s%.*s", TH_FMT(th_json_get_str(data, "to")),
		      reason.len ? ": " : "", TH_FMT(th_utf8_cut(reason, 2000)));
	th_view_line(v, ev, "state", TH_VIEW_YELLOW, th_buf_str(&text), out);
}

/* The session that works on a call: who, for what it waits, and what it took. */
void th_view_show_delegation(struct th_view *v, const struct th_event *ev,
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
	th_view_line(v, ev, "delegate",
		     ev->kind == TH_EV_DELEGATION_WAITS ? TH_VIEW_YELLOW : TH_VIEW_DIM,
		     th_buf_str(&text), out);
}

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

/* What the model sees of what was before changes. */
void th_view_show_history(struct th_view *v, const struct th_event *ev, const struct th_json *data,
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
	th_view_line(v, ev, "history", TH_VIEW_DIM, th_buf_str(&text), out);
}

void th_view_show_handoff(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_buf_printf(&text, "from %.*s to %.*s", TH_FMT(th_json_get_str(data, "from")),
		      TH_FMT(th_json_get_str(data, "to")));
	th_view_line(v, ev, "handoff", TH_VIEW_CYAN, th_buf_str(&text), out);
}

void th_view_show_forked(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			 struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text, "from %.*s, after event %lld",
		      TH_FMT(th_utf8_cut(th_json_get_str(data, "parent"), TH_SESSION_ID_MAX)),
		      (long long)th_json_get_int(data, "seq", 0));
	th_view_line(v, ev, "forked", TH_VIEW_DIM, th_buf_str(&text), out);
}

void th_view_show_limits(struct th_view *v, const struct th_event *ev, const struct th_json *data,
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
	th_view_line(v, ev, "limits", TH_VIEW_DIM, th_buf_str(&text), out);
}

/* "done, score 0.9", or what is missing. */
void th_view_show_verdict(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str failed = th_json_get_str(data, "failed");
	struct th_str model = th_json_get_str(data, "model");
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
	if (model.len)
		th_buf_printf(&text, " (%.*s)", TH_FMT(model));
	th_view_line(v, ev, "verdict", TH_VIEW_DIM, th_buf_str(&text), out);
}

void th_view_show_asked(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str failed = th_json_get_str(data, "failed");

	th_buf_printf(&text, "%.*s", TH_FMT(th_json_get_str(data, "question")));
	if (failed.len)
		th_buf_printf(&text, ": no answer: %.*s", TH_FMT(failed));
	else
		th_buf_printf(&text, ": %.*s", TH_FMT(th_json_get_str(data, "answer")));
	th_view_line(v, ev, "asked", TH_VIEW_DIM, th_buf_str(&text), out);
}

void th_view_show_sampled(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	struct th_str failed = th_json_get_str(data, "failed");
	const struct th_json *content = th_json_get(th_json_get(data, "answer"), "content");
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	if (failed.len)
		th_buf_printf(&text, "none: %.*s", TH_FMT(failed));
	else
		th_buf_add(&text, th_json_get_str(content, "text"));
	th_view_line(v, ev, "for a server", TH_VIEW_DIM, th_buf_str(&text), out);
}

void th_view_show_changed(struct th_view *v, const struct th_event *ev, const struct th_json *data,
			  struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_str title = th_json_get_str(data, "title");
	struct th_json_iter secrets = th_json_iter(th_json_get(data, "secrets"));

	if (title.len)
		th_buf_add(&text, title);
	if (th_json_get(data, "metadata")) {
		th_buf_add_cstr(&text, title.len ? "; metadata " : "metadata ");
		th_json_print(th_json_get(data, "metadata"), &text);
	}
	if (th_json_get(data, "confirm")) {
		th_buf_add_cstr(&text, text.len ? "; confirm " : "confirm ");
		th_json_print(th_json_get(data, "confirm"), &text);
	}
	while (th_json_next(&secrets)) /* names; nobody has the values */
		th_buf_printf(&text, "%s%.*s",
			      secrets.index ? ", "
			      : text.len    ? "; secrets "
					    : "secrets ",
			      TH_FMT(th_json_str(secrets.val)));
	th_view_line(v, ev, "changed", TH_VIEW_DIM, th_buf_str(&text), out);
}

void th_view_show_mcp_tools(struct th_view *v, const struct th_event *ev,
			    const struct th_json *data, struct th_buf *out)
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
	th_view_line(v, ev, "server", failed.len ? TH_VIEW_RED : TH_VIEW_DIM, th_buf_str(&text),
		     out);
}

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
	for (int i = 0; t->side && i < TH_SIDE_KIND_COUNT; i++)
		if (t->side[i].requests)
			put_side(th_side_name((enum th_side_kind)i), &t->side[i], out);
	th_buf_add_cstr(out, ", ");
	th_cli_time(out, TH_MAX(s->updated_ms - (s->task_ms ?: s->created_ms), 0));
}
