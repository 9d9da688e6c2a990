/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - blobs of this store that are elsewhere (store/blob_place.h): which
 * places there are, and what is read from them.
 *
 * Which place it is stands in the database, so all nodes agree, and each row of
 * `blobs` says where its bytes are, so a node that has not heard of a new place yet
 * only puts something into the old one.
 */
#include "base/text.h"
#include "postgres/postgres.h"

#define FAILURE_MAX 400 /* bytes of why, in the database */

/* ---- which places there are ---- */

void th_pg_places_deinit(struct th_pg_places *p)
{
	for (size_t i = 0; i < p->count; i++)
		th_blob_place_close(p->list[i].place);
	*p = (struct th_pg_places){ 0 };
}

static struct th_pg_place *place_find(struct th_pg_places *p, int64_t number)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->list[i].number == number)
			return &p->list[i];
	return NULL;
}

static enum th_code take_row(struct th_pg_places *p, PGresult *r, int row, struct th_err *err)
{
	struct th_str url = { 0 }, id = { 0 };
	int64_t number = 0, over = 0;
	bool current = false, ours = false;
	struct th_pg_place *x;

	if (!th_pq_i64(r, row, 0, &number) || !th_pq_text(r, row, 1, &url) ||
	    !th_pq_text(r, row, 2, &id) || !th_pq_i64(r, row, 3, &over) ||
	    !th_pq_bool(r, row, 4, &current) || !th_pq_bool(r, row, 5, &ours) || number <= 0 ||
	    over < 0)
		return th_fail(err, TH_ECORRUPT, "a row of thole.places is damaged");
	x = place_find(p, number);
	if (!x) {
		struct th_blob_place *opened;
		enum th_code code = TH_OK;

		if (p->count == TH_PLACES_MAX)
			return th_fail(err, TH_ELIMIT, "a store has at most %d places for blobs",
				       TH_PLACES_MAX);
		code = th_blob_place_open(url, id, &opened, err);
		if (code != TH_OK)
			return code;
		x = &p->list[p->count++];
		*x = (struct th_pg_place){ .number = number, .place = opened };
	}
	x->ours = ours;
	if (current && ours) {
		p->current = x;
		p->over = (uint64_t)over;
	}
	return TH_OK;
}

enum th_code th_pg_places_load(struct th_postgres *s, struct th_pq *c, struct th_pg_places *p,
			       struct th_err *err)
{
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code = th_postgres_connect(s, c, err);

	if (code == TH_OK)
		code = th_pq_run(c,
				 "SELECT number, url, id, over, current, system = " TH_PG_SYSTEM_SQL
				 " FROM thole.places ORDER BY number",
				 NULL, &r, err);
	p->current = NULL;
	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++)
		code = take_row(p, r, i, err);
	if (code == TH_OK)
		p->looked_ms = th_clock_ms();
	return code ? th_prefix(err, code, "%s", s->shown) : TH_OK;
}

enum th_code th_pg_place_note(struct th_pq *c, int64_t number, const char *why, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };

	th_pq_arg_i64(&args, number);
	th_pq_arg_text(&args, th_utf8_cut(th_str_of(why), FAILURE_MAX));
	return th_pq_add(c,
			 "UPDATE thole.places SET failed = clock_timestamp(), failure = $2"
			 " WHERE number = $1",
			 &args, err);
}

/* ---- reading ---- */

enum th_code th_pg_place_get(struct th_postgres *s, struct th_pq *c, struct th_pg_places *p,
			     int64_t number, struct th_str object, const struct th_digest *hash,
			     struct th_buf *out, struct th_err *err)
{
	struct th_pg_place *x = place_find(p, number);
	char name[TH_PLACE_NAME_SIZE] = "", hex[TH_SHA256_HEX_SIZE + 1];
	size_t before = out->len;
	struct th_digest named, found;
	enum th_code code = x ? TH_OK : th_pg_places_load(s, c, p, err);

	th_digest_hex(hash, hex);
	if (code == TH_OK && !x)
		x = place_find(p, number);
	if (code != TH_OK)
		return code;
	if (!x)
		return th_fail(err, TH_ECORRUPT, "%s is damaged: there is no place %lld of blob %s",
			       s->shown, (long long)number, hex);
	if (!th_blob_place_name_parse(object, &named) || !th_digest_eq(&named, hash))
		return th_fail(err, TH_ECORRUPT, "%s is damaged: blob %s has the object of another",
			       s->shown, hex);
	memcpy(name, object.ptr, object.len);
	code = x->place->kind->get(x->place, name, out, err);
	if (code != TH_OK)
		return code == TH_ENOENT ? th_prefix(err, TH_ECORRUPT, "a blob is lost") : code;
	code = th_buf_check(out, "the blob", err);
	if (code != TH_OK)
		return code;
	found = th_sha256_of(out->ptr + before, out->len - before);
	if (th_digest_eq(&found, hash))
		return TH_OK;
	th_buf_truncate(out, before);
	return th_fail(err, TH_ECORRUPT,
		       "%s: the object %s was changed: its bytes are not what its name says",
		       x->place->url, name);
}
