/* SPDX-License-Identifier: Apache-2.0 */
/*
 * postgres.h - the PostgreSQL store, shared by its files: postgres.c (opening),
 * link.c, schema.c, row.c, commit.c (transactions), write.c (batches), append.c
 * (what goes into one; with entries.c, columns.c and fork.c), known.c, owner.c,
 * lease.c, node.c, notify.c, outbox.c, reserve.c, read.c, list.c, queue.c, remove.c, place.c,
 * put.c, choose.c, clean.c, verify.c.  Only these include it.
 *
 * Everything is in the schema `thole` of a database.  A session has a number, by
 * which its events are kept: (session_number, seq) is their key.  Text that a
 * digest or a checksum covers is kept byte by byte; JSONB is derived from it for
 * who asks with SQL, and NULL where JSONB cannot hold it.
 *
 * An append is one transaction of all sessions of a group.  It locks their rows,
 * compares owner, epoch and head, and writes; of sessions that were written here
 * last, locking, comparing and writing are one statement.  Its first statement
 * notes the number of the transaction in the row of this owner in `commits`, if
 * nobody has looked there meanwhile.  When the connection is cut while the COMMIT
 * is under way, a look at that row waits for the server to end the transaction,
 * says what became of it, and keeps out what the server may still have to read.
 */
#ifndef TH_POSTGRES_POSTGRES_H
#define TH_POSTGRES_POSTGRES_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/label.h"
#include "base/secret.h"
#include "io/clock.h"
#include "postgres/pq.h"
#include "store/blob_place.h"
#include "store/common.h"
#include "store/group.h"

#define TH_POSTGRES_VERSION 11

/* Whose lease is over at any time: the owner of sessions that were handed over. */
#define TH_PG_NOBODY "handed-over"

/* What this runtime has reserved: a row of the database. */
struct th_pg_reserved {
	struct th_pg_reserved *next;
	bool used;                           /* the append that is under way takes its place */
	char session[TH_SESSION_ID_MAX + 1]; /* for which it is; empty: that is not known yet */
	size_t session_len, name_len;
	char name[];
};

/* What this process is to the database: a row that it renews. */
struct th_pg_owner {
	char name[TH_UUID_TEXT_SIZE + 1]; /* "" until it is taken */
	uint64_t lease_ms;
	_Atomic bool taken;
	_Atomic uint64_t until_ms; /* by our clock: so long nobody else takes what it holds */
	struct th_pq keeper;       /* the connection of the thread that renews it */
	pthread_t thread;
	bool thread_started;
	int stop_fd; /* to end the thread; -1: there is none */
	/* What it says of itself. */
	char node[TH_FLEET_TEXT_MAX + 1], address[TH_FLEET_TEXT_MAX + 1];
	char labels[TH_LABELS_TEXT_MAX + 1];
	int64_t capacity;
	bool draining;
	struct th_wake *wake; /* to tell the loop that it is lost; NULL: nobody is told */
};

/* What nodes tell each other, and the thread that hears it. */
struct th_pg_notify {
	struct th_pq link;
	struct th_secret *url; /* of `link`; NULL: the store's */
	char *shown;           /* the same for people */
	pthread_t thread;
	bool started;
	int stop_fd, say_fd;  /* readable: it is to end, or to look at `said`; -1: there is none */
	_Atomic bool said;    /* the others are to be told */
	uint64_t said_ms;     /* when they may be told again; the thread's */
	bool deaf;            /* the loop knows that nothing is heard; the thread's */
	struct th_wake *wake; /* NULL: nobody is told */
	/* For the loop, under the store's `lock`. */
	bool told, lost;
	struct th_err why;
};

/* The places of a store, as one thread has them; the connection is the thread's. */
struct th_pg_place {
	int64_t number;
	struct th_blob_place *place;
	bool ours; /* false: this database is a copy of the one that the place belongs to */
};
struct th_pg_places {
	struct th_pg_place list[TH_PLACES_MAX];
	size_t count;
	const struct th_pg_place *current; /* what is put goes there; NULL: nowhere */
	uint64_t over;                     /* bytes: a larger blob */
	uint64_t looked_ms;                /* 0: never */
};

/* Large blobs of the batches that are being written: where each is, before its transaction. */
struct th_pg_put {
	struct th_digest hash;
	bool known; /* it has a row already, and nothing was put */
	int64_t place;
	char name[TH_PLACE_NAME_SIZE];
	uint64_t put_ms;
};
struct th_pg_puts {
	struct th_pg_put *list;
	size_t count, cap;
	uint64_t rest_until_ms; /* the place failed: so long nothing is put */
	int64_t failed;         /* the place that did, until it is noted; 0: none */
	struct th_err why;
};

/* The thread that removes objects which nobody names. */
struct th_pg_cleaner {
	pthread_t thread;
	bool started;
	int stop_fd; /* -1: there is none */
};

struct th_postgres {
	struct th_store base;
	struct th_group group;
	struct th_secret *url; /* it may have a password in it */
	char *shown;           /* the same for people */
	bool read_only;
	uint64_t busy_ms;
	th_store_lost_fn *lost;
	void *lost_ctx;
	th_store_heard_fn *told;
	void *told_ctx;

	struct th_pq reader;             /* the loop's */
	struct th_pg_places read_places; /* the same thread's */
	size_t reading;                  /* nested reads in one transaction */
	struct th_verify_report *report; /* while set: damage that is found goes there too */

	/* The worker has what is below while it holds `writing`. */
	pthread_mutex_t writing;
	struct th_pq writer;
	struct th_pg_places places; /* the writer's */
	struct th_pg_puts puts;
	struct th_pg_cleaner cleaner;
	struct th_pg_owner owner;
	struct th_pg_notify notify;
	struct th_pg_known *known;     /* a guess; cleared when a transaction comes to nothing */
	int64_t looks;                 /* at `commits` so far, as it says */
	int64_t batch;                 /* number of the last transaction of this owner */
	struct th_pg_columns *columns; /* memory that is used again */

	pthread_mutex_t lock;            /* of what follows */
	uint64_t system;                 /* which database it is; 0: not known yet */
	struct th_pg_reserved *reserved; /* this runtime's, newest first */
};

/* link.c */
struct th_postgres *th_postgres_of(struct th_store *s);
/* Opened for writing, and not lost. */
TH_NODISCARD enum th_code th_postgres_writable(struct th_postgres *s, struct th_err *err);
/* A connection of this store, there and to the same database as the others. */
TH_NODISCARD enum th_code th_postgres_connect(struct th_postgres *s, struct th_pq *c,
					      struct th_err *err);
/* With a small stack, and no signals. */
bool th_postgres_thread(pthread_t *ret, void *(*fn)(void *), struct th_postgres *s);

/* schema.c */
/* Makes or raises the schema, if that is asked for, else says what is wrong with it: ENOENT there
 * is none, EUNSUPPORTED it is newer or older. */
TH_NODISCARD enum th_code th_postgres_schema(struct th_pq *c, bool create, struct th_err *err);

/* row.c */
/* clang-format off */
#define TH_PG_SESSION_COLUMNS                                                          \
	"s.number, s.session_id, s.user_id, s.agent_type, s.model, s.agent_state,"     \
	" s.title, s.parent_id, s.parent_seq, s.head_seq, s.head, s.iteration, s.calls," \
	" s.tokens_in, s.tokens_cached, s.tokens_out, s.cost_nano, s.epoch, s.owner,"  \
	" s.created_ms, s.updated_ms, s.metadata, s.row_crc"
#define TH_PG_SESSION_COLUMN_COUNT 23
/* When a session begins (th_start_of), of a row: the same words wherever an index is to be used. */
#define TH_PG_START                                                                    \
	"CASE WHEN jsonb_typeof(raw_metadata -> '" TH_START_MEMBER "') = 'number'"     \
	" THEN (raw_metadata ->> '" TH_START_MEMBER "')::numeric END"
/* Who waits for a runtime, and since when: a dead one's since its last word, by the database's clock;
 * those whose time has come and that nobody has begun are nobody's. */
#define TH_PG_WAITING                                                                  \
	"SELECT s.number, s.user_id, s.raw_metadata, o.owner, CASE WHEN o.owner = '" TH_PG_NOBODY "'" \
	" THEN coalesce(s.left_at, o.seen) ELSE o.seen END AS since"                   \
	" FROM thole.owners o JOIN thole.sessions s ON s.owner = o.owner"              \
	" WHERE s.owner <> '' AND o.expires <= clock_timestamp()"                      \
	" AND s.agent_state IN ('running', 'loading')"                                 \
	" UNION ALL SELECT number, user_id, raw_metadata, '" TH_PG_NOBODY "',"         \
	" to_timestamp((" TH_PG_START ") / 1000.0) FROM thole.sessions"                \
	" WHERE agent_state = 'scheduled'"                                             \
	" AND " TH_PG_START " <= extract(epoch FROM clock_timestamp()) * 1000"
/* clang-format on */

/* Strings live as long as the result.  What is wrong with it, or NULL. */
const char *th_pg_row(PGresult *r, int row, uint64_t *ret_number, struct th_session_row *ret);
TH_NODISCARD enum th_code th_pg_row_keep(struct th_arena *a, struct th_session_row *row,
					 struct th_err *err);
enum th_code th_pg_fail_row(struct th_postgres *s, struct th_str id, const char *bad,
			    struct th_err *err);
enum th_code th_pg_fail_event(struct th_postgres *s, struct th_str id, uint64_t seq,
			      const char *bad, struct th_err *err);
/* Can JSONB hold it? */
bool th_pg_jsonb_ok(struct th_str json);

/* commit.c */
/* BEGIN of a transaction that is durable when it is over. */
TH_NODISCARD enum th_code th_postgres_begin(struct th_postgres *s, struct th_err *err);
/* COMMIT, and what became of it where that is not known.  Sends what is queued, too. */
TH_NODISCARD enum th_code th_postgres_commit(struct th_postgres *s, struct th_err *err);
void th_postgres_pause(struct th_postgres *s, uint64_t ms);
/* EIO: nothing is certain any more. */
enum th_code th_pg_fail_lost(struct th_postgres *s, struct th_err *err);

/* write.c */
/* In one transaction (th_group_ops.write).  On any thread; takes `writing`. */
TH_NODISCARD enum th_code th_postgres_write(struct th_postgres *s, struct th_batch *list,
					    struct th_err *err);

/* known.c */
struct th_pg_known;
TH_NODISCARD struct th_pg_known *th_pg_known_new(void);
struct th_pg_known *th_pg_known_free(struct th_pg_known *k); /* takes NULL, returns NULL */
void th_pg_known_clear(struct th_pg_known *k);               /* takes NULL */
/* What was written last, if the append goes on from there: number, head, epoch, counts, and user,
 * agent and model, as long as nothing is noted; *ret_rest: th_session_row_rest of the row. */
bool th_pg_known_find(const struct th_pg_known *k, const struct th_append *a, uint64_t *ret_number,
		      uint64_t *ret_rest, struct th_session_row *ret);
void th_pg_known_note(struct th_pg_known *k, uint64_t number, const struct th_session_row *row);

/* columns.c */
struct th_pg_columns;
TH_NODISCARD struct th_pg_columns *th_pg_columns_new(void);
struct th_pg_columns *th_pg_columns_free(struct th_pg_columns *c); /* takes NULL, returns NULL */

/* append.c: what goes into one transaction. */
/* In a transaction that has begun: all of it but the COMMIT, which is left to be sent with what is
 * queued.  Sets the results of all appends. */
TH_NODISCARD enum th_code th_postgres_append(struct th_postgres *s, struct th_batch *list,
					     struct th_err *err);

/* owner.c */
void th_pg_owner_init(struct th_pg_owner *o, uint64_t lease_ms);
/* With `writing`: there is a row, and a thread that renews it. */
TH_NODISCARD enum th_code th_pg_owner_take(struct th_postgres *s, struct th_err *err);
/* Ends the thread; the row goes, or says that its sessions are anybody's. */
void th_pg_owner_drop(struct th_postgres *s);
/* So long nobody takes what this process holds; 0: it is lost. */
static inline uint64_t th_pg_owner_left_ms(const struct th_pg_owner *o)
{
	uint64_t until_ms = atomic_load(&o->until_ms), now = th_clock_ms();

	return until_ms > now ? until_ms - now : 0;
}

/* lease.c */
enum th_code th_postgres_lease_many(struct th_store *store, const struct th_str *ids, size_t count,
				    bool skip, struct th_arena *a, struct th_session_row *rows,
				    struct th_err *errs, struct th_err *err);
enum th_code th_postgres_release_many(struct th_store *store, const struct th_held *list,
				      size_t count, struct th_err *errs, struct th_err *err);
/* The owners that live, among these: one of a name that is not among them is dead, and stays dead.
 * In a transaction of the writer. */
TH_NODISCARD enum th_code th_pg_living(struct th_postgres *s, struct th_pq_array *names,
				       PGresult **ret, struct th_err *err);
/* EBUSY, with a sentence, if another one that lives has it. */
enum th_code th_pg_check_owner(struct th_postgres *s, PGresult *living,
			       const struct th_session_row *row, struct th_err *err);

/* node.c */
enum th_code th_postgres_announce(struct th_store *store, const struct th_node *me,
				  struct th_err *err);
enum th_code th_postgres_nodes(struct th_store *store, struct th_str session_id, th_node_fn *fn,
			       void *ctx, struct th_err *err);
enum th_code th_postgres_slow(struct th_store *store, th_slow_fn *fn, void *ctx,
			      struct th_err *err);

/* notify.c */
void th_pg_notify_init(struct th_postgres *s);
/* With `writing`, after th_pg_owner_take: this runtime is told from now on.  `url`: th_node.notify.
 * EUSAGE: it is no such URL. */
TH_NODISCARD enum th_code th_pg_notify_start(struct th_postgres *s, struct th_str url,
					     struct th_err *err);
/* Something was left and is committed: the others are told soon, beside whoever calls. */
void th_pg_notify_say(struct th_postgres *s);
/* The thread ends.  True: there was one, so that others may wait for a last word. */
bool th_pg_notify_stop(struct th_postgres *s);
/* The others are told, in a transaction of its own. */
TH_NODISCARD enum th_code th_pg_notify_tell(struct th_postgres *s, struct th_pq *c,
					    struct th_err *err);
void th_pg_notify_deinit(struct th_postgres *s);

/* outbox.c */
enum th_code th_postgres_outbox_put(struct th_store *store, const struct th_outbox_line *lines,
				    size_t count, bool merged, struct th_err *err);
enum th_code th_postgres_outbox_take(struct th_store *store, th_outbox_fn *fn, void *ctx,
				     struct th_err *err);

/* reserve.c */
enum th_code th_postgres_reserve_many(struct th_store *store, const struct th_session_room *list,
				      size_t count, struct th_err *errs, struct th_err *err);
void th_postgres_reservation_use(struct th_store *store, struct th_str name, struct th_str id);
bool th_postgres_reservation_is(struct th_store *store, struct th_str name);
enum th_code th_postgres_unreserve_many(struct th_store *store, const struct th_str *names,
					size_t count, struct th_err *err);
/* The append (th_pg_reserved_end) is durable, or came to nothing. */
void th_pg_reserved_settle(struct th_postgres *s, bool durable);
void th_pg_reserved_deinit(struct th_postgres *s);

/* read.c */
TH_NODISCARD enum th_code th_postgres_read_begin(struct th_postgres *s, struct th_err *err);
void th_postgres_read_end(struct th_postgres *s);
/* The whole log, the parts stored with its ancestors included.  In a read. */
TH_NODISCARD enum th_code th_postgres_walk(struct th_postgres *s, struct th_str id, uint64_t from,
					   uint64_t to, th_event_fn *fn, void *ctx,
					   struct th_err *err);
/* The row, strings as long as *ret_result, which is the caller's to clear.  ENOENT, ECORRUPT. */
TH_NODISCARD enum th_code th_postgres_row(struct th_postgres *s, struct th_pq *c, struct th_str id,
					  PGresult **ret_result, uint64_t *ret_number,
					  struct th_session_row *ret, struct th_err *err);
enum th_code th_postgres_get(struct th_store *store, struct th_str id, struct th_arena *a,
			     struct th_session_row *ret, struct th_err *err);
enum th_code th_postgres_read(struct th_store *store, struct th_str id, uint64_t from, uint64_t to,
			      th_event_fn *fn, void *ctx, struct th_err *err);
enum th_code th_postgres_blob(struct th_store *store, const struct th_digest *hash,
			      struct th_buf *out, struct th_err *err);

/* queue.c */
enum th_code th_postgres_abandoned(struct th_store *store, size_t page, th_session_fn *fn,
				   void *ctx, struct th_err *err);

/* list.c */
enum th_code th_postgres_list(struct th_store *store, const struct th_session_filter *filter,
			      th_session_fn *fn, void *ctx, struct th_err *err);
enum th_code th_postgres_usage(struct th_store *store, const struct th_usage_filter *filter,
			       th_usage_fn *fn, void *ctx, struct th_err *err);

/* remove.c */
enum th_code th_postgres_remove(struct th_store *store, const struct th_str *ids, size_t count,
				struct th_err *err);
enum th_code th_postgres_sweep(struct th_store *store, bool *ret_more, struct th_err *err);

/* place.c */
/* Which database it is: a restored dump is another one. */
/* clang-format off */
#define TH_PG_SYSTEM_SQL                                                               \
	"((SELECT system_identifier::text FROM pg_control_system()) || '/' ||"         \
	" (SELECT oid::text FROM pg_database WHERE datname = current_database()))"
/* clang-format on */

void th_pg_places_deinit(struct th_pg_places *p);
/* What the database says of them, by this connection. */
TH_NODISCARD enum th_code th_pg_places_load(struct th_postgres *s, struct th_pq *c,
					    struct th_pg_places *p, struct th_err *err);
/* Queues what writes into its row that it failed, and why. */
TH_NODISCARD enum th_code th_pg_place_note(struct th_pq *c, int64_t number, const char *why,
					   struct th_err *err);
/* Appends the bytes of an object, by its digest.  TH_ENOENT is TH_ECORRUPT here: its row is there.
 * `c` looks up a place that is not known yet. */
TH_NODISCARD enum th_code th_pg_place_get(struct th_postgres *s, struct th_pq *c,
					  struct th_pg_places *p, int64_t number,
					  struct th_str object, const struct th_digest *hash,
					  struct th_buf *out, struct th_err *err);
/* put.c */
/* With `writing`, before the transaction: large blobs that are new are durable in the place, if
 * there is one.  Where it fails they go into the database, and nothing fails. */
TH_NODISCARD enum th_code th_pg_puts_make(struct th_postgres *s, const struct th_batch *list,
					  struct th_err *err);
/* In the transaction: what was known before is there, and stays.  TH_EBUSY: it is gone meanwhile,
 * and is to be put. */
TH_NODISCARD enum th_code th_pg_puts_check(struct th_postgres *s, struct th_err *err);
/* NULL: it goes into the database. */
const struct th_pg_put *th_pg_put_find(const struct th_pg_puts *p, const struct th_digest *hash);
/* choose.c */
enum th_code th_postgres_place_set(struct th_store *store, struct th_str url, uint64_t over,
				   struct th_err *err);
enum th_code th_postgres_places(struct th_store *store, th_store_place_fn *fn, void *ctx,
				struct th_err *err);

/* clean.c */
/* With `writing`: which places there are, looked at from time to time.  Where there is one,
 * somebody cleans there from now on. */
TH_NODISCARD enum th_code th_pg_places_know(struct th_postgres *s, struct th_err *err);
void th_pg_clean_stop(struct th_postgres *s);
enum th_code th_postgres_clean(struct th_store *store, struct th_clean_report *ret,
			       struct th_err *err);

/* verify.c */
enum th_code th_postgres_verify(struct th_store *store, struct th_str session_id,
				struct th_verify_report *ret, struct th_err *err);

#endif
