/* SPDX-License-Identifier: Apache-2.0 */
#include "stores/reader.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/limits.h"
#include "stores/stores.h"

#define READER_STACK_SIZE (2 * TH_MIB)

struct queue {
	struct th_read *first, *last;
};

struct th_reader {
	struct th_loop *loop;
	struct th_store *store; /* the loop's */
	char *url;
	size_t url_len;

	/* The thread's. */
	struct th_store *own; /* NULL: not opened yet */

	/* Between loop and thread, under `lock`. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct queue asked, finished; /* finished: also those that give a part */
	bool stop;

	/* The loop's. */
	bool thread_started;
	pthread_t thread;
	struct th_wake *wake; /* while jobs are under way, so that the loop waits for them */
	struct th_deferred later;
	size_t under_way;
};

static void queue_add(struct queue *q, struct th_read *job)
{
	job->next = NULL;
	if (q->first)
		q->last->next = job;
	else
		q->first = job;
	q->last = job;
}

/* Takes out one that is there. */
static void queue_remove(struct queue *q, const struct th_read *job)
{
	struct th_read **at = &q->first, *before = NULL;

	while (*at != job) {
		before = *at;
		at = &before->next;
	}
	*at = job->next;
	if (q->last == job)
		q->last = before;
}

static struct th_read *queue_take(struct queue *q)
{
	struct th_read *job = q->first;

	if (job)
		q->first = job->next;
	return job;
}

/* ---- the thread ---- */

/* False: there is no second handle, and the loop's has to do. */
static bool open_own(struct th_reader *r)
{
	const struct th_store_options options = { .read_only = true };
	struct th_err ignored;

	if (r->own)
		return true;
	if (r->url_len == 0) {
		r->own = r->store;
		return true;
	}
	return th_store_open(th_str_n(r->url, r->url_len), &options, &r->own, &ignored) == TH_OK;
}

static void finish(struct th_reader *r, struct th_read *job)
{
	job->state = TH_READ_FINISHED;
	queue_add(&r->finished, job);
	pthread_cond_broadcast(&r->changed);
	if (r->wake)
		th_wake_send(r->wake);
}

static void *work(void *ctx)
{
	struct th_reader *r = ctx;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		struct th_read *job;

		while (!r->asked.first && !r->stop)
			pthread_cond_wait(&r->changed, &r->lock);
		if (r->stop)
			break;
		job = queue_take(&r->asked);
		job->state = TH_READ_RUNNING;
		if (!job->cancelled) {
			pthread_mutex_unlock(&r->lock);
			job->here = !open_own(r);
			if (!job->here)
				job->code = job->run(job, r->own, &job->err);
			pthread_mutex_lock(&r->lock);
		}
		finish(r, job);
	}
	pthread_mutex_unlock(&r->lock);
	r->own = r->own == r->store ? NULL : th_store_close(r->own);
	return NULL;
}

enum th_code th_read_give(struct th_read *job, struct th_err *err)
{
	struct th_reader *r = job->reader;
	bool wanted;

	if (job->here) {
		job->part(job);
		return job->cancelled ? th_fail(err, TH_ECANCELED, "nobody wants more") : TH_OK;
	}
	pthread_mutex_lock(&r->lock);
	if (!job->cancelled && !r->stop) {
		job->state = TH_READ_GIVING;
		queue_add(&r->finished, job);
		if (r->wake)
			th_wake_send(r->wake);
	}
	while (job->state == TH_READ_GIVING && !r->stop)
		pthread_cond_wait(&r->changed, &r->lock);
	if (job->state == TH_READ_GIVING) /* the reader ends: nobody takes the part */
		queue_remove(&r->finished, job);
	job->state = TH_READ_RUNNING;
	wanted = !job->cancelled && !r->stop;
	pthread_mutex_unlock(&r->lock);
	return wanted ? TH_OK : th_fail(err, TH_ECANCELED, "nobody wants more");
}

static bool thread_start(struct th_reader *r)
{
	pthread_attr_t attr;
	sigset_t all, old;

	if (r->thread_started)
		return true;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, READER_STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r->thread_started = pthread_create(&r->thread, &attr, work, r) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r->thread_started;
}

/* ---- on the loop ---- */

/* The job is the caller's again; it may be asked once more in `done`. */
static void end(struct th_reader *r, struct th_read *job)
{
	r->under_way--;
	job->state = TH_READ_IDLE;
	if (job->cancelled)
		job->drop(job);
	else
		job->done(job, job->code, job->code == TH_OK ? NULL : &job->err);
}

static void give_part(struct th_reader *r, struct th_read *job)
{
	if (!job->cancelled)
		job->part(job);
	pthread_mutex_lock(&r->lock);
	job->state = TH_READ_RUNNING;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void deliver_one(struct th_reader *r, struct th_read *job)
{
	if (job->state == TH_READ_GIVING) {
		give_part(r, job);
		return;
	}
	if (job->here && !job->cancelled) {
		job->state = TH_READ_RUNNING;
		job->code = job->run(job, r->store, &job->err);
	}
	end(r, job);
}

/* A few of them: other work of the loop has its turn before the next. */
static void deliver(void *ctx)
{
	struct th_reader *r = ctx;
	bool more, here = false;

	for (int i = 0; i < TH_READ_RESULTS_MAX && !here; i++) {
		struct th_read *job;

		pthread_mutex_lock(&r->lock);
		job = queue_take(&r->finished);
		pthread_mutex_unlock(&r->lock);
		if (!job)
			break;
		here = job->here; /* it takes the time of a read */
		deliver_one(r, job);
	}
	pthread_mutex_lock(&r->lock);
	more = r->finished.first != NULL;
	pthread_mutex_unlock(&r->lock);
	if (more) {
		th_loop_defer(r->loop, &r->later);
	} else if (r->under_way == 0) {
		struct th_wake *wake = r->wake;

		/* Without it the loop may end. */
		pthread_mutex_lock(&r->lock);
		r->wake = NULL;
		pthread_mutex_unlock(&r->lock);
		th_wake_free(wake);
	}
}

static bool wake_ready(struct th_reader *r)
{
	struct th_wake *wake = NULL;

	if (r->wake)
		return true;
	if (th_wake_new(r->loop, deliver, r, &wake, NULL) != TH_OK)
		return false;
	pthread_mutex_lock(&r->lock);
	r->wake = wake;
	pthread_mutex_unlock(&r->lock);
	return true;
}

enum th_code th_reader_ask(struct th_reader *r, struct th_read *job, struct th_err *err)
{
	bool here;

	assert(job->state == TH_READ_IDLE && job->run && job->done && job->drop);
	if (r->under_way >= TH_READS_MAX && !job->goes_on)
		return th_fail(err, TH_EBUSY, "%d reads of the store wait already", TH_READS_MAX);
	r->under_way++;
	job->reader = r;
	job->cancelled = false;
	job->code = TH_OK;
	here = r->store->kind->single || !wake_ready(r) || !thread_start(r);
	job->here = here;
	job->state = here ? TH_READ_FINISHED : TH_READ_QUEUED;
	pthread_mutex_lock(&r->lock);
	queue_add(here ? &r->finished : &r->asked, job);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock); /* from here on the job is the thread's */
	if (here)
		th_loop_defer(r->loop, &r->later);
	return TH_OK;
}

void th_reader_finish(struct th_read *job)
{
	struct th_reader *r = job->reader;

	assert(job->state != TH_READ_IDLE && !job->part && !job->cancelled);
	pthread_mutex_lock(&r->lock);
	while (job->state != TH_READ_FINISHED)
		pthread_cond_wait(&r->changed, &r->lock);
	queue_remove(&r->finished, job);
	pthread_mutex_unlock(&r->lock);
	deliver_one(r, job);
}

void th_reader_cancel(struct th_read *job)
{
	struct th_reader *r = job->reader;

	assert(job->state != TH_READ_IDLE);
	pthread_mutex_lock(&r->lock);
	job->cancelled = true;
	pthread_mutex_unlock(&r->lock);
}

/* ---- life ---- */

struct th_reader *th_reader_new(struct th_loop *loop, struct th_store *store, struct th_str url)
{
	struct th_reader *r = th_try_alloc(sizeof(*r));

	if (!r)
		return NULL;
	r->url = th_try_alloc(url.len + 1);
	if (!r->url) {
		free(r);
		return NULL;
	}
	memcpy(r->url, url.ptr, url.len);
	r->url_len = url.len;
	r->loop = loop;
	r->store = store;
	r->later = (struct th_deferred){ .fn = deliver, .ctx = r };
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	return r;
}

static void drop_all(struct th_reader *r, struct queue *q)
{
	struct th_read *job;

	while ((job = queue_take(q))) {
		job->cancelled = true;
		end(r, job);
	}
}

struct th_reader *th_reader_free(struct th_reader *r)
{
	if (!r)
		return NULL;
	pthread_mutex_lock(&r->lock);
	r->stop = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (r->thread_started)
		pthread_join(r->thread, NULL);
	th_loop_undefer(r->loop, &r->later);
	drop_all(r, &r->finished);
	drop_all(r, &r->asked);
	r->wake = th_wake_free(r->wake);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r->url);
	free(r);
	return NULL;
}

/* ---- logs ---- */

/* The end of a piece, where there may be more. */
static enum th_code take(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			 struct th_err *err)
{
	struct th_log_read *l = ctx;
	enum th_code code;

	if (l->bytes >= TH_READ_PIECE_BYTES)
		return TH_ECANCELED;
	code = l->take(l->ctx, ev, digest, err);
	l->next = ev->seq + 1;
	l->count++;
	return code;
}

enum th_code th_log_read_next(struct th_log_read *l, struct th_store *store,
			      struct th_str session_id, struct th_err *err)
{
	uint64_t from = TH_MAX(l->next, (uint64_t)1);
	uint64_t last = TH_MAX(from, from + TH_READ_PIECE_EVENTS - 1); /* it may wrap around */
	enum th_code code;

	l->next = from;
	l->bytes = l->count = 0;
	if (l->to > 0)
		last = TH_MIN(last, l->to);
	l->over = l->to > 0 && from > l->to;
	if (l->over)
		return TH_OK;
	code = store->kind->read(store, session_id, from, last, take, l, err);
	if (code == TH_ECANCELED && l->bytes >= TH_READ_PIECE_BYTES)
		return TH_OK;
	l->over = l->next <= last || (l->to > 0 && l->next > l->to);
	return code;
}
