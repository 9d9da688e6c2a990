/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the agent's code is told what happened.
 */
#ifndef TH_GUARDS_HOOKS_H
#define TH_GUARDS_HOOKS_H

#include "live/live.h"

void th_live_hooks(struct th_live *l, const struct th_event *ev); /* `ev` is durable */
void th_live_hook_end(struct th_live *l); /* the final output is there; called once */
void th_live_results_free(struct th_live *l);

#endif
