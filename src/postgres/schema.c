/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - the tables, and how they came to be: forward only, one
 * step a version, each in one transaction that keeps others who migrate out.
 */
#include "postgres/postgres.h"

/* "thol", for pg_advisory_xact_lock. */
#define LOCK "1952999276"

/* clang-format off */
static const char *const first[] = {
	"CREATE SCHEMA thole",
	/* One row: what the rest is. */
	"CREATE TABLE thole.store ("
	" one boolean PRIMARY KEY DEFAULT true CHECK (one),"
	" version integer NOT NULL,"
	" made timestamptz NOT NULL DEFAULT now())",
	"CREATE SEQUENCE thole.session_numbers",
	"CREATE TABLE thole.sessions ("
	" number bigint PRIMARY KEY,"
	" session_id text COLLATE \"C\" NOT NULL UNIQUE,"
	" user_id text COLLATE \"C\" NOT NULL,"
	" agent_type text COLLATE \"C\" NOT NULL,"
	" model text COLLATE \"C\" NOT NULL,"
	" agent_state text COLLATE \"C\" NOT NULL,"
	" title text COLLATE \"C\" NOT NULL,"
	" parent_id text COLLATE \"C\" NOT NULL,"
	" parent_seq bigint NOT NULL,"
	" head_seq bigint NOT NULL,"
	" head bytea NOT NULL,"
	" iteration bigint NOT NULL,"
	" calls bigint NOT NULL,"
	" tokens_in bigint NOT NULL,"
	" tokens_cached bigint NOT NULL,"
	" tokens_out bigint NOT NULL,"
	" cost_nano bigint NOT NULL,"
	" epoch bigint NOT NULL,"
	" owner text COLLATE \"C\" NOT NULL,"
	" created_ms bigint NOT NULL,"
	" updated_ms bigint NOT NULL,"
	" metadata bytea NOT NULL,"
	" raw_metadata jsonb,"
	" row_crc bigint NOT NULL"
	") WITH (fillfactor = 80)",
	"CREATE INDEX sessions_updated ON thole.sessions (updated_ms DESC, session_id)",
	"CREATE INDEX sessions_created ON thole.sessions (created_ms DESC, session_id)",
	"CREATE INDEX sessions_user ON thole.sessions (user_id, created_ms DESC, session_id)",
	"CREATE INDEX sessions_state ON thole.sessions (agent_state, created_ms DESC, session_id)"
	" WHERE agent_state NOT IN ('finished', 'failed')",
	"CREATE INDEX sessions_parent ON thole.sessions (parent_id) WHERE parent_id <> ''",
	"CREATE INDEX sessions_owner ON thole.sessions (owner) WHERE owner <> ''",
	/* The words with which a session's first task begins. */
	"CREATE TABLE thole.tasks ("
	" number bigint PRIMARY KEY, main_goal text COLLATE \"C\" NOT NULL, task_crc bigint NOT NULL)",
	"CREATE TABLE thole.events ("
	" session_number bigint NOT NULL,"
	" seq bigint NOT NULL,"
	" ts_ms bigint NOT NULL,"
	" event_id uuid NOT NULL,"
	" source text COLLATE \"C\" NOT NULL,"
	" event_class text COLLATE \"C\" NOT NULL,"
	" cause bigint NOT NULL,"
	" call_id text COLLATE \"C\" NOT NULL,"
	" data bytea NOT NULL,"
	" event_data jsonb,"
	" build text COLLATE \"C\" NOT NULL,"
	" digest bytea NOT NULL,"
	" PRIMARY KEY (session_number, seq))",
	"CREATE TABLE thole.blobs ("
	" hash bytea PRIMARY KEY, media_type text COLLATE \"C\" NOT NULL, bytes bytea NOT NULL)",
	/* Pictures are compressed already. */
	"ALTER TABLE thole.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL",
	/* Which sessions name a blob; which blobs may be named by nobody any more. */
	"CREATE TABLE thole.blob_names ("
	" hash bytea NOT NULL, session_number bigint NOT NULL, PRIMARY KEY (session_number, hash))",
	"CREATE INDEX blob_names_hash ON thole.blob_names (hash)",
	"CREATE TABLE thole.orphans (hash bytea PRIMARY KEY)",
	/* Sessions that were removed, whose events are still there. */
	"CREATE TABLE thole.removed (number bigint PRIMARY KEY)",
	/* Sums of a day; a part for each of a few owners, so that they do not wait for each other. */
	"CREATE TABLE thole.usage ("
	" user_id text COLLATE \"C\" NOT NULL, day bigint NOT NULL,"
	" agent_type text COLLATE \"C\" NOT NULL, model text COLLATE \"C\" NOT NULL,"
	" part smallint NOT NULL,"
	" sessions numeric NOT NULL, turns numeric NOT NULL, calls numeric NOT NULL,"
	" tokens_in numeric NOT NULL, tokens_cached numeric NOT NULL, tokens_out numeric NOT NULL,"
	" cost_nano numeric NOT NULL,"
	" PRIMARY KEY (user_id, day, agent_type, model, part)) WITH (fillfactor = 70)",
	/* Runtimes, while they live. */
	"CREATE TABLE thole.owners ("
	" owner text COLLATE \"C\" PRIMARY KEY, host text NOT NULL, process bigint NOT NULL,"
	" began timestamptz NOT NULL, expires timestamptz NOT NULL) WITH (fillfactor = 50)",
	"CREATE TABLE thole.commits ("
	" owner text COLLATE \"C\" PRIMARY KEY"
	" REFERENCES thole.owners (owner) ON DELETE CASCADE,"
	" batch bigint NOT NULL, looks bigint NOT NULL) WITH (fillfactor = 50)",
	/* For people: the names and types that one asks for. */
	"CREATE VIEW thole.session_list AS SELECT s.session_id, s.user_id, s.agent_type, s.model,"
	" s.iteration AS current_iteration, t.main_goal AS plan_main_goal, s.title, s.agent_state,"
	" to_timestamp(s.created_ms / 1000.0) AS created_at,"
	" to_timestamp(s.updated_ms / 1000.0) AS updated_at, s.raw_metadata,"
	" s.head_seq AS last_sequence_number, s.calls, s.tokens_in, s.tokens_cached, s.tokens_out,"
	" s.cost_nano / 1e9 AS cost_usd, s.parent_id, s.parent_seq, s.owner, s.epoch"
	" FROM thole.sessions s LEFT JOIN thole.tasks t USING (number)",
	"CREATE VIEW thole.event_list AS SELECT e.event_id, s.session_id,"
	" e.seq AS sequence_number, to_timestamp(e.ts_ms / 1000.0) AS \"timestamp\", e.source,"
	" e.event_class, e.event_data, nullif(e.call_id, '') AS action_id_ref,"
	" nullif(e.cause, 0) AS cause, e.build"
	" FROM thole.events e JOIN thole.sessions s ON s.number = e.session_number",
	"INSERT INTO thole.store (version) VALUES (0)",
	NULL,
};
/* Nodes, and what is handed over from one to another. */
static const char *const second[] = {
	"ALTER TABLE thole.owners ADD COLUMN node text NOT NULL DEFAULT '',"
	" ADD COLUMN address text NOT NULL DEFAULT '',"
	" ADD COLUMN capacity bigint NOT NULL DEFAULT 0,"
	" ADD COLUMN draining boolean NOT NULL DEFAULT false,"
	" ADD COLUMN seen timestamptz NOT NULL DEFAULT clock_timestamp()",
	"INSERT INTO thole.owners (owner, host, process, began, expires)"
	" VALUES ('" TH_PG_NOBODY "', '', 0, clock_timestamp(), '-infinity')",
	NULL,
};

/* What sessions say themselves beside the numbers of their rows (struct th_used). */
static const char *const third[] = {
	"ALTER TABLE thole.usage"
	" ADD COLUMN tokens_written numeric NOT NULL DEFAULT 0,"
	" ADD COLUMN model_ms numeric NOT NULL DEFAULT 0,"
	" ADD COLUMN tools_ms numeric NOT NULL DEFAULT 0,"
	" ADD COLUMN person_ms numeric NOT NULL DEFAULT 0",
	NULL,
};
/*
 * A row is written with each append.  While no indexed column of it changes and its page has room,
 * that touches no index: so the time is in an index by its minute alone, and lists sort the rows of
 * a minute themselves.
 */
static const char *const fourth[] = {
	"ALTER TABLE thole.sessions SET (fillfactor = 45)",
	"DROP INDEX thole.sessions_updated",
	"ALTER TABLE thole.sessions ADD COLUMN updated_min bigint NOT NULL"
	" GENERATED ALWAYS AS (updated_ms / 60000) STORED",
	"CREATE INDEX sessions_updated ON thole.sessions (updated_min DESC)",
	NULL,
};
/* What nodes have, by which sessions are given to them. */
static const char *const fifth[] = {
	"ALTER TABLE thole.owners ADD COLUMN labels text NOT NULL DEFAULT ''",
	NULL,
};
/*
 * Blobs in places (store/blob_place.h).  A row of `blobs` says where its bytes are: in it, or (`place`)
 * in an object.  `doomed` are objects that are to go, and since when.
 */
static const char *const sixth[] = {
	"CREATE TABLE thole.places ("
	" number bigint PRIMARY KEY, url text COLLATE \"C\" NOT NULL,"
	" id text COLLATE \"C\" NOT NULL UNIQUE,"
	/* The database that the place belongs to: a copy of it must not clean there. */
	" system text COLLATE \"C\" NOT NULL,"
	" over bigint NOT NULL, current boolean NOT NULL,"
	" made timestamptz NOT NULL DEFAULT clock_timestamp(),"
	" walked timestamptz NOT NULL DEFAULT clock_timestamp(),"
	" failed timestamptz, failure text)",
	"CREATE UNIQUE INDEX places_current ON thole.places (current) WHERE current",
	"ALTER TABLE thole.blobs ALTER COLUMN bytes DROP NOT NULL,"
	" ADD COLUMN place bigint, ADD COLUMN object text COLLATE \"C\", ADD COLUMN size bigint",
	"CREATE TABLE thole.doomed ("
	" place bigint NOT NULL, object text COLLATE \"C\" NOT NULL, hash bytea,"
	" since timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (place, object))",
	"CREATE INDEX doomed_since ON thole.doomed (since)",
	NULL,
};
/* Sessions whose task begins later: in an index by that time, until it has begun. */
static const char *const seventh[] = {
	"CREATE INDEX sessions_start ON thole.sessions ((" TH_PG_START "))"
	" WHERE agent_state = 'scheduled'",
	NULL,
};
/* Since when a session that was handed over waits, and what was its last event; statements of a node that were slow. */
static const char *const eighth[] = {
	"ALTER TABLE thole.sessions ADD COLUMN left_at timestamptz,"
	" ADD COLUMN left_seq bigint",
	"ALTER TABLE thole.owners ADD COLUMN slow bigint NOT NULL DEFAULT 0",
	NULL,
};
/* How many of a user's run: who has the fewest comes first (queue.c). */
static const char *const ninth[] = {
	"CREATE INDEX sessions_running ON thole.sessions (user_id)"
	" WHERE agent_state IN ('running', 'loading')",
	NULL,
};
/* What runtimes have promised to the world outside (outbox.c). */
static const char *const tenth[] = {
	"CREATE TABLE thole.outbox ("
	" owner text COLLATE \"C\" NOT NULL, source text COLLATE \"C\" NOT NULL,"
	" name text COLLATE \"C\" NOT NULL, line bytea NOT NULL,"
	" PRIMARY KEY (owner, source, name))",
	NULL,
};
/*
 * Sessions that are about to run, so that all nodes together begin no more than a user may have
 * (reserve.c).  A row of `users` is what those who count lock.
 */
static const char *const eleventh[] = {
	"CREATE TABLE thole.users (user_id text COLLATE \"C\" PRIMARY KEY)",
	"CREATE TABLE thole.reserved ("
	" name text COLLATE \"C\" PRIMARY KEY, user_id text COLLATE \"C\" NOT NULL,"
	" owner text COLLATE \"C\" NOT NULL)",
	"CREATE INDEX reserved_user ON thole.reserved (user_id)",
	NULL,
};
/* clang-format on */

/* What leads to version i + 1. */
static const char *const *const steps[TH_POSTGRES_VERSION] = { first, second, third,   fourth,
							       fifth, sixth,  seventh, eighth,
							       ninth, tenth,  eleventh };

/* 0: there is no schema. */
static enum th_code version_get(struct th_pq *c, int64_t *ret, struct th_err *err)
{
	PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
	bool there = false;
	enum th_code code;

	*ret = 0;
	/* Not by to_regclass: within a transaction it may not know yet what another one made. */
	code = th_pq_run(c,
			 "SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid ="
			 " c.relnamespace WHERE n.nspname = 'thole' AND c.relname = 'store')",
			 NULL, &r, err);
	if (code != TH_OK)
		return code;
	if (th_pq_rows(r) != 1 || !th_pq_bool(r, 0, 0, &there) || !there)
		return TH_OK;
	r = th_pq_clear(r);
	code = th_pq_run(c, "SELECT version::bigint FROM thole.store", NULL, &r, err);
	if (code != TH_OK)
		return code;
	if (th_pq_rows(r) != 1 || !th_pq_i64(r, 0, 0, ret) || *ret < 1)
		return th_fail(err, TH_ECORRUPT, "%s: the table thole.store is damaged", c->shown);
	return TH_OK;
}

static enum th_code fail_newer(const struct th_pq *c, int64_t version, struct th_err *err)
{
	return th_fail(
	    err, TH_EUNSUPPORTED,
	    "%s: the store was written by a newer thole (version %lld of its tables; this "
	    "one knows %d)",
	    c->shown, (long long)version, TH_POSTGRES_VERSION);
}

/* All steps that are left, in one transaction, one process at a time. */
static enum th_code migrate(struct th_pq *c, struct th_err *err)
{
	int64_t version = 0;
	enum th_code code = th_pq_add(c, "BEGIN", NULL, err);

	/* A table in use is waited for, but not so long that those behind us starve. */
	if (code == TH_OK)
		code = th_pq_add(c, "SET LOCAL lock_timeout = '5s'", NULL, err);
	if (code == TH_OK)
		code = th_pq_run(c, "SELECT pg_advisory_xact_lock(" LOCK ")", NULL, NULL, err);
	if (code == TH_OK)
		code = version_get(c, &version, err);
	if (code == TH_OK && version > TH_POSTGRES_VERSION)
		code = fail_newer(c, version, err);
	for (int64_t i = version; i < TH_POSTGRES_VERSION && code == TH_OK; i++) {
		struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };

		for (size_t k = 0; steps[i][k] && code == TH_OK; k++)
			code = th_pq_add(c, steps[i][k], NULL, err);
		th_pq_arg_i64(&args, i + 1);
		if (code == TH_OK)
			code =
			    th_pq_run(c, "UPDATE thole.store SET version = $1", &args, NULL, err);
	}
	if (code == TH_OK)
		code = th_pq_run(c, "COMMIT", NULL, NULL, err);
	if (code != TH_OK)
		th_pq_rollback(c);
	return code;
}

enum th_code th_postgres_schema(struct th_pq *c, bool create, struct th_err *err)
{
	int64_t version = 0;
	enum th_code code = version_get(c, &version, err);

	if (code != TH_OK || version == TH_POSTGRES_VERSION)
		return code;
	if (version > TH_POSTGRES_VERSION)
		return fail_newer(c, version, err);
	if (create)
		return migrate(c, err);
	if (version == 0)
		return th_fail(err, TH_ENOENT, "%s: there is no store in this database", c->shown);
	return th_fail(
	    err, TH_EUNSUPPORTED,
	    "%s: the store is of an older version (%lld, not %d); \"thole store migrate\" "
	    "raises it",
	    c->shown, (long long)version, TH_POSTGRES_VERSION);
}
