/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_decide.c - what a person decides about a session's calls: whether one may run, what a
 * question is answered, and what became of one that nobody knows about.
 */
#include "api/api.h"

static int check_word(struct thole_session *s, const char *call_id, const char *by,
		      const char *message, struct thole_error *err)
{
	int code = th_api_check_ready(s, err);

	if (!code && call_id)
		code = th_api_text(call_id, "the call's id", 0, TH_PATH_LEN_MAX, err);
	if (!code && by)
		code = th_api_text(by, "who says so", 0, TH_PATH_LEN_MAX, err);
	if (!code && message)
		code = th_api_text(message, "the message", 0, TH_MESSAGE_MAX, err);
	return code;
}

static int decide(struct thole_session *s, const char *call_id, bool approve, bool always,
		  const char *by, const char *message, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = check_word(s, call_id, by, message, err);

	if (code)
		return code;
	code = th_api_take_over(s, &e)
		   ?: th_driver_decide_as(s->rt->driver, s->handle, th_str_of(call_id), approve,
					  always, th_str_of(by), th_str_of(message), &e);
	return th_api_out((enum th_code)code, &e, err);
}

int thole_session_approve(struct thole_session *s, const char *call_id, const char *by,
			  struct thole_error *err)
{
	return decide(s, call_id, true, false, by, NULL, err);
}

int thole_session_approve_always(struct thole_session *s, const char *call_id, const char *by,
				 struct thole_error *err)
{
	return decide(s, call_id, true, true, by, NULL, err);
}

int thole_session_answer(struct thole_session *s, const char *call_id, const char *by,
			 const char *answer, struct thole_error *err)
{
	int code = th_api_text(answer, "the answer", 1, TH_MESSAGE_MAX, err);

	return code ? code : decide(s, call_id, true, false, by, answer, err);
}

int thole_session_reject(struct thole_session *s, const char *call_id, const char *by,
			 const char *message, struct thole_error *err)
{
	return decide(s, call_id, false, false, by, message, err);
}

int thole_session_reject_always(struct thole_session *s, const char *call_id, const char *by,
				const char *message, struct thole_error *err)
{
	return decide(s, call_id, false, true, by, message, err);
}

int thole_session_settle(struct thole_session *s, const char *call_id, enum thole_outcome outcome,
			 const char *by, const char *message, struct thole_error *err)
{
	static const enum th_outcome_status words[] = {
		[THOLE_DONE] = TH_OUTCOME_DONE,
		[THOLE_NOT_STARTED] = TH_OUTCOME_NOT_STARTED,
		[THOLE_UNKNOWN] = TH_OUTCOME_UNKNOWN,
	};
	struct th_err e = { 0 };
	int code = check_word(s, call_id, by, message, err);

	if (!code && (unsigned)outcome >= TH_COUNT(words))
		code = th_api_fail(err, TH_EUSAGE, "it was done, not started, or is unknown");
	if (code)
		return code;
	code = th_api_take_over(s, &e)
		   ?: th_driver_settle(s->rt->driver, s->handle, th_str_of(call_id), words[outcome],
				       th_str_of(by), th_str_of(message), &e);
	return th_api_out((enum th_code)code, &e, err);
}
