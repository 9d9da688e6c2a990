/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.h - the tools of an agent file as people write them, and as a
 * definition has them.
 *
 *	tools: [shell, {name: weather, command: [./weather]}]
 *
 * becomes  tools: [shell, weather]  and  commands: [{name: weather, …}];  the
 * same in each of `agents`.
 */
#ifndef TH_CONFIG_TOOLS_H
#define TH_CONFIG_TOOLS_H

#include "base/json.h"
#include "base/limits.h"

/* Where in `tools` each of `commands` stood, for errors. */
struct th_tools_places {
	size_t at[TH_AGENT_TOOLS_MAX];
	size_t count;
};

/* *doc is replaced where there is something to move; a program with a slash in its name is taken
 * from `folder` (the file's).  TH_EUSAGE: a mapping without a name, or `commands` beside it. */
TH_NODISCARD enum th_code th_tools_lift(struct th_json_doc **doc, struct th_str folder,
					struct th_tools_places *places, struct th_err *err);
/* "commands[0].name: …" as "tools[1].name: …". */
void th_tools_place_err(const struct th_tools_places *places, struct th_err *err);

#endif
