/* SPDX-License-Identifier: Apache-2.0 */
/* append.c - appends to the logs of sessions, in a transaction: events, rows, sums. */
#include <stdlib.h>

#include "base/text.h"
#include "sqlite/writing.h"

/* ---- events ---- */

static void event_bind(sqlite3_stmt *st, int i, const struct th_queued *q)
{
	const struct th_event *ev = &q->a->events[q->index];

	th_bind_str(st, ++i, q->a->row->session_id);
	th_bind_u64(st, ++i, ev->seq);
	th_bind_u64(st, ++i, q->prev);
	sqlite3_bind_int64(st, ++i, ev->ts_ms);
	th_bind_blob(st, ++i, ev->id.bytes, sizeof(ev->id.bytes));
	th_bind_str(st, ++i, th_str_of(th_source_name(ev->source)));
	th_bind_str(st, ++i, th_str_of(th_event_name(ev->kind)));
	th_bind_u64(st, ++i, ev->cause);
	th_bind_str(st, ++i, ev->call);
	th_bind_str(st, ++i, ev->data);
	th_bind_str(st, ++i, ev->build);
	th_bind_blob(st, ++i, q->a->digests[q->index].bytes, sizeof(q->a->digests[0].bytes));
}

/* Writes the events that wait: several with one statement, which halves its cost. */
static enum th_code events_write(struct th_writing *w)
{
	static const struct {
		size_t rows;
		enum th_statement id;
	} forms[] = {
		{ 16, TH_SQL_EVENT_INSERT_16 },
		{ 4, TH_SQL_EVENT_INSERT_4 },
		{ 1, TH_SQL_EVENT_INSERT },
	};
	size_t done = 0;

	for (size_t f = 0; done < w->queued; f += w->queued - done < forms[f].rows) {
		sqlite3_stmt *st;
		int status;

		if (w->queued - done < forms[f].rows)
			continue;
		st = th_db_get(w->db, forms[f].id);
		for (size_t i = 0; st && i < forms[f].rows; i++)
			event_bind(st, (int)i * TH_EVENT_PARAMETERS, &w->queue[done + i]);
		status = th_db_step(w->db, st, w->err);
		if (status < 0)
			return (enum th_code)status;
		done += forms[f].rows;
	}
	w->queued = 0;
	/* SQLite took the places that we counted on, and need not look whether they are free. */
	if (done > 0 && (uint64_t)sqlite3_last_insert_rowid(w->db->sqlite) != w->next_place - 1)
		return th_fail(w->err, TH_ECORRUPT,
			       "%s is damaged: the last event's place is wrong", w->db->path);
	return TH_OK;
}

static enum th_code event_add(struct th_writing *w, const struct th_append *a, size_t index,
			      uint64_t prev)
{
	w->queue[w->queued++] = (struct th_queued){ a, index, prev };
	w->next_place++;
	return w->queued == TH_COUNT(w->queue) ? events_write(w) : TH_OK;
}

/* ---- the rows of sessions ---- */

/* Where a session is, as the database or our memory has it. */
struct spot {
	uint64_t number, place;
};

/* What the row at `spot` is about to have more. */
static enum th_code usage_note(struct th_writing *w, const struct th_append *a, struct spot spot)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_SESSION_NUMBER);
	struct th_usage_row more;
	struct th_placed_row before;
	enum th_code code = TH_OK;
	int status;

	if (st)
		th_bind_u64(st, 1, spot.number);
	status = th_db_step(w->db, st, w->err);
	if (status != 1)
		return status < 0 ? (enum th_code)status : TH_OK;
	if (!th_session_column(st, &before) && th_usage_of(&before.row, a->row, &more))
		code = th_usage_sums_add(&w->usage, &more, w->err);
	sqlite3_reset(st);
	return code;
}

/* Writes the row over the one that is at `spot`.  1: it was ours; 0: it was not; or a code. */
static int row_update(struct th_writing *w, const struct th_append *a, struct spot spot)
{
	sqlite3_stmt *st;
	uint64_t place = a->event_count > 0 ? w->next_place : spot.place;
	struct th_placed_row r = { *a->row, spot.number, place };
	enum th_code code = usage_note(w, a, spot);
	int status;

	if (code != TH_OK)
		return (int)code;
	r.row.owner = th_str_of(w->s->owner.name);
	st = th_db_get(w->db, TH_SQL_SESSION_UPDATE);
	if (st)
		th_session_bind(st, &r);
	status = th_db_step(w->db, st, w->err);
	return status < 0 ? status : sqlite3_changes(w->db->sqlite) == 1;
}

/* The words with which its first task begins; the first ones stay. */
static enum th_code task_write(struct th_writing *w, struct th_str text, uint64_t number)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_TASK_INSERT);
	struct th_str kept = th_utf8_cut(text, TH_TASK_TEXT_MAX);
	int status;

	if (st) {
		th_bind_u64(st, 1, number);
		th_bind_str(st, 2, kept);
		sqlite3_bind_int64(st, 3, th_task_crc(number, kept));
	}
	status = th_db_step(w->db, st, w->err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* A fork is found by the words of its parent. */
static enum th_code task_copy(struct th_writing *w, struct th_str parent, uint64_t number)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_TASK_OF);
	enum th_code code = TH_OK;
	struct th_str text = {};
	int status;

	if (st)
		th_bind_str(st, 1, parent);
	status = th_db_step(w->db, st, w->err);
	if (status != 1)
		return status < 0 ? (enum th_code)status : TH_OK;
	if (th_column_str(st, 0, &text))
		code = task_write(w, text, number);
	sqlite3_reset(st);
	return code;
}

static enum th_code row_insert(struct th_writing *w, const struct th_append *a, struct spot *ret)
{
	sqlite3_stmt *st;
	struct th_placed_row r = { .row = *a->row, .last_place = w->next_place };
	struct th_usage_row one;
	enum th_code code = TH_OK;
	int status;

	if (w->next_number == 0) {
		code = th_db_last(w->db, TH_SQL_LAST_NUMBER, &w->next_number, w->err);
		w->next_number++;
	}
	if (code != TH_OK)
		return code;
	*ret = (struct spot){ .number = w->next_number };
	r.number = w->next_number++;
	r.row.owner = th_str_of(w->s->owner.name);
	st = th_db_get(w->db, TH_SQL_SESSION_INSERT);
	if (st)
		th_session_bind(st, &r);
	status = th_db_step(w->db, st, w->err);
	if (status < 0)
		return (enum th_code)status;
	if (th_usage_of(NULL, a->row, &one))
		code = th_usage_sums_add(&w->usage, &one, w->err);
	if (code == TH_OK && a->row->parent.len > 0 && a->task.len == 0)
		code = task_copy(w, a->row->parent, r.number);
	return code;
}

enum th_code th_sqlite_write_out(struct th_writing *w)
{
	struct th_buf *rows = &w->s->rows;
	enum th_code code = events_write(w);

	if (rows->len > 0 && code == TH_OK) {
		code = th_recent_write(w->db, w->next_place - 1, rows, w->err);
		w->s->recent_bytes += rows->len;
	}
	th_buf_clear(rows);
	return code;
}

/* What is there of the session now; 1, 0: no such session, or a code. */
static int head_get(struct th_writing *w, const struct th_append *a, enum th_code *ret_result,
		    struct spot *ret)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_SESSION_HEAD);
	struct th_str owner = {};
	struct th_digest head;
	const struct th_recent_row *newer = NULL;
	uint64_t head_seq = 0;
	int64_t epoch = 0;
	enum th_code code = TH_OK;
	bool good;
	int status;

	if (!a->create) /* of one that begins, it counts alone whether it is there */
		code = th_sqlite_write_out(w);
	if (code != TH_OK)
		return code;
	if (st)
		th_bind_str(st, 2, a->row->session_id);
	status = th_db_step(w->db, st, w->err);
	if (status != 1)
		return status;
	good = th_column_u64(st, 0, &ret->number) && th_column_i64(st, 1, &epoch) &&
	       th_column_str(st, 2, &owner) && th_column_u64(st, 3, &head_seq) &&
	       th_column_bytes(st, 4, head.bytes, sizeof(head.bytes)) &&
	       th_column_u64(st, 5, &ret->place);
	if (good)
		code = th_recent_find(w->db, ret->number, ret->place, &newer, w->err);
	if (newer) {
		head_seq = newer->head_seq;
		head = newer->head;
		ret->place = newer->place;
	}
	if (!good || ret->place >= w->next_place)
		*ret_result = TH_ECORRUPT;
	else if (epoch != a->row->epoch || head_seq != a->seq_before || owner.len == 0 ||
		 !th_str_is(owner, w->s->owner.name) || !th_digest_eq(&head, &a->head_before))
		*ret_result = TH_EFENCED;
	else
		*ret_result = TH_OK;
	sqlite3_reset(st);
	return code != TH_OK ? (int)code : 1;
}

/* May the session begin with this?  In *ret_result. */
static enum th_code fork_check(struct th_writing *w, const struct th_append *a,
			       enum th_code *ret_result)
{
	struct th_digest digest;
	size_t depth = 0;
	enum th_code code;

	if (a->row->parent.len == 0)
		return TH_OK;
	code = th_sqlite_write_out(w);
	if (code != TH_OK)
		return code;
	code = th_db_digest_at(w->db, a->row->parent, a->row->parent_seq, &digest, &depth, w->err);
	if (code == TH_ENOENT || code == TH_ECORRUPT) {
		*ret_result = code;
		return TH_OK;
	}
	if (code == TH_OK && !th_digest_eq(&digest, &a->head_before))
		*ret_result = TH_EFENCED;
	else if (code == TH_OK && depth > TH_FORK_DEPTH_MAX)
		*ret_result = TH_ELIMIT;
	return code;
}

/* The row, after a look at what is there.  a->result says whether it was written. */
static enum th_code row_write(struct th_writing *w, struct th_append *a, struct spot *ret)
{
	int found = head_get(w, a, &a->result, ret);
	enum th_code code = TH_OK;

	if (found < 0)
		return (enum th_code)found;
	if (a->create)
		a->result = found ? TH_EEXIST : TH_OK;
	else if (!found)
		a->result = TH_ENOENT;
	if (a->create && a->result == TH_OK)
		code = fork_check(w, a, &a->result);
	if (code != TH_OK || a->result != TH_OK)
		return code;
	if (a->create)
		return row_insert(w, a, ret);
	found = row_update(w, a, *ret);
	if (found == 0) /* one of the columns has another type than the value that was compared */
		a->result = TH_ECORRUPT;
	return found < 0 ? (enum th_code)found : TH_OK;
}

/* ---- sessions that were written before ---- */

/* The same owner and epoch as when it was written here: then nobody else has written to it. */
static int still_ours(struct th_writing *w, const struct th_known *k)
{
	sqlite3_stmt *st = th_db_get(w->db, TH_SQL_SESSION_FENCE);
	struct th_str owner = {};
	int64_t epoch = 0;
	int status;

	if (st)
		th_bind_u64(st, 1, k->number);
	status = th_db_step(w->db, st, w->err);
	if (status != 1)
		return status;
	status = th_column_i64(st, 0, &epoch) && epoch == k->epoch &&
		 th_column_str(st, 1, &owner) && th_str_is(owner, w->s->owner.name);
	sqlite3_reset(st);
	return status;
}

/* What was written here last, if the append goes on from there: the head is the digest of the id
 * and all events, so it cannot be another session.  1, 0, or a code. */
static int known_find(struct th_writing *w, const struct th_append *a, uint64_t hash,
		      struct th_known **ret)
{
	for (size_t i = 0; i < TH_KNOWN_PROBES; i++) {
		struct th_known *k = &w->s->known[(hash + i) & (w->s->known_cap - 1)];
		int status = 1;

		if (k->number == 0 || k->hash != hash || k->seq != a->seq_before ||
		    k->epoch != a->row->epoch || !th_digest_eq(&k->head, &a->head_before))
			continue;
		if (k->version != w->version)
			status = still_ours(w, k);
		if (status == 1)
			k->version = w->version;
		*ret = k;
		return status;
	}
	return 0;
}

/* Its place: where it is, or a free one, or that of another, which is looked up when it is wanted.
 */
static struct th_known *known_slot(struct th_known *list, size_t cap, uint64_t hash,
				   uint64_t number)
{
	struct th_known *to = &list[hash & (cap - 1)];

	for (size_t i = TH_KNOWN_PROBES; i-- > 0;) {
		struct th_known *k = &list[(hash + i) & (cap - 1)];

		if (k->number == number)
			return k;
		if (k->number == 0)
			to = k;
	}
	return to;
}

/* Twice as large, if there is memory. */
static void known_grow(struct th_sqlite *s)
{
	size_t cap = s->known_cap * 2;
	struct th_known *list = th_try_alloc(cap * sizeof(*list));

	if (!list)
		return;
	for (size_t i = 0; i < s->known_cap; i++) {
		const struct th_known *k = &s->known[i];

		if (k->number > 0)
			*known_slot(list, cap, k->hash, k->number) = *k;
	}
	free(s->known);
	s->known = list;
	s->known_cap = cap;
}

static void known_put(struct th_writing *w, const struct th_append *a, uint64_t hash,
		      struct spot spot)
{
	struct th_sqlite *s = w->s;
	struct th_known *to;

	if (s->known_count * 2 >= s->known_cap && s->known_cap < TH_KNOWN_MAX)
		known_grow(s);
	to = known_slot(s->known, s->known_cap, hash, spot.number);
	s->known_count += to->number == 0;
	*to = (struct th_known){ .hash = hash,
				 .number = spot.number,
				 .place = a->event_count > 0 ? w->next_place : spot.place,
				 .seq = a->seq_before + a->event_count,
				 .rest = th_session_row_rest(a->row),
				 .epoch = a->row->epoch,
				 .version = w->version,
				 .head = a->event_count > 0 ? a->digests[a->event_count - 1]
							    : a->head_before };
}

/* The row of a session that we know: its numbers to `recent`, or all of it when more has changed.
 */
static enum th_code known_write(struct th_writing *w, struct th_append *a, struct th_known *k)
{
	struct th_placed_row r = { *a->row, k->number, w->next_place };
	uint64_t rest = th_session_row_rest(a->row);
	int status = 1;

	if (a->event_count > 0 && rest == k->rest && th_recent_fits(a->row))
		th_recent_add(&w->s->rows, &r);
	else
		status = row_update(w, a, (struct spot){ k->number, k->place });
	if (status < 0)
		return (enum th_code)status;
	if (status == 0)
		a->result = TH_ECORRUPT;
	k->rest = rest;
	k->seq += a->event_count;
	if (a->event_count > 0) {
		k->place = w->next_place;
		k->head = a->digests[a->event_count - 1];
	}
	return w->s->rows.no_memory ? th_fail_memory(w->err) : TH_OK;
}

/* ---- an append ---- */

enum th_code th_sqlite_append_write(struct th_writing *w, struct th_append *a)
{
	struct th_str id = a->row->session_id;
	struct th_known *known = NULL;
	struct th_usage_row used;
	struct spot spot = {};
	enum th_code code = TH_OK;
	uint64_t hash;
	int found = 0;

	a->result = th_append_check(a);
	if (a->result != TH_OK)
		return TH_OK;
	hash = th_hash64(id.ptr, id.len);
	if (!a->create)
		found = known_find(w, a, hash, &known);
	if (found < 0)
		return (enum th_code)found;
	if (found == 1) {
		spot = (struct spot){ known->number, known->place };
		code = known_write(w, a, known);
	} else {
		code = row_write(w, a, &spot);
	}
	if (code == TH_OK && a->result == TH_OK && th_usage_used(a, &used))
		code = th_usage_sums_add(&w->used, &used, w->err);
	if (code != TH_OK || a->result != TH_OK)
		return code;
	if (found == 0)
		known_put(w, a, hash, spot);
	if (a->task.len > 0)
		code = task_write(w, a->task, spot.number);
	for (size_t i = 0; i < a->event_count && code == TH_OK; i++)
		code = event_add(w, a, i, spot.place);
	return code;
}
