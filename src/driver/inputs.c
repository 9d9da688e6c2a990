/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs.c - what people and operators say to a session, each an event.
 */
#include "base/text.h"
#include "core/person.h"
#include "driver/delegate.h"
#include "driver/driver.h"
#include "driver/person.h"
#include "driver/skills.h"
#include "guards/analyse.h"
#include "history/history.h"
#include "live/expiry.h"
#include "live/log.h"
#include "live/queue.h"
#include "side_models/ask.h"
#include "side_models/ground.h"
#include "side_models/judge.h"
#include "transcript/transcript.h"
#include "turns/provider_state.h"
#include "turns/team.h"

/* What the model is told. */
#define PLAN_BEGINS                                                                               \
	TH_STR("This is plan mode: calls that do more than look are refused. Look at what you "   \
	       "need, and answer with a plan: what you would do, in which order, and how it can " \
	       "be checked. A person ends plan mode; until then nothing that is said here does.")
#define PLAN_ENDS TH_STR("Plan mode is over. Do what you have planned.")

/* What a person says is something else than the goal that he gave. */
static enum th_code goal_ends(struct th_live *l, struct th_str by, struct th_err *err)
{
	const struct th_ev_goal data = { .by = by };
	enum th_code code;

	if (!l->fold.judge || !l->fold.judge->goal.on)
		return TH_OK;
	code = th_live_append_event(l, TH_EV_GOAL, TH_SOURCE_USER, 0, TH_STR(""), &data, err);
	if (!code)
		th_live_judge_free(l); /* its verdict would be of no use */
	return code;
}

/* A message of the user's, which ends a goal.  While that one's verdict is awaited the words come
 * first: the answer would count without them. */
static enum th_code say(struct th_live *l, struct th_str by, struct th_str text, struct th_err *err)
{
	bool checked = l->fold.phase == TH_TURN_CHECK;
	enum th_code code = checked ? TH_OK : goal_ends(l, by, err);

	if (!code)
		code = th_live_append_message(l, TH_SOURCE_USER, 0, text, err);
	return code || !checked ? code : goal_ends(l, by, err);
}

enum th_code th_driver_message(struct th_driver *d, struct th_handle h, struct th_str text,
			       struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (text.len > TH_MESSAGE_MAX)
		return th_fail(err, TH_ELIMIT, "a message has at most %zu bytes, this one has %zu",
			       TH_MESSAGE_MAX, text.len);
	code = th_live_history(l, err);
	if (code)
		return code;
	if (l->history && th_history_full(l->history))
		return th_fail(err, TH_ELIMIT,
			       "%d messages wait already for the agent to read them",
			       TH_HELD_MESSAGES_MAX);
	code = say(l, TH_STR(""), text, err);
	if (!code) {
		th_live_skills_said(l, text);
		th_live_pump(l);
	}
	return code;
}

/* An event of a user between two tasks. */
static enum th_code append_and_pump(struct th_live *l, enum th_event_kind kind, const void *data,
				    struct th_err *err)
{
	enum th_code code = th_live_append_event(l, kind, TH_SOURCE_USER, 0, TH_STR(""), data, err);

	if (!code)
		th_live_pump(l);
	return code;
}

enum th_code th_driver_items_add(struct th_driver *d, struct th_handle h, struct th_str items,
				 bool begins, struct th_err *err)
{
	const struct th_ev_items_added data = { .items = items, .begins = begins };
	struct th_live *l = th_driver_find(d, h);
	struct th_json_doc *doc = NULL;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = th_json_parse(items, &doc, err);
	if (!code)
		code = th_items_check(th_json_root(doc), err);
	th_json_free(doc);
	if (code)
		return th_prefix(err, code, "items");
	/* What answers calls of the task is no other one. */
	begins = begins && l->fold.state != TH_STATE_WAITING;
	code =
	    th_live_append_event(l, TH_EV_ITEMS_ADDED, TH_SOURCE_USER, 0, TH_STR(""), &data, err);
	if (!code && begins)
		code = goal_ends(l, TH_STR(""), err);
	if (!code)
		th_live_pump(l);
	return code;
}

enum th_code th_driver_items_remove(struct th_driver *d, struct th_handle h, int64_t count,
				    struct th_err *err)
{
	const struct th_ev_items_removed data = { .count = count };
	struct th_live *l = th_driver_find(d, h);

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (th_live_provider_only(l, "which keeps what is in it", err))
		return TH_EUSAGE;
	return append_and_pump(l, TH_EV_ITEMS_REMOVED, &data, err);
}

enum th_code th_driver_describe(struct th_driver *d, struct th_handle h,
				const struct th_ev_session_changed *change, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	return append_and_pump(l, TH_EV_SESSION_CHANGED, change, err);
}

enum th_code th_driver_condense(struct th_driver *d, struct th_handle h, struct th_str by,
				struct th_err *err)
{
	const struct th_ev_condensation_requested data = { .by = by };
	struct th_live *l = th_driver_find(d, h);

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (th_live_provider_only(l, "which keeps what is in it", err))
		return TH_EUSAGE;
	return append_and_pump(l, TH_EV_CONDENSATION_REQUESTED, &data, err);
}

enum th_code th_driver_more(struct th_driver *d, struct th_handle h, const struct th_more *more,
			    struct th_str by, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	struct th_agent_limits limits;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = th_session_more(&l->fold, more, &limits, err);
	if (!code)
		code = th_live_budget(l, &limits, more, by, TH_SOURCE_USER, err);
	if (!code)
		th_live_pump(l);
	return code;
}

/* Events and message in one transaction.  Where plan mode cannot begin, a goal stays. */
static enum th_code plan_mode(struct th_live *l, bool on, struct th_str by, struct th_str text,
			      struct th_err *err)
{
	const struct th_ev_plan data = { .on = on, .by = by };
	enum th_code code = TH_OK;

	if (on != l->fold.plan || !on)
		code =
		    th_live_append_event(l, TH_EV_PLAN, TH_SOURCE_USER, 0, TH_STR(""), &data, err);
	if (code)
		return code;
	return on ? say(l, by, text, err) : th_live_append_message(l, TH_SOURCE_USER, 0, text, err);
}

enum th_code th_driver_plan(struct th_driver *d, struct th_handle h, struct th_str text,
			    struct th_str by, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (text.len > TH_MESSAGE_MAX)
		return th_fail(err, TH_ELIMIT, "a message has at most %zu bytes, this one has %zu",
			       TH_MESSAGE_MAX, text.len);
	code = th_live_history(l, err);
	if (!code)
		code = plan_mode(l, true, by, text, err);
	if (!code)
		code =
		    th_live_append_message(l, TH_SOURCE_ENVIRONMENT, l->fold.seq, PLAN_BEGINS, err);
	if (!code) {
		th_live_skills_said(l, text);
		th_live_pump(l);
	}
	return code;
}

enum th_code th_driver_act(struct th_driver *d, struct th_handle h, struct th_str note,
			   struct th_str by, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NOTE_MAX + TH_KIB);
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (note.len > TH_NOTE_MAX)
		return th_fail(err, TH_ELIMIT, "a note has at most %d bytes", TH_NOTE_MAX);
	th_buf_add(&text, PLAN_ENDS);
	if (note.len)
		th_buf_printf(&text, " %.*s", TH_FMT(note));
	code = th_live_history(l, err);
	if (!code && !l->fold.plan)
		code = th_fail(err, TH_EPROTO, "the session is not in plan mode");
	if (!code)
		code = plan_mode(l, false, by, th_buf_str(&text), err);
	if (!code)
		th_live_pump(l);
	return code;
}

/* Ended before it was reached; or given, and a fork has begun between it and its message. */
static bool goal_can_go_on(const struct th_session *s)
{
	const struct th_session_judge *j = s->judge;
	bool unsaid = s->state == TH_STATE_IDLE || s->state == TH_STATE_FINISHED;

	return j && j->goal.text.len && !j->goal.over && (!j->goal.on || unsaid);
}

/* What goes on with a goal is told it again: it may be long ago, or not in the history any more. */
static void goal_again(const struct th_session_judge *j, struct th_ev_goal *data,
		       struct th_buf *text)
{
	data->goal = th_buf_str(&j->goal.text);
	data->rounds = j->goal.rounds;
	data->given = TH_MIN(j->goal.given, j->goal.rounds - 1); /* there is one more to be asked */
	th_buf_printf(text,
		      "Go on towards the goal that was given before. Look at how things really are "
		      "now, do what is left, and answer only when all of it is done and checked. "
		      "The goal:\n%.*s",
		      TH_FMT(data->goal));
}

enum th_code th_driver_goal(struct th_driver *d, struct th_handle h, struct th_str goal,
			    int64_t rounds, struct th_str by, struct th_err *err)
{
	struct th_ev_goal data = { .goal = goal, .rounds = rounds, .by = by };
	struct th_live *l = th_driver_find(d, h);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_GOAL_MAX + TH_KIB);
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (!goal.len && !goal_can_go_on(&l->fold))
		return th_fail(err, TH_ENOENT, "there is no goal that was ended before its time");
	if (goal.len)
		th_buf_add(&text, goal);
	else
		goal_again(l->fold.judge, &data, &text);
	code = th_live_history(l, err);
	if (!code)
		code =
		    th_live_append_event(l, TH_EV_GOAL, TH_SOURCE_USER, 0, TH_STR(""), &data, err);
	if (!code)
		code = th_live_append_message(l, TH_SOURCE_USER, 0, th_buf_str(&text), err);
	if (!code) {
		th_live_judge_free(l); /* of a paused session: it looks at what was before */
		th_live_skills_said(l, th_buf_str(&text));
		th_live_pump(l);
	}
	return code;
}

enum th_code th_driver_goal_end(struct th_driver *d, struct th_handle h, struct th_str by,
				struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	if (!l->fold.judge || !l->fold.judge->goal.on)
		return th_fail(err, TH_EPROTO, "there is no goal");
	code = goal_ends(l, by, err);
	if (!code)
		th_live_pump(l);
	return code;
}

enum th_code th_driver_decide(struct th_driver *d, struct th_handle h, struct th_str call_id,
			      bool approve, struct th_str by, struct th_str message,
			      struct th_err *err)
{
	return th_driver_decide_as(d, h, call_id, approve, false, by, message, err);
}

static enum th_code append_word(void *ctx, enum th_event_kind kind, uint64_t cause,
				struct th_str call, const void *data, struct th_err *err)
{
	return th_live_append_event(ctx, kind, TH_SOURCE_USER, cause, call, data, err);
}

/* The call of that event, or (0) the first. */
static const struct th_call *waits_still(const struct th_live *l, uint64_t call_seq)
{
	for (size_t i = 0; call_seq && i < l->fold.call_count; i++)
		if (l->fold.calls[i].call_seq == call_seq)
			return th_call_asks(&l->fold.calls[i]) ? &l->fold.calls[i] : NULL;
	return call_seq ? NULL : th_session_waits(&l->fold, TH_CALL_ASKED, TH_STR(""));
}

enum th_code th_driver_decide_as(struct th_driver *d, struct th_handle h, struct th_str call_id,
				 bool approve, bool always, struct th_str by, struct th_str message,
				 struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	const struct th_call *c;
	const struct th_ev_approval_decided decided = {
		.approve = approve, .always = always, .by = by, .message = message
	};
	uint64_t call_seq;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = th_live_word(l, TH_CALL_ASKED, call_id, &l, &c, err);
	if (code)
		return code;
	call_seq = c->call_seq;
	if (th_live_expire(l)) {
		th_live_pump(l);
		c = waits_still(l, call_id.len ? call_seq : 0);
	}
	if (!c)
		return th_fail(err, TH_ENOENT,
			       "no call %.*s waits for a decision any more: its time was over",
			       TH_FMT(th_utf8_cut(call_id, 80)));
	code = th_person_decides(&l->fold, c, &decided, append_word, l, err);
	if (!code) {
		th_live_pump(l);
		th_live_word_given(l);
	}
	return code;
}

enum th_code th_driver_settle(struct th_driver *d, struct th_handle h, struct th_str call_id,
			      enum th_outcome_status status, struct th_str by,
			      struct th_str message, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	const struct th_call *c;
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	code = th_live_word(l, TH_CALL_PARKED, call_id, &l, &c, err);
	if (code)
		return code;
	code = th_person_settles(c, status, by, message, append_word, l, err);
	if (!code) {
		th_live_pump(l);
		th_live_word_given(l);
	}
	return code;
}

enum th_code th_driver_set_state(struct th_driver *d, struct th_handle h, enum th_state to,
				 struct th_str reason, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);
	enum th_code code;

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	/* Who resumes it, or stops it, gives it back; a stop needs no picture. */
	if (th_live_taken(l) && to == TH_STATE_RUNNING)
		return th_live_give_back(l, reason, true, err);
	if (th_live_taken(l) && to == TH_STATE_STOPPED) {
		code = th_live_give_back(l, reason, false, err);
		if (code)
			return code;
	}
	code = th_live_state(l, to, reason, err);
	if (!code) {
		if (to == TH_STATE_STOPPED) {
			th_live_analyses_stop(l);
			th_live_grounds_stop(l);
		}
		th_live_delegates_state(l, to, reason);
		th_live_pump(l);
	}
	return code;
}

enum th_code th_driver_ask(struct th_driver *d, struct th_handle h, struct th_str by,
			   struct th_str question, th_asked_fn *fn, void *ctx, struct th_err *err)
{
	struct th_live *l = th_driver_find(d, h);

	if (!l)
		return th_fail(err, TH_ENOENT, "no such session is open");
	return th_live_ask(l, by, question, fn, ctx, err);
}
