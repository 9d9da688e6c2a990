/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observation.h - the first picture, before the first request.
 */
#ifndef TH_DRIVER_OBSERVATION_H
#define TH_DRIVER_OBSERVATION_H

#include "driver/live.h"

bool th_live_first_observation(struct th_live *l); /* true: the request waits for it */
void th_first_observation_done(struct th_driver *d, struct th_ticket t,
			       const struct th_effect_result *r);

#endif
