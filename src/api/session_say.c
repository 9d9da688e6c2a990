/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_say.c - what is said to a session: messages, that it goes on, pauses or stops, and what
 * it is given; and waiting until it rests.
 */
#include <stdlib.h>

#include "api/api.h"

/* One that was taken up knows only its log: what is open there comes first. */
enum th_code th_api_take_over(struct thole_session *s, struct th_err *err)
{
	enum th_code code;

	if (!s->stored || s->resumed)
		return TH_OK;
	code = th_driver_resume(s->rt->driver, s->handle, err);
	s->resumed = !code;
	return code;
}

enum th_code th_api_go_on(struct thole_session *s, struct th_err *err)
{
	bool taken_up = s->stored && !s->resumed;
	enum th_code code = th_runtime_go_on(s->rt->rt, s->handle, taken_up, err);

	if (!code && taken_up) {
		s->resumed = true;
		th_api_ask_again(s);
	}
	return code;
}

enum th_code th_api_say(struct thole_session *s, struct th_str text, struct th_err *err)
{
	enum th_code code = th_api_take_over(s, err);

	return code ? code : th_driver_message(s->rt->driver, s->handle, text, err);
}

int thole_session_message(struct thole_session *s, const char *text, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_check_open(s, err);

	if (!code)
		code = th_api_text(text, "the message", 1, TH_MESSAGE_MAX, err);
	if (code)
		return code;
	if (!s->opening)
		return th_api_out(th_api_say(s, th_str_of(text), &e), &e, err);
	if (s->take_later || s->message_later || s->resume_later)
		return th_api_fail(err, TH_EBUSY,
				   "something was said already, which waits until it is open");
	s->message_later = th_api_copy(th_str_of(text));
	return TH_OK;
}

int thole_session_resume(struct thole_session *s, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_check_open(s, err);

	if (code)
		return code;
	if (!s->opening)
		return th_api_out(th_api_go_on(s, &e), &e, err);
	if (s->take_later || s->message_later || s->resume_later)
		return th_api_fail(err, TH_EBUSY,
				   "something was said already, which waits until it is open");
	s->resume_later = true;
	return TH_OK;
}

static int set_state(struct thole_session *s, enum th_state to, const char *reason,
		     struct thole_error *err)
{
	struct th_err e = { 0 };

	if (s->opening) {
		free(s->reason_later);
		s->reason_later = th_api_copy(th_str_of(reason));
		s->state_later = to;
		return TH_OK;
	}
	return th_api_out(th_driver_set_state(s->rt->driver, s->handle, to, th_str_of(reason), &e),
			  &e, err);
}

int thole_session_pause(struct thole_session *s, const char *reason, struct thole_error *err)
{
	int code = th_api_check_open(s, err);

	if (!code && reason)
		code = th_api_text(reason, "the reason", 0, TH_PATH_LEN_MAX, err);
	return code ? code : set_state(s, TH_STATE_PAUSED, reason ? reason : "paused", err);
}

int thole_session_condense(struct thole_session *s, const char *by, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_check_ready(s, err);

	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_PATH_LEN_MAX, err);
	if (code)
		return code;
	return th_api_out(th_driver_condense(s->rt->driver, s->handle, th_str_of(by ?: ""), &e), &e,
			  err);
}

int thole_session_confirm(struct thole_session *s, const char *confirm, const char *by,
			  struct thole_error *err)
{
	const struct th_ev_session_changed change = { .confirm = th_str_of(confirm),
						      .by = th_str_of(by ?: "") };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_agent_confirm read;
	struct th_err e = { 0 };
	int code = th_api_check_ready(s, err);

	if (!code)
		code = th_api_text(confirm, "what is asked about", 2, 4 * TH_KIB, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_USER_MAX, err);
	if (code)
		return code;
	code = th_json_parse(change.confirm, &doc, &e);
	if (!code)
		code = th_confirm_read(th_json_root(doc), &read, &e);
	if (code)
		return th_api_fail(err, TH_EUSAGE, "what is asked about: %s", e.msg);
	return th_api_out(th_driver_describe(s->rt->driver, s->handle, &change, &e), &e, err);
}

int thole_session_more(struct thole_session *s, const char *more, const char *by,
		       struct thole_error *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent_limits limits;
	struct th_more given;
	struct th_err e = { 0 };
	int code = th_api_check_ready(s, err);

	if (!code)
		code = th_api_text(more, "what is given", 1, 4 * TH_KIB, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_USER_MAX, err);
	if (code)
		return code;
	th_arena_init(&a, 64 * TH_KIB);
	code = th_json_parse(th_str_of(more), &doc, &e);
	if (!code)
		code = th_table_parse(&th_agent_limits_table, th_json_root(doc), &a, &limits, &e);
	if (code)
		return th_api_fail(err, TH_EUSAGE, "what is given: %s", e.msg);
	code = th_more_of(&limits, &given, &e);
	if (!code)
		code = th_driver_more(s->rt->driver, s->handle, &given, th_str_of(by ?: ""), &e);
	return th_api_out(code, &e, err);
}

static int check_plan(struct thole_session *s, const char *text, size_t least, size_t most,
		      const char *by, struct thole_error *err)
{
	int code = th_api_check_ready(s, err);

	if (!code && (text || least))
		code = th_api_text(text, "the message", least, most, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_USER_MAX, err);
	return code;
}

int thole_session_plan(struct thole_session *s, const char *text, const char *by,
		       struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_plan(s, text, 1, TH_MESSAGE_MAX, by, err);

	if (code)
		return code;
	code = th_api_take_over(s, &e);
	if (!code)
		code = th_driver_plan(s->rt->driver, s->handle, th_str_of(text),
				      th_str_of(by ?: ""), &e);
	return th_api_out(code, &e, err);
}

int thole_session_act(struct thole_session *s, const char *note, const char *by,
		      struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_plan(s, note, 0, TH_NOTE_MAX, by, err);

	if (code)
		return code;
	code = th_api_take_over(s, &e);
	if (!code)
		code = th_driver_act(s->rt->driver, s->handle, th_str_of(note ?: ""),
				     th_str_of(by ?: ""), &e);
	return th_api_out(code, &e, err);
}

int thole_session_goal(struct thole_session *s, const char *goal, int64_t rounds, const char *by,
		       struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_plan(s, goal, goal ? 1 : 0, TH_GOAL_MAX, by, err);

	if (!code && (rounds < 0 || rounds > TH_GOAL_ROUNDS_MAX))
		code = th_api_fail(err, TH_EUSAGE, "a goal has 1 to %d rounds", TH_GOAL_ROUNDS_MAX);
	if (code)
		return code;
	code = th_api_take_over(s, &e);
	if (!code)
		code = th_driver_goal(s->rt->driver, s->handle, th_str_of(goal ?: ""),
				      rounds ?: TH_GOAL_ROUNDS_DEFAULT, th_str_of(by ?: ""), &e);
	return th_api_out(code, &e, err);
}

int thole_session_goal_end(struct thole_session *s, const char *by, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_plan(s, NULL, 0, 0, by, err);

	if (code)
		return code;
	return th_api_out(th_driver_goal_end(s->rt->driver, s->handle, th_str_of(by ?: ""), &e), &e,
			  err);
}

int thole_session_goal_state(const struct thole_session *s)
{
	const struct th_session *fold =
	    s && !s->opening ? th_driver_session(s->rt->driver, s->handle) : NULL;
	const struct th_session_judge *j = fold ? fold->judge : NULL;

	if (!j || !j->goal.text.len)
		return THOLE_GOAL_NONE;
	return j->goal.on ? THOLE_GOAL_ON : j->goal.over ? THOLE_GOAL_OVER : THOLE_GOAL_ENDED;
}

int thole_session_cancel(struct thole_session *s, enum thole_when when, struct thole_error *err)
{
	int code = th_api_check_open(s, err);

	if (!code && when != THOLE_NOW && when != THOLE_AFTER_TURN)
		code = th_api_fail(err, TH_EUSAGE, "cancel: now, or after the turn");
	if (code)
		return code;
	if (when == THOLE_NOW || s->opening || th_session_rests(th_api_fold(s))) {
		code = set_state(s, TH_STATE_STOPPED, "cancelled", err);
		if (!code)
			th_api_deltas_drop(s);
		return code;
	}
	s->after_turn = true;
	return TH_OK;
}

static bool rests(void *ctx)
{
	const struct thole_session *s = ctx;

	return !s->rt->notes && !s->rt->released && th_api_session_rests(s);
}

int thole_session_wait(struct thole_session *s, int64_t timeout_ms, struct thole_error *err)
{
	int code = th_api_enter_session(s, err);

	return code ? code : th_api_spin(s->rt, rests, s, timeout_ms, err);
}

int thole_session_run(struct thole_session *s, const char *text, struct thole_error *err)
{
	int code = text ? thole_session_message(s, text, err) : thole_session_resume(s, err);

	return code ? code : thole_session_wait(s, -1, err);
}
