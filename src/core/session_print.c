/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_print.c - a session as JSON, which is also how two are compared.
 */
#include "core/session.h"

#include "core/session_internal.h"

static const char *const host_names[] = { "none", "asked", "allowed", "refused" };
static const char *const child_names[] = { "none", "works", "waits", "over" };

static void print_calls(const struct th_session *s, struct th_jw *w)
{
	th_jw_key(w, TH_STR("calls"));
	th_jw_array(w);
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		th_jw_object(w);
		th_jw_kstr(w, "call_id", c->call_id);
		th_jw_kstr(w, "tool", c->tool);
		th_jw_kstr(w, "phase", th_str_of(th_call_phase_name(c->phase)));
		th_jw_kstr(w, "class", th_str_of(th_class_name(c->class)));
		th_jw_kstr(w, "digest", th_str_of(c->digest));
		if (c->effect_id.len)
			th_jw_kstr(w, "effect_id", c->effect_id);
		if (c->again)
			th_jw_kbool(w, "again", true);
		if (c->host.phase)
			th_jw_kstr(w, "host", th_str_of(host_names[c->host.phase]));
		if (c->child)
			th_jw_kstr(w, "child", th_str_of(child_names[c->child]));
		if (c->phase == TH_CALL_SETTLED)
			th_jw_kstr(w, "status", th_str_of(th_outcome_name(c->status)));
		if (c->reason.len)
			th_jw_kstr(w, "reason", c->reason);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

static void print_unresolved(const struct th_session *s, struct th_jw *w)
{
	if (s->unresolved.count == 0)
		return;
	th_jw_key(w, TH_STR("doubts"));
	th_jw_array(w);
	for (size_t i = 0; i < s->unresolved.count; i++) {
		th_jw_object(w);
		th_jw_kuint(w, "seq", s->unresolved.list[i].seq);
		th_jw_kstr(w, "digest", th_str_of(s->unresolved.list[i].digest));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

/* Of each kind that was made. */
static void print_side(const struct th_totals *t, struct th_jw *w)
{
	for (int i = 0; t->side && i < TH_SIDE_KIND_COUNT; i++) {
		if (!t->side[i].requests)
			continue;
		th_jw_key(w, th_str_of(th_side_name((enum th_side_kind)i)));
		th_jw_object(w);
		th_side_print(&t->side[i], w);
		th_jw_object_end(w);
	}
}

void th_session_print(const struct th_session *s, struct th_jw *w)
{
	static const char *const phases[TH_TURN_PHASE_COUNT] = { "rest",    "due",   "requested",
								 "backoff", "calls", "check" };
	const struct th_totals *t = &s->totals;

	th_jw_object(w);
	th_jw_kstr(w, "state", th_str_of(th_state_name(s->state)));
	th_jw_kstr(w, "phase", th_str_of(phases[s->phase]));
	th_jw_kint(w, "seq", (int64_t)s->seq);
	th_jw_kstr(w, "agent", s->agent_name);
	th_jw_kstr(w, "model", s->model);
	th_next_step_print(s, w);
	if (s->model_at)
		th_jw_kstr(w, "asks", th_session_member(s)->fallback.list[s->model_at - 1]);
	if (s->started.len)
		th_jw_kstr(w, "started", th_buf_str(&s->started));
	if (s->started.len && s->started_next)
		th_jw_kint(w, "started_next", s->started_next);
	if (s->chain.len) {
		th_jw_kstr(w, "response_id", th_buf_str(&s->chain));
		th_jw_kuint(w, "response_asked", s->chain_seq);
	}
	if (s->parent.len)
		th_jw_kstr(w, "parent", s->parent);
	th_jw_kint(w, "items", (int64_t)s->items);
	if (s->restated.notes.len)
		th_jw_kstr(w, "notes", th_buf_str(&s->restated.notes));
	if (s->restated.tasks.len)
		th_jw_kstr(w, "tasks", th_buf_str(&s->restated.tasks));
	if (s->items_then)
		th_jw_kint(w, "condensed_to", (int64_t)s->items_then);
	th_jw_kint(w, "turns", t->turns);
	th_jw_kint(w, "task_turns", t->task_turns);
	if (s->turns_more)
		th_jw_kint(w, "turns_more", s->turns_more);
	th_jw_kint(w, "attempts", t->attempts);
	th_jw_kint(w, "unanswered", t->unanswered);
	th_jw_kint(w, "calls_total", t->calls);
	th_jw_kint(w, "calls_unknown", t->calls_unknown);
	th_jw_kint(w, "tokens_in", t->tokens_in);
	th_jw_kint(w, "tokens_cached", t->tokens_cached);
	th_jw_kint(w, "tokens_out", t->tokens_out);
	th_jw_kint(w, "tokens_reasoning", t->tokens_reasoning);
	th_jw_kint(w, "cost_nano", t->cost_nano);
	th_jw_kint(w, "tokens_held", t->tokens_held);
	th_jw_kint(w, "cost_held_nano", t->cost_held_nano);
	print_side(t, w);
	if (s->unread)
		th_jw_kint(w, "unread", s->unread);
	th_jw_kint(w, "tokens_reserved", s->reserved.tokens);
	if (s->reason.len)
		th_jw_kstr(w, "reason", th_buf_str(&s->reason));
	if (s->final.len)
		th_jw_kstr(w, "final", th_buf_str(&s->final));
	print_calls(s, w);
	th_background_print(s, w);
	th_control_print(s, w);
	print_unresolved(s, w);
	th_hosts_print(s, w);
	th_origins_print(s, w);
	th_jw_object_end(w);
}

bool th_session_equal(const struct th_session *a, const struct th_session *b, struct th_err *err)
{
	struct th_buf one, two;
	struct th_jw w;
	bool equal;
	size_t at = 0;

	th_buf_init(&one, SIZE_MAX / 4);
	th_buf_init(&two, SIZE_MAX / 4);
	w = th_jw(&one);
	th_session_print(a, &w);
	w = th_jw(&two);
	th_session_print(b, &w);
	equal = th_str_eq(th_buf_str(&one), th_buf_str(&two));
	while (!equal && at < one.len && at < two.len && one.ptr[at] == two.ptr[at])
		at++;
	if (!equal)
		(void)th_fail(err, TH_EPROTO, "the states differ at \"%.60s\" against \"%.60s\"",
			      one.ptr + (at > 20 ? at - 20 : 0), two.ptr + (at > 20 ? at - 20 : 0));
	th_buf_deinit(&one);
	th_buf_deinit(&two);
	return equal;
}
