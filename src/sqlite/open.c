/* SPDX-License-Identifier: Apache-2.0 */
/* open.c - a connection is opened and closed; the schema, and how it came to be. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "io/clock.h"
#include "io/files.h"
#include "sqlite/sqlite.h"

#define SESSIONS_OF_3                                                                             \
	"CREATE TABLE sessions ("                                                                 \
	"number INTEGER PRIMARY KEY, session_id TEXT NOT NULL UNIQUE, user TEXT NOT NULL, agent " \
	"TEXT NOT NULL, "                                                                         \
	"model TEXT NOT NULL, state TEXT NOT NULL, title TEXT NOT NULL, parent TEXT NOT NULL, "   \
	"parent_seq INTEGER NOT NULL, head_seq INTEGER NOT NULL, head BLOB NOT NULL, "            \
	"iteration INTEGER NOT NULL, calls INTEGER NOT NULL, tokens_in INTEGER NOT NULL, "        \
	"tokens_out INTEGER NOT NULL, cost_nano INTEGER NOT NULL, epoch INTEGER NOT NULL, "       \
	"owner TEXT NOT NULL, created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, "         \
	"metadata TEXT NOT NULL, last_place INTEGER NOT NULL, check_crc INTEGER NOT NULL"
#define TOKENS_CACHED "tokens_cached INTEGER NOT NULL DEFAULT 0"

/* Types are checked when rows are read, so that what somebody else wrote is found and named. */
static const struct {
	const char *type, *name, *table, *sql;
} schema[] = {
	{ "table", "sessions", "sessions", SESSIONS_OF_3 ", " TOKENS_CACHED ")" },
	{ "index", "sqlite_autoindex_sessions_1", "sessions", NULL },
	{ "table", "events", "events",
	  "CREATE TABLE events ("
	  "place INTEGER PRIMARY KEY, session_id TEXT NOT NULL, seq INTEGER NOT NULL, "
	  "prev INTEGER NOT NULL, ts_ms INTEGER NOT NULL, id BLOB NOT NULL, source TEXT NOT NULL, "
	  "kind TEXT NOT NULL, cause INTEGER NOT NULL, call TEXT NOT NULL, data TEXT NOT NULL, "
	  "build TEXT NOT NULL, digest BLOB NOT NULL)" },
	{ "table", "blobs", "blobs",
	  "CREATE TABLE blobs ("
	  "hash BLOB PRIMARY KEY NOT NULL, media_type TEXT NOT NULL, "
	  "check_crc INTEGER NOT NULL, bytes BLOB NOT NULL)" },
	{ "index", "sqlite_autoindex_blobs_1", "blobs", NULL },
	{ "table", "recent", "recent",
	  "CREATE TABLE recent (place INTEGER PRIMARY KEY, rows BLOB NOT NULL)" },
	/* From version 3 on, at the end: an older file gets them when it is opened for writing. */
	{ "index", "sessions_updated", "sessions",
	  "CREATE INDEX sessions_updated ON sessions (updated_ms DESC, session_id)" },
	{ "index", "sessions_created", "sessions",
	  "CREATE INDEX sessions_created ON sessions (created_ms DESC, session_id)" },
	{ "index", "sessions_user", "sessions",
	  "CREATE INDEX sessions_user ON sessions (user, created_ms DESC, session_id)" },
	{ "index", "sessions_waiting", "sessions",
	  "CREATE INDEX sessions_waiting ON sessions (created_ms DESC, session_id) "
	  "WHERE state = 'waiting'" },
	/* From version 4 on, which also added the column tokens_cached. */
	{ "index", "sessions_parent", "sessions",
	  "CREATE INDEX sessions_parent ON sessions (parent) WHERE parent <> ''" },
	{ "table", "usage", "usage",
	  "CREATE TABLE usage ("
	  "user TEXT NOT NULL, day INTEGER NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, "
	  "sessions INTEGER NOT NULL, turns INTEGER NOT NULL, calls INTEGER NOT NULL, "
	  "tokens_in INTEGER NOT NULL, tokens_cached INTEGER NOT NULL, "
	  "tokens_out INTEGER NOT NULL, cost_nano INTEGER NOT NULL, check_crc INTEGER NOT NULL, "
	  "PRIMARY KEY (user, day, agent, model)) WITHOUT ROWID" },
	{ "table", "tasks", "tasks",
	  "CREATE TABLE tasks (number INTEGER PRIMARY KEY, text TEXT NOT NULL, "
	  "check_crc INTEGER NOT NULL)" },
	{ "table", "removed", "removed",
	  "CREATE TABLE removed (id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, "
	  "place INTEGER NOT NULL, last INTEGER NOT NULL, check_crc INTEGER NOT NULL)" },
	{ "table", "orphans", "orphans",
	  "CREATE TABLE orphans (hash BLOB PRIMARY KEY NOT NULL, stamp INTEGER NOT NULL, "
	  "check_crc INTEGER NOT NULL) WITHOUT ROWID" },
	/* From version 5 on. */
	{ "table", "used", "used",
	  "CREATE TABLE used ("
	  "user TEXT NOT NULL, day INTEGER NOT NULL, agent TEXT NOT NULL, model TEXT NOT NULL, "
	  "tokens_written INTEGER NOT NULL, model_ms INTEGER NOT NULL, tools_ms INTEGER NOT NULL, "
	  "person_ms INTEGER NOT NULL, check_crc INTEGER NOT NULL, "
	  "PRIMARY KEY (user, day, agent, model)) WITHOUT ROWID" },
};
/* Rows of sqlite_master that a version has. */
static const size_t schema_rows[] = { [2] = 6, [3] = 10, [4] = 15, [5] = TH_COUNT(schema) };
_Static_assert(TH_COUNT(schema_rows) == TH_SQLITE_VERSION + 1, "one of each version");

/* So that a file of an older version is read as one of this: it may not be written to.  What is
 * there from version 4 on, and from 5 on. */
static const char as_of_4[] =
    "CREATE TEMP VIEW sessions AS SELECT *, 0 AS tokens_cached FROM main.sessions;"
    "CREATE TEMP TABLE usage (user, day, agent, model, sessions, turns, calls, tokens_in, "
    "tokens_cached, tokens_out, cost_nano, check_crc);"
    "CREATE TEMP TABLE tasks (number, text, check_crc);"
    "CREATE TEMP TABLE removed (id, session_id, place, last, check_crc);"
    "CREATE TEMP TABLE orphans (hash, stamp, check_crc)";
static const char as_of_5[] =
    "CREATE TEMP TABLE used (user, day, agent, model, tokens_written, model_ms, tools_ms, "
    "person_ms, check_crc)";

/* ---- opening ---- */

/* Other processes hold the lock for about one flush: asks often, and gives up late. */
static int on_busy(void *ctx, int tries)
{
	struct th_db *db = ctx;
	uint64_t waited_us = 0;

	/* 100 us, 200, … 3200, then 5 ms each. */
	for (int i = 0; i < tries && i < 6; i++)
		waited_us += 100u << i;
	if (tries > 6)
		waited_us += (uint64_t)(tries - 6) * 5000;
	if (waited_us > db->busy_ms * 1000)
		return 0;
	struct timespec pause = { .tv_nsec = tries < 6 ? 100000L << tries : 5000000L };

	nanosleep(&pause, NULL);
	return 1;
}

static int on_wal(void *ctx, sqlite3 *sqlite, const char *name, int pages)
{
	struct th_db *db = ctx;

	(void)sqlite;
	(void)name;
	db->wal_pages = pages;
	return SQLITE_OK;
}

static enum th_code exec(struct th_db *db, const char *sql, struct th_err *err)
{
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? TH_OK
									    : th_db_fail(db, err);
}

static enum th_code pragma_get(struct th_db *db, const char *sql, int64_t *ret, struct th_err *err)
{
	sqlite3_stmt *st = NULL;
	enum th_code code = TH_OK;

	*ret = 0;
	if (sqlite3_prepare_v2(db->sqlite, sql, -1, &st, NULL) != SQLITE_OK ||
	    sqlite3_step(st) != SQLITE_ROW)
		code = th_db_fail(db, err);
	else
		*ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return code;
}

/* Puts in what the version that is there has not; all of it or nothing. */
static enum th_code schema_make(struct th_db *db, struct th_err *err)
{
	char sql[256];
	int64_t version = 0;
	enum th_code code = th_db_run(db, TH_SQL_BEGIN_IMMEDIATE, err);

	if (code == TH_OK)
		code = pragma_get(db, "PRAGMA user_version", &version, err);
	if (code == TH_OK && version < TH_SQLITE_VERSION) { /* else another process was first */
		if (version > 0 && version < 4)
			code = exec(db, "ALTER TABLE sessions ADD COLUMN " TOKENS_CACHED, err);
		for (size_t i = schema_rows[version]; i < TH_COUNT(schema) && code == TH_OK; i++) {
			if (schema[i].sql)
				code = exec(db, schema[i].sql, err);
		}
		if (version > 0 && version < 4 && code == TH_OK)
			code = th_db_usage_begin(db, err);
		snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d",
			 TH_SQLITE_APPLICATION_ID, TH_SQLITE_VERSION);
		if (code == TH_OK)
			code = exec(db, sql, err);
	}
	if (code == TH_OK)
		code = th_db_run(db, TH_SQL_COMMIT, err);
	if (code != TH_OK)
		th_db_rollback(db);
	db->created = code == TH_OK && version == 0;
	return code;
}

/* Is this row of sqlite_master what we put there? */
static bool schema_row_good(sqlite3_stmt *st, size_t i, int64_t version)
{
	struct th_str type = {}, name = {}, table = {}, text = {};
	const char *sql;
	int64_t page;

	if (i >= TH_COUNT(schema) || !th_column_str(st, 0, &type) || !th_column_str(st, 1, &name) ||
	    !th_column_str(st, 2, &table) || !th_column_i64(st, 3, &page))
		return false;
	sql = i == 0 && version < 4 ? SESSIONS_OF_3 ")" : schema[i].sql;
	return th_str_is(type, schema[i].type) && th_str_is(name, schema[i].name) &&
	       th_str_is(table, schema[i].table) &&
	       (sql ? th_column_str(st, 4, &text) && th_str_is(text, sql)
		    : sqlite3_column_type(st, 4) == SQLITE_NULL);
}

enum th_code th_db_schema_check(struct th_db *db, struct th_verify_report *report,
				struct th_err *err)
{
	static const char sql[] = "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master "
				  "ORDER BY rowid";
	static const char key[] = "definition of the tables";
	sqlite3_stmt *st = NULL;
	size_t count = 0;
	int64_t version = 0;
	bool good = true;
	int status = pragma_get(db, "PRAGMA user_version", &version, err);

	if (status == TH_OK)
		status = 1;
	good = version >= TH_SQLITE_VERSION_READ && version <= TH_SQLITE_VERSION;
	if (status == 1 && sqlite3_prepare_v2(db->sqlite, sql, -1, &st, NULL) != SQLITE_OK)
		status = th_db_fail(db, err);
	while (status == 1 && good) {
		status = th_db_step(db, st, err);
		if (status == 1)
			good = schema_row_good(st, count++, version);
	}
	sqlite3_finalize(st);
	if (status == TH_ECORRUPT)
		th_verify_blame(report, "sqlite_master", key, "%s", err->msg);
	else if (status < 0)
		return (enum th_code)status;
	else if (!good || count != schema_rows[version])
		th_verify_blame(report, "sqlite_master", key, "they are not as thole makes them");
	return TH_OK;
}

/* Nothing is flushed here: the first commit does that before it is acknowledged. */
static enum th_code create(struct th_db *db, struct th_err *err)
{
	char sql[128];
	enum th_code code;

	snprintf(sql, sizeof(sql),
		 "PRAGMA page_size = %d; PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL",
		 TH_SQLITE_PAGE_SIZE);
	code = exec(db, sql, err);
	return code == TH_OK ? schema_make(db, err) : code;
}

struct identity {
	int64_t application, version, tables;
};

static enum th_code identity_get(struct th_db *db, struct identity *ret, struct th_err *err)
{
	/* All at one moment: another process may be making it. */
	enum th_code code = exec(db, "BEGIN", err);

	if (code == TH_OK)
		code = pragma_get(db, "PRAGMA application_id", &ret->application, err);
	if (code == TH_OK)
		code = pragma_get(db, "PRAGMA user_version", &ret->version, err);
	if (code == TH_OK && ret->application == 0 && ret->version == 0)
		code = pragma_get(db, "SELECT count(*) FROM sqlite_master", &ret->tables, err);
	if (code == TH_OK)
		code = exec(db, "COMMIT", err);
	return code;
}

/* Is it ours, and of a form that we know?  *ret_empty: there is nothing in it yet; *ret_old: it
 * is of a version before. */
static enum th_code identify(struct th_db *db, bool *ret_empty, bool *ret_old, struct th_err *err)
{
	struct identity is = {};
	enum th_code code = identity_get(db, &is, err);

	if (code != TH_OK)
		return code;
	*ret_empty = is.application == 0 && is.version == 0 && is.tables == 0;
	if (*ret_empty)
		return TH_OK;
	if (is.application != TH_SQLITE_APPLICATION_ID)
		return th_fail(err, TH_EUSAGE,
			       "%s is a database of another program, not a thole store", db->path);
	if (is.version > TH_SQLITE_VERSION)
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "%s was written by a newer thole (format %lld, this one knows %d); use "
		    "that one",
		    db->path, (long long)is.version, TH_SQLITE_VERSION);
	*ret_old = is.version >= TH_SQLITE_VERSION_READ && is.version < TH_SQLITE_VERSION;
	if (is.version >= 1 && is.version < TH_SQLITE_VERSION_READ)
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "%s was written by an older thole (format %lld, this one knows %d); use that "
		    "one, or another store (--store)",
		    db->path, (long long)is.version, TH_SQLITE_VERSION);
	if (is.version < 1)
		return th_fail(err, TH_ECORRUPT, "%s is damaged: its format number is %lld",
			       db->path, (long long)is.version);
	return TH_OK;
}

/*
 * Made for nobody: a folder that is not there is a path with a slip in it more often than not.  One
 * that takes no files is told of by SQLite as of a file that is not there.
 */
static enum th_code fail_folder(const struct th_db *db, struct th_err *err)
{
	const char *slash = strrchr(db->path, '/');
	int len = slash ? (int)(slash - db->path) : 0;
	char folder[TH_PATH_LEN_MAX];

	snprintf(folder, sizeof(folder), "%.*s", TH_MAX(len, 1), db->path);
	if (access(folder, W_OK | X_OK) != 0 && errno != ENOENT)
		return th_fail_errno(err, errno, "%s: no file can be made in its folder", db->path);
	return th_fail(err, TH_ENOENT,
		       "%s: its folder is not there; make it (mkdir -p %.*s), or name another "
		       "store",
		       db->path, len, db->path);
}

static enum th_code fail_open(struct th_db *db, enum th_db_mode mode, struct th_err *err)
{
	int errnum = sqlite3_system_errno(db->sqlite);
	struct stat st;

	if (stat(db->path, &st) == 0 && !S_ISREG(st.st_mode))
		return th_fail(err, TH_EUSAGE, "%s is not a file", db->path);
	if (errnum == ENOENT && mode != TH_DB_CREATE)
		return th_fail(err, TH_ENOENT, "there is no store at %s", db->path);
	if (errnum == ENOENT && strchr(db->path, '/'))
		return fail_folder(db, err);
	return th_fail_errno(err, errnum ? errnum : EIO, "open the store %s", db->path);
}

static enum th_code read_as_of_now(struct th_db *db, struct th_err *err)
{
	int64_t version = 0;
	enum th_code code = pragma_get(db, "PRAGMA user_version", &version, err);

	if (code == TH_OK && version < 4)
		code = exec(db, as_of_4, err);
	return code == TH_OK ? exec(db, as_of_5, err) : code;
}

static enum th_code settings(struct th_db *db, bool synchronous, struct th_err *err)
{
	char sql[256];
	enum th_code code;

	sqlite3_extended_result_codes(db->sqlite, 1);
	sqlite3_busy_handler(db->sqlite, on_busy, db);
	sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_ENABLE_FKEY, 0, NULL);
	/* A checkpoint is made when nobody waits, see th_sqlite_checkpoint. */
	sqlite3_wal_hook(db->sqlite, on_wal, db);
	snprintf(sql, sizeof(sql),
		 "PRAGMA synchronous = %s; PRAGMA cache_size = -%d; PRAGMA cell_size_check = ON; "
		 "PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY",
		 synchronous ? "FULL" : "NORMAL", (int)(TH_STORE_CACHE_MAX / TH_KIB));
	code = exec(db, sql, err);
	return code == TH_OK && db->old ? read_as_of_now(db, err) : code;
}

/* Keeps the index in memory, and what is there as it is. */
static enum th_code stay_alone(struct th_db *db, struct th_err *err)
{
	sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	return exec(db, "PRAGMA locking_mode = EXCLUSIVE", err);
}

static enum th_code open_file(struct th_db *db, enum th_db_mode mode, bool synchronous,
			      struct th_err *err)
{
	static const int flags[] = {
		[TH_DB_READ_ONLY] = SQLITE_OPEN_READONLY,
		[TH_DB_ALONE] = SQLITE_OPEN_READWRITE, /* its lock wants that */
		[TH_DB_READ_WRITE] = SQLITE_OPEN_READWRITE,
		[TH_DB_CREATE] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
	};
	bool empty = false, old = false;
	enum th_code code;

	if (sqlite3_open_v2(db->path, &db->sqlite, flags[mode] | SQLITE_OPEN_NOMUTEX,
			    synchronous ? th_wal_vfs() : NULL) != SQLITE_OK)
		return db->sqlite ? fail_open(db, mode, err)
				  : th_fail(err, TH_ENOMEM, "out of memory");
	sqlite3_extended_result_codes(db->sqlite, 1);
	sqlite3_busy_handler(db->sqlite, on_busy, db);
	if (mode != TH_DB_READ_ONLY && sqlite3_db_readonly(db->sqlite, "main") == 1)
		return th_fail(err, TH_EPERM, "%s is read-only for this user", db->path);
	code = mode == TH_DB_ALONE ? stay_alone(db, err) : TH_OK;
	if (code == TH_OK)
		code = identify(db, &empty, &old, err);
	if (code != TH_OK)
		return code;
	if (empty && mode != TH_DB_CREATE)
		return th_fail(err, TH_ENOENT, "there is no store at %s: the file is empty",
			       db->path);
	if (old && (mode == TH_DB_READ_WRITE || mode == TH_DB_CREATE))
		return th_prefix(err, schema_make(db, err), "bring %s to this version", db->path);
	db->old = old;
	return empty ? create(db, err) : TH_OK;
}

/* Without its global count of memory, and the lock around that.  Too late when the program has used
 * SQLite before, which is no harm. */
static void configure(void)
{
	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static enum th_code open_once(struct th_db *db, const char *path, enum th_db_mode mode,
			      bool synchronous, bool *ret_cut_off, struct th_err *err)
{
	enum th_code code;

	*db = (struct th_db){ .path = path, .busy_ms = db->busy_ms };
	code = open_file(db, mode, synchronous, err);
	if (code == TH_OK)
		code = settings(db, synchronous, err);
	/* Made now: when memory is out there is none to make it, and the lock would stay. */
	if (code == TH_OK && !th_db_get(db, TH_SQL_ROLLBACK))
		code = th_db_fail(db, err);
	*ret_cut_off = code != TH_OK && mode == TH_DB_READ_ONLY &&
		       sqlite3_extended_errcode(db->sqlite) == SQLITE_READONLY_ROLLBACK;
	if (code != TH_OK)
		th_db_close(db);
	return code;
}

/* It was being made when its process died: who may write undoes that and looks again. */
static enum th_code open_cut_off(struct th_db *db, const char *path, bool synchronous,
				 struct th_err *err)
{
	bool again;
	enum th_code code = open_once(db, path, TH_DB_READ_WRITE, synchronous, &again, err);

	if (code != TH_OK)
		return code;
	th_db_close(db);
	return open_once(db, path, TH_DB_READ_ONLY, synchronous, &again, err);
}

enum th_code th_db_open(struct th_db *db, const char *path, enum th_db_mode mode, bool synchronous,
			struct th_err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t start = th_clock_ms();
	enum th_code code;
	bool cut_off;

	pthread_once(&once, configure);
	/* Where two make a new database at the same time, SQLite tells one of them at once that the
	 * other is at it, without asking on_busy. */
	while ((code = open_once(db, path, mode, synchronous, &cut_off, err)) == TH_EBUSY &&
	       th_clock_ms() - start < db->busy_ms)
		nanosleep(&pause, NULL);
	if (code == TH_ELIMIT && mode == TH_DB_READ_ONLY) /* no room for the shared index */
		return th_db_open(db, path, TH_DB_ALONE, synchronous, err);
	return cut_off ? open_cut_off(db, path, synchronous, err) : code;
}

void th_db_close(struct th_db *db)
{
	for (size_t i = 0; i < TH_STATEMENT_COUNT; i++) {
		sqlite3_finalize(db->statements[i]);
		db->statements[i] = NULL;
	}
	th_recent_clear(&db->recent);
	for (size_t i = 0; i < TH_COUNT(db->waypoints); i++)
		free(db->waypoints[i].list);
	/* Cannot fail: no statement is left. */
	sqlite3_close(db->sqlite);
	db->sqlite = NULL;
}
