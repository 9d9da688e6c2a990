/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_turn.c - the fold of what is asked of a model, of its answer, and of
 * what that cost.
 */
#include "core/session.h"

#include "base/text.h"

#include "core/session_internal.h"
#include "events/native.h"

_Static_assert(TH_TEAM_MAX <= UINT8_MAX && TH_FALLBACK_MAX <= UINT8_MAX,
	       "chain_agent and chain_at are bytes");

/* The request under way was sent, and nobody will ever know what it cost. */
void th_step_hold_reservation(struct th_session *s)
{
	s->totals.unanswered++;
	s->totals.tokens_held = th_add_up(s->totals.tokens_held, s->reserved.tokens);
	s->totals.cost_held_nano = th_add_up(s->totals.cost_held_nano, s->reserved.cost_nano);
	s->reserved = (struct th_reservation){ 0 };
}

void th_step_side(struct th_session *s, enum th_side_kind kind, const struct th_json *usage)
{
	struct th_side_usage u = th_side_read(usage);
	struct th_totals *t = &s->totals;

	if (!t->side)
		t->side = th_arena_array(&s->memory, TH_SIDE_KIND_COUNT, sizeof(*t->side));
	if (t->side) /* else the step has run out of memory */
		th_side_add(&t->side[kind], &u);
	t->tokens_in = th_add_up(t->tokens_in, u.tokens_in);
	t->tokens_out = th_add_up(t->tokens_out, u.tokens_out);
	t->cost_nano = th_add_up(t->cost_nano, u.cost_nano);
	t->cost_unknown |= u.cost_unknown;
	t->unmetered |= u.unmetered;
}

/* The final output is empty, and nobody put it there. */
static bool says_nothing(const struct th_session *s)
{
	return !s->final.len && s->instead < 0 && !s->final_refusal && !s->final_failure;
}

enum th_code th_on_model_requested(struct th_step *st)
{
	static const char *const due_now[TH_TURN_PHASE_COUNT] = {
		[TH_TURN_REST] = "nothing",
		[TH_TURN_DUE] = "the same",
		[TH_TURN_REQUESTED] = "the same",
		[TH_TURN_BACKOFF] = "the same",
		[TH_TURN_CALLS] = "the calls of the answer before",
		[TH_TURN_CHECK] = "the final output",
	};
	struct th_session *s = st->s;
	struct th_ev_model_requested d;
	enum th_code code = th_step_parse_plain(st, &d);

	if (code)
		return code;
	if (s->phase == TH_TURN_CHECK && says_nothing(s)) {
		/* Earlier builds went on after an answer without a word. */
		th_step_phase(s, TH_TURN_DUE);
		s->totals.attempts = 0;
		s->guards_out = 0;
	}
	if (s->phase != TH_TURN_DUE && s->phase != TH_TURN_BACKOFF && s->phase != TH_TURN_REQUESTED)
		return th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the log asks the model here, this build would do %s first",
		    due_now[s->phase]);
	if ((uint64_t)d.choice != s->model_at)
		return th_fail(st->err, TH_EDIVERGED,
			       "diverged: the log asks model %lld of the agent's list here, this "
			       "build would ask %zu",
			       (long long)d.choice, s->model_at);
	if (s->phase == TH_TURN_REQUESTED && !s->started.len)
		th_step_hold_reservation(s);
	if (!s->started.len)
		s->asked_seq = st->ev->seq;
	s->reserved = (struct th_reservation){ d.reserved_tokens, d.reserved_cost_nano };
	/* The calls of the answer before have their results: their memory is not needed while
	 * waiting. */
	s->calls = NULL;
	s->call_count = 0;
	th_arena_deinit(&s->turn);
	th_step_phase(s, TH_TURN_REQUESTED);
	s->turn_failed = false;
	s->request_seq = st->ev->seq;
	/* It was looked at before the first attempt. */
	s->condense_asked &= s->totals.attempts > 0;
	s->totals.attempts++;
	th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_MODEL_CALL });
	return TH_OK;
}

static int64_t usage_tokens(const struct th_json *usage)
{
	return th_add_up(TH_MAX(th_json_get_int(usage, "input", 0), (int64_t)0),
			 TH_MAX(th_json_get_int(usage, "output", 0), (int64_t)0));
}

/* Failures after which the provider may have worked, and says nothing of what it cost. */
static bool may_have_cost(struct th_str class)
{
	static const char *const classes[] = { "timeout", "cut", "malformed", "cancelled", NULL };

	return th_names_find(classes, class) >= 0;
}

static void add_usage(struct th_totals *t, const struct th_json *usage, int64_t cost_nano)
{
	t->tokens_in += TH_MAX(th_json_get_int(usage, "input", 0), 0);
	t->tokens_cached += TH_MAX(th_json_get_int(usage, "cached", 0), 0);
	t->tokens_out += TH_MAX(th_json_get_int(usage, "output", 0), 0);
	t->tokens_reasoning += TH_MAX(th_json_get_int(usage, "reasoning", 0), 0);
	t->cost_nano += cost_nano;
}

void th_step_finish(const struct th_session *s, struct th_effects *out)
{
	struct th_effect fail = { .kind = TH_DO_FAIL,
				  .reason = "the model says that it could not do the task" };

	th_step_emit(out, s->final_failure ? fail : (struct th_effect){ .kind = TH_DO_FINISH });
}

/* An answer that was cut short cannot be continued. */
static void take_chain(struct th_session *s, const struct th_ev_model_answered *d)
{
	th_buf_clear(&s->chain);
	if (d->response_id.len <= TH_RESPONSE_ID_MAX && th_str_is(d->status, "completed"))
		th_buf_add(&s->chain, d->response_id);
	s->chain_seq = s->asked_seq;
	s->chain_agent = (uint8_t)s->agent;
	s->chain_at = (uint8_t)s->model_at;
}

/* After these the model is to see something else than its provider has kept. */
bool th_step_breaks_chain(enum th_event_kind kind)
{
	return kind == TH_EV_ITEMS_ADDED || kind == TH_EV_ITEMS_REMOVED ||
	       kind == TH_EV_CONDENSATION;
}

/* Where an answer ends early, what it asks for before its end is whole: arguments are whole when
 * they are JSON, which policy and tools see.  A text that a tool takes looks whole wherever it is
 * cut, so its item has to say that it is. */
static void note_cut(struct th_session *s)
{
	struct th_call *c = s->call_count ? &s->calls[s->call_count - 1] : NULL;

	if (!s->answer_incomplete || !c || !c->native || c->native == TH_NATIVE_MCP ||
	    th_str_is(th_json_raw_get(c->item, "type"), "\"function_call\""))
		return;
	c->incomplete |= !th_str_is(th_json_raw_get(c->item, "status"), "\"completed\"");
}

/* Counts the turn and what it used; the reservation for it ends. */
static void count_answer(struct th_step *st, const struct th_ev_model_answered *d)
{
	struct th_session *s = st->s;
	const struct th_json *usage = th_json_get(st->data, "usage");

	s->totals.turns++;
	s->totals.task_turns++;
	add_usage(&s->totals, usage, d->cost_nano);
	th_used_add(&s->used.tokens_written, th_json_get_int(usage, "written", 0));
	th_used_add(&s->used.model_ms, d->elapsed_ms);
	s->answer_tokens = usage_tokens(usage);
	s->reserved = (struct th_reservation){ 0 };
	s->totals.cost_unknown |= !th_json_get(st->data, "cost_nano");
	s->totals.unmetered |= d->unmetered;
}

enum th_code th_on_model_answered(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_model_answered d;
	struct th_next next = st->parsed->next;
	enum th_code code = th_step_parse_plain(st, &d);

	if (code)
		return code;
	if (s->phase != TH_TURN_REQUESTED)
		return th_fail(st->err, TH_EPROTO, "no answer is awaited");
	th_arena_deinit(&s->turn);
	th_buf_deinit(&s->final);
	/* The memory of the plan is the session's from now on. */
	s->turn = st->parsed->memory;
	s->final = st->parsed->text;
	th_arena_init_try(&st->parsed->memory, TH_TURN_MEMORY_MAX);
	th_buf_init_try(&st->parsed->text, TH_ANSWER_MAX);
	s->calls = NULL;
	s->call_count = 0;
	s->answer_seq = st->ev->seq;
	s->compacted = false;
	s->shortened = 0;
	take_chain(s, &d);
	th_buf_clear(&s->started);
	s->items += next.item_count;
	count_answer(st, &d);
	s->final_refusal = next.refusal;
	s->final_failure = next.gave_up;
	s->unread = next.unread ? s->unread + 1 : 0;
	s->answer_incomplete = th_str_is(d.status, "incomplete");
	if (s->answer_incomplete && th_str_is(d.reason, TH_ANSWER_PAUSED)) {
		s->answer_incomplete = false;
		if (next.kind == TH_NEXT_FINAL)
			next.kind = TH_NEXT_AGAIN;
	}
	s->handed = s->use_given = s->use_answered = false;
	s->instead = -1;
	th_judge_answered(s);
	switch (next.kind) {
	case TH_NEXT_CALLS:
		s->calls = next.calls;
		s->call_count = next.call_count;
		s->totals.calls += (int64_t)next.call_count;
		note_cut(s);
		th_step_phase(s, TH_TURN_CALLS);
		break;
	case TH_NEXT_FINAL:
		th_step_phase(s, TH_TURN_REST);
		if (!s->answer_incomplete)
			th_next_step_final(s);
		break;
	case TH_NEXT_AGAIN:
		th_step_phase(s, s->answer_incomplete ? TH_TURN_REST : TH_TURN_DUE);
		s->totals.attempts = 0;
		break;
	}
	th_next_step_answer(st, &next);
	if (s->answer_incomplete && next.kind != TH_NEXT_CALLS)
		th_step_emit(st->out, (struct th_effect){
					  .kind = TH_DO_FAIL,
					  .reason = "the answer was cut short by the provider" });
	return TH_OK;
}

enum th_code th_on_model_started(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_model_started d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (s->phase != TH_TURN_REQUESTED || s->started.len)
		return th_fail(st->err, TH_EPROTO, "no answer is awaited that could be started");
	if (!d.response_id.len || d.response_id.len > TH_RESPONSE_ID_MAX)
		return th_fail(st->err, TH_ELIMIT, "a response's id has 1 to %d bytes",
			       TH_RESPONSE_ID_MAX);
	th_buf_add(&s->started, d.response_id);
	s->started_next = d.next_event;
	return TH_OK;
}

enum th_code th_on_model_failed(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_model_failed d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (s->phase != TH_TURN_REQUESTED)
		return th_fail(st->err, TH_EPROTO, "no answer is awaited");
	if (d.next.len && !th_str_eq(d.next, th_session_next_model(s)))
		return th_fail(
		    st->err, TH_EDIVERGED,
		    "diverged: the log goes on with the model %.*s, this build would with "
		    "\"%.*s\"",
		    TH_FMT(th_utf8_cut(d.next, 80)),
		    TH_FMT(th_utf8_cut(th_session_next_model(s), 80)));
	add_usage(&s->totals, th_json_get(st->data, "usage"), 0);
	if (d.whole || d.next.len)
		th_buf_clear(&s->chain);
	if (!d.kept)
		th_buf_clear(&s->started);
	if (may_have_cost(d.class) && !d.kept && !th_json_get(st->data, "usage"))
		th_step_hold_reservation(s);
	s->reserved = (struct th_reservation){ 0 };
	/* What cancelled it has said why. */
	if (s->state == TH_STATE_RUNNING || !th_str_is(d.class, "cancelled"))
		th_step_reason(s, d.message);
	if (s->tripped) {
		th_step_phase(s, TH_TURN_REST); /* and the guardrail's reason is why */
	} else if (th_str_is(d.class, "cancelled")) {
		th_step_phase(s, TH_TURN_DUE);
		s->totals.attempts = 0;
	} else if (d.whole) {
		th_step_phase(s, TH_TURN_DUE); /* it was no try: nothing was asked */
		s->totals.attempts = TH_MAX(s->totals.attempts - 1, (int64_t)0);
	} else if (d.too_long) {
		th_step_phase(s, TH_TURN_DUE); /* no try either: the next has another history */
		s->totals.attempts = TH_MAX(s->totals.attempts - 1, (int64_t)0);
		s->too_long = true;
		s->shortened++;
	} else if (d.retry) {
		th_step_phase(s, TH_TURN_BACKOFF);
		s->retry_in_ms = d.retry_in_ms;
		th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_TIMER_SET,
							  .retry_in_ms = d.retry_in_ms });
	} else if (d.next.len) {
		th_step_phase(s, TH_TURN_DUE);
		s->model_at++;
		s->totals.attempts = 0;
	} else {
		th_step_phase(s, TH_TURN_REST);
		s->turn_failed = true;
		th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_FAIL,
							  .reason = "the model gave no answer" });
	}
	return TH_OK;
}

/* By the event it points to; a first CALL has none and goes by order. */
