/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - reads of a store that do not block the loop.
 *
 * A reader has a thread with a read-only handle of the same store, which it
 * opens with the first job.  A job is one read: `run` is called on the thread,
 * then `done` on the loop.  A kind of store says in its row when it cannot be
 * opened a second time (th_store_kind.single); then, and when no thread or no
 * second handle can be had, `run` is called on the loop with the loop's handle,
 * one job in a pass.  The functions of a store stay synchronous and know
 * nothing of this.
 *
 * A job sees every commit whose callback came before th_reader_ask.  Jobs run in
 * the order in which they were asked.  Who reads a long log asks for it piece by
 * piece (th_log_read_next), so that others have their turn in between; who cannot
 * stop in the middle hands over what it has so far (th_read_give).
 *
 * A reader without a URL is for what a store lets other threads call (store.h: leases,
 * removals): its thread has the loop's handle itself.
 *
 * A job lies in the caller's memory.  That memory is the reader's from
 * th_reader_ask until `done`, or `drop` after th_reader_cancel.
 */
#ifndef TH_STORES_READER_H
#define TH_STORES_READER_H

#include "io/loop.h"
#include "store/store.h"

struct th_reader;
struct th_read;

enum th_read_state {
	TH_READ_IDLE,
	TH_READ_QUEUED,
	TH_READ_RUNNING,
	TH_READ_GIVING, /* the thread waits until `part` has been called */
	TH_READ_FINISHED
};

struct th_read {
	/* On the thread.  It may touch only the job and the store. */
	enum th_code (*run)(struct th_read *job, struct th_store *store, struct th_err *err);
	/* On the loop, once; `err` NULL: it went well. */
	void (*done)(struct th_read *job, enum th_code code, const struct th_err *err);
	/* On the loop, for each th_read_give; NULL: `run` never calls that. */
	void (*part)(struct th_read *job);
	/* On the loop: it was cancelled, and the thread has left it.  Frees it. */
	void (*drop)(struct th_read *job);
	/* What it reads was begun before: it is taken also where TH_READS_MAX wait. */
	bool goes_on;

	/* Private, zeroed before the first use. */
	struct th_reader *reader;
	struct th_read *next;
	enum th_read_state state;
	bool cancelled; /* written by the loop with the reader's lock */
	bool here;      /* to be run on the loop */
	enum th_code code;
	struct th_err err;
};

/* `store` is the loop's handle of `url`, and outlives the reader; url empty: see above.  NULL: out
 * of memory. */
TH_NODISCARD struct th_reader *th_reader_new(struct th_loop *loop, struct th_store *store,
					     struct th_str url);
/* Waits for the job that runs; those that are left are dropped.  Takes NULL, returns NULL. */
struct th_reader *th_reader_free(struct th_reader *r);

/* TH_EBUSY: TH_READS_MAX jobs wait already; never for one that goes on. */
TH_NODISCARD enum th_code th_reader_ask(struct th_reader *r, struct th_read *job,
					struct th_err *err);
/* `done` will not be called; `drop` is, now or when the thread has left the job. */
void th_reader_cancel(struct th_read *job);

/* Waits for it and those before it, and calls `done` before this returns.  Of a reader whose jobs
 * give no parts. */
void th_reader_finish(struct th_read *job);

/* For `run`: `part` is called on the loop before this returns.  TH_ECANCELED: nobody wants more. */
TH_NODISCARD enum th_code th_read_give(struct th_read *job, struct th_err *err);

/*
 * A log, a piece at a time: at most TH_READ_PIECE_EVENTS events, and no further one after `take`
 * has added TH_READ_PIECE_BYTES to `bytes`.
 */
struct th_log_read {
	uint64_t next, to; /* the piece begins at event `next`; `to` 0: the end */
	size_t bytes;      /* set to 0 with each piece; counted by `take` */
	size_t count;      /* events of the piece */
	bool over;         /* nothing follows the piece */
	th_event_fn *take;
	void *ctx;
};
/* Called in `run`; `next` is moved behind the piece. */
TH_NODISCARD enum th_code th_log_read_next(struct th_log_read *l, struct th_store *store,
					   struct th_str session_id, struct th_err *err);

#endif
