/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - from the items of a finished answer to the next step.
 */
#ifndef TH_TRANSCRIPT_PLAN_H
#define TH_TRANSCRIPT_PLAN_H

#include "transcript/call.h"

enum th_next_kind { TH_NEXT_AGAIN, TH_NEXT_CALLS, TH_NEXT_FINAL };

struct th_next {
	enum th_next_kind kind;
	struct th_call *calls; /* CALLS: in the order of the answer, in the arena */
	size_t call_count;
	size_t item_count;
	/* Calls that stand there already (id, tool, arguments): not among `calls`.  Ascending
	 * indices of items. */
	size_t *duplicates, duplicate_count;
	const char *bad_ids; /* why calls cannot be told apart, static text; NULL: they can */
	size_t unread_count; /* calls with an "error": they could not be read */
	bool refusal;        /* FINAL: the text is a refusal */
	bool gave_up;        /* the model says that it failed (a message's "outcome") */
	bool unread;         /* no item at all, or calls that could not be read only */
};

/*
 * `items` is the JSON list of an answer's output items (unified form), and `raw`
 * the same text, of which each call gets its own item verbatim.  A
 * message beside a call is never final; of several with ids the last one is.
 * An answer of reasoning alone is final and says nothing; one of the provider's
 * own tools without a text runs again.
 * The same call twice (id, tool, arguments) is one.  Appends the final text to
 * `text`.  TH_EPROTO: not a list of objects; TH_ELIMIT: too many calls.
 */
TH_NODISCARD enum th_code th_plan_items(const struct th_json *items, struct th_str raw,
					struct th_arena *a, struct th_buf *text,
					struct th_next *ret, struct th_err *err);
/* The same of a list that is not parsed yet. */
TH_NODISCARD enum th_code th_plan_answer(struct th_str items, struct th_arena *a,
					 struct th_buf *text, struct th_next *ret,
					 struct th_err *err);

#endif
