/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unknown.h - calls that may have happened or not.
 */
#ifndef TH_DRIVER_UNKNOWN_H
#define TH_DRIVER_UNKNOWN_H

#include "live/live.h"

void th_live_on_unknown(struct th_live *l, const struct th_call *c,
			const struct th_effect_result *r);
void th_live_on_observed(struct th_live *l, const struct th_call *c,
			 const struct th_effect_result *r);
void th_live_conclude(struct th_live *l, struct th_call *c);
void th_live_unknowns_free(struct th_live *l);

#endif
