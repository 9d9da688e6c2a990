/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.h - the one event loop of a process: timers, deferred work, file
 * descriptors, signals and a fixed pool of workers, thin over libuv.
 *
 * It never reads or writes a descriptor itself and knows nothing of sessions.
 * The loop belongs to the thread that made it: every function here must be
 * called on that thread, th_wake_send excepted.  Timers and deferred calls
 * live in the caller's memory; stopping one takes effect at once and its
 * callback never comes late.  Polls, signals and wakes are ours: `free` takes
 * NULL, returns NULL, and no callback comes after it.
 *
 * One iteration: due timers, then deferred calls (the "before sleeping" hook:
 * the driver commits here), then sleep, then callbacks of descriptors, signals
 * and finished work.
 */
#ifndef TH_IO_LOOP_H
#define TH_IO_LOOP_H

#include "base/err.h"

struct th_loop;
struct uv_loop_s;

TH_NODISCARD enum th_code th_loop_new(struct th_loop **ret, struct th_err *err);
struct th_loop *
th_loop_free(struct th_loop *l);        /* all its users must be gone; waits for running work */
void th_loop_freep(struct th_loop **l); /* for TH_CLEANUP */

/* Runs until th_loop_stop, or until nothing is left that could ever call back (signals aside). */
void th_loop_run(struct th_loop *l);
void th_loop_stop(struct th_loop *l); /* th_loop_run returns at the end of this iteration */

/*
 * Inside somebody else's loop: poll th_loop_fd for reading, at most
 * th_loop_timeout_ms (-1: for ever), then th_loop_pass, which never sleeps.
 * Call th_loop_pass once before the first sleep and after every change made
 * from outside a callback: descriptors are only registered by a pass.
 */
int th_loop_fd(const struct th_loop *l);
int th_loop_timeout_ms(const struct th_loop *l);
bool th_loop_pass(struct th_loop *l); /* true: something is still active */

uint64_t th_loop_pass_number(const struct th_loop *l); /* rises with each; never 0 */
/* How many passes in a row, up to the one before this, took TH_LOOP_LONG_MS or more without a rest
 * between: 0 where there is not more to do than can be done. */
unsigned th_loop_long_passes(const struct th_loop *l);
bool th_loop_pass_took(const struct th_loop *l, uint64_t ms); /* this one, by now */

/* Monotonic time of this iteration: cheap, and equal for all callbacks of one iteration. */
uint64_t th_loop_now_ms(const struct th_loop *l);

/* ---- timers: caller's memory, zeroed or th_timer_init'ed before first use ---- */

typedef void th_timer_fn(void *ctx);

struct th_timer {
	struct th_loop *loop; /* private from here on */
	th_timer_fn *fn;
	void *ctx;
	uint64_t due_ms, repeat_ms, left_ms;
	size_t slot; /* in the heap, from 1; 0: not running */
	bool held;   /* with left_ms to go; 0: it had not been started */
};

void th_timer_init(struct th_timer *t, struct th_loop *l, th_timer_fn *fn, void *ctx);
/* (Re)starts: fires once after delay_ms, then every repeat_ms unless that is 0. */
void th_timer_start(struct th_timer *t, uint64_t delay_ms, uint64_t repeat_ms);
void th_timer_stop(struct th_timer *t);
/* It stands still, and what starts it meanwhile waits, until it goes on or is stopped. */
void th_timer_hold(struct th_timer *t);
void th_timer_go_on(struct th_timer *t);
static inline bool th_timer_running(const struct th_timer *t)
{
	return t->slot != 0;
}

/* ---- deferred calls: once, before the loop sleeps next ---- */

typedef void th_defer_fn(void *ctx);

struct th_deferred {
	th_defer_fn *fn;
	void *ctx;
	bool last;                       /* after all that are not */
	struct th_deferred *prev, *next; /* private */
	uint64_t ran;
};

/*
 * Queues `d` (again while queued: nothing).  Calls run in the order queued, those marked `last`
 * when no other is left.  A call queued by another call runs in the same iteration; one that queues
 * itself runs in the next, and the loop does not sleep in between.
 */
void th_loop_defer(struct th_loop *l, struct th_deferred *d);
void th_loop_undefer(struct th_loop *l, struct th_deferred *d); /* also when not queued */

/* ---- descriptors ---- */

/* HANGUP: the other side sends nothing more, whatever waits to be read. */
enum th_poll_events { TH_POLL_READ = 1, TH_POLL_WRITE = 2, TH_POLL_HANGUP = 4 };

struct th_poll;
/* `events` of enum th_poll_events; errors and hang-ups are reported as readable and writable. */
typedef void th_poll_fn(void *ctx, unsigned events);

/* The descriptor stays the caller's: free the poll before closing it.  Regular files cannot be
 * polled. */
TH_NODISCARD enum th_code th_poll_new(struct th_loop *l, int fd, th_poll_fn *fn, void *ctx,
				      struct th_poll **ret, struct th_err *err);
void th_poll_set(struct th_poll *p, unsigned events); /* 0: nothing is reported */
unsigned th_poll_get(const struct th_poll *p);
struct th_poll *th_poll_free(struct th_poll *p);

/* ---- signals ---- */

struct th_signal;
typedef void th_signal_fn(void *ctx, int signum);
TH_NODISCARD enum th_code th_signal_new(struct th_loop *l, int signum, th_signal_fn *fn, void *ctx,
					struct th_signal **ret, struct th_err *err);
struct th_signal *th_signal_free(struct th_signal *s);

/* ---- workers ---- */

/*
 * Runs `job` on a worker (TH_WORKERS of them, shared by the process), then
 * `done` on the loop.  `job` may touch only what `ctx` hands over; nobody
 * else may touch it until `done`.  Jobs of one caller may overtake each other:
 * who needs order keeps one job at a time.  Cannot fail.
 */
typedef void th_work_fn(void *ctx);
void th_work(struct th_loop *l, th_work_fn *job, th_work_fn *done, void *ctx);

/* ---- waking the loop from another thread ---- */

struct th_wake;
typedef void th_wake_fn(void *ctx);
TH_NODISCARD enum th_code th_wake_new(struct th_loop *l, th_wake_fn *fn, void *ctx,
				      struct th_wake **ret, struct th_err *err);
void th_wake_send(struct th_wake *w);  /* any thread; several sends may become one call */
void th_wake_quiet(struct th_wake *w); /* the loop may end though it could still be woken */
struct th_wake *th_wake_free(struct th_wake *w);

#endif
