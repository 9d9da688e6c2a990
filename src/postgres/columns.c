/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.c - what one transaction of appends sends: a table with one
 * statement, whose parameters are columns.
 */
#include <stdlib.h>

#include "base/text.h"
#include "postgres/append.h"

/* A statement has at most so many bytes of parameters, and rows; then there is another one. */
#define CHUNK_BYTES (8 * TH_MIB)
#define CHUNK_ROWS 8192
#define USAGE_PARTS 8

/* ---- memory ---- */

static const enum th_pq_type session_types[TH_PG_SESSION_ARRAYS] = {
	TH_PQ_I64,   TH_PQ_TEXT, TH_PQ_TEXT, TH_PQ_TEXT,  TH_PQ_TEXT, TH_PQ_TEXT, TH_PQ_TEXT,
	TH_PQ_TEXT,  TH_PQ_I64,  TH_PQ_I64,  TH_PQ_BYTES, TH_PQ_I64,  TH_PQ_I64,  TH_PQ_I64,
	TH_PQ_I64,   TH_PQ_I64,  TH_PQ_I64,  TH_PQ_I64,   TH_PQ_TEXT, TH_PQ_I64,  TH_PQ_I64,
	TH_PQ_BYTES, TH_PQ_I64,  TH_PQ_I64,  TH_PQ_I64,
};
static const enum th_pq_type event_types[TH_PG_EVENT_ARRAYS] = {
	TH_PQ_I64, TH_PQ_I64,  TH_PQ_I64,   TH_PQ_UUID, TH_PQ_TEXT, TH_PQ_TEXT,
	TH_PQ_I64, TH_PQ_TEXT, TH_PQ_BYTES, TH_PQ_I64,  TH_PQ_TEXT, TH_PQ_BYTES,
};
static const enum th_pq_type task_types[] = { TH_PQ_I64, TH_PQ_TEXT, TH_PQ_I64 };
static const enum th_pq_type name_types[] = { TH_PQ_BYTES, TH_PQ_I64 };
static const enum th_pq_type usage_types[] = { TH_PQ_TEXT, TH_PQ_I64, TH_PQ_TEXT, TH_PQ_TEXT,
					       TH_PQ_I64,  TH_PQ_I64, TH_PQ_I64,  TH_PQ_I64,
					       TH_PQ_I64,  TH_PQ_I64, TH_PQ_I64,  TH_PQ_I64,
					       TH_PQ_I64,  TH_PQ_I64, TH_PQ_I64 };

static void each_array(struct th_pg_columns *c, void (*fn)(struct th_pq_array *l))
{
	struct th_pq_array *const groups[] = { c->sessions, c->events,  &c->ids, c->tasks,
					       c->names,    &c->hashes, c->usage };
	const size_t counts[] = { TH_PG_SESSION_ARRAYS, TH_PG_EVENT_ARRAYS, 1,
				  TH_COUNT(c->tasks),   TH_COUNT(c->names), 1,
				  TH_COUNT(c->usage) };

	for (size_t g = 0; g < TH_COUNT(groups); g++)
		for (size_t i = 0; i < counts[g]; i++)
			fn(&groups[g][i]);
}

static void arrays_init(struct th_pq_array *list, const enum th_pq_type *types, size_t count)
{
	for (size_t i = 0; i < count; i++)
		th_pq_array_init(&list[i], types[i], TH_BATCH_MEMORY_MAX);
}

struct th_pg_columns *th_pg_columns_new(void)
{
	static const enum th_pq_type text = TH_PQ_TEXT, bytes = TH_PQ_BYTES;
	struct th_pg_columns *c = th_try_alloc(sizeof(*c));

	if (!c)
		return NULL;
	arrays_init(c->sessions, session_types, TH_PG_SESSION_ARRAYS);
	arrays_init(c->events, event_types, TH_PG_EVENT_ARRAYS);
	arrays_init(&c->ids, &text, 1);
	arrays_init(c->tasks, task_types, TH_COUNT(c->tasks));
	arrays_init(c->names, name_types, TH_COUNT(c->names));
	arrays_init(&c->hashes, &bytes, 1);
	arrays_init(c->usage, usage_types, TH_COUNT(c->usage));
	return c;
}

struct th_pg_columns *th_pg_columns_free(struct th_pg_columns *c)
{
	if (c)
		each_array(c, th_pq_array_deinit);
	free(c);
	return NULL;
}

/* What was large is given back. */
static void array_reset(struct th_pq_array *l)
{
	if (l->bytes.cap > TH_MIB)
		th_pq_array_deinit(l);
	th_pq_array_clear(l);
}

void th_pg_columns_reset(struct th_pg_columns *c)
{
	each_array(c, array_reset);
}

/* ---- events ---- */

struct naming {
	struct th_pg_appending *w;
	uint64_t number;
};

static enum th_code name_add(void *ctx, const struct th_digest *hash, struct th_err *err)
{
	struct naming *n = ctx;

	(void)err;
	th_pq_array_bytes(&n->w->columns->names[0], hash->bytes, sizeof(hash->bytes));
	th_pq_array_i64(&n->w->columns->names[1], (int64_t)n->number);
	return TH_OK;
}

static enum th_code events_write(struct th_pg_appending *w)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_array *l = w->columns->events;
	enum th_code code;

	if (l[0].count == 0)
		return TH_OK;
	for (size_t i = 0; i < TH_PG_EVENT_ARRAYS; i++)
		th_pq_arg_array(&args, &l[i]);
	code = th_pq_add(
	    w->c,
	    "INSERT INTO thole.events (session_number, seq, ts_ms, event_id, source, event_class,"
	    " cause, call_id, data, event_data, build, digest)"
	    " SELECT a, b, c, d, e, f, g, h, i, CASE WHEN j = 1 THEN"
	    " convert_from(i, 'UTF8')::jsonb END, k, l"
	    " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
	    " AS n (a, b, c, d, e, f, g, h, i, j, k, l)",
	    &args, w->err);
	for (size_t i = 0; i < TH_PG_EVENT_ARRAYS; i++)
		th_pq_array_clear(&l[i]);
	return code;
}

enum th_code th_pg_event_add(struct th_pg_appending *w, const struct th_append *a, size_t index,
			     uint64_t number)
{
	const struct th_event *ev = &a->events[index];
	struct naming naming = { w, number };
	struct th_pq_array *l = w->columns->events;

	th_pq_array_i64(l++, (int64_t)number);
	th_pq_array_i64(l++, (int64_t)ev->seq);
	th_pq_array_i64(l++, ev->ts_ms);
	th_pq_array_bytes(l++, ev->id.bytes, sizeof(ev->id.bytes));
	th_pq_array_text(l++, th_str_of(th_source_name(ev->source)));
	th_pq_array_text(l++, th_str_of(th_event_name(ev->kind)));
	th_pq_array_i64(l++, (int64_t)ev->cause);
	th_pq_array_text(l++, ev->call);
	th_pq_array_bytes(l++, ev->data.ptr, ev->data.len);
	th_pq_array_i64(l++, th_pg_jsonb_ok(ev->data));
	th_pq_array_text(l++, ev->build);
	th_pq_array_bytes(l, a->digests[index].bytes, sizeof(a->digests[index].bytes));
	(void)th_hashes_in(ev->data, name_add, &naming, w->err);
	l = w->columns->events;
	return l[8].bytes.len > CHUNK_BYTES || l[0].count >= CHUNK_ROWS ? events_write(w) : TH_OK;
}

/* ---- rows ---- */

static void session_add(struct th_pg_appending *w, const struct th_pg_entry *e)
{
	const struct th_session_row *row = &e->row;
	const struct th_str strings[] = { row->session_id, row->user,  row->agent, row->model,
					  row->state,      row->title, row->parent };
	struct th_pq_array *l = w->columns->sessions;

	th_pq_array_i64(l++, (int64_t)e->number);
	for (size_t i = 0; i < TH_COUNT(strings); i++)
		th_pq_array_text(l++, strings[i]);
	th_pq_array_i64(l++, (int64_t)row->parent_seq);
	th_pq_array_i64(l++, (int64_t)row->head_seq);
	th_pq_array_bytes(l++, row->head.bytes, sizeof(row->head.bytes));
	th_pq_array_i64(l++, row->iteration);
	th_pq_array_i64(l++, row->calls);
	th_pq_array_i64(l++, row->tokens_in);
	th_pq_array_i64(l++, row->tokens_cached);
	th_pq_array_i64(l++, row->tokens_out);
	th_pq_array_i64(l++, row->cost_nano);
	th_pq_array_i64(l++, row->epoch);
	th_pq_array_text(l++, row->owner);
	th_pq_array_i64(l++, row->created_ms);
	th_pq_array_i64(l++, row->updated_ms);
	th_pq_array_bytes(l++, row->metadata.ptr, row->metadata.len);
	th_pq_array_i64(l++, th_session_row_crc(row, 0, 0));
	th_pq_array_i64(l++, th_pg_jsonb_ok(row->metadata));
	th_pq_array_i64(l, (int64_t)e->seq_before);
}

/* clang-format off */
#define FROM_SESSIONS                                                                  \
	" FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15," \
	" $16, $17, $18, $19, $20, $21, $22, $23, $24, $25) AS n (number, session_id, user_id," \
	" agent_type, model, agent_state, title, parent_id, parent_seq, head_seq, head," \
	" iteration, calls, tokens_in, tokens_cached, tokens_out, cost_nano, epoch,"   \
	" owner, created_ms, updated_ms, metadata, row_crc, is_json, before)"
#define JSON_OF(column)                                                                \
	"CASE WHEN n.is_json = 1 THEN convert_from(n." column ", 'UTF8')::jsonb END"
/* clang-format on */

/* How a row is written: most appends change only what counts. */
enum row_write { ROW_NEW, ROW_WHOLE, ROW_COUNTS, ROW_WRITES };

static const char *const row_sql[ROW_WRITES] = {
	[ROW_NEW] =
	    "INSERT INTO thole.sessions (number, session_id, user_id, agent_type, model,"
	    " agent_state, title, parent_id, parent_seq, head_seq, head, iteration, calls,"
	    " tokens_in, tokens_cached, tokens_out, cost_nano, epoch, owner, created_ms,"
	    " updated_ms, metadata, row_crc, raw_metadata)"
	    " SELECT number, session_id, user_id, agent_type, model, agent_state, title,"
	    " parent_id, parent_seq, head_seq, head, iteration, calls, tokens_in, tokens_cached,"
	    " tokens_out, cost_nano, epoch, owner, created_ms, updated_ms, metadata, row_crc,"
	    " " JSON_OF("metadata") FROM_SESSIONS,
	[ROW_WHOLE] =
	    "WITH done AS (UPDATE thole.sessions s SET user_id = n.user_id, agent_type = "
	    "n.agent_type,"
	    " model = n.model, agent_state = n.agent_state, title = n.title,"
	    " parent_id = n.parent_id, parent_seq = n.parent_seq, head_seq = n.head_seq,"
	    " head = n.head, iteration = n.iteration, calls = n.calls, tokens_in = n.tokens_in,"
	    " tokens_cached = n.tokens_cached, tokens_out = n.tokens_out,"
	    " cost_nano = n.cost_nano, epoch = n.epoch, created_ms = n.created_ms,"
	    " updated_ms = n.updated_ms, metadata = n.metadata, row_crc = n.row_crc,"
	    " raw_metadata = CASE WHEN s.metadata = n.metadata THEN s.raw_metadata ELSE " JSON_OF(
		"metadata") " END" FROM_SESSIONS " WHERE s.number = n.number AND s.epoch = n.epoch"
			    " AND s.owner = n.owner AND s.head_seq = n.before RETURNING 1)"
			    /* Fails (2201F) when it was not all of them. */
			    " SELECT sqrt(-abs(count(*) - $26)) FROM done",
	[ROW_COUNTS] =
	    "WITH done AS (UPDATE thole.sessions s SET agent_state = n.agent_state,"
	    " head_seq = n.head_seq, head = n.head, iteration = n.iteration, calls = n.calls,"
	    " tokens_in = n.tokens_in, tokens_cached = n.tokens_cached,"
	    " tokens_out = n.tokens_out, cost_nano = n.cost_nano, updated_ms = n.updated_ms,"
	    " row_crc = n.row_crc FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,"
	    " $13, $14) AS n (number, agent_state, head_seq, head, iteration, calls, tokens_in,"
	    " tokens_cached, tokens_out, cost_nano, epoch, updated_ms, row_crc, before)"
	    " WHERE s.number = n.number AND s.epoch = n.epoch AND s.owner = $15"
	    " AND s.head_seq = n.before RETURNING 1)"
	    " SELECT sqrt(-abs(count(*) - $16)) FROM done",
};
/* Of session_types, those of ROW_COUNTS. */
static const size_t counts_columns[] = { 0, 5, 9, 10, 11, 12, 13, 14, 15, 16, 17, 20, 22, 24 };

static enum row_write row_write_of(const struct th_pg_entry *e)
{
	if (e->created)
		return ROW_NEW;
	return e->rest == th_session_row_rest(&e->row) ? ROW_COUNTS : ROW_WHOLE;
}

static enum th_code sessions_write(struct th_pg_appending *w, enum row_write how)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_array *l = w->columns->sessions;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < w->count; i++)
		if (w->entries[i].changed && row_write_of(&w->entries[i]) == how)
			session_add(w, &w->entries[i]);
	if (l[0].count > 0) {
		for (size_t i = 0; i < TH_PG_SESSION_ARRAYS && how != ROW_COUNTS; i++)
			th_pq_arg_array(&args, &l[i]);
		for (size_t i = 0; i < TH_COUNT(counts_columns) && how == ROW_COUNTS; i++)
			th_pq_arg_array(&args, &l[counts_columns[i]]);
		if (how == ROW_COUNTS)
			th_pq_arg_text(&args, th_str_of(w->s->owner.name));
		if (how != ROW_NEW)
			th_pq_arg_i64(&args, (int64_t)l[0].count);
		code = th_pq_add(w->c, row_sql[how], &args, w->err);
	}
	for (size_t i = 0; i < TH_PG_SESSION_ARRAYS; i++)
		th_pq_array_clear(&l[i]);
	return code;
}

static enum th_code tasks_write(struct th_pg_appending *w)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_array *l = w->columns->tasks;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < w->count; i++) {
		const struct th_pg_entry *e = &w->entries[i];

		if (e->task.len == 0)
			continue;
		th_pq_array_i64(&l[0], (int64_t)e->number);
		th_pq_array_text(&l[1], e->task);
		th_pq_array_i64(&l[2], th_task_crc(e->number, e->task));
	}
	for (size_t i = 0; i < TH_COUNT(w->columns->tasks); i++)
		th_pq_arg_array(&args, &l[i]);
	if (l[0].count > 0)
		code = th_pq_add(w->c,
				 "INSERT INTO thole.tasks (number, main_goal, task_crc)"
				 " SELECT a, b, c FROM unnest($1, $2, $3) AS n (a, b, c)"
				 " ON CONFLICT DO NOTHING",
				 &args, w->err);
	return code;
}

/* A fork is found by the words of its parent. */
static enum th_code tasks_copy(struct th_pg_appending *w)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < w->count && code == TH_OK; i++) {
		struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
		PGresult *r TH_CLEANUP(th_pq_clearp) = NULL;
		struct th_pg_entry *e = &w->entries[i];
		const struct th_pg_entry *parent;

		if (!e->created || e->row.parent.len == 0 || e->task.len > 0)
			continue;
		parent = th_pg_entry_find(w, e->row.parent);
		if (parent && parent->task.len > 0) {
			e->task = parent->task;
			continue;
		}
		th_pq_arg_text(&args, e->row.parent);
		code = th_pq_run(w->c,
				 "SELECT t.main_goal FROM thole.tasks t JOIN thole.sessions s"
				 " USING (number) WHERE s.session_id = $1",
				 &args, &r, w->err);
		struct th_str text = { 0 };

		if (code == TH_OK && th_pq_rows(r) == 1 && th_pq_text(r, 0, 0, &text)) {
			e->task = th_arena_str(&w->memory, text);
			if (!e->task.ptr)
				code = th_fail_memory(w->err);
		}
	}
	return code;
}

static const char blob_sql[] = "INSERT INTO thole.blobs (hash, media_type, bytes)"
			       " VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
static const char blob_placed_sql[] = "INSERT INTO thole.blobs (hash, media_type, place, object,"
				      " size) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";

static enum th_code blobs_write(struct th_pg_appending *w)
{
	enum th_code code = TH_OK;

	for (const struct th_batch *b = w->list; b; b = b->next) {
		for (size_t i = 0; i < b->blob_count && !b->refused && code == TH_OK; i++) {
			struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
			const struct th_blob *blob = &b->blobs[i];

			const struct th_pg_put *put = th_pg_put_find(&w->s->puts, &blob->hash);

			if (put && put->known)
				continue;
			if (w->c->queued > TH_PQ_QUEUE_MAX / 2)
				code = th_pq_go(w->c, NULL, w->err);
			th_pq_arg_bytes(&args, blob->hash.bytes, sizeof(blob->hash.bytes));
			th_pq_arg_text(&args, blob->media_type);
			if (put) {
				th_pq_arg_i64(&args, put->place);
				th_pq_arg_text(&args, th_str_of(put->name));
				th_pq_arg_i64(&args, (int64_t)blob->bytes.len);
			} else {
				th_pq_arg_bytes(&args, blob->bytes.ptr, blob->bytes.len);
			}
			if (code == TH_OK)
				code = th_pq_add(w->c, put ? blob_placed_sql : blob_sql, &args,
						 w->err);
		}
	}
	return code;
}

/* Whoever looks for blobs that nobody names must not find these: before anything else. */
static enum th_code orphans_keep(struct th_pg_appending *w)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };

	for (const struct th_batch *b = w->list; b; b = b->next)
		for (size_t i = 0; i < b->blob_count && !b->refused; i++)
			th_pq_array_bytes(&w->columns->hashes, b->blobs[i].hash.bytes,
					  sizeof(b->blobs[i].hash.bytes));
	if (w->columns->hashes.count == 0)
		return TH_OK;
	th_pq_arg_array(&args, &w->columns->hashes);
	return th_pq_add(w->c, "DELETE FROM thole.orphans WHERE hash = ANY($1)", &args, w->err);
}

/* What events name, of the blobs that are there. */
static enum th_code names_write(struct th_pg_appending *w)
{
	struct th_pq_args hashes TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	struct th_pq_array *l = w->columns->names;
	enum th_code code;

	if (l[0].count == 0)
		return TH_OK;
	th_pq_arg_array(&hashes, &l[0]);
	th_pq_arg_array(&args, &l[0]);
	th_pq_arg_array(&args, &l[1]);
	code = th_pq_add(w->c, "DELETE FROM thole.orphans WHERE hash = ANY($1)", &hashes, w->err);
	/* Locked, so that who sweeps waits, and then sees the name (remove.c). */
	if (code == TH_OK)
		code = th_pq_add(w->c,
				 "SELECT count(*) FROM (SELECT 1 FROM thole.blobs"
				 " WHERE hash = ANY($1) ORDER BY hash FOR KEY SHARE) b",
				 &hashes, w->err);
	if (code == TH_OK)
		code = th_pq_add(w->c,
				 "INSERT INTO thole.blob_names (hash, session_number)"
				 " SELECT DISTINCT n.a, n.b FROM unnest($1, $2) AS n (a, b)"
				 " JOIN thole.blobs b ON b.hash = n.a ON CONFLICT DO NOTHING",
				 &args, w->err);
	return code;
}

static enum th_code usage_add(void *ctx, const struct th_usage_row *row, struct th_err *err)
{
	struct th_pg_appending *w = ctx;
	struct th_pq_array *l = w->columns->usage;

	(void)err;
	th_pq_array_text(l++, row->user);
	th_pq_array_i64(l++, row->day);
	th_pq_array_text(l++, row->agent);
	th_pq_array_text(l++, row->model);
	th_pq_array_i64(l++, row->sessions);
	th_pq_array_i64(l++, row->turns);
	th_pq_array_i64(l++, row->calls);
	th_pq_array_i64(l++, row->tokens_in);
	th_pq_array_i64(l++, row->tokens_cached);
	th_pq_array_i64(l++, row->tokens_out);
	th_pq_array_i64(l++, row->cost_nano);
	th_pq_array_i64(l++, row->used.tokens_written);
	th_pq_array_i64(l++, row->used.model_ms);
	th_pq_array_i64(l++, row->used.tools_ms);
	th_pq_array_i64(l, row->used.person_ms);
	return TH_OK;
}

static enum th_code usage_write(struct th_pg_appending *w)
{
	struct th_pq_args args TH_CLEANUP(th_pq_args_deinit) = { 0 };
	enum th_code code;

	if (w->usage.count == 0)
		return TH_OK;
	code = th_usage_give(&w->usage, usage_add, w, w->err); /* in one order */
	for (size_t i = 0; i < TH_COUNT(w->columns->usage); i++)
		th_pq_arg_array(&args, &w->columns->usage[i]);
	th_pq_arg_i64(&args,
		      (int64_t)(th_crc32c(0, w->s->owner.name, TH_UUID_TEXT_SIZE) % USAGE_PARTS));
	if (code == TH_OK)
		code = th_pq_add(
		    w->c,
		    "INSERT INTO thole.usage AS u (user_id, day, agent_type, model, sessions, "
		    "turns,"
		    " calls, tokens_in, tokens_cached, tokens_out, cost_nano, tokens_written,"
		    " model_ms, tools_ms, person_ms, part)"
		    " SELECT a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, $16"
		    " FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
		    " AS n (a, b, c, d, e, f, g, h, i, j, k, l, m, o, p)"
		    " ON CONFLICT (user_id, day, agent_type, model, part) DO UPDATE SET"
		    " sessions = u.sessions + excluded.sessions, turns = u.turns + excluded.turns,"
		    " calls = u.calls + excluded.calls,"
		    " tokens_in = u.tokens_in + excluded.tokens_in,"
		    " tokens_cached = u.tokens_cached + excluded.tokens_cached,"
		    " tokens_out = u.tokens_out + excluded.tokens_out,"
		    " cost_nano = u.cost_nano + excluded.cost_nano,"
		    " tokens_written = u.tokens_written + excluded.tokens_written,"
		    " model_ms = u.model_ms + excluded.model_ms,"
		    " tools_ms = u.tools_ms + excluded.tools_ms,"
		    " person_ms = u.person_ms + excluded.person_ms",
		    &args, w->err);
	return code;
}

enum th_code th_pg_write_blobs(struct th_pg_appending *w)
{
	enum th_code code = orphans_keep(w);

	if (code == TH_OK)
		code = blobs_write(w);
	return code == TH_OK ? th_pg_puts_check(w->s, w->err) : code;
}

enum th_code th_pg_write_rows(struct th_pg_appending *w)
{
	enum th_code code = events_write(w);

	if (code == TH_OK)
		code = tasks_copy(w);
	for (enum row_write how = ROW_NEW; how < ROW_WRITES && code == TH_OK; how++)
		code = sessions_write(w, how);
	if (code == TH_OK)
		code = tasks_write(w);
	if (code == TH_OK)
		code = names_write(w);
	return code == TH_OK ? usage_write(w) : code;
}
