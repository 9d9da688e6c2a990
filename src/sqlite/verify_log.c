/* SPDX-License-Identifier: Apache-2.0 */
/* verify_log.c - sessions and their events against what they must be. */
#include <stdio.h>
#include <stdlib.h>

#include "sqlite/verify_parts.h"

/* ---- the sessions, by id ---- */

static size_t slot_of(const struct th_check *v, struct th_str id)
{
	size_t i = th_hash64(id.ptr, id.len) & (v->slot_count - 1);

	while (v->slots[i] && !th_str_eq(v->list[v->slots[i] - 1].id, id))
		i = (i + 1) & (v->slot_count - 1);
	return i;
}

static struct th_checked *known_find(const struct th_check *v, struct th_str id)
{
	size_t index = v->slot_count ? v->slots[slot_of(v, id)] : 0;

	return index ? &v->list[index - 1] : NULL;
}

static enum th_code known_add(struct th_check *v, const struct th_placed_row *r)
{
	struct th_checked *k;

	if (v->count == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 64;
		struct th_checked *list = th_try_realloc(v->list, cap * sizeof(*list));

		if (!list)
			return th_fail_memory(v->err);
		v->list = list;
		v->cap = cap;
	}
	k = &v->list[v->count++];
	*k = (struct th_checked){
		.id = th_arena_str(&v->arena, r->row.session_id),
		.parent = th_arena_str(&v->arena, r->row.parent),
		.number = r->number,
		.parent_seq = r->row.parent_seq,
		.head_seq = r->row.head_seq,
		.last_place = r->last_place,
		.head = r->row.head,
		.seq = r->row.parent_seq,
		.begun = r->row.parent.len == 0,
	};
	if (v->arena.no_memory)
		return th_fail_memory(v->err);
	if (!k->id.ptr || !k->parent.ptr)
		return th_fail(v->err, TH_ELIMIT, "%s: too many sessions to verify at once",
			       v->db->path);
	return TH_OK;
}

enum th_code th_check_index(struct th_check *v)
{
	v->slot_count = 16;
	while (v->slot_count < v->count * 2)
		v->slot_count *= 2;
	v->slots = th_try_alloc(v->slot_count * sizeof(*v->slots));
	if (!v->slots)
		return th_fail_memory(v->err);
	for (size_t i = 0; i < v->count; i++) {
		size_t slot = slot_of(v, v->list[i].id);

		if (v->slots[slot] && !v->report->bad)
			th_check_blame(v, v->list[i].id, "it is there twice");
		v->slots[slot] = i + 1;
	}
	return TH_OK;
}

/* ---- what is found ---- */

void th_check_blame(struct th_check *v, struct th_str id, const char *what)
{
	th_verify_blame(v->report, "sessions", th_session_key(id).text, "%s", what);
}

static void blame_event(struct th_check *v, struct th_str id, uint64_t seq, const char *what)
{
	th_verify_blame(v->report, "events", th_event_key(id, seq).text, "%s", what);
}

enum th_code th_check_stopped(struct th_check *v, int status, const char *table, const char *after)
{
	char key[192];

	if (status != TH_ECORRUPT)
		return (enum th_code)status;
	snprintf(key, sizeof(key), "%s%.150s", *after ? "after " : "the first row", after);
	th_verify_blame(v->report, table, key, "%s", v->err->msg);
	return TH_OK;
}

/* ---- sessions ---- */

/* `newer`: how many rows it was newer than. */
static enum th_code check_recent(struct th_check *v, size_t newer)
{
	enum th_code code = th_recent_load(v->db, v->err);
	const struct th_recent *r = &v->db->recent;

	for (size_t i = 0; i < r->count && code == TH_OK && newer < r->count; i++) {
		/* It says nothing new of a session that is there: allowed. */
		bool there = false;

		for (size_t k = 0; k < v->count && !there; k++)
			there = v->list[k].number == r->list[i].number;
		if (!there) {
			th_verify_blame(v->report, "recent", "a session",
					"there is no session with number %llu",
					(unsigned long long)r->list[i].number);
			break;
		}
	}
	return code;
}

enum th_code th_check_sessions(struct th_check *v)
{
	sqlite3_stmt *st = th_db_get(v->db, TH_SQL_SESSION_ALL);
	struct th_shown last = { "" };
	uint64_t number = 0, place;
	size_t newer = 0;
	enum th_code code = TH_OK;
	int status;

	while ((status = th_db_step(v->db, st, v->err)) == 1) {
		struct th_placed_row r;
		const char *bad = th_session_column(st, &r);

		if (!bad)
			bad = th_verify_row(&r.row);
		if (!bad && r.number <= number)
			bad = "column number is not what was written";
		if (bad) {
			th_check_blame(v, r.row.session_id, bad);
			break;
		}
		number = r.number;
		place = r.last_place;
		code = th_recent_patch(v->db, &r, v->err);
		newer += r.last_place > place;
		if (code == TH_OK)
			code = known_add(v, &r);
		if (code != TH_OK)
			break;
		last = th_session_key(r.row.session_id);
		v->report->sessions++;
	}
	if (st)
		sqlite3_reset(st);
	if (status < 0)
		code = th_check_stopped(v, status, "sessions", last.text);
	if (code == TH_OK && !v->report->bad)
		code = check_recent(v, newer);
	return code == TH_ECORRUPT && v->report->bad ? TH_OK : code;
}

/* Hangs each fork where its prefix ends: on the session that holds that event itself. */
void th_check_forks(struct th_check *v)
{
	for (size_t i = 0; i < v->count && !v->report->bad; i++) {
		struct th_checked *k = &v->list[i], *holder = k;
		size_t depth = 0;

		if (k->parent.len == 0)
			continue;
		do {
			holder = known_find(v, holder->parent);
		} while (holder && holder->parent.len > 0 && k->parent_seq <= holder->parent_seq &&
			 ++depth <= TH_FORK_DEPTH_MAX);
		if (!holder || k->parent_seq > holder->head_seq ||
		    k->parent_seq <= holder->parent_seq) {
			th_check_blame(v, k->id, "the prefix that it shares is not there");
			continue;
		}
		k->sibling = holder->child;
		holder->child = i + 1;
	}
}

/* ---- events ---- */

static const char *event_wrong(const struct th_checked *k, const struct th_placed_event *e)
{
	bool same_append = k->seq > k->parent_seq && e->prev == k->run_prev;
	struct th_digest digest;

	if (!k->begun)
		return "it comes before the prefix that its session shares";
	if (same_append ? e->place != k->place + 1 : e->prev != k->run)
		return "column prev or place is not what was written";
	digest = th_event_digest(&k->digest, k->id, &e->ev);
	if (!th_digest_eq(&digest, &e->digest))
		return "the event is not what its digest says";
	return NULL;
}

static void follow(struct th_check *v, struct th_checked *k, const struct th_placed_event *e)
{
	if (k->seq == k->parent_seq || e->prev != k->run_prev) {
		k->run = e->place;
		k->run_prev = e->prev;
	}
	k->seq = e->ev.seq;
	k->place = e->place;
	k->digest = e->digest;
	for (size_t i = k->child; i > 0; i = v->list[i - 1].sibling) {
		struct th_checked *child = &v->list[i - 1];

		if (child->parent_seq == k->seq) {
			child->digest = k->digest;
			child->begun = true;
		}
	}
}

/* Of a session that was removed, or the place that is kept free? */
static const struct th_removed *removed_find(const struct th_check *v,
					     const struct th_placed_event *e)
{
	for (size_t i = 0; i < v->removed_count; i++) {
		const struct th_removed *r = &v->removed[i];

		if (e->place <= r->last && th_str_eq(e->session_id, r->session_id))
			return r;
	}
	return NULL;
}

static const char *free_wrong(const struct th_placed_event *e)
{
	static const struct th_uuid no_id;
	static const struct th_digest no_digest;
	const struct th_event *ev = &e->ev;

	return ev->seq || e->prev || ev->ts_ms || ev->cause || ev->call.len || ev->data.len ||
		       ev->build.len || ev->source != TH_SOURCE_OPERATOR ||
		       ev->kind != TH_EV_STATE_CHANGED || memcmp(&ev->id, &no_id, sizeof(no_id)) ||
		       memcmp(&e->digest, &no_digest, sizeof(no_digest))
		   ? "the event that keeps a place free is not what was written"
		   : NULL;
}

static void check_event(struct th_check *v, const struct th_placed_event *e, const char *bad)
{
	const struct th_removed *removed = bad ? NULL : removed_find(v, e);
	struct th_checked *k = known_find(v, e->session_id);

	if (removed && removed->session_id.len > 0)
		return; /* it goes, whatever it says */
	if (removed) {
		bad = free_wrong(e);
		if (bad)
			blame_event(v, e->session_id, e->ev.seq, bad);
		return;
	}

	if (!k) {
		th_verify_blame(v->report, "events", th_event_key(e->session_id, e->ev.seq).text,
				"%s (place %llu)", bad ? bad : "there is no such session",
				(unsigned long long)e->place);
		return;
	}
	if (!bad && e->ev.seq > k->seq + 1)
		bad = "the event is missing";
	else if (!bad && e->ev.seq != k->seq + 1)
		bad = "the event is missing; another number is in its place";
	if (!bad)
		bad = event_wrong(k, e);
	if (bad)
		blame_event(v, k->id, k->seq + 1, bad);
	else
		follow(v, k, e);
}

enum th_code th_check_events(struct th_check *v)
{
	sqlite3_stmt *st = th_db_get(v->db, TH_SQL_EVENT_RANGE);
	struct th_shown last = { "" };
	uint64_t before = 0;
	int status;

	if (st) {
		sqlite3_bind_int64(st, 1, INT64_MIN);
		sqlite3_bind_int64(st, 2, INT64_MAX);
	}
	while ((status = th_db_step(v->db, st, v->err)) == 1) {
		struct th_placed_event e;
		const char *bad = th_event_column(st, &e);

		if (!bad && e.place <= before)
			bad = "column place is not what was written";
		check_event(v, &e, bad);
		if (v->report->bad)
			break;
		before = e.place;
		v->report->events += removed_find(v, &e) == NULL;
		snprintf(last.text, sizeof(last.text), "place %llu", (unsigned long long)before);
	}
	if (st)
		sqlite3_reset(st);
	return status < 0 ? th_check_stopped(v, status, "events", last.text) : TH_OK;
}

void th_check_heads(struct th_check *v)
{
	for (size_t i = 0; i < v->count && !v->report->bad; i++) {
		const struct th_checked *k = &v->list[i];

		if (k->seq < k->head_seq)
			blame_event(v, k->id, k->seq + 1, "the event is missing");
		else if (k->seq > k->head_seq)
			blame_event(v, k->id, k->head_seq + 1,
				    "it comes after the end of its session");
		else if (!th_digest_eq(&k->digest, &k->head))
			th_check_blame(v, k->id, "column head is not the digest of its last event");
		else if (k->run != k->last_place)
			th_check_blame(v, k->id,
				       "column last_place is not where its last append is");
	}
}
