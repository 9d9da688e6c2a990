/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the table of tools. */
#include <assert.h>

#include "agents/agent.h"
#include "core/restated.h"
#include "rules/tool_names.h"
#include "tools/tool.h"

// clang-format off
const struct th_tool *const th_tools[] = {
	&th_tool_bash,
	&th_tool_edit,
	&th_tool_search,
	&th_tool_browser,
	&th_tool_shell,
	&th_tool_read_file,
	&th_tool_write_file,
	&th_tool_list_dir,
	&th_tool_apply_patch,
	&th_tool_task_list,
	&th_tool_think,
	&th_tool_ask,
	&th_tool_python,
	&th_tool_python_install,
	&th_tool_memory,
	&th_tool_fetch,
	&th_tool_request_condensation,
	&th_tool_finish,
	NULL,
};
// clang-format on

static const struct th_tool *const internal[] = { &th_tool_command, &th_tool_commands,
						  &th_tool_pty };

/* Tools that no executor runs: the runtime has their rows (runtime/own_tools.c). */
static const char *const of_runtime[] = { "history", TH_RESTATED_NOTES };

size_t th_tools_default(struct th_str ret[static TH_AGENT_TOOLS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; th_tools[i]; i++)
		if (th_tools[i]->in_default)
			ret[count++] = th_str_of(th_tools[i]->name);
	return count;
}

size_t th_tools_former(struct th_str ret[static TH_AGENT_TOOLS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; th_tools[i]; i++)
		if (th_tools[i]->was_default)
			ret[count++] = th_str_of(th_tools[i]->name);
	return count;
}

size_t th_tool_names(const char *ret[static TH_AGENT_TOOLS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; th_tools[i]; i++)
		ret[count++] = th_tools[i]->name;
	for (size_t i = 0; th_tool_aliases[i].name; i++)
		ret[count++] = th_tool_aliases[i].name;
	for (size_t i = 0; i < TH_COUNT(of_runtime); i++)
		ret[count++] = of_runtime[i];
	assert(count <= TH_AGENT_TOOLS_MAX);
	return count;
}

const struct th_tool *th_tool_find(struct th_str name)
{
	struct th_str ours = th_tool_own_name(name);

	for (size_t i = 0; th_tools[i]; i++)
		if (th_str_is(ours, th_tools[i]->name))
			return th_tools[i];
	for (size_t i = 0; i < TH_COUNT(internal); i++)
		if (th_str_is(name, internal[i]->name))
			return internal[i];
	return NULL;
}

const char *th_tool_name(struct th_str name)
{
	const char *names[TH_AGENT_TOOLS_MAX];
	size_t count = th_tool_names(names);

	for (size_t i = 0; i < count; i++)
		if (th_str_is(name, names[i]))
			return names[i];
	return NULL;
}

bool th_tool_is_internal(const struct th_tool *tool)
{
	for (size_t i = 0; i < TH_COUNT(internal); i++)
		if (internal[i] == tool)
			return true;
	return false;
}
