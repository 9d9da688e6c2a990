/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_delegate.c - calls on which a session of its own works, as the log of the one that asked
 * has them: begun, waiting for a person, over.  What that session took counts here too.
 */
#include "base/text.h"
#include "core/session_internal.h"

/* The call of the event, whose session is in one of these states (a mask of enum th_call_child). */
static struct th_call *call_of(struct th_step *st, unsigned children)
{
	struct th_call *c = th_background_of(st) ?: th_step_call(st, 1u << TH_CALL_INTENDED);

	return c && (children & 1u << c->child) ? c : NULL;
}

static enum th_code no_call(struct th_step *st)
{
	return th_fail(st->err, TH_EPROTO, "no open call fits this %s of \"%.*s\"",
		       th_event_name(st->ev->kind), TH_FMT(th_utf8_cut(st->ev->call, 80)));
}

bool th_call_delegates(const struct th_session *s, const struct th_call *c)
{
	return !c->computer && !c->native && !c->handoff &&
	       th_member_delegate(th_session_member(s), c->tool);
}

static int64_t count_of(const struct th_json *v, const char *name)
{
	return TH_MAX(th_json_get_int(v, name, 0), (int64_t)0);
}

/* What its session had used before this call. */
static enum th_code note_before(struct th_step *st, struct th_call *c, struct th_str child)
{
	const struct th_json *v = th_json_get(st->data, "before"), *usage = th_json_get(v, "usage");
	struct th_child_before *b = TH_NEW(&st->s->turn, struct th_child_before);

	if (!b)
		return th_fail(st->err, TH_ELIMIT, "the calls of the answer are too large");
	*b = (struct th_child_before){
		.child = th_arena_str(&st->s->turn, child),
		.turns = count_of(v, "turns"),
		.tokens_in = count_of(usage, "input"),
		.tokens_out = count_of(usage, "output"),
		.tokens_cached = count_of(usage, "cached"),
		.tokens_reasoning = count_of(usage, "reasoning"),
		.cost_nano = count_of(v, "cost_nano"),
		.tokens_held = count_of(v, "tokens_held"),
		.cost_held_nano = count_of(v, "cost_held_nano"),
	};
	c->before = b;
	return TH_OK;
}

enum th_code th_on_delegation_started(struct th_step *st)
{
	struct th_ev_delegation_started d;
	struct th_call *c = call_of(st, 1u << TH_CALL_CHILD_NONE);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c)
		return no_call(st);
	if (d.before.len)
		code = note_before(st, c, d.child);
	if (!code && d.background)
		return th_background_begin(st, c, &d);
	c->child = TH_CALL_CHILD_WORKS;
	return code;
}

enum th_code th_on_delegation_waits(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_delegation_waits d;
	struct th_call *c = call_of(st, 1u << TH_CALL_CHILD_WORKS | 1u << TH_CALL_CHILD_WAITS);
	enum th_code code = th_step_parse(st, &d);
	const struct th_json *waits = th_json_get(st->data, "waits");

	if (code)
		return code;
	if (!c)
		return no_call(st);
	if (!th_json_is_array(waits))
		return th_fail(st->err, TH_EPROTO, "waits must be a list");
	c->child = th_json_count(waits) > 0 ? TH_CALL_CHILD_WAITS : TH_CALL_CHILD_WORKS;
	if (c->child == TH_CALL_CHILD_WAITS) {
		th_step_reason(s, th_json_get_str(th_json_at(waits, 0), "reason"));
		return s->state == TH_STATE_RUNNING ? th_step_state(st, TH_STATE_WAITING) : TH_OK;
	}
	if (!th_session_waits_any(s) && s->state == TH_STATE_WAITING)
		return th_step_state(st, TH_STATE_RUNNING);
	return TH_OK;
}

static void add(int64_t *count, int64_t more)
{
	*count = th_add_up(*count, TH_MAX(more, (int64_t)0));
}

enum th_code th_on_delegation_finished(struct th_step *st)
{
	struct th_totals *t = &st->s->totals;
	struct th_ev_delegation_finished d;
	const struct th_json *usage = th_json_get(st->data, "usage");
	struct th_call *c = call_of(st, 1u << TH_CALL_CHILD_WORKS | 1u << TH_CALL_CHILD_WAITS);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c)
		return no_call(st);
	c->child = TH_CALL_CHILD_OVER;
	add(&t->tokens_in, th_json_get_int(usage, "input", 0));
	add(&t->tokens_out, th_json_get_int(usage, "output", 0));
	add(&t->tokens_cached, th_json_get_int(usage, "cached", 0));
	add(&t->tokens_reasoning, th_json_get_int(usage, "reasoning", 0));
	add(&t->cost_nano, d.cost_nano);
	add(&t->tokens_held, d.tokens_held);
	add(&t->cost_held_nano, d.cost_held_nano);
	t->cost_unknown |= d.cost_unknown;
	t->unmetered |= d.unmetered;
	if (th_background_of(st) == c) {
		th_origins_take(st, &d.origins);
		th_background_end(st->s, c, d.result.ptr ? st->ev->seq : 0);
	}
	if (!th_session_waits_any(st->s) && st->s->state == TH_STATE_WAITING)
		return th_step_state(st, TH_STATE_RUNNING);
	return TH_OK;
}
