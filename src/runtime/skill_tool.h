/* SPDX-License-Identifier: Apache-2.0 */
/* skill_tool.h - the tool by which a model reads a skill that its instructions list. */
#ifndef TH_RUNTIME_SKILL_TOOL_H
#define TH_RUNTIME_SKILL_TOOL_H

#include "driver/driver.h"

/* Adds its row where a skill is listed, and no tool has its name.  It is answered in this process,
 * from the agent's definition; it reads no file. */
TH_NODISCARD enum th_code th_skill_add_row(const struct th_agent *agent, struct th_arena *a,
					   struct th_tool_row **rows, size_t *count,
					   struct th_err *err);

#endif
