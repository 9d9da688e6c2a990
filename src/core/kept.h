/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h - what a session keeps beside the history that its model sees, and shows
 * again with each condensation: the model's notes, its list of tasks, and what a
 * person decided for good.
 *
 * The notes and the list are what the newest call said that went well; so they
 * are in the log, and the fold has them.  Limits: TH_KEPT_MAX for each of both.
 */
#ifndef TH_CORE_KEPT_H
#define TH_CORE_KEPT_H

#include "base/field.h"

#define TH_KEPT_NOTES "notes" /* the tool */

#define TH_FIELDS_kept_notes(F) \
	F(kept_notes, str, text, "text", TH_REQ, "The notes; empty: there are none any more.")
TH_STRUCT(kept_notes)
extern const struct th_table th_kept_notes_table;

struct th_kept {
	struct th_buf notes, tasks; /* as they are shown */
};

void th_kept_init(struct th_kept *k);
void th_kept_deinit(struct th_kept *k);
/* Arguments of the tool notes.  TH_ELIMIT: they are longer than TH_KEPT_MAX bytes. */
TH_NODISCARD enum th_code th_kept_check(struct th_str arguments, struct th_err *err);
/* A call of any tool that went well. */
void th_kept_take(struct th_kept *k, struct th_str tool, struct th_str arguments);
/* Appends what there is, for the model. */
void th_kept_print(const struct th_kept *k, struct th_buf *out);

#endif
