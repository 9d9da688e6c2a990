/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/subagents.h"

#include "base/limits.h"

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
