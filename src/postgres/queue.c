/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.c - sessions of the dead and those whose time has come, in the order of
 * store/queue.h.
 */
#include "postgres/postgres.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

/* clang-format off */
static const char abandoned_sql[] =
	"WITH waits AS (" TH_PG_WAITING "),"
	/* th_priority_after */
	" found AS MATERIALIZED (SELECT number, user_id, since, least(2, CASE raw_metadata ->> '"
	TH_PRIORITY_MEMBER "' WHEN 'low' THEN 0 WHEN 'high' THEN 2 ELSE 1 END + floor(greatest(0,"
	" extract(epoch FROM clock_timestamp() - since) * 1000 / " TEXT(TH_PRIORITY_AGE_MS) "))) AS level"
	" FROM waits WHERE NOT coalesce(raw_metadata ? 'delegated_by', false)),"
	/* By the index, for each of these users alone. */
	" users AS MATERIALIZED (SELECT u.user_id, (SELECT count(*) FROM thole.sessions s"
	" JOIN thole.owners o ON o.owner = s.owner WHERE s.user_id = u.user_id AND s.owner <> ''"
	" AND s.agent_state IN ('running', 'loading') AND o.expires > clock_timestamp()"
	" AND NOT coalesce(s.raw_metadata ? 'delegated_by', false)) AS running"
	" FROM (SELECT DISTINCT user_id FROM found) u),"
	" placed AS (SELECT number, user_id, level, since, running + row_number() OVER (PARTITION BY"
	" user_id ORDER BY level DESC, since, number) AS place FROM found JOIN users USING (user_id)),"
	" nodes AS (SELECT greatest(1, count(*)) AS n FROM thole.owners WHERE address <> ''"
	" AND NOT draining AND expires > clock_timestamp()),"
	/* Sessions without a user are of `thole run`: few take them, and they stand in nobody's way. */
	" ahead AS (SELECT number, row_number() OVER (ORDER BY user_id = '', level DESC, place, since,"
	" number) AS turn FROM placed ORDER BY turn LIMIT (SELECT $1 * n FROM nodes)"
	" OFFSET (SELECT $2 * $1 * n FROM nodes)),"
	" drawn AS (SELECT number, turn FROM ahead ORDER BY random() LIMIT $1)"
	" SELECT " TH_PG_SESSION_COLUMNS " FROM drawn JOIN thole.sessions s USING (number) ORDER BY turn";
/* clang-format on */

enum th_code th_postgres_abandoned(struct th_store *store, size_t page, th_session_fn *fn,
				   void *ctx, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r = NULL;
	struct th_err local;
	enum th_code code = th_postgres_read_begin(s, err);

	if (code != TH_OK)
		return code;
	th_pq_arg_i64(&args, TH_FLEET_CLAIM_MAX);
	th_pq_arg_i64(&args, (int64_t)page);
	/* One that is to begin may be open somewhere: whoever has it begins it, the others get
	 * EBUSY. */
	code = th_pq_run(&s->reader, abandoned_sql, &args, &r, err);
	for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++) {
		struct th_session_row row;
		uint64_t number;
		const char *bad = th_pg_row(r, i, &number, &row);

		code = bad ? th_pg_fail_row(s, row.session_id, bad, err ?: &local)
			   : fn(ctx, &row, err ?: &local);
	}
	th_pq_clear(r);
	th_postgres_read_end(s);
	return code;
}
