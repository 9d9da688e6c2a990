/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.c - the person's answer to what a server has asked: it goes to the call that waits for it,
 * or with the call that is made again.
 */
#include "mcp/call.h"

#include "base/text.h"
#include "core/unknown.h"

#define NO_SAMPLE "the request to the model was not allowed, or had no answer"

static struct th_mcp_call *held_find(struct th_mcp_process *p, struct th_str hold)
{
	for (struct th_mcp_work *w = p->works; w; w = w->next) {
		struct th_mcp_call *c = (struct th_mcp_call *)w;

		if (w->held && w->ops == &th_mcp_call_ops && th_str_eq(c->hold, hold))
			return c;
	}
	return NULL;
}

/* The call that has waited has a job again. */
static void take_up(struct th_mcp_call *c, struct th_tool_job *job, const struct th_mcp_form *form,
		    struct th_str result)
{
	struct th_buf late = c->late;

	c->late = (struct th_buf){};
	th_buf_init(&c->late, TH_EXEC_OUTPUT_MAX);
	c->job = job;
	c->work.held = false;
	c->hold = TH_STR("");
	job->state = c;
	job->clocks[0] = &c->timer;
	th_timer_start(&c->timer, (uint64_t)c->timeout_ms, 0);
	if (late.failed)
		th_mcp_call_give_up(c, "the server's answer was too large", NULL, false);
	else if (late.len)
		th_mcp_call_ops.answered(&c->work, th_buf_str(&late));
	else if (result.len)
		th_mcp_process_reply(c->process, form->id, result);
	else
		th_mcp_process_refuse(c->process, form->id, TH_STR(NO_SAMPLE));
	th_buf_deinit(&late);
}

/* The person's answer does not fit: the same question, with the reason. */
static void ask_once_more(struct th_tool_job *job, const struct th_mcp_form *form,
			  const struct th_err *why)
{
	struct th_buf asks = TH_BUF_INIT(2 * TH_MCP_FORM_MAX + TH_KIB);
	struct th_buf evidence = TH_BUF_INIT(3 * TH_MCP_FORM_MAX);
	struct th_jw w = th_jw(&evidence);
	struct th_err err = {};

	if (th_mcp_form_put(form, th_str_of(why->msg), &asks, &err)) {
		th_tool_fail(job, TH_OUTCOME_FAILED, &err);
	} else {
		th_jw_object(&w);
		th_jw_kraw(&w, "asks", th_buf_str(&asks));
		th_jw_object_end(&w);
		job->done(job, TH_OUTCOME_DONE, TH_STR("\"\""), th_buf_str(&evidence));
	}
	th_buf_deinit(&asks);
	th_buf_deinit(&evidence);
}

static void held_lost(struct th_tool_job *job)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	struct th_buf text = TH_BUF_INIT(TH_KIB);

	th_buf_printf(&text,
		      "%sThe reason: the server %.*s asked a question, and the process that it "
		      "waited in has ended.",
		      a->reads ? TH_ERROR_MARK : TH_UNKNOWN_SENTENCE " ",
		      TH_FMT(th_utf8_cut(a->server, 80)));
	th_tool_text(job, a->reads ? TH_OUTCOME_FAILED : TH_OUTCOME_UNKNOWN, th_buf_str(&text),
		     TH_STR(""));
	th_buf_deinit(&text);
}

/* In 2026-07-28 a server that gets no answer is not called again, and has done nothing more; but a
 * task that waits for one is there. */
static void not_sampled(struct th_tool_job *job)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	bool unknown = a->task.len && !a->reads;

	th_tool_text(job, unknown ? TH_OUTCOME_UNKNOWN : TH_OUTCOME_FAILED,
		     unknown ? TH_STR(TH_UNKNOWN_SENTENCE " The reason: " NO_SAMPLE ".")
			     : TH_STR(TH_ERROR_MARK NO_SAMPLE),
		     TH_STR(""));
}

bool th_mcp_held_resumes(struct th_tool_job *job, struct th_mcp_process *p,
			 struct th_mcp_form *form, struct th_buf *result)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	struct th_err err = {};
	struct th_mcp_call *c;

	th_mcp_form_read(a->form, form);
	if (th_mcp_form_answer(form, a->answer, a->declined, result, &err)) {
		ask_once_more(job, form, &err);
		return true;
	}
	if (form->key.len && !result->len) {
		not_sampled(job);
		return true;
	}
	if (form->key.len)
		return false;
	c = held_find(p, form->hold);
	if (!c && a->task.len) { /* its task asks again */
		*form = (struct th_mcp_form){};
		return false;
	}
	if (c)
		take_up(c, job, form, th_buf_str(result));
	else
		held_lost(job);
	return true;
}
