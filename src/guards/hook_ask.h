/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_ask.h - a hook that is a question to the session's model: a policy in words, and what
 * happened as data.
 *
 * It is a side request (side_request.h) with nothing of the session: the policy is its
 * instructions, and its answer is one JSON object or a failure.  After a crash it is asked again.
 *
 * A hook of the type agent may look before it decides (hook_look.h): each round is a request more,
 * with what came of the calls of the one before.  It has so many answers and so much time in all.
 */
#ifndef TH_GUARDS_HOOK_ASK_H
#define TH_GUARDS_HOOK_ASK_H

#include "agents/hook.h"
#include "base/field.h"
#include "guards/hook_look.h"
#include "live/side_request.h"

#define TH_FIELDS_hook_answer(F)                                        \
	F(hook_answer, str, decision, "decision", TH_REQ | TH_NONEMPTY, \
	  "allow, unless the policy is against it; else deny")          \
	F(hook_answer, str, reason, "reason", 0, "why, in a sentence that the agent reads")
TH_STRUCT(hook_answer)
extern const struct th_table th_hook_answer_table;

struct th_hook_ask;
/* `err` NULL: `verdict` has the answer as a program would write it. */
typedef void th_hook_asked_fn(struct th_live *l, struct th_hook_ask *ask, const struct th_err *err);

/* In its owner's memory, zero at first. */
struct th_hook_ask {
	struct th_side_request *request; /* NULL: it is not under way */
	struct th_side_usage usage;
	struct th_side_bare bare;
	struct th_buf policy, verdict, content;
	struct th_hook_looks *looks; /* NULL: it has no tools */
	int64_t ends_ms;
	th_hook_asked_fn *done;
};

/* `input`: what a program is told.  An error: nothing was sent, and `done` does not come. */
TH_NODISCARD enum th_code th_hook_ask(struct th_live *l, struct th_hook_ask *ask,
				      const struct th_hook_program *hook, struct th_str input,
				      th_hook_asked_fn *done, struct th_err *err);
bool th_hook_ask_open(const struct th_hook_ask *ask); /* a model is asked, or looks */
/* The end of what one looks at.  False: it is not of this one. */
bool th_hook_ask_looked(struct th_live *l, struct th_hook_ask *ask, struct th_ticket t,
			const struct th_effect_result *r);
void th_hook_ask_deinit(struct th_live *l, struct th_hook_ask *ask); /* `done` does not come */

#endif
