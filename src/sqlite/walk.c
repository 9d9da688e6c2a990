/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - the events of a log, its prefixes included.  Every row is checked
 * for what its neighbours say; digests are verify's business.
 */
#include <stdlib.h>

#include "sqlite/sqlite.h"

/* A session's appends, newest first. */
struct runs {
	struct th_run few[32];
	struct th_run *list;
	size_t count, cap;
};

/* The part of a log that one session holds itself: from parent_seq + 1 on. */
struct span {
	char id[TH_SESSION_ID_MAX];
	size_t id_len;
	uint64_t parent_seq, head_seq, last_place;
};

static struct th_str span_id(const struct span *s)
{
	return (struct th_str){ s->id, s->id_len };
}

/* ---- runs ---- */

static void runs_init(struct runs *r)
{
	r->list = r->few;
	r->count = 0;
	r->cap = TH_COUNT(r->few);
}

static void runs_deinit(struct runs *r)
{
	if (r->list != r->few)
		free(r->list);
}

static enum th_code runs_add(struct runs *r, struct th_run run, struct th_err *err)
{
	struct th_run *list;

	if (r->count == r->cap) {
		list = th_try_alloc(r->cap * 2 * sizeof(*list));
		if (!list)
			return th_fail(err, TH_ENOMEM, "out of memory");
		memcpy(list, r->list, r->count * sizeof(*list));
		runs_deinit(r);
		r->list = list;
		r->cap *= 2;
	}
	r->list[r->count++] = run;
	return TH_OK;
}

/* The run at `place`, which must lie before `after`. */
static enum th_code run_get(struct th_db *db, const struct span *s, uint64_t place,
			    struct th_run after, struct th_run *ret, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_EVENT_PREV);
	struct th_str id = {};
	const char *bad = NULL;
	int status;

	if (st)
		th_bind_u64(st, 1, place);
	status = th_db_step(db, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		return th_db_fail_event(db, span_id(s), after.seq - 1, "the event is missing", err);
	ret->place = place;
	if (!th_column_str(st, 0, &id) || !th_str_eq(id, span_id(s)))
		bad = "another event is in its place";
	else if (!th_column_u64(st, 1, &ret->seq) || ret->seq >= after.seq ||
		 ret->seq <= s->parent_seq)
		bad = "an event with another number is in its place";
	else if (!th_column_u64(st, 2, &ret->prev) || ret->prev >= place)
		bad = "column prev is wrong";
	else if ((ret->prev == 0) != (ret->seq == s->parent_seq + 1))
		bad = "events before it are missing";
	sqlite3_reset(st);
	return bad ? th_db_fail_event(db, span_id(s), after.seq - 1, bad, err) : TH_OK;
}

/* ---- waypoints ---- */

/* That of this log, or the one that was not used for longest. */
static struct th_waypoints *waypoints_of(struct th_db *db, const struct span *s, bool *ret_found)
{
	struct th_waypoints *oldest = &db->waypoints[0];

	*ret_found = true;
	for (size_t i = 0; i < TH_COUNT(db->waypoints); i++) {
		struct th_waypoints *w = &db->waypoints[i];

		if (w->id_len > 0 && th_str_eq(th_str_n(w->id, w->id_len), span_id(s)))
			return w;
		if (w->used < oldest->used)
			oldest = w;
	}
	*ret_found = false;
	return oldest;
}

/* Behind event `to` the search may begin at this append.  False: it begins at the log's end. */
static bool waypoint_find(struct th_db *db, const struct span *s, uint64_t to, struct th_run *ret)
{
	bool found;
	struct th_waypoints *w = waypoints_of(db, s, &found);
	struct th_run end = { .seq = s->head_seq + 1 }, now = {}, way;
	size_t low = 0, high = found ? w->count : 0;

	while (low < high) { /* the last that is behind it: they go down */
		size_t middle = low + (high - low) / 2;

		if (w->list[middle].seq > to)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || db->report) /* who verifies looks at all of it */
		return false;
	way = w->list[low - 1];
	w->used = ++db->waypoints_used;
	/* The name may be another session's by now. */
	if (way.seq <= s->head_seq && run_get(db, s, way.place, end, &now, NULL) == TH_OK &&
	    now.seq == way.seq && now.prev == way.prev) {
		*ret = way;
		return true;
	}
	w->id_len = w->count = 0;
	return false;
}

/* After a walk through many appends: who reads a piece reads the next one, too. */
static void waypoints_keep(struct th_db *db, const struct span *s, const struct runs *r)
{
	size_t step = r->count / TH_STORE_WAYPOINTS_MAX + 1;
	bool found;
	struct th_waypoints *w = waypoints_of(db, s, &found);

	if (!w->list)
		w->list = th_try_alloc(TH_STORE_WAYPOINTS_MAX * sizeof(*w->list));
	if (!w->list)
		return;
	memcpy(w->id, s->id, s->id_len);
	w->id_len = s->id_len;
	w->count = 0;
	for (size_t i = 0; i < r->count; i += step)
		w->list[w->count++] = r->list[i];
	w->used = ++db->waypoints_used;
}

/* The runs that hold the session's own events from..to; *ret_end: the last event of the first of
 * them, which is the newest. */
static enum th_code runs_find(struct th_db *db, const struct span *s, uint64_t from, uint64_t to,
			      struct runs *r, uint64_t *ret_end, struct th_err *err)
{
	struct th_run after = { .seq = s->head_seq + 1 };
	bool nearer = waypoint_find(db, s, to, &after);
	uint64_t place = nearer ? after.prev : s->last_place;
	enum th_code code = TH_OK;

	*ret_end = after.seq - 1;
	while (code == TH_OK && after.seq > from && after.seq > s->parent_seq + 1) {
		struct th_run run = {};

		code = run_get(db, s, place, after, &run, err);
		if (code == TH_OK)
			code = runs_add(r, run, err);
		after = run;
		place = run.prev;
	}
	if (code == TH_OK && !nearer && r->count >= TH_STORE_WAYPOINTS_MAX)
		waypoints_keep(db, s, r);
	return code;
}

/* ---- events ---- */

static const char *event_misplaced(const struct th_placed_event *e, const struct span *s,
				   uint64_t place, uint64_t seq, uint64_t prev)
{
	if (!th_str_eq(e->session_id, span_id(s)) || e->place != place)
		return "the event is missing";
	if (e->ev.seq != seq)
		return "an event with another number is in its place";
	return e->prev != prev ? "column prev is wrong" : NULL;
}

/* Events from..to of one run. */
static enum th_code run_read(struct th_db *db, const struct span *s, struct th_run run,
			     uint64_t from, uint64_t to, th_placed_fn *fn, void *ctx,
			     struct th_err *err)
{
	sqlite3_stmt *st = NULL;
	enum th_code code = TH_OK;

	/* Not one of the kept statements: a callback may read as well. */
	st = th_db_take(db, TH_SQL_EVENT_RANGE);
	if (!st)
		return th_db_fail(db, err);
	th_bind_u64(st, 1, run.place + (from - run.seq));
	th_bind_u64(st, 2, run.place + (to - run.seq));
	for (uint64_t seq = from; seq <= to && code == TH_OK; seq++) {
		int status = th_db_step(db, st, err);
		struct th_placed_event e;
		const char *bad = "the event is missing";

		if (status < 0) {
			code = (enum th_code)status;
			break;
		}
		if (status == 1)
			bad = th_event_column(st, &e);
		if (status == 1 && !bad)
			bad = event_misplaced(&e, s, run.place + (seq - run.seq), seq, run.prev);
		code = bad ? th_db_fail_event(db, span_id(s), seq, bad, err) : fn(ctx, &e, err);
	}
	th_db_give(db, TH_SQL_EVENT_RANGE, st);
	return code;
}

/* The session's own events from..to. */
static enum th_code span_read(struct th_db *db, const struct span *s, uint64_t from, uint64_t to,
			      th_placed_fn *fn, void *ctx, struct th_err *err)
{
	struct runs r TH_UNSET;
	uint64_t end = s->head_seq;
	enum th_code code;

	runs_init(&r);
	code = runs_find(db, s, from, to, &r, &end, err);
	for (size_t i = r.count; i-- > 0 && code == TH_OK;) {
		struct th_run run = r.list[i];
		uint64_t last = i > 0 ? r.list[i - 1].seq - 1 : end;
		uint64_t first = TH_MAX(run.seq, from);

		if (first > to)
			break;
		code = run_read(db, s, run, first, TH_MIN(last, to), fn, ctx, err);
	}
	runs_deinit(&r);
	return code;
}

/* ---- a log and its prefixes ---- */

static enum th_code span_get(struct th_db *db, struct th_str id, struct span *ret,
			     struct th_str *ret_parent, char parent[TH_SESSION_ID_MAX],
			     struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_SESSION_SPAN);
	const struct th_recent_row *newer = NULL;
	struct th_str found = {};
	uint64_t number = 0;
	enum th_code code = TH_OK;
	bool good;
	int status;

	if (!th_session_id_ok(id))
		return th_fail_no_session(err, id);
	if (st)
		th_bind_str(st, 1, id);
	status = th_db_step(db, st, err);
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		return th_fail_no_session(err, id);
	memmove(ret->id, id.ptr, id.len);
	ret->id_len = id.len;
	good = th_column_str(st, 0, &found) && found.len <= TH_SESSION_ID_MAX &&
	       th_column_u64(st, 1, &ret->parent_seq) && th_column_u64(st, 2, &ret->head_seq) &&
	       th_column_u64(st, 3, &ret->last_place) && ret->parent_seq < ret->head_seq &&
	       (ret->parent_seq > 0) == (found.len > 0) && th_column_u64(st, 4, &number);
	if (good)
		code = th_recent_find(db, number, ret->last_place, &newer, err);
	if (newer) {
		ret->head_seq = newer->head_seq;
		ret->last_place = newer->place;
	}
	if (good) {
		memcpy(parent, found.ptr, found.len);
		*ret_parent = (struct th_str){ parent, found.len };
	}
	sqlite3_reset(st);
	return good ? code
		    : th_db_fail_session(db, span_id(ret), "its row is not what was written", err);
}

/* The spans that hold events from `from` on, the session's own first. */
static enum th_code spans_get(struct th_db *db, struct th_str id, uint64_t from, struct span *list,
			      size_t *ret_count, struct th_err *err)
{
	char parent[TH_SESSION_ID_MAX];
	struct th_str next = id;
	enum th_code code;

	for (size_t i = 0; i <= TH_FORK_DEPTH_MAX; i++) {
		code = span_get(db, next, &list[i], &next, parent, err);
		if (code == TH_ENOENT && i > 0)
			return th_db_fail_session(db, span_id(&list[i - 1]),
						  "its parent is missing", err);
		if (code != TH_OK)
			return code;
		/* Of a parent only what is before the fork. */
		if (i > 0 && list[i].head_seq < list[i - 1].parent_seq)
			return th_db_fail_session(db, span_id(&list[i - 1]),
						  "its parent is shorter than the prefix", err);
		*ret_count = i + 1;
		if (next.len == 0 || from > list[i].parent_seq)
			return TH_OK;
	}
	return th_db_fail_session(db, id, "it has more forks above it than there may be", err);
}

enum th_code th_db_walk(struct th_db *db, struct th_str id, uint64_t from, uint64_t to,
			th_placed_fn *fn, void *ctx, struct th_err *err)
{
	struct span spans[TH_FORK_DEPTH_MAX + 1] TH_UNSET;
	size_t count = 0;
	enum th_code code;

	from = TH_MAX(from, 1);
	code = spans_get(db, id, from, spans, &count, err);
	for (size_t i = count; i-- > 0 && code == TH_OK;) {
		uint64_t first = TH_MAX(from, spans[i].parent_seq + 1), last = spans[i].head_seq;

		for (size_t k = 0; k < i; k++) /* a fork may begin before its parent's own events */
			last = TH_MIN(last, spans[k].parent_seq);
		if (to > 0)
			last = TH_MIN(last, to);
		if (first <= last)
			code = span_read(db, &spans[i], first, last, fn, ctx, err);
	}
	return code;
}

struct reading {
	th_event_fn *fn;
	void *ctx;
};

static enum th_code give_event(void *ctx, const struct th_placed_event *e, struct th_err *err)
{
	struct reading *r = ctx;

	return r->fn(r->ctx, &e->ev, &e->digest, err);
}

enum th_code th_sqlite_read(struct th_store *store, struct th_str id, uint64_t from, uint64_t to,
			    th_event_fn *fn, void *ctx, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct reading r = { fn, ctx };
	enum th_code code = th_sqlite_read_begin(s, err);

	if (code != TH_OK)
		return code;
	code = th_db_walk(&s->reader, id, from, to, give_event, &r, err);
	th_sqlite_read_end(s);
	return code;
}

static enum th_code keep_digest(void *ctx, const struct th_placed_event *e, struct th_err *err)
{
	(void)err;
	*(struct th_digest *)ctx = e->digest;
	return TH_OK;
}

enum th_code th_db_digest_at(struct th_db *db, struct th_str id, uint64_t seq,
			     struct th_digest *ret, size_t *ret_depth, struct th_err *err)
{
	struct span spans[TH_FORK_DEPTH_MAX + 1] TH_UNSET;
	size_t count = 0;
	enum th_code code = spans_get(db, id, 1, spans, &count, err);

	if (code != TH_OK)
		return code;
	*ret_depth = count;
	if (seq == 0 || seq > spans[0].head_seq)
		return th_fail(err, TH_ENOENT, "there is no %s", th_event_key(id, seq).text);
	for (size_t i = 0; i < count; i++) {
		if (seq > spans[i].parent_seq)
			return span_read(db, &spans[i], seq, seq, keep_digest, ret, err);
	}
	return th_db_fail_session(db, id, "its prefix is missing", err);
}
