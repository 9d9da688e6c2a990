/* SPDX-License-Identifier: Apache-2.0 */
/* session_events.c - the events of the session itself: see session_internal.h. */
#include "base/text.h"
#include "core/session_internal.h"

/* A task asks the first model first.  Calls that are open stay with the one that made them. */
static void ask_first(struct th_session *s)
{
	s->model_anew = s->phase == TH_TURN_CALLS && !th_calls_settled(s) && s->model_at > 0;
	if (!s->model_anew && s->model_at > 0) {
		s->model_at = 0;
		th_buf_clear(&s->chain);
	}
}

enum th_code th_on_session_created(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_session_created d;
	struct th_agent *agent = TH_NEW(st->scratch, struct th_agent);
	const struct th_team *team = NULL;
	enum th_code code = th_step_parse_plain(st, &d);
	int begins = 0;

	if (code)
		return code;
	if (st->ev->seq != 1)
		return th_fail(st->err, TH_EPROTO, "a session is created by its first event");
	if (!agent)
		return th_fail(st->err, TH_ELIMIT, "the agent's definition is too large");
	code = th_table_parse(&th_agent_table, th_json_get(st->data, "agent"), st->scratch, agent,
			      st->err);
	if (!code)
		code = th_team_resolve(th_json_get(st->data, "agent"), &s->memory, &team, st->err);
	if (code)
		return th_prefix(st->err, code, "agent");
	if (d.begins.len)
		begins = th_team_find(team, d.begins);
	if (begins < 0)
		return th_fail(st->err, TH_EPROTO, "no agent of the team is \"%.*s\"",
			       TH_FMT(th_utf8_cut(d.begins, 80)));
	code = th_step_state(st, TH_STATE_IDLE);
	if (code)
		return code;
	th_step_limits(s, agent->limits);
	th_stuck_init(st, agent->stuck);
	th_origins_init(s, agent);
	/* What works on a call is judged by whoever asked for it. */
	code = th_judge_init(st, d.begins.len ? NULL : agent->judge);
	if (code)
		return code;
	s->output_max = agent->settings ? agent->settings->max_output_tokens : 0;
	s->model = th_arena_str(&s->memory, d.model);
	s->workspace = th_arena_str(&s->memory, d.workspace);
	s->team = team;
	s->agent = (size_t)begins;
	s->agent_name =
	    d.begins.len ? team->members[begins].name : th_arena_str(&s->memory, agent->name);
	s->created_ms = st->ev->ts_ms;
	return TH_OK;
}

/* The prefix was folded before; calls that were open there belong to the parent. */
enum th_code th_on_session_forked(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_session_forked d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (s->state == TH_STATE_LOADING)
		return th_fail(st->err, TH_EPROTO, "a fork has a prefix");
	s->parent = th_arena_str(&s->memory, d.parent);
	s->record = false;
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];

		if (c->phase == TH_CALL_INTENDED) {
			c->phase = TH_CALL_DENIED;
			c->reason = TH_STR(
			    "the call was under way in the session this one was forked from");
		}
		c->emitted = c->phase == TH_CALL_SETTLED;
		c->hook_seq = 0;
	}
	th_hooks_anew(s, TH_GUARD_INPUT); /* nor what it had begun to ask */
	th_hooks_anew(s, TH_GUARD_OUTPUT);
	th_buf_clear(&s->started); /* nor its answer */
	th_background_free(s);     /* nor what works for it */
	if (s->phase == TH_TURN_REQUESTED || s->phase == TH_TURN_BACKOFF) {
		th_step_phase(s, s->tripped ? TH_TURN_REST : TH_TURN_DUE);
		s->totals.attempts = 0;
		s->reserved = (struct th_reservation){ 0 }; /* the parent's to pay */
	}
	return TH_OK;
}

/* Whatever was held back is given out again. */
static void release_marks(struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase != TH_CALL_INTENDED && s->calls[i].phase != TH_CALL_SETTLED)
			s->calls[i].emitted = false;
	for (size_t i = 0; i < s->call_count; i++)
		s->calls[i].guard_given = false;
	s->guards_in_given = s->guards_out_given = 0;
	s->use_given = false;
}

enum th_code th_step_begin(struct th_step *st)
{
	struct th_session *s = st->s;
	/* What is said first to one that begins later begins its task, which waits for its time. */
	bool later = s->state == TH_STATE_SCHEDULED && !s->task_seq;
	enum th_code code;

	if (s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING ||
	    (th_state_holds(s->state) && !later))
		return TH_OK;
	code = later ? TH_OK : th_step_state(st, TH_STATE_RUNNING);
	if (code)
		return code;
	th_step_count_anew(st, false);
	th_judge_anew(s);
	s->totals.attempts = 0;
	s->unread = 0;
	s->task_seq = st->ev->seq;
	s->joined = TH_MIN(s->joined, (uint8_t)TH_JOINED_BEFORE);
	if (th_next_step_refused(s)) /* and is not sent with what is said now */
		s->rewritten_seq = st->ev->seq;
	th_next_step_task(s, st->ev->seq);
	ask_first(s);
	if (s->phase != TH_TURN_CALLS || th_calls_settled(s))
		th_step_phase(s, TH_TURN_DUE);
	else
		release_marks(s); /* what failed over a call is tried again */
	th_background_due(s, st->out);
	return TH_OK;
}

enum th_code th_session_full(struct th_step *st)
{
	return th_fail(st->err, TH_ELIMIT,
		       "the session's history is full, with %d items; begin another one",
		       TH_SESSION_ITEMS_MAX);
}

bool th_session_skill_said(const struct th_session *s, struct th_str name)
{
	for (size_t i = 0; i < s->skill_count; i++)
		if (th_str_eq(s->skills[i].name, name))
			return true;
	return false;
}

/* One more than there is room for is said again, as if for the first time. */
static void note_skill(struct th_session *s, struct th_str name, uint64_t seq)
{
	if (!s->skills)
		s->skills = th_arena_array(&s->memory, TH_SKILLS_MAX, sizeof(*s->skills));
	if (s->skills && s->skill_count < TH_SKILLS_MAX && !th_session_skill_said(s, name))
		s->skills[s->skill_count++] =
		    (struct th_said_skill){ th_arena_str(&s->memory, name), seq };
}

enum th_code th_on_message(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_message d;
	enum th_code code = th_step_parse_plain(st, &d);

	if (code)
		return code;
	if (s->items >= TH_SESSION_ITEMS_MAX)
		return th_session_full(st);
	/* While a person is asked, a message waits its turn: it never approves anything. */
	code = th_step_begin(st);
	if (code)
		return code;
	if (!s->correct)
		th_stuck_said(s, st->ev->source == TH_SOURCE_ENVIRONMENT);
	s->correct = s->goes_back = false;
	th_judge_said(s);
	if (s->phase == TH_TURN_DUE)
		s->turn_given = false; /* what was given out may have waited for this */
	s->items++;
	s->message_seq = st->ev->seq;
	if (d.skill.len)
		note_skill(s, d.skill, st->ev->seq);
	/* The runtime's own words need no guardrail; what begins a task is looked at already. */
	if (st->ev->source != TH_SOURCE_ENVIRONMENT && s->task_seq != st->ev->seq)
		s->said_seq = st->ev->seq;
	return TH_OK;
}

void th_step_cancel(struct th_step *st, bool for_good)
{
	struct th_session *s = st->s;

	if (s->phase == TH_TURN_REQUESTED ||
	    (for_good && s->phase == TH_TURN_CHECK && th_judge_due(s)))
		th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_MODEL_CANCEL });
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];

		if (c->phase == TH_CALL_INTENDED) {
			if (for_good)
				th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_TOOL_CANCEL,
									  .call = (uint32_t)i });
		} else if (for_good && (c->phase == TH_CALL_PARKED || th_call_is_halfway(c))) {
			c->status = TH_OUTCOME_UNKNOWN;
			th_call_phase_set(c, TH_CALL_JUDGED);
		} else if (for_good && c->phase == TH_CALL_SEEN) {
			c->cancelled = true; /* policy refuses it when it is recorded */
		} else if (for_good && c->phase < TH_CALL_INTENDED) {
			c->reason = TH_STR(TH_CALL_CANCELLED_WHY);
			th_call_phase_set(c, TH_CALL_DENIED);
		}
	}
}

void th_step_hand_over(const struct th_session *s, struct th_effects *out)
{
	if (s->state != TH_STATE_RUNNING || s->phase != TH_TURN_CALLS || s->handed)
		return;
	for (size_t i = 0; i < s->call_count; i++)
		if (th_call_hands_over(&s->calls[i]))
			th_step_emit(out, (struct th_effect){ .kind = TH_DO_HAND_OVER,
							      .call = (uint32_t)i });
}

enum th_code th_on_state_changed(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_state_changed d;
	enum th_code code = th_step_parse(st, &d);
	bool failed = s->state == TH_STATE_FAILED, paused = th_state_holds(s->state);
	int to;

	if (code)
		return code;
	to = th_state_find(d.to);
	if (to < 0)
		return th_fail(st->err, TH_EPROTO, "unknown state \"%.*s\"",
			       TH_FMT(th_utf8_cut(d.to, 40)));
	s->record = d.record && to == TH_STATE_STOPPED && s->state != TH_STATE_LOADING;
	if (s->record && !th_state_allows(s->state, TH_STATE_STOPPED)) /* also one that was over */
		s->state = TH_STATE_RUNNING;
	code = th_step_state(st, (enum th_state)to);
	if (code)
		return code;
	th_step_reason(s, d.reason);
	if (to == TH_STATE_RUNNING)
		th_stuck_said(s, false);
	/* No timer of before rings again, and a replay has none: what waited for one is due. */
	if (s->phase == TH_TURN_BACKOFF)
		th_step_phase(s, TH_TURN_DUE);
	/* A limit is found with a request under way only when that was another process's. */
	if (to == TH_STATE_LIMIT && s->phase == TH_TURN_REQUESTED) {
		th_step_hold_reservation(s);
		th_step_phase(s, TH_TURN_DUE);
	}
	if (to == TH_STATE_STOPPED)
		th_background_stop(s);
	if (to == TH_STATE_STOPPED || th_state_holds((enum th_state)to))
		th_step_cancel(st, to == TH_STATE_STOPPED);
	if (to == TH_STATE_RUNNING) {
		release_marks(s);
		s->turn_given = false;
		if (failed)
			th_next_step_untrip(s);
		/* A guardrail that tripped before is ended by the next step. */
		if (s->phase == TH_TURN_REST && !s->tripped)
			th_step_phase(s, TH_TURN_DUE);
		/* A resume gives it new turns; a pause does not end the task. */
		if (!paused || !s->totals.task_turns) {
			th_step_count_anew(st, true);
			th_judge_again(s);
		}
		s->totals.attempts = 0;
		ask_first(s);
		th_step_turn_over(s);
		if (th_session_waits_any(s))
			return th_step_state(st, TH_STATE_WAITING);
		th_step_hand_over(s, st->out);
		th_background_due(s, st->out);
	}
	return TH_OK;
}

/* What it is called is nothing to the run. */
enum th_code th_on_session_changed(struct th_step *st)
{
	struct th_ev_session_changed d;
	enum th_code code = th_step_parse(st, &d);

	if (code || !d.confirm.len)
		return code;
	return th_confirm_read(th_json_get(st->data, "confirm"), &st->s->confirm, st->err);
}

/* Nothing of it is the task's but what it took. */
enum th_code th_on_asked(struct th_step *st)
{
	struct th_ev_asked d;
	enum th_code code = th_step_parse(st, &d);

	if (!code)
		th_step_side(st->s, TH_SIDE_ASKED, th_json_get(st->data, "usage"));
	return code;
}

/* Which tools there are: each CALL says all that the fold needs of its own. */
enum th_code th_on_mcp_tools(struct th_step *st)
{
	struct th_ev_mcp_tools d;

	return th_step_parse_plain(st, &d);
}

/* It is done before the next request, whenever that is. */
enum th_code th_on_condensation_requested(struct th_step *st)
{
	struct th_ev_condensation_requested d;
	enum th_code code = th_step_parse(st, &d);

	st->s->condense_asked |= !code;
	return code;
}

enum th_code th_on_error(struct th_step *st)
{
	struct th_ev_error d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	code = th_step_state(st, TH_STATE_FAILED);
	if (code)
		return code;
	th_step_reason(st->s, d.message);
	if (st->s->phase != TH_TURN_CALLS)
		th_step_phase(st->s, TH_TURN_REST);
	return TH_OK;
}

enum th_code th_on_final(struct th_step *st)
{
	th_next_step_turned_down(st->s, st->s->answer_seq);
	if ((st->s->phase != TH_TURN_REST && st->s->phase != TH_TURN_CHECK) ||
	    st->s->state != TH_STATE_RUNNING)
		return th_fail(st->err, TH_EPROTO, "there is no final answer to finish with");
	th_step_phase(st->s, TH_TURN_REST);
	th_judge_finished(st->s);
	if (th_json_bool(th_json_get(st->data, "in_history"), false)) {
		st->s->rewritten_seq = st->ev->seq;
		st->s->items++;
	}
	th_buf_clear(&st->s->reason);
	return th_step_state(st, TH_STATE_FINISHED);
}
