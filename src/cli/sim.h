/* SPDX-License-Identifier: Apache-2.0 */
/* sim.h - thole sim: the simulator, from the command line. */
#ifndef TH_CLI_SIM_H
#define TH_CLI_SIM_H

#include "console/option.h"

extern const struct th_command th_command_sim;

#endif
