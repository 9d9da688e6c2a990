/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite.c - opening and closing, and the group commit.
 *
 * The loop thread puts batches into a queue and never waits; the worker takes
 * all there are, writes them in one transaction, and wakes the loop, which
 * calls back.  What arrives while a transaction runs is the next one.  The
 * worker is a thread of its own, not one of the loop's pool: a commit must not
 * wait behind the encoding of pictures.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/files.h"
#include "io/loop.h"
#include "store/sqlite.h"

#define WORKER_STACK_SIZE (512 * TH_KIB)

struct th_sqlite *th_sqlite_of(struct th_store *s)
{
	assert(s && s->kind == &th_store_sqlite);
	return TH_CONTAINER_OF(s, struct th_sqlite, base);
}

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

/* ---- the worker ---- */

/* As many batches as one transaction may have.  Called with `lock`. */
static struct th_batch *group_take(struct th_sqlite *s)
{
	struct th_batch *list = s->queue, *last = list;
	size_t events = th_batch_events(list);

	while (last->next) {
		events += th_batch_events(last->next);
		if (events > TH_BATCH_EVENTS_MAX)
			break;
		last = last->next;
	}
	s->queue = last->next;
	last->next = NULL;
	return list;
}

/* A piece of it.  What fails is tried again when a session is removed, or by who comes next. */
static void sweep(struct th_sqlite *s)
{
	bool more = false;

	pthread_mutex_lock(&s->lock);
	s->sweeping = false; /* who removes something from now on says so again */
	pthread_mutex_unlock(&s->lock);
	if (th_sqlite_sweep(&s->base, &more, NULL) != TH_OK || !more)
		return;
	th_sqlite_checkpoint(s);
	pthread_mutex_lock(&s->lock);
	s->sweeping = true;
	pthread_mutex_unlock(&s->lock);
}

static void *work(void *ctx)
{
	struct th_sqlite *s = ctx;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		struct th_batch *list;

		while (!s->queue && !s->stop && !s->sweeping)
			pthread_cond_wait(&s->changed, &s->lock);
		if (!s->queue && !s->stop) {
			pthread_mutex_unlock(&s->lock);
			sweep(s);
			pthread_mutex_lock(&s->lock);
			continue;
		}
		if (!s->queue)
			break;
		list = group_take(s);
		s->busy = true;
		pthread_mutex_unlock(&s->lock);
		th_sqlite_write(s, list);
		pthread_mutex_lock(&s->lock);
		batch_add(&s->finished, &s->finished_last, list);
		s->busy = false;
		pthread_cond_broadcast(&s->changed);
		if (!s->stop)
			th_wake_send(s->wake);
		pthread_mutex_unlock(&s->lock);
		th_sqlite_checkpoint(s);
		pthread_mutex_lock(&s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool worker_start(struct th_sqlite *s)
{
	pthread_attr_t attr;
	sigset_t all, old;

	if (s->thread_started)
		return true;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK_SIZE);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	s->sweeping = true; /* what is left from before */
	s->thread_started = pthread_create(&s->thread, &attr, work, s) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return s->thread_started;
}

void th_sqlite_wait(struct th_sqlite *s)
{
	pthread_mutex_lock(&s->lock);
	while (s->queue || s->busy)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

void th_sqlite_sweep_soon(struct th_sqlite *s)
{
	if (!s->loop || s->stop || !worker_start(s))
		return;
	pthread_mutex_lock(&s->lock);
	s->sweeping = true;
	pthread_mutex_unlock(&s->lock);
	pthread_cond_broadcast(&s->changed);
}

/* ---- on the loop ---- */

/* Calls back for all that is written. */
static void deliver(struct th_sqlite *s)
{
	struct th_batch *list;

	pthread_mutex_lock(&s->lock);
	list = s->finished;
	s->finished = s->finished_last = NULL;
	pthread_mutex_unlock(&s->lock);
	for (struct th_batch *b = list, *next; b; b = next) {
		next = b->next; /* the callback may use the batch again */
		s->under_way--;
		b->done(b->done_ctx, b, b->code, b->code == TH_OK ? NULL : &b->err);
	}
}

static void on_wake(void *ctx)
{
	struct th_sqlite *s = ctx;
	struct th_wake *wake = s->wake;

	deliver(s);
	if (s->under_way > 0)
		return;
	/* Without it the loop may end. */
	pthread_mutex_lock(&s->lock);
	s->wake = NULL;
	pthread_mutex_unlock(&s->lock);
	th_wake_free(wake);
}

/* No thread or no wake-up to be had: written here, called back when the loop comes by. */
static void commit_here(struct th_sqlite *s, struct th_batch *batch)
{
	th_sqlite_write(s, batch);
	pthread_mutex_lock(&s->lock);
	batch_add(&s->finished, &s->finished_last, batch);
	pthread_mutex_unlock(&s->lock);
	th_loop_defer(s->loop, &s->late);
}

static void deliver_late(void *ctx)
{
	deliver(ctx);
}

static bool wake_ready(struct th_sqlite *s)
{
	struct th_wake *wake = NULL;

	if (s->wake)
		return true;
	if (th_wake_new(s->loop, on_wake, s, &wake, NULL) != TH_OK)
		return false;
	pthread_mutex_lock(&s->lock);
	s->wake = wake;
	pthread_mutex_unlock(&s->lock);
	return true;
}

static void sqlite_commit(struct th_store *store, struct th_batch *batch, th_commit_fn *done,
			  void *ctx)
{
	struct th_sqlite *s = th_sqlite_of(store);

	assert(s->loop && done);
	batch->next = NULL;
	batch->done = done;
	batch->done_ctx = ctx;
	batch->code = th_batch_check(batch, &batch->err);
	batch->refused = batch->code != TH_OK;
	s->under_way++;
	if (s->stop || !wake_ready(s) || !worker_start(s)) {
		commit_here(s, batch);
		return;
	}
	pthread_mutex_lock(&s->lock);
	batch_add(&s->queue, &s->queue_last, batch);
	pthread_mutex_unlock(&s->lock);
	pthread_cond_broadcast(&s->changed); /* who wakes finds the lock free */
}

static enum th_code sqlite_commit_now(struct th_store *store, struct th_batch *batch,
				      struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);

	batch->next = NULL;
	batch->code = th_batch_check(batch, &batch->err);
	batch->refused = batch->code != TH_OK;
	th_sqlite_wait(s); /* behind what was given before */
	th_sqlite_write(s, batch);
	th_sqlite_checkpoint(s);
	if (batch->code != TH_OK && err)
		*err = batch->err;
	return batch->code;
}

/* ---- opening and closing ---- */

static void sqlite_close(struct th_store *store)
{
	struct th_sqlite *s = th_sqlite_of(store);

	assert(s->reading == 0);
	if (s->thread_started) {
		pthread_mutex_lock(&s->lock);
		s->stop = true;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		pthread_join(s->thread, NULL);
	}
	s->stop = true; /* what a callback commits from here on is written at once */
	while (s->under_way > 0)
		deliver(s);
	if (s->loop)
		th_loop_undefer(s->loop, &s->late);
	s->wake = th_wake_free(s->wake);
	th_sqlite_settle(s);
	th_db_close(&s->reader);
	th_db_close(&s->writer);
	th_fd_close(&s->mark_fd);
	th_sweep_end(&s->sweep);
	if (s->owners)
		th_owner_drop(&s->owner, s->owners);
	pthread_mutex_destroy(&s->writing);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s->known);
	th_buf_deinit(&s->rows);
	free(s->owners);
	free(s->path);
	free(s);
}

static char *copy(const char *text, const char *more)
{
	size_t len = strlen(text), more_len = strlen(more);
	char *ret = th_try_alloc(len + more_len + 1);

	if (!ret)
		return NULL;
	memcpy(ret, text, len);
	memcpy(ret + len, more, more_len);
	return ret;
}

static enum th_code check_path(struct th_str path, struct th_err *err)
{
	if (path.len == 0 || memchr(path.ptr, 0, path.len))
		return th_fail(err, TH_EUSAGE,
			       "sqlite: needs the path of a file, as in sqlite:FILE");
	if (path.len > TH_STORE_PATH_MAX)
		return th_fail(err, TH_ELIMIT, "sqlite: the path of a store has at most %d bytes",
			       TH_STORE_PATH_MAX);
	return TH_OK;
}

/* Resolved as far as there is something: all but the last names before the first run. */
static enum th_code sqlite_scope(struct th_str rest, struct th_buf *out, struct th_err *err)
{
	char path[TH_STORE_PATH_MAX + 1], real[TH_PATH_LEN_MAX];
	size_t there = rest.len;
	enum th_code code;

	if ((code = check_path(rest, err)))
		return code;
	memcpy(path, rest.ptr, rest.len);
	path[there] = '\0';
	while (!realpath(there > 0 ? path : ".", real)) {
		if (errno != ENOENT || there == 0)
			return th_fail_errno(err, errno, "%s", path);
		while (there > 0 && path[there - 1] == '/')
			there--;
		while (there > 0 && path[there - 1] != '/')
			there--;
		path[there] = '\0';
	}
	th_buf_add_cstr(out, real);
	if (there < rest.len && !th_str_ends(th_buf_str(out), TH_STR("/")))
		th_buf_add_char(out, '/');
	th_buf_add(out, th_str_sub(rest, there, rest.len));
	return TH_OK;
}

static enum th_code sqlite_open(struct th_str rest, const struct th_store_options *options,
				struct th_store **ret, struct th_err *err)
{
	enum th_db_mode mode = options->read_only ? TH_DB_READ_ONLY
			       : options->create  ? TH_DB_CREATE
						  : TH_DB_READ_WRITE;
	struct th_sqlite *s;
	enum th_code code;
	bool missing;

	if ((code = check_path(rest, err)))
		return code;
	s = th_try_alloc(sizeof(*s));
	if (!s)
		return th_fail_memory(err);
	s->base.kind = &th_store_sqlite;
	s->loop = options->loop;
	s->read_only = options->read_only;
	s->owner = (struct th_owner)TH_OWNER_INIT;
	s->mark_fd = -1;
	th_buf_init_try(&s->rows, TH_RECENT_BYTES_MAX);
	s->reader.busy_ms = s->writer.busy_ms = options->busy_ms ?: TH_STORE_BUSY_MS;
	s->late = (struct th_deferred){ .fn = deliver_late, .ctx = s };
	pthread_mutex_init(&s->writing, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->path = th_try_alloc(rest.len + 1);
	if (!s->path) {
		sqlite_close(&s->base);
		return th_fail_memory(err);
	}
	memcpy(s->path, rest.ptr, rest.len);
	missing = access(s->path, F_OK) != 0 && errno == ENOENT;
	code = th_db_open(&s->reader, s->path, mode, false, err);
	if (code == TH_OK) {
		/* Who comes by another name must find the same owners. */
		const char *real = sqlite3_db_filename(s->reader.sqlite, "main");

		s->owners = copy(real && *real ? real : s->path, ".owners");
		if (!s->owners)
			code = th_fail_memory(err);
	}
	if (code == TH_OK) {
		if (missing && s->reader.created)
			th_sqlite_mark_forget(s);
		if (!s->read_only)
			code = th_sqlite_mark_check(s, err);
	}
	if (code != TH_OK) {
		sqlite_close(&s->base);
		return code;
	}
	*ret = &s->base;
	return TH_OK;
}

const struct th_store_kind th_store_sqlite = {
	.scheme = "sqlite",
	.summary = "one file, flushed at every commit: sqlite:FILE",
	.scope = sqlite_scope,
	.open = sqlite_open,
	.close = sqlite_close,
	.commit = sqlite_commit,
	.commit_now = sqlite_commit_now,
	.lease = th_sqlite_lease,
	.lease_many = th_sqlite_lease_many,
	.release = th_sqlite_release,
	.get = th_sqlite_get,
	.list = th_sqlite_list,
	.read = th_sqlite_read,
	.blob = th_sqlite_blob,
	.usage = th_sqlite_usage,
	.remove = th_sqlite_remove,
	.sweep = th_sqlite_sweep,
	.verify = th_sqlite_verify,
};
