/* SPDX-License-Identifier: Apache-2.0 */
#include "side_models/ask.h"

#include <stdlib.h>

#include "live/log.h"
#include "live/queue.h"
#include "live/side_request.h"
#include "turns/provider_state.h"
#include "turns/team.h"

static const char words[] =
    "A question beside the task, which you do not go on with now. Answer it in words, from what "
    "is above, and call no tool:\n";

struct th_side_question {
	struct th_side_request *request;
	struct th_side_usage usage;
	struct th_buf by, question, answer;
	int failure; /* the model's, an enum th_failure; -1: none of it */
	th_asked_fn *fn;
	void *ctx;
};

static void asking_free(struct th_live *l)
{
	struct th_side_question *q = l->asking;

	l->asking = NULL;
	th_side_cancel(l, q->request);
	th_buf_deinit(&q->by);
	th_buf_deinit(&q->question);
	th_buf_deinit(&q->answer);
	free(q);
}

void th_live_ask_end(struct th_live *l, const struct th_err *why)
{
	th_asked_fn *fn;
	void *ctx;

	if (!l->asking)
		return;
	fn = l->asking->fn;
	ctx = l->asking->ctx;
	asking_free(l);
	if (why)
		fn(ctx, (struct th_str){ 0 }, why);
}

static bool read_answer(struct th_live *l, void *ctx, struct th_str items, struct th_err *err)
{
	struct th_side_question *q = ctx;

	(void)l;
	th_buf_clear(&q->answer);
	return th_side_text(items, "answer", &q->answer, err) &&
	       !th_buf_check(&q->answer, "the answer", err);
}

static void write_asked(struct th_live *l, const struct th_side_question *q,
			const struct th_err *failed)
{
	struct th_buf usage TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_ev_asked d = { .by = th_buf_str(&q->by),
				 .question = th_buf_str(&q->question),
				 .answer = failed ? TH_STR("") : th_buf_str(&q->answer),
				 .failed = failed ? th_str_of(failed->msg) : TH_STR("") };
	struct th_jw w = th_jw(&usage);

	if (failed && q->failure >= 0)
		d.class = th_str_of(th_failure_name((enum th_failure)q->failure));
	if (q->usage.requests) {
		th_jw_object(&w);
		th_side_print(&q->usage, &w);
		th_jw_object_end(&w);
		d.usage = th_buf_str(&usage);
	}
	th_live_write_event(l, TH_EV_ASKED, TH_SOURCE_USER, 0, TH_STR(""), &d);
}

static void asked(struct th_live *l, void *ctx, const struct th_err *err)
{
	struct th_side_question *q = ctx;
	th_asked_fn *fn = q->fn;
	void *theirs = q->ctx;
	struct th_buf answer TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	q->request = NULL;
	write_asked(l, q, err);
	th_buf_add(&answer, th_buf_str(&q->answer));
	asking_free(l);
	fn(theirs, th_buf_str(&answer), err);
}

static enum th_code begin(struct th_live *l, struct th_side_question *q, struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_ASKED_MAX);
	struct th_buf content TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_ASKED_MAX);
	struct th_side_ask a = { .kind = TH_SIDE_ASKED,
				 .options = l->options,
				 .base_url = l->resolved->base_url,
				 .history = true,
				 .output_max = l->fold.output_max,
				 .usage = &q->usage,
				 .failure = &q->failure,
				 .read = read_answer,
				 .done = asked,
				 .ctx = q };
	struct th_jw w = th_jw(&content);
	enum th_code code = TH_OK;

	a.options.previous = TH_STR("");
	a.options.conversation = false;
	a.options.choice = (struct th_tool_choice){ 0 };
	a.options.format = (struct th_output_format){ 0 };
	th_buf_printf(&text, "%s%.*s", words, TH_FMT(th_buf_str(&q->question)));
	th_jw_str(&w, th_buf_str(&text));
	a.content = th_buf_str(&content);
	code = th_buf_check(&content, "the question", err);
	if (!code && (!l->history || l->history_due))
		code = th_live_history_make(l, err);
	return code ? code : th_side_request(l, &a, &q->request, err);
}

enum th_code th_live_ask(struct th_live *l, struct th_str by, struct th_str question,
			 th_asked_fn *fn, void *ctx, struct th_err *err)
{
	enum th_code code;

	if (l->asking)
		return th_fail(err, TH_EBUSY, "a question before this one is under way");
	/* Between an answer's calls and their results no message can stand. */
	if (l->flight || l->sides || l->fold.state == TH_STATE_RUNNING ||
	    l->fold.state == TH_STATE_WAITING ||
	    (l->fold.phase != TH_TURN_REST && l->fold.phase != TH_TURN_DUE))
		return th_fail(err, TH_EBUSY, "the agent is at work; it answers when it rests");
	if (th_live_provider_only(l, "which has the history", err))
		return TH_EUSAGE;
	l->asking = th_alloc(sizeof(*l->asking));
	*l->asking = (struct th_side_question){ .by = TH_BUF_INIT(TH_USER_MAX + 1),
						.question = TH_BUF_INIT(TH_ASKED_MAX + 1),
						.answer = TH_BUF_INIT(TH_ANSWER_MAX),
						.failure = -1,
						.fn = fn,
						.ctx = ctx };
	th_buf_add(&l->asking->by, by);
	th_buf_add(&l->asking->question, question);
	code = begin(l, l->asking, err);
	if (code)
		asking_free(l);
	th_live_pump(l);
	return code;
}
