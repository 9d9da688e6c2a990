/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callbacks.h - an agent file's `script` as the agent's code: its functions
 * answer what the driver asks (code.h) and are the bodies of tools.
 *
 * Each question has a state of its own, made for it and thrown away: nothing is
 * remembered between calls, so a crash loses nothing and no session sees
 * another's.  It is answered at once, on the loop: TH_SCRIPT_INSTRUCTIONS_MAX
 * keeps that to some 50 ms at the very worst (docs/SCRIPTS.md), and a worker
 * would cost every short script, which is all of them, a hand-over and an order
 * of its own.
 *
 * A function is a global of the script.  It is called with what code.h says, as
 * one table; a tool's with its arguments and a table of session, agent, tool and
 * call_id.
 */
#ifndef TH_SCRIPT_CALLBACKS_H
#define TH_SCRIPT_CALLBACKS_H

#include "driver/callbacks.h"
#include "driver/driver.h"

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
