/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skills.h - the skills of a workspace and of an account, read when a session begins.
 *
 *	FOLDER/NAME/SKILL.md, FOLDER/NAME.md    front matter (YAML) and a text; FOLDER/SUB/NAME.md
 *	AGENTS.md, CLAUDE.md, GEMINI.md, .cursorrules, .openhands_instructions    always said
 *	DIR/AGENTS.md                           said when a call touches what is in DIR
 *
 * What comes first has the name.  A link that leads out of its folder is not followed; a file
 * that cannot be read as a skill is left out.
 */
#ifndef TH_CONFIG_SKILLS_H
#define TH_CONFIG_SKILLS_H

#include "agents/agent.h"
#include "agents/skill.h"

/* Fills agent->skills->list and adds to its instructions; nothing where it wants none.
 * TH_ELIMIT: more than TH_SKILLS_MAX, or too large; TH_EUSAGE: a folder that it names is not there.
 */
TH_NODISCARD enum th_code th_skills_load(struct th_agent *agent, struct th_arena *a,
					 struct th_err *err);

/* One file's text as a skill.  `legacy`: without triggers it is always said, else listed. */
TH_NODISCARD enum th_code th_skill_parse(struct th_str text, struct th_str name,
					 struct th_str source, bool legacy, struct th_arena *a,
					 struct th_skill *ret, struct th_err *err);

#endif
