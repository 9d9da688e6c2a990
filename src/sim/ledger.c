/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - the executor's ledger, word for word, over the simulated journal. */
#include "sim/rename.h"

#include "executor/ledger.c"
#include "executor/ledger_entries.c"
#include "executor/ledger_read.c"
