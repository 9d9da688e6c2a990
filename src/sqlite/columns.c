/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - values of rows, and whether each is one that this store writes. */
#include <string.h>

#include "sqlite/sqlite.h"

bool th_column_str(sqlite3_stmt *st, int index, struct th_str *ret)
{
	if (sqlite3_column_type(st, index) != SQLITE_TEXT)
		return false;
	ret->ptr = (const char *)sqlite3_column_text(st, index);
	ret->len = (size_t)sqlite3_column_bytes(st, index);
	return ret->ptr != NULL;
}

bool th_column_i64(sqlite3_stmt *st, int index, int64_t *ret)
{
	if (sqlite3_column_type(st, index) != SQLITE_INTEGER)
		return false;
	*ret = sqlite3_column_int64(st, index);
	return true;
}

bool th_column_u64(sqlite3_stmt *st, int index, uint64_t *ret)
{
	int64_t v;

	if (!th_column_i64(st, index, &v) || v < 0)
		return false;
	*ret = (uint64_t)v;
	return true;
}

bool th_column_bytes(sqlite3_stmt *st, int index, void *ptr, size_t len)
{
	const void *found;

	if (sqlite3_column_type(st, index) != SQLITE_BLOB)
		return false;
	found = sqlite3_column_blob(st, index);
	if (!found || (size_t)sqlite3_column_bytes(st, index) != len)
		return false;
	memcpy(ptr, found, len);
	return true;
}

/* Reads columns one after the other and remembers the first that has another type. */
struct cursor {
	sqlite3_stmt *st;
	const char *const *sentences; /* one per column */
	int index;
	const char *bad;
};

/* clang-format off */
#define WRONG(column) "column " column " cannot have such a value"
static const char *const session_wrong[] = {
	WRONG("number"), WRONG("session_id"), WRONG("user"), WRONG("agent"), WRONG("model"), WRONG("state"),
	WRONG("title"), WRONG("parent"), WRONG("parent_seq"), WRONG("head_seq"), WRONG("head"),
	WRONG("iteration"), WRONG("calls"), WRONG("tokens_in"), WRONG("tokens_out"),
	WRONG("cost_nano"), WRONG("epoch"), WRONG("owner"), WRONG("created_ms"),
	WRONG("updated_ms"), WRONG("metadata"), WRONG("last_place"), WRONG("check_crc"),
	WRONG("tokens_cached"),
};
static const char *const event_wrong[] = {
	WRONG("place"), WRONG("session_id"), WRONG("seq"), WRONG("prev"), WRONG("ts_ms"),
	WRONG("id"), WRONG("source"), WRONG("kind"), WRONG("cause"), WRONG("call"), WRONG("data"),
	WRONG("build"), WRONG("digest"),
};
/* clang-format on */

static void note(struct cursor *c, bool good)
{
	if (!good && !c->bad)
		c->bad = c->sentences[c->index];
	c->index++;
}

static void next_str(struct cursor *c, struct th_str *ret)
{
	note(c, th_column_str(c->st, c->index, ret));
}

static void next_i64(struct cursor *c, int64_t *ret)
{
	note(c, th_column_i64(c->st, c->index, ret));
}

static void next_u64(struct cursor *c, uint64_t *ret)
{
	note(c, th_column_u64(c->st, c->index, ret));
}

static void next_bytes(struct cursor *c, void *ptr, size_t len)
{
	note(c, th_column_bytes(c->st, c->index, ptr, len));
}

const char *th_session_column(sqlite3_stmt *st, struct th_placed_row *ret)
{
	struct cursor c = { .st = st, .sentences = session_wrong };
	struct th_session_row *row = &ret->row;
	uint64_t crc = 0;

	*ret = (struct th_placed_row){};
	next_u64(&c, &ret->number);
	next_str(&c, &row->session_id);
	next_str(&c, &row->user);
	next_str(&c, &row->agent);
	next_str(&c, &row->model);
	next_str(&c, &row->state);
	next_str(&c, &row->title);
	next_str(&c, &row->parent);
	next_u64(&c, &row->parent_seq);
	next_u64(&c, &row->head_seq);
	next_bytes(&c, row->head.bytes, sizeof(row->head.bytes));
	next_i64(&c, &row->iteration);
	next_i64(&c, &row->calls);
	next_i64(&c, &row->tokens_in);
	next_i64(&c, &row->tokens_out);
	next_i64(&c, &row->cost_nano);
	next_i64(&c, &row->epoch);
	next_str(&c, &row->owner);
	next_i64(&c, &row->created_ms);
	next_i64(&c, &row->updated_ms);
	next_str(&c, &row->metadata);
	next_u64(&c, &ret->last_place);
	next_u64(&c, &crc);
	next_i64(&c, &row->tokens_cached);
	if (!c.bad && crc != th_session_row_crc(row, ret->number, ret->last_place))
		return "a column is not what was written";
	return c.bad;
}

void th_session_bind(sqlite3_stmt *st, const struct th_placed_row *r)
{
	const struct th_session_row *row = &r->row;

	th_bind_u64(st, 1, r->number);
	th_bind_str(st, 2, row->session_id);
	th_bind_str(st, 3, row->user);
	th_bind_str(st, 4, row->agent);
	th_bind_str(st, 5, row->model);
	th_bind_str(st, 6, row->state);
	th_bind_str(st, 7, row->title);
	th_bind_str(st, 8, row->parent);
	th_bind_u64(st, 9, row->parent_seq);
	th_bind_u64(st, 10, row->head_seq);
	th_bind_blob(st, 11, row->head.bytes, sizeof(row->head.bytes));
	sqlite3_bind_int64(st, 12, row->iteration);
	sqlite3_bind_int64(st, 13, row->calls);
	sqlite3_bind_int64(st, 14, row->tokens_in);
	sqlite3_bind_int64(st, 15, row->tokens_out);
	sqlite3_bind_int64(st, 16, row->cost_nano);
	sqlite3_bind_int64(st, 17, row->epoch);
	th_bind_str(st, 18, row->owner);
	sqlite3_bind_int64(st, 19, row->created_ms);
	sqlite3_bind_int64(st, 20, row->updated_ms);
	th_bind_str(st, 21, row->metadata);
	th_bind_u64(st, 22, r->last_place);
	sqlite3_bind_int64(st, 23, th_session_row_crc(row, r->number, r->last_place));
	sqlite3_bind_int64(st, 24, row->tokens_cached);
}

const char *th_event_column(sqlite3_stmt *st, struct th_placed_event *ret)
{
	struct cursor c = { .st = st, .sentences = event_wrong };
	struct th_event *ev = &ret->ev;
	struct th_str source = {}, kind = {};
	int source_id, kind_id;

	*ret = (struct th_placed_event){};
	next_u64(&c, &ret->place);
	next_str(&c, &ret->session_id);
	next_u64(&c, &ev->seq);
	next_u64(&c, &ret->prev);
	next_i64(&c, &ev->ts_ms);
	next_bytes(&c, ev->id.bytes, sizeof(ev->id.bytes));
	next_str(&c, &source);
	next_str(&c, &kind);
	next_u64(&c, &ev->cause);
	next_str(&c, &ev->call);
	next_str(&c, &ev->data);
	next_str(&c, &ev->build);
	next_bytes(&c, ret->digest.bytes, sizeof(ret->digest.bytes));
	if (c.bad)
		return c.bad;
	source_id = th_source_find(source);
	kind_id = th_event_find(kind);
	if (source_id < 0)
		return WRONG("source");
	if (kind_id < 0)
		return "column kind has a name that is not known here; a newer thole may have "
		       "written it";
	ev->source = (enum th_source)source_id;
	ev->kind = (enum th_event_kind)kind_id;
	return NULL;
}

uint32_t th_blob_crc(const struct th_digest *hash, struct th_str media_type)
{
	return th_crc32c(th_crc32c(0, hash->bytes, sizeof(hash->bytes)), media_type.ptr,
			 media_type.len);
}
