/* SPDX-License-Identifier: Apache-2.0 */
/*
 * task.c - a call that its server does as a task (wire/mcp_task.h): it is asked how far it is
 * until it is over, also after its server was away, and by a later runtime.
 *
 * To ask about a task only looks, so it is done as often as needed within the call's time.  A call
 * whose task the server no longer knows has an outcome that nobody knows.
 */
#include "mcp/call.h"

#include "base/text.h"
#include "wire/mcp_task.h"

static bool is_modern(const struct th_mcp_call *c)
{
	return th_mcp_process_client(c->process)->era == TH_MCP_ERA_MODERN;
}

static void poll_later(struct th_mcp_call *c, int64_t ms)
{
	th_timer_start(&c->poll, (uint64_t)ms, 0);
}

/* What cannot be asked now is asked later: the call's own time ends that. */
static void ask(struct th_mcp_call *c, enum th_mcp_call_stage stage, const char *method,
		struct th_str more)
{
	struct th_buf params = TH_BUF_INIT(2 * TH_MCP_ANSWER_MAX);

	c->stage = stage;
	th_mcp_task_params(c->task, more, &params);
	if (th_buf_check(&params, "the answer", NULL) ||
	    th_mcp_process_ask(c->process, &c->work, method, th_buf_str(&params), NULL))
		poll_later(c, TH_MCP_POLL_MS);
	th_buf_deinit(&params);
}

void th_mcp_task_on_poll(void *ctx)
{
	struct th_mcp_call *c = (struct th_mcp_call *)ctx;

	if (c->away) {
		c->away = false;
		th_mcp_process_add(c->process, &c->work); /* which may end it */
	} else {
		ask(c, TH_MCP_CALL_LOOKS, "tasks/get", TH_STR(""));
	}
}

bool th_mcp_task_begins(struct th_mcp_call *c)
{
	struct th_buf inputs = TH_BUF_INIT(2 * TH_MCP_ANSWER_MAX);
	struct th_jw w = th_jw(&inputs);

	if (!c->task[0])
		return false;
	if (c->form.key.len) { /* once: what was not heard is asked again */
		th_jw_object(&w);
		th_mcp_form_inputs(&c->form, th_buf_str(&c->result), &w);
		th_jw_object_end(&w);
		c->form = (struct th_mcp_form){};
		ask(c, TH_MCP_CALL_ANSWERS, "tasks/update",
		    th_str_sub(th_buf_str(&inputs), 1, inputs.len - 2));
	} else {
		ask(c, TH_MCP_CALL_LOOKS, "tasks/get", TH_STR(""));
	}
	th_buf_deinit(&inputs);
	return true;
}

static void fail_with(struct th_mcp_call *c, const struct th_mcp_task *t)
{
	struct th_buf text = TH_BUF_INIT(TH_ERR_MSG_MAX), line = TH_BUF_INIT(TH_ERR_MSG_MAX);
	struct th_str raw = th_json_raw_get(t->error, "message");
	struct th_err err = {};

	if (!raw.len)
		raw = t->message;
	if (raw.len && th_json_unescape(raw, &text))
		th_text_line(&line, th_utf8_cut(th_buf_str(&text), 400), 400);
	th_fail(&err, TH_EPROTO, "the server's task failed: %s",
		line.len ? line.ptr : "it does not say why");
	th_mcp_call_fail(c, &err);
	th_buf_deinit(&text);
	th_buf_deinit(&line);
}

static void stands(struct th_mcp_call *c, const struct th_mcp_task *t, bool new)
{
	switch (t->state) {
	case TH_MCP_TASK_WORKING:
		poll_later(c, t->poll_ms);
		return;
	case TH_MCP_TASK_INPUT:
		/* Of 2026-07-28 its questions come with tasks/get, and one for a person was told.
		 */
		if (is_modern(c) && new)
			poll_later(c, 0);
		else if (is_modern(c))
			th_mcp_call_give_up(c, "its task asks for what is not offered to it",
					    "it is not answered", false);
		else
			ask(c, TH_MCP_CALL_FETCHES, "tasks/result", TH_STR(""));
		return;
	case TH_MCP_TASK_CANCELLED:
		th_mcp_call_give_up(c, "the server has cancelled its task", NULL, false);
		return;
	case TH_MCP_TASK_COMPLETED:
	case TH_MCP_TASK_FAILED:
		break;
	}
	if (!is_modern(c))
		ask(c, TH_MCP_CALL_FETCHES, "tasks/result", TH_STR(""));
	else if (t->result.len)
		th_mcp_call_take(c, t->result);
	else
		fail_with(c, t);
}

bool th_mcp_task_answered(struct th_mcp_call *c, struct th_str result)
{
	bool new =
	    c->stage == TH_MCP_CALL_CALLS &&th_mcp_task_is(result) && (is_modern(c) || c->as_task);
	struct th_mcp_task t;
	struct th_err err = {};

	if (c->stage == TH_MCP_CALL_FETCHES || (c->stage == TH_MCP_CALL_CALLS && !new))
		return false;
	if (c->stage == TH_MCP_CALL_ANSWERS) {
		ask(c, TH_MCP_CALL_LOOKS, "tasks/get", TH_STR(""));
		return true;
	}
	if (th_mcp_task_read(result, &t, &err)) {
		th_mcp_call_give_up(c, err.msg, NULL, false);
		return true;
	}
	if (new) {
		memcpy(c->task, t.id, sizeof(c->task));
		if (c->job->task)
			c->job->task(c->job, th_str_of(c->task));
	}
	stands(c, &t, new);
	return true;
}

/* The server knows no such task, or will not say.  What it has done, it does not take back. */
bool th_mcp_task_failed(struct th_mcp_call *c, const struct th_err *err)
{
	struct th_err why = *err;

	if (c->stage == TH_MCP_CALL_ANSWERS) {
		ask(c, TH_MCP_CALL_LOOKS, "tasks/get", TH_STR(""));
		return true;
	}
	if (c->stage != TH_MCP_CALL_LOOKS)
		return false;
	th_prefix(&why, why.code, "the server says nothing of its task");
	th_mcp_call_give_up(c, why.msg, NULL, false);
	return true;
}

bool th_mcp_task_lost(struct th_mcp_call *c)
{
	if (!c->task[0])
		return false;
	c->work.unsent = false; /* the call itself was heard */
	c->away = true;
	poll_later(c, TH_MCP_POLL_MS);
	return true;
}

void th_mcp_task_cancel(struct th_mcp_call *c)
{
	struct th_buf params = TH_BUF_INIT(TH_KIB);

	th_mcp_task_params(c->task, TH_STR(""), &params);
	if (c->task[0])
		th_mcp_process_tell(c->process, "tasks/cancel", th_buf_str(&params));
	th_buf_deinit(&params);
}
