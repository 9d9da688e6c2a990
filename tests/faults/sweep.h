/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h - the nth call of one kind fails, for each n: a look afterwards, the rest of the task
 * without faults, and a look again.  Fails the test that calls it. */
#ifndef TH_TESTS_SWEEP_H
#define TH_TESTS_SWEEP_H

#include "rig.h"
#include "shim.h"

/* From a copy of the folder `begun` with its truth, or from nothing (NULL).  About `quick` points,
 * or all of them with TH_TORTURE. */
void sweep(const char *name, enum shim_kind kind, const char *begun, const struct rig_truth *truth,
	   long quick);

/* The folder of a process that died in the middle: a log to be folded, effects to be settled. */
const char *sweep_begun(const struct rig_truth **ret);
void sweep_end(const char *begun); /* removes it; NULL: only what sweep left */

#endif
