/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subagents.h - agents in Markdown files, read when a session begins.
 *
 *	FOLDER/NAME.md    front matter (YAML): name, description, tools, model,
 *	                  max_iteration_per_run, max_budget_per_run, permission_mode, condenser,
 *	                  and of a trusted place mcp_servers and hooks; the text is its
 *	                  instructions
 *
 * Each becomes an agent of the team, which the tool `task` gives tasks to.  A file cannot ask a
 * person less than the agent that gives the task does.
 */
#ifndef TH_CONFIG_SUBAGENTS_H
#define TH_CONFIG_SUBAGENTS_H

#include "agents/agent.h"

/*
 * Adds to agent->agents, ->commands and ->tools; nothing where it wants none, or there are none.
 * TH_EUSAGE: a file that is no such agent, or a folder that is not there; TH_ELIMIT: too many or
 * too large.
 */
TH_NODISCARD enum th_code th_subagents_load(struct th_agent *agent, struct th_arena *a,
					    struct th_err *err);

#endif
