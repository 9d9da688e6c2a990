/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_guard.c - guardrails: which are asked, what follows their answers, and
 * how a run ends that one of them has tripped.
 */
#include "base/text.h"
#include "core/session_internal.h"

static uint32_t input_guards(const struct th_session *s)
{
	return th_session_member(s)->guard_masks[TH_GUARD_INPUT];
}

void th_next_step_guard_begin(struct th_session *s, size_t agent, uint64_t after, uint64_t seq)
{
	s->guard_agent = agent;
	s->guard_from = after;
	s->guard_to = seq;
	th_hooks_anew(s, TH_GUARD_INPUT);
	s->guards_in = s->team->members[agent].guard_masks[TH_GUARD_INPUT];
	for (size_t i = 0; s->hooks_began && i < s->team->members[agent].guard_count; i++)
		if (s->team->members[agent].guards[i].once)
			s->guards_in &= ~(UINT32_C(1) << i);
	s->guards_in_given = 0;
}

static const char *const guard_classes[TH_GUARD_STAGE_COUNT] = {
	"input_guardrail",
	"output_guardrail",
	"tool_input_guardrail",
	"tool_output_guardrail",
};

/* Nothing new begins and what runs is cancelled; when all of it is over the run fails. */
static void trip_calls(struct th_session *s, struct th_effects *out)
{
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];

		c->guards_in = c->guards_out = 0;
		if (c->phase == TH_CALL_INTENDED && out) {
			th_step_emit(out, (struct th_effect){ .kind = TH_DO_TOOL_CANCEL,
							      .call = (uint32_t)i });
		} else if (c->phase == TH_CALL_PARKED || th_call_is_halfway(c)) {
			c->status = TH_OUTCOME_UNKNOWN;
			th_call_phase_set(c, TH_CALL_JUDGED);
		} else if (c->phase < TH_CALL_INTENDED && c->phase != TH_CALL_SEEN &&
			   c->phase != TH_CALL_DENIED) {
			c->reason = TH_STR("the run was stopped before this call began");
			th_call_phase_set(c, TH_CALL_DENIED);
		}
	}
	if (th_calls_settled(s))
		th_next_step_settled(s);
}

void th_next_step_trip(struct th_session *s, struct th_effects *out, const char *class,
		       struct th_str why)
{
	if (s->tripped)
		return;
	s->tripped = true;
	s->trip_class = class;
	th_buf_clear(&s->trip);
	th_buf_add(&s->trip, th_utf8_cut(why, TH_ERR_MSG_MAX * 4));
	s->guards_in = s->guards_out = 0;
	if (s->phase == TH_TURN_REQUESTED) {
		if (out)
			th_step_emit(out, (struct th_effect){ .kind = TH_DO_MODEL_CANCEL });
	} else if (s->phase == TH_TURN_CALLS) {
		trip_calls(s, out);
	} else {
		th_step_phase(s, TH_TURN_REST);
	}
}

bool th_next_step_refused(const struct th_session *s)
{
	return s->tripped && strcmp(s->trip_class, guard_classes[TH_GUARD_INPUT]) == 0;
}

/* Whoever lets it go on does not answer for the input's guardrails: they look again, at what began
 * the task, and then at what was said since. */
void th_next_step_untrip(struct th_session *s)
{
	if (!s->tripped)
		return;
	s->tripped = false;
	th_next_step_guard_begin(s, s->task_agent, s->task_after, s->task_seq);
}

/* A request that fetches an answer sends nothing: what was said since waits for the one that does,
 * and for the guardrails of who speaks then. */
static bool is_said_next(const struct th_session *s)
{
	return s->said_seq > s->guard_to && !s->started.len;
}

bool th_session_unseen(const struct th_session *s)
{
	return is_said_next(s) && input_guards(s);
}

bool th_session_request_waits(const struct th_session *s)
{
	return s->phase == TH_TURN_DUE &&
	       ((s->guards_in & s->team->members[s->guard_agent].guard_blocking) ||
		th_session_unseen(s));
}

/* While a retry waits already: its timer is no event, and a replay must begin the same looks. */
void th_next_step_look(struct th_session *s)
{
	if ((s->phase == TH_TURN_DUE || s->phase == TH_TURN_BACKOFF) && !s->tripped &&
	    !s->guards_in && is_said_next(s))
		th_next_step_guard_begin(s, s->agent, s->guard_to, s->said_seq);
}

static void emit_guards(struct th_effects *out, enum th_guard_stage stage, uint32_t mask)
{
	for (; mask; mask &= mask - 1)
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_GUARD,
						      .stage = stage,
						      .guard = (uint16_t)__builtin_ctz(mask) });
}

void th_next_step_guards(struct th_session *s, struct th_effects *out)
{
	uint32_t blocking = s->guards_in & s->team->members[s->guard_agent].guard_blocking;
	uint32_t in = (blocking ? blocking : s->guards_in) & ~s->guards_in_given;
	uint32_t at_end = s->phase == TH_TURN_CHECK ? s->guards_out & ~s->guards_out_given : 0;

	emit_guards(out, TH_GUARD_INPUT, in);
	emit_guards(out, TH_GUARD_OUTPUT, at_end);
	s->guards_in_given |= in;
	s->guards_out_given |= at_end;
}

void th_next_step_due(struct th_session *s, struct th_effects *out)
{
	bool waits;

	if (s->state != TH_STATE_RUNNING || s->turn_given)
		return;
	if (s->phase == TH_TURN_CHECK && !s->guards_in && th_background_holds(s, out) && s->awaits)
		return;
	waits = s->guards_in || s->guards_out;
	if (s->tripped && s->phase == TH_TURN_REST) {
		s->turn_given = true;
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_FAIL,
						      .class = s->trip_class,
						      .reason = "the run was stopped" });
	} else if (s->phase == TH_TURN_CHECK && !waits && !s->goes_back) {
		/* Somebody spoke while the model was asked, or the checks ran: it has not read
		 * that yet. */
		if (s->message_seq > s->asked_seq && s->instead < 0) {
			th_next_step_ask_again(s);
		} else {
			s->turn_given = true;
			if (th_judge_due(s))
				th_step_emit(out, (struct th_effect){ .kind = TH_DO_JUDGE });
			else
				th_step_finish(s, out);
		}
	} else if (s->phase == TH_TURN_CALLS && !s->tripped && !s->use_given && !s->handed &&
		   th_session_member(s)->tool_use == TH_USE_CODE && th_calls_settled(s) &&
		   !th_next_step_handoff_waits(s)) {
		s->use_given = true;
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_TOOL_USE });
	}
}

/* Index of the guardrail that this event is of, or -1. */
static int guard_of(const struct th_member *m, enum th_guard_stage stage, struct th_str name)
{
	for (size_t i = 0; i < m->guard_count; i++)
		if (m->guards[i].stage == stage && th_str_eq(m->guards[i].name, name))
			return (int)i;
	return -1;
}

static enum th_code not_asked(struct th_step *st, const struct th_ev_guardrail *d)
{
	return th_fail(st->err, TH_EPROTO, "no answer of the guardrail \"%.*s\" is awaited",
		       TH_FMT(th_utf8_cut(d->name, 80)));
}

static void trip_by(struct th_step *st, const struct th_ev_guardrail *d)
{
	int stage = th_guard_stage_find(d->stage);
	struct th_buf why = TH_BUF_INIT(TH_ERR_MSG_MAX * 4);

	th_buf_printf(&why, "the guardrail %.*s stopped the run%s%.*s",
		      TH_FMT(th_utf8_cut(d->name, 80)), d->message.len ? ": " : "",
		      TH_FMT(th_utf8_cut(d->message, TH_ERR_MSG_MAX * 2)));
	if (stage == TH_GUARD_OUTPUT) /* which nobody may see */
		th_buf_clear(&st->s->final);
	/* Nor is a tool's output that is refused, or what was answered to such an input. */
	if (stage == TH_GUARD_OUTPUT || stage == TH_GUARD_TOOL_OUTPUT ||
	    (stage == TH_GUARD_INPUT && st->s->answer_seq > st->s->guard_from))
		st->s->rewritten_seq = st->ev->seq;
	th_next_step_trip(st->s, st->out, guard_classes[stage], th_buf_str(&why));
	th_buf_deinit(&why);
}

/* The guardrails of a call, or of what was said or is the output, that have not answered. */
static uint32_t *open_guards(struct th_session *s, enum th_guard_stage stage, struct th_call *c)
{
	switch (stage) {
	case TH_GUARD_INPUT:
		return &s->guards_in;
	case TH_GUARD_OUTPUT:
		return &s->guards_out;
	case TH_GUARD_TOOL_INPUT:
		return c ? &c->guards_in : NULL;
	case TH_GUARD_TOOL_OUTPUT:
		return c ? &c->guards_out : NULL;
	case TH_GUARD_STAGE_COUNT:
		break;
	}
	return NULL;
}

int th_next_step_open(struct th_step *st, struct th_str stage_name, struct th_str name,
		      struct th_call **ret_call)
{
	struct th_session *s = st->s;
	int stage = th_guard_stage_find(stage_name), i;
	const struct th_member *m =
	    stage == TH_GUARD_INPUT ? &s->team->members[s->guard_agent] : th_session_member(s);
	const uint32_t *open;

	*ret_call = NULL;
	if (stage < 0)
		return -1;
	if (stage == TH_GUARD_OUTPUT)
		th_next_step_turned_down(s, st->ev->cause);
	if (stage == TH_GUARD_TOOL_INPUT || stage == TH_GUARD_TOOL_OUTPUT)
		*ret_call = th_step_call(
		    st, 1u << (stage == TH_GUARD_TOOL_INPUT ? TH_CALL_CLEARED : TH_CALL_SETTLED));
	i = guard_of(m, (enum th_guard_stage)stage, name);
	open = open_guards(s, (enum th_guard_stage)stage, *ret_call);
	return i >= 0 && open && (*open & (UINT32_C(1) << i)) ? i : -1;
}

/* What it says of a call. */
static void tool_guarded(struct th_step *st, const struct th_ev_guardrail *d,
			 enum th_guard_stage stage, struct th_call *c)
{
	struct th_session *s = st->s;
	bool in = stage == TH_GUARD_TOOL_INPUT;
	int class = th_class_find(d->class);

	c->guard_given = false;
	if (d->tripped) {
		trip_by(st, d);
	} else if (d->message.len && in) {
		c->guards_in = 0;
		c->reason = th_arena_str(&s->turn, d->message);
		c->verbatim = true;
		th_call_phase_set(c, TH_CALL_DENIED);
	} else if (d->message.len) {
		s->rewritten_seq = st->ev->seq;
		c->output = th_arena_str(&s->turn, d->message);
	} else if (d->arguments.len && in && class >= 0) {
		th_hook_changes(s, c, d->arguments, (enum th_class) class);
	}
	if (s->phase == TH_TURN_CALLS && th_calls_settled(s))
		th_next_step_settled(s);
}

enum th_code th_next_step_guarded(struct th_step *st, const struct th_ev_guardrail *d)
{
	struct th_session *s = st->s;
	int stage = th_guard_stage_find(d->stage), i;
	struct th_call *c;
	uint32_t *open;

	if (stage < 0)
		return th_fail(st->err, TH_EPROTO, "unknown stage \"%.*s\"",
			       TH_FMT(th_utf8_cut(d->stage, 40)));
	i = th_next_step_open(st, d->stage, d->name, &c);
	open = open_guards(s, (enum th_guard_stage)stage, c);
	if (i < 0 || !open ||
	    (stage == TH_GUARD_INPUT && d->after && (uint64_t)d->after != s->guard_from))
		return not_asked(st, d);
	*open &= ~(UINT32_C(1) << i);
	th_hook_over(s, c, (enum th_guard_stage)stage, (size_t)i);
	if (stage == TH_GUARD_INPUT)
		s->hooks_began |= s->team->members[s->guard_agent].guards[i].once;
	if (d->again && stage == TH_GUARD_OUTPUT) {
		s->sent_back++;
		s->goes_back = true;
	}
	if (c)
		tool_guarded(st, d, (enum th_guard_stage)stage, c);
	else if (d->tripped)
		trip_by(st, d);
	if (s->state == TH_STATE_WAITING && !th_session_waits_any(s))
		return th_step_state(st, TH_STATE_RUNNING);
	return TH_OK;
}

enum th_code th_on_guardrail(struct th_step *st)
{
	struct th_ev_guardrail d;
	enum th_code code = th_step_parse(st, &d);

	if (!code && d.usage.len)
		th_step_side(st->s, TH_SIDE_HOOK, th_json_get(st->data, "usage"));
	return code ?: th_next_step_guarded(st, &d);
}
