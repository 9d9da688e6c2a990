/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guardrail.h - guardrails of the agent's code.
 */
#ifndef TH_DRIVER_GUARDRAIL_H
#define TH_DRIVER_GUARDRAIL_H

#include "driver/live.h"

void th_live_guard(struct th_live *l, const struct th_held *held);

#endif
