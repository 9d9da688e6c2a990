/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser_pipeline.c - several condensers, in order: those that mask go on to
 * the next, and the first that leaves something out is the last (condenser.c).
 */
#include "context/condenser.h"

static void plan(struct th_condense_plan *p)
{
	(void)p; /* the condensers that it names have plans */
}

const struct th_condenser th_condenser_pipeline = {
	.name = "pipeline",
	.summary = "several, in order: the first that leaves something out is the last",
	.own = { .keep_first = -1 },
	.plan = plan,
};
