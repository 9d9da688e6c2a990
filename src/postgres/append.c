/* SPDX-License-Identifier: Apache-2.0 */
/*
 * append.c - what goes into one transaction.
 *
 * Two rounds: the rows of all sessions are locked and read; then, when it is
 * known what becomes of each append, all of them are written
 * (columns.c).  The first round is left out when all sessions were
 * written here last (known.c).
 */
#include "postgres/append.h"

#include <stdlib.h>

#include "base/text.h"

/* ---- the sessions ---- */

/* What each append is about; sets the results of those that need no database. */
static enum th_code collect(struct th_pg_appending *w)
{
	size_t appends = 0;

	for (const struct th_batch *b = w->list; b; b = b->next)
		appends += b->append_count;
	for (w->slot_count = 16; w->slot_count < appends * 2;)
		w->slot_count *= 2;
	w->entries = th_try_alloc((appends + 1) * sizeof(*w->entries));
	w->slots = th_try_alloc(w->slot_count * sizeof(*w->slots));
	if (!w->entries || !w->slots)
		return th_fail_memory(w->err);
	for (struct th_batch *b = w->list; b; b = b->next) {
		for (size_t i = 0; i < b->append_count && !b->refused; i++) {
			struct th_append *a = &b->appends[i];

			a->result = TH_ECANCELED; /* until its turn has come */
			if (!th_session_id_ok(a->row->session_id))
				continue;
			w->creates += a->create;
			w->blobs += b->blob_count;
			if (!th_pg_entry_find(w, a->row->session_id))
				th_pg_entry_add(w, a->row->session_id);
		}
	}
	return TH_OK;
}

/* All of them as they were written last, where that is known and there is nothing else to be seen
 * first. */
static bool guess(struct th_pg_appending *w)
{
	bool all = w->creates == 0 && w->blobs == 0;

	for (const struct th_batch *b = w->list; b && all; b = b->next)
		for (size_t i = 0; i < b->append_count && !b->refused && all; i++) {
			const struct th_append *a = &b->appends[i];
			struct th_pg_entry *e = th_session_id_ok(a->row->session_id)
						    ? th_pg_entry_find(w, a->row->session_id)
						    : NULL;

			if (!e || e->number)
				continue;
			all = th_pg_known_find(w->s->known, a, &e->number, &e->rest, &e->row);
			e->row.owner = th_str_of(w->s->owner.name);
			e->seq_before = a->seq_before;
		}
	for (size_t i = 0; i < w->count && !all; i++) {
		w->entries[i].number = w->entries[i].seq_before = w->entries[i].rest = 0;
		w->entries[i].row = (struct th_session_row){ 0 };
	}
	return all;
}

static enum th_code load(struct th_pg_appending *w)
{
	struct th_pq_args ids TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args count TH_CLEANUP(th_pq_args_deinit) = { 0 };
	PGresult *results[8] = { NULL };
	enum th_code code = w->c->queued > 4 ? th_pq_go(w->c, NULL, w->err) : TH_OK;
	size_t before = w->c->queued; /* the BEGIN */

	th_pq_arg_array(&ids, &w->columns->ids);
	th_pq_arg_i64(&count, (int64_t)w->creates);
	/* In one order, so that two who write never wait for each other. */
	if (code == TH_OK)
		code = th_pq_add(
		    w->c,
		    "SELECT " TH_PG_SESSION_COLUMNS " FROM thole.sessions s"
		    " WHERE s.session_id = ANY($1) ORDER BY s.session_id FOR NO KEY UPDATE",
		    &ids, w->err);
	if (code == TH_OK && w->creates > 0)
		code = th_pq_add(w->c,
				 "SELECT nextval('thole.session_numbers')"
				 " FROM generate_series(1, $1)",
				 &count, w->err);
	if (code == TH_OK)
		code = th_pq_go(w->c, results, w->err);
	for (size_t i = 0; i < before && code == TH_OK; i++)
		th_pq_clear(results[i]);
	w->rows = results[before];
	w->numbers = results[before + 1];
	for (int i = 0; code == TH_OK && i < th_pq_rows(w->rows); i++) {
		struct th_session_row row;
		uint64_t number;
		const char *bad = th_pg_row(w->rows, i, &number, &row);
		struct th_pg_entry *e = th_pg_entry_find(w, row.session_id);

		if (!e)
			return th_pg_fail_row(w->s, row.session_id, "it was not asked for", w->err);
		e->row = row;
		e->number = number;
		e->seq_before = row.head_seq;
		e->rest = th_session_row_rest(&row);
		e->damaged = bad != NULL;
	}
	return code;
}

/* ---- one append ---- */

static enum th_code check(struct th_pg_appending *w, const struct th_append *a,
			  struct th_pg_entry *e, enum th_code *ret_result)
{
	const struct th_session_row *row = &e->row;

	if (a->create && e->number)
		*ret_result = TH_EEXIST;
	else if (a->create)
		return a->row->parent.len > 0 ? th_pg_fork_check(w, a, ret_result) : TH_OK;
	else if (!e->number)
		*ret_result = TH_ENOENT;
	else if (e->damaged)
		*ret_result = TH_ECORRUPT;
	else if (row->epoch != a->row->epoch || row->head_seq != a->seq_before ||
		 row->owner.len == 0 || !th_str_is(row->owner, w->s->owner.name) ||
		 !th_digest_eq(&row->head, &a->head_before))
		*ret_result = TH_EFENCED;
	return TH_OK;
}

static enum th_code append_one(struct th_pg_appending *w, struct th_append *a)
{
	struct th_pg_entry *e;
	struct th_usage_row more;
	enum th_code code = TH_OK;
	bool begins;

	a->result = th_append_check(a);
	if (a->result != TH_OK)
		return TH_OK;
	e = th_pg_entry_find(w, a->row->session_id);
	assert(e);
	code = check(w, a, e, &a->result);
	if (code != TH_OK || a->result != TH_OK)
		return code;
	begins = a->create;
	if (begins) {
		if (!th_pq_u64(w->numbers, w->next_number++, 0, &e->number))
			return th_fail(w->err, TH_EPROTO, "%s: no number for a session",
				       w->s->shown);
		e->created = true;
	}
	if (th_usage_used(a, &more))
		code = th_usage_sums_add(&w->usage, &more, w->err);
	if (code == TH_OK && th_usage_of(begins ? NULL : &e->row, a->row, &more))
		code = th_usage_sums_add(&w->usage, &more, w->err);
	e->changed = true;
	e->row = *a->row;
	e->row.owner = th_str_of(w->s->owner.name);
	if (a->task.len > 0 && e->task.len == 0)
		e->task = th_utf8_cut(a->task, TH_TASK_TEXT_MAX);
	for (size_t i = 0; i < a->event_count && code == TH_OK; i++)
		code = th_pg_event_add(w, a, i, e->number);
	return code;
}

static enum th_code write_all(struct th_pg_appending *w)
{
	enum th_code code = TH_OK;

	for (struct th_batch *b = w->list; b; b = b->next)
		for (size_t i = 0; i < b->append_count && !b->refused && code == TH_OK; i++)
			code = append_one(w, &b->appends[i]);
	if (code == TH_OK)
		code = th_pg_write_rows(w);
	return code == TH_OK ? th_pg_reserved_end(w) : code;
}

enum th_code th_postgres_append(struct th_postgres *s, struct th_batch *list, struct th_err *err)
{
	struct th_pg_appending w = {
		.s = s, .c = &s->writer, .columns = s->columns, .list = list, .err = err
	};
	enum th_code code;

	th_pg_columns_reset(w.columns);
	th_arena_init_try(&w.memory, TH_BATCH_MEMORY_MAX);
	th_usage_sums_init(&w.usage);
	code = collect(&w);
	if (code == TH_OK)
		code = th_pg_write_blobs(&w);
	if (code == TH_OK && w.count == 0)
		code = th_pq_go(w.c, NULL, err);
	else if (code == TH_OK && !guess(&w))
		code = load(&w);
	if (code == TH_OK)
		code = write_all(&w);
	for (size_t i = 0; i < w.count && code == TH_OK; i++)
		if (w.entries[i].changed)
			th_pg_known_note(s->known, w.entries[i].number, &w.entries[i].row);
	th_usage_sums_deinit(&w.usage);
	th_arena_deinit(&w.memory);
	th_pq_clear(w.rows);
	th_pq_clear(w.numbers);
	free(w.entries);
	free(w.slots);
	return code;
}
