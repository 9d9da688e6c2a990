/* SPDX-License-Identifier: Apache-2.0 */
/*
 * current_agent.h - the agent and the model that answer next.
 */
#ifndef TH_TURNS_CURRENT_AGENT_H
#define TH_TURNS_CURRENT_AGENT_H

#include "live/live.h"

/* Switches to the current agent of the fold. */
TH_NODISCARD enum th_code th_live_switch_agent(struct th_live *l, struct th_err *err);
/* What a MCP_TOOLS event says, new or read again: the next requests have these tools. */
TH_NODISCARD enum th_code th_live_tools_listed(struct th_live *l, const struct th_json *data,
					       struct th_err *err);
/* Sets the instructions that the agent's code gave; `fresh`: an event must record them. */
void th_live_instruct(struct th_live *l, struct th_str text, bool fresh);
/* Makes the model at this place of the list the one of the next requests.  Another model gets a
 * new history. */
void th_live_turn_to(struct th_live *l, size_t at);
/* Switches to the model that the fold names and builds its history from the log.  False: the log is
 * not all durable yet; the request is made later. */
bool th_live_choose(struct th_live *l);

#endif
