/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guardrail.h - guardrails are asked: the agent's code, or programs (program.h).
 */
#ifndef TH_DRIVER_GUARDRAIL_H
#define TH_DRIVER_GUARDRAIL_H

#include "driver/live.h"

void th_live_guard(struct th_live *l, const struct th_held *held);

#endif
