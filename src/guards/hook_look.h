/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_look.h - what the model of a hook of the type agent looks at before it decides.
 *
 * Its tools are those of the agent that read files of the workspace and change nothing (class R, of
 * the executor); the executor holds them to that.  Policy must let a call simply run: nobody is
 * asked about one, and rules hold.  Nothing of it is in the history of the session; the answer's
 * event says what was looked at.  A look changes nothing, so after a crash it is done again with
 * the question that it belongs to.
 *
 * Bounds: TH_HOOK_TURNS_MAX answers, TH_HOOK_LOOKS_MAX calls in each, TH_HOOK_LOOK_MAX bytes of a
 * result.  A model that wants more calls or answers has failed.
 */
#ifndef TH_GUARDS_HOOK_LOOK_H
#define TH_GUARDS_HOOK_LOOK_H

#include "agents/hook.h"
#include "live/side_request.h"

struct th_hook_looks;

/* TH_EUSAGE: the agent has no such tool.  *ret is to be freed in any case. */
TH_NODISCARD enum th_code th_hook_looks_new(const struct th_live *l,
					    const struct th_hook_program *hook,
					    struct th_hook_looks **ret, struct th_err *err);
/* Ends what is under way.  NULL is fine. */
void th_hook_looks_free(struct th_live *l, struct th_hook_looks *k);

/* Its tools, and what was said and shown so far. */
void th_hook_looks_put(struct th_hook_looks *k, struct th_side_ask *ask);
/* Reads an answer.  True: it calls tools, or err->code says why it cannot be used. */
bool th_hook_looks_take(struct th_hook_looks *k, struct th_str items, struct th_err *err);
bool th_hook_looks_wanted(const struct th_hook_looks *k); /* the last answer called tools */
/* Begins what it calls.  True: some of it is under way. */
bool th_hook_looks_begin(struct th_live *l, struct th_hook_looks *k, int64_t timeout_ms);
/* False: the ticket is of no look of this one. */
bool th_hook_looks_done(struct th_live *l, struct th_hook_looks *k, struct th_ticket t,
			const struct th_effect_result *r);
bool th_hook_looks_open(const struct th_hook_looks *k); /* some of it is under way */
/* The answer and what came of its calls stand behind what was said before. */
TH_NODISCARD enum th_code th_hook_looks_close(struct th_hook_looks *k, struct th_err *err);

/* The member "looked", a list of {tool, arguments}; none where nothing was looked at. */
void th_hook_looks_print(const struct th_hook_looks *k, struct th_jw *w);

#endif
