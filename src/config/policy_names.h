/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_names.h - the tools that an agent's policies name (approve, rules, quarantine, guardrails)
 * are its own: a word about a tool that it does not have would hold nothing back, and not say so.
 *
 * What rules/tool_names.h takes for the same counts as the agent's.  Not looked at: patterns, and
 * hooks, whose files are written for many agents.
 */
#ifndef TH_CONFIG_POLICY_NAMES_H
#define TH_CONFIG_POLICY_NAMES_H

#include "agents/agent.h"

/* What is known of the agent's tools. */
struct th_policy_scope {
	const struct th_strs *tools; /* their names; NULL: those are said later, or ["none"] */
	bool functions_later; /* names that are no tool's of ours may be the program's, but for
				 those of `approve` */
	bool other_computer;  /* its computer may be another than the definition's, or none */
};

/* The tools of an agent that names none: ours, and what its computer brings.  Returns how many. */
size_t th_config_default_tools(const struct th_agent *agent,
			       struct th_str ret[static TH_AGENT_TOOLS_MAX]);

/* TH_EUSAGE: `path` says where ("rules[2].tool"), and err, which goes on with "is", what and which
 * tools there are.  An agent with subagents gives its policies on to helpers that are not known
 * yet: it may name any tool of ours. */
TH_NODISCARD enum th_code th_policy_names_check(const struct th_policy_scope *scope,
						const struct th_agent *agent, struct th_buf *path,
						struct th_err *err);

#endif
