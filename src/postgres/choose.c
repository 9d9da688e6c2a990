/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c - a place for large blobs is chosen, and told of. */
#include "postgres/postgres.h"

/* ---- choosing ---- */

static enum th_code place_insert(struct th_pq *c, struct th_str url, struct th_str id,
				 uint64_t over, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	enum th_code code = th_pq_add(c, "BEGIN", NULL, err);

	if (code == TH_OK)
		code =
		    th_pq_add(c, "LOCK TABLE thole.places IN SHARE ROW EXCLUSIVE MODE", NULL, err);
	if (code == TH_OK)
		code = th_pq_add(c, "UPDATE thole.places SET current = false WHERE current", NULL,
				 err);
	th_pq_arg_text(&args, url);
	th_pq_arg_text(&args, id);
	th_pq_arg_i64(&args, (int64_t)over);
	if (code == TH_OK && url.len > 0)
		code = th_pq_add(c,
				 "INSERT INTO thole.places (number, url, id, system, over, current)"
				 " SELECT coalesce(max(number), 0) + 1, $1, $2, " TH_PG_SYSTEM_SQL
				 ", $3, true FROM thole.places",
				 &args, err);
	if (code == TH_OK)
		code = th_pq_run(c, "COMMIT", NULL, NULL, err);
	if (code != TH_OK)
		th_pq_rollback(c);
	return code;
}

static enum th_code place_set(struct th_postgres *s, struct th_str url, uint64_t over,
			      struct th_err *err)
{
	char id[TH_PLACE_ID_SIZE + 1];
	struct th_blob_place *place = NULL;
	enum th_code code = th_pg_places_load(s, &s->writer, &s->places, err);

	th_blob_place_id_draw(id);
	if (code == TH_OK && over > TH_BLOB_MAX)
		code = th_fail(err, TH_EUSAGE, "no blob is larger than %zu bytes", TH_BLOB_MAX);
	if (code == TH_OK && url.len > 0 && s->places.count == TH_PLACES_MAX)
		code = th_fail(err, TH_ELIMIT, "a store has at most %d places for blobs",
			       TH_PLACES_MAX);
	if (code == TH_OK && url.len > 0) {
		code = th_blob_place_open(url, th_str_of(id), &place, err);
		if (code == TH_OK)
			code = th_blob_place_begin(place, err);
		th_blob_place_close(place);
	}
	if (code == TH_OK)
		code = place_insert(&s->writer, url, th_str_of(id), over, err);
	s->places.looked_ms = 0;
	return code;
}

enum th_code th_postgres_place_set(struct th_store *store, struct th_str url, uint64_t over,
				   struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	enum th_code code = th_postgres_writable(s, err);

	if (code != TH_OK)
		return code;
	th_group_wait(&s->group);
	pthread_mutex_lock(&s->writing);
	code = place_set(s, url, over, err);
	pthread_mutex_unlock(&s->writing);
	return code;
}

/* ---- telling ---- */

static const char list_sql[] =
    "SELECT coalesce(p.url, ''), coalesce(p.current AND p.system = " TH_PG_SYSTEM_SQL
    ", NOT EXISTS (SELECT 1 FROM thole.places c WHERE c.current AND c.system = " TH_PG_SYSTEM_SQL
    ")), coalesce(p.system = " TH_PG_SYSTEM_SQL ", true), coalesce(p.over, 0), b.blobs, b.bytes,"
    " (SELECT count(*) FROM thole.doomed d WHERE d.place = n.number),"
    " coalesce(p.failure, ''),"
    " coalesce(extract(epoch FROM clock_timestamp() - p.failed)::bigint, 0)"
    " FROM (SELECT 0 AS number UNION ALL SELECT number FROM thole.places) n"
    " LEFT JOIN thole.places p ON p.number = n.number,"
    " LATERAL (SELECT count(*) AS blobs,"
    " coalesce(sum(coalesce(size, octet_length(bytes))), 0)::bigint AS bytes"
    " FROM thole.blobs WHERE coalesce(place, 0) = n.number) b ORDER BY n.number";

enum th_code th_postgres_places(struct th_store *store, th_store_place_fn *fn, void *ctx,
				struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	code = th_pq_run(&s->reader, list_sql, NULL, &r, err);
	th_postgres_read_end(s);
	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++) {
		struct th_store_place x = { 0 };

		if (!th_pq_text(r, i, 0, &x.url) || !th_pq_bool(r, i, 1, &x.current) ||
		    !th_pq_bool(r, i, 2, &x.ours) || !th_pq_i64(r, i, 3, &x.over) ||
		    !th_pq_i64(r, i, 4, &x.blobs) || !th_pq_i64(r, i, 5, &x.bytes) ||
		    !th_pq_i64(r, i, 6, &x.doomed) || !th_pq_text(r, i, 7, &x.failure) ||
		    !th_pq_i64(r, i, 8, &x.failed_s))
			return th_fail(err, TH_ECORRUPT, "%s: a row of thole.places is damaged",
				       s->shown);
		code = fn(ctx, &x, err);
	}
	return code;
}
