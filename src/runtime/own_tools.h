/* SPDX-License-Identifier: Apache-2.0 */
/* own_tools.h - tools of the runtime itself, for agents that name them: history and notes. */
#ifndef TH_RUNTIME_OWN_TOOLS_H
#define TH_RUNTIME_OWN_TOOLS_H

#include "runtime/runtime.h"

/* Schemas are the arena's, which lives as long as the runtime. */
TH_NODISCARD enum th_code th_own_tools_add(struct th_runtime *rt, struct th_arena *memory,
					   struct th_err *err);

#endif
