/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - from the names in an agent's definition to the tools they mean.
 */
#ifndef TH_RUNTIME_REGISTRY_H
#define TH_RUNTIME_REGISTRY_H

#include "base/arena.h"
#include "driver/driver.h"

/* The schemas of built-in tools, printed once for all sessions.  Zero is empty; the memory is the
 * owner's to free. */
struct th_schemas {
	struct th_arena memory;
	struct th_str list[TH_AGENT_TOOLS_MAX]; /* in the order of th_tools */
};

/*
 * The rows of an agent's tools, in the agent's order: its own commands are found
 * first, then `extra` (functions of this process), then the built-in ones.  Without a list, an
 * agent has bash, edit and search, and all of `extra`; and, hidden from models, what it had before.
 * TH_EUSAGE names an unknown tool and the known ones.  With `schemas` the rows borrow from it, else
 * from `a`.
 */
TH_NODISCARD enum th_code th_registry_rows(const struct th_agent *agent,
					   const struct th_tool_row *extra, size_t extra_count,
					   struct th_schemas *schemas, struct th_arena *a,
					   struct th_tool_row **ret, size_t *ret_count,
					   struct th_err *err);

#endif
