/* SPDX-License-Identifier: Apache-2.0 */
/* condenser_noop.c - all of the history stays. */
#include "context/condenser.h"

static void plan(struct th_condense_plan *p)
{
	(void)p;
}

const struct th_condenser th_condenser_noop = {
	.name = "noop",
	.summary = "all of it stays",
	.own = { .keep_first = -1 },
	.plan = plan,
};
