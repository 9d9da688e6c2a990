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
};

extern const struct th_table th_agent_subagents_table;

#endif
