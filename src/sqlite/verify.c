/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify.c - every stored byte against what it must be.
 *
 * The whole store is read once, in the order in which it was written, with the
 * chain of every session under way at the same time.  One session is walked as
 * a reader does.  Both end with the first thing that is wrong.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sqlite/sqlite.h"
#include "store/usage.h"

/* How far the scan has come in one session. */
struct known {
	struct th_str id, parent;
	uint64_t number, parent_seq, head_seq, last_place;
	struct th_digest head;

	uint64_t seq; /* last seen, or parent_seq */
	struct th_digest digest;
	bool begun;             /* its prefix is known: events may come */
	uint64_t run, run_prev; /* where its last append begins, and the one before that */
	uint64_t place;         /* of the last event */
	size_t child, sibling;  /* forks of it: index + 1 into the list */
};

struct verify {
	struct th_db *db;
	struct th_verify_report *report;
	struct th_arena arena;
	struct known *list;
	size_t count, cap;
	size_t *slots; /* hash table: index + 1 */
	size_t slot_count;
	struct th_removed *removed; /* what of removed sessions is still there */
	size_t removed_count;
	struct th_err *err;
};

/* ---- the sessions, by id ---- */

static size_t slot_of(const struct verify *v, struct th_str id)
{
	size_t i = th_hash64(id.ptr, id.len) & (v->slot_count - 1);

	while (v->slots[i] && !th_str_eq(v->list[v->slots[i] - 1].id, id))
		i = (i + 1) & (v->slot_count - 1);
	return i;
}

static struct known *known_find(const struct verify *v, struct th_str id)
{
	size_t index = v->slot_count ? v->slots[slot_of(v, id)] : 0;

	return index ? &v->list[index - 1] : NULL;
}

static enum th_code known_add(struct verify *v, const struct th_placed_row *r)
{
	struct known *k;

	if (v->count == v->cap) {
		size_t cap = v->cap ? v->cap * 2 : 64;
		struct known *list = th_try_realloc(v->list, cap * sizeof(*list));

		if (!list)
			return th_fail_memory(v->err);
		v->list = list;
		v->cap = cap;
	}
	k = &v->list[v->count++];
	*k = (struct known){
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

static void blame_session(struct verify *v, struct th_str id, const char *what);

static enum th_code known_index(struct verify *v)
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
			blame_session(v, v->list[i].id, "it is there twice");
		v->slots[slot] = i + 1;
	}
	return TH_OK;
}

/* ---- what is found ---- */

static void blame_session(struct verify *v, struct th_str id, const char *what)
{
	th_verify_blame(v->report, "sessions", th_session_key(id).text, "%s", what);
}

static void blame_event(struct verify *v, struct th_str id, uint64_t seq, const char *what)
{
	th_verify_blame(v->report, "events", th_event_key(id, seq).text, "%s", what);
}

/* SQLite itself found the file wrong while it read a table, or it could not be read. */
static enum th_code stopped(struct verify *v, int status, const char *table, const char *after)
{
	char key[192];

	if (status != TH_ECORRUPT)
		return (enum th_code)status;
	snprintf(key, sizeof(key), "%s%.150s", *after ? "after " : "the first row", after);
	th_verify_blame(v->report, table, key, "%s", v->err->msg);
	return TH_OK;
}

/* ---- sessions ---- */

static const char *row_wrong(const struct th_session_row *row)
{
	if (!th_session_id_ok(row->session_id))
		return "there is no such session id";
	if (row->head_seq <= row->parent_seq)
		return "it has no events";
	return (row->parent_seq > 0) != (row->parent.len > 0) ? "parent and parent_seq do not fit"
							      : NULL;
}

/* `newer`: how many rows it was newer than. */
static enum th_code check_recent(struct verify *v, size_t newer)
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

static enum th_code check_sessions(struct verify *v)
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
			bad = row_wrong(&r.row);
		if (!bad && r.number <= number)
			bad = "column number is not what was written";
		if (bad) {
			blame_session(v, r.row.session_id, bad);
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
		code = stopped(v, status, "sessions", last.text);
	if (code == TH_OK && !v->report->bad)
		code = check_recent(v, newer);
	return code == TH_ECORRUPT && v->report->bad ? TH_OK : code;
}

/* Hangs each fork where its prefix ends: on the session that holds that event itself. */
static void check_forks(struct verify *v)
{
	for (size_t i = 0; i < v->count && !v->report->bad; i++) {
		struct known *k = &v->list[i], *holder = k;
		size_t depth = 0;

		if (k->parent.len == 0)
			continue;
		do {
			holder = known_find(v, holder->parent);
		} while (holder && holder->parent.len > 0 && k->parent_seq <= holder->parent_seq &&
			 ++depth <= TH_FORK_DEPTH_MAX);
		if (!holder || k->parent_seq > holder->head_seq ||
		    k->parent_seq <= holder->parent_seq) {
			blame_session(v, k->id, "the prefix that it shares is not there");
			continue;
		}
		k->sibling = holder->child;
		holder->child = i + 1;
	}
}

/* ---- events ---- */

static const char *event_wrong(const struct known *k, const struct th_placed_event *e)
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

static void follow(struct verify *v, struct known *k, const struct th_placed_event *e)
{
	if (k->seq == k->parent_seq || e->prev != k->run_prev) {
		k->run = e->place;
		k->run_prev = e->prev;
	}
	k->seq = e->ev.seq;
	k->place = e->place;
	k->digest = e->digest;
	for (size_t i = k->child; i > 0; i = v->list[i - 1].sibling) {
		struct known *child = &v->list[i - 1];

		if (child->parent_seq == k->seq) {
			child->digest = k->digest;
			child->begun = true;
		}
	}
}

/* Of a session that was removed, or the place that is kept free? */
static const struct th_removed *removed_find(const struct verify *v,
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

static void check_event(struct verify *v, const struct th_placed_event *e, const char *bad)
{
	const struct th_removed *removed = bad ? NULL : removed_find(v, e);
	struct known *k = known_find(v, e->session_id);

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

static enum th_code check_events(struct verify *v)
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
	return status < 0 ? stopped(v, status, "events", last.text) : TH_OK;
}

static void check_heads(struct verify *v)
{
	for (size_t i = 0; i < v->count && !v->report->bad; i++) {
		const struct known *k = &v->list[i];

		if (k->seq < k->head_seq)
			blame_event(v, k->id, k->seq + 1, "the event is missing");
		else if (k->seq > k->head_seq)
			blame_event(v, k->id, k->head_seq + 1,
				    "it comes after the end of its session");
		else if (!th_digest_eq(&k->digest, &k->head))
			blame_session(v, k->id, "column head is not the digest of its last event");
		else if (k->run != k->last_place)
			blame_session(v, k->id,
				      "column last_place is not where its last append is");
	}
}

/* ---- blobs ---- */

static const char *blob_wrong(sqlite3_stmt *st, char hex[static TH_SHA256_HEX_SIZE + 1])
{
	struct th_digest hash, found;
	struct th_str media_type;
	int64_t crc;

	snprintf(hex, TH_SHA256_HEX_SIZE + 1, "?");
	if (!th_column_bytes(st, 0, hash.bytes, sizeof(hash.bytes)))
		return "column hash cannot have such a value";
	th_digest_hex(&hash, hex);
	if (!th_column_str(st, 1, &media_type) || !th_column_i64(st, 2, &crc) ||
	    crc != th_blob_crc(&hash, media_type))
		return "column media_type is not what was written";
	if (sqlite3_column_type(st, 3) != SQLITE_BLOB)
		return "column bytes cannot have such a value";
	const void *bytes = sqlite3_column_blob(st, 3);

	found = th_sha256_of(bytes, (size_t)sqlite3_column_bytes(st, 3));
	return th_digest_eq(&found, &hash) ? NULL : "its bytes are not what its hash says";
}

static enum th_code check_blobs(struct verify *v)
{
	sqlite3_stmt *st = th_db_get(v->db, TH_SQL_BLOB_ALL);
	char hex[TH_SHA256_HEX_SIZE + 1] = "", key[96];
	int status;

	while ((status = th_db_step(v->db, st, v->err)) == 1) {
		const char *bad = blob_wrong(st, hex);

		snprintf(key, sizeof(key), "blob %s", hex);
		if (bad) {
			th_verify_blame(v->report, "blobs", key, "%s", bad);
			break;
		}
		v->report->blobs++;
	}
	if (st)
		sqlite3_reset(st);
	return status < 0 ? stopped(v, status, "blobs", hex) : TH_OK;
}

/* ---- the small tables ---- */

/* One row of a table, and what is wrong with it. */
typedef const char *check_row_fn(struct verify *v, sqlite3_stmt *st);

static enum th_code check_table(struct verify *v, enum th_statement id, const char *table,
				check_row_fn *fn)
{
	sqlite3_stmt *st = v->report->bad ? NULL : th_db_get(v->db, id);
	char key[64] = "";
	uint64_t row = 0;
	int status = 0;

	if (v->report->bad)
		return TH_OK;
	while ((status = th_db_step(v->db, st, v->err)) == 1) {
		const char *bad = fn(v, st);

		snprintf(key, sizeof(key), "row %llu", (unsigned long long)++row);
		if (bad) {
			th_verify_blame(v->report, table, key, "%s", bad);
			break;
		}
	}
	if (st)
		sqlite3_reset(st);
	return status < 0 ? stopped(v, status, table, key) : TH_OK;
}

static const char *check_removed(struct verify *v, sqlite3_stmt *st)
{
	struct th_removed r, *list;
	const char *bad = th_removed_column(st, &r);

	if (bad)
		return bad;
	if (r.place > r.last)
		return "its place is behind its last";
	list = th_try_realloc(v->removed, (v->removed_count + 1) * sizeof(*list));
	if (!list)
		return "there are too many";
	v->removed = list;
	r.session_id = th_arena_str(&v->arena, r.session_id);
	list[v->removed_count++] = r;
	return r.session_id.ptr ? NULL : "there are too many";
}

static const char *check_usage(struct verify *v, sqlite3_stmt *st)
{
	struct th_usage_row row;

	(void)v;
	return th_usage_column(st, &row);
}

static const char *check_used(struct verify *v, sqlite3_stmt *st)
{
	struct th_usage_row row;

	(void)v;
	return th_used_column(st, &row);
}

static const char *check_orphan(struct verify *v, sqlite3_stmt *st)
{
	struct th_orphan o;

	(void)v;
	return th_orphan_column(st, &o);
}

static bool has_number(const struct verify *v, uint64_t number)
{
	size_t low = 0, high = v->count;

	while (low < high) { /* they were read in the order of their numbers */
		size_t middle = low + (high - low) / 2;

		if (v->list[middle].number == number)
			return true;
		if (v->list[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static const char *check_task(struct verify *v, sqlite3_stmt *st)
{
	struct th_str text = {};
	uint64_t number = 0;
	int64_t crc = 0;

	if (!th_column_u64(st, 0, &number) || !th_column_str(st, 1, &text) ||
	    !th_column_i64(st, 2, &crc) || crc != th_task_crc(number, text))
		return "it is not what was written";
	return has_number(v, number) ? NULL : "there is no session with its number";
}

static enum th_code check_small(struct verify *v)
{
	enum th_code code = check_table(v, TH_SQL_TASK_ALL, "tasks", check_task);

	if (code == TH_OK)
		code = check_table(v, TH_SQL_USAGE_ALL, "usage", check_usage);
	if (code == TH_OK)
		code = check_table(v, TH_SQL_USED_ALL, "used", check_used);
	if (code == TH_OK)
		code = check_table(v, TH_SQL_ORPHAN_ALL, "orphans", check_orphan);
	return code;
}

/* ---- the file around the rows ---- */

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The part of the file's head that SQLite reads and does not judge. */
static enum th_code check_head(struct verify *v)
{
	static const uint8_t zero[20];
	sqlite3_file *file = NULL;
	uint8_t head[100];
	const char *bad = NULL;

	if (sqlite3_file_control(v->db->sqlite, "main", SQLITE_FCNTL_FILE_POINTER, &file) !=
		SQLITE_OK ||
	    file->pMethods->xRead(file, head, sizeof(head), 0) != SQLITE_OK)
		return th_fail(v->err, TH_EIO, "read the head of %s", v->db->path);
	if (memcmp(head, "SQLite format 3", 16) != 0 || head[21] != 64 || head[22] != 32 ||
	    head[23] != 32 || head[20] != 0)
		bad = "the file's head is not SQLite's";
	else if (head[18] != head[19] || be32(head + 24) != be32(head + 92))
		bad = "the file's head has two different versions";
	else if (be32(head + 48) != 0 || be32(head + 52) != 0 || be32(head + 64) != 0 ||
		 memcmp(head + 72, zero, sizeof(zero)) != 0)
		bad = "the file's head has values where there are none";
	else if (be32(head + 96) < 3000000 || be32(head + 96) >= 4000000)
		bad = "the file's head names no version of SQLite";
	if (bad)
		th_verify_blame(v->report, "sqlite_master", "head of the file", "%s", bad);
	return TH_OK;
}

/* SQLite's own check of its pages: the first thing that it finds, or "ok". */
static enum th_code integrity(struct verify *v, char *found, size_t size)
{
	sqlite3_stmt *st = NULL;
	enum th_code code = TH_OK;
	int status = sqlite3_prepare_v2(v->db->sqlite, "PRAGMA integrity_check(1)", -1, &st, NULL);

	if (status == SQLITE_OK)
		status = sqlite3_step(st);
	if (status == SQLITE_ROW)
		snprintf(found, size, "%s", (const char *)sqlite3_column_text(st, 0));
	else
		code = th_db_fail(v->db, v->err);
	sqlite3_finalize(st);
	return code;
}

static enum th_code check_pages(struct verify *v)
{
	char found[128] = "", again[128] = "";
	enum th_code code = integrity(v, found, sizeof(found));

	/* It takes a read that failed for damage: then the second time is another. */
	if (code == TH_OK && strcmp(found, "ok") != 0)
		code = integrity(v, again, sizeof(again));
	if (code == TH_OK && strcmp(again, "ok") == 0)
		return th_fail(v->err, TH_EIO, "%s: a page could not be read: %s", v->db->path,
			       found);
	if (code == TH_OK && strcmp(found, "ok") != 0)
		th_verify_blame(v->report, "sqlite_master", "pages of the file", "%s", found);
	return code == TH_OK ? TH_OK : stopped(v, code, "sqlite_master", "pages of the file");
}

static enum th_code check_file(struct verify *v)
{
	enum th_code code = th_db_schema_check(v->db, v->report, v->err);

	if (code == TH_OK && !v->report->bad)
		code = check_head(v);
	if (code == TH_OK && !v->report->bad)
		code = check_pages(v);
	return code;
}

/* ---- the whole store, one session ---- */

static enum th_code verify_all(struct verify *v)
{
	enum th_code code = check_sessions(v);

	if (code == TH_OK && !v->report->bad) {
		code = known_index(v);
		if (code == TH_OK)
			check_forks(v);
	}
	if (code == TH_OK)
		code = check_table(v, TH_SQL_REMOVED_ALL, "removed", check_removed);
	if (code == TH_OK && !v->report->bad)
		code = check_events(v);
	if (code == TH_OK && !v->report->bad)
		check_heads(v);
	if (code == TH_OK && !v->report->bad)
		code = check_blobs(v);
	if (code == TH_OK)
		code = check_small(v);
	if (code == TH_OK && !v->report->bad)
		code = check_file(v);
	return code;
}

struct walk {
	struct verify *v;
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
static enum th_code walk_rows(struct verify *v, struct th_str id, struct th_digest *ret_head)
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
			bad = row_wrong(&r.row);
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

static enum th_code verify_one(struct verify *v, struct th_str id)
{
	struct walk w = { .v = v };
	struct th_digest head = {};
	enum th_code code = walk_rows(v, id, &head);

	if (code == TH_OK && !v->report->bad)
		code = th_db_walk(v->db, id, 1, 0, walk_event, &w, v->err);
	if (code == TH_ECORRUPT && !v->report->bad)
		return stopped(v, code, "events", th_session_key(id).text);
	if (code == TH_ECORRUPT)
		return TH_OK;
	if (code == TH_OK && !v->report->bad && !th_digest_eq(&w.digest, &head))
		blame_session(v, id, "column head is not the digest of its last event");
	return code;
}

enum th_code th_sqlite_verify(struct th_store *store, struct th_str session_id,
			      struct th_verify_report *ret, struct th_err *err)
{
	struct th_sqlite *s = th_sqlite_of(store);
	struct th_err local;
	struct verify v = { .db = &s->reader, .report = ret, .err = err ? err : &local };
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
