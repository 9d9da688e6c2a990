/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean.c - objects that nobody names are removed: mark and sweep, with
 * TH_BLOB_GRACE_MS (a day) before each of the two.
 *
 * Garbage comes about in two ways.  A blob's last name goes: its row is taken in the
 * transaction that dooms its object (remove.c).  Or somebody puts an object and
 * dies before his transaction: a walk through the place finds it.
 *
 *	mark	an object that is older than the grace period and has no row is
 *		doomed: noted, with the time by the database's clock
 *	sweep	what has been doomed for the grace period, and still has no row, is
 *		removed; what has one is spared
 *
 * Others append meanwhile, on any node.  Can an object be removed that somebody is
 * about to name?  He put it himself, since a name is drawn for each put (store/blob_place.h):
 * whoever writes the same bytes again puts another object, or finds the row of one,
 * which he locks.  From his put to his transaction at most TH_BLOB_FRESH_MS go by,
 * else he puts anew.  At the mark the object was a day old, and its row was looked for
 * again a day later: to lose it, his COMMIT would have to reach the database two
 * days after it was sent.  A clock that is wrong by days dooms what is new, and the look
 * before the sweep spares it.  And removing it twice, or later than thought, hits nothing else.
 *
 * A place that belongs to the database of which this one is a copy is not cleaned.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "io/files.h"
#include "postgres/postgres.h"

/* clang-format off */
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#define REMOVES STRING(TH_PLACE_REMOVES_MAX)
/* clang-format on */

struct cleaning {
	struct th_postgres *s;
	struct th_pq *c;
	struct th_pg_places places;
	const struct th_pg_place *at;
	int stop_fd; /* readable: it is to end; -1: never */
	bool failed; /* the place, not the database */
	struct th_pq_array names, hashes;
	struct th_clean_report *report;
	struct th_err *err;
};

static bool stopped(const struct cleaning *x)
{
	struct pollfd fd = { .fd = x->stop_fd, .events = POLLIN };

	return x->stop_fd >= 0 && poll(&fd, 1, 0) > 0;
}

static uint64_t rows_of(PGresult *r)
{
	uint64_t n = 0;

	return th_pq_rows(r) == 1 && th_pq_u64(r, 0, 0, &n) ? n : 0;
}

/* ---- mark ---- */

static enum th_code on_found(void *ctx, const struct th_blob_place_found *found, struct th_err *err)
{
	struct cleaning *x = ctx;

	(void)err;
	x->report->seen++;
	if (found->age_ms <= TH_BLOB_GRACE_MS)
		return TH_OK;
	th_pq_array_text(&x->names, found->name);
	/* What is left of a put that was cut off is no object of a blob: no digest is as short. */
	th_pq_array_bytes(&x->hashes, found->hash.bytes,
			  found->has_hash ? sizeof(found->hash.bytes) : 0);
	return TH_OK;
}

static enum th_code doom(struct cleaning *x)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code;

	if (x->names.count == 0)
		return TH_OK;
	th_pq_arg_i64(&args, x->at->number);
	th_pq_arg_array(&args, &x->names);
	th_pq_arg_array(&args, &x->hashes);
	code = th_pq_run(x->c,
			 "WITH new AS (INSERT INTO thole.doomed (place, object, hash)"
			 " SELECT $1, n.a, n.b FROM unnest($2, $3) AS n (a, b) WHERE NOT EXISTS"
			 " (SELECT 1 FROM thole.blobs b WHERE b.hash = n.b AND b.place = $1"
			 " AND b.object = n.a) ON CONFLICT DO NOTHING RETURNING 1)"
			 " SELECT count(*) FROM new",
			 &args, &r, x->err);
	x->report->doomed += rows_of(r);
	th_pq_array_clear(&x->names);
	th_pq_array_clear(&x->hashes);
	return code;
}

static enum th_code mark(struct cleaning *x)
{
	struct th_blob_place_walk walk = { 0 };
	struct th_blob_place *p = x->at->place;
	enum th_code code = TH_OK;

	while (code == TH_OK && !walk.over && !stopped(x)) {
		code = p->kind->walk(p, &walk, on_found, x, x->err);
		x->failed = code != TH_OK;
		if (code == TH_OK)
			code = doom(x);
	}
	return code;
}

/* ---- sweep ---- */

static enum th_code spare(struct cleaning *x)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code;

	th_pq_arg_i64(&args, x->at->number);
	code = th_pq_run(x->c,
			 "WITH spared AS (DELETE FROM thole.doomed d USING thole.blobs b"
			 " WHERE d.place = $1 AND b.hash = d.hash AND b.place = d.place"
			 " AND b.object = d.object RETURNING 1) SELECT count(*) FROM spared",
			 &args, &r, x->err);
	x->report->spared += rows_of(r);
	return code;
}

/* So many at a time that who waits for the end of it all does not wait long.  Returns how many. */
static size_t remove_some(struct cleaning *x, const struct th_str *names, size_t count,
			  enum th_code *ret_code)
{
	struct th_blob_place *p = x->at->place;
	size_t done = 0;

	while (*ret_code == TH_OK && done < count && !stopped(x)) {
		size_t some = TH_MIN(count - done, (size_t)TH_PLACE_CALLS_MAX);

		*ret_code = p->kind->remove(p, names + done, some, x->err);
		x->failed = *ret_code != TH_OK;
		if (*ret_code == TH_OK)
			done += some;
	}
	return done;
}

/* A piece; *ret_done: how many. */
static enum th_code sweep(struct cleaning *x, int *ret_done)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args gone TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	struct th_str names[TH_PLACE_REMOVES_MAX];
	size_t count = 0, done;
	enum th_code code;

	th_pq_arg_i64(&args, x->at->number);
	th_pq_arg_i64(&args, TH_BLOB_GRACE_MS);
	code = th_pq_run(x->c,
			 "SELECT d.object FROM thole.doomed d WHERE d.place = $1"
			 " AND d.since < clock_timestamp() - $2 * interval '1 millisecond'"
			 " AND NOT EXISTS (SELECT 1 FROM thole.blobs b WHERE b.hash = d.hash"
			 " AND b.place = d.place AND b.object = d.object)"
			 " ORDER BY d.since LIMIT " REMOVES,
			 &args, &r, x->err);
	for (int i = 0; i < th_pq_rows(r) && count < TH_PLACE_REMOVES_MAX; i++)
		if (th_pq_text(r, i, 0, &names[count]) && names[count].len < TH_PLACE_NAME_SIZE &&
		    names[count].len > 3)
			count++;
	done = remove_some(x, names, count, &code);
	for (size_t i = 0; i < done; i++)
		th_pq_array_text(&x->names, names[i]);
	*ret_done = (int)done;
	th_pq_arg_i64(&gone, x->at->number);
	th_pq_arg_array(&gone, &x->names);
	if (code == TH_OK && done > 0)
		code = th_pq_run(x->c,
				 "DELETE FROM thole.doomed WHERE place = $1 AND object = ANY($2)",
				 &gone, NULL, x->err);
	th_pq_array_clear(&x->names);
	if (code == TH_OK)
		x->report->removed += done;
	return code;
}

static enum th_code sweep_all(struct cleaning *x)
{
	enum th_code code = spare(x);
	int done = 1;

	while (code == TH_OK && done > 0 && !stopped(x))
		code = sweep(x, &done);
	return code;
}

/* ---- all places ---- */

/* Is it our turn to walk through it?  One of all nodes has it. */
static enum th_code claim(struct cleaning *x, bool *ret, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code;

	th_pq_arg_i64(&args, x->at->number);
	th_pq_arg_i64(&args, TH_BLOB_WALK_MS);
	code = th_pq_run(x->c,
			 "UPDATE thole.places SET walked = clock_timestamp() WHERE number = $1"
			 " AND walked < clock_timestamp() - $2 * interval '1 millisecond'"
			 " RETURNING 1",
			 &args, &r, err);
	*ret = th_pq_rows(r) == 1;
	return code;
}

/* The row of a place that failed says so.  Where that fails too, the next time says it. */
static void note(struct cleaning *x)
{
	if (x->failed && th_pg_place_note(x->c, x->at->number, x->err->msg, NULL) == TH_OK)
		(void)!th_pq_go(x->c, NULL, NULL);
}

static enum th_code clean_one(struct cleaning *x, bool now)
{
	bool walk = now;
	enum th_code code = now ? TH_OK : claim(x, &walk, x->err);

	x->failed = false;
	if (code == TH_OK && walk)
		code = mark(x);
	if (code == TH_OK)
		code = sweep_all(x);
	th_pq_array_clear(&x->names);
	th_pq_array_clear(&x->hashes);
	note(x);
	return code;
}

/* now: without waiting for a turn.  One that fails keeps nobody from the others; the first error is
 * told. */
static enum th_code clean(struct th_postgres *s, struct th_pq *c, bool now, int stop_fd,
			  struct th_clean_report *ret, struct th_err *err)
{
	struct th_err why = { 0 };
	struct cleaning x = { .s = s, .c = c, .stop_fd = stop_fd, .report = ret, .err = &why };
	enum th_code code = th_pg_places_load(s, c, &x.places, err);

	th_pq_array_init(&x.names, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	th_pq_array_init(&x.hashes, TH_PQ_BYTES, TH_BATCH_MEMORY_MAX);
	for (size_t i = 0; i < x.places.count && !stopped(&x); i++) {
		enum th_code one;

		x.at = &x.places.list[i];
		if (!x.at->ours)
			continue;
		one = clean_one(&x, now);
		if (code == TH_OK && one != TH_OK) {
			code = one;
			*err = why;
		}
	}
	th_pq_array_deinit(&x.names);
	th_pq_array_deinit(&x.hashes);
	th_pg_places_deinit(&x.places);
	return code;
}

static void link_init(struct th_postgres *s, struct th_pq *c, int stop_fd)
{
	*c = (struct th_pq)TH_PQ_INIT;
	c->url = th_secret_expose(s->url).ptr;
	c->shown = s->shown;
	c->wait_ms = s->writer.wait_ms;
	c->write = true;
	c->stop_fd = stop_fd;
}

enum th_code th_postgres_clean(struct th_store *store, struct th_clean_report *ret,
			       struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	enum th_code code = th_postgres_writable(s, err);
	struct th_pq c;

	*ret = (struct th_clean_report){ 0 };
	if (code != TH_OK)
		return code;
	link_init(s, &c, -1);
	code = clean(s, &c, true, -1, ret, err);
	th_pq_close(&c);
	return code;
}

/* ---- the thread ---- */

/* What fails is tried again the next time; a place that fails is noted in its row. */
static void *work(void *ctx)
{
	struct th_postgres *s = ctx;
	struct pollfd stop = { .fd = s->cleaner.stop_fd, .events = POLLIN };
	uint64_t draw;

	th_random(&draw, sizeof(draw)); /* nodes that begin together do not come together */
	while (poll(&stop, 1, (int)(TH_BLOB_CLEAN_MS / 2 + draw % (TH_BLOB_CLEAN_MS / 2))) == 0) {
		struct th_clean_report report = { 0 };
		struct th_err err;
		struct th_pq c;

		link_init(s, &c, stop.fd);
		(void)!clean(s, &c, false, stop.fd, &report, &err);
		th_pq_close(&c);
	}
	return NULL;
}

static void start(struct th_postgres *s)
{
	struct th_pg_cleaner *x = &s->cleaner;

	if (x->started || !s->group.loop)
		return;
	x->stop_fd = eventfd(0, EFD_CLOEXEC);
	x->started = x->stop_fd >= 0 && th_postgres_thread(&x->thread, work, s);
	if (!x->started)
		th_fd_close(&x->stop_fd);
}

enum th_code th_pg_places_know(struct th_postgres *s, struct th_err *err)
{
	struct th_pg_places *p = &s->places;
	enum th_code code = TH_OK;

	if (p->looked_ms == 0 || th_clock_ms() - p->looked_ms > TH_PLACE_LOOK_MS)
		code = th_pg_places_load(s, &s->writer, p, err);
	if (code == TH_OK && p->count > 0)
		start(s);
	return code;
}

void th_pg_clean_stop(struct th_postgres *s)
{
	struct th_pg_cleaner *x = &s->cleaner;
	uint64_t one = 1;

	if (x->started && write(x->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(x->thread, NULL);
	x->started = false;
	th_fd_close(&x->stop_fd);
}
