/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tried.h - sessions that were taken from the dead, and are left alone for a while if they are left
 * again: an agent file is missing here, or a log is damaged.  Another runtime may do better
 * meanwhile.
 *
 * So many are remembered as TH_FLEET_TRIED_MAX; of more, those are forgotten that wait no longer,
 * or wait least.
 */
#ifndef TH_API_TRIED_H
#define TH_API_TRIED_H

#include "base/str.h"

struct th_tried_session {
	uint64_t hash; /* of its name; 0: free */
	uint64_t until_ms;
	unsigned tries;
};

/* All 0 at first. */
struct th_tried {
	struct th_tried_session *list; /* NULL: none yet */
};

void th_tried_deinit(struct th_tried *t);
/* Taken now.  It rests for TH_FLEET_RETRY_MS, and each time twice as long. */
void th_tried_note(struct th_tried *t, struct th_str id, uint64_t now_ms);
bool th_tried_rests(const struct th_tried *t, struct th_str id, uint64_t now_ms);

/* For another thread: what stands for those that rest, TH_FLEET_TRIED_MAX at most; how many. */
size_t th_tried_resting(const struct th_tried *t, uint64_t now_ms, uint64_t *ret);
bool th_tried_has(const uint64_t *list, size_t count, struct th_str id);

#endif
