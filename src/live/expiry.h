/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expiry.h - approvals that expire.
 */
#ifndef TH_LIVE_EXPIRY_H
#define TH_LIVE_EXPIRY_H

#include "live/live.h"

/* Refuses approvals that expired and sets the timer for the next; true: it refused one. */
bool th_live_expire(struct th_live *l);
/* When an approval asked for now expires; 0: never. */
int64_t th_live_expires_ms(const struct th_live *l);

#endif
