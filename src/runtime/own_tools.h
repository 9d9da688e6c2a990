/* SPDX-License-Identifier: Apache-2.0 */
/* own_tools.h - tools of the runtime itself, for agents that name them: history and notes. */
#ifndef TH_RUNTIME_OWN_TOOLS_H
#define TH_RUNTIME_OWN_TOOLS_H

#include "runtime/runtime.h"

#define TH_OWN_TOOLS 2

/* Their rows; schemas are the arena's, which lives as long as the runtime. */
void th_own_tools(struct th_runtime *rt, struct th_arena *memory,
		  struct th_tool_row ret[static TH_OWN_TOOLS]);

#endif
