/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - the fold: one step, and what is open after a replay.
 */
#include "core/session.h"

#include "base/text.h"

#include "core/session_internal.h"

struct name_row {
	const char *name;
	int exit_code;
};

#define X(id, name, exit_code, doc) { name, exit_code },
static const struct name_row states[] = { TH_STATES(X) };
#undef X

#define S(id) (1u << TH_STATE_##id)
/* A state that rests may be left for running by a message or an operator. */
static const unsigned transitions[TH_STATE_COUNT] = {
	[TH_STATE_LOADING] = S(IDLE) | S(RUNNING),
	[TH_STATE_IDLE] = S(RUNNING) | S(PAUSED) | S(SCHEDULED) | S(STOPPED),
	[TH_STATE_RUNNING] =
	    S(WAITING) | S(PAUSED) | S(STOPPED) | S(FINISHED) | S(FAILED) | S(STUCK) | S(LIMIT),
	[TH_STATE_WAITING] = S(RUNNING) | S(PAUSED) | S(STOPPED) | S(FAILED),
	[TH_STATE_PAUSED] = S(RUNNING) | S(STOPPED),
	[TH_STATE_SCHEDULED] = S(RUNNING) | S(PAUSED) | S(STOPPED),
	[TH_STATE_STOPPED] = S(RUNNING),
	[TH_STATE_FINISHED] = S(RUNNING),
	[TH_STATE_FAILED] = S(RUNNING) | S(STOPPED),
	[TH_STATE_STUCK] = S(RUNNING) | S(STOPPED),
	[TH_STATE_LIMIT] = S(RUNNING) | S(STOPPED),
};
#undef S

const char *th_state_name(enum th_state s)
{
	assert(s < TH_STATE_COUNT);
	return states[s].name;
}

int th_state_find(struct th_str name)
{
	for (int i = 0; i < TH_STATE_COUNT; i++)
		if (th_str_is(name, states[i].name))
			return i;
	return -1;
}

int th_state_exit(enum th_state s)
{
	assert(s < TH_STATE_COUNT);
	return states[s].exit_code;
}

bool th_state_allows(enum th_state from, enum th_state to)
{
	assert(from < TH_STATE_COUNT && to < TH_STATE_COUNT);
	return transitions[from] & (1u << to);
}

void th_session_init(struct th_session *s)
{
	*s = (struct th_session){
		.turns_max = TH_TURNS_DEFAULT,
		.attempts_max = TH_ATTEMPTS_DEFAULT,
		.delegates_max = TH_DELEGATES_PARALLEL_DEFAULT,
		.team = &th_team_plain,
		.instead = -1,
	};
	th_arena_init_try(&s->turn, TH_TURN_MEMORY_MAX);
	th_arena_init_try(&s->memory, TH_PROVIDER_STATE_MAX);
	th_buf_init_try(&s->final, TH_ANSWER_MAX);
	th_buf_init_try(&s->reason, TH_PROVIDER_STATE_MAX);
	th_buf_init_try(&s->chain, TH_RESPONSE_ID_MAX);
	th_buf_init_try(&s->started, TH_RESPONSE_ID_MAX);
	th_buf_init_try(&s->trip, TH_PROVIDER_STATE_MAX);
	th_buf_init_try(&s->asked_ids, TH_ASKED_IDS_MAX * sizeof(uint64_t));
	th_restated_init(&s->restated);
}

void th_session_deinit(struct th_session *s)
{
	th_control_deinit(s);
	th_judge_deinit(s);
	th_arena_deinit(&s->turn);
	th_arena_deinit(&s->memory);
	th_buf_deinit(&s->final);
	th_buf_deinit(&s->reason);
	th_buf_deinit(&s->chain);
	th_buf_deinit(&s->started);
	th_buf_deinit(&s->trip);
	th_buf_deinit(&s->asked_ids);
	th_background_deinit(s);
	th_restated_deinit(&s->restated);
	th_unresolved_deinit(&s->unresolved);
	*s = (struct th_session){ 0 };
}

void th_session_prices(struct th_session *s, size_t at, int64_t input, int64_t output)
{
	struct th_session_price price = { input, output };

	assert(at <= TH_FALLBACK_MAX);
	if (at == 0) {
		s->price = price;
		return;
	}
	if (!s->fallback_prices)
		s->fallback_prices =
		    th_arena_array(&s->memory, TH_FALLBACK_MAX, sizeof(*s->fallback_prices));
	if (s->fallback_prices) /* else the next step says that there was no memory */
		s->fallback_prices[at - 1] = price;
}

struct th_str th_session_next_model(const struct th_session *s)
{
	const struct th_strs *list = &th_session_member(s)->fallback;

	return s->model_at < list->count ? list->list[s->model_at] : TH_STR("");
}

int64_t th_session_time_left_ms(const struct th_session *s, int64_t now_ms)
{
	if (!s->seconds_max)
		return -1;
	return TH_MAX(s->task_ms + s->seconds_max * 1000 - now_ms, (int64_t)0);
}

void th_step_emit(struct th_effects *out, struct th_effect effect)
{
	assert(out->count < TH_EFFECTS_MAX);
	out->list[out->count++] = effect;
}

void th_step_reason(struct th_session *s, struct th_str text)
{
	th_buf_clear(&s->reason);
	th_buf_add(&s->reason, th_utf8_cut(text, TH_ERR_MSG_MAX * 2));
}

void th_step_phase(struct th_session *s, enum th_turn_phase phase)
{
	s->phase = phase;
	s->turn_given = s->awaits = false;
	if (s->model_anew && phase != TH_TURN_CALLS) {
		s->model_at = 0;
		th_buf_clear(&s->chain);
		s->model_anew = false;
	}
}

static bool is_persons(enum th_state s)
{
	return s == TH_STATE_WAITING || s == TH_STATE_PAUSED;
}

enum th_code th_step_state(struct th_step *st, enum th_state to)
{
	struct th_session *s = st->s;

	if (s->state == to)
		return TH_OK;
	if (!th_state_allows(s->state, to))
		return th_fail(st->err, TH_EPROTO, "a session that is %s cannot become %s",
			       th_state_name(s->state), th_state_name(to));
	/* A person's time is not the agent's. */
	if (is_persons(to) && !is_persons(s->state))
		s->waiting_ms = st->ev->ts_ms;
	else if (is_persons(s->state) && !is_persons(to) && st->ev->ts_ms > s->waiting_ms)
		s->task_ms += st->ev->ts_ms - s->waiting_ms;
	if (s->state == TH_STATE_WAITING)
		th_used_add(&s->used.person_ms, st->ev->ts_ms - s->asked_ms);
	if (to == TH_STATE_WAITING)
		s->asked_ms = st->ev->ts_ms;
	s->state = to;
	s->notified = false;
	return TH_OK;
}

/* Where raw members are not looked at, or read from the document. */
enum th_code th_step_parse_plain(struct th_step *st, void *out)
{
	return th_table_parse_plain(th_event_table(st->ev->kind), st->data, st->scratch, out,
				    st->err);
}

enum th_code th_step_parse(struct th_step *st, void *out)
{
	return th_table_parse(th_event_table(st->ev->kind), st->data, st->scratch, out, st->err);
}

/* All calls have their result: the model goes on. */
void th_step_turn_over(struct th_session *s)
{
	if (s->phase == TH_TURN_CALLS && th_calls_settled(s)) {
		th_stuck_settled(s);
		th_next_step_settled(s);
	}
}

/* ---- a step ---- */

typedef enum th_code handler_fn(struct th_step *);

static handler_fn *const handlers[TH_EVENT_COUNT] = {
	[TH_EV_SESSION_CREATED] = th_on_session_created,
	[TH_EV_SESSION_FORKED] = th_on_session_forked,
	[TH_EV_MESSAGE] = th_on_message,
	[TH_EV_MODEL_REQUESTED] = th_on_model_requested,
	[TH_EV_MODEL_STARTED] = th_on_model_started,
	[TH_EV_MODEL_ANSWERED] = th_on_model_answered,
	[TH_EV_MODEL_FAILED] = th_on_model_failed,
	[TH_EV_CALL] = th_on_call,
	[TH_EV_APPROVAL_REQUESTED] = th_on_approval_requested,
	[TH_EV_APPROVAL_DECIDED] = th_on_approval_decided,
	[TH_EV_INTENT] = th_on_intent,
	[TH_EV_OUTCOME] = th_on_outcome,
	[TH_EV_QUESTION] = th_on_question,
	[TH_EV_SAMPLED] = th_on_sampled,
	[TH_EV_SERVER_TASK] = th_on_server_task,
	[TH_EV_PARKED] = th_on_parked,
	[TH_EV_SETTLED] = th_on_settled,
	[TH_EV_HOOK_STARTED] = th_on_hook_started,
	[TH_EV_GUARDRAIL] = th_on_guardrail,
	[TH_EV_ANALYSIS] = th_on_analysis,
	[TH_EV_HANDOFF] = th_on_handoff,
	[TH_EV_CODE] = th_on_code,
	[TH_EV_MCP_TOOLS] = th_on_mcp_tools,
	[TH_EV_ITEMS_ADDED] = th_on_items_added,
	[TH_EV_ITEMS_REMOVED] = th_on_items_removed,
	[TH_EV_DELEGATION_STARTED] = th_on_delegation_started,
	[TH_EV_DELEGATION_WAITS] = th_on_delegation_waits,
	[TH_EV_DELEGATION_FINISHED] = th_on_delegation_finished,
	[TH_EV_CONDENSATION] = th_on_condensation,
	[TH_EV_CONDENSATION_REQUESTED] = th_on_condensation_requested,
	[TH_EV_CONTROL] = th_on_control,
	[TH_EV_INPUT] = th_on_input,
	[TH_EV_INPUT_DONE] = th_on_input_done,
	[TH_EV_STATE_CHANGED] = th_on_state_changed,
	[TH_EV_BUDGET] = th_on_budget,
	[TH_EV_PLAN] = th_on_plan,
	[TH_EV_GOAL] = th_on_goal,
	[TH_EV_VERDICT] = th_on_verdict,
	[TH_EV_ASKED] = th_on_asked,
	[TH_EV_SESSION_CHANGED] = th_on_session_changed,
	[TH_EV_ERROR] = th_on_error,
	[TH_EV_FINAL] = th_on_final,
};

/* Whoever copies something looks only whether it fits; here it shows whether there was memory. */
static bool ran_out(const struct th_session *s, const struct th_arena *scratch)
{
	return scratch->no_memory || s->chain.no_memory || s->started.no_memory ||
	       s->turn.no_memory || s->memory.no_memory || s->final.no_memory ||
	       s->reason.no_memory || s->trip.no_memory || s->asked_ids.no_memory ||
	       s->restated.notes.no_memory || s->restated.tasks.no_memory ||
	       (s->control && (s->control->by.no_memory || s->control->input.no_memory)) ||
	       (s->judge && (s->judge->missing.no_memory || s->judge->goal.text.no_memory));
}

/* What is seen of it later. */
static bool is_history(enum th_event_kind kind)
{
	return kind == TH_EV_MESSAGE || kind == TH_EV_MODEL_ANSWERED || kind == TH_EV_OUTCOME ||
	       kind == TH_EV_ITEMS_ADDED;
}

/* Does the next event follow? */
static enum th_code check_order(const struct th_session *s, const struct th_event *ev,
				struct th_err *err)
{
	assert(ev->kind < TH_EVENT_COUNT);
	if (ev->seq != s->seq + 1)
		return th_fail(err, TH_EPROTO, "event %llu follows event %llu",
			       (unsigned long long)ev->seq, (unsigned long long)s->seq);
	if (s->state == TH_STATE_LOADING && ev->kind != TH_EV_SESSION_CREATED)
		return th_fail(err, TH_EPROTO,
			       "the first event of a session must be session_created");
	return s->no_memory ? th_fail_memory(err) : TH_OK;
}

/* The same events say it at the same places, whoever folds them. */
static void say_used(struct th_session *s, int64_t now_ms)
{
	if (s->state == TH_STATE_RUNNING && now_ms - s->used_said_ms < TH_USED_SAID_MS)
		return;
	s->used_said = s->used;
	s->used_said_ms = now_ms;
}

enum th_code th_session_step_parsed(struct th_session *s, struct th_parsed *parsed,
				    struct th_effects *ret, struct th_err *err)
{
	const struct th_event *ev = parsed->ev;
	struct th_arena scratch;
	struct th_step st = { .s = s,
			      .ev = ev,
			      .data = parsed->data,
			      .parsed = parsed,
			      .scratch = &scratch,
			      .out = ret,
			      .err = err };
	enum th_code code = check_order(s, ev, err);

	ret->count = 0;
	if (code)
		return code;
	th_arena_init_try(&scratch, TH_TURN_MEMORY_MAX);
	/* A later event of a task counts towards its running time even when it is refused by
	 * limits. */
	code = handlers[ev->kind](&st);
	if (code == TH_ENOMEM || ran_out(s, &scratch)) {
		s->no_memory = true;
		code = th_fail_memory(err);
	}
	if (!code) {
		if (th_step_breaks_chain(ev->kind))
			th_buf_clear(&s->chain);
		if (is_history(ev->kind))
			s->bytes += ev->data.len;
		if (ev->kind == TH_EV_MODEL_ANSWERED)
			s->bytes_then = s->bytes;
		s->seq = ev->seq;
		s->updated_ms = ev->ts_ms;
		say_used(s, ev->ts_ms);
		th_step_due(s, ret);
	} else {
		ret->count = 0;
		th_prefix(err, code, "event %llu (%s)", (unsigned long long)ev->seq,
			  th_event_name(ev->kind));
	}
	th_arena_deinit(&scratch);
	return code;
}

enum th_code th_session_step(struct th_session *s, const struct th_event *ev,
			     struct th_effects *ret, struct th_err *err)
{
	struct th_parsed parsed TH_UNSET;
	enum th_code code = check_order(s, ev, err);

	ret->count = 0;
	if (code)
		return code;
	code = th_parsed_init(&parsed, ev, err);
	s->no_memory = code == TH_ENOMEM;
	if (code)
		return th_prefix(err, code, "event %llu (%s)", (unsigned long long)ev->seq,
				 th_event_name(ev->kind));
	code = th_session_step_parsed(s, &parsed, ret, err);
	th_parsed_deinit(&parsed);
	return code;
}

void th_session_resume(struct th_session *s, struct th_effects *ret)
{
	ret->count = 0;
	th_background_due(s, ret); /* first: what they have used counts for all that goes on */
	s->awaits_given = false;
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];

		c->emitted = c->phase == TH_CALL_SETTLED;
		c->guard_given = false;
		if (c->phase == TH_CALL_INTENDED) {
			c->emitted = true;
			th_step_emit(ret, (struct th_effect){ .kind = TH_DO_TOOL_SETTLE,
							      .call = (uint32_t)i });
		}
	}
	if (th_session_control(s)->input_seq)
		th_step_emit(ret, (struct th_effect){ .kind = TH_DO_INPUT_SETTLE });
	th_step_hand_over(s, ret);
	s->notified = s->turn_given = s->use_given = false;
	s->goes_back = false; /* only a fork can begin before the message */
	s->guards_in_given = s->guards_out_given = 0;
	if (s->state == TH_STATE_RUNNING) {
		if (s->phase == TH_TURN_BACKOFF)
			th_step_phase(s, TH_TURN_DUE);
		if (s->phase == TH_TURN_REQUESTED && s->tripped)
			th_step_emit(ret, (struct th_effect){ .kind = TH_DO_MODEL_CANCEL });
		else if (s->phase == TH_TURN_REQUESTED)
			th_step_due_turn(s, ret);
		/* Only a fork can begin between an answer, or its failure, and what follows. */
		if (s->phase == TH_TURN_REST && s->tripped)
			; /* the next step ends it */
		else if (s->phase == TH_TURN_REST && (s->turn_failed || s->answer_incomplete))
			th_step_emit(ret,
				     (struct th_effect){ .kind = TH_DO_FAIL,
							 .reason = "the model gave no answer" });
		else if (s->phase == TH_TURN_REST && s->answer_seq)
			th_step_finish(s, ret);
	}
	th_step_due(s, ret);
}

void th_session_wake(struct th_session *s, struct th_effects *ret)
{
	ret->count = 0;
	if (s->phase == TH_TURN_BACKOFF && s->state == TH_STATE_RUNNING) {
		th_step_phase(s, TH_TURN_DUE);
		th_step_due(s, ret);
	}
}
