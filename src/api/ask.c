/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c - a question to the session's model beside its history (side_models/ask.h). */
#include "api/api.h"

static void on_asked(void *ctx, struct th_str answer, const struct th_err *err)
{
	struct thole_session *s = ctx;
	const struct th_str none = { 0 };

	if (s->freed)
		return;
	th_api_tell(s, TH_NOTE_ASKED, err ? th_str_of(err->msg) : none, answer, none, none, 0,
		    NULL);
}

void th_api_asked_note(const struct thole_note *n)
{
	struct thole_session *s = n->session;
	thole_answer_fn *fn = s->answer_fn;
	bool failed = n->name && n->name[0];

	s->answer_fn = NULL;
	if (fn && !s->freed)
		fn(s->answer_ctx, s, failed ? NULL : n->text, failed ? n->name : NULL);
}

int thole_session_ask(struct thole_session *s, const char *by, const char *question,
		      thole_answer_fn *fn, void *ctx, struct thole_error *err)
{
	struct th_err e = { 0 };
	int code = th_api_check_person(s, by, err);

	if (!code)
		code = th_api_text(question, "the question", 1, TH_ASKED_MAX, err);
	if (!code && !fn)
		code = th_api_fail(err, TH_EUSAGE, "fn is NULL");
	if (!code && s->answer_fn)
		code = th_api_fail(err, TH_EBUSY, "a question before this one is under way");
	if (code)
		return code;
	s->answer_fn = fn;
	s->answer_ctx = ctx;
	code = (int)th_driver_ask(s->rt->driver, s->handle, th_str_of(by), th_str_of(question),
				  on_asked, s, &e);
	if (code)
		s->answer_fn = NULL;
	return th_api_out((enum th_code)code, &e, err);
}
