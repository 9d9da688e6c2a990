/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - how a tool ends its job, and how long the job may take. */
#include "agents/agent.h"
#include "base/limits.h"
#include "io/loop.h"
#include "tools/tool.h"

void th_tool_text(struct th_tool_job *job, enum th_outcome_status status, struct th_str text,
		  struct th_str evidence)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf out = TH_BUF_INIT(6 * TH_TOOL_OUTPUT_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_str(&w, text);
	struct th_str json =
	    th_buf_check(&out, "the output", NULL) ? TH_STR("\"\"") : th_buf_str(&out);
	job->done(job, status, json, evidence);
}

int64_t th_tool_timeout_ms(const struct th_tool_job *job, int64_t asked_s)
{
	int64_t max = job->env->command_ms_max, ms = job->timeout_ms;

	if (max <= 0)
		max = TH_COMMAND_SECONDS_DEFAULT * INT64_C(1000);
	if (ms <= 0 || ms > max)
		ms = max;
	return asked_s > 0 && asked_s < ms / 1000 ? asked_s * 1000 : ms;
}

void th_tool_clocks_hold(struct th_tool_job *job)
{
	for (size_t i = 0; i < TH_COUNT(job->clocks); i++)
		if (job->clocks[i])
			th_timer_hold(job->clocks[i]);
}

void th_tool_clocks_go_on(struct th_tool_job *job)
{
	for (size_t i = 0; i < TH_COUNT(job->clocks); i++)
		if (job->clocks[i])
			th_timer_go_on(job->clocks[i]);
}

void th_tool_fail(struct th_tool_job *job, enum th_outcome_status status, const struct th_err *e)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);

	th_buf_printf(&text, TH_ERROR_MARK "%s", e->msg);
	th_tool_text(job, status, th_buf_str(&text), TH_STR(""));
	th_buf_deinit(&text);
}
