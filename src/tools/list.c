/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the tools there are, and what they share. */
#include "core/agent.h"
#include "tools/tool.h"

#include "base/limits.h"

const struct th_tool *const th_tools[] = {
	&th_tool_shell,    &th_tool_read_file,   &th_tool_write_file,
	&th_tool_list_dir, &th_tool_apply_patch, NULL,
};

static const struct th_tool *const internal[] = { &th_tool_command, &th_tool_commands };

size_t th_tools_default(struct th_str ret[static TH_AGENT_TOOLS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; th_tools[i]; i++)
		if (th_tools[i]->in_default)
			ret[count++] = th_str_of(th_tools[i]->name);
	return count;
}

const struct th_tool *th_tool_find(struct th_str name)
{
	for (size_t i = 0; th_tools[i]; i++)
		if (th_str_is(name, th_tools[i]->name))
			return th_tools[i];
	for (size_t i = 0; i < TH_COUNT(internal); i++)
		if (th_str_is(name, internal[i]->name))
			return internal[i];
	return NULL;
}

bool th_tool_is_internal(const struct th_tool *tool)
{
	for (size_t i = 0; i < TH_COUNT(internal); i++)
		if (internal[i] == tool)
			return true;
	return false;
}

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

void th_tool_fail(struct th_tool_job *job, enum th_outcome_status status, const struct th_err *e)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_ERR_MSG_MAX);

	th_buf_printf(&text, "error: %s", e->msg);
	th_tool_text(job, status, th_buf_str(&text), TH_STR(""));
	th_buf_deinit(&text);
}
