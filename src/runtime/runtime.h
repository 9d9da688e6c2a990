/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.h - the driver in the real world: a loop, curl, executors, a store.
 *
 * One runtime serves any number of sessions of one store on one thread.  What
 * the command line, the server and the C API do goes through here.
 */
#ifndef TH_RUNTIME_RUNTIME_H
#define TH_RUNTIME_RUNTIME_H

#include "base/secret.h"
#include "config/config.h"
#include "driver/driver.h"
#include "io/loop.h"
#include "store/store.h"
#include "stores/reader.h"

struct th_runtime;

struct th_runtime_options {
	struct th_loop *loop;    /* borrowed; NULL: the runtime makes and runs its own */
	struct th_str store_url; /* "sqlite:PATH", "memory:" */
	bool store_create;
	bool store_read_only;           /* no leases, no runs */
	const struct th_config *config; /* borrowed: keys, base URLs, linger …; NULL: none */
	bool no_sandbox;
	const char *program; /* th_executor_options.program */
	/* Somebody may play the model (human/human) through these descriptors: `in` is read only
	 * when he is asked, and only if th_human_model_behind(in). */
	bool person;
	int person_in, person_out;
};

TH_NODISCARD enum th_code th_runtime_new(const struct th_runtime_options *options,
					 struct th_runtime **ret, struct th_err *err);
/* Ends connections, waits for commits under way; executors live on.  Takes NULL, returns NULL. */
struct th_runtime *th_runtime_free(struct th_runtime *rt);

struct th_loop *th_runtime_loop(struct th_runtime *rt);
struct th_store *th_runtime_store(struct th_runtime *rt);
struct th_driver *th_runtime_driver(struct th_runtime *rt);
/* Reads beside the loop: pieces and single rows; and jobs that may take seconds. */
struct th_reader *th_runtime_reader(struct th_runtime *rt);
struct th_reader *th_runtime_long_reader(struct th_runtime *rt);
/* Blobs alone: they may be in a place that is slow or away, for which nothing else waits. */
struct th_reader *th_runtime_blob_reader(struct th_runtime *rt);
/* Its jobs get the loop's handle, on a thread, for what store.h lets other threads call. */
struct th_reader *th_runtime_writer(struct th_runtime *rt);

/* Of a store whose kind has reserve_many. */
struct th_reservations *th_runtime_reservations(struct th_runtime *rt);

/* What others of the store leave is told to `fn`, as store.h has it. */
void th_runtime_when_left(struct th_runtime *rt, th_store_heard_fn *fn, void *ctx);

/* Adds a tool that runs as a function of this process (C API, benchmarks); all borrowed. */
TH_NODISCARD enum th_code th_runtime_tool(struct th_runtime *rt, const struct th_tool_row *row,
					  struct th_err *err);

/* How a session begins. */
struct th_start {
	struct th_str session_id; /* empty: a UUIDv7 is made */
	const struct th_agent
	    *agent; /* copied; model, workspace, computer filled in by the caller */
	/* `agent` as the log will have it, without a workspace; empty: it is printed. */
	struct th_str definition;
	struct th_str user, metadata; /* metadata: JSON object or empty */
	/* Functions of this process for this session, found before the runtime's and the built-in
	 * ones.  The rows are copied; what they point to lives as long as the session is open. */
	const struct th_tool_row *tools;
	size_t tool_count;
	/* An agent whose computer is of kind "custom" has this one, of the size that its definition
	 * gives; the row's local answers as the executor's computer would.  Copied like the tools.
	 */
	const struct th_tool_row *computer;
	/* What answers where the definition names code (live/callbacks.h): of all its agents.
	 * Copied; its ctx lives as long as the session is open. */
	const struct th_callbacks *callbacks;
	/* A stored session with more than TH_OPEN_EVENTS_MAX events: its log is read beside the
	 * loop, and `ready` is called from there, also to tell what is wrong with its agent. */
	bool in_pieces;
	/* So is any log, and the lease is taken there, where the kind of store has another thread
	 * (agent NULL). */
	bool beside;
	const struct th_session_row
	    *leased; /* a stored one whose lease is taken; NULL: it is not */
	/* It was taken from the dead: where it cannot be opened, whoever looks next may try. */
	bool from_dead;
	/* A new one whose name nobody has used: the store is not asked whether it has it. */
	bool fresh;
};

/*
 * Creates the session, or takes an existing one up (start->agent NULL, or the
 * id exists and `take_up`): leases it, folds its log, resolves model, tools
 * and, where it has a computer, opens that first so that its size is known
 * (`ready` is called once, from the loop, or before this returns when there is no computer; a
 * failure wrote nothing but the lease).  Then th_driver_message / _resume drive it.
 * EBUSY: another runtime has it.  ENOENT, EEXIST, EUSAGE (model, key, tool …) at once, with a
 * sentence.
 */
typedef void th_ready_fn(void *ctx, struct th_handle h,
			 const struct th_err *err); /* err NULL: ready */
TH_NODISCARD enum th_code th_runtime_start(struct th_runtime *rt, const struct th_start *start,
					   bool take_up, const struct th_observer *observer,
					   th_ready_fn *ready, void *ctx, struct th_err *err);

/* Takes up a stored session whose lease is held already: `leased` as store->lease or lease_many
 * gave it (copied).  Otherwise as th_runtime_start; on failure the lease is given back. */
TH_NODISCARD enum th_code th_runtime_take_up(struct th_runtime *rt,
					     const struct th_session_row *leased,
					     const struct th_observer *observer, th_ready_fn *ready,
					     void *ctx, struct th_err *err);

/* A session that was closed is given back beside the loop.  Is it still to be?  Before its name is
 * free for another one, it has to be over. */
bool th_runtime_gives_back(const struct th_runtime *rt, struct th_str session_id);
void th_runtime_give_back_now(struct th_runtime *rt, struct th_str session_id);
/* Is any session still to be?  `fn` is called, from the loop, when none is any more. */
bool th_runtime_gives(const struct th_runtime *rt);
void th_runtime_when_given(struct th_runtime *rt, void (*fn)(void *ctx), void *ctx);

/* One whose lease was taken for a session that is not begun after all; `from_dead`: whoever looks
 * next may try. */
void th_runtime_give_leased(struct th_runtime *rt, const struct th_session_row *leased,
			    bool from_dead);

/*
 * A host that starts again: takes up every session of the store that is not over (running,
 * waiting, paused, idle, loading).  They are leased TH_RECOVER_GROUP in a transaction, and the log
 * of each is read once and folded.  One that cannot be had (another runtime has it, its log does
 * not fold, no key for its model) does not keep the others: `ready` is told why.
 */
struct th_recover {
	/* Its observer; false: it is left alone.  NULL: all, without observer. */
	bool (*wants)(void *ctx, const struct th_session_row *row, struct th_observer *ret);
	/* Once for each that was wanted, before this returns or (those with a computer or a long
	 * log) from the loop; err NULL: taken up.  NULL: nobody asks. */
	void (*ready)(void *ctx, struct th_str session_id, struct th_handle h,
		      const struct th_err *err);
	void *ctx; /* lives until all are ready */
	/* Those that run or wait go on: open effects are settled by their class, and what is due
	 * is done.  Else that is th_driver_resume's, when the caller says so. */
	bool resume;
};
#define TH_RECOVER_GROUP 1000
TH_NODISCARD enum th_code th_runtime_recover(struct th_runtime *rt, const struct th_recover *how,
					     struct th_err *err);

/* Stops working on it: releases the lease; the executor lingers.  `end_executor`: and is told to
 * end (the session is over).  Waits for the flush, so not to be called from a callback, except
 * where th_driver_durable says that there is nothing to wait for. */
void th_runtime_close(struct th_runtime *rt, struct th_handle h, bool end_executor);

/* The same of one that was removed from the store: there is no lease to give back, which could be
 * that of another session, begun under its name meanwhile. */
void th_runtime_forget(struct th_runtime *rt, struct th_handle h);

/* As th_runtime_close, of one that runs: whichever runtime of the store finds it goes on with it,
 * in a moment. It is closed here also where that fails.  The store's kind can do that. */
TH_NODISCARD enum th_code th_runtime_hand_over(struct th_runtime *rt, struct th_handle h,
					       struct th_err *err);

/* The session that was begun with this ctx of `ready`, and whose lease is waited for or whose log
 * is still being read (if there is one) is opened at once, for who cannot wait; `ready` is called,
 * unless its computer comes first. */
void th_runtime_open_now(struct th_runtime *rt, const void *ready_ctx);
/* Or it is not opened, and `ready` is not called.  False: there is none; `ready` comes or came. */
bool th_runtime_give_up(struct th_runtime *rt, const void *ready_ctx);

/* Secrets for commands that name them: a JSON object of names and values; null takes one away.
 * They are in memory alone.  TH_EUSAGE, TH_ELIMIT: nothing of it was done. */
struct th_json;
TH_NODISCARD enum th_code th_runtime_give(struct th_runtime *rt, struct th_handle h,
					  const struct th_json *secrets, struct th_err *err);
/* Is the session open here, as one of its own or as one that works for another? */
bool th_runtime_has(const struct th_runtime *rt, struct th_str session_id);
/* As one that works for another? */
bool th_runtime_works_for(const struct th_runtime *rt, struct th_str session_id);
/* The session is over or was removed: its executor, if one runs, is told to end, and what it kept
 * is removed.  One that is held under a later epoch refuses; 0: it is told all the same. */
void th_runtime_executor_end(struct th_runtime *rt, struct th_str session_id, int64_t epoch,
			     struct th_str far);

/* The same of one that was removed, wherever the log says that its executor is; one of another
 * machine is not told without an epoch. */
void th_runtime_executor_removed(struct th_runtime *rt, struct th_str session_id, int64_t epoch,
				 struct th_str place);

/* How executors of other machines are reached, and ours from there (exec_client/client.h). */
struct th_runtime_far {
	struct th_str place;         /* HOST:PORT of our gate */
	const char *cert, *key, *ca; /* files */
};
/* Again: certificates are read anew.  TH_EUSAGE. */
TH_NODISCARD enum th_code th_runtime_far(struct th_runtime *rt, const struct th_runtime_far *far,
					 struct th_err *err);

/* What this machine has, a good text of labels (base/label.h); its kinds of computer are added.
 * From now on a session that needs others is neither begun nor opened: TH_EPLACE, and the sentence
 * ends with ": " and what it needs. */
void th_runtime_labels(struct th_runtime *rt, struct th_str labels);
/* Would a stored one be refused? */
TH_NODISCARD enum th_code th_runtime_place_stored(struct th_runtime *rt, struct th_str session_id,
						  struct th_err *err);
struct th_str th_runtime_labels_of(const struct th_runtime *rt); /* all; before that, none */

/*
 * An open session that rests is set going, as its user asked: a pause ends, and a failure, a limit
 * or a stop is left behind.  `taken_up`: it was stored, and this is the first word since: what was
 * under way is settled by its class.
 */
TH_NODISCARD enum th_code th_runtime_go_on(struct th_runtime *rt, struct th_handle h, bool taken_up,
					   struct th_err *err);

/* The store failed for good: why.  NULL: it did not. */
const struct th_err *th_runtime_failure(const struct th_runtime *rt);

/* Runs the loop until nothing waits for a flush (with the runtime's own loop). */
TH_NODISCARD enum th_code th_runtime_settle(struct th_runtime *rt, struct th_err *err);

#endif
