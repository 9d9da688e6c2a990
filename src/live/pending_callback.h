/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending_callback.h - questions to the agent's code that are under way.
 */
#ifndef TH_LIVE_PENDING_CALLBACK_H
#define TH_LIVE_PENDING_CALLBACK_H

#include "live/live.h"

struct th_pending_callback;
/* The answer to a question: JSON, or with `failed` a sentence.  The question is over. */
typedef void th_callback_answered_fn(struct th_live *l, const struct th_pending_callback *a,
				     bool failed, struct th_str answer);

/* A question under way. */
struct th_pending_callback {
	struct th_pending_callback *next;
	uint64_t id; /* of its ticket */
	enum th_ask_kind kind;
	th_callback_answered_fn *answered;
	enum th_guard_stage stage; /* GUARDRAIL */
	size_t guard, member;
	uint64_t call_seq;    /* of a tool's guardrail, or of the call that hands over */
	uint64_t asked_seq;   /* answer_seq or message_seq that it was about */
	uint64_t message_seq; /* FILTER: the last message that it sees */
	enum th_hook hook;    /* HOOK: of `member`, about the event asked_seq */
	bool run;             /* one of run_hooks */
};

/* A question under way, which the caller completes and asks. */
struct th_pending_callback *th_callback_new(struct th_live *l, enum th_ask_kind kind,
					    th_callback_answered_fn *answered);
/* Begins the object that is asked about: agent and session. */
void th_callback_input(const struct th_live *l, size_t member, struct th_buf *input,
		       struct th_jw *w);
/* Asks.  `a` may be answered, and freed, when this returns. */
void th_callback_ask(struct th_live *l, struct th_pending_callback *a, struct th_str function,
		     struct th_str input);
void th_callback_ask_hook(struct th_live *l, struct th_pending_callback *a, struct th_str function,
			  struct th_str input, const struct th_hook_info *told);
/* Takes a question out of the list; the caller frees it.  NULL: it is over. */
struct th_pending_callback *th_callback_take(struct th_live *l, uint64_t id);

/* Calls a function that answers at once; false: no answer. */
bool th_live_ask_now(struct th_live *l, enum th_ask_kind kind, struct th_str function,
		     struct th_str input, struct th_buf *answer);
/* Lets the agent's code, if it has such a function, replace `text`, which the model will read.  The
 * function gets `input`.  `otherwise` is used when its answer is no text. */
void th_live_reword(struct th_live *l, struct th_str input, struct th_buf *text,
		    const char *otherwise);
/* Is a question of this kind under way? */
bool th_live_asks(const struct th_live *l, enum th_ask_kind kind);
void th_live_callbacks_free(struct th_live *l);
/* The session rests: all questions end but those to hooks. */
void th_live_callbacks_cancel(struct th_live *l);

#endif
