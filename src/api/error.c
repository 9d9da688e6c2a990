/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "base/text.h"

#define X(id, value, name, exit_code) \
	_Static_assert((int)THOLE_##id == (int)TH_##id, "one list of codes");
TH_CODES(X)
#undef X
_Static_assert(sizeof(((struct thole_error *)0)->text) == TH_ERR_MSG_MAX, "a sentence fits");

#define X(id, name, exit_code, doc) \
	_Static_assert((int)THOLE_##id == (int)TH_STATE_##id, "one list of states");
TH_STATES(X)
#undef X

const char *thole_code_name(int code)
{
#define X(id, value, name, exit_code) case value:
	switch (code) {
		TH_CODES(X)
		return th_code_name((enum th_code)code);
	}
#undef X
	return "unknown";
}

const char *thole_state_name(int state)
{
	if (state == THOLE_LOST)
		return "lost";
	return state >= 0 && state < TH_STATE_COUNT ? th_state_name((enum th_state)state)
						    : "unknown";
}

void thole_free(char *text)
{
	free(text);
}

int th_api_out(enum th_code code, const struct th_err *from, struct thole_error *err)
{
	if (code == TH_OK || !err)
		return code;
	err->code = code;
	memcpy(err->text, from->msg, sizeof(err->text));
	return code;
}

int th_api_fail(struct thole_error *err, enum th_code code, const char *fmt, ...)
{
	struct th_buf text;
	va_list ap;

	if (!err)
		return code;
	th_buf_init(&text, 4 * TH_ERR_MSG_MAX);
	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	err->code = code;
	snprintf(err->text, sizeof(err->text), "%.*s",
		 TH_FMT(th_utf8_cut(th_buf_str(&text), sizeof(err->text) - 1)));
	th_buf_deinit(&text);
	return code;
}

int th_api_text(const char *text, const char *what, size_t min, size_t max, struct thole_error *err)
{
	size_t len = text ? strnlen(text, max + 1) : 0;

	if (!text)
		return th_api_fail(err, TH_EUSAGE, "%s is NULL", what);
	if (len < min)
		return th_api_fail(err, TH_EUSAGE, "%s is empty", what);
	if (len > max)
		return th_api_fail(err, TH_ELIMIT, "%s has more than %zu bytes", what, max);
	if (th_utf8_valid(th_str_n(text, len)) != len)
		return th_api_fail(err, TH_EUSAGE, "%s is not UTF-8", what);
	return TH_OK;
}

int th_api_enter(struct thole_runtime *rt, struct thole_error *err)
{
	const struct th_err *failure;

	if (!rt)
		return th_api_fail(err, TH_EUSAGE, "the runtime is NULL");
	if (!pthread_equal(pthread_self(), rt->inbox->thread))
		return th_api_fail(err, TH_EUSAGE,
				   "the runtime belongs to another thread, the one that made it");
	failure = th_runtime_failure(rt->rt);
	if (failure)
		return th_api_out(failure->code, failure, err);
	rt->touched = true;
	return TH_OK;
}

int th_api_enter_reading(struct thole_runtime *rt, const char *session_id, thole_line_fn *fn,
			 struct thole_error *err)
{
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && !fn)
		code = th_api_fail(err, TH_EUSAGE, "fn is NULL");
	return code;
}

int th_api_enter_session(struct thole_session *s, struct thole_error *err)
{
	if (!s)
		return th_api_fail(err, TH_EUSAGE, "the session is NULL");
	return th_api_enter(s->rt, err);
}

char *th_api_copy(struct th_str s)
{
	char *copy = th_alloc(s.len + 1);

	if (s.len > 0)
		memcpy(copy, s.ptr, s.len);
	return copy;
}

const char *th_api_put(char **at, struct th_str s)
{
	char *text = *at;

	if (s.len > 0)
		memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	*at += s.len + 1;
	return text;
}
