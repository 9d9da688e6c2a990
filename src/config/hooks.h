/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - files of hooks (agents/hook.h) that an agent wants read when a session begins.
 *
 *	WORKSPACE/.openhands/hooks.json    repository: true
 *	~/.openhands/hooks.json            user: true
 *	files: [...]
 *
 * What they name comes behind what the agent file names itself.  The session's log has all of it,
 * so a resumed session has what it began with.
 */
#ifndef TH_CONFIG_HOOKS_H
#define TH_CONFIG_HOOKS_H

#include "agents/agent.h"

/* Replaces agent->hooks by one with the files' hooks.  Files of a repository or a user need not be
 * there.  TH_EUSAGE, TH_EUNSUPPORTED, TH_ELIMIT: the error names the file. */
TH_NODISCARD enum th_code th_hooks_load(struct th_agent *agent, struct th_arena *a,
					struct th_err *err);

#endif
