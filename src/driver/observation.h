/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observation.h - what the runtime looks at by itself: the first picture, and what an
 * unknown effect left.
 */
#ifndef TH_DRIVER_OBSERVATION_H
#define TH_DRIVER_OBSERVATION_H

#include "live/live.h"

/* The members of a computer call that say how pictures are taken. */
void th_live_put_fit(const struct th_live *l, struct th_jw *w);
/* A class R call that the runtime makes itself. */
void th_live_observe(struct th_live *l, const struct th_observation *look, struct th_ticket t);
bool th_live_first_observation(struct th_live *l); /* true: the request waits for it */
void th_first_observation_done(struct th_driver *d, struct th_ticket t,
			       const struct th_effect_result *r);

#endif
