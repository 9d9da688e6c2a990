/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rates.h - how often somebody may do something: a bucket for each name, which
 * fills by so many a second up to a second's worth.
 */
#ifndef TH_SERVER_RATES_H
#define TH_SERVER_RATES_H

#include "base/str.h"

struct th_rate;

struct th_rates { /* {0} */
	struct th_rate **table;
	size_t count;
};

/* Takes one out of the bucket of this name.  0: it was there; else the milliseconds after which one
 * will be.  `per_second` 0 or less: there is no limit. */
uint64_t th_rates_take(struct th_rates *r, struct th_str name, double per_second, uint64_t now_ms);
void th_rates_deinit(struct th_rates *r);

#endif
