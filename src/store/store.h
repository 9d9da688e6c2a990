/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - where logs live: what every kind of store promises.  Which kinds
 * there are, and how one is opened, is in stores/stores.h.
 *
 * A store keeps three tables: sessions, events, blobs.  Writing goes through
 * batches: everything that one turn of the loop produced, for all sessions, in
 * one transaction, made durable in a worker; the loop is told when it is.
 * Reading is synchronous; stores/reader.h has reads that do not block the loop.
 *
 * Fencing: a session has an epoch and an owner.  Taking a lease raises the
 * epoch, and so does releasing it; an append whose epoch is not the current one
 * is refused (EFENCED) and changes nothing.  An owner is an open store of a
 * runtime process that proves to be alive: on one machine by a lock which dies
 * with it, on many by a lease that it renews, by the database's clock.
 *
 * Threads: one thread uses a handle; `commit` hands the batch to the store until
 * its callback, which runs on the loop's thread, never inside `commit`.  Of a
 * kind that is not `single`, other threads may call what takes, gives back or
 * changes sessions at once: lease, lease_many, release, release_many, remove, outbox_put,
 * outbox_take, reserve_many, unreserve_many and commit_now.  They wait for each other and for the
 * commit that is under way.
 */
#ifndef TH_STORE_STORE_H
#define TH_STORE_STORE_H

#include "base/buf.h"
#include "base/err.h"
#include "core/batch.h"

struct th_loop;
struct th_store;

/*
 * Lists are newest first, by one of two times, and sessions of the same millisecond by id.
 * By `created` a walk through pages meets every session once, whatever happens meanwhile; by
 * `updated` one that goes on meanwhile moves to the front, where the next walk meets it.
 */
enum th_list_order { TH_LIST_UPDATED, TH_LIST_CREATED };

/* The session after which a page begins; it need not be there any more. */
struct th_session_cursor {
	int64_t ms;       /* in the list's order */
	struct th_str id; /* empty: the list begins at its first */
};

/* Empty: any. */
struct th_session_filter {
	struct th_str state, user, agent;
	struct th_str prefix;     /* of the id */
	struct th_str title;      /* somewhere in the title; ASCII letters in either case */
	struct th_str text;       /* the same, or in the words with which its first task begins */
	struct th_str key, value; /* a member of the metadata: a text, or another value as JSON */
	enum th_list_order order;
	struct th_session_cursor after;
	size_t limit; /* 0: all */
};

/* What sessions used, of a user, an agent, a model and a day; those that were removed, too. */
struct th_usage_row {
	struct th_str user, agent, model; /* empty: any, or none */
	int64_t day;                      /* since 1970, UTC: of the session's last event */
	int64_t sessions;                 /* that began */
	int64_t turns, calls, tokens_in, tokens_cached, tokens_out, cost_nano;
	struct th_used used; /* a minute behind what runs; of sessions since this build */
};

/* Each answer has lines of one kind: its member, and the sums. */
enum th_usage_by { TH_USAGE_BY_DAY, TH_USAGE_BY_USER, TH_USAGE_BY_AGENT, TH_USAGE_BY_MODEL };

struct th_usage_filter {
	enum th_usage_by by;
	struct th_str user;       /* empty: any */
	int64_t from_day, to_day; /* the last one included; 0: any */
};

typedef enum th_code th_usage_fn(void *ctx, const struct th_usage_row *row, struct th_err *err);

/* Whose a session is that was begun without a user, as those of the command line are. */
#define TH_USER_LOCAL "local"
bool th_user_is(struct th_str user, struct th_str of_row);

/* A cursor as text, for those who ask for the next page elsewhere: "u" or "c", the time, a dot, the
 * id. */
void th_cursor_print(enum th_list_order order, const struct th_session_row *row,
		     struct th_buf *out);
/* Into filter->order and ->after, which borrows.  TH_EUSAGE: it is no cursor. */
TH_NODISCARD enum th_code th_cursor_parse(struct th_str text, struct th_session_filter *filter,
					  struct th_err *err);

/* What verify found wrong first. */
struct th_verify_report {
	uint64_t sessions, events, blobs; /* checked */
	bool bad;
	char table[32]; /* "sessions", "events", "blobs" */
	char key[192];  /* "session a1 event 7" */
	char what[192]; /* one sentence */
};

/*
 * A runtime of a store that other machines use: what it says of itself (th_store_kind.announce),
 * and what the store knows of it.
 */
struct th_node {
	struct th_str name, address; /* where other nodes reach it; empty: nowhere */
	struct th_str labels;        /* what it has, a blank between (base/label.h) */
	int64_t capacity;            /* sessions that run at once; 0: it does not say */
	bool draining;               /* it gives up what it has, and takes nothing */
	/* The URL of the same database without a pooler between, for what the others tell this one
	 * (th_store_heard_fn); empty: the store's own.  May have a password in it. */
	struct th_str notify;
	/* The store's: */
	struct th_str owner, host, since; /* since: "2026-11-21 04:42", UTC */
	int64_t process;
	int64_t seen_ms, left_ms;                 /* since its last word; of its lease, 0: dead */
	int64_t running, waiting, paused, others; /* sessions that it has */
	/* Of a user's that run, or whose time has come: those that nobody works on, and since when
	 * the first of them has waited to be taken.  Those that nobody has are the one's without a
	 * host. */
	int64_t queue, queue_ms;
	int64_t slow; /* statements of it that took longer than TH_STORE_SLOW_MS */
};
typedef enum th_code th_node_fn(void *ctx, const struct th_node *node, struct th_err *err);

/* A statement that the store's server has had under way for longer than TH_STORE_SLOW_MS. */
struct th_slow {
	int64_t ms, process; /* the server's process */
	struct th_str host;  /* who asked; empty: the same machine */
	struct th_str waits; /* for what, as the server says it: "Lock: tuple"; empty: it works */
	struct th_str text;  /* its beginning */
};
typedef enum th_code th_slow_fn(void *ctx, const struct th_slow *slow, struct th_err *err);

/* What this runtime holds is lost, and may be another one's: effects end at once.  Once, on the
 * loop's thread; everything that is written from then on is refused. */
typedef void th_store_lost_fn(void *ctx, const struct th_err *err);

/*
 * To a runtime that was announced, on the loop's thread.  `why` NULL: others may have left
 * something that `abandoned` finds.  Else this runtime is not told any more, and why: once, until
 * it is told again.  Any word may be lost: who has to find what is left looks from time to time all
 * the same.
 */
typedef void th_store_heard_fn(void *ctx, const struct th_err *why);

struct th_store_options {
	struct th_loop *loop; /* for commit; NULL: only reading and commit_now */
	bool create;          /* make it when it is not there; else ENOENT */
	bool read_only;
	uint64_t busy_ms; /* how long another process may write; 0: TH_STORE_BUSY_MS */
	/* Of a store that other machines use: so long it holds what it has without a word from the
	 * server; 0: TH_STORE_LEASE_MS. */
	uint64_t lease_ms;
	th_store_lost_fn *lost; /* with a loop; NULL: nobody is told */
	void *lost_ctx;
	th_store_heard_fn *told; /* with a loop; NULL: nobody is told */
	void *told_ctx;
};

/* The words of one session's events (store/search.h). */
struct th_text_query {
	struct th_str words;
	uint64_t event; /* only this one, whatever its words; 0: any */
	size_t limit;
};
typedef enum th_code th_text_fn(void *ctx, uint64_t seq, struct th_str label, struct th_str text,
				struct th_err *err);

/*
 * A line of a runtime's outbox: what it has promised to the world outside and not done yet, by a
 * name.  Another runtime takes it when this one is dead.
 */
struct th_outbox_line {
	struct th_str name, text; /* text empty: it goes */
};
/* `taken`: it was a dead runtime's, and is this one's now; else it is another's of the same name.
 */
typedef enum th_code th_outbox_fn(void *ctx, const struct th_outbox_line *line, bool taken,
				  struct th_err *err);

/* Room for a session of a user's that is to run, by a name that nobody else has. */
struct th_session_room {
	struct th_str name, user;
	int64_t most; /* so many of the user's may run */
	/* Sessions whose rows say that they run, and that this runtime knows to rest. */
	const struct th_str *resting;
	size_t resting_count;
};

/* A session that is to be given back: held under this epoch. */
struct th_held {
	struct th_str session_id;
	int64_t epoch;
	/* It runs, and whoever finds it by `abandoned` goes on with it: of a kind that has that. */
	bool hand_over;
};

/* Where blobs are (store/blob_place.h); the first of a list is the database itself. */
struct th_store_place {
	struct th_str url; /* empty: the database */
	bool current;      /* large blobs go there */
	bool ours;         /* false: it belongs to the database that this one is a copy of */
	int64_t over;      /* bytes of what is large; current alone */
	int64_t blobs, bytes;
	int64_t doomed;        /* objects that nobody names, and that are to go */
	struct th_str failure; /* of the last time that it failed; empty: never */
	int64_t failed_s;      /* so long ago */
};
typedef enum th_code th_store_place_fn(void *ctx, const struct th_store_place *place,
				       struct th_err *err);

/* Of objects in places. */
struct th_clean_report {
	uint64_t seen;    /* there */
	uint64_t doomed;  /* nobody names them: to go when TH_BLOB_GRACE_MS is over */
	uint64_t spared;  /* were to go, and are named after all */
	uint64_t removed; /* gone */
};

struct th_store_kind {
	const char *scheme, *summary; /* "sqlite": sqlite:PATH */
	/* All its handles belong to one thread: the store is this process's memory.  Otherwise a
	 * second handle, opened read_only, may be used on another thread at the same time, and it
	 * sees every commit whose callback has come (stores/reader.h). */
	bool single;
	const char *also; /* another name of the scheme; NULL: none */
	/* See th_store_scope; NULL: as the url is. */
	enum th_code (*scope)(struct th_str rest, struct th_buf *out, struct th_err *err);
	enum th_code (*open)(struct th_str rest, const struct th_store_options *options,
			     struct th_store **ret, struct th_err *err);
	/* The URL as people may see it, and whether it has a password in it; NULL: as it is, and
	 * never. */
	void (*show)(struct th_str url, struct th_buf *out);
	bool (*secret)(struct th_str url);
	/* Waits for commits under way; their callbacks come before it returns. */
	void (*close)(struct th_store *s);

	void (*commit)(struct th_store *s, struct th_batch *batch, th_commit_fn *done, void *ctx);
	enum th_code (*commit_now)(struct th_store *s, struct th_batch *batch, struct th_err *err);

	/* No lease, release, commit_now or close from inside a callback of list or read. */

	/* Takes the session for this runtime: raises the epoch and returns the row as it then is
	 * (strings in the arena).  EBUSY when a live runtime has it: the message names it (process,
	 * host).  What this runtime has already it takes again, with a new epoch.  Not flushed: a
	 * power cut may undo it, but never after something was appended under it. */
	enum th_code (*lease)(struct th_store *s, struct th_str session_id, struct th_arena *a,
			      struct th_session_row *ret, struct th_err *err);
	/* The same for many sessions in one transaction: errs[i] says how ids[i] went.  `skip`: one
	 * that somebody else has in hand just now is EBUSY, and not waited for.
	 */
	enum th_code (*lease_many)(struct th_store *s, const struct th_str *ids, size_t count,
				   bool skip, struct th_arena *a, struct th_session_row *rows,
				   struct th_err *errs, struct th_err *err);
	/* Does this runtime certainly hold what it has?  NULL: always.  When not, no effect may
	 * begin: another one may have taken it meanwhile. */
	bool (*holds)(struct th_store *s);
	/* Gives it back.  EFENCED: it is not held under this epoch. */
	enum th_code (*release)(struct th_store *s, struct th_str session_id, int64_t epoch,
				struct th_err *err);
	/* The same for many in one transaction. */
	enum th_code (*release_many)(struct th_store *s, const struct th_held *list, size_t count,
				     struct th_err *errs, struct th_err *err);

	/* Of a store that other machines use; NULL: it is of this one alone. */
	/* What this runtime is to the others from now on; strings are copied. */
	enum th_code (*announce)(struct th_store *s, const struct th_node *me, struct th_err *err);
	/* All that live, and of the dead those that still have sessions; TH_FLEET_NODES_MAX at
	 * most.  With a session: only the one that lives and has it, if there is one. */
	enum th_code (*nodes)(struct th_store *s, struct th_str session_id, th_node_fn *fn,
			      void *ctx, struct th_err *err);

	/* Those that have been under way longest first, TH_STORE_SLOW_MAX at most; NULL: nobody can
	 * tell. */
	enum th_code (*slow)(struct th_store *s, th_slow_fn *fn, void *ctx, struct th_err *err);

	/* Sessions that run or are loading and whose owner is dead, and those that are scheduled
	 * and whose time has come by the store's clock, in the order of store/queue.h, without
	 * those that work for another, TH_FLEET_CLAIM_MAX at most: of a store that other machines
	 * use.  They are drawn from the first that so many runtimes as live could take at once, so
	 * that several that look do not meet at each of them.  `page` 0 has these; who can take
	 * none of them looks at the next page.  NULL: who opens the store finds them by itself
	 * (th_queue_due). */
	enum th_code (*abandoned)(struct th_store *s, size_t page, th_session_fn *fn, void *ctx,
				  struct th_err *err);

	/* Of a store that other machines use; NULL: no other runtime would find them. */
	/* Lines of this runtime, all in one transaction, durable when it returns.  `merged`: what
	 * outbox_take gave is in them, or is not wanted, and goes. */
	enum th_code (*outbox_put)(struct th_store *s, const struct th_outbox_line *lines,
				   size_t count, bool merged, struct th_err *err);
	/* What dead runtimes left is this one's from now on, and no other one gets it; what was
	 * taken and not merged yet comes again.  Then, of each of these names, those of the others
	 * that live. */
	enum th_code (*outbox_take)(struct th_store *s, th_outbox_fn *fn, void *ctx,
				    struct th_err *err);

	/* Of a store that other machines use; NULL: its runtime knows all that run. */
	/* In one transaction, each in its turn, errs[i] says how it went.  Counted is what runs of
	 * the user's, whoever has it, helpers left out, and what is reserved for him by runtimes
	 * that live; ELIMIT: `most` or more.  EBUSY: another runtime counts the user's just now;
	 * nothing is waited for. */
	enum th_code (*reserve_many)(struct th_store *s, const struct th_session_room *list,
				     size_t count, struct th_err *errs, struct th_err *err);
	/* It is for this session: the append by which that runs takes its place, in the same
	 * transaction.  At once, on any thread. */
	void (*reservation_use)(struct th_store *s, struct th_str name, struct th_str session_id);
	/* Nobody has taken its place yet.  The same. */
	bool (*reservation_is)(struct th_store *s, struct th_str name);
	/* Given back; what is not there any more is passed over. */
	enum th_code (*unreserve_many)(struct th_store *s, const struct th_str *names, size_t count,
				       struct th_err *err);

	enum th_code (*get)(struct th_store *s, struct th_str session_id, struct th_arena *a,
			    struct th_session_row *ret, struct th_err *err); /* ENOENT */
	enum th_code (*list)(struct th_store *s, const struct th_session_filter *filter,
			     th_session_fn *fn, void *ctx, struct th_err *err);
	/* Events from..to (0: the end) in order, the shared prefix of a fork included. */
	enum th_code (*read)(struct th_store *s, struct th_str session_id, uint64_t from,
			     uint64_t to, th_event_fn *fn, void *ctx, struct th_err *err);
	enum th_code (*blob)(struct th_store *s, const struct th_digest *hash, struct th_buf *out,
			     struct th_err *err); /* appends; ENOENT, ECORRUPT */
	/* In the order of the days or of the names.  ELIMIT: more than TH_USAGE_GROUPS_MAX lines.
	 */
	enum th_code (*usage)(struct th_store *s, const struct th_usage_filter *filter,
			      th_usage_fn *fn, void *ctx, struct th_err *err);

	/* Events whose text has all the words, newest first: for th_store_search, which reads the
	 * log where this fails or is NULL.  It must leave nothing behind when the session goes. */
	enum th_code (*search)(struct th_store *s, struct th_str session_id,
			       const struct th_text_query *query, th_text_fn *fn, void *ctx,
			       struct th_err *err);

	/* Removes sessions for good: all of them or, where one cannot be, none.  Durable when it
	 * returns; no reader meets any part of them again, and their names are free.  EBUSY:
	 * another runtime has one, or one that is not in the list was forked from it; ENOENT.
	 * One that this runtime has is its caller's to give up: appends to it are ENOENT.  At most
	 * TH_REMOVE_SESSIONS_MAX. */
	enum th_code (*remove)(struct th_store *s, const struct th_str *ids, size_t count,
			       struct th_err *err);
	/* What is left behind, a bounded piece in one transaction: their events, then the blobs
	 * that no event names any more.  *ret_more: there is more to do.  A store with a loop does
	 * it itself when nothing else waits to be written. */
	enum th_code (*sweep)(struct th_store *s, bool *ret_more, struct th_err *err);

	/* Of a kind whose large blobs may be elsewhere; NULL: they are in the database alone. */
	/* New blobs of more than `over` bytes go there from now on, those of every runtime of the
	 * store within TH_PLACE_LOOK_MS; url empty: to the database.  It is tried first. */
	enum th_code (*place_set)(struct th_store *s, struct th_str url, uint64_t over,
				  struct th_err *err);
	enum th_code (*places)(struct th_store *s, th_store_place_fn *fn, void *ctx,
			       struct th_err *err);
	/* Mark and sweep, now, of all places: what a runtime does by itself from time to time. */
	enum th_code (*clean)(struct th_store *s, struct th_clean_report *ret, struct th_err *err);

	/* Every stored byte against its digest; session_id empty: the whole store.  Columns of the
	 * sessions table that a fold gives are checked by the caller through `list` (run/verify).
	 */
	enum th_code (*verify)(struct th_store *s, struct th_str session_id,
			       struct th_verify_report *ret, struct th_err *err);
};

struct th_store {
	const struct th_store_kind *kind;
};

/* What an event may mean by a hash of 64 hexadecimal digits in its data: every blob that it names,
 * and other digests. */
typedef enum th_code th_hash_fn(void *ctx, const struct th_digest *hash, struct th_err *err);
enum th_code th_hashes_in(struct th_str text, th_hash_fn *fn, void *ctx, struct th_err *err);

struct th_store *th_store_close(struct th_store *s); /* takes NULL, returns NULL */
bool th_store_holds(struct th_store *s);

#endif
