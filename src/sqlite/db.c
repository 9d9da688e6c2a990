/* SPDX-License-Identifier: Apache-2.0 */
/* db.c - one connection: its statements, and what SQLite's errors mean. */
#include <errno.h>
#include <string.h>

#include "io/files.h"
#include "sqlite/sqlite.h"

#define X(id, sql) sql,
static const char *const statement_sql[] = { TH_STATEMENTS(X) };
#undef X

/* ---- errors ---- */

static bool full_errno(int errnum)
{
	return errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG;
}

/* SQLite keeps no errno for what fails in a COMMIT. */
static int errno_of(const struct th_db *db)
{
	int errnum = sqlite3_system_errno(db->sqlite);

	return errnum ? errnum : db->errnum;
}

static enum th_code code_of_io(struct th_db *db, int extended)
{
	switch (extended) {
	case SQLITE_IOERR_NOMEM:
		return TH_ENOMEM;
	case SQLITE_IOERR_WRITE:
	case SQLITE_IOERR_TRUNCATE:
	case SQLITE_IOERR_SHMSIZE:
	case SQLITE_IOERR_SHMOPEN:
		return full_errno(errno_of(db)) ? TH_ELIMIT : TH_EIO;
	case SQLITE_IOERR_SHORT_READ:
	case SQLITE_IOERR_CORRUPTFS:
	case SQLITE_IOERR_DATA:
		return TH_ECORRUPT;
	default:
		return TH_EIO;
	}
}

static enum th_code code_of(struct th_db *db, int extended)
{
	switch (extended & 0xff) {
	case SQLITE_FULL:
	case SQLITE_TOOBIG:
		return TH_ELIMIT;
	case SQLITE_IOERR:
		return code_of_io(db, extended);
	case SQLITE_NOMEM:
		return TH_ENOMEM;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL:
		return TH_EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return TH_EPERM;
	case SQLITE_CANTOPEN:
		return th_code_of_errno(errno_of(db));
	case SQLITE_NOTADB:
	case SQLITE_CORRUPT:
	case SQLITE_FORMAT:
	case SQLITE_ERROR: /* "no such column": the schema is not ours */
	case SQLITE_SCHEMA:
	case SQLITE_CONSTRAINT:
	case SQLITE_MISMATCH:
		return TH_ECORRUPT;
	default:
		return TH_EIO;
	}
}

enum th_code th_db_fail(struct th_db *db, struct th_err *err)
{
	int extended = sqlite3_extended_errcode(db->sqlite);
	int errnum = errno_of(db);
	enum th_code code = code_of(db, extended);
	const char *message = sqlite3_errmsg(db->sqlite);
	const char *more = "";

	if (code == TH_ELIMIT && (extended & 0xff) != SQLITE_TOOBIG)
		return th_fail(err, code, "%s: the disk is full; nothing was written", db->path);
	if (code == TH_EBUSY)
		return th_fail(err, code, "%s: another process has been writing for %llu ms",
			       db->path, (unsigned long long)db->busy_ms);
	if ((extended & 0xff) == SQLITE_NOTADB)
		return th_fail(err, code, "%s is not a thole store (no SQLite database)", db->path);
	if (code == TH_ECORRUPT)
		return th_fail(err, code, "%s is damaged: sqlite: %s", db->path, message);
	if (extended == SQLITE_READONLY_DIRECTORY || extended == SQLITE_READONLY_CANTINIT)
		return th_fail(err, code,
			       "%s: this user may not write into its folder, where SQLite keeps "
			       "an index for readers too; read it as another user, or a copy of it",
			       db->path);
	if ((extended & 0xff) == SQLITE_IOERR && errnum != 0)
		more = strerrordesc_np(errnum);
	return th_fail(err, code, "%s: sqlite: %s (%d)%s%s", db->path, message, extended,
		       more && *more ? ": " : "", more ? more : "");
}

/* ---- statements ---- */

sqlite3_stmt *th_db_get(struct th_db *db, enum th_statement id)
{
	sqlite3_stmt **st = &db->statements[id];

	if (*st)
		sqlite3_reset(*st);
	else if (sqlite3_prepare_v3(db->sqlite, statement_sql[id], -1, SQLITE_PREPARE_PERSISTENT,
				    st, NULL) != SQLITE_OK)
		*st = NULL;
	return *st;
}

sqlite3_stmt *th_db_take(struct th_db *db, enum th_statement id)
{
	sqlite3_stmt *st = th_db_get(db, id);

	db->statements[id] = NULL;
	return st;
}

void th_db_give(struct th_db *db, enum th_statement id, sqlite3_stmt *st)
{
	if (!st)
		return;
	sqlite3_reset(st);
	if (db->statements[id])
		sqlite3_finalize(st);
	else
		db->statements[id] = st;
}

int th_db_step(struct th_db *db, sqlite3_stmt *st, struct th_err *err)
{
	int status;
	enum th_code code;

	errno = 0;
	status = st ? sqlite3_step(st) : SQLITE_ERROR;
	db->errnum = errno;
	if (status == SQLITE_ROW)
		return 1;
	if (status == SQLITE_DONE) {
		sqlite3_reset(st);
		return 0;
	}
	code = th_db_fail(db, err);
	if (st)
		sqlite3_reset(st);
	return code;
}

enum th_code th_db_run(struct th_db *db, enum th_statement id, struct th_err *err)
{
	int status = th_db_step(db, th_db_get(db, id), err);

	return status < 0 ? (enum th_code)status : TH_OK;
}

void th_db_rollback(struct th_db *db)
{
	sqlite3_stmt *st;

	/* SQLite has rolled back by itself after some errors, and when this fails too, it will. */
	if (sqlite3_get_autocommit(db->sqlite))
		return;
	st = th_db_get(db, TH_SQL_ROLLBACK);
	if (st)
		sqlite3_step(st);
}

void th_bind_str(sqlite3_stmt *st, int index, struct th_str s)
{
	sqlite3_bind_text64(st, index, s.ptr ? s.ptr : "", s.len, SQLITE_STATIC, SQLITE_UTF8);
}

void th_bind_blob(sqlite3_stmt *st, int index, const void *ptr, size_t len)
{
	sqlite3_bind_blob64(st, index, ptr ? ptr : "", len, SQLITE_STATIC);
}

void th_bind_u64(sqlite3_stmt *st, int index, uint64_t v)
{
	assert(v <= INT64_MAX);
	sqlite3_bind_int64(st, index, (int64_t)v);
}
