/* SPDX-License-Identifier: Apache-2.0 */
#include "models/intake.h"

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
}

int th_intake_over(struct th_intake *in, const char *what, size_t max)
{
	if (!in->limited)
		th_fail(&in->err, TH_ELIMIT, "the answer has more than %zu %s", max, what);
	in->limited = true;
	return TH_ELIMIT;
}

static int feed_stream(struct th_intake *in, struct th_str bytes)
{
	struct th_sse_event ev;
	int events = 0, r;

	if (in->body.len < TH_ANSWER_START_MAX)
		th_buf_add(&in->body, th_str_sub(bytes, 0, TH_ANSWER_START_MAX - in->body.len));
	while ((r = th_sse_next(&in->sse, &bytes, &ev, &in->err)) == 1) {
		in->events++;
		events += events < INT32_MAX;
		if (!in->fn(in->ctx, &ev))
			return TH_ELIMIT;
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
	int r;

	if (in->ended || in->mode != TH_BODY_STREAM) {
		in->ended = true;
		return;
	}
	in->ended = true;
	r = th_sse_end(&in->sse, &ev, &in->err);
	if (r < 0)
		in->limited = true;
	if (r == 1 && !in->limited && in->fn(in->ctx, &ev))
		in->events++;
}

void th_intake_fail(struct th_intake *in, bool broken, struct th_answer *ret)
{
	th_answer_unfinished(ret, broken, in->events, th_buf_str(&in->body), &in->text);
}
