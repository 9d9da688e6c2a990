/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.c - the runtimes of one database, as they say of themselves and
 * as the database sees them.
 */
#include <stdio.h>

#include "postgres/postgres.h"

/* ---- what this one says ---- */

static enum th_code note(struct th_pg_owner *o, const struct th_node *me, struct th_err *err)
{
	if (me->name.len > TH_FLEET_TEXT_MAX || me->address.len > TH_FLEET_TEXT_MAX)
		return th_fail(err, TH_ELIMIT, "a node's name and address have at most %d bytes",
			       TH_FLEET_TEXT_MAX);
	if (me->labels.len > TH_LABELS_TEXT_MAX)
		return th_fail(err, TH_ELIMIT, "a node's labels have at most %d bytes",
			       TH_LABELS_TEXT_MAX);
	snprintf(o->node, sizeof(o->node), "%.*s", TH_FMT(me->name));
	snprintf(o->address, sizeof(o->address), "%.*s", TH_FMT(me->address));
	snprintf(o->labels, sizeof(o->labels), "%.*s", TH_FMT(me->labels));
	o->capacity = me->capacity;
	o->draining = me->draining;
	return TH_OK;
}

static enum th_code write_row(struct th_postgres *s, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	const struct th_pg_owner *o = &s->owner;
	enum th_code code = th_postgres_begin(s, err);

	th_pq_arg_text(&args, th_str_of(o->name));
	th_pq_arg_text(&args, th_str_of(o->node));
	th_pq_arg_text(&args, th_str_of(o->address));
	th_pq_arg_i64(&args, o->capacity);
	th_pq_arg_i64(&args, o->draining);
	th_pq_arg_text(&args, th_str_of(o->labels));
	if (code == TH_OK)
		code = th_pq_add(&s->writer,
				 "UPDATE thole.owners SET node = $2, address = $3, capacity = $4,"
				 " draining = $5 = 1, labels = $6 WHERE owner = $1",
				 &args, err);
	if (code == TH_OK)
		code = th_postgres_commit(s, err);
	if (code != TH_OK)
		th_pq_rollback(&s->writer);
	return code;
}

enum th_code th_postgres_announce(struct th_store *store, const struct th_node *me,
				  struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	enum th_code code = th_postgres_writable(s, err);
	bool new;

	if (code != TH_OK)
		return code;
	pthread_mutex_lock(&s->writing);
	new = !s->owner.name[0];
	code = note(&s->owner, me, err);
	if (code == TH_OK)
		code = th_postgres_connect(s, &s->writer, err);
	if (code == TH_OK)
		code = new ? th_pg_owner_take(s, err) : write_row(s, err);
	if (code == TH_OK)
		code = th_pg_notify_start(s, me->notify, err);
	pthread_mutex_unlock(&s->writing);
	return code;
}

/* ---- what the database knows ---- */

/* clang-format off */
#define NODE_COLUMNS                                                                   \
	"o.owner, o.node, o.address, o.host, to_char(o.began AT TIME ZONE 'UTC',"      \
	" 'YYYY-MM-DD HH24:MI'), o.process, o.capacity, o.draining,"                   \
	" (extract(epoch FROM clock_timestamp() - o.seen) * 1000)::bigint,"            \
	" CASE WHEN o.expires <= clock_timestamp() THEN 0 ELSE"                        \
	" (extract(epoch FROM o.expires - clock_timestamp()) * 1000)::bigint END, o.labels, o.slow"
static const char of_session[] =
	"SELECT " NODE_COLUMNS ", 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint"
	" FROM thole.sessions s JOIN thole.owners o ON o.owner = s.owner"
	" WHERE s.session_id = $1 AND s.owner <> '' AND o.expires > clock_timestamp()";
/* A session without a user is of `thole run`, which nobody takes. */
static const char of_all[] =
	"WITH waits AS (" TH_PG_WAITING
	"), q AS (SELECT owner, count(*) AS queue, greatest(0, extract(epoch FROM"
	" clock_timestamp() - min(since)) * 1000)::bigint AS queue_ms FROM waits WHERE user_id <> ''"
	" GROUP BY owner)"
	" SELECT " NODE_COLUMNS ", coalesce(n.running, 0), coalesce(n.waiting, 0),"
	" coalesce(n.paused, 0), coalesce(n.others, 0), coalesce(q.queue, 0),"
	" coalesce(q.queue_ms, 0) FROM thole.owners o LEFT JOIN ("
	"SELECT owner, count(*) FILTER (WHERE agent_state IN ('running', 'loading')) AS running,"
	" count(*) FILTER (WHERE agent_state = 'waiting') AS waiting,"
	" count(*) FILTER (WHERE agent_state = 'paused') AS paused,"
	" count(*) FILTER (WHERE agent_state NOT IN ('running', 'loading', 'waiting', 'paused'))"
	" AS others FROM thole.sessions WHERE owner <> '' GROUP BY owner) n ON n.owner = o.owner"
	" LEFT JOIN q ON q.owner = o.owner"
	" WHERE n.owner IS NOT NULL OR q.owner IS NOT NULL OR o.expires > clock_timestamp()"
	" ORDER BY o.expires <= clock_timestamp(), o.node, o.owner LIMIT $1"; /* who lives first */
/* clang-format on */

static bool node_read(PGresult *r, int i, struct th_node *ret)
{
	struct th_str *const texts[] = { &ret->owner, &ret->name, &ret->address, &ret->host,
					 &ret->since };
	int64_t *const numbers[] = { &ret->seen_ms, &ret->left_ms, &ret->slow,
				     &ret->running, &ret->waiting, &ret->paused,
				     &ret->others,  &ret->queue,   &ret->queue_ms };
	bool good = th_pq_text(r, i, 10, &ret->labels);

	for (size_t k = 0; k < TH_COUNT(texts) && good; k++)
		good = th_pq_text(r, i, (int)k, texts[k]);
	good = good && th_pq_i64(r, i, 5, &ret->process) && th_pq_i64(r, i, 6, &ret->capacity) &&
	       th_pq_bool(r, i, 7, &ret->draining);
	/* The labels stand after the first two. */
	for (size_t k = 0; k < TH_COUNT(numbers) && good; k++)
		good = th_pq_i64(r, i, 8 + (int)k + (k > 1), numbers[k]);
	return good;
}

enum th_code th_postgres_nodes(struct th_store *store, struct th_str session_id, th_node_fn *fn,
			       void *ctx, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_err local;
	PGresult *r = NULL;
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	if (session_id.len)
		th_pq_arg_text(&args, session_id);
	else
		th_pq_arg_i64(&args, TH_FLEET_NODES_MAX);
	code = th_pq_run(&s->reader, session_id.len ? of_session : of_all, &args, &r, err);
	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++) {
		struct th_node node = { 0 };

		if (!node_read(r, i, &node)) {
			code = th_fail(err, TH_ECORRUPT, "%s is damaged: the table thole.owners",
				       s->shown);
			break;
		}
		code = fn(ctx, &node, err ?: &local);
	}
	th_pq_clear(r);
	th_postgres_read_end(s);
	return code;
}

static const char slow_sql[] =
    "SELECT (extract(epoch FROM clock_timestamp() - query_start) * 1000)::bigint, pid::bigint,"
    " coalesce(host(client_addr), ''), coalesce(wait_event_type || ': ' || wait_event, ''),"
    " left(query, $3::integer) FROM pg_stat_activity WHERE datname = current_database()"
    " AND backend_type = 'client backend' AND state = 'active' AND pid <> pg_backend_pid()"
    " AND query_start < clock_timestamp() - $1 * interval '1 millisecond'"
    " ORDER BY query_start LIMIT $2";

static bool slow_read(PGresult *r, int i, struct th_slow *ret)
{
	return th_pq_i64(r, i, 0, &ret->ms) && th_pq_i64(r, i, 1, &ret->process) &&
	       th_pq_bytes(r, i, 2, &ret->host) && th_pq_bytes(r, i, 3, &ret->waits) &&
	       th_pq_bytes(r, i, 4, &ret->text);
}

enum th_code th_postgres_slow(struct th_store *store, th_slow_fn *fn, void *ctx, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_err local;
	PGresult *r = NULL;
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	th_pq_arg_i64(&args, TH_STORE_SLOW_MS);
	th_pq_arg_i64(&args, TH_STORE_SLOW_MAX);
	th_pq_arg_i64(&args, TH_STORE_SLOW_TEXT_MAX);
	code = th_pq_run(&s->reader, slow_sql, &args, &r, err);
	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++) {
		struct th_slow slow = { 0 };

		code = slow_read(r, i, &slow)
			   ? fn(ctx, &slow, err ?: &local)
			   : th_fail(err, TH_EIO, "%s: pg_stat_activity cannot be read", s->shown);
	}
	th_pq_clear(r);
	th_postgres_read_end(s);
	return code;
}
