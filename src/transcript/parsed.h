/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parsed.h - an event whose data was parsed once, for all who read it.
 *
 * An event goes to the session's fold and to the provider's history.  Both take
 * it in this form, so that its JSON is parsed once, and the items of an answer
 * are planned once (plan.h).  A live run and a replay make it by the same
 * function.
 *
 * th_session_step_parsed takes over the memory of the plan: what `next` points
 * at then lives until the session's next step.
 */
#ifndef TH_TRANSCRIPT_PARSED_H
#define TH_TRANSCRIPT_PARSED_H

#include "transcript/plan.h"

struct th_parsed {
	const struct th_event *ev;  /* borrowed */
	const struct th_json *data; /* ev->data */
	/* Of MODEL_ANSWERED only. */
	struct th_str items, raw; /* verbatim, in ev->data; absent: no such member */
	struct th_next next;
	struct th_buf text; /* the final text */
	struct th_arena memory;
	struct th_json_doc *doc;
	struct th_json_room room; /* nothing of it needs to be set */
};

/* TH_EPROTO, TH_ELIMIT, TH_ENOMEM.  After an error there is nothing to be freed. */
TH_NODISCARD enum th_code th_parsed_init(struct th_parsed *p, const struct th_event *ev,
					 struct th_err *err);
void th_parsed_deinit(struct th_parsed *p);

/*
 * An answer whose calls cannot be told apart by their ids is not taken
 * (TH_EPROTO): the model is asked again.  Checked before an answer is written,
 * not when a log is read: earlier builds took such answers, and their sessions
 * go on.
 */
TH_NODISCARD enum th_code th_parsed_check_ids(const struct th_parsed *p, struct th_err *err);

#endif
