/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_items.c - events that change what the next request sends: a handoff, the
 * agent's code, a condensation, items that are added or removed between tasks.
 */
#include "base/text.h"
#include "core/session_internal.h"
#include "transcript/transcript.h"

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
	if (d.usage.len)
		th_step_side(s, TH_SIDE_HOOK, th_json_get(st->data, "usage"));
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
		th_next_step_ask_again(s);
		return TH_OK;
	}
	th_buf_clear(&s->final);
	final = th_json_get(answer, "output");
	if (th_json_str(final).ptr)
		th_buf_add(&s->final, th_json_str(final));
	else if (!th_json_is_null(final))
		th_json_print(final, &s->final);
	s->final_refusal = s->final_failure = false;
	th_next_step_check_final(s);
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
	return th_session_rests(s) && s->state != TH_STATE_WAITING && !th_state_holds(s->state) &&
	       (s->phase != TH_TURN_CALLS || th_calls_settled(s));
}

/* What somebody says may be added while a person is waited for, or the run is paused and no model
 * is asked: it is read after the results of the calls that are open, as a message is.  It decides
 * nothing. */
static bool said_meanwhile(const struct th_session *s, const struct th_json *items, bool begins)
{
	bool paused = s->state == TH_STATE_PAUSED && !begins &&
		      (s->phase == TH_TURN_DUE || s->phase == TH_TURN_CALLS);

	return (s->state == TH_STATE_WAITING || paused) && th_items_are_messages(items);
}

enum th_code th_on_items_added(struct th_step *st)
{
	struct th_session *s = st->s;
	const struct th_json *items = th_json_get(st->data, "items");
	size_t count = th_json_count(items);
	bool begins = th_json_bool(th_json_get(st->data, "begins"), false);

	if (!th_json_is_array(items))
		return th_fail(st->err, TH_EPROTO, "items must be a list");
	if (!between_tasks(s) && !said_meanwhile(s, items, begins))
		return not_now(st);
	if (s->items + count > TH_SESSION_ITEMS_MAX)
		return th_session_full(st);
	s->items += count;
	s->rewritten_seq = st->ev->seq;
	if (s->state == TH_STATE_WAITING || s->state == TH_STATE_PAUSED) {
		s->correct = s->goes_back = false;
		th_judge_said(s);
		s->message_seq = s->said_seq = st->ev->seq;
	} else if (begins) {
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
