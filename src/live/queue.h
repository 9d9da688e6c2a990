/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - effects that were asked for, and wait for their turn.
 */
#ifndef TH_LIVE_QUEUE_H
#define TH_LIVE_QUEUE_H

#include "live/live.h"

typedef uint64_t th_effect_after_fn(const struct th_live *l, const struct th_call *c);
typedef bool th_effect_stands_fn(const struct th_live *l, const struct th_held *h,
				 const struct th_call *c);
typedef bool th_effect_whole_fn(const struct th_live *l);
typedef void th_effect_run_fn(struct th_live *l, const struct th_held *h, struct th_call *c);

/* What the queue knows of a kind of effect; the rows are in effects.c. */
struct th_effect_row {
	th_effect_run_fn *run;
	/* The event that must be durable before the effect happens; 0: none.  NULL: it happens at
	 * once, and the next three are not asked. */
	th_effect_after_fn *after;
	bool of_call;                /* what is held is about that call */
	th_effect_stands_fn *stands; /* still wanted when its event is durable?  NULL: always */
	/* Must everything that was written since be durable as well?  NULL: its own event
	 * suffices. */
	th_effect_whole_fn *whole;
};

void th_live_hold(struct th_live *l, enum th_effect_kind kind, uint64_t seq, uint64_t call_seq);
void th_live_queue(struct th_live *l, const struct th_effects *fx);
/* What waited for events up to durable_seq may happen now.  The session may be gone afterwards. */
void th_live_release(struct th_driver *d, struct th_handle h);
/* Performs the queued effects. */
void th_live_pump(struct th_live *l);
/* Makes the request that something held back; its answer came or is not needed any more. */
void th_live_request_now(struct th_live *l);
/* The request that is made once more, because nobody waits for its answer; 0: a new one. */
uint64_t th_live_request_again(const struct th_live *l);
/* These make the request, or the handoff, when the whole log is durable. */
bool th_live_defer_request(struct th_live *l); /* true */
void th_live_hold_hand_over(struct th_live *l, const struct th_call *c);

#endif
