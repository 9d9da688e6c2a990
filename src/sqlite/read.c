/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - a row, a blob, and what is the same of all reads.  Every row that is
 * read is checked for what a checksum says; digests are verify's business.
 */
#include "sqlite/sqlite.h"

enum th_code th_db_fail_event(struct th_db *db, struct th_str id, uint64_t seq, const char *what,
			      struct th_err *err)
{
	struct th_shown key = th_event_key(id, seq);

	if (db->report && !db->report->bad)
		th_verify_blame(db->report, "events", key.text, "%s", what);
	return th_fail(err, TH_ECORRUPT, "%s is damaged: %s: %s", db->path, key.text, what);
}

enum th_code th_db_fail_session(struct th_db *db, struct th_str id, const char *what,
				struct th_err *err)
{
	struct th_shown key = th_session_key(id);

	if (db->report && !db->report->bad)
		th_verify_blame(db->report, "sessions", key.text, "%s", what);
	return th_fail(err, TH_ECORRUPT, "%s is damaged: %s: %s", db->path, key.text, what);
}

enum th_code th_sqlite_read_begin(struct th_sqlite *s, struct th_err *err)
{
	enum th_code code = th_group_usable(&s->group, err);

	if (code == TH_OK && s->reading == 0)
		code = th_db_run(&s->reader, TH_SQL_BEGIN, err);
	if (code == TH_OK)
		s->reading++;
	return code;
}

void th_sqlite_read_end(struct th_sqlite *s)
{
	assert(s->reading > 0);
	if (--s->reading > 0)
		return;
	if (th_db_run(&s->reader, TH_SQL_COMMIT, NULL) != TH_OK)
		th_db_rollback(&s->reader);
}

enum th_code th_row_keep(struct th_arena *a, struct th_session_row *row, struct th_err *err)
{
	struct th_str *const strings[] = {
		&row->session_id, &row->user,   &row->agent, &row->model,    &row->state,
		&row->title,      &row->parent, &row->owner, &row->metadata,
	};

	for (size_t i = 0; i < TH_COUNT(strings); i++) {
		*strings[i] = th_arena_str(a, *strings[i]);
		if (!strings[i]->ptr)
			return th_fail(err, TH_ELIMIT, "rows of sessions take more than %zu bytes",
				       a->max);
	}
	return TH_OK;
}

enum th_code th_sqlite_get(struct th_store *store, struct th_str id, struct th_arena *a,
			   struct th_session_row *ret, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_placed_row r;
	sqlite3_stmt *st;
	const char *bad;
	enum th_code code = th_group_usable(&s->group, err);
	int status;

	if (code != TH_OK)
		return code;
	st = th_db_get(&s->reader, TH_SQL_SESSION_GET);
	if (st)
		th_bind_str(st, 1, id);
	status = th_db_step(&s->reader, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		return th_fail_no_session(err, id);
	bad = th_session_column(st, &r);
	if (bad) {
		code = th_db_fail_session(&s->reader, id, bad, err);
	} else {
		code = th_recent_patch(&s->reader, &r, err);
		*ret = r.row;
		if (code == TH_OK)
			code = th_row_keep(a, ret, err);
	}
	sqlite3_reset(st);
	return code;
}

enum th_code th_sqlite_blob(struct th_store *store, const struct th_digest *hash,
			    struct th_buf *out, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	char hex[TH_SHA256_HEX_SIZE + 1];
	struct th_digest found;
	struct th_str bytes;
	sqlite3_stmt *st;
	enum th_code code = th_group_usable(&s->group, err);
	int status;

	if (code != TH_OK)
		return code;
	th_digest_hex(hash, hex);
	st = th_db_get(&s->reader, TH_SQL_BLOB_GET);
	if (st)
		th_bind_blob(st, 1, hash->bytes, sizeof(hash->bytes));
	status = th_db_step(&s->reader, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		return th_fail(err, TH_ENOENT, "there is no blob %s", hex);
	bytes = th_str_n(sqlite3_column_blob(st, 3), (size_t)sqlite3_column_bytes(st, 3));
	found = th_sha256_of(bytes.ptr, bytes.len);
	if (!th_digest_eq(&found, hash)) {
		code = th_fail(err, TH_ECORRUPT, "%s is damaged: blob %s is not what its hash says",
			       s->path, hex);
	} else {
		th_buf_add(out, bytes);
		code = th_buf_check(out, "the blob", err);
	}
	sqlite3_reset(st);
	return code;
}
