/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dialect.h - how a model writes computer actions when its wire has no item for
 * them: in its text, or as calls of a function that it was trained on.
 *
 * A dialect stands between the unified items and a wire: what the model said is
 * rewritten to computer_call items in pixels of the screen, and such items are
 * written in the model's own words and space when they go back without a raw
 * form.  Parsers are total: bounded, they never lose an argument, and what they
 * cannot read becomes one item that tells the model so.
 *
 * What comes out of decode, besides what is copied:
 *
 *   {"type":"computer_call","call_id","actions":[ours],…}
 *       one call; actions that a model wrote one after the other are in one, in order.
 *       With "name" and "arguments" (verbatim) when it came as a function_call of the wire:
 *       its result must go back as that function's.  Without, it was text.
 *   {"type":"computer_call","call_id","actions":[],"error":"…","input":"…"}
 *       what could not be read, and why.  th_model_actions refuses it with that sentence, so
 *       its result is the sentence and the model is asked again.  A run that gets
 *       TH_REASKS_MAX answers with an error in a row ends as failed.
 *   {"type":"message",…,"outcome":"completed" | "failed" | "needs_user"}
 *       the model's word that it is done, that it gave up, or that it needs a person
 *       (terminate, finished, answer, DONE, FAIL, call_user).  Has a "call_id" when it came
 *       as a function_call of the wire, which then has no result.
 *   function_call browser {"action":"goto","url"} | {"action":"search","query"} |
 *       {"action":"back"} | {"action":"forward"} | {"action":"reload"}, each with "screenshot":true
 *   function_call remember {"fact"}
 *       for the tools of these names; without them the model is told that there are none.
 */
#ifndef TH_DIALECTS_DIALECT_H
#define TH_DIALECTS_DIALECT_H

#include "actions/action.h"
#include "models/model.h"

struct th_dialect_context {
	const struct th_profile *profile;
	struct th_size screen;
	struct th_size image; /* of the picture that the model saw last, as it was sent */
	int64_t turn;         /* for ids that the model does not give: call_<turn>_<n> */
	const struct th_tool_spec *tools; /* those of the request */
	size_t tool_count;
};

struct th_dialect {
	const char *name; /* "native", "uitars", "qwen" … */
	const char *note; /* one line */

	/* What follows the agent's instructions in the system prompt.  NULL: nothing. */
	void (*prompt)(const struct th_dialect_context *c, struct th_buf *out);
	/* The function tools that it needs, as elements of a list of {name, description,
	 * parameters}; `w` stands inside the list.  NULL: none. */
	void (*tools)(const struct th_dialect_context *c, struct th_jw *w);

	/* The items of an answer as its wire decoded them -> items with computer_call.  Total:
	 * fails only with TH_ELIMIT.  NULL: they are as they must be. */
	enum th_code (*decode)(const struct th_dialect_context *c, struct th_str items,
			       struct th_buf *out, struct th_err *err);
	/* The inverse: what the model would have said, as items of its wire (a message with text,
	 * function_call).  TH_EUNSUPPORTED: an action that it has no word for. */
	enum th_code (*encode)(const struct th_dialect_context *c, struct th_str items,
			       struct th_buf *out, struct th_err *err);

	/* Results of its calls are shown as messages of the user (text and picture), not as tool
	 * results. */
	bool results_as_user;

	/* The agent's tools stand in `prompt`, and the request declares none: for models without
	 * function calls.  Chat Completions only. */
	bool tools_in_prompt;
	const char *stop; /* ends an answer; NULL: nothing does */
};

extern const struct th_dialect *const th_dialects[]; /* NULL-terminated; the first is native */
extern const struct th_dialect th_dialect_native;
const struct th_dialect *th_dialect_find(struct th_str name); /* or NULL */

#define TH_DIALECT_COMPLETED "completed"
#define TH_DIALECT_FAILED "failed"
#define TH_DIALECT_NEEDS_USER "needs_user"

#endif
