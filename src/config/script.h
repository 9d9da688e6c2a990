/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script.h - an agent file's script, looked at before anything starts.
 */
#ifndef TH_CONFIG_SCRIPT_H
#define TH_CONFIG_SCRIPT_H

#include "agents/team.h"

/*
 * The script runs, and every function that the agents of the file name is
 * there.  Without a script only tools can be wrong: other code may be a
 * program's that embeds us.  TH_EUSAGE with a sentence.
 */
TH_NODISCARD enum th_code th_config_check_script(const struct th_agent *agent,
						 const struct th_json *definition,
						 const struct th_team *team, struct th_err *err);

/* The same of a file that was read, for who gives no code of his own: one without a script names
 * no function.  TH_EUSAGE says which, of which agent of `file`. */
TH_NODISCARD enum th_code th_config_check_alone(const struct th_agent *agent, struct th_str file,
						struct th_err *err);

#endif
