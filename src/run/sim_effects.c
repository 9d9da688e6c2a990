/* SPDX-License-Identifier: Apache-2.0 */
/* sim_effects.c - the executor's effects, word for word, over the simulated world. */
#include "run/sim_rename.h"

#include "run/executor_effects.c"
