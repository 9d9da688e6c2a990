/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - every stored byte against what it must be.
 *
 * The whole store is read once, in the order in which it was written, with the
 * chain of every session under way at the same time.  One session is walked as
 * a reader does.  Both end with the first thing that is wrong.
 */
#include <stdlib.h>

#include "sqlite/verify_parts.h"

static enum th_code verify_all(struct th_check *v)
{
	enum th_code code = th_check_sessions(v);

	if (code == TH_OK && !v->report->bad) {
		code = th_check_index(v);
		if (code == TH_OK)
			th_check_forks(v);
	}
	if (code == TH_OK)
		code = th_check_removed(v);
	if (code == TH_OK && !v->report->bad)
		code = th_check_events(v);
	if (code == TH_OK && !v->report->bad)
		th_check_heads(v);
	if (code == TH_OK && !v->report->bad)
		code = th_check_blobs(v);
	if (code == TH_OK)
		code = th_check_small(v);
	if (code == TH_OK && !v->report->bad)
		code = th_check_file(v);
	return code;
}

struct walk {
	struct th_check *v;
	struct th_digest digest;
};

static enum th_code walk_event(void *ctx, const struct th_placed_event *e, struct th_err *err)
{
	struct walk *w = ctx;

	w->digest = th_event_digest(&w->digest, e->session_id, &e->ev);
	w->v->report->events++;
	if (th_digest_eq(&w->digest, &e->digest))
		return TH_OK;
	return th_db_fail_event(w->v->db, e->session_id, e->ev.seq,
				"the event is not what its digest says", err);
}

/* The rows of a session and of those that it was forked from. */
static enum th_code walk_rows(struct th_check *v, struct th_str id, struct th_digest *ret_head)
{
	for (size_t depth = 0; id.len > 0 && depth <= TH_FORK_DEPTH_MAX; depth++) {
		sqlite3_stmt *st = th_db_get(v->db, TH_SQL_SESSION_GET);
		struct th_placed_row r = {};
		const char *bad = "its parent is missing";
		enum th_code code = TH_OK;
		int status;

		if (st)
			th_bind_str(st, 1, id);
		status = th_db_step(v->db, st, v->err);
		if (status < 0)
			return (enum th_code)status;
		if (status == 0 && depth == 0)
			return th_fail_no_session(v->err, id);
		if (status == 1)
			bad = th_session_column(st, &r);
		if (status == 1 && !bad)
			bad = th_verify_row(&r.row);
		if (status == 1 && !bad)
			code = th_recent_patch(v->db, &r, v->err);
		if (code != TH_OK)
			return code;
		if (depth == 0)
			*ret_head = r.row.head;
		v->report->sessions += !bad;
		if (bad) {
			(void)th_db_fail_session(v->db, id, bad, v->err);
			id = TH_STR("");
		} else {
			id = th_arena_str(&v->arena, r.row.parent);
		}
		if (st)
			sqlite3_reset(st);
	}
	return TH_OK;
}

static enum th_code verify_one(struct th_check *v, struct th_str id)
{
	struct walk w = { .v = v };
	struct th_digest head = {};
	enum th_code code = walk_rows(v, id, &head);

	if (code == TH_OK && !v->report->bad)
		code = th_db_walk(v->db, id, 1, 0, walk_event, &w, v->err);
	if (code == TH_ECORRUPT && !v->report->bad)
		return th_check_stopped(v, code, "events", th_session_key(id).text);
	if (code == TH_ECORRUPT)
		return TH_OK;
	if (code == TH_OK && !v->report->bad && !th_digest_eq(&w.digest, &head))
		th_check_blame(v, id, "column head is not the digest of its last event");
	return code;
}

enum th_code th_sqlite_verify(struct th_store *store, struct th_str session_id,
			      struct th_verify_report *ret, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_err local;
	struct th_check v = { .db = &s->reader, .report = ret, .err = err ? err : &local };
	enum th_code code;

	*ret = (struct th_verify_report){};
	code = th_sqlite_read_begin(s, v.err);
	if (code != TH_OK)
		return code;
	th_arena_init_try(&v.arena, TH_VERIFY_MEMORY_MAX);
	s->reader.report = ret;
	code = session_id.len > 0 ? verify_one(&v, session_id) : verify_all(&v);
	if (code == TH_OK && !ret->bad && th_sqlite_mark_check(s, v.err) == TH_ECORRUPT)
		th_verify_blame(ret, "events", "the last of the store", "%s", v.err->msg);
	s->reader.report = NULL;
	th_arena_deinit(&v.arena);
	free(v.list);
	free(v.slots);
	free(v.removed);
	th_sqlite_read_end(s);
	return code;
}
