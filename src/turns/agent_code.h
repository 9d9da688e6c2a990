/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_code.h - instructions and the use of results, by the agent's code.
 */
#ifndef TH_TURNS_AGENT_CODE_H
#define TH_TURNS_AGENT_CODE_H

#include "live/live.h"

bool th_live_instructions(struct th_live *l); /* true: the request waits for them */
void th_live_tool_use(struct th_live *l);

#endif
