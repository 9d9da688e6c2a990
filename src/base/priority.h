/* SPDX-License-Identifier: Apache-2.0 */
/* priority.h - how much a session matters beside others that wait for the same room. */
#ifndef TH_BASE_PRIORITY_H
#define TH_BASE_PRIORITY_H

#include "base/str.h"

enum th_priority { TH_PRIORITY_LOW, TH_PRIORITY_NORMAL, TH_PRIORITY_HIGH };

#define TH_PRIORITY_NAMES "low, normal or high"

const char *th_priority_name(enum th_priority p);
/* False: it is no such name, and *ret stays. */
bool th_priority_parse(struct th_str name, enum th_priority *ret);

/* What it is worth after so long a wait: each TH_PRIORITY_AGE_MS raise it by one, to high at most,
 * so that who matters little waits long, and not for ever. */
enum th_priority th_priority_after(enum th_priority p, int64_t waited_ms);

#endif
