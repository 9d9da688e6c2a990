/* SPDX-License-Identifier: Apache-2.0 */
#include "turns/log_ahead.h"

#include <stdlib.h>

#include "live/log.h"
#include "live/memory.h"
#include "live/queue.h"
#include "turns/history_make.h"
#include "turns/view.h"

#define WAITS_MAX 4 /* kinds of effects that read the log */

/* An effect that asks again when the fold is there. */
struct wait {
	enum th_effect_kind effect;
	uint64_t call_seq;
};

struct th_log_ahead {
	struct th_ticket ticket;
	bool asked;           /* the world reads */
	struct th_view *view; /* the items up to `upto`; NULL: a history */
	uint64_t upto;
	struct th_history_making making;
	struct wait waits[WAITS_MAX];
	size_t wait_count;
};

/* ---- who waits ---- */

static bool wait_for(struct th_live *l, enum th_effect_kind effect, uint64_t call_seq)
{
	struct th_log_ahead *a = l->ahead;

	for (size_t i = 0; i < a->wait_count; i++)
		if (a->waits[i].effect == effect) {
			a->waits[i].call_seq = call_seq;
			return false;
		}
	assert(a->wait_count < WAITS_MAX);
	a->waits[a->wait_count++] = (struct wait){ effect, call_seq };
	return false;
}

/* They are held as if their events had just been written, and ask again in the next flush. */
static void wake(struct th_live *l, const struct wait *waits, size_t count)
{
	for (size_t i = 0; i < count && !l->lost; i++) {
		if (waits[i].effect == TH_DO_REQUEST)
			th_live_defer_request(l);
		else
			th_live_hold(l, waits[i].effect, l->fold.seq, waits[i].call_seq);
	}
	if (count && !l->lost)
		th_live_dirty(l);
}

/* ---- begun and ended ---- */

void th_live_ahead_free(struct th_live *l)
{
	struct th_log_ahead *a = l->ahead;
	struct th_driver *d = l->driver;

	if (!a)
		return;
	l->ahead = NULL;
	if (a->asked)
		d->world.ops->log_cancel(d->world.ctx, a->ticket);
	if (a->view)
		th_view_drop(a->view);
	else
		th_history_free(th_history_making_end(&a->making));
	free(a);
}

/* The session has it, and nothing is read ahead any more. */
static void view_done(struct th_live *l)
{
	th_live_view_give(l, l->ahead->view);
	free(l->ahead);
	l->ahead = NULL;
}

/* False: the world cannot, and whoever needs the log reads it on the loop. */
static bool ask(struct th_live *l)
{
	struct th_driver *d = l->driver;
	struct th_log_ahead *a = l->ahead;
	struct th_err err;

	a->ticket = th_live_ticket_of(l, TH_TICKET_LOG, ++d->logs_asked);
	a->asked = true; /* the world may look at once at what is wanted */
	if (!d->world.ops->log_ask(d->world.ctx, a->ticket, &err))
		return true;
	a->asked = false;
	if (a->view && a->view->seq)
		view_done(l); /* as far as it has come */
	else
		th_live_ahead_free(l);
	return false;
}

static bool begin(struct th_live *l, bool history, uint64_t upto)
{
	struct th_log_ahead *a = th_try_alloc(sizeof(*a));
	struct th_err err;

	if (!a)
		return false;
	*a = (struct th_log_ahead){ .upto = upto };
	if (history ? th_history_making_begin(l, upto, &a->making, &err) != TH_OK
		    : !(a->view = th_live_view_take(l, upto))) {
		if (history)
			th_history_free(th_history_making_end(&a->making));
		free(a);
		return false;
	}
	l->ahead = a;
	return ask(l);
}

static bool is_long(const struct th_live *l, uint64_t events)
{
	return events > l->driver->log_short && l->driver->world.ops->log_ask;
}

bool th_live_log_is_long(const struct th_live *l)
{
	return is_long(l, l->durable_seq);
}

/* ---- the items ---- */

bool th_live_items_here(struct th_live *l, uint64_t upto, enum th_effect_kind effect,
			uint64_t call_seq)
{
	uint64_t has = l->view && l->view->seq <= upto ? l->view->seq : 0;

	if (l->ahead && l->ahead->asked)
		return wait_for(l, effect, call_seq);
	if (!is_long(l, upto - has))
		return true;
	th_live_ahead_free(l);
	return begin(l, false, upto) ? wait_for(l, effect, call_seq) : true;
}

void th_live_items_used(struct th_live *l)
{
	if (!th_live_view_stays(l))
		th_live_view_free(l);
}

/* ---- the history ---- */

/* What became durable since it was made is short, and read at once.  False: the session is lost. */
static bool history_take(struct th_live *l)
{
	struct th_history_making *m = &l->ahead->making;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	if (m->seq < l->durable_seq) {
		uint64_t from = m->seq + 1;

		th_history_making_more(m, l->durable_seq);
		code = th_live_read(l, from, l->durable_seq, th_history_making_take, m, &err)
			   ?: th_history_making_next(m, &err);
	}
	if (!code) {
		l->history = th_history_making_end(m);
		l->history_due = false;
	}
	th_live_ahead_free(l);
	if (code)
		th_live_lose(l, &err);
	return !code;
}

bool th_live_history_here(struct th_live *l, enum th_effect_kind effect, uint64_t call_seq)
{
	struct th_log_ahead *a = l->ahead;

	if (l->history)
		return true;
	if (th_live_history_rewritten(l))
		return th_live_items_here(l, th_history_making_items(l, l->durable_seq), effect,
					  call_seq);
	if (a && a->asked)
		return wait_for(l, effect, call_seq);
	if (!a && !is_long(l, l->durable_seq))
		return true;
	if (l->durable_seq < l->fold.seq) {
		wake(l, &(struct wait){ effect, call_seq }, 1);
		return false;
	}
	if (a && !is_long(l, l->durable_seq - a->making.seq))
		return history_take(l);
	if (a)
		th_history_making_more(&a->making, l->durable_seq);
	if (!(a ? ask(l) : begin(l, true, l->durable_seq)))
		return true;
	l->history_due = true; /* what is written meanwhile does not make it on the loop */
	return wait_for(l, effect, call_seq);
}

void th_live_history_retire(struct th_live *l)
{
	struct wait waits[WAITS_MAX];
	size_t count = 0;

	l->history = th_history_free(l->history);
	l->history_due = true;
	if (!l->ahead || l->ahead->view)
		return;
	count = l->ahead->wait_count;
	memcpy(waits, l->ahead->waits, sizeof(waits));
	th_live_ahead_free(l);
	wake(l, waits, count);
}

/* ---- called by the world ---- */

static struct th_live *live_of(const struct th_driver *d, struct th_ticket t)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	return l && l->ahead && l->ahead->asked && th_ticket_eq(l->ahead->ticket, t) ? l : NULL;
}

bool th_driver_log_wants(const struct th_driver *d, struct th_ticket t, uint64_t *ret_from,
			 uint64_t *ret_to)
{
	const struct th_live *l = live_of(d, t);

	if (!l)
		return false;
	if (!l->ahead->view)
		return th_history_making_wants(&l->ahead->making, ret_from, ret_to);
	*ret_from = l->ahead->view->seq + 1;
	*ret_to = l->ahead->upto;
	return *ret_from <= *ret_to;
}

enum th_code th_driver_log_take(struct th_driver *d, struct th_ticket t, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *err)
{
	struct th_live *l = live_of(d, t);

	if (!l)
		return th_fail(err, TH_ECANCELED, "nobody wants the log any more");
	if (l->ahead->view)
		return th_view_take(l->ahead->view, ev, digest, err);
	return th_history_making_take(&l->ahead->making, ev, digest, err);
}

enum th_code th_driver_log_next(struct th_driver *d, struct th_ticket t, struct th_err *err)
{
	struct th_live *l = live_of(d, t);
	struct th_history_making *m;
	enum th_code code;
	uint64_t from, to;

	if (!l)
		return th_fail(err, TH_ECANCELED, "nobody wants the log any more");
	if (l->ahead->view)
		return TH_OK;
	m = &l->ahead->making;
	code = th_history_making_next(m, err);
	if (!code && !th_history_making_wants(m, &from, &to) && is_long(l, l->durable_seq - m->seq))
		th_history_making_more(m, l->durable_seq);
	return code;
}

void th_driver_log_end(struct th_driver *d, struct th_ticket t, const struct th_err *err)
{
	struct th_live *l = live_of(d, t);
	struct th_log_ahead *a = l ? l->ahead : NULL;
	struct wait waits[WAITS_MAX];
	size_t count;

	if (!l)
		return;
	a->asked = false;
	count = a->wait_count;
	memcpy(waits, a->waits, sizeof(waits));
	a->wait_count = 0;
	if (!err && a->view)
		view_done(l);
	if (err) {
		th_live_ahead_free(l);
		th_live_lose(l, err); /* who hears of it may close the session */
		return;
	}
	if (l->ahead && l->history) /* it was made on the loop meanwhile */
		th_live_ahead_free(l);
	wake(l, waits, count);
}

void th_driver_log_short(struct th_driver *d, uint64_t events)
{
	d->log_short = events;
}
