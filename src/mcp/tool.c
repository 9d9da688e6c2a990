/* SPDX-License-Identifier: Apache-2.0 */
/* tool.c - the tool of servers' tools: its arguments, its server, and the start of a call. */
#include "mcp/tool.h"

#include <stdio.h>
#include <stdlib.h>

#include "mcp/call.h"

TH_TABLE(mcp, "arguments of mcp", false)

static enum th_mcp_era era_of(struct th_str word)
{
	return th_str_is(word, "modern")   ? TH_MCP_ERA_MODERN
	       : th_str_is(word, "legacy") ? TH_MCP_ERA_LEGACY
					   : TH_MCP_ERA_UNKNOWN;
}

static enum th_code find_process(struct th_tool_job *job, struct th_mcp_process **ret,
				 int64_t *ret_start_ms, struct th_err *err)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	struct th_mcp_process_spec spec = {
		.transport = a->url.len ? &th_mcp_http : &th_mcp_stdio,
		.name = a->server,
		.argv = a->argv,
		.environment = a->environment,
		.secrets = a->secrets,
		.url = a->url,
		.headers = a->headers,
		.token_env = a->token_env,
		.era = era_of(a->era),
		.samples = a->samples,
		.start_ms = 1000 * (a->start_s ?: TH_MCP_START_S),
	};

	*ret_start_ms = spec.start_ms;
	if (!a->url.len && !a->argv.count)
		return th_fail(err, TH_EUSAGE, "the server has no command and no address");
	if (!a->url.len && job->env->workspace_fd < 0)
		return th_fail(err, TH_EUNSUPPORTED,
			       "this session has no workspace, so there are no servers");
	if (a->task.len > TH_MCP_TASK_MAX)
		return th_fail(err, TH_ELIMIT, "the name of a task has at most %d bytes",
			       TH_MCP_TASK_MAX);
	if (a->arguments.len > TH_COMMAND_INPUT_MAX)
		return th_fail(err, TH_ELIMIT, "the arguments of a tool have at most %zu bytes",
			       TH_COMMAND_INPUT_MAX);
	return th_mcp_process_get(job->env, &spec, ret, err);
}

static bool take_params(struct th_mcp_call *c)
{
	const struct th_strs *params = &th_mcp_call_args(c)->params;
	struct th_mcp_work *w = &c->work;
	size_t count = TH_MIN(params->count, (size_t)TH_MCP_HEADERS_MAX);

	w->header_names =
	    (const char **)th_arena_array(c->job->arena, count + 1, sizeof(*w->header_names));
	w->header_values =
	    (struct th_str *)th_arena_array(c->job->arena, count + 1, sizeof(*w->header_values));
	for (size_t i = 0; w->header_names && w->header_values && i < count; i++) {
		struct th_str line = params->list[i];

		w->header_names[i] = th_arena_cstr(c->job->arena, th_str_split(&line, ':'));
		w->header_values[i] = th_str_trim(line);
		if (!w->header_names[i])
			return false;
		w->header_count++;
	}
	return w->header_count == count;
}

static void start(struct th_tool_job *job)
{
	const struct th_mcp *a = (const struct th_mcp *)job->args;
	struct th_buf result = TH_BUF_INIT(2 * TH_MCP_ANSWER_MAX);
	struct th_mcp_process *p = NULL;
	struct th_mcp_form form = {};
	struct th_err err = {};
	struct th_mcp_call *c;
	int64_t start_ms;

	if (find_process(job, &p, &start_ms, &err)) {
		th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
		return;
	}
	if (a->form.len && th_mcp_held_resumes(job, p, &form, &result)) {
		th_buf_deinit(&result);
		return;
	}
	c = (struct th_mcp_call *)th_alloc(sizeof(*c));
	c->form = form;
	c->result = result;
	th_buf_init(&c->late, TH_EXEC_OUTPUT_MAX);
	c->work.ops = &th_mcp_call_ops;
	c->work.reads = a->reads;
	c->job = job;
	c->process = p;
	/* A list may have to wait for a delay, and is of many pages. */
	c->timeout_ms = a->tool.len ? th_tool_timeout_ms(job, a->timeout_s)
				    : 2 * start_ms + TH_MCP_BACKOFF_MS_MAX;
	th_mcp_pages_init(&c->pages);
	th_timer_init(&c->timer, job->env->loop, th_mcp_call_on_timeout, c);
	th_timer_init(&c->poll, job->env->loop, th_mcp_task_on_poll, c);
	c->sent = a->task.len > 0;
	snprintf(c->task, sizeof(c->task), "%.*s", TH_FMT(a->task));
	if (!take_params(c)) {
		th_fail(&err, TH_ELIMIT, "the arguments are too large for the head of a request");
		th_mcp_call_give_up(c, err.msg, NULL, false);
		return;
	}
	job->clocks[0] = &c->timer;
	th_timer_start(&c->timer, (uint64_t)c->timeout_ms, 0);
	job->state = c;
	th_mcp_process_add(p, &c->work); /* which may end it */
}

static void cancel(struct th_tool_job *job)
{
	struct th_mcp_call *c = (struct th_mcp_call *)job->state;

	th_mcp_call_give_up(c, "the call was cancelled", "the run was stopped", false);
}

void th_mcp_tool_leave(struct th_tool_job *job)
{
	struct th_mcp_call *c = (struct th_mcp_call *)job->state;

	if (c->task[0])
		th_mcp_call_leave(c);
	else
		cancel(job);
}

const struct th_tool th_tool_mcp = {
	.name = "mcp",
	.description = "A tool of a server that the agent file names.",
	.class = TH_CLASS_R, /* as the driver says; the executor takes the stricter of both */
	.arguments = &th_mcp_table,
	.start = start,
	.cancel = cancel,
};
