/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_team.c - what follows an answer: calls, handoffs, and the final
 * output.
 *
 * The next step, in this order: calls run; whoever must decide is asked; the first
 * handoff takes place; a tool's result may be the final output; text is (a
 * refusal is said to be one, structured output must fit); else the model is
 * asked again.  A text beside a call is never final.
 */
#include "agents/output.h"
#include "base/text.h"
#include "core/policy.h"
#include "core/session_internal.h"
#include "transcript/transcript.h"

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

void th_next_step_task(struct th_session *s, uint64_t seq)
{
	th_hosts_begin_task(s);
	s->task_agent = s->agent;
	/* What an earlier task left without a verdict, the model is about to read. */
	s->task_after = s->guards_in                ? s->guard_from
			: s->said_seq > s->guard_to ? s->guard_to
						    : seq - 1;
	th_next_step_guard_begin(s, s->agent, s->task_after, seq);
	s->guards_out = s->guards_out_given = 0;
	s->tripped = s->correct = false;
	s->corrections = s->sent_back = 0;
	s->goes_back = false;
	s->agents_used = 0;
	s->instead = -1;
}

/* ---- the final output -------------------------------------------------------------------- */

void th_next_step_check_final(struct th_session *s)
{
	th_step_phase(s, TH_TURN_CHECK);
	th_hooks_anew(s, TH_GUARD_OUTPUT);
	s->awaits = s->background != NULL;
	s->awaits_given = false;
	s->guards_out = s->awaits ? 0 : th_session_member(s)->guard_masks[TH_GUARD_OUTPUT];
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
	th_next_step_check_final(s);
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
	th_next_step_check_final(s);
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

/* Its tool did not take it, for its arguments say: the model is told, and may call again. */
static bool was_turned_down(const struct th_call *c)
{
	return c->status == TH_OUTCOME_REFUSED && c->intent_seq;
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
		if (th_member_stops_at(m, c->tool) && !was_turned_down(c))
			return c;
	}
	return NULL;
}

static void end_with(struct th_session *s, const struct th_call *c)
{
	th_buf_clear(&s->final);
	th_buf_add(&s->final, c->output);
	s->final_refusal = s->final_failure = false;
	th_next_step_check_final(s);
}

void th_next_step_turned_down(struct th_session *s, uint64_t answer_seq)
{
	const struct th_member *m = th_session_member(s);

	if (s->phase != TH_TURN_DUE || s->handed || s->tripped || answer_seq != s->answer_seq)
		return;
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		if (!counts(c) || !th_member_stops_at(m, c->tool))
			continue;
		if (was_turned_down(c))
			end_with(s, c);
		return;
	}
}

void th_next_step_ask_again(struct th_session *s)
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
		end_with(s, c);
	} else if (s->handed || m->tool_use != TH_USE_CODE || s->use_answered || !any_counts(s)) {
		th_next_step_ask_again(s);
	}
}

bool th_call_hands_over(const struct th_call *c)
{
	return c->handoff && c->phase == TH_CALL_SETTLED && c->status == TH_OUTCOME_DONE;
}

bool th_next_step_handoff_waits(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count && !s->handed; i++)
		if (th_call_hands_over(&s->calls[i]))
			return true;
	return false;
}

void th_next_step_settled(struct th_session *s)
{
	if (!th_next_step_handoff_waits(s))
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

/* ---- what sticks, and what is printed ------------------------------------------------------ */

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
