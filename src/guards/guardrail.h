/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guardrail.h - guardrails are asked: the agent's code, or programs (program.h).
 */
#ifndef TH_GUARDS_GUARDRAIL_H
#define TH_GUARDS_GUARDRAIL_H

#include "live/live.h"

void th_live_guard(struct th_live *l, const struct th_held *held);

#endif
