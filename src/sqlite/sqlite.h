/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sqlite.h - the SQLite store, shared by its files: sqlite.c (the store), open.c (a
 * connection), db.c (its statements), columns.c, write.c, append.c, lease.c, recent.c, mark.c,
 * wal.c, read.c, walk.c, list.c, verify*.c, sums.c, text.c, usage.c, remove.c and sweep.c.
 * Nobody else includes it.
 *
 * Tables: sessions (in the order in which they began), events, blobs,
 * recent (what is newer than the rows of sessions: recent.c), usage (sums:
 * sums.c), tasks (words to find sessions by), removed and orphans (what
 * removed sessions leave behind: sweep.c).  Events lie in the
 * order in which they were written, all of one append side by side: `place`
 * counts them through the whole store.  There is no index on (session_id, seq):
 * it would touch one more page per session and commit, as much work as all the
 * rest.  Instead each session's row knows where its last append begins
 * (last_place), and every event where the append before its own began (prev).
 * Lists have indexes on the rows of sessions.  An append touches them only when the
 * row itself is written: most often only `recent` is.
 */
#ifndef TH_SQLITE_SQLITE_H
#define TH_SQLITE_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>

#include "sqlite/owner.h"
#include "store/common.h"
#include "store/group.h"

#define TH_SQLITE_APPLICATION_ID 0x74686f6c /* "thol" */
#define TH_SQLITE_VERSION 5                 /* 1: without the table `recent` */
#define TH_SQLITE_VERSION_READ 2            /* no indexes of lists; 3: no sums; 4: no `used` */
#define TH_SQLITE_PAGE_SIZE 4096

/* clang-format off */
#define TH_SESSION_COLUMNS                                                             \
	"number, session_id, user, agent, model, state, title, parent, parent_seq, head_seq, " \
	"head, iteration, calls, tokens_in, tokens_out, cost_nano, epoch, owner, "     \
	"created_ms, updated_ms, metadata, last_place, check_crc, tokens_cached"
#define TH_EVENT_COLUMNS                                                               \
	"place, session_id, seq, prev, ts_ms, id, source, kind, cause, call, data, "   \
	"build, digest"

#define TH_USAGE_COLUMNS                                                               \
	"user, day, agent, model, sessions, turns, calls, tokens_in, tokens_cached, "  \
	"tokens_out, cost_nano, check_crc"
#define TH_USED_COLUMNS                                                                \
	"user, day, agent, model, tokens_written, model_ms, tools_ms, person_ms, check_crc"

/* The place is the next that is free.  OR FAIL: nothing to go back to is kept, since what fails
 * ends the transaction. */
#define TH_EVENT_INSERT                                                                \
	"INSERT OR FAIL INTO events (session_id, seq, prev, ts_ms, id, source, kind, " \
	"cause, call, data, build, digest) VALUES "
#define TH_EVENT_PARAMETERS 12
#define TH_EVENT_VALUES "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define TH_EVENT_VALUES_4                                                              \
	TH_EVENT_VALUES "," TH_EVENT_VALUES "," TH_EVENT_VALUES "," TH_EVENT_VALUES

/* id, SQL */
#define TH_STATEMENTS(X)                                                               \
	X(BEGIN, "BEGIN")                                                              \
	X(BEGIN_IMMEDIATE, "BEGIN IMMEDIATE")                                          \
	X(COMMIT, "COMMIT")                                                            \
	X(ROLLBACK, "ROLLBACK")                                                        \
	X(LAST_PLACE, "SELECT max(place) FROM events")                                 \
	X(LAST_NUMBER, "SELECT max(number) FROM sessions")                             \
	X(SESSION_HEAD, "SELECT number, epoch, owner, head_seq, head, last_place"      \
	  " FROM sessions WHERE session_id = ?2")                                      \
	X(SESSION_FENCE, "SELECT epoch, owner FROM sessions WHERE number = ?1")        \
	X(SESSION_SPAN, "SELECT parent, parent_seq, head_seq, last_place, number FROM sessions" \
	  " WHERE session_id = ?1")                                                    \
	X(SESSION_INSERT, "INSERT INTO sessions (" TH_SESSION_COLUMNS ") VALUES"       \
	  " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16,"   \
	  " ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)")                                       \
	X(SESSION_UPDATE, "UPDATE sessions SET user = ?3, agent = ?4, model = ?5,"     \
	  " state = ?6, title = ?7, parent = ?8, parent_seq = ?9, head_seq = ?10,"     \
	  " head = ?11, iteration = ?12, calls = ?13, tokens_in = ?14,"                \
	  " tokens_out = ?15, cost_nano = ?16, created_ms = ?19, updated_ms = ?20,"    \
	  " metadata = ?21, last_place = ?22, check_crc = ?23, tokens_cached = ?24 WHERE number = ?1"       \
	  " AND session_id = ?2 AND epoch = ?17 AND owner = ?18")                      \
	X(SESSION_NUMBER, "SELECT " TH_SESSION_COLUMNS " FROM sessions WHERE number = ?1") \
	X(SESSION_GET, "SELECT " TH_SESSION_COLUMNS " FROM sessions WHERE session_id = ?1") \
	X(SESSION_LEASE, "UPDATE sessions SET epoch = ?2, owner = ?3, check_crc = ?4"  \
	  " WHERE number = ?1")                                                        \
	X(LIST_UPDATED, "SELECT " TH_SESSION_COLUMNS " FROM sessions"                  \
	  " WHERE updated_ms <= ?1 AND (updated_ms < ?1 OR session_id > ?2)"           \
	  " ORDER BY updated_ms DESC, session_id")                                     \
	X(LIST_CREATED, "SELECT " TH_SESSION_COLUMNS " FROM sessions"                  \
	  " WHERE created_ms <= ?1 AND (created_ms < ?1 OR session_id > ?2)"           \
	  " ORDER BY created_ms DESC, session_id")                                     \
	X(LIST_USER, "SELECT " TH_SESSION_COLUMNS " FROM sessions WHERE user = ?3"     \
	  " AND created_ms <= ?1 AND (created_ms < ?1 OR session_id > ?2)"             \
	  " ORDER BY created_ms DESC, session_id")                                     \
	X(LIST_WAITING, "SELECT " TH_SESSION_COLUMNS " FROM sessions"                  \
	  " WHERE state = 'waiting'"                                                   \
	  " AND created_ms <= ?1 AND (created_ms < ?1 OR session_id > ?2)"             \
	  " ORDER BY created_ms DESC, session_id")                                     \
	X(SESSION_DELETE, "DELETE FROM sessions WHERE number = ?1")                    \
	X(SESSION_FORK, "SELECT session_id FROM sessions WHERE parent = ?1 AND parent <> ''" \
	  " LIMIT 1")                                                                  \
	X(SESSION_ALL, "SELECT " TH_SESSION_COLUMNS " FROM sessions ORDER BY number")  \
	X(EVENT_INSERT, TH_EVENT_INSERT TH_EVENT_VALUES)                               \
	X(EVENT_INSERT_4, TH_EVENT_INSERT TH_EVENT_VALUES_4)                           \
	X(EVENT_INSERT_16, TH_EVENT_INSERT TH_EVENT_VALUES_4 "," TH_EVENT_VALUES_4 "," \
	  TH_EVENT_VALUES_4 "," TH_EVENT_VALUES_4)                                     \
	X(EVENT_RANGE, "SELECT " TH_EVENT_COLUMNS " FROM events"                       \
	  " WHERE place BETWEEN ?1 AND ?2 ORDER BY place")                             \
	X(EVENT_PREV, "SELECT session_id, seq, prev FROM events WHERE place = ?1")     \
	X(EVENT_FREE, "INSERT INTO events (session_id, seq, prev, ts_ms, id, source, kind,"  \
	  " cause, call, data, build, digest) VALUES ('', 0, 0, 0, zeroblob(16),"      \
	  " 'operator', 'state_changed', 0, '', '', '', zeroblob(32))")                \
	X(EVENT_SCAN, "SELECT place, data FROM events WHERE place > ?1 ORDER BY place") \
	X(EVENT_DELETE, "DELETE FROM events WHERE place BETWEEN ?1 AND ?2")            \
	X(REMOVED_INSERT, "INSERT INTO removed (session_id, place, last, check_crc, id)" \
	  " VALUES (?1, ?2, ?3, ?4, ?5)")                                              \
	X(LAST_REMOVED, "SELECT max(id) FROM removed")                                 \
	X(REMOVED_NEXT, "SELECT id, session_id, place, last, check_crc FROM removed"   \
	  " WHERE session_id <> '' ORDER BY id LIMIT 1")                               \
	X(REMOVED_ALL, "SELECT id, session_id, place, last, check_crc FROM removed"    \
	  " ORDER BY id")                                                              \
	X(REMOVED_UPDATE, "UPDATE removed SET place = ?2, check_crc = ?3 WHERE id = ?1") \
	X(REMOVED_DELETE, "DELETE FROM removed WHERE id = ?1")                         \
	X(FREE_EVENTS_DELETE, "DELETE FROM events WHERE session_id = '' AND place IN"  \
	  " (SELECT place FROM removed WHERE session_id = '' AND place < ?1)")         \
	X(FREE_DELETE, "DELETE FROM removed WHERE session_id = '' AND place < ?1")     \
	X(ORPHAN_INSERT, "INSERT OR REPLACE INTO orphans (hash, stamp, check_crc)"     \
	  " SELECT hash, ?2, ?3 FROM blobs WHERE hash = ?1")                           \
	X(ORPHAN_ALL, "SELECT hash, stamp, check_crc FROM orphans ORDER BY hash")      \
	X(ORPHAN_DELETE, "DELETE FROM orphans WHERE hash = ?1 AND stamp = ?2")         \
	X(ORPHAN_KEEP, "DELETE FROM orphans WHERE hash = ?1")                          \
	X(BLOB_DELETE, "DELETE FROM blobs WHERE hash = ?1 AND EXISTS (SELECT 1 FROM"   \
	  " orphans WHERE hash = ?1 AND stamp = ?2)")                                  \
	X(TASK_INSERT, "INSERT OR IGNORE INTO tasks (number, text, check_crc)"         \
	  " VALUES (?1, ?2, ?3)")                                                      \
	X(TASK_GET, "SELECT text, check_crc FROM tasks WHERE number = ?1")             \
	X(TASK_OF, "SELECT text FROM tasks WHERE number ="                             \
	  " (SELECT number FROM sessions WHERE session_id = ?1)")                      \
	X(TASK_DELETE, "DELETE FROM tasks WHERE number = ?1")                          \
	X(TASK_ALL, "SELECT number, text, check_crc FROM tasks ORDER BY number")       \
	X(USAGE_FIND, "SELECT " TH_USAGE_COLUMNS " FROM usage WHERE user = ?1"         \
	  " AND day = ?2 AND agent = ?3 AND model = ?4")                               \
	X(USAGE_INSERT, "INSERT INTO usage (user, day, agent, model, sessions, turns,"  \
	  " calls, tokens_in, tokens_cached, tokens_out, cost_nano, check_crc) VALUES" \
	  " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)")                      \
	X(USAGE_UPDATE, "UPDATE usage SET sessions = ?5, turns = ?6, calls = ?7,"      \
	  " tokens_in = ?8, tokens_cached = ?9, tokens_out = ?10, cost_nano = ?11,"    \
	  " check_crc = ?12 WHERE user = ?1 AND day = ?2 AND agent = ?3 AND model = ?4") \
	X(USAGE_ALL, "SELECT " TH_USAGE_COLUMNS " FROM usage ORDER BY user, day")      \
	X(USAGE_OF_USER, "SELECT " TH_USAGE_COLUMNS " FROM usage WHERE user = ?1"      \
	  " AND day BETWEEN ?2 AND ?3")                                                \
	X(USED_FIND, "SELECT " TH_USED_COLUMNS " FROM used WHERE user = ?1"           \
	  " AND day = ?2 AND agent = ?3 AND model = ?4")                               \
	X(USED_WRITE, "INSERT OR REPLACE INTO used (" TH_USED_COLUMNS ") VALUES"       \
	  " (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")                                     \
	X(USED_ALL, "SELECT " TH_USED_COLUMNS " FROM used ORDER BY user, day")         \
	X(USED_OF_USER, "SELECT " TH_USED_COLUMNS " FROM used WHERE user = ?1"         \
	  " AND day BETWEEN ?2 AND ?3")                                                \
	X(RECENT_INSERT, "INSERT INTO recent (place, rows) VALUES (?1, ?2)")           \
	X(RECENT_ALL, "SELECT place, rows FROM recent ORDER BY place")                 \
	X(RECENT_FROM, "SELECT place, rows FROM recent WHERE place >= ?1 ORDER BY place") \
	X(RECENT_DELETE, "DELETE FROM recent")                                         \
	X(BLOB_FIND, "SELECT 1 FROM blobs WHERE hash = ?1")                            \
	X(BLOB_INSERT, "INSERT INTO blobs (hash, media_type, check_crc, bytes)"        \
	  " VALUES (?1, ?2, ?3, ?4)")                                                  \
	X(BLOB_GET, "SELECT hash, media_type, check_crc, bytes FROM blobs WHERE hash = ?1") \
	X(BLOB_ALL, "SELECT hash, media_type, check_crc, bytes FROM blobs ORDER BY hash")
/* clang-format on */

#define X(id, sql) TH_SQL_##id,
enum th_statement { TH_STATEMENTS(X) TH_STATEMENT_COUNT };
#undef X

/* What `recent` says of one session: its last append there. */
struct th_recent_row {
	uint64_t number, place, head_seq;
	struct th_digest head;
	int64_t iteration, calls, tokens_in, tokens_cached, tokens_out, cost_nano, updated_ms;
	uint8_t state_len;
	char state[8];
};

struct th_recent {
	bool loaded;
	uint32_t version; /* of the database, for this connection */
	struct th_recent_row *list;
	size_t count, cap;
	uint32_t *slots; /* hash table by number: index + 1 */
	size_t slot_count;
	size_t bytes;      /* in the table */
	uint64_t last;     /* its last place */
	uint32_t last_crc; /* and that row's sum */
};

/* Where an append of a session begins. */
struct th_run {
	uint64_t place, seq;
	uint64_t prev; /* place of the append before it, or 0 */
};

/* Some of the appends of one long log, newest first: whoever reads on in it does not begin at its
 * end again (walk.c). */
struct th_waypoints {
	char id[TH_SESSION_ID_MAX];
	size_t id_len; /* 0: not used */
	struct th_run *list;
	size_t count;
	uint64_t used; /* counts up */
};

/* One connection.  One thread at a time. */
struct th_db {
	sqlite3 *sqlite; /* NULL: not open */
	sqlite3_stmt *statements[TH_STATEMENT_COUNT];
	const char *path;                /* borrowed */
	int wal_pages;                   /* in the write-ahead log after the last commit */
	int errnum;                      /* of the system, when the last step failed */
	uint64_t busy_ms;                /* set before th_db_open: how long others may write */
	bool created;                    /* th_db_open put the tables in */
	bool old;                        /* of a version before, and only read */
	struct th_verify_report *report; /* when set: damage that is found goes there too */
	struct th_recent recent;
	struct th_waypoints waypoints[TH_STORE_WAYPOINT_LOGS];
	uint64_t waypoints_used;
};

/* A reader needs room beside the log, for an index that it shares with others.  Where the disk is
 * full it is ALONE: it does without, and others wait until it is closed. */
enum th_db_mode { TH_DB_READ_ONLY, TH_DB_ALONE, TH_DB_READ_WRITE, TH_DB_CREATE };

/* synchronous: flush at every commit.  Tells files that are not ours, newer, or empty (ENOENT). */
TH_NODISCARD enum th_code th_db_open(struct th_db *db, const char *path, enum th_db_mode mode,
				     bool synchronous, struct th_err *err);
void th_db_close(struct th_db *db);

/* The tables against how we make them. */
TH_NODISCARD enum th_code th_db_schema_check(struct th_db *db, struct th_verify_report *report,
					     struct th_err *err);

/* The statement, reset and ready to bind; NULL when it cannot be prepared. */
sqlite3_stmt *th_db_get(struct th_db *db, enum th_statement id);
/* The same for who calls others back while it runs: taken out, so that they get another. */
sqlite3_stmt *th_db_take(struct th_db *db, enum th_statement id);
void th_db_give(struct th_db *db, enum th_statement id, sqlite3_stmt *st); /* NULL is fine */
/* What the last failed call on `db` means: "<path>: <sentence>". */
enum th_code th_db_fail(struct th_db *db, struct th_err *err);
/* A statement without rows. */
TH_NODISCARD enum th_code th_db_run(struct th_db *db, enum th_statement id, struct th_err *err);
/* For an open statement: 1 a row, 0 the end, or a code. */
int th_db_step(struct th_db *db, sqlite3_stmt *st, struct th_err *err);
void th_db_rollback(struct th_db *db); /* when in a transaction */

void th_bind_str(sqlite3_stmt *st, int index, struct th_str s); /* borrowed until the reset */
void th_bind_blob(sqlite3_stmt *st, int index, const void *ptr, size_t len);
void th_bind_u64(sqlite3_stmt *st, int index, uint64_t v);

/* Columns, with their type; false when it is another.  Strings live until the next step. */
bool th_column_str(sqlite3_stmt *st, int index, struct th_str *ret);
bool th_column_i64(sqlite3_stmt *st, int index, int64_t *ret);
bool th_column_u64(sqlite3_stmt *st, int index, uint64_t *ret); /* not negative */
bool th_column_bytes(sqlite3_stmt *st, int index, void *ptr, size_t len);

/* Rows of TH_SESSION_COLUMNS, TH_EVENT_COLUMNS; NULL: well, else a sentence about
 * it, and what could be read is there all the same. */
struct th_placed_row {
	struct th_session_row row;
	uint64_t number, last_place;
};
struct th_placed_event {
	struct th_event ev;
	struct th_digest digest;
	struct th_str session_id;
	uint64_t place, prev;
};
const char *th_session_column(sqlite3_stmt *st, struct th_placed_row *ret);
const char *th_event_column(sqlite3_stmt *st, struct th_placed_event *ret);
/* Binds all of TH_SESSION_COLUMNS, the checksum computed. */
void th_session_bind(sqlite3_stmt *st, const struct th_placed_row *r);

uint32_t th_blob_crc(const struct th_digest *hash, struct th_str media_type);

/* ---- the store ---- */

/* recent.c */
#define TH_RECENT_ENTRY_SIZE 120
#define TH_RECENT_BYTES_MAX ((size_t)TH_BATCH_EVENTS_MAX * TH_RECENT_ENTRY_SIZE + TH_KIB)
/* Can it be said there? */
bool th_recent_fits(const struct th_session_row *row);
void th_recent_add(struct th_buf *rows, const struct th_placed_row *r);
/* What was added, as one row of the table. */
TH_NODISCARD enum th_code th_recent_write(struct th_db *db, uint64_t place, struct th_buf *rows,
					  struct th_err *err);
/* Into the rows of sessions, all of it but what has no good row there. */
TH_NODISCARD enum th_code th_recent_settle(struct th_db *db, struct th_err *err);
/* To half of TH_STORE_RECENT_MAX: what is said of a session more than once is said once, or all of
 * it is settled.  *ret_bytes: what is left. */
TH_NODISCARD enum th_code th_recent_shorten(struct th_db *db, size_t *ret_bytes,
					    struct th_err *err);
/* Call these while a transaction or a statement is open: what is found lives as long. */
TH_NODISCARD enum th_code th_recent_load(struct th_db *db, struct th_err *err);
/* What is newer than `place`, or NULL. */
TH_NODISCARD enum th_code th_recent_find(struct th_db *db, uint64_t number, uint64_t place,
					 const struct th_recent_row **ret, struct th_err *err);
/* A row and what is newer of it, as one. */
void th_recent_apply(const struct th_recent_row *e, struct th_placed_row *r);
TH_NODISCARD enum th_code th_recent_patch(struct th_db *db, struct th_placed_row *r,
					  struct th_err *err);
void th_recent_clear(struct th_recent *r);
/* Another number after another connection has written; while a transaction is open. */
uint32_t th_db_version(struct th_db *db);

#define TH_KNOWN_MIN 256 /* grows with what is written to */
#define TH_KNOWN_MAX 16384
#define TH_KNOWN_PROBES 8

/* A session whose last append was written here. */
struct th_known {
	uint64_t hash;          /* of the id */
	uint64_t number, place; /* number 0: free */
	uint64_t seq, rest;     /* rest: of the columns that `recent` does not have, hashed */
	int64_t epoch;
	uint32_t version; /* of the database when it was certainly ours */
	struct th_digest head;
};

/* A walk through all events that looks for blobs which nobody names any more (sweep.c). */
struct th_orphan {
	struct th_digest hash;
	int64_t stamp;
	bool named; /* by an event */
};
struct th_sweep {
	struct th_orphan *list; /* sorted by hash; NULL: no walk is under way */
	size_t count;
	size_t deleted; /* of them: looked at, and removed or kept */
	uint64_t at;    /* the last place that was looked at */
};

struct th_sqlite {
	struct th_store base;
	struct th_group group;
	char *path;   /* as SQLite resolved it */
	char *owners; /* folder beside it */
	bool read_only;
	struct th_db reader; /* the loop's */
	size_t reading;      /* nested reads in one transaction */

	/* Whoever holds `writing` has what is below; most often that is the worker. */
	pthread_mutex_t writing;
	struct th_db writer;
	struct th_db taker; /* of leases, which are not flushed */
	struct th_owner owner;
	struct th_known *known; /* hash table; forgotten when a transaction fails */
	size_t known_cap, known_count;
	struct th_sweep sweep;
	struct th_buf rows;  /* of this transaction, for `recent` */
	size_t recent_bytes; /* in that table */
	bool recent_seen;    /* whether something was there before */
	int mark_fd;         /* where the last acknowledged place is noted; -1: not open */
	bool synced_names;   /* database and folder were flushed */
};

struct th_sqlite *th_sqlite_of(struct th_store *s);

/* write.c */
/* The writer's connection is there.  With `writing`. */
TH_NODISCARD enum th_code th_sqlite_writer(struct th_sqlite *s, struct th_err *err);
/* Its transaction came to nothing: what we know of sessions is wrong.  With `writing`. */
void th_sqlite_forget(struct th_sqlite *s);
/* In one transaction (th_group_ops.write).  On any thread; takes `writing`. */
TH_NODISCARD enum th_code th_sqlite_write(struct th_sqlite *s, struct th_batch *list,
					  struct th_err *err);
void th_sqlite_checkpoint(struct th_sqlite *s); /* when the log is long */
void th_sqlite_settle(struct th_sqlite *s);     /* before closing; nobody else writes */
/* Opened for writing, and usable. */
TH_NODISCARD enum th_code th_sqlite_writable(struct th_sqlite *s, struct th_err *err);

/* text.c */
enum th_code th_sqlite_search(struct th_store *store, struct th_str session_id,
			      const struct th_text_query *query, th_text_fn *fn, void *ctx,
			      struct th_err *err);
/* The index of its words, before it goes. */
TH_NODISCARD enum th_code th_sqlite_text_remove(const struct th_sqlite *s, struct th_str session_id,
						struct th_err *err);

/* mark.c */
/* The largest place or number, or 0: of LAST_PLACE, LAST_NUMBER. */
TH_NODISCARD enum th_code th_db_last(struct th_db *db, enum th_statement id, uint64_t *ret,
				     struct th_err *err);
void th_sqlite_mark_write(struct th_sqlite *s, uint64_t place);
/* TH_ECORRUPT when the database ends before the last acknowledged place that was noted. */
TH_NODISCARD enum th_code th_sqlite_mark_check(struct th_sqlite *s, struct th_err *err);
void th_sqlite_mark_forget(struct th_sqlite *s);

/* sums.c: what a write of the row adds to the sums, in its transaction. */
TH_NODISCARD enum th_code th_db_usage_add(struct th_db *db, const struct th_usage_row *more,
					  struct th_err *err);
const char *th_usage_column(sqlite3_stmt *st, struct th_usage_row *ret);
/* What sessions say themselves (th_usage_used), in the table `used`. */
TH_NODISCARD enum th_code th_db_used_add(struct th_db *db, const struct th_usage_row *more,
					 struct th_err *err);
const char *th_used_column(sqlite3_stmt *st, struct th_usage_row *ret);
/* Of all sessions that a store has from before it kept sums. */
TH_NODISCARD enum th_code th_db_usage_begin(struct th_db *db, struct th_err *err);
enum th_code th_db_fail_usage(struct th_db *db, const struct th_usage_row *row, const char *bad,
			      struct th_err *err);

/* usage.c */
enum th_code th_sqlite_usage(struct th_store *store, const struct th_usage_filter *filter,
			     th_usage_fn *fn, void *ctx, struct th_err *err);

/* remove.c */
enum th_code th_sqlite_remove(struct th_store *store, const struct th_str *ids, size_t count,
			      struct th_err *err);

/* sweep.c */
/* A session that was removed, or the place that is kept free at the end: what is still there of
 * it. */
struct th_removed {
	uint64_t id;
	struct th_str session_id; /* empty: one event without contents, so that its place is not
				     given again */
	uint64_t
	    place;     /* of the append that goes next, the newest first; those before hang on it */
	uint64_t last; /* no event of it has a later place */
};
const char *th_removed_column(sqlite3_stmt *st, struct th_removed *ret);
const char *th_orphan_column(sqlite3_stmt *st, struct th_orphan *ret);
TH_NODISCARD enum th_code th_db_removed_add(struct th_db *db, const struct th_removed *r,
					    struct th_err *err);
enum th_code th_sqlite_sweep(struct th_store *store, bool *ret_more, struct th_err *err);
void th_sweep_end(struct th_sweep *w); /* the walk under way is given up */

/* lease.c */
enum th_code th_sqlite_lease_many(struct th_store *store, const struct th_str *ids, size_t count,
				  bool skip, struct th_arena *a, struct th_session_row *rows,
				  struct th_err *errs, struct th_err *err);
enum th_code th_sqlite_release_many(struct th_store *store, const struct th_held *list,
				    size_t count, struct th_err *errs, struct th_err *err);

/* read.c */
TH_NODISCARD enum th_code th_sqlite_read_begin(struct th_sqlite *s, struct th_err *err);
void th_sqlite_read_end(struct th_sqlite *s);
/* Damage, as an error and in the report. */
enum th_code th_db_fail_event(struct th_db *db, struct th_str id, uint64_t seq, const char *what,
			      struct th_err *err);
enum th_code th_db_fail_session(struct th_db *db, struct th_str id, const char *what,
				struct th_err *err);
/* Copies a row's strings into the arena. */
TH_NODISCARD enum th_code th_row_keep(struct th_arena *a, struct th_session_row *row,
				      struct th_err *err);
enum th_code th_sqlite_get(struct th_store *store, struct th_str id, struct th_arena *a,
			   struct th_session_row *ret, struct th_err *err);
enum th_code th_sqlite_blob(struct th_store *store, const struct th_digest *hash,
			    struct th_buf *out, struct th_err *err);

/* walk.c */
/* The whole log, with the parts that are stored with its ancestors.  Call it in a transaction. */
typedef enum th_code th_placed_fn(void *ctx, const struct th_placed_event *e, struct th_err *err);
TH_NODISCARD enum th_code th_db_walk(struct th_db *db, struct th_str id, uint64_t from, uint64_t to,
				     th_placed_fn *fn, void *ctx, struct th_err *err);
/* The digest of an event of a session or of its prefix; ENOENT.  depth: of forks above. */
TH_NODISCARD enum th_code th_db_digest_at(struct th_db *db, struct th_str id, uint64_t seq,
					  struct th_digest *ret, size_t *ret_depth,
					  struct th_err *err);
enum th_code th_sqlite_read(struct th_store *store, struct th_str id, uint64_t from, uint64_t to,
			    th_event_fn *fn, void *ctx, struct th_err *err);

/* list.c */
enum th_code th_sqlite_list(struct th_store *store, const struct th_session_filter *filter,
			    th_session_fn *fn, void *ctx, struct th_err *err);

/* wal.c: the file system of a connection whose commits all flush; NULL: out of memory, and
 * then the default one does as well. */
const char *th_wal_vfs(void);

/* verify.c */
enum th_code th_sqlite_verify(struct th_store *store, struct th_str session_id,
			      struct th_verify_report *ret, struct th_err *err);

#endif
