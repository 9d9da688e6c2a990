/* SPDX-License-Identifier: Apache-2.0 */
#include "store/group.h"

#include <signal.h>

#include "base/limits.h"
#include "io/clock.h"
#include "store/common.h"

#define WORKER_STACK_SIZE (512 * TH_KIB)

static void batch_add(struct th_batch **first, struct th_batch **last, struct th_batch *list)
{
	if (*first)
		(*last)->next = list;
	else
		*first = list;
	while (list->next)
		list = list->next;
	*last = list;
}

/* ---- being usable ---- */

void th_group_break(struct th_group *g, const struct th_err *err)
{
	pthread_mutex_lock(&g->lock);
	if (!g->broken) {
		g->broken = true;
		g->broken_err = *err;
	}
	pthread_mutex_unlock(&g->lock);
}

struct th_err th_group_why(struct th_group *g)
{
	struct th_err err;

	pthread_mutex_lock(&g->lock);
	err = g->broken_err;
	pthread_mutex_unlock(&g->lock);
	return err;
}

enum th_code th_group_usable(struct th_group *g, struct th_err *err)
{
	enum th_code code = TH_OK;

	pthread_mutex_lock(&g->lock);
	if (g->broken)
		code = th_fail(err, TH_EIO, "the store is closed to everything after: %s",
			       g->broken_err.msg);
	pthread_mutex_unlock(&g->lock);
	return code;
}

/* ---- writing ---- */

static void settle(struct th_batch *b, enum th_code code, const struct th_err *err)
{
	if (!b->refused) {
		b->code = code;
		b->err = *err;
	}
	if (b->code == TH_OK)
		return;
	for (size_t i = 0; i < b->append_count; i++)
		b->appends[i].result = b->code;
}

/* In one transaction. */
static enum th_code write_together(struct th_group *g, struct th_batch *list)
{
	struct th_err err = { 0 };
	enum th_code code = g->ops->write(g->ctx, list, &err);

	if (code == TH_EIO)
		th_group_break(g, &err);
	for (struct th_batch *b = list; b; b = b->next)
		settle(b, code, &err);
	return code;
}

static void write_list(struct th_group *g, struct th_batch *list)
{
	enum th_code code = write_together(g, list);

	/* One that is too large must not keep the others out. */
	if (!list->next || (code != TH_ELIMIT && code != TH_ENOMEM && code != TH_ECORRUPT))
		return;
	for (struct th_batch *b = list, *next; b; b = next) {
		next = b->next;
		b->next = NULL;
		(void)write_together(g, b);
		b->next = next;
	}
}

/* ---- the worker ---- */

/* As many batches as one transaction may have.  Called with `lock`. */
static struct th_batch *group_take(struct th_group *g)
{
	struct th_batch *list = g->queue, *last = list;
	size_t events = th_batch_events(list);

	while (last->next) {
		events += th_batch_events(last->next);
		if (events > TH_BATCH_EVENTS_MAX)
			break;
		last = last->next;
	}
	g->queue = last->next;
	last->next = NULL;
	return list;
}

static void sweep(struct th_group *g)
{
	pthread_mutex_lock(&g->lock);
	g->sweeping = false; /* who removes something from now on says so again */
	pthread_mutex_unlock(&g->lock);
	if (!g->ops->sweep(g->ctx))
		return;
	pthread_mutex_lock(&g->lock);
	g->sweeping = true;
	pthread_mutex_unlock(&g->lock);
}

static void *work(void *ctx)
{
	struct th_group *g = ctx;

	pthread_mutex_lock(&g->lock);
	for (;;) {
		struct th_batch *list;

		while (!g->queue && !g->stop && !g->sweeping)
			pthread_cond_wait(&g->changed, &g->lock);
		if (!g->queue && !g->stop) {
			pthread_mutex_unlock(&g->lock);
			sweep(g);
			pthread_mutex_lock(&g->lock);
			continue;
		}
		if (!g->queue)
			break;
		list = group_take(g);
		g->busy = true;
		pthread_mutex_unlock(&g->lock);
		write_list(g, list);
		pthread_mutex_lock(&g->lock);
		batch_add(&g->finished, &g->finished_last, list);
		g->busy = false;
		pthread_cond_broadcast(&g->changed);
		if (!g->stop)
			th_wake_send(g->wake);
		pthread_mutex_unlock(&g->lock);
		if (g->ops->written)
			g->ops->written(g->ctx);
		pthread_mutex_lock(&g->lock);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* With `lock`. */
static bool worker_start(struct th_group *g)
{
	pthread_attr_t attr;
	sigset_t all, old;

	if (g->thread_started || g->stop)
		return g->thread_started && !g->stop;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	g->sweeping = true; /* what is left from before */
	g->thread_started = pthread_create(&g->thread, &attr, work, g) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return g->thread_started;
}

void th_group_wait(struct th_group *g)
{
	pthread_mutex_lock(&g->lock);
	while (g->queue || g->busy)
		pthread_cond_wait(&g->changed, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

void th_group_sweep_soon(struct th_group *g)
{
	if (!g->loop)
		return;
	pthread_mutex_lock(&g->lock);
	if (worker_start(g))
		g->sweeping = true;
	pthread_mutex_unlock(&g->lock);
	pthread_cond_broadcast(&g->changed);
}

/* ---- on the loop ---- */

/* Calls back for all that is written. */
/* Those of one transaction may be many, and each begins something: others come between. */
static void deliver(struct th_group *g)
{
	uint64_t began_ms = th_clock_ms();
	struct th_batch *list, *last;

	pthread_mutex_lock(&g->lock);
	list = g->finished;
	last = g->finished_last;
	g->finished = g->finished_last = NULL;
	pthread_mutex_unlock(&g->lock);
	for (struct th_batch *b = list, *next; b; b = next) {
		next = b->next; /* the callback may use the batch again */
		g->under_way--;
		b->done(b->done_ctx, b, b->code, b->code == TH_OK ? NULL : &b->err);
		if (!next || th_clock_ms() < began_ms + TH_LOOP_SHARE_MS)
			continue;
		pthread_mutex_lock(&g->lock);
		last->next = g->finished;
		if (!g->finished)
			g->finished_last = last;
		g->finished = next;
		pthread_mutex_unlock(&g->lock);
		th_loop_defer(g->loop, &g->late);
		break;
	}
}

static void on_wake(void *ctx)
{
	struct th_group *g = ctx;
	struct th_wake *wake = g->wake;

	deliver(g);
	if (g->under_way > 0)
		return;
	/* Without it the loop may end. */
	pthread_mutex_lock(&g->lock);
	g->wake = NULL;
	pthread_mutex_unlock(&g->lock);
	th_wake_free(wake);
}

/* No thread or no wake-up to be had: written here, called back when the loop comes by. */
static void commit_here(struct th_group *g, struct th_batch *batch)
{
	write_list(g, batch);
	pthread_mutex_lock(&g->lock);
	batch_add(&g->finished, &g->finished_last, batch);
	pthread_mutex_unlock(&g->lock);
	th_loop_defer(g->loop, &g->late);
}

static bool wake_ready(struct th_group *g)
{
	struct th_wake *wake = NULL;

	if (g->wake)
		return true;
	if (th_wake_new(g->loop, on_wake, g, &wake, NULL) != TH_OK)
		return false;
	pthread_mutex_lock(&g->lock);
	g->wake = wake;
	pthread_mutex_unlock(&g->lock);
	return true;
}

void th_group_commit(struct th_group *g, struct th_batch *batch, th_commit_fn *done, void *ctx)
{
	bool here;

	assert(g->loop && done);
	batch->next = NULL;
	batch->done = done;
	batch->done_ctx = ctx;
	batch->code = th_batch_check(batch, &batch->err);
	batch->refused = batch->code != TH_OK;
	g->under_way++;
	here = !wake_ready(g);
	pthread_mutex_lock(&g->lock);
	here = here || !worker_start(g);
	if (!here)
		batch_add(&g->queue, &g->queue_last, batch);
	pthread_mutex_unlock(&g->lock);
	if (here) {
		commit_here(g, batch);
		return;
	}
	pthread_cond_broadcast(&g->changed); /* who wakes finds the lock free */
}

enum th_code th_group_commit_now(struct th_group *g, struct th_batch *batch, struct th_err *err)
{
	batch->next = NULL;
	batch->code = th_batch_check(batch, &batch->err);
	batch->refused = batch->code != TH_OK;
	th_group_wait(g);
	write_list(g, batch);
	if (g->ops->written)
		g->ops->written(g->ctx);
	if (batch->code != TH_OK && err)
		*err = batch->err;
	return batch->code;
}

/* ---- beginning and end ---- */

void th_group_init(struct th_group *g, const struct th_group_ops *ops, void *ctx,
		   struct th_loop *loop)
{
	*g = (struct th_group){ .ops = ops, .ctx = ctx, .loop = loop };
	g->late = (struct th_deferred){ .fn = on_wake, .ctx = g };
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
}

void th_group_end(struct th_group *g)
{
	pthread_mutex_lock(&g->lock);
	g->stop = true; /* what a callback commits from here on is written at once */
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
	if (g->thread_started)
		pthread_join(g->thread, NULL);
	g->thread_started = false;
	while (g->under_way > 0)
		deliver(g);
	if (g->loop)
		th_loop_undefer(g->loop, &g->late);
	g->wake = th_wake_free(g->wake);
}

void th_group_deinit(struct th_group *g)
{
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->changed);
}
