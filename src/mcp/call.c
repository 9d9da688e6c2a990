/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.c - a call of a server's tool under way: what it asks the server, what the server says, and
 * its end.  Where the server asks a person, the job ends with the question.
 */
#include "mcp/call.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "core/unknown.h"
#include "io/clock.h"
#include "mcp/result.h"
#include "wire/mcp_offer.h"

static bool is_list(const struct th_mcp_call *c)
{
	return !th_mcp_call_args(c)->tool.len;
}

static const struct th_mcp_offer *offer_of(const struct th_mcp_call *c)
{
	return th_mcp_offer_find(th_mcp_call_args(c)->tool);
}

/* ---- its end -------------------------------------------------------------------------------- */

static void put_evidence(const struct th_mcp_call *c, bool timed_out, struct th_buf *out)
{
	const struct th_mcp_client *client = th_mcp_process_client(c->process);
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "server", th_mcp_process_name(c->process));
	if (client->revision[0])
		th_jw_kstr(&w, "revision", th_str_of(client->revision));
	if (timed_out)
		th_jw_kbool(&w, "timed_out", true);
	if (th_mcp_process_changed(c->process, false))
		th_jw_kbool(&w, "tools_changed", true);
	if (c->asks.len)
		th_jw_kraw(&w, "asks", th_buf_str(&c->asks));
	th_jw_object_end(&w);
}

static void call_free(struct th_mcp_call *c)
{
	th_timer_stop(&c->timer);
	th_timer_stop(&c->poll);
	th_mcp_pages_deinit(&c->pages);
	th_buf_deinit(&c->result);
	th_buf_deinit(&c->asks);
	th_buf_deinit(&c->late);
	free(c);
}

/* `reason`: what the server is told, should it still work on it. */
static void finish(struct th_mcp_call *c, enum th_outcome_status status, struct th_str output,
		   const char *reason, bool timed_out)
{
	struct th_tool_job *job = c->job;
	struct th_buf evidence = TH_BUF_INIT(3 * TH_MCP_FORM_MAX);

	put_evidence(c, timed_out, &evidence);
	th_mcp_process_remove(c->process, &c->work, reason);
	if (reason)
		th_mcp_task_cancel(c);
	call_free(c);
	job->done(job, status, output, th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

void th_mcp_call_give_up(struct th_mcp_call *c, const char *why, const char *reason, bool timed_out)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX), output = TH_BUF_INIT(16 * TH_KIB);
	enum th_outcome_status status = !c->sent || c->work.unsent   ? TH_OUTCOME_NOT_STARTED
					: th_mcp_call_args(c)->reads ? TH_OUTCOME_FAILED
								     : TH_OUTCOME_UNKNOWN;
	struct th_jw w = th_jw(&output);

	if (status == TH_OUTCOME_UNKNOWN)
		th_buf_printf(&text, TH_UNKNOWN_SENTENCE " The reason: %s.", why);
	else
		th_buf_printf(&text, TH_ERROR_MARK "%s", why);
	th_jw_str(&w, th_buf_str(&text));
	finish(c, status, th_buf_str(&output), reason, timed_out);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
}

void th_mcp_call_leave(struct th_mcp_call *c)
{
	th_mcp_process_remove(c->process, &c->work, NULL);
	call_free(c);
}

/* Nobody has answered in a day, or the process has ended. */
static void held_end(struct th_mcp_call *c, const char *reason)
{
	th_mcp_process_remove(c->process, &c->work, reason);
	call_free(c);
}

void th_mcp_call_on_timeout(void *ctx)
{
	struct th_mcp_call *c = (struct th_mcp_call *)ctx;
	struct th_buf why = TH_BUF_INIT(TH_KIB);

	if (c->work.held) {
		held_end(c, "the person gave no answer");
		return;
	}
	if (c->sent)
		th_buf_printf(&why,
			      "the server %.*s gave no answer within %lld s and was told to "
			      "stop",
			      TH_FMT(th_mcp_call_args(c)->server),
			      (long long)(c->timeout_ms / 1000));
	else
		th_buf_printf(&why, "the server %.*s was not there within %lld s",
			      TH_FMT(th_mcp_call_args(c)->server),
			      (long long)(c->timeout_ms / 1000));
	th_mcp_call_give_up(c, why.ptr, "it took too long", true);
	th_buf_deinit(&why);
}

/* ---- what the server says ------------------------------------------------------------------- */

void th_mcp_call_fail(struct th_mcp_call *c, const struct th_err *err)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX), output = TH_BUF_INIT(16 * TH_KIB);
	struct th_jw w = th_jw(&output);

	th_buf_printf(&text, TH_ERROR_MARK "%s", err->msg);
	th_jw_str(&w, th_buf_str(&text));
	finish(c, TH_OUTCOME_FAILED, th_buf_str(&output), NULL, false);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
}

static void ask_list(struct th_mcp_call *c)
{
	struct th_buf params = TH_BUF_INIT(8 * TH_KIB);
	struct th_err err = {};

	th_mcp_pages_params(&c->pages, &params);
	if (th_mcp_process_ask(c->process, &c->work, "tools/list", th_buf_str(&params), &err))
		th_mcp_call_fail(c, &err);
	th_buf_deinit(&params);
}

static void ask_tool(struct th_mcp_call *c)
{
	const struct th_mcp_client *client = th_mcp_process_client(c->process);
	const struct th_mcp *a = th_mcp_call_args(c);
	struct th_buf params = TH_BUF_INIT(2 * (TH_COMMAND_INPUT_MAX + TH_MCP_ANSWER_MAX));
	struct th_jw w = th_jw(&params);
	struct th_err err = {};

	th_jw_object(&w);
	th_jw_kstr(&w, "name", a->tool);
	th_jw_kraw(&w, "arguments", a->arguments.len ? a->arguments : TH_STR("{}"));
	if (c->form.key.len)
		th_mcp_form_inputs(&c->form, th_buf_str(&c->result), &w);
	c->as_task = a->as_task && client->era == TH_MCP_ERA_LEGACY &&
		     (client->abilities & TH_MCP_TASKS) != 0;
	if (c->as_task) {
		th_jw_name(&w, TH_STR("task"));
		th_jw_object(&w);
		th_jw_kint(&w, "ttl", TH_MCP_TASK_TTL_MS);
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
	if (th_mcp_process_ask(c->process, &c->work, "tools/call", th_buf_str(&params), &err))
		th_mcp_call_give_up(c, err.msg, NULL, false);
	else
		c->sent = true;
	th_buf_deinit(&params);
}

/* Something that is no tool of the server's: the arguments are the request's own. */
static void ask_offer(struct th_mcp_call *c, const struct th_mcp_offer *o)
{
	const struct th_mcp *a = th_mcp_call_args(c);
	struct th_err err = {};

	if (th_mcp_process_ask(c->process, &c->work, o->method,
			       a->arguments.len ? a->arguments : TH_STR("{}"), &err))
		th_mcp_call_give_up(c, err.msg, NULL, false);
	else
		c->sent = true;
}

static void on_begin(struct th_mcp_work *w)
{
	struct th_mcp_call *c = (struct th_mcp_call *)w;

	if (th_mcp_task_begins(c))
		return;
	if (is_list(c)) {
		(void)th_mcp_process_changed(c->process, true);
		ask_list(c);
	} else if (offer_of(c)) {
		ask_offer(c, offer_of(c));
	} else {
		ask_tool(c);
	}
}

static void on_progress(struct th_mcp_work *w, struct th_str text)
{
	struct th_mcp_call *c = (struct th_mcp_call *)w;

	if (c->work.held || c->progress + text.len >= TH_MCP_PROGRESS_MAX)
		return;
	c->progress += text.len + 1;
	th_mcp_result_show(c->job, text);
	c->job->output(c->job, TH_STR("\n"));
}

static void finish_list(struct th_mcp_call *c)
{
	const struct th_mcp_client *client = th_mcp_process_client(c->process);
	struct th_buf output = TH_BUF_INIT(2 * TH_MCP_LIST_SIZE_MAX);
	struct th_jw w = th_jw(&output);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("tools"));
	th_jw_array(&w);
	if (c->pages.count)
		th_jw_raw(&w, th_buf_str(&c->pages.tools));
	th_jw_array_end(&w);
	th_jw_name(&w, TH_STR("offered"));
	th_jw_array(&w);
	th_mcp_offers_put(client->abilities, &w);
	th_jw_array_end(&w);
	th_jw_kuint(&w, "left_out", c->pages.left_out);
	th_jw_kstr(&w, "revision", th_str_of(client->revision));
	th_jw_kstr(&w, "software", th_str_of(client->software));
	th_jw_kstr(&w, "instructions", th_buf_str(&client->instructions));
	th_jw_object_end(&w);
	finish(c, TH_OUTCOME_DONE, th_buf_str(&output), NULL, false);
	th_buf_deinit(&output);
}

static void on_answered(struct th_mcp_work *w, struct th_str result)
{
	struct th_mcp_call *c = (struct th_mcp_call *)w;
	struct th_err err = {};

	if (c->work.held) {
		th_buf_add(&c->late, result);
		return;
	}
	if (th_mcp_task_answered(c, result))
		return;
	if (is_list(c)) {
		if (th_mcp_pages_add(&c->pages, result, &err))
			th_mcp_call_fail(c, &err);
		else if (c->pages.cursor.len)
			ask_list(c);
		else
			finish_list(c);
		return;
	}
	th_mcp_call_take(c, result);
}

void th_mcp_call_take(struct th_mcp_call *c, struct th_str result)
{
	struct th_buf output = TH_BUF_INIT(TH_EXEC_OUTPUT_MAX), text;
	struct th_err err = {};
	bool error = false;

	th_buf_init(&text, 2 * TH_MCP_LINE_MAX);
	if (offer_of(c)) {
		(void)!th_mcp_offer_result(offer_of(c), result, &text, &err);
		result = th_buf_str(&text);
	}
	if (err.code || th_mcp_result_put(c->job, result, &output, &error, &err))
		th_mcp_call_fail(c, &err);
	else
		finish(c, error ? TH_OUTCOME_FAILED : TH_OUTCOME_DONE, th_buf_str(&output), NULL,
		       false);
	th_buf_deinit(&output);
	th_buf_deinit(&text);
}

static void on_failed(struct th_mcp_work *w, const struct th_err *err)
{
	struct th_mcp_call *c = (struct th_mcp_call *)w;

	if (c->work.held)
		held_end(c, NULL); /* whoever comes with the answer finds nobody */
	else if (!th_mcp_task_failed(c, err))
		th_mcp_call_fail(c, err);
}

static void on_lost(struct th_mcp_work *w, const struct th_err *err)
{
	struct th_mcp_call *c = (struct th_mcp_call *)w;

	if (c->work.held)
		held_end(c, NULL);
	else if (!th_mcp_task_lost(c))
		th_mcp_call_give_up(c, err->msg, NULL, false);
}

/* ---- questions to the person ---------------------------------------------------------------- */

static size_t held_count(const struct th_mcp_process *p)
{
	size_t count = 0;

	for (const struct th_mcp_work *w = p->works; w; w = w->next)
		count += w->held;
	return count;
}

/* The call waits in this process for its answer, and the effect ends. */
static void hold(struct th_mcp_call *c)
{
	struct th_tool_job *job = c->job;
	struct th_buf evidence = TH_BUF_INIT(3 * TH_MCP_FORM_MAX);

	put_evidence(c, false, &evidence);
	c->job = NULL;
	c->work.held = true;
	c->work.header_count = 0;
	th_buf_deinit(&c->asks);
	th_timer_stop(&c->timer); /* it may stand still for another question */
	th_timer_start(&c->timer, TH_MCP_HELD_MS, 0);
	job->state = NULL;
	job->done(job, TH_OUTCOME_DONE, TH_STR("\"\""), th_buf_str(&evidence));
	th_buf_deinit(&evidence);
}

static void name_hold(struct th_mcp_call *c)
{
	unsigned char bytes[TH_MCP_HOLD_SIZE];

	th_random(bytes, sizeof(bytes));
	c->hold_text[0] = '"';
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(c->hold_text + 1 + 2 * i, 4, "%02x\"", bytes[i]);
	c->hold = th_str_of(c->hold_text);
}

static void on_asked(struct th_mcp_work *w, const struct th_mcp_question *q)
{
	struct th_mcp_call *c = (struct th_mcp_call *)w;
	struct th_mcp_form form = { .params = q->params,
				    .id = q->id,
				    .key = q->key,
				    .state = q->state,
				    .inputs = q->inputs,
				    .samples = q->sample ? TH_STR("true") : TH_STR("") };
	struct th_err err = {};

	if (q->id.len && !c->work.held) {
		name_hold(c);
		form.hold = c->hold;
	}
	th_buf_init(&c->asks, 2 * TH_MCP_FORM_MAX + TH_KIB);
	if (c->work.held || is_list(c) || held_count(c->process) >= TH_MCP_HELD_MAX ||
	    th_mcp_form_put(&form, TH_STR(""), &c->asks, &err)) {
		th_buf_deinit(&c->asks);
		if (q->id.len && q->sample)
			th_mcp_process_refuse(c->process, q->id,
					      TH_STR("nobody can be asked about it"));
		else if (q->id.len) /* it goes on without an answer */
			th_mcp_process_reply(c->process, q->id, TH_STR("{\"action\":\"cancel\"}"));
		else if (err.code)
			th_mcp_call_fail(c, &err);
		else
			th_mcp_call_give_up(c, "the server asks a person where nobody can be asked",
					    NULL, false);
		return;
	}
	if (q->id.len)
		hold(c);
	else
		finish(c, TH_OUTCOME_DONE, TH_STR("\"\""), NULL, false);
}

const struct th_mcp_work_ops th_mcp_call_ops = { .begin = on_begin,
						 .progress = on_progress,
						 .answered = on_answered,
						 .failed = on_failed,
						 .asked = on_asked,
						 .lost = on_lost };
