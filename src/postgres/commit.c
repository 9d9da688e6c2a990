/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commit.c - how a transaction on the writer's connection begins and
 * ends.
 */
#include <poll.h>

#include "postgres/postgres.h"

#define PAUSE_MS 50       /* before the next look */
#define TIMEOUT_MS "5000" /* of one statement; the COMMIT has none, see below */
/* Of us, between two statements: who is frozen there gives up his rows before others, who wait for
 * them, give up. */
#define SILENCE_MS "3000"

enum th_code th_postgres_begin(struct th_postgres *s, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq *c = &s->writer;
	enum th_code code = th_pq_add(c, "BEGIN ISOLATION LEVEL READ COMMITTED", NULL, err);

	/* Whatever the database or the role has as its default, within this transaction.  Rows are
	 * found by their keys: the planner would read whole tables that are young and often
	 * written. */
	if (code == TH_OK)
		code =
		    th_pq_add(c,
			      "SELECT set_config('statement_timeout', '" TIMEOUT_MS
			      "', true), set_config('lock_timeout', '" TIMEOUT_MS
			      "', true), set_config('idle_in_transaction_session_timeout',"
			      " '" SILENCE_MS "', true), set_config('enable_seqscan', 'off', true),"
			      " set_config('enable_hashjoin', 'off', true),"
			      " set_config('enable_mergejoin', 'off', true), CASE WHEN "
			      "current_setting('synchronous_commit') IN"
			      " ('off', 'local') THEN set_config('synchronous_commit', 'on', true)"
			      " END",
			      NULL, err);
	if (code != TH_OK || !s->owner.name[0])
		return code;
	th_pq_arg_text(&args, th_str_of(s->owner.name));
	th_pq_arg_i64(&args, ++s->batch);
	th_pq_arg_i64(&args, s->looks);
	/* Fails (22012) when this owner was found dead, and so was taken out or marked; or when it
	 * is read after somebody has looked what became of it. */
	return th_pq_add(c,
			 "WITH mine AS (UPDATE thole.commits c SET batch = $2 FROM thole.owners o"
			 " WHERE c.owner = $1 AND c.looks = $3 AND o.owner = $1"
			 " AND o.expires > '-infinity'"
			 " RETURNING 1) SELECT 1 / count(*) FROM mine",
			 &args, err);
}

enum th_code th_pg_fail_lost(struct th_postgres *s, struct th_err *err)
{
	return th_fail(err, TH_EIO,
		       "%s: the lease of this runtime is over; another one may have its sessions",
		       s->shown);
}

/* After the connection was cut while the COMMIT was under way: was it committed?  The row is locked
 * until the server has ended that transaction, and our own one is durable only after it. */
static enum th_code settle(struct th_postgres *s, bool *ret_committed, struct th_err *err)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	int64_t batch = 0;
	enum th_code code = th_postgres_connect(s, &s->writer, err);

	if (code != TH_OK)
		return code;
	th_pq_arg_text(&args, th_str_of(s->owner.name));
	code = th_pq_run(&s->writer,
			 "UPDATE thole.commits SET looks = looks + 1 WHERE owner = $1"
			 " RETURNING batch, looks",
			 &args, &r, err);
	if (code == TH_OK && s->writer.warned) {
		th_pq_close(&s->writer);
		return th_fail(err, TH_ECONN, "%s: a commit did not wait for the standby",
			       s->shown);
	}
	if (code != TH_OK)
		return code;
	if (th_pq_rows(r) != 1 || !th_pq_i64(r, 0, 0, &batch) || !th_pq_i64(r, 0, 1, &s->looks))
		return th_pg_fail_lost(s, err);
	*ret_committed = batch == s->batch;
	return TH_OK;
}

void th_postgres_pause(struct th_postgres *s, uint64_t ms)
{
	struct pollfd fd = { .fd = s->writer.stop_fd, .events = POLLIN };

	(void)poll(&fd, 1, (int)ms);
}

enum th_code th_postgres_commit(struct th_postgres *s, struct th_err *err)
{
	struct th_pq *c = &s->writer;
	bool committed = false;
	/* A timeout must not end the wait for a standby: the server would say OK. */
	enum th_code code = th_pq_add(c, "SET LOCAL statement_timeout = 0", NULL, err);

	if (code == TH_OK)
		code = th_pq_add(c, "COMMIT", NULL, err);
	if (code == TH_OK)
		code = th_pq_go(c, NULL, err);
	if (code == TH_OK && !c->warned)
		return TH_OK;
	if (code != TH_OK && code != TH_ECONN)
		return code;
	th_pq_close(c);
	if (!s->owner.name[0])
		return th_fail(err, TH_ECONN, "%s: cut while a transaction was committed",
			       s->shown);
	for (;;) {
		code = settle(s, &committed, err);
		if (code == TH_OK)
			return committed
				   ? TH_OK
				   : th_fail(err, TH_ECONN, "%s: a commit was cut off", s->shown);
		if (code != TH_ECONN && code != TH_EBUSY)
			return code;
		if (th_pg_owner_left_ms(&s->owner) == 0)
			return th_pg_fail_lost(s, err);
		th_postgres_pause(s, PAUSE_MS);
	}
}
