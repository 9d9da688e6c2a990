/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the table of tools. */
#include "core/agent.h"
#include "tools/tool.h"

const struct th_tool *const th_tools[] = {
	&th_tool_shell,    &th_tool_read_file,   &th_tool_write_file,
	&th_tool_list_dir, &th_tool_apply_patch, &th_tool_edit,
	&th_tool_search,   &th_tool_bash,        NULL,
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
