/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callbacks.h - an agent file's `script` as the agent's code: its functions
 * answer the driver's callbacks (live/callbacks.h) and implement tools.
 *
 * Each call gets a new Lua state, which is freed afterwards: nothing is kept
 * between calls, so a crash loses nothing and sessions are isolated.  The call
 * runs at once, on the loop.  TH_SCRIPT_INSTRUCTIONS_MAX limits it to about 50 ms
 * in the worst case (docs/SCRIPTS.md); a worker thread would cost more than it
 * saves, because scripts are short.
 *
 * A function is a global of the script.  It gets one table, described in
 * live/callbacks.h; a tool's function gets its arguments and a table of
 * session, agent, tool and call_id.
 */
#ifndef TH_SCRIPT_CALLBACKS_H
#define TH_SCRIPT_CALLBACKS_H

#include "driver/driver.h"
#include "live/callbacks.h"

/* Of one agent; the strings are borrowed from it.  Nothing to free. */
struct th_script_code {
	struct th_str name; /* stands in errors */
	struct th_str source;
	struct th_callbacks callbacks;
};

/* False: the agent has no script, and *ret is empty.  ret stays where it is: codes point to it. */
bool th_script_code_init(const struct th_agent *agent, struct th_script_code *ret);

/*
 * Runs the script once, and looks for a function.  TH_EUSAGE, TH_ELIMIT,
 * TH_ETIMEOUT: as th_script_new; TH_ENOENT: it has no such function.
 * `function` empty: only whether it runs.
 */
TH_NODISCARD enum th_code th_script_code_check(const struct th_script_code *c,
					       struct th_str function, struct th_err *err);

/* Gives the rows of script tools (th_tool_row.command with `script`) their function of this
 * process.  TH_EUSAGE: there is one, and no script (`c` NULL). */
TH_NODISCARD enum th_code th_script_code_bind(const struct th_script_code *c,
					      struct th_tool_row *rows, size_t count,
					      struct th_arena *a, struct th_err *err);

#endif
