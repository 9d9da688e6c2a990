/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet.h - nodes on one database, drawn from a seed: leases by the database's
 * clock, epochs, hand-overs, and everything that goes wrong between them.
 *
 * A model of what postgres/ and the runtime agree on, on virtual time: a
 * database that commits or does not say whether it did, nodes whose clocks run
 * apart and are minutes off, that freeze, die, drain and lose their network.
 * An effect is a line in a ledger outside.  Checked at each step: a session's
 * log is one chain; no effect begins under a lease that another one has taken
 * over; none is done twice; no session that runs is without an owner for long
 * while a node is well.
 */
#ifndef TH_SIM_FLEET_H
#define TH_SIM_FLEET_H

#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

enum th_sim_fleet_variant {
	TH_SIM_FLEET_NONE,
	TH_SIM_FLEET_NO_EPOCH,        /* an append does not look at owner and head */
	TH_SIM_FLEET_LOCAL_CLOCK,     /* who is dead is told by a node's own clock */
	TH_SIM_FLEET_RENEWAL_IGNORED, /* effects begin though the lease is not certain */
	TH_SIM_FLEET_NOTIFY_TRUSTED,  /* what is left is looked for when somebody says so */
	TH_SIM_FLEET_VARIANT_COUNT
};
const char *th_sim_fleet_variant_name(enum th_sim_fleet_variant v);
int th_sim_fleet_variant_find(struct th_str name); /* -1: there is none */

struct th_sim_fleet_counts {
	uint64_t seeds, failed, effects, takeovers, handovers, unknown_commits, unknown_effects;
};

/* False: something did not hold, said in `failure`.  `trace` NULL: no story is told. */
bool th_sim_fleet_run(uint64_t seed, enum th_sim_fleet_variant v, FILE *trace,
		      struct th_sim_fleet_counts *counts, char failure[static TH_ERR_MSG_MAX]);

#endif
