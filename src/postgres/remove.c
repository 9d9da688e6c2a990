/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove.c - sessions removed for good, and what they leave behind.
 *
 * One transaction takes their rows, after which nobody can reach their events.
 * The events go in pieces.  Of the blobs that a removed session named, those
 * that nobody else names become orphans, and go too, unless somebody writes or
 * names them first: who does takes them out of `orphans` before anything else.
 */
#include "postgres/postgres.h"

#define PIECE_EVENTS "5000"
#define PIECE_BLOBS "100"

/* ---- removing ---- */

static enum th_code check_rows(struct th_postgres *s, PGresult *rows, const struct th_str *ids,
			       size_t count, struct th_err *err)
{
	struct th_pq_array names;
	PGresult *living = NULL;
	enum th_code code = TH_OK;

	th_pq_array_init(&names, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	for (size_t i = 0; i < count && code == TH_OK; i++) {
		bool there = false;

		for (int k = 0; k < th_pq_rows(rows) && !there; k++) {
			struct th_str id = { 0 };

			there = th_pq_bytes(rows, k, 1, &id) && th_str_eq(id, ids[i]);
		}
		if (!there)
			code = th_fail_no_session(err, ids[i]);
	}
	for (int i = 0; i < th_pq_rows(rows); i++) {
		struct th_str owner = { 0 };

		(void)th_pq_bytes(rows, i, 2, &owner);
		th_pq_array_bytes(&names, owner.ptr, owner.len);
	}
	if (code == TH_OK)
		code = th_pg_living(s, &names, &living, err);
	for (int i = 0; i < th_pq_rows(rows) && code == TH_OK; i++) {
		struct th_session_row row = { 0 };

		(void)th_pq_bytes(rows, i, 1, &row.session_id);
		(void)th_pq_bytes(rows, i, 2, &row.owner);
		code = th_pg_check_owner(s, living, &row, err);
	}
	th_pq_clear(living);
	th_pq_array_deinit(&names);
	return code;
}

/* Nobody who is left shares their events.  Their rows are locked, so nobody begins to. */
static enum th_code check_forks(struct th_postgres *s, const struct th_pq_args *ids,
				struct th_err *err)
{
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_str parent = { 0 }, fork = { 0 };
	enum th_code code =
	    th_pq_run(&s->writer,
		      "SELECT parent_id, session_id FROM thole.sessions WHERE parent_id <> ''"
		      " AND parent_id = ANY($1) AND NOT session_id = ANY($1) LIMIT 1",
		      ids, &r, err);

	if (code != TH_OK || th_pq_rows(r) == 0)
		return code;
	(void)th_pq_text(r, 0, 0, &parent);
	(void)th_pq_text(r, 0, 1, &fork);
	return th_fail_forked(err, parent, fork);
}

static enum th_code remove_all(struct th_postgres *s, const struct th_str *ids, size_t count,
			       struct th_pq_array *list, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *rows TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_pq *c = &s->writer;
	enum th_code code = th_postgres_connect(s, c, err);

	for (size_t i = 0; i < count; i++)
		if (th_session_id_ok(ids[i]))
			th_pq_array_text(list, ids[i]);
	th_pq_arg_array(&args, list);
	if (code == TH_OK)
		code = th_postgres_begin(s, err);
	if (code == TH_OK)
		code = th_pq_run(c,
				 "SELECT number, session_id, owner FROM thole.sessions"
				 " WHERE session_id = ANY($1) ORDER BY session_id FOR UPDATE",
				 &args, &rows, err);
	if (code == TH_OK)
		code = check_rows(s, rows, ids, count, err);
	if (code == TH_OK)
		code = check_forks(s, &args, err);
	if (code == TH_OK)
		code = th_pq_add(
		    c,
		    "WITH gone AS (DELETE FROM thole.sessions WHERE session_id = ANY($1)"
		    " RETURNING number), words AS (DELETE FROM thole.tasks WHERE number IN"
		    " (SELECT number FROM thole.sessions WHERE session_id = ANY($1)))"
		    " INSERT INTO thole.removed (number) SELECT number FROM gone",
		    &args, err);
	return code == TH_OK ? th_postgres_commit(s, err) : code;
}

enum th_code th_postgres_remove(struct th_store *store, const struct th_str *ids, size_t count,
				struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_pq_array list;
	enum th_code code = th_postgres_writable(s, err);

	if (code == TH_OK && count > TH_REMOVE_SESSIONS_MAX)
		code = th_fail(err, TH_ELIMIT, "more than %d sessions cannot be deleted at once",
			       TH_REMOVE_SESSIONS_MAX);
	if (code != TH_OK)
		return code;
	th_group_wait(&s->group);
	pthread_mutex_lock(&s->writing);
	th_pq_array_init(&list, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	code = remove_all(s, ids, count, &list, err);
	if (code != TH_OK)
		th_pq_rollback(&s->writer);
	th_pq_array_deinit(&list);
	pthread_mutex_unlock(&s->writing);
	if (code == TH_OK)
		th_group_sweep_soon(&s->group);
	return code;
}

/* ---- sweeping ---- */

static int64_t rows_of(PGresult *r)
{
	int64_t n = 0;

	return th_pq_rows(r) == 1 && th_pq_i64(r, 0, 0, &n) ? n : 0;
}

/* Events of removed sessions; when none is left of one, what it named. */
static const char events_sql[] =
    "WITH piece AS (SELECT e.ctid FROM thole.removed r JOIN thole.events e"
    " ON e.session_number = r.number LIMIT " PIECE_EVENTS "), gone AS (DELETE FROM thole.events"
    " WHERE ctid IN (SELECT ctid FROM piece) RETURNING 1) SELECT count(*) FROM gone";
static const char names_sql[] =
    "WITH over AS (SELECT number FROM thole.removed r WHERE NOT EXISTS (SELECT 1 FROM thole.events "
    "e"
    " WHERE e.session_number = r.number) LIMIT " PIECE_BLOBS
    " FOR UPDATE SKIP LOCKED), names AS (DELETE FROM thole.blob_names WHERE session_number IN"
    " (SELECT number FROM over) RETURNING hash), gone AS (DELETE FROM thole.removed WHERE number"
    " IN (SELECT number FROM over) RETURNING 1), orphans AS (INSERT INTO thole.orphans (hash)"
    " SELECT DISTINCT hash FROM names ON CONFLICT DO NOTHING) SELECT count(*) FROM gone";
/* Locked first, and looked at in a statement of its own: what was named meanwhile is seen. */
static const char lock_sql[] =
    "SELECT hash FROM thole.orphans ORDER BY hash LIMIT " PIECE_BLOBS " FOR UPDATE SKIP LOCKED";
/* Who is about to name one has its row locked (names_write): waited for, and then seen. */
static const char wait_sql[] = "SELECT count(*) FROM (SELECT 1 FROM thole.blobs"
			       " WHERE hash = ANY($1) ORDER BY hash FOR UPDATE) b";
static const char blobs_sql[] =
    "WITH gone AS (DELETE FROM thole.blobs b WHERE hash = ANY($1)"
    " AND NOT EXISTS (SELECT 1 FROM thole.blob_names n WHERE n.hash = b.hash)"
    " RETURNING place, object, hash) INSERT INTO thole.doomed (place, object, hash)"
    " SELECT place, object, hash FROM gone WHERE place IS NOT NULL ON CONFLICT DO NOTHING";
static const char orphans_sql[] = "DELETE FROM thole.orphans WHERE hash = ANY($1)";

static enum th_code sweep_blobs(struct th_postgres *s, int64_t *ret_done, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_pq_array hashes;
	enum th_code code = th_pq_run(&s->writer, lock_sql, NULL, &r, err);

	th_pq_array_init(&hashes, TH_PQ_BYTES, TH_BATCH_MEMORY_MAX);
	for (int i = 0; i < th_pq_rows(r); i++) {
		struct th_str hash = { 0 };

		(void)th_pq_bytes(r, i, 0, &hash);
		th_pq_array_bytes(&hashes, hash.ptr, hash.len);
	}
	*ret_done = th_pq_rows(r);
	th_pq_arg_array(&args, &hashes);
	if (code == TH_OK && *ret_done > 0)
		code = th_pq_add(&s->writer, wait_sql, &args, err);
	if (code == TH_OK && *ret_done > 0)
		code = th_pq_add(&s->writer, blobs_sql, &args, err);
	if (code == TH_OK && *ret_done > 0)
		code = th_pq_add(&s->writer, orphans_sql, &args, err);
	th_pq_array_deinit(&hashes);
	return code;
}

static enum th_code sweep(struct th_postgres *s, bool *ret_more, struct th_err *err)
{
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	int64_t done = 0;
	enum th_code code = th_postgres_connect(s, &s->writer, err);

	/* What is doomed here is to be removed, also by a node that puts nothing. */
	if (code == TH_OK)
		code = th_pg_places_know(s, err);
	if (code == TH_OK)
		code = th_postgres_begin(s, err);
	if (code == TH_OK)
		code = th_pq_run(&s->writer, events_sql, NULL, &r, err);
	done = rows_of(r);
	if (code == TH_OK && done == 0) {
		r = th_pq_clear(r);
		code = th_pq_run(&s->writer, names_sql, NULL, &r, err);
		done = rows_of(r);
	}
	if (code == TH_OK && done == 0)
		code = sweep_blobs(s, &done, err);
	*ret_more = done > 0;
	if (code != TH_OK)
		return code;
	if (done > 0)
		return th_postgres_commit(s, err);
	th_pq_rollback(&s->writer); /* nothing was to be done, and nothing is to be flushed */
	return TH_OK;
}

enum th_code th_postgres_sweep(struct th_store *store, bool *ret_more, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	enum th_code code = th_postgres_writable(s, err);

	*ret_more = false;
	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	code = sweep(s, ret_more, err);
	if (code != TH_OK)
		th_pq_rollback(&s->writer);
	pthread_mutex_unlock(&s->writing);
	return code;
}
