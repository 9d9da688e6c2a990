/* SPDX-License-Identifier: Apache-2.0 */
/* effects.c - the executor's effects, word for word, over the simulated world. */
#include "sim/rename.h"

/* For a broken variant; see executor.c. */
#undef th_ledger_never
#define th_ledger_never th_sim_never

#include "executor/effect.c"
#include "executor/effects.c"
#include "executor/finish.c"
#include "executor/pictures.c"
#include "executor/run.c"
#include "executor/tell.c"
#include "executor/work.c"
