/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.h - one call, from the answer to its outcome.
 */
#ifndef TH_DRIVER_CALLS_H
#define TH_DRIVER_CALLS_H

#include "live/live.h"

/* ---- record.c ---- */

void th_live_record(struct th_live *l, struct th_call *c);
void th_live_refuse(struct th_live *l, struct th_call *c);
/* With the pictures of these parts: JSON. */
void th_live_refuse_with(struct th_live *l, const struct th_call *c, struct th_str picture_parts);
/* Checks that this build reads the same calls from the answer as the log has.  TH_EDIVERGED shows
 * both. */
TH_NODISCARD enum th_code th_live_check_calls(struct th_live *l, struct th_err *err);

/* ---- calls.c ---- */

void th_live_intend(struct th_live *l, struct th_call *c);
void th_live_tool_run(struct th_live *l, struct th_call *c, bool settle);
void th_live_tool_cancel(struct th_live *l, const struct th_call *c);

#endif
