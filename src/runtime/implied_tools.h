/* SPDX-License-Identifier: Apache-2.0 */
/*
 * implied_tools.h - tools that an agent has because of something else in its file: `skill`, by
 * which a model reads a skill that its instructions list, and `background`, where tasks may work
 * there.
 */
#ifndef TH_RUNTIME_IMPLIED_TOOLS_H
#define TH_RUNTIME_IMPLIED_TOOLS_H

#include "driver/driver.h"

/* Adds their rows, where no tool has their names.  They are answered in this process; `skill` from
 * the agent's definition, it reads no file. */
TH_NODISCARD enum th_code th_implied_add_rows(const struct th_agent *agent, struct th_arena *a,
					      struct th_tool_row **rows, size_t *count,
					      struct th_err *err);

#endif
