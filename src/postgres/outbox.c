/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outbox.c - what runtimes have promised to the world outside, and those that are left when one
 * is dead.
 *
 * A line has who answers for it now (`owner`), and its own ones have him as their `source`.  What
 * is taken from a dead one has another source, until it is merged into the taker's own lines: so
 * nothing is lost when that one dies in between.  Each taking makes one up, since a runtime that
 * was found dead while its last put was under way leaves a line of the same name once more.
 *
 * A piece is taken at a time, and the next one when that is merged: many may be dead.
 */
#include "base/limits.h"
#include "postgres/postgres.h"

/* With `writing`. */
static enum th_code ready(struct th_postgres *s, struct th_err *err)
{
	enum th_code code = th_postgres_connect(s, &s->writer, err);

	return code == TH_OK ? th_pg_owner_take(s, err) : code;
}

/* ---- writing ---- */

struct writing {
	struct th_pq_array names, texts, gone;
};

static enum th_code put_lines(struct th_postgres *s, struct writing *w, bool merged,
			      struct th_err *err)
{
	struct th_pq_args lines TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args gone TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args mine TH_CLEANUP(th_pq_args_deinit) = { 0 };
	enum th_code code = th_postgres_begin(s, err);

	th_pq_arg_text(&lines, th_str_of(s->owner.name));
	th_pq_arg_array(&lines, &w->names);
	th_pq_arg_array(&lines, &w->texts);
	th_pq_arg_text(&gone, th_str_of(s->owner.name));
	th_pq_arg_array(&gone, &w->gone);
	th_pq_arg_text(&mine, th_str_of(s->owner.name));
	if (code == TH_OK && w->gone.count > 0)
		code = th_pq_add(&s->writer,
				 "DELETE FROM thole.outbox WHERE owner = $1 AND source = $1"
				 " AND name = ANY($2)",
				 &gone, err);
	if (code == TH_OK && w->names.count > 0)
		code = th_pq_add(
		    &s->writer,
		    "INSERT INTO thole.outbox (owner, source, name, line)"
		    " SELECT $1, $1, n.name, n.line FROM unnest($2, $3) AS n (name, line)"
		    " ON CONFLICT (owner, source, name) DO UPDATE SET line = excluded.line",
		    &lines, err);
	if (code == TH_OK && merged)
		code = th_pq_add(&s->writer,
				 "DELETE FROM thole.outbox WHERE owner = $1 AND source <> $1",
				 &mine, err);
	if (code == TH_OK)
		return th_postgres_commit(s, err);
	th_pq_rollback(&s->writer);
	return code;
}

enum th_code th_postgres_outbox_put(struct th_store *store, const struct th_outbox_line *lines,
				    size_t count, bool merged, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	enum th_code code = th_postgres_writable(s, err);
	struct writing w;

	if (code != TH_OK)
		return code;
	th_pq_array_init(&w.names, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	th_pq_array_init(&w.texts, TH_PQ_BYTES, TH_BATCH_MEMORY_MAX);
	th_pq_array_init(&w.gone, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	for (size_t i = 0; i < count; i++) {
		if (lines[i].text.len == 0) {
			th_pq_array_text(&w.gone, lines[i].name);
			continue;
		}
		th_pq_array_text(&w.names, lines[i].name);
		th_pq_array_bytes(&w.texts, lines[i].text.ptr, lines[i].text.len);
	}
	pthread_mutex_lock(&s->writing);
	code = ready(s, err);
	if (code == TH_OK)
		code = put_lines(s, &w, merged, err);
	pthread_mutex_unlock(&s->writing);
	th_pq_array_deinit(&w.names);
	th_pq_array_deinit(&w.texts);
	th_pq_array_deinit(&w.gone);
	return code;
}

/* ---- taking ---- */

#define IS_DEAD                                                                \
	"NOT EXISTS (SELECT 1 FROM thole.owners o WHERE o.owner = b.owner AND" \
	" o.expires > clock_timestamp())"

/* Most often there is nothing, and nothing is to be flushed: so it is looked for outside of a
 * transaction. */
static enum th_code anything(struct th_postgres *s, bool *ret, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code;

	th_pq_arg_text(&args, th_str_of(s->owner.name));
	code = th_pq_run(&s->writer,
			 "SELECT EXISTS (SELECT 1 FROM thole.outbox b WHERE"
			 " (b.owner = $1 AND b.source <> $1) OR " IS_DEAD ")",
			 &args, &r, err);
	if (code == TH_OK && (th_pq_rows(r) != 1 || !th_pq_bool(r, 0, 0, ret)))
		code = th_fail(err, TH_EPROTO, "%s: no answer about outboxes", s->shown);
	return code;
}

/* The owners of lines that are dead, and stay so (th_pg_living). */
static enum th_code dead_find(struct th_postgres *s, struct th_pq_array *names, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	enum th_code code = th_pq_add(
	    &s->writer,
	    "UPDATE thole.owners SET expires = '-infinity' WHERE expires <= clock_timestamp()"
	    " AND expires > '-infinity' AND owner IN (SELECT owner FROM thole.outbox)",
	    NULL, err);

	th_pq_arg_text(&args, th_str_of(s->owner.name));
	if (code == TH_OK)
		code = th_pq_run(&s->writer,
				 "SELECT DISTINCT owner FROM thole.outbox b WHERE owner <> $1"
				 " AND " IS_DEAD,
				 &args, &r, err);
	for (int i = 0; i < th_pq_rows(r); i++) {
		struct th_str owner = { 0 };

		(void)th_pq_bytes(r, i, 0, &owner);
		th_pq_array_bytes(names, owner.ptr, owner.len);
	}
	return code;
}

/* By name: a row that another one took meanwhile has its name, and is looked at again; one that it
 * has in hand is its.  As many as there is room for beside those that are not merged yet. */
static enum th_code claim(struct th_postgres *s, struct th_pq_array *dead, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };

	th_pq_arg_text(&args, th_str_of(s->owner.name));
	th_pq_arg_array(&args, dead);
	th_pq_arg_i64(&args, (int64_t)TH_OUTBOX_TAKEN_MAX);
	return th_pq_add(&s->writer,
			 "UPDATE thole.outbox t SET owner = $1, source = gen_random_uuid()::text"
			 " FROM (SELECT owner, source, name, sum(octet_length(line)) OVER"
			 " (ORDER BY owner, source, name) - octet_length(line) AS before"
			 " FROM (SELECT owner, source, name, line"
			 " FROM thole.outbox WHERE owner = ANY($2) FOR UPDATE SKIP LOCKED) l) d"
			 " WHERE t.owner = d.owner AND t.source = d.source AND t.name = d.name"
			 " AND d.before < $3 - (SELECT coalesce(sum(octet_length(line)), 0)"
			 " FROM thole.outbox WHERE owner = $1 AND source <> $1)",
			 &args, err);
}

static enum th_code tell(struct th_postgres *s, PGresult *r, th_outbox_fn *fn, void *ctx,
			 struct th_err *err)
{
	enum th_code code = TH_OK;

	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++) {
		struct th_outbox_line line = { 0 };
		bool taken = false;

		if (!th_pq_text(r, i, 0, &line.name) || !th_pq_bytes(r, i, 1, &line.text) ||
		    !th_pq_bool(r, i, 2, &taken))
			return th_fail(err, TH_ECORRUPT, "%s is damaged: the table thole.outbox",
				       s->shown);
		code = fn(ctx, &line, taken, err);
	}
	return code;
}

static enum th_code take(struct th_postgres *s, PGresult **ret, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_array dead;
	bool any = false;
	enum th_code code = ready(s, err);

	if (code == TH_OK)
		code = anything(s, &any, err);
	if (code != TH_OK || !any)
		return code;
	th_pq_arg_text(&args, th_str_of(s->owner.name));
	th_pq_array_init(&dead, TH_PQ_TEXT, TH_BATCH_MEMORY_MAX);
	code = th_postgres_begin(s, err);
	if (code == TH_OK)
		code = dead_find(s, &dead, err);
	if (code == TH_OK && dead.count > 0)
		code = claim(s, &dead, err);
	if (code == TH_OK)
		code =
		    th_pq_run(&s->writer,
			      "WITH mine AS (SELECT name, line FROM thole.outbox WHERE owner = $1"
			      " AND source <> $1) SELECT name, line, true FROM mine UNION ALL"
			      " SELECT name, line, false FROM thole.outbox WHERE owner <> $1"
			      " AND owner = source AND name IN (SELECT name FROM mine)",
			      &args, ret, err);
	th_pq_array_deinit(&dead);
	if (code == TH_OK)
		return th_postgres_commit(s, err);
	th_pq_rollback(&s->writer);
	return code;
}

enum th_code th_postgres_outbox_take(struct th_store *store, th_outbox_fn *fn, void *ctx,
				     struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	PGresult *r = NULL;
	struct th_err local;
	enum th_code code = th_postgres_writable(s, err);

	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	code = take(s, &r, err);
	pthread_mutex_unlock(&s->writing);
	if (code == TH_OK)
		code = tell(s, r, fn, ctx, err ?: &local);
	th_pq_clear(r);
	return code;
}
