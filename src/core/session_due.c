/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_due.c - what a session's state asks for and was not given out yet:
 * limits, the calls that may begin, the next turn.
 */
#include "core/session.h"

#include "core/session_internal.h"

static int64_t price_of(int64_t tokens, int64_t price)
{
	int64_t cost;

	return __builtin_mul_overflow(tokens, price, &cost) ? INT64_MAX : cost;
}

struct th_reservation th_session_reservation(const struct th_session *s)
{
	static const struct th_session_price unknown;
	const struct th_session_price *price = &s->price;

	if (s->model_at)
		price = s->fallback_prices ? &s->fallback_prices[s->model_at - 1] : &unknown;

	return (struct th_reservation){
		.tokens = th_add_up(s->answer_tokens, s->output_max),
		.cost_nano = th_add_up(price_of(s->answer_tokens, price->input),
				       price_of(s->output_max, price->output)),
	};
}

/* What the session may use, in all its tasks; `side`: of side requests under way. */
static const char *budget_reached(const struct th_session *s, struct th_reservation side)
{
	const struct th_totals *t = &s->totals;
	struct th_reservation next = th_session_reservation(s);
	/* A request under way that nobody will answer any more is spent too. */
	int64_t tokens = th_add_up(th_add_up(t->tokens_in, t->tokens_out),
				   th_add_up(t->tokens_held, s->reserved.tokens));
	int64_t cost = th_add_up(t->cost_nano, th_add_up(t->cost_held_nano, s->reserved.cost_nano));

	tokens = th_add_up(tokens, side.tokens);
	cost = th_add_up(cost, side.cost_nano);
	if (t->unmetered && (s->tokens_max || s->cost_nano_max))
		return "the limit of tokens or cost cannot be kept: the model's server did not say "
		       "what an answer took, or its price is not known";
	if (s->tokens_max && tokens >= s->tokens_max)
		return "the limit of tokens is reached";
	if (s->tokens_max && th_add_up(tokens, next.tokens) > s->tokens_max)
		return "the limit of tokens leaves no room for another request";
	if (s->cost_nano_max && cost >= s->cost_nano_max)
		return "the limit of cost is reached";
	if (s->cost_nano_max && th_add_up(cost, next.cost_nano) > s->cost_nano_max)
		return "the limit of cost leaves no room for another request";
	return NULL;
}

const char *th_session_limit_with(const struct th_session *s, struct th_reservation side)
{
	const char *budget = budget_reached(s, side);

	if (th_step_turns_used(s))
		return "the limit of model turns is reached";
	if (budget)
		return budget;
	if (s->seconds_max && s->updated_ms - s->task_ms >= s->seconds_max * 1000)
		return "the limit of running time is reached";
	if (s->items >= TH_SESSION_ITEMS_MAX)
		return "the session's history is full; begin another session";
	return NULL;
}

const char *th_session_limit(const struct th_session *s)
{
	return th_session_limit_with(s, (struct th_reservation){ 0 });
}

bool th_session_used_up(const struct th_session *s)
{
	return budget_reached(s, (struct th_reservation){ 0 }) || s->items >= TH_SESSION_ITEMS_MAX;
}

bool th_calls_settled(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase != TH_CALL_SETTLED || s->calls[i].guards_out)
			return false;
	return true;
}

/* Actions on one screen happen in the order the model gave, and so do patches and commands that
 * models write one after the other; other calls run side by side. */
static bool earlier_open(const struct th_session *s, size_t index)
{
	const struct th_call *c = &s->calls[index];

	for (size_t i = 0; (c->computer || c->native) && i < index; i++)
		if (s->calls[i].computer == c->computer && s->calls[i].native == c->native &&
		    s->calls[i].phase != TH_CALL_SETTLED)
			return true;
	return false;
}

/* What may not begin before all that was asked about this answer is settled. */
static bool barrier_stands(const struct th_session *s)
{
	bool stands = s->guards_in;

	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		stands |= c->phase < TH_CALL_CLEARED;
		stands |= c->phase == TH_CALL_CLEARED && c->guards_in;
	}
	return stands;
}

/* Others have their results first, and of several handoffs the first one counts. */
static bool handoff_due(const struct th_session *s, size_t index)
{
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		if (i != index && (c->phase != TH_CALL_SETTLED || c->guards_out))
			return false;
	}
	return !s->guards_in;
}

static bool handoff_before(const struct th_session *s, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (s->calls[i].handoff && s->calls[i].phase == TH_CALL_CLEARED)
			return true;
	return false;
}

/* Those that were given out count: their intent may still wait for the executor. */
static int64_t under_way(const struct th_session *s, bool delegates)
{
	int64_t count = 0;

	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		if (delegates && !th_call_delegates(s, c))
			continue;
		count +=
		    c->phase == TH_CALL_INTENDED || (c->phase == TH_CALL_CLEARED && c->emitted);
	}
	return count;
}

/* As many are at work as may be at a time: one more waits until one of them is over. */
static bool is_full(const struct th_session *s, const struct th_call *c)
{
	if (s->calls_max && under_way(s, false) >= s->calls_max)
		return true;
	return th_call_delegates(s, c) &&
	       under_way(s, true) + th_background_count(s) >= s->delegates_max;
}

static void due_cleared(struct th_session *s, size_t i, bool barrier, struct th_effects *out)
{
	struct th_call *c = &s->calls[i];
	bool early = c->class == TH_CLASS_L || c->class == TH_CLASS_R;
	enum th_effect_kind kind = TH_DO_INTEND;

	if (s->tripped || s->held_back)
		return;
	if (c->handoff) {
		if (barrier)
			return;
		if (handoff_before(s, i)) {
			c->reason = TH_STR("Multiple handoffs detected, ignoring this one.");
			c->verbatim = true;
			th_call_phase_set(c, TH_CALL_DENIED);
			kind = TH_DO_REFUSE;
		} else if (handoff_due(s, i)) {
			kind = TH_DO_HAND_OVER;
		} else {
			return;
		}
	} else if (c->native == TH_NATIVE_MCP && !c->guards_in) {
		if (barrier)
			return;
		kind = TH_DO_CONCLUDE; /* to be told so is all that the provider waits for */
	} else if (c->guards_in) {
		if (c->guard_given)
			return;
		c->guard_given = true;
		th_step_emit(out,
			     (struct th_effect){ .kind = TH_DO_GUARD,
						 .call = (uint32_t)i,
						 .stage = TH_GUARD_TOOL_INPUT,
						 .guard = (uint16_t)__builtin_ctz(c->guards_in) });
		return;
	} else if ((barrier && !early) || earlier_open(s, i) || is_full(s, c)) {
		return;
	}
	c->emitted = true;
	th_step_emit(out, (struct th_effect){ .kind = kind, .call = (uint32_t)i });
}

static void due_calls(struct th_session *s, struct th_effects *out)
{
	bool barrier = barrier_stands(s);

	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];
		enum th_effect_kind kind = TH_EFFECT_COUNT;

		if (c->phase == TH_CALL_SETTLED && c->guards_out && !c->guard_given) {
			c->guard_given = true;
			th_step_emit(out, (struct th_effect){
					      .kind = TH_DO_GUARD,
					      .call = (uint32_t)i,
					      .stage = TH_GUARD_TOOL_OUTPUT,
					      .guard = (uint16_t)__builtin_ctz(c->guards_out) });
		}
		if (c->emitted)
			continue;
		switch (c->phase) {
		case TH_CALL_SEEN:
			kind = TH_DO_RECORD;
			break;
		case TH_CALL_RECORDED:
			kind = TH_DO_ASK;
			break;
		case TH_CALL_CLEARED:
			due_cleared(s, i, barrier, out);
			continue;
		case TH_CALL_DENIED:
			kind = TH_DO_REFUSE;
			break;
		case TH_CALL_INTENDED:
			kind = TH_DO_TOOL_RUN;
			break;
		case TH_CALL_JUDGED:
			kind = TH_DO_CONCLUDE;
			break;
		case TH_CALL_ASKED:
		case TH_CALL_PARKED:
		case TH_CALL_SETTLED:
		case TH_CALL_PHASE_COUNT:
			continue;
		}
		c->emitted = true;
		th_step_emit(out, (struct th_effect){ .kind = kind, .call = (uint32_t)i });
	}
}

/* The agent repeats itself. */
static void due_stuck(const struct th_session *s, struct th_effects *out)
{
	static const enum th_effect_kind kinds[] = {
		[TH_ON_STUCK_STOP] = TH_DO_STUCK,
		[TH_ON_STUCK_TELL] = TH_DO_STUCK_TELL,
		[TH_ON_STUCK_ASK] = TH_DO_STUCK_ASK,
	};

	th_step_emit(out, (struct th_effect){ .kind = kinds[th_session_on_stuck(s)] });
}

void th_step_due_turn(struct th_session *s, struct th_effects *out)
{
	const char *limit = th_session_limit(s);
	struct th_stuck_finding finding;

	if (s->turn_given || s->held_back)
		return;
	if (th_session_request_waits(s))
		return;
	s->turn_given = true;
	if (s->unread > TH_REASKS_MAX)
		th_step_emit(out,
			     (struct th_effect){ .kind = TH_DO_FAIL,
						 .reason = "the model's answers cannot be read" });
	else if (s->judge && s->judge->over)
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_LIMIT,
						      .reason = "the task is not judged to be "
								"done, and no round is left" });
	else if (s->correct)
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_CORRECT });
	else if (limit && th_step_turns_used(s) && th_next_step_limit(s))
		return; /* a final output is said instead */
	else if (limit)
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_LIMIT, .reason = limit });
	else if (th_session_stuck(s, &finding))
		due_stuck(s, out);
	else if (th_session_stuck_hint(s, &finding))
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_STUCK_TELL });
	else
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_REQUEST });
}

bool th_session_rests(const struct th_session *s)
{
	return s->state != TH_STATE_RUNNING && s->state != TH_STATE_LOADING;
}

/* Adds what the state asks for and was not yet given out. */
void th_step_due(struct th_session *s, struct th_effects *out)
{
	if (s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING) {
		th_next_step_due(s, out);
		th_next_step_look(s);
		if (s->phase == TH_TURN_CALLS)
			due_calls(s, out);
		else if (s->phase == TH_TURN_DUE)
			th_step_due_turn(s, out);
		th_next_step_due(s, out); /* a limit may have brought a final output */
		th_next_step_guards(s, out);
	}
	if (th_session_rests(s) && !s->notified) {
		s->notified = true;
		th_background_due(s, out);
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_NOTIFY });
	}
}
