/* SPDX-License-Identifier: Apache-2.0 */
#include "server/begin_queue.h"

#include "base/limits.h"
#include "io/clock.h"

/* What has begun is behind: it is finished first. */
static bool is_behind(const struct th_begin_queue *q)
{
	return th_loop_long_passes(q->loop) > 0;
}

/* Those who come later in the pass wait for the next one. */
static void work(void *ctx)
{
	struct th_begin_queue *q = ctx;
	uint64_t half_ns = TH_LOOP_SHARE_MS * UINT64_C(1000000) / 2;
	uint64_t until = th_clock_ns() + (is_behind(q) ? 0 : half_ns);

	do {
		struct th_begin_entry *e = q->first;

		if (!e)
			return;
		th_begin_queue_leave(e);
		e->had_turn = true;
		q->begin(e);
	} while (th_clock_ns() < until);
	if (q->first)
		th_loop_defer(q->loop, &q->work);
}

void th_begin_queue_init(struct th_begin_queue *q, struct th_loop *l, th_begin_fn *begin)
{
	*q = (struct th_begin_queue){ .loop = l, .begin = begin };
	q->work = (struct th_deferred){ .fn = work, .ctx = q };
}

void th_begin_queue_deinit(struct th_begin_queue *q)
{
	assert(!q->first);
	if (q->loop)
		th_loop_undefer(q->loop, &q->work);
}

enum th_begin_turn th_begin_queue_ask(struct th_begin_queue *q, struct th_begin_entry *e)
{
	uint64_t now_ms = th_loop_now_ms(q->loop);

	assert(!e->queue);
	if (e->had_turn ||
	    (!q->first && !is_behind(q) && !th_loop_pass_took(q->loop, TH_LOOP_SHARE_MS))) {
		e->had_turn = true;
		return TH_BEGIN_NOW;
	}
	if (q->first && now_ms - q->first->since_ms >= TH_SERVE_BEGIN_MS)
		return TH_BEGIN_LATE;
	e->queue = q;
	e->since_ms = now_ms;
	e->next = NULL;
	e->prev = q->last;
	*(q->last ? &q->last->next : &q->first) = e;
	q->last = e;
	th_loop_defer(q->loop, &q->work);
	return TH_BEGIN_WAITS;
}

void th_begin_queue_leave(struct th_begin_entry *e)
{
	struct th_begin_queue *q = e->queue;

	if (!q)
		return;
	*(e->prev ? &e->prev->next : &q->first) = e->next;
	*(e->next ? &e->next->prev : &q->last) = e->prev;
	e->queue = NULL;
	e->prev = e->next = NULL;
}
