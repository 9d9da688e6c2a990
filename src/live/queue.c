/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - effects that were asked for: performed in their order, at once or when
 * their event is durable.
 */
#include "live/queue.h"

#include <stdlib.h>

#include "live/expiry.h"
#include "live/log.h"
#include "live/memory.h"

static void hold_as(struct th_live *l, const struct th_held *held)
{
	if (!th_list_room(&l->held, l->held_count, &l->held_cap, 1, sizeof(*l->held))) {
		th_live_no_memory(l);
		return;
	}
	l->held[l->held_count++] = *held;
}

void th_live_hold(struct th_live *l, enum th_effect_kind kind, uint64_t seq, uint64_t call_seq)
{
	hold_as(l, &(struct th_held){ .effect.kind = kind, .seq = seq, .call_seq = call_seq });
}

void th_live_queue(struct th_live *l, const struct th_effects *fx)
{
	if (fx->count == 0)
		return;
	if (l->queue_at == l->queue_count)
		l->queue_at = l->queue_count = 0;
	if (!th_list_room(&l->queue, l->queue_count, &l->queue_cap, fx->count, sizeof(*l->queue))) {
		th_live_no_memory(l);
		return;
	}
	memcpy(l->queue + l->queue_count, fx->list, fx->count * sizeof(fx->list[0]));
	l->queue_count += fx->count;
}

/* The request that is made once more, because nobody waits for its answer; 0: a new one. */
uint64_t th_live_request_again(const struct th_live *l)
{
	return l->fold.phase == TH_TURN_REQUESTED && !l->flight ? l->fold.request_seq : 0;
}

bool th_live_defer_request(struct th_live *l)
{
	for (size_t i = 0; i < l->held_count; i++)
		if (l->held[i].effect.kind == TH_DO_REQUEST) {
			l->held[i].call_seq = th_live_request_again(l);
			return true;
		}
	th_live_hold(l, TH_DO_REQUEST, l->fold.seq, th_live_request_again(l));
	th_live_dirty(l);
	return true;
}

void th_live_hold_hand_over(struct th_live *l, const struct th_call *c)
{
	th_live_hold(l, TH_DO_HAND_OVER, l->fold.seq, c->call_seq);
	th_live_dirty(l);
}

/* A guardrail of the input or of the output is about no call. */
static bool is_of_call(const struct th_live *l, const struct th_effect *fx)
{
	if (fx->kind == TH_DO_GUARD)
		return fx->stage == TH_GUARD_TOOL_INPUT || fx->stage == TH_GUARD_TOOL_OUTPUT;
	return l->driver->effects[fx->kind].of_call;
}

/* Does it, or holds it until its event is durable. */
static void perform(struct th_live *l, const struct th_effect *fx)
{
	struct th_call *c = fx->call < l->fold.call_count ? &l->fold.calls[fx->call] : NULL;
	struct th_held held = { .effect = *fx };

	assert(fx->kind < TH_EFFECT_COUNT);
	if (l->driver->effects[fx->kind].after)
		held.seq = l->driver->effects[fx->kind].after(l, c);
	if (!held.seq) {
		l->driver->effects[fx->kind].run(l, &held, c);
		return;
	}
	if (is_of_call(l, fx)) {
		assert(c);
		held.call_seq = c->call_seq;
	}
	hold_as(l, &held);
	th_live_dirty(l);
}

void th_live_pump(struct th_live *l)
{
	if (l->pumping)
		return;
	l->pumping = true;
	do {
		while (l->queue_at < l->queue_count && !l->lost) {
			struct th_effect fx = l->queue[l->queue_at++];

			perform(l, &fx);
		}
	} while (l->fold.state == TH_STATE_WAITING && th_live_expire(l));
	if (l->queue_at == l->queue_count) {
		free(l->queue);
		l->queue = NULL;
		l->queue_at = l->queue_count = l->queue_cap = 0;
	}
	l->pumping = false;
}

/* One that was held, and whose event is durable.  The session may be gone afterwards. */
static void release(struct th_live *l, const struct th_held *held)
{
	enum th_effect_kind kind = held->effect.kind;
	struct th_call *c = th_live_call(l, held->call_seq);

	if (l->driver->effects[kind].stands && !l->driver->effects[kind].stands(l, held, c))
		return;
	if (l->driver->effects[kind].whole && l->driver->effects[kind].whole(l) &&
	    l->durable_seq < l->fold.seq) {
		/* A request that waits longer is still the one of its event. */
		th_live_hold(l, kind, l->fold.seq,
			     kind == TH_DO_MODEL_CALL ? held->call_seq ?: held->seq : 0);
		return;
	}
	l->driver->effects[kind].run(l, held, c);
}

void th_live_release(struct th_driver *d, struct th_handle h)
{
	struct th_live *l = th_driver_find(d, h);
	size_t done = 0;

	while (l && !l->lost && done < l->held_count && l->held[done].seq <= l->durable_seq) {
		struct th_held held = l->held[done];

		/* Whether one like it is held is asked meanwhile: this one is not any more. */
		l->held[done++].effect.kind = TH_EFFECT_COUNT;
		if (done == l->held_count)
			done = l->held_count = 0;
		release(l, &held);
		l = th_driver_find(d, h);
	}
	if (!l)
		return;
	if (done > 0 && l->held_count >= done) {
		memmove(l->held, l->held + done, (l->held_count - done) * sizeof(*l->held));
		l->held_count -= done;
	}
	th_live_pump(l);
}

void th_live_request_now(struct th_live *l)
{
	struct th_held held = { .effect.kind = TH_DO_REQUEST, .seq = l->fold.seq };

	l->driver->effects[TH_DO_REQUEST].run(l, &held, NULL);
}
