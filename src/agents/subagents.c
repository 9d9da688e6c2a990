/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/subagents.h"

#include "base/limits.h"

static const char *const places[] = { "folders", "user", "repository", NULL };

#define AT(member) offsetof(struct th_agent_subagents, member)

static const struct th_field subagents_fields[] = {
	{ "repository", AT(repository), TH_FIELD_bool, 0,
	  "read those of the workspace: .agents/agents, .openhands/agents", NULL, NULL, false, 0 },
	{ "user", AT(user), TH_FIELD_bool, 0, "read those of the account, in the same folders of ~",
	  NULL, NULL, false, 0 },
	{ "folders", AT(folders), TH_FIELD_strs, 0, "more folders of such files; these come first",
	  NULL, NULL, false, 0 },
	{ "background", AT(background), TH_FIELD_bool, 0,
	  "tasks of theirs may work in the background, as of a tool with background", NULL, NULL,
	  false, 0 },
	{ "trusted", AT(trusted), TH_FIELD_strs, 0,
	  "whose files may have hooks and MCP servers: folders, user, repository; default: none",
	  NULL, NULL, false, 0 },
	{ "servers", AT(servers), TH_FIELD_strs, 0,
	  "where MCP servers of these files may be that are addresses: https://HOST, with :PORT or "
	  "without; default: nowhere",
	  NULL, NULL, false, 0 },
	{ "without", AT(without), TH_FIELD_strs, 0, "names of agents that are left out", NULL, NULL,
	  false, 0 },
};
#undef AT
const struct th_table th_agent_subagents_table = { "agent_subagents",
						   "Agents in files, to which tasks are given.",
						   subagents_fields,
						   TH_COUNT(subagents_fields),
						   sizeof(struct th_agent_subagents),
						   false };

bool th_trusts(const struct th_strs *trusted, enum th_place place)
{
	for (size_t i = 0; i < trusted->count; i++)
		if (th_names_find(places, trusted->list[i]) == (int)place)
			return true;
	return false;
}

enum th_code th_trusted_check(const struct th_strs *trusted, struct th_err *err)
{
	for (size_t i = 0; i < trusted->count; i++)
		if (th_names_find(places, trusted->list[i]) < 0)
			return th_fail(err, TH_EUSAGE,
				       "trusted[%zu] must be folders, user or repository", i);
	return TH_OK;
}
