/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - thole sim: the simulator, from the command line. */
#ifndef TH_CLI_SIM_H
#define TH_CLI_SIM_H

#include "cli/option.h"

/* argv[0] "sim".  Exit status 0: all seeds hold, or with --variant the broken one was caught; 1:
 * not. */
int th_cli_sim(int argc, char **argv);

extern const struct th_command th_command_sim;

#endif
