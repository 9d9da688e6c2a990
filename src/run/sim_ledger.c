/* SPDX-License-Identifier: Apache-2.0 */
/* sim_ledger.c - the executor's ledger, word for word, over the simulated journal. */
#include "run/sim_rename.h"

#include "run/ledger.c"
