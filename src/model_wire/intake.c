/* SPDX-License-Identifier: Apache-2.0 */
#include "model_wire/intake.h"

#include <stdlib.h>

#include "base/limits.h"

void th_intake_init(struct th_intake *in, th_intake_fn *fn, void *ctx)
{
	*in = (struct th_intake){ .fn = fn, .ctx = ctx };
	th_sse_init(&in->sse, TH_SSE_LINE_MAX);
	th_buf_init(&in->body, TH_ANSWER_MAX);
	th_buf_init(&in->text, TH_ANSWER_MAX);
}

void th_intake_deinit(struct th_intake *in)
{
	th_sse_deinit(&in->sse);
	th_buf_deinit(&in->body);
	th_buf_deinit(&in->text);
	free(in->err);
}

struct th_err *th_intake_err(struct th_intake *in)
{
	if (!in->err)
		in->err = th_alloc(sizeof(*in->err));
	return in->err;
}

int th_intake_over(struct th_intake *in, const char *what, size_t max)
{
	if (!in->limited)
		th_fail(th_intake_err(in), TH_ELIMIT, "the answer has more than %zu %s", max, what);
	in->limited = true;
	return TH_ELIMIT;
}

static int feed_stream(struct th_intake *in, struct th_str bytes)
{
	struct th_sse_event ev;
	int events = 0, r;

	if (in->body.len < TH_ANSWER_START_MAX)
		th_buf_add(&in->body, th_str_sub(bytes, 0, TH_ANSWER_START_MAX - in->body.len));
	while ((r = th_sse_next(&in->sse, &bytes, &ev, th_intake_err(in))) == 1) {
		events += events < INT32_MAX;
		if (!in->fn(in->ctx, &ev))
			return TH_ELIMIT;
		in->events++;
	}
	if (r < 0) {
		in->limited = true;
		return r;
	}
	return events;
}

int th_intake_feed(struct th_intake *in, struct th_str bytes)
{
	assert(!in->ended);
	if (in->limited)
		return TH_ELIMIT;
	if (in->mode == TH_BODY_LOOKING)
		in->mode = th_body_look(&in->bom_len, &bytes);
	if (!bytes.len)
		return 0;
	if (in->mode == TH_BODY_STREAM)
		return feed_stream(in, bytes);
	th_buf_add(&in->body, bytes);
	return in->body.failed ? th_intake_over(in, "bytes", TH_ANSWER_MAX) : 0;
}

void th_intake_end(struct th_intake *in)
{
	struct th_sse_event ev;
	bool broken = in->broken, again = in->ended;
	int r;

	in->ended = true;
	if (again || in->mode != TH_BODY_STREAM)
		return;
	r = th_sse_end(&in->sse, &ev, th_intake_err(in));
	if (r < 0)
		in->limited = true;
	if (r != 1 || in->limited || !in->fn(in->ctx, &ev))
		return;
	in->partial = in->broken && !broken;
	in->broken = broken;
	in->events += !in->partial;
}

void th_intake_fail(const struct th_intake *in, enum th_failure class, struct th_answer *ret)
{
	th_answer_fail(ret, class, th_str_of(in->err ? in->err->msg : NULL));
}

void th_intake_unfinished(struct th_intake *in, struct th_answer *ret)
{
	th_answer_unfinished(ret, in->broken, in->events + in->partial, th_buf_str(&in->body),
			     &in->text);
}

bool th_intake_error_event(struct th_intake *in, struct th_str *raw, struct th_json_doc **doc,
			   const struct th_json **ret_error, struct th_answer *ret)
{
	if (th_json_parse(*raw, doc, th_intake_err(in))) {
		th_intake_fail(in, TH_FAILURE_MALFORMED, ret);
		return false;
	}
	*ret_error = th_answer_find_error(th_json_root(*doc), raw);
	return true;
}

bool th_intake_http_error(struct th_intake *in, struct th_str error, int http_status,
			  struct th_answer *ret, struct th_str *raw, struct th_json_doc **doc,
			  const struct th_json **ret_error)
{
	*raw = in->mode == TH_BODY_STREAM && error.len ? error : th_buf_str(&in->body);
	return th_answer_http_error(ret, raw, !in->limited && in->mode != TH_BODY_LOOKING,
				    http_status, doc, ret_error, &in->text);
}
