/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decision.h - calls that wait for a decision.
 */
#ifndef TH_DRIVER_DECISION_H
#define TH_DRIVER_DECISION_H

#include "live/live.h"

void th_live_decision(struct th_live *l, struct th_call *c); /* before a person is asked */
/* A person may meanwhile have decided about its tool for good. */
void th_live_ask_person(struct th_live *l, struct th_call *c);

#endif
