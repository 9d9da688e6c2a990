/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - the group commit of a store that waits for a disk or a server.
 *
 * The loop thread puts batches into a queue and never waits; the worker takes
 * all there are, has them written in one transaction, and wakes the loop, which
 * calls back.  What arrives while a transaction runs is the next one.  The
 * worker is a thread of its own, not one of the loop's pool: a commit must not
 * wait behind the encoding of pictures.
 */
#ifndef TH_STORE_GROUP_H
#define TH_STORE_GROUP_H

#include <pthread.h>

#include "io/loop.h"
#include "store/store.h"

struct th_group_ops {
	/* Writes the batches that are not `refused` in one transaction, or nothing of them; sets
	 * the results of their appends.  On any thread.  EIO: nothing is certain any more. */
	enum th_code (*write)(void *ctx, struct th_batch *list, struct th_err *err);
	/* After they were told, on the same thread; NULL: nothing is to be done. */
	void (*written)(void *ctx);
	/* A piece of clearing up; true: there is more.  What fails is tried again when
	 * th_group_sweep_soon says so. */
	bool (*sweep)(void *ctx);
};

/* Private. */
struct th_group {
	const struct th_group_ops *ops;
	void *ctx;
	struct th_loop *loop; /* NULL: nothing is written but at once */

	/* Between loop and worker, under `lock`. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct th_batch *queue, *queue_last;       /* to be written */
	struct th_batch *finished, *finished_last; /* to be called back */
	bool busy, stop;
	bool sweeping; /* there may be something to clear up when nothing else is to be done */
	bool broken;   /* nothing is written any more */
	struct th_err broken_err;
	bool thread_started;
	pthread_t thread;

	/* The loop's. */
	struct th_wake *wake; /* while batches are under way; set under `lock` */
	struct th_deferred late;
	size_t under_way;
};

void th_group_init(struct th_group *g, const struct th_group_ops *ops, void *ctx,
		   struct th_loop *loop);
/* What is under way is written and called back, and what the callbacks commit. */
void th_group_end(struct th_group *g);
void th_group_deinit(struct th_group *g); /* after th_group_end */

void th_group_commit(struct th_group *g, struct th_batch *batch, th_commit_fn *done, void *ctx);
/* Here and now, behind what was given before.  On any thread. */
TH_NODISCARD enum th_code th_group_commit_now(struct th_group *g, struct th_batch *batch,
					      struct th_err *err);
void th_group_wait(struct th_group *g); /* until the worker has nothing to write */
/* What the store has is not certain any more: nothing is written from now on.  On any thread. */
void th_group_break(struct th_group *g, const struct th_err *err);
/* EIO after that, with why. */
TH_NODISCARD enum th_code th_group_usable(struct th_group *g, struct th_err *err);
struct th_err th_group_why(struct th_group *g); /* the first error that broke it */
/* The worker clears up when it has nothing else to do; without a loop nobody does.  On any thread.
 */
void th_group_sweep_soon(struct th_group *g);

#endif
