/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - every stored byte against what it must be: the sessions
 * one after the other, each row against its checksum and each event against the
 * chain of its session; then what belongs to no session; then the blobs.
 */
#include <stdio.h>
#include <stdlib.h>

#include "postgres/postgres.h"

#define PIECE_SESSIONS "200"
#define PIECE_BLOBS "1" /* one may be as large as TH_BLOB_MAX */

struct chain {
	struct th_postgres *s;
	struct th_str id;
	struct th_digest digest;
	uint64_t events;
};

static enum th_code note_digest(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *err)
{
	(void)ev;
	(void)err;
	*(struct th_digest *)ctx = *digest;
	return TH_OK;
}

static enum th_code chain_event(void *ctx, const struct th_event *ev,
				const struct th_digest *digest, struct th_err *err)
{
	struct chain *c = ctx;
	struct th_digest wanted = th_event_digest(&c->digest, c->id, ev);

	if (!th_digest_eq(&wanted, digest))
		return th_pg_fail_event(c->s, c->id, ev->seq,
					"the event is not what its digest says", err);
	c->digest = wanted;
	c->events++;
	return TH_OK;
}

/* Its row and its own events. */
static enum th_code check_session(struct th_postgres *s, const struct th_session_row *row,
				  struct th_err *err)
{
	struct chain c = { .s = s, .id = row->session_id };
	const char *bad = th_verify_row(row);
	enum th_code code = TH_OK;

	if (bad)
		return th_pg_fail_row(s, row->session_id, bad, err);
	if (row->parent_seq > 0)
		code = th_postgres_walk(s, row->session_id, row->parent_seq, row->parent_seq,
					note_digest, &c.digest, err);
	if (code == TH_OK)
		code = th_postgres_walk(s, row->session_id, row->parent_seq + 1, row->head_seq,
					chain_event, &c, err);
	if (code == TH_OK && !th_digest_eq(&c.digest, &row->head))
		code = th_pg_fail_row(s, row->session_id,
				      "column head is not the digest of its last event", err);
	s->report->sessions++;
	s->report->events += c.events;
	return code;
}

static enum th_code check_sessions(struct th_postgres *s, struct th_err *err)
{
	uint64_t number = 0;
	enum th_code code = TH_OK;

	for (bool more = true; more && code == TH_OK;) {
		struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;

		th_pq_arg_i64(&args, (int64_t)number);
		code = th_pq_run(&s->reader,
				 "SELECT " TH_PG_SESSION_COLUMNS " FROM thole.sessions s"
				 " WHERE s.number > $1 ORDER BY s.number LIMIT " PIECE_SESSIONS,
				 &args, &r, err);
		more = th_pq_rows(r) > 0;
		for (int i = 0; i < th_pq_rows(r) && code == TH_OK; i++) {
			struct th_session_row row;
			const char *bad = th_pg_row(r, i, &number, &row);

			code = bad ? th_pg_fail_row(s, row.session_id, bad, err)
				   : check_session(s, &row, err);
		}
	}
	return code;
}

/* Statements that find one row that should not be there: a key, and what is wrong with it. */
static const struct {
	const char *table, *sql, *what;
} strays[] = {
	{ "events",
	  "SELECT s.session_id || ' event ' || e.seq FROM thole.events e JOIN thole.sessions s"
	  " ON s.number = e.session_number WHERE e.seq > s.head_seq OR e.seq <= s.parent_seq LIMIT "
	  "1",
	  "it is not between the beginning and the end of its session" },
	{ "events",
	  "SELECT 'number ' || e.session_number || ' event ' || e.seq FROM thole.events e"
	  " LEFT JOIN thole.sessions s ON s.number = e.session_number LEFT JOIN thole.removed r"
	  " ON r.number = e.session_number WHERE s.number IS NULL AND r.number IS NULL LIMIT 1",
	  "there is no such session" },
	{ "events",
	  "SELECT 'number ' || session_number || ' event ' || seq FROM thole.events"
	  " WHERE event_data IS NOT NULL AND event_data <> convert_from(data, 'UTF8')::jsonb LIMIT "
	  "1",
	  "event_data is not what data says" },
	{ "sessions",
	  "SELECT session_id FROM thole.sessions WHERE raw_metadata IS NOT NULL"
	  " AND raw_metadata <> convert_from(metadata, 'UTF8')::jsonb LIMIT 1",
	  "raw_metadata is not what metadata says" },
	{ "tasks",
	  "SELECT 'number ' || t.number FROM thole.tasks t LEFT JOIN thole.sessions s USING "
	  "(number)"
	  " WHERE s.number IS NULL LIMIT 1",
	  "there is no session with its number" },
	{ "blob_names",
	  "SELECT 'number ' || n.session_number || ' blob ' || encode(n.hash, 'hex')"
	  " FROM thole.blob_names n LEFT JOIN thole.blobs b USING (hash) WHERE b.hash IS NULL "
	  "LIMIT 1",
	  "the blob is not there" },
};

static enum th_code check_strays(struct th_postgres *s, struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < TH_COUNT(strays) && code == TH_OK && !s->report->bad; i++) {
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
		struct th_str key = { 0 };

		code = th_pq_run(&s->reader, strays[i].sql, NULL, &r, err);
		if (code == TH_OK && th_pq_rows(r) > 0 && th_pq_text(r, 0, 0, &key))
			th_verify_blame(s->report, strays[i].table, th_session_shown(key).text,
					"%s", strays[i].what);
	}
	return code;
}

static enum th_code check_tasks(struct th_postgres *s, struct th_err *err)
{
	uint64_t number = 0;
	enum th_code code = TH_OK;

	for (bool more = true; more && code == TH_OK && !s->report->bad;) {
		struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;

		th_pq_arg_i64(&args, (int64_t)number);
		code = th_pq_run(&s->reader,
				 "SELECT number, main_goal, task_crc FROM thole.tasks"
				 " WHERE number > $1 ORDER BY number LIMIT " PIECE_SESSIONS,
				 &args, &r, err);
		more = th_pq_rows(r) > 0;
		for (int i = 0; i < th_pq_rows(r) && !s->report->bad; i++) {
			struct th_str text = { 0 };
			int64_t crc = 0;
			char key[48];

			if (th_pq_u64(r, i, 0, &number) && th_pq_text(r, i, 1, &text) &&
			    th_pq_i64(r, i, 2, &crc) && crc == th_task_crc(number, text))
				continue;
			snprintf(key, sizeof(key), "number %llu", (unsigned long long)number);
			th_verify_blame(s->report, "tasks", key, "it is not what was written");
		}
	}
	return code;
}

/* One that is not there, or another, is damage; a place that cannot be reached ends the check. */
static enum th_code check_object(struct th_postgres *s, PGresult *r, int64_t place,
				 const struct th_digest *hash, const char *key, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	struct th_str object = { 0 };
	struct th_err why = { 0 };
	enum th_code code = TH_ECORRUPT;

	bytes.may_fail = true;
	if (!th_pq_text(r, 0, 3, &object))
		(void)th_fail(&why, code, "column object cannot have such a value");
	else
		code = th_pg_place_get(s, &s->reader, &s->read_places, place, object, hash, &bytes,
				       &why);
	if (code == TH_ECORRUPT)
		th_verify_blame(s->report, "blobs", key, "%s", why.msg);
	else if (code != TH_OK)
		return th_fail(err, code, "%s: %s", key, why.msg);
	return TH_OK;
}

static enum th_code check_blobs(struct th_postgres *s, struct th_err *err)
{
	struct th_digest hash = { 0 };
	enum th_code code = TH_OK;
	bool first = true;

	for (bool more = true; more && code == TH_OK && !s->report->bad; first = false) {
		struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
		char hex[TH_SHA256_HEX_SIZE + 1], key[80];
		struct th_str bytes = { 0 };
		struct th_digest found;
		int64_t place;

		th_pq_arg_bytes(&args, hash.bytes, first ? 0 : sizeof(hash.bytes));
		code = th_pq_run(&s->reader,
				 "SELECT hash, bytes, place, object FROM thole.blobs WHERE hash > "
				 "$1 ORDER BY hash"
				 " LIMIT " PIECE_BLOBS,
				 &args, &r, err);
		more = th_pq_rows(r) > 0;
		if (code != TH_OK || !more)
			break;
		if (!th_pq_fixed(r, 0, 0, hash.bytes, sizeof(hash.bytes))) {
			th_verify_blame(s->report, "blobs", "a blob",
					"column hash cannot have such a value");
			break;
		}
		(void)th_pq_bytes(r, 0, 1, &bytes);
		found = th_sha256_of(bytes.ptr, bytes.len);
		th_digest_hex(&hash, hex);
		snprintf(key, sizeof(key), "blob %s", hex);
		if (th_pq_i64(r, 0, 2, &place)) {
			code = check_object(s, r, place, &hash, key, err);
		} else if (!th_digest_eq(&found, &hash))
			th_verify_blame(s->report, "blobs", key,
					"its bytes are not what its hash says");
		s->report->blobs++;
	}
	return code;
}

static enum th_code verify_all(struct th_postgres *s, struct th_err *err)
{
	enum th_code code = check_sessions(s, err);

	if (code == TH_OK)
		code = check_strays(s, err);
	if (code == TH_OK)
		code = check_tasks(s, err);
	return code == TH_OK ? check_blobs(s, err) : code;
}

/* A session, and those whose beginnings it shares. */
static enum th_code verify_one(struct th_postgres *s, struct th_str id, struct th_err *err)
{
	struct th_buf next TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SESSION_ID_MAX * 4);
	enum th_code code = TH_OK;

	next.may_fail = true;
	th_buf_add(&next, id);
	for (size_t depth = 0; next.len > 0 && code == TH_OK && depth <= TH_FORK_DEPTH_MAX + 1;
	     depth++) {
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
		struct th_session_row row = { 0 };
		uint64_t number = 0;

		code = th_postgres_row(s, &s->reader, th_buf_str(&next), &r, &number, &row, err);
		if (code == TH_OK)
			code = check_session(s, &row, err);
		th_buf_clear(&next);
		th_buf_add(&next, row.parent);
	}
	return code;
}

enum th_code th_postgres_verify(struct th_store *store, struct th_str session_id,
				struct th_verify_report *ret, struct th_err *err)
{
	struct th_postgres *s = th_postgres_of(store);
	struct th_err local;
	enum th_code code = th_postgres_read_begin(s, err);

	*ret = (struct th_verify_report){ 0 };
	if (code != TH_OK)
		return code;
	s->report = ret;
	code = session_id.len > 0 ? verify_one(s, session_id, err ?: &local)
				  : verify_all(s, err ?: &local);
	s->report = NULL;
	th_postgres_read_end(s);
	return code == TH_ECORRUPT && ret->bad ? TH_OK : code;
}
