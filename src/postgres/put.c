/* SPDX-License-Identifier: Apache-2.0 */
/*
 * put.c - large blobs go to their place.
 *
 * Each is put, and durable, before the transaction begins that names it.  One that has
 * a row already is not put again; that the row is still there is seen in the
 * transaction.  Who dies in between leaves an object that no row names
 * (clean.c).
 *
 * A place that cannot be used stops nobody: for TH_PLACE_REST_MS large blobs go into
 * the database, and its row says why.
 */
#include <stdlib.h>

#include "postgres/postgres.h"

const struct th_pg_put *th_pg_put_find(const struct th_pg_puts *p, const struct th_digest *hash)
{
	for (size_t i = 0; i < p->count; i++)
		if (th_digest_eq(&p->list[i].hash, hash))
			return &p->list[i];
	return NULL;
}

/* What was put too long ago may be doomed when it is named. */
static void drop_stale(struct th_pg_puts *p)
{
	uint64_t now_ms = th_clock_ms();
	size_t count = 0;

	for (size_t i = 0; i < p->count; i++)
		if (now_ms - p->list[i].put_ms < TH_BLOB_FRESH_MS)
			p->list[count++] = p->list[i];
	p->count = count;
}

/* What is large and not put yet, from `at` on. */
static enum th_code collect(struct th_postgres *s, const struct th_batch *list,
			    struct th_blob_place_put **ret, struct th_err *err)
{
	struct th_pg_puts *p = &s->puts;
	size_t all = 0;

	for (const struct th_batch *b = list; b; b = b->next)
		all += b->refused ? 0 : b->blob_count;
	if (p->cap < all) {
		struct th_pg_put *more = realloc(p->list, all * sizeof(*more));

		if (!more)
			return th_fail_memory(err);
		p->list = more;
		p->cap = all;
	}
	*ret = th_try_alloc((all + 1) * sizeof(**ret));
	if (!*ret)
		return th_fail_memory(err);
	for (const struct th_batch *b = list; b; b = b->next)
		for (size_t i = 0; i < b->blob_count && !b->refused; i++) {
			const struct th_blob *blob = &b->blobs[i];

			if (blob->bytes.len <= s->places.over || th_pg_put_find(p, &blob->hash))
				continue;
			(*ret)[p->count].bytes = blob->bytes;
			p->list[p->count++] =
			    (struct th_pg_put){ .hash = blob->hash,
						.place = s->places.current->number,
						.put_ms = th_clock_ms() };
		}
	return TH_OK;
}

/* Which of them have rows already. */
static enum th_code look_up(struct th_postgres *s, size_t from, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_pq_array hashes;
	enum th_code code;

	th_pq_array_init(&hashes, TH_PQ_BYTES, TH_BATCH_MEMORY_MAX);
	for (size_t i = from; i < s->puts.count; i++)
		th_pq_array_bytes(&hashes, s->puts.list[i].hash.bytes, TH_SHA256_SIZE);
	th_pq_arg_array(&args, &hashes);
	code = th_pq_run(&s->writer, "SELECT hash FROM thole.blobs WHERE hash = ANY($1)", &args, &r,
			 err);
	for (int i = 0; i < th_pq_rows(r); i++) {
		struct th_digest hash;

		if (!th_pq_fixed(r, i, 0, hash.bytes, sizeof(hash.bytes)))
			continue;
		for (size_t k = from; k < s->puts.count; k++)
			if (th_digest_eq(&s->puts.list[k].hash, &hash))
				s->puts.list[k].known = true;
	}
	th_pq_array_deinit(&hashes);
	return code;
}

/* Those that are not known. */
static enum th_code put_new(struct th_postgres *s, size_t from, struct th_blob_place_put *list,
			    struct th_err *err)
{
	const struct th_blob_place *place = s->places.current->place;
	size_t count = 0;

	for (size_t i = from; i < s->puts.count; i++) {
		struct th_pg_put *put = &s->puts.list[i];

		if (put->known)
			continue;
		th_blob_place_name(&put->hash, put->name);
		list[count].bytes = list[i].bytes;
		memcpy(list[count++].name, put->name, sizeof(put->name));
	}
	return count > 0 ? place->kind->put(s->places.current->place, list, count, err) : TH_OK;
}

static bool has_blobs(const struct th_batch *list)
{
	for (; list; list = list->next)
		if (!list->refused && list->blob_count > 0)
			return true;
	return false;
}

enum th_code th_pg_puts_make(struct th_postgres *s, const struct th_batch *list, struct th_err *err)
{
	struct th_pg_puts *p = &s->puts;
	struct th_blob_place_put *todo = NULL;
	size_t from;
	enum th_code code;

	if (!has_blobs(list))
		return TH_OK;
	drop_stale(p);
	code = th_pg_places_know(s, err);
	if (code != TH_OK || !s->places.current || th_clock_ms() < p->rest_until_ms)
		return code;
	from = p->count;
	code = collect(s, list, &todo, err);
	if (code == TH_OK && p->count > from)
		code = look_up(s, from, err);
	if (code == TH_OK && p->count > from) {
		struct th_err why = { 0 };

		if (put_new(s, from, todo, &why) != TH_OK) {
			p->failed = s->places.current->number;
			p->why = why;
			p->rest_until_ms = th_clock_ms() + TH_PLACE_REST_MS;
			p->count = from;
		}
	}
	if (code != TH_OK)
		p->count = from;
	free(todo);
	return code;
}

/* The row of a place that failed says so, once. */
static enum th_code note_failure(struct th_postgres *s, struct th_err *err)
{
	int64_t number = s->puts.failed;

	s->puts.failed = 0;
	return number ? th_pg_place_note(&s->writer, number, s->puts.why.msg, err) : TH_OK;
}

enum th_code th_pg_puts_check(struct th_postgres *s, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_pq_array hashes;
	int64_t there = 0, known = 0;
	enum th_code code = note_failure(s, err);

	th_pq_array_init(&hashes, TH_PQ_BYTES, TH_BATCH_MEMORY_MAX);
	for (size_t i = 0; i < s->puts.count; i++)
		if (s->puts.list[i].known) {
			th_pq_array_bytes(&hashes, s->puts.list[i].hash.bytes, TH_SHA256_SIZE);
			known++;
		}
	th_pq_arg_array(&args, &hashes);
	/* Locked: who removes blobs waits for us. */
	if (code == TH_OK && known > 0)
		code = th_pq_run(&s->writer,
				 "SELECT count(*) FROM (SELECT 1 FROM thole.blobs"
				 " WHERE hash = ANY($1) ORDER BY hash FOR KEY SHARE) b",
				 &args, &r, err);
	th_pq_array_deinit(&hashes);
	if (code != TH_OK || known == 0)
		return code;
	if (th_pq_rows(r) == 1 && th_pq_i64(r, 0, 0, &there) && there == known)
		return TH_OK;
	s->puts.count = 0;
	return th_fail(err, TH_EBUSY, "%s: a blob was removed while it was named", s->shown);
}
