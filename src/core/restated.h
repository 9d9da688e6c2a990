/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restated.h - what a session has beside the history that its model sees, and says
 * again with each condensation: the model's notes, its list of tasks, and what a
 * person decided for good.
 *
 * The notes and the list are what the newest call said that went well; so they
 * are in the log, and the fold has them.  Limits: TH_RESTATED_MAX for each of both.
 */
#ifndef TH_CORE_RESTATED_H
#define TH_CORE_RESTATED_H

#include "base/field.h"

#define TH_RESTATED_NOTES "notes" /* the tool */

#define TH_FIELDS_restated_notes(F) \
	F(restated_notes, str, text, "text", TH_REQ, "The notes; empty: there are none any more.")
TH_STRUCT(restated_notes)
extern const struct th_table th_restated_notes_table;

struct th_restated {
	struct th_buf notes, tasks; /* as they are shown */
};

void th_restated_init(struct th_restated *k);
void th_restated_deinit(struct th_restated *k);
/* Arguments of the tool notes.  TH_ELIMIT: they are longer than TH_RESTATED_MAX bytes. */
TH_NODISCARD enum th_code th_restated_check(struct th_str arguments, struct th_err *err);
/* A call of any tool that went well. */
void th_restated_take(struct th_restated *k, struct th_str tool, struct th_str arguments);
/* Appends what there is, for the model. */
void th_restated_print(const struct th_restated *k, struct th_buf *out);

#endif
