/* SPDX-License-Identifier: Apache-2.0 */
/* effects.c - the executor's effects, word for word, over the simulated world. */
#include "sim/rename.h"

/* For a broken variant; see executor.c. */
#undef th_ledger_never
#define th_ledger_never th_sim_never

#include "executor/effects.c"
