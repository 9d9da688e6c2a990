/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending_callback.h - questions to the agent's code, and what its answers do.
 */
#ifndef TH_DRIVER_PENDING_CALLBACK_H
#define TH_DRIVER_PENDING_CALLBACK_H

#include "driver/live.h"

struct th_transcript;

void th_live_guard(struct th_live *l, const struct th_held *held);
void th_live_tool_use(struct th_live *l);
bool th_live_instructions(struct th_live *l); /* true: the request waits for them */
/* Calls a function that answers at once; false: no answer. */
bool th_live_ask_now(struct th_live *l, enum th_ask_kind kind, struct th_str function,
		     struct th_str input, struct th_buf *answer);
/* Lets the agent's code, if it has such a function, replace `text`, which the model will read.  The
 * function gets `input`.  `otherwise` is used when its answer is no text. */
void th_live_reword(struct th_live *l, struct th_str input, struct th_buf *text,
		    const char *otherwise);
bool th_live_asks(const struct th_live *l, enum th_ask_kind kind);
void th_live_callbacks_free(struct th_live *l);
void th_live_callbacks_cancel(struct th_live *l); /* the session rests: all end but hooks */
void th_live_decision(struct th_live *l, struct th_call *c); /* before a person is asked */
/* A person may meanwhile have decided about its tool for good. */
void th_live_ask_person(struct th_live *l, struct th_call *c);
void th_live_fail(struct th_live *l, const char *class, struct th_str message);

/* A call of a hook of agent `of`; `run`: one of the first agent's run_hooks. */
struct th_hooking {
	enum th_hook hook;
	size_t of;
	bool run;
	uint64_t seq;                 /* of the event */
	struct th_str agent, call_id; /* as `input` names them */
	struct th_str input;
};
void th_live_ask_hook(struct th_live *l, const struct th_hooking *h);
/* Calls a filter with the transcript as items. */
void th_live_ask_filter(struct th_live *l, struct th_str function,
			const struct th_transcript *transcript);
/* Calls a handoff's filter with the transcript in three parts; or, if `transcript` is NULL, its
 * mapper with the list `items`. */
void th_live_ask_handoff(struct th_live *l, const struct th_handoff *h,
			 const struct th_transcript *transcript, struct th_str items,
			 uint64_t call_seq);
/* The same for the callbacks SESSION_INPUT and COMPACT. */
void th_live_ask_transcript(struct th_live *l, enum th_ask_kind kind, struct th_str function,
			    const struct th_transcript *transcript);

#endif
