/* SPDX-License-Identifier: Apache-2.0 */
/* lead.c - /api: what a person says to a session, and what he decides in it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "io/clock.h"
#include "sessions_api/internal.h"

/* ---- bodies ---- */

// clang-format off
#define TH_FIELDS_session_message(F) \
	F(session_message, str, text, "text", TH_REQ | TH_NONEMPTY, "what is said") \
	F(session_message, bool, plan, "plan", 0, "begins a task in plan mode, which changes nothing") \
	F(session_message, bool, goal, "goal", 0, "begins a task that is over when the text is reached, as a judge says") \
	F(session_message, int, rounds, "rounds", TH_POSITIVE, "with goal: at most so many verdicts, up to 100; default: 10")
#define TH_FIELDS_session_resume(F) \
	F(session_resume, raw, more, "more", 0, "beyond its limits: {turns, tokens, cost_usd, seconds}, each above 0")
#define TH_FIELDS_session_act(F) \
	F(session_act, str, note, "note", 0, "said to the agent with it")
#define TH_FIELDS_session_pause(F) \
	F(session_pause, str, reason, "reason", TH_NONEMPTY, "why; default: paused by the user")
#define TH_FIELDS_session_cancel(F) \
	F(session_cancel, str, when, "when", TH_NONEMPTY, "now (default), or after_turn")
#define TH_FIELDS_session_fork(F)                                                                \
	F(session_fork, int, seq, "seq", TH_POSITIVE, "the last event that it shares; default: all") \
	F(session_fork, str, id, "id", TH_NONEMPTY, "the new session's name, as of POST /api/sessions; default: a new UUID")
#define TH_FIELDS_session_decision(F)                                                            \
	F(session_decision, str, call_id, "call_id", TH_NONEMPTY, "the call; default: the first that waits") \
	F(session_decision, bool, always, "always", 0, "and so with every later call of this tool") \
	F(session_decision, str, message, "message", 0, "told to the model when rejected or settled") \
	F(session_decision, str, outcome, "outcome", TH_NONEMPTY, "settle: done, not_started or unknown")
// clang-format on
#define TH_FIELDS_session_answer(F)                             \
	F(session_answer, str, call_id, "call_id", TH_NONEMPTY, \
	  "the question's call; default: the first that waits") \
	F(session_answer, str, answer, "answer", TH_REQ | TH_NONEMPTY, "what the model is told")
TH_STRUCT(session_message)
TH_STRUCT(session_resume)
TH_STRUCT(session_act)
TH_STRUCT(session_pause)
TH_STRUCT(session_cancel)
TH_STRUCT(session_fork)
TH_STRUCT(session_decision)
TH_STRUCT(session_answer)
// clang-format off
TH_TABLE(session_message, "a message", false)
TH_TABLE(session_resume, "a resume", false)
TH_TABLE(session_act, "the end of plan mode", false)
TH_TABLE(session_pause, "a pause", false)
TH_TABLE(session_cancel, "a stop", false)
TH_TABLE(session_fork, "a fork", false)
TH_TABLE(session_decision, "a person's word", false)
TH_TABLE(session_answer, "an answer", false)
// clang-format on

/* ---- lead ---- */

bool th_session_task_checked(struct th_access *a, const struct th_session_task *t)
{
	const char *fault = t->goal && t->plan    ? "plan and goal exclude each other"
			    : t->goal && !t->text ? "a goal is a message"
						  : NULL;

	if (fault)
		th_access_fault(a, 400, "invalid_value", "goal", fault);
	else if (t->rounds && (!t->goal || t->rounds > TH_GOAL_ROUNDS_MAX))
		th_access_fault(a, 400, "invalid_value", "rounds",
				"rounds are those of a goal, at most 100");
	else
		return true;
	return false;
}

int th_session_say(struct thole_session *s, const struct th_session_task *t, const char *user,
		   struct thole_error *err)
{
	return t->goal   ? thole_session_goal(s, t->text, t->rounds, user, err)
	       : t->plan ? thole_session_plan(s, t->text, user, err)
			 : thole_session_message(s, t->text, err);
}

void th_api_session_message(struct th_access *a)
{
	struct th_session_message m;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_session_task task;
	struct th_hub *h;

	if (!th_api_body_read(a, &th_session_message_table, &b, &m))
		return;
	task = (struct th_session_task){ .text = th_api_body_text(&b, m.text),
					 .plan = m.plan,
					 .goal = m.goal,
					 .rounds = m.rounds };
	if (!task.text) {
		th_access_fail(a, 400, NULL, "text has a zero in it");
		return;
	}
	if (!th_session_task_checked(a, &task))
		return;
	h = th_session_mine_open(a, m.plan || m.goal);
	if (!h)
		return;
	if (!th_hub_runs(h) && !th_quota_begin(a))
		return;
	if (th_session_say(h->session, &task, a->user, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h->to_run = true;
	th_quota_begins(&a->needs, h);
	a->server->metrics.messages++;
	th_session_answer_after(a, h, 202, "message");
}

void th_api_session_condense(struct th_access *a)
{
	struct thole_error err;
	struct th_hub *h = th_session_mine_open(a, true);

	if (!h)
		return;
	if (thole_session_condense(h->session, a->user, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
	th_access_session(a, a->args[0], 202);
}

void th_api_session_pause(struct th_access *a)
{
	struct th_session_pause p;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_hub *h;

	if (!th_api_body_read(a, &th_session_pause_table, &b, &p))
		return;
	h = th_session_mine_open(a, false);
	if (!h)
		return;
	if (thole_session_pause(h->session, th_api_body_text(&b, p.reason) ?: "paused by the user",
				&err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
	th_access_session(a, a->args[0], 202);
}

void th_api_session_act(struct th_access *a)
{
	struct th_session_act c;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_hub *h;

	if (!th_api_body_read(a, &th_session_act_table, &b, &c))
		return;
	h = th_session_mine_open(a, true);
	if (!h || (!th_hub_runs(h) && !th_quota_begin(a)))
		return;
	if (thole_session_act(h->session, th_api_body_text(&b, c.note), a->user, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = 0;
	h->to_run = true;
	th_quota_begins(&a->needs, h);
	th_server_kick(a->server);
	th_access_session(a, a->args[0], 202);
}

void th_api_session_goal_end(struct th_access *a)
{
	struct thole_error err;
	struct th_hub *h = th_session_mine_open(a, true);

	if (!h)
		return;
	if (thole_session_goal_end(h->session, a->user, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
	th_access_session(a, a->args[0], 202);
}

/* One that was ended before it was reached. */
void th_api_session_goal_resume(struct th_access *a)
{
	struct thole_error err;
	struct th_hub *h = th_session_mine_open(a, true);
	int code;

	if (!h || (!th_hub_runs(h) && !th_quota_begin(a)))
		return;
	code = thole_session_goal(h->session, NULL, 0, a->user, &err);
	if (code == THOLE_ENOENT)
		th_access_fail(a, 409, NULL, "%s", err.text);
	else if (code)
		th_access_error(a, &err);
	if (code)
		return;
	h->rested_ms = 0;
	h->to_run = true;
	th_quota_begins(&a->needs, h);
	th_server_kick(a->server);
	th_access_session(a, a->args[0], 202);
}

void th_api_session_resume(struct th_access *a)
{
	struct th_session_resume r;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_hub *h;

	if (!th_api_body_read(a, &th_session_resume_table, &b, &r))
		return;
	h = th_session_mine_open(a, r.more.len > 0);
	if (!h)
		return;
	if (!th_hub_runs(h) && !th_quota_begin(a))
		return;
	if (r.more.len && thole_session_more(h->session, th_api_body_text(&b, r.more) ?: "",
					     a->user, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	if (thole_session_resume(h->session, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = 0;
	h->to_run = true;
	th_quota_begins(&a->needs, h);
	th_server_kick(a->server);
	th_access_session(a, a->args[0], 202);
}

void th_api_session_cancel(struct th_access *a)
{
	struct th_session_cancel c;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_hub *h;

	if (!th_api_body_read(a, &th_session_cancel_table, &b, &c))
		return;
	if (c.when.len && !th_str_is(c.when, "now") && !th_str_is(c.when, "after_turn")) {
		th_access_fail(a, 400, NULL, "when is now or after_turn");
		return;
	}
	h = th_session_mine_open(a, false);
	if (!h)
		return;
	if (thole_session_cancel(h->session,
				 th_str_is(c.when, "after_turn") ? THOLE_AFTER_TURN : THOLE_NOW,
				 &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
	th_access_session(a, a->args[0], 202);
}

static void answer_forked(struct th_access *a, const char *session, struct th_str row)
{
	(void)session;
	th_access_text(a, 201, "application/json", row);
}

void th_api_session_fork(struct th_access *a)
{
	struct th_session_fork f;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};

	if (!th_api_body_read(a, &th_session_fork_table, &b, &f))
		return;
	if (th_api_is_name(a, f.id))
		th_access_fork(a, a->args[0], (uint64_t)f.seq, th_api_body_text(&b, f.id),
			       answer_forked);
}

/* ---- decide ---- */

/* After the word: the answer comes once it is written. */
static void decided(struct th_access *a, struct th_hub *h, int code, const struct thole_error *err,
		    const char *kinds)
{
	if (code) {
		th_access_error(a, err);
		return;
	}
	a->server->metrics.decisions++;
	h->rested_ms = 0;
	h->to_run = true;
	th_session_answer_after(a, h, 200, kinds);
}

void th_api_session_approve(struct th_access *a)
{
	struct th_session_decision d;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_hub *h;
	const char *id;

	if (!th_api_body_read(a, &th_session_decision_table, &b, &d))
		return;
	h = th_session_mine_open(a, true);
	if (!h)
		return;
	id = th_api_body_text(&b, d.call_id);
	decided(a, h,
		d.always ? thole_session_approve_always(h->session, id, a->user, &err)
			 : thole_session_approve(h->session, id, a->user, &err),
		&err, "approval_decided");
}

void th_api_session_answer(struct th_access *a)
{
	struct th_session_answer d;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	const char *answer;
	struct th_hub *h;

	if (!th_api_body_read(a, &th_session_answer_table, &b, &d))
		return;
	h = th_session_mine_open(a, true);
	if (!h)
		return;
	answer = th_api_body_text(&b, d.answer);
	if (!answer)
		th_access_fail(a, 400, NULL, "answer has a zero in it");
	else
		decided(a, h,
			thole_session_answer(h->session, th_api_body_text(&b, d.call_id), a->user,
					     answer, &err),
			&err, "approval_decided");
}

void th_api_session_reject(struct th_access *a)
{
	struct th_session_decision d;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	const char *id, *message;
	struct th_hub *h;

	if (!th_api_body_read(a, &th_session_decision_table, &b, &d))
		return;
	h = th_session_mine_open(a, true);
	if (!h)
		return;
	id = th_api_body_text(&b, d.call_id);
	message = th_api_body_text(&b, d.message);
	decided(a, h,
		d.always ? thole_session_reject_always(h->session, id, a->user, message, &err)
			 : thole_session_reject(h->session, id, a->user, message, &err),
		&err, "approval_decided");
}

void th_api_session_settle(struct th_access *a)
{
	static const char *const names[] = { "done", "not_started", "unknown", NULL };
	struct th_session_decision d;
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_hub *h;
	int outcome;

	if (!th_api_body_read(a, &th_session_decision_table, &b, &d))
		return;
	h = th_session_mine_open(a, true);
	if (!h)
		return;
	outcome = th_names_find(names, d.outcome);
	if (outcome < 0)
		th_access_fail(a, 400, NULL, "outcome is done, not_started or unknown");
	else
		decided(a, h,
			thole_session_settle(h->session, th_api_body_text(&b, d.call_id),
					     (enum thole_outcome)outcome, a->user,
					     th_api_body_text(&b, d.message), &err),
			&err, "settled");
}
