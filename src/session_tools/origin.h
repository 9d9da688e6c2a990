/* SPDX-License-Identifier: Apache-2.0 */
/*
 * origin.h - labels of outcomes, and whether untrusted bytes have come in
 * (agents/origin.h).
 */
#ifndef TH_SESSION_TOOLS_ORIGIN_H
#define TH_SESSION_TOOLS_ORIGIN_H

#include "live/live.h"

struct th_origin_list {
	struct th_str names[TH_ORIGIN_COUNT];
};

/* Where the bytes of its result come from.  `evidence`: raw; `more`: bits of who made the result.
 * In `room`. */
struct th_strs th_live_origins(const struct th_live *l, const struct th_call *c,
			       struct th_str evidence, unsigned more, struct th_origin_list *room);

/* In this session, or in one that it works for. */
bool th_live_tainted(const struct th_live *l, struct th_tainted *ret);

#endif
