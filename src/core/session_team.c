/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_team.c - what follows an answer: guardrails, handoffs, and the final
 * output.
 *
 * The next step, in this order: calls run; whoever must decide is asked; the first
 * handoff takes place; a tool's result may be the final output; text is (a
 * refusal is said to be one, structured output must fit); else the model is
 * asked again.  A text beside a call is never final.
 */
#include "base/text.h"
#include "core/output.h"
#include "core/policy.h"
#include "core/session_internal.h"
#include "core/transcript.h"

const struct th_member *th_session_member(const struct th_session *s)
{
	return &s->team->members[s->agent];
}

const struct th_sticky *th_session_sticky(const struct th_session *s, struct th_str tool)
{
	for (size_t i = 0; i < s->sticky_count; i++)
		if (th_str_eq(s->sticky[i].tool, tool))
			return &s->sticky[i];
	return NULL;
}

bool th_session_sticks(const struct th_session *s, const struct th_call *c, bool approve)
{
	return !c->form.len && th_policy_sticks(approve, c->class, c->each, c->safety_checks) &&
	       !th_unresolved_find(&s->unresolved, c->digest);
}

const struct th_call *th_session_also(const struct th_session *s, struct th_str tool, bool approve)
{
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		if (c->phase == TH_CALL_ASKED && th_str_eq(c->tool, tool) &&
		    th_session_sticks(s, c, approve))
			return c;
	}
	return NULL;
}

bool th_session_tool_choice(const struct th_session *s)
{
	return !th_session_member(s)->reset_tool_choice ||
	       !(s->agents_used & (UINT64_C(1) << s->agent));
}

static uint32_t input_guards(const struct th_session *s)
{
	return th_session_member(s)->guard_masks[TH_GUARD_INPUT];
}

static void guard_begin(struct th_session *s, size_t agent, uint64_t after, uint64_t seq)
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

void th_next_step_task(struct th_session *s, uint64_t seq)
{
	th_hosts_begin_task(s);
	s->task_agent = s->agent;
	/* What an earlier task left without a verdict, the model is about to read. */
	s->task_after = s->guards_in                ? s->guard_from
			: s->said_seq > s->guard_to ? s->guard_to
						    : seq - 1;
	guard_begin(s, s->agent, s->task_after, seq);
	s->guards_out = s->guards_out_given = 0;
	s->tripped = s->correct = false;
	s->corrections = s->sent_back = 0;
	s->goes_back = false;
	s->agents_used = 0;
	s->instead = -1;
}

/* ---- the final output -------------------------------------------------------------------- */

static void check_final(struct th_session *s)
{
	th_step_phase(s, TH_TURN_CHECK);
	th_hooks_anew(s, TH_GUARD_OUTPUT);
	s->guards_out = th_session_member(s)->guard_masks[TH_GUARD_OUTPUT];
	s->guards_out_given = 0;
}

/* True: the agent file says something instead, and that is the final output now. */
static bool say_instead(struct th_session *s, enum th_instead what)
{
	const struct th_instead_output *o = &th_session_member(s)->instead[what];

	if (!o->text.ptr)
		return false;
	s->instead = what;
	s->final_refusal = s->final_failure = false;
	th_buf_clear(&s->final);
	th_buf_add(&s->final, o->text);
	check_final(s);
	return true;
}

/* The final output is what the answer says in the form that is asked for. */
static bool output_fits(struct th_session *s, struct th_err *err)
{
	struct th_buf value = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str schema = th_session_member(s)->output_schema;
	enum th_code code = th_output_read(schema, th_buf_str(&s->final), &value, err);

	if (!code) {
		th_buf_clear(&s->final);
		th_buf_add(&s->final, th_buf_str(&value));
	}
	th_buf_deinit(&value);
	return !code;
}

static void bad_output(struct th_session *s, const struct th_err *err)
{
	struct th_buf why = TH_BUF_INIT(TH_ERR_MSG_MAX * 2);

	if (s->corrections < th_session_member(s)->output_retries) {
		s->corrections++;
		s->correct = true;
		th_step_reason(s, th_str_of(err->msg));
		th_step_phase(s, TH_TURN_DUE);
		s->totals.attempts = 0;
	} else if (!say_instead(s, TH_INSTEAD_INVALID)) {
		th_buf_printf(&why, "the final output does not fit output_schema: %s", err->msg);
		th_next_step_trip(s, NULL, "output", th_buf_str(&why));
	}
	th_buf_deinit(&why);
}

void th_next_step_final(struct th_session *s)
{
	const struct th_member *m = th_session_member(s);
	struct th_err err = { 0 };

	if (s->final_refusal && say_instead(s, TH_INSTEAD_REFUSAL))
		return;
	if (m->output_schema.len && !s->final_refusal && !s->final_failure) {
		if (s->final.len == 0) {
			if (say_instead(s, TH_INSTEAD_INVALID))
				return;
			th_step_phase(s, TH_TURN_DUE);
			s->totals.attempts = 0;
			return;
		}
		if (!output_fits(s, &err)) {
			bad_output(s, &err);
			return;
		}
	}
	check_final(s);
}

bool th_next_step_limit(struct th_session *s)
{
	return say_instead(s, TH_INSTEAD_MAX_TURNS);
}

/* ---- after an answer --------------------------------------------------------------------- */

/* What goes on without a call has used a tool that the provider runs.  To ask whether one may be
 * used is to use none. */
static bool uses_a_tool(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].native != TH_NATIVE_MCP)
			return true;
	return s->call_count == 0;
}

void th_next_step_answer(struct th_step *st, const struct th_next *next)
{
	struct th_session *s = st->s;
	const struct th_member *m = th_session_member(s);

	if (next->kind == TH_NEXT_FINAL || next->item_count == 0)
		return;
	if (uses_a_tool(s))
		s->agents_used |= UINT64_C(1) << s->agent;
	for (size_t i = 0; i < s->call_count; i++) {
		struct th_call *c = &s->calls[i];
		bool function = !c->computer && !c->native;
		int handoff = function ? th_member_handoff(m, c->tool) : -1;

		c->handoff = (size_t)(handoff + 1);
		if (!c->handoff)
			c->guards_in = th_member_tool_guards(m, TH_GUARD_TOOL_INPUT, c->tool);
	}
}

/* A function's result may be the final output.  A person's refusal goes to the model, and is
 * none. */
static bool counts(const struct th_call *c)
{
	return !c->computer && !c->handoff && !c->unknown_tool && !c->native &&
	       (!c->was_asked || c->approved);
}

/* The call whose result is the final output, or NULL. */
static const struct th_call *ending_call(const struct th_session *s, const struct th_member *m)
{
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		if (!counts(c))
			continue;
		if (m->tool_use == TH_USE_FIRST)
			return c;
		if (th_member_stops_at(m, c->tool))
			return c;
	}
	return NULL;
}

static void ask_again(struct th_session *s)
{
	th_step_phase(s, TH_TURN_DUE);
	s->totals.attempts = 0;
}

static bool any_counts(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (counts(&s->calls[i]))
			return true;
	return false;
}

static void settled(struct th_session *s, const struct th_member *m)
{
	const struct th_call *c = s->handed ? NULL : ending_call(s, m);

	if (s->tripped) {
		th_step_phase(s, TH_TURN_REST);
	} else if (c) {
		th_buf_clear(&s->final);
		th_buf_add(&s->final, c->output);
		s->final_refusal = s->final_failure = false;
		check_final(s);
	} else if (s->handed || m->tool_use != TH_USE_CODE || s->use_answered || !any_counts(s)) {
		ask_again(s);
	}
}

bool th_call_hands_over(const struct th_call *c)
{
	return c->handoff && c->phase == TH_CALL_SETTLED && c->status == TH_OUTCOME_DONE;
}

static bool handoff_waits(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count && !s->handed; i++)
		if (th_call_hands_over(&s->calls[i]))
			return true;
	return false;
}

void th_next_step_settled(struct th_session *s)
{
	if (!handoff_waits(s))
		settled(s, th_session_member(s));
}

static void add_text(const struct th_json *output, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(output);

	if (!th_json_is_array(output))
		th_buf_add(out, th_json_str(output));
	while (th_json_is_array(output) && th_json_next(&it))
		th_buf_add(out, th_json_get_str(it.val, "text"));
}

void th_next_step_outcome(struct th_step *st, struct th_call *c, const struct th_json *output)
{
	struct th_session *s = st->s;
	const struct th_member *m = th_session_member(s);
	struct th_str fails = th_json_get_str(st->data, "fails");
	struct th_buf text;

	if (c->effect_id.len && !c->computer && !s->tripped)
		c->guards_out = th_member_tool_guards(m, TH_GUARD_TOOL_OUTPUT, c->tool);
	c->guard_given = false;
	if (m->tool_use != TH_USE_AGAIN) {
		th_buf_init_try(&text, TH_EVENT_DATA_MAX);
		add_text(output, &text);
		c->output = th_arena_str(&s->turn, th_buf_str(&text));
		s->turn.no_memory |= text.no_memory;
		th_buf_deinit(&text);
	}
	if (fails.len)
		th_next_step_trip(s, st->out, "tool", fails);
}

/* ---- guardrails -------------------------------------------------------------------------- */

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
	guard_begin(s, s->task_agent, s->task_after, s->task_seq);
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
		guard_begin(s, s->agent, s->guard_to, s->said_seq);
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
	bool waits = s->guards_in || s->guards_out;

	if (s->state != TH_STATE_RUNNING || s->turn_given)
		return;
	if (s->tripped && s->phase == TH_TURN_REST) {
		s->turn_given = true;
		th_step_emit(out, (struct th_effect){ .kind = TH_DO_FAIL,
						      .class = s->trip_class,
						      .reason = "the run was stopped" });
	} else if (s->phase == TH_TURN_CHECK && !waits && !s->goes_back) {
		/* Somebody spoke while the model was asked, or the checks ran: it has not read
		 * that yet. */
		if (s->message_seq > s->asked_seq && s->instead < 0) {
			ask_again(s);
		} else {
			s->turn_given = true;
			if (th_judge_due(s))
				th_step_emit(out, (struct th_effect){ .kind = TH_DO_JUDGE });
			else
				th_step_finish(s, out);
		}
	} else if (s->phase == TH_TURN_CALLS && !s->tripped && !s->use_given && !s->handed &&
		   th_session_member(s)->tool_use == TH_USE_CODE && th_calls_settled(s) &&
		   !handoff_waits(s)) {
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

	return code ?: th_next_step_guarded(st, &d);
}

/* ---- handoffs, code, items --------------------------------------------------------------- */

enum th_code th_on_handoff(struct th_step *st)
{
	struct th_session *s = st->s;
	const struct th_member *m = th_session_member(s);
	struct th_call *c = th_step_call(st, 1u << TH_CALL_SETTLED);
	struct th_ev_handoff d;
	enum th_code code = th_step_parse(st, &d);
	size_t to;

	if (code)
		return code;
	if (!c || !th_call_hands_over(c) || s->handed)
		return th_fail(st->err, TH_EDIVERGED,
			       "diverged: the log hands over to \"%.*s\", this build would not",
			       TH_FMT(th_utf8_cut(d.to, 80)));
	to = m->handoffs[c->handoff - 1].to;
	if (!th_str_eq(d.to, s->team->members[to].name))
		return th_fail(st->err, TH_EDIVERGED,
			       "diverged: the log hands over to \"%.*s\", the call means \"%.*s\"",
			       TH_FMT(th_utf8_cut(d.to, 80)),
			       TH_FMT(th_utf8_cut(s->team->members[to].name, 80)));
	s->agent = to;
	s->model_at = 0; /* of its own list */
	s->model_anew = false;
	s->handed = true;
	if (d.history.len)
		s->rewritten_seq = st->ev->seq;
	th_next_step_settled(s);
	return TH_OK;
}

static enum th_code not_due(struct th_step *st)
{
	return th_fail(st->err, TH_EDIVERGED,
		       "diverged: the log changes what the next request sends, this build would "
		       "not ask the model here");
}

/* What the task begins with: none of its requests was made yet. */
static enum th_code on_joined(struct th_step *st)
{
	struct th_session *s = st->s;

	if (s->phase != TH_TURN_DUE || s->joined == TH_JOINED)
		return not_due(st);
	s->joined = TH_JOINED;
	s->rewritten_seq = st->ev->seq;
	return TH_OK;
}

/* Is the message of that event in a list of [event, item] and of items? */
static bool holds_event(const struct th_json *history, uint64_t seq)
{
	struct th_json_iter it = th_json_iter(history);

	while (th_json_next(&it))
		if (th_json_is_array(it.val) && th_json_uint(th_json_at(it.val, 0), 0) == seq)
			return true;
	return false;
}

/* A skill that the history has no longer is said again when its word or path comes again. */
static void forget_skills(struct th_session *s, const struct th_json *history)
{
	size_t count = 0;

	for (size_t i = 0; i < s->skill_count; i++)
		if (holds_event(history, s->skills[i].seq))
			s->skills[count++] = s->skills[i];
	s->skill_count = count;
}

/* Something else stands for all that was. */
enum th_code th_on_condensation(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_condensation d;
	enum th_code code = th_step_parse(st, &d);

	if (code || !d.history.len)
		return code;
	if (s->phase != TH_TURN_DUE || (s->compacted && !s->too_long))
		return not_due(st);
	s->compacted = true;
	s->too_long = s->condense_asked = false;
	if (d.usage.len)
		th_step_side(s, TH_SIDE_CONDENSER, th_json_get(st->data, "usage"));
	th_stuck_condensed(s);
	s->rewritten_seq = st->ev->seq;
	s->items = s->items_then = (uint64_t)d.items;
	s->bytes = s->bytes_then = (uint64_t)d.bytes;
	forget_skills(s, th_json_get(st->data, "history"));
	return TH_OK;
}

enum th_code th_on_code(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_code d;
	const struct th_json *answer = th_json_get(st->data, "answer");
	const struct th_json *final;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (th_str_is(d.use, "session_input"))
		return on_joined(st);
	if (!th_str_is(d.use, "tool_use")) {
		if (d.fails && (s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING))
			th_next_step_trip(s, st->out, "hook", d.failed);
		return TH_OK;
	}
	if (s->phase != TH_TURN_CALLS || !th_calls_settled(s) || s->use_answered)
		return th_fail(st->err, TH_EPROTO, "no answer of the agent's code is awaited");
	s->use_answered = true;
	final = th_json_get(answer, "final");
	if (!th_json_bool(final, false)) {
		ask_again(s);
		return TH_OK;
	}
	th_buf_clear(&s->final);
	final = th_json_get(answer, "output");
	if (th_json_str(final).ptr)
		th_buf_add(&s->final, th_json_str(final));
	else if (!th_json_is_null(final))
		th_json_print(final, &s->final);
	s->final_refusal = s->final_failure = false;
	check_final(s);
	return TH_OK;
}

/* Only between tasks: what is asked for meanwhile would not have seen them. */
static enum th_code not_now(struct th_step *st)
{
	return th_fail(st->err, TH_EPROTO,
		       "the history can be changed only between tasks, and "
		       "the session is %s",
		       th_state_name(st->s->state));
}

static bool between_tasks(const struct th_session *s)
{
	return th_session_rests(s) && s->state != TH_STATE_WAITING && s->state != TH_STATE_PAUSED &&
	       (s->phase != TH_TURN_CALLS || th_calls_settled(s));
}

/* What somebody says may be added while a person is waited for: it is read after the results of the
 * calls that are open, as a message is.  It decides nothing. */
static bool said_meanwhile(const struct th_session *s, const struct th_json *items)
{
	return s->state == TH_STATE_WAITING && th_items_are_messages(items);
}

enum th_code th_on_items_added(struct th_step *st)
{
	struct th_session *s = st->s;
	const struct th_json *items = th_json_get(st->data, "items");
	size_t count = th_json_count(items);

	if (!th_json_is_array(items))
		return th_fail(st->err, TH_EPROTO, "items must be a list");
	if (!between_tasks(s) && !said_meanwhile(s, items))
		return not_now(st);
	if (s->items + count > TH_SESSION_ITEMS_MAX)
		return th_session_full(st);
	s->items += count;
	s->rewritten_seq = st->ev->seq;
	if (s->state == TH_STATE_WAITING)
		s->message_seq = s->said_seq = st->ev->seq;
	else if (th_json_bool(th_json_get(st->data, "begins"), false)) {
		s->message_seq = st->ev->seq;
		return th_step_begin(st);
	}
	return TH_OK;
}

enum th_code th_on_items_removed(struct th_step *st)
{
	struct th_session *s = st->s;
	int64_t count = th_json_get_int(st->data, "count", -1);

	if (count < 0)
		return th_fail(st->err, TH_EPROTO, "count must be 0 or more");
	if (!between_tasks(s))
		return not_now(st);
	s->rewritten_seq = st->ev->seq;
	count = count ? TH_MIN(count, (int64_t)s->items) : (int64_t)s->items;
	/* As if all were of one size. */
	if (s->items)
		s->bytes -= (uint64_t)((double)s->bytes * ((double)count / (double)s->items));
	s->items -= (uint64_t)count;
	s->items_then = TH_MIN(s->items_then, s->items);
	s->bytes_then = TH_MIN(s->bytes_then, s->bytes);
	return TH_OK;
}

void th_sticky_set(struct th_step *st, const struct th_call *c, bool approve, struct th_str message)
{
	struct th_session *s = st->s;
	struct th_sticky *at = (struct th_sticky *)(uintptr_t)th_session_sticky(s, c->tool);

	if (!s->sticky)
		s->sticky = th_arena_array(&s->memory, TH_STICKY_MAX, sizeof(*s->sticky));
	/* One more is asked about as before. */
	if (!at && s->sticky && s->sticky_count < TH_STICKY_MAX)
		at = &s->sticky[s->sticky_count++];
	if (!at)
		return;
	at->tool = th_arena_str(&s->memory, c->tool);
	at->message = th_arena_str(&s->memory, message);
	at->approve = approve;
}

static void print_mask(struct th_jw *w, const char *name, uint32_t mask)
{
	if (mask)
		th_jw_kint(w, name, mask);
}

void th_next_step_print(const struct th_session *s, struct th_jw *w)
{
	if (s->agent > 0 || s->team->count > 1)
		th_jw_kstr(w, "speaks", th_session_member(s)->name);
	print_mask(w, "guards_in", s->guards_in);
	if (s->guards_in)
		th_jw_kuint(w, "looks_after", s->guard_from);
	if (th_session_unseen(s))
		th_jw_kuint(w, "unseen", s->said_seq);
	print_mask(w, "guards_out", s->guards_out);
	for (size_t i = 0; s->hook_seqs && i < 2 * (size_t)TH_GUARDRAILS_MAX; i++)
		if (s->hook_seqs[i])
			th_jw_kuint(w, "hook", s->hook_seqs[i]);
	if (s->sent_back)
		th_jw_kint(w, "sent_back", s->sent_back);
	if (s->tripped)
		th_jw_kstr(w, "tripped", th_buf_str(&s->trip));
	if (s->corrections)
		th_jw_kint(w, "corrections", s->corrections);
	if (s->rewritten_seq)
		th_jw_kuint(w, "rewritten", s->rewritten_seq);
	if (s->joined)
		th_jw_kint(w, "joined", s->joined);
	if (s->compacted)
		th_jw_kbool(w, "compacted", true);
	if (s->condense_asked)
		th_jw_kbool(w, "condense_asked", true);
	if (s->plan)
		th_jw_kbool(w, "plan", true);
	th_judge_print(s, w);
	for (size_t i = 0; i < s->sticky_count; i++)
		th_jw_kstr(w, s->sticky[i].approve ? "always_approve" : "always_refuse",
			   s->sticky[i].tool);
}
