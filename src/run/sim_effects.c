/* SPDX-License-Identifier: Apache-2.0 */
/* sim_effects.c - the executor's effects, word for word, over the simulated world. */
#include "run/sim_rename.h"

/* For a broken variant; see sim_executor.c. */
#undef th_ledger_never
#define th_ledger_never th_sim_never

#include "run/executor_effects.c"
