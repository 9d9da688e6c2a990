/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - from the names in an agent's definition to the tools they mean.
 */
#ifndef TH_RUN_REGISTRY_H
#define TH_RUN_REGISTRY_H

#include "base/arena.h"
#include "run/driver.h"

/*
 * The rows of an agent's tools, in the agent's order: `extra` (functions of
 * this process) are found before the built-in ones.  Without a list, an agent
 * has shell, read_file, write_file and list_dir, and all of `extra`.  TH_EUSAGE
 * names an unknown tool and the known ones.
 */
TH_NODISCARD enum th_code th_registry_rows(const struct th_agent *agent,
					   const struct th_tool_row *extra, size_t extra_count,
					   struct th_arena *a, const struct th_tool_row **ret,
					   size_t *ret_count, struct th_err *err);

#endif
