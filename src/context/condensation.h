/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condensation.h - a condensation as others write it down (OpenHands'
 * CondensationAction): which events are forgotten, by their numbers or as a
 * range, and the summary that stands for them at a place of the view.
 */
#ifndef TH_CONTEXT_CONDENSATION_H
#define TH_CONTEXT_CONDENSATION_H

#include "base/field.h"

#define TH_FIELDS_condensation(F)                                                          \
	F(condensation, raw, ids, "forgotten_event_ids", 0, "numbers of the events")       \
	F(condensation, raw, from, "forgotten_events_start_id", 0, "the first of a range") \
	F(condensation, raw, to, "forgotten_events_end_id", 0, "the last of it")           \
	F(condensation, raw, summary, "summary", 0, "text that stands for them")           \
	F(condensation, raw, offset, "summary_offset", 0, "how many items of the view precede it")
TH_STRUCT(condensation)
extern const struct th_table th_condensation_table;

/* TH_EPROTO: it names both or neither of numbers and a range, or a summary without its place. */
TH_NODISCARD enum th_code th_condensation_check(const struct th_condensation *c,
						struct th_err *err);

#endif
