/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_check.h - what the table of an agent file cannot say: names that must be known, numbers
 * that must fit each other, what goes with what.  Nothing is changed and nothing is read but the
 * machine's list of tools.
 */
#ifndef TH_CONFIG_AGENT_CHECK_H
#define TH_CONFIG_AGENT_CHECK_H

#include "agents/agent.h"
#include "config/tools.h"

struct th_agent_checker {
	struct th_str yaml, name; /* of the file: its text, and what it is called in messages */
	const struct th_tools_places *places;
	struct th_err *err;   /* says where in the file, and what */
	struct th_str member; /* an agent of the file that is not the first, by its name there */
};

TH_NODISCARD enum th_code th_agent_check(const struct th_agent_checker *c,
					 const struct th_agent *agent);
/* The other agents of the file, and all that they say of each other; `root`: of the file, of which
 * `agent` is the first. */
TH_NODISCARD enum th_code th_agent_check_team(const struct th_agent_checker *c,
					      const struct th_agent *agent,
					      const struct th_json *root, struct th_arena *a);
/* TH_EUSAGE: NAME:LINE: PATH and these words. */
TH_PRINTF(3, 4)
enum th_code th_agent_check_fail(const struct th_agent_checker *c, struct th_str path,
				 const char *fmt, ...);

#endif
