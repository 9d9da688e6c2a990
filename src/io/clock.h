/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.h - time and chance.
 *
 * The wall clock is for people and for the log; no lease, timer or budget may
 * be decided by it.  Thread-safe.
 */
#ifndef TH_IO_CLOCK_H
#define TH_IO_CLOCK_H

#include "base/codec.h"

uint64_t th_clock_wall_ms(void); /* since 1970, UTC */
uint64_t th_clock_ns(void);      /* monotonic, counts while suspended (CLOCK_BOOTTIME) */
uint64_t th_clock_ms(void);      /* the same in milliseconds */

/* From the kernel; a failure ends the process: there is no weaker source. */
void th_random(void *ptr, size_t len);

struct th_uuid th_uuid_now(void); /* version 7 */

#endif
