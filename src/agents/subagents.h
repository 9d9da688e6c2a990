/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subagents.h - where the agents that work for another are read from: Markdown files, as
 * OpenHands has them.
 */
#ifndef TH_AGENTS_SUBAGENTS_H
#define TH_AGENTS_SUBAGENTS_H

#include "base/field.h"

struct th_agent_subagents {
	bool repository, user, background;
	struct th_strs folders, without;
	struct th_strs trusted; /* whose files may start programs: th_trusts */
	struct th_strs servers; /* origins at which the servers of these files may be */
};

extern const struct th_table th_agent_subagents_table;

/* Files are of folders that the agent file names, of the account, or of the workspace.  May those
 * of that place have programs of their own: hooks, and servers of tools? */
enum th_place { TH_PLACE_FOLDERS, TH_PLACE_USER, TH_PLACE_REPOSITORY };
bool th_trusts(const struct th_strs *trusted, enum th_place place);
/* TH_EUSAGE: one of them is the name of no such place. */
TH_NODISCARD enum th_code th_trusted_check(const struct th_strs *trusted, struct th_err *err);

#endif
