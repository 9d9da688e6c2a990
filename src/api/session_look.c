/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_look.c - what a session is at the moment, for the program and for the other files here.
 */
#include <stdlib.h>

#include "api/api.h"

const struct th_session *th_api_fold(const struct thole_session *s)
{
	return s && s->handle.generation ? th_driver_session(s->rt->driver, s->handle) : NULL;
}

bool th_api_session_rests(const struct thole_session *s)
{
	const struct th_session *f = th_api_fold(s);

	if (s->freed || s->lost)
		return true;
	return !s->opening && f && th_session_rests(f) &&
	       th_driver_durable(s->rt->driver, s->handle);
}

int th_api_check_open(struct thole_session *s, struct thole_error *err)
{
	int code = th_api_enter_session(s, err);

	if (!code && s->lost)
		code = th_api_out(s->why.code, &s->why, err);
	else if (!code && s->removing)
		code = th_api_fail(err, TH_EBUSY, "session %s is being deleted", s->id);
	return code;
}

int th_api_check_ready(struct thole_session *s, struct thole_error *err)
{
	int code = th_api_check_open(s, err);

	if (!code && s->opening) {
		s->hurried = true;
		th_runtime_open_now(s->rt->rt, s);
		s->hurried = false;
	}
	if (!code && s->opening)
		return th_api_fail(err, TH_EPROTO, "the session's computer is not open yet");
	return code ? code : th_api_check_open(s, err);
}

const char *thole_session_id(const struct thole_session *s)
{
	return s ? s->id : NULL;
}

int thole_session_state(const struct thole_session *s)
{
	const struct th_session *f = th_api_fold(s);

	if (s && s->lost)
		return THOLE_LOST;
	return f ? (int)f->state : THOLE_LOADING;
}

static const char *keep_text(struct thole_session *s, struct th_str text)
{
	char *copy = th_api_copy(text);

	free(s->text);
	s->text = copy;
	return copy;
}

const char *thole_session_output(struct thole_session *s)
{
	const struct th_session *f = s && !s->lost ? th_api_fold(s) : NULL;

	return f && f->state == TH_STATE_FINISHED ? keep_text(s, th_buf_str(&f->final)) : NULL;
}

const char *thole_session_reason(struct thole_session *s)
{
	const struct th_session *f = th_api_fold(s);

	if (s && s->lost)
		return keep_text(s, th_str_of(s->why.msg));
	return f && f->state != TH_STATE_FINISHED && f->reason.len > 0
		   ? keep_text(s, th_buf_str(&f->reason))
		   : NULL;
}

int thole_session_lost(struct thole_session *s, struct thole_error *err)
{
	if (!s)
		return th_api_fail(err, TH_EUSAGE, "the session is NULL");
	return s->lost ? th_api_out(s->why.code ?: TH_EIO, &s->why, err) : TH_OK;
}

const char *thole_session_waits_for(struct thole_session *s)
{
	struct th_buf name = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	const struct th_call *c =
	    s && !s->lost && s->handle.generation
		? th_driver_waits(s->rt->driver, s->handle, TH_CALL_ASKED, TH_STR(""), &name)
		: NULL;
	const char *text = c ? keep_text(s, th_buf_str(&name)) : NULL;

	th_buf_deinit(&name);
	return text;
}

int thole_session_json(struct thole_session *s, char **ret, struct thole_error *err)
{
	struct th_buf text;
	struct th_jw w;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_check_ready(s, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the text: ret is NULL");
	if (code)
		return code;
	th_buf_init(&text, TH_JSON_SIZE_MAX);
	w = th_jw(&text);
	th_session_print(th_api_fold(s), &w);
	bad = th_buf_check(&text, "the session's state", &e);
	if (!bad)
		*ret = th_api_copy(th_buf_str(&text));
	th_buf_deinit(&text);
	return th_api_out(bad, &e, err);
}

void thole_session_set_data(struct thole_session *s, void *data)
{
	if (s)
		s->data = data;
}

void *thole_session_data(const struct thole_session *s)
{
	return s ? s->data : NULL;
}
