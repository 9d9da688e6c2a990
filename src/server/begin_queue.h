/* SPDX-License-Identifier: Apache-2.0 */
/*
 * begin_queue.h - requests that begin something wait here while the loop has more to do.
 *
 * What begins costs more than anything else that a request does, and what has begun goes before
 * it. So each pass of the loop begins for half of TH_LOOP_SHARE_MS, since more than that follows,
 * and one alone while passes are long; the rest waits, in its order.  Who comes while the first of
 * those has waited for TH_SERVE_BEGIN_MS is late: he is refused at once, and nothing more is done
 * for him.  So a burst is taken whole, and of what comes faster than it can be done what is too
 * much is refused soon.
 *
 * Entries are the owners'; one that ends leaves.
 */
#ifndef TH_SERVER_BEGIN_QUEUE_H
#define TH_SERVER_BEGIN_QUEUE_H

#include "io/loop.h"

struct th_begin_queue;

/* All 0 at first. */
struct th_begin_entry {
	struct th_begin_queue *queue; /* in which it waits; NULL: in none */
	struct th_begin_entry *prev, *next;
	uint64_t since_ms;
	bool had_turn;
};

typedef void th_begin_fn(struct th_begin_entry *e);

struct th_begin_queue {
	struct th_loop *loop;
	th_begin_fn *begin; /* its turn has come: it is not in the queue any more */
	struct th_begin_entry *first, *last;
	struct th_deferred work;
};

enum th_begin_turn {
	TH_BEGIN_NOW,
	TH_BEGIN_WAITS, /* `begin` is called for it, later */
	TH_BEGIN_LATE
};

void th_begin_queue_init(struct th_begin_queue *q, struct th_loop *l, th_begin_fn *begin);
void th_begin_queue_deinit(struct th_begin_queue *q); /* all have left */
/* Of one that had its turn: NOW. */
enum th_begin_turn th_begin_queue_ask(struct th_begin_queue *q, struct th_begin_entry *e);
void th_begin_queue_leave(struct th_begin_entry *e); /* also of one that is in none */

#endif
