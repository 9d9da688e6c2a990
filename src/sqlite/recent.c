/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recent.c - what is newer than the rows of sessions.
 *
 * An append changes a few numbers of its session's row.  Writing that row each
 * time would cost as much as the events, and a page of its own for every
 * session of a commit.  So a commit adds one row to `recent` with the new
 * numbers of all its sessions.  When there is much of it, what is said of each
 * session last is kept; where that is much too, it is carried over into the rows
 * of sessions (settled).  Whoever reads a row looks here whether there is
 * something newer.  Both are in the same transaction: there is no moment in
 * which they do not fit.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>

#include "sqlite/sqlite.h"
#include "store/usage.h"

/* Nine numbers, the head, the state with its length, the tokens that were cached; little endian. */
#define STATE_MAX 8
#define CACHED_SIZE 7
#define ENTRY_SIZE (9 * 8 + TH_SHA256_SIZE + 1 + STATE_MAX + CACHED_SIZE)
#define CRC_SIZE 4
_Static_assert(ENTRY_SIZE == TH_RECENT_ENTRY_SIZE, "as the header says");

/* ---- bytes ---- */

static uint8_t *put_u64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static const uint8_t *get_u64(const uint8_t *p, uint64_t *ret)
{
	memcpy(ret, p, sizeof(*ret));
	*ret = le64toh(*ret);
	return p + sizeof(*ret);
}

static uint32_t crc_of(uint64_t place, const void *bytes, size_t len)
{
	uint8_t head[8];

	put_u64(head, place);
	return th_crc32c(th_crc32c(0, head, sizeof(head)), bytes, len);
}

bool th_recent_fits(const struct th_session_row *row)
{
	return row->state.len <= STATE_MAX && row->tokens_cached >= 0 &&
	       row->tokens_cached < INT64_C(1) << (8 * CACHED_SIZE);
}

void th_recent_add(struct th_buf *rows, const struct th_placed_row *r)
{
	const struct th_session_row *row = &r->row;
	uint8_t bytes[ENTRY_SIZE] = { 0 }, *p = bytes;

	assert(th_recent_fits(row));
	p = put_u64(p, r->number);
	p = put_u64(p, r->last_place);
	p = put_u64(p, row->head_seq);
	p = put_u64(p, (uint64_t)row->iteration);
	p = put_u64(p, (uint64_t)row->calls);
	p = put_u64(p, (uint64_t)row->tokens_in);
	p = put_u64(p, (uint64_t)row->tokens_out);
	p = put_u64(p, (uint64_t)row->cost_nano);
	p = put_u64(p, (uint64_t)row->updated_ms);
	memcpy(p, row->head.bytes, sizeof(row->head.bytes));
	p += sizeof(row->head.bytes);
	*p++ = (uint8_t)row->state.len;
	if (row->state.len > 0)
		memcpy(p, row->state.ptr, row->state.len);
	p += STATE_MAX;
	for (int i = 0; i < CACHED_SIZE; i++)
		*p++ = (uint8_t)(row->tokens_cached >> (8 * i));
	th_buf_add(rows, th_str_n((const char *)bytes, sizeof(bytes)));
}

/* False: no such entry was ever written. */
static bool entry_get(const uint8_t *p, struct th_recent_row *ret)
{
	uint64_t numbers[6];

	p = get_u64(p, &ret->number);
	p = get_u64(p, &ret->place);
	p = get_u64(p, &ret->head_seq);
	for (size_t i = 0; i < TH_COUNT(numbers); i++)
		p = get_u64(p, &numbers[i]);
	ret->iteration = (int64_t)numbers[0];
	ret->calls = (int64_t)numbers[1];
	ret->tokens_in = (int64_t)numbers[2];
	ret->tokens_out = (int64_t)numbers[3];
	ret->cost_nano = (int64_t)numbers[4];
	ret->updated_ms = (int64_t)numbers[5];
	memcpy(ret->head.bytes, p, sizeof(ret->head.bytes));
	p += sizeof(ret->head.bytes);
	ret->state_len = *p++;
	memcpy(ret->state, p, STATE_MAX);
	p += STATE_MAX;
	ret->tokens_cached = 0; /* an entry from before it was kept has zeros here */
	for (int i = 0; i < CACHED_SIZE; i++)
		ret->tokens_cached |= (int64_t)p[i] << (8 * i);
	return ret->state_len <= STATE_MAX && ret->number <= INT64_MAX && ret->place <= INT64_MAX &&
	       ret->head_seq <= INT64_MAX;
}

/* ---- what is in the table, in memory ---- */

void th_recent_clear(struct th_recent *r)
{
	free(r->list);
	free(r->slots);
	*r = (struct th_recent){ 0 };
}

static size_t slot_of(const struct th_recent *r, uint64_t number)
{
	size_t i = (size_t)(number * 0x9E3779B97F4A7C15u >> 32) & (r->slot_count - 1);

	while (r->slots[i] && r->list[r->slots[i] - 1].number != number)
		i = (i + 1) & (r->slot_count - 1);
	return i;
}

/* Room for one more session. */
static bool room(struct th_recent *r)
{
	size_t cap = r->cap ? r->cap * 2 : 64;
	struct th_recent_row *list;
	uint32_t *slots;

	if (r->count < r->cap)
		return true;
	list = th_try_realloc(r->list, cap * sizeof(*list));
	if (!list)
		return false;
	r->list = list;
	slots = th_try_alloc(cap * 2 * sizeof(*slots));
	if (!slots)
		return false;
	free(r->slots);
	r->cap = cap;
	r->slots = slots;
	r->slot_count = cap * 2;
	for (size_t i = 0; i < r->count; i++)
		r->slots[slot_of(r, r->list[i].number)] = (uint32_t)i + 1;
	return true;
}

static enum th_code fail_place(struct th_db *db, uint64_t place, struct th_err *err)
{
	static const char what[] = "it is not what was written";
	char key[64];

	snprintf(key, sizeof(key), "place %llu", (unsigned long long)place);
	if (db->report && !db->report->bad)
		th_verify_blame(db->report, "recent", key, "%s", what);
	return th_fail(err, TH_ECORRUPT, "%s is damaged: recent %s: %s", db->path, key, what);
}

/* A row's place and the sum that it says; false: no such row was ever written. */
static bool row_get(sqlite3_stmt *st, uint64_t *ret_place, uint32_t *ret_crc)
{
	const uint8_t *bytes = sqlite3_column_blob(st, 1);
	size_t len = (size_t)sqlite3_column_bytes(st, 1);

	*ret_crc = 0;
	if (!th_column_u64(st, 0, ret_place) || sqlite3_column_type(st, 1) != SQLITE_BLOB ||
	    !bytes || len < CRC_SIZE || (len - CRC_SIZE) % ENTRY_SIZE != 0)
		return false;
	for (size_t k = 0; k < CRC_SIZE; k++)
		*ret_crc |= (uint32_t)bytes[len - CRC_SIZE + k] << (8 * k);
	return true;
}

/* One row of the table. */
static enum th_code rows_take(struct th_db *db, sqlite3_stmt *st, struct th_err *err)
{
	struct th_recent *r = &db->recent;
	const uint8_t *bytes = sqlite3_column_blob(st, 1);
	size_t len = (size_t)sqlite3_column_bytes(st, 1), i = 0;
	uint64_t place = 0;
	uint32_t crc = 0;

	if (!row_get(st, &place, &crc) || crc != crc_of(place, bytes, len - CRC_SIZE))
		return fail_place(db, place, err);
	r->bytes += len;
	r->last = place;
	r->last_crc = crc;
	for (; i + ENTRY_SIZE <= len - CRC_SIZE; i += ENTRY_SIZE) {
		struct th_recent_row e;
		uint32_t *slot;

		if (!entry_get(bytes + i, &e))
			return fail_place(db, place, err);
		if (!room(r))
			return th_fail_memory(err);
		slot = &r->slots[slot_of(r, e.number)];
		if (!*slot)
			*slot = (uint32_t)++r->count;
		r->list[*slot - 1] = e;
	}
	return TH_OK;
}

uint32_t th_db_version(struct th_db *db)
{
	uint32_t version = 0;

	(void)sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_DATA_VERSION, &version);
	return version;
}

/* Of what was read all is still there: rows are added behind the last one, or all are written anew,
 * and then the last one is another.  Only then it takes those behind it. */
static bool take_added(struct th_db *db, struct th_err *err, enum th_code *ret_code)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_RECENT_FROM);
	uint64_t place = 0;
	uint32_t crc = 0;
	int status;

	if (st)
		th_bind_u64(st, 1, db->recent.last);
	status = th_db_step(db, st, err);
	if (status == 1 && (!row_get(st, &place, &crc) || place != db->recent.last ||
			    crc != db->recent.last_crc)) {
		sqlite3_reset(st);
		return false;
	}
	if (status == 0)
		return false;
	while (*ret_code == TH_OK && status == 1 && (status = th_db_step(db, st, err)) == 1)
		*ret_code = rows_take(db, st, err);
	if (status == 1)
		sqlite3_reset(st);
	if (status < 0)
		*ret_code = (enum th_code)status;
	return true;
}

static enum th_code take_all(struct th_db *db, struct th_err *err)
{
	sqlite3_stmt *st = th_db_get(db, TH_SQL_RECENT_ALL);
	enum th_code code = TH_OK;
	int status;

	th_recent_clear(&db->recent);
	while ((status = th_db_step(db, st, err)) == 1 && code == TH_OK)
		code = rows_take(db, st, err);
	if (status == 1)
		sqlite3_reset(st);
	return status < 0 ? (enum th_code)status : code;
}

enum th_code th_recent_load(struct th_db *db, struct th_err *err)
{
	/* Outside a transaction it is not known what others have written. */
	bool inside = sqlite3_txn_state(db->sqlite, "main") != SQLITE_TXN_NONE;
	enum th_code code = TH_OK;

	if (inside && db->recent.loaded && db->recent.version == th_db_version(db))
		return TH_OK;
	if (!db->recent.loaded || db->recent.count == 0 || !take_added(db, err, &code))
		code = take_all(db, err);
	if (code == TH_OK) {
		db->recent.loaded = true;
		db->recent.version = th_db_version(db);
	} else {
		th_recent_clear(&db->recent);
	}
	return code;
}

enum th_code th_recent_find(struct th_db *db, uint64_t number, uint64_t place,
			    const struct th_recent_row **ret, struct th_err *err)
{
	const struct th_recent *r = &db->recent;
	enum th_code code = th_recent_load(db, err);
	uint32_t index = code == TH_OK && r->count > 0 ? r->slots[slot_of(r, number)] : 0;

	*ret = index > 0 && r->list[index - 1].place > place ? &r->list[index - 1] : NULL;
	return code;
}

void th_recent_apply(const struct th_recent_row *e, struct th_placed_row *r)
{
	r->last_place = e->place;
	r->row.head_seq = e->head_seq;
	r->row.head = e->head;
	r->row.state = (struct th_str){ e->state, e->state_len };
	r->row.iteration = e->iteration;
	r->row.calls = e->calls;
	r->row.tokens_in = e->tokens_in;
	r->row.tokens_cached = e->tokens_cached;
	r->row.tokens_out = e->tokens_out;
	r->row.cost_nano = e->cost_nano;
	r->row.updated_ms = e->updated_ms;
}

enum th_code th_recent_patch(struct th_db *db, struct th_placed_row *r, struct th_err *err)
{
	const struct th_recent_row *e = NULL;
	enum th_code code = th_recent_find(db, r->number, r->last_place, &e, err);

	if (e)
		th_recent_apply(e, r);
	return code;
}

/* ---- writing ---- */

enum th_code th_recent_write(struct th_db *db, uint64_t place, struct th_buf *rows,
			     struct th_err *err)
{
	uint32_t crc = crc_of(place, rows->ptr, rows->len);
	sqlite3_stmt *st;
	int status;

	for (int i = 0; i < CRC_SIZE; i++)
		th_buf_add_char(rows, (char)(crc >> (8 * i)));
	if (rows->no_memory)
		return th_fail_memory(err);
	st = th_db_get(db, TH_SQL_RECENT_INSERT);
	if (st) {
		th_bind_u64(st, 1, place);
		th_bind_blob(st, 2, rows->ptr, rows->len);
	}
	db->recent.loaded = false;
	status = th_db_step(db, st, err);
	return status < 0 ? (enum th_code)status : TH_OK;
}

/* 1: its row says it now, or something newer; 0: it has no row, or one that is damaged. */
static int settle_one(struct th_db *db, const struct th_recent_row *e, struct th_usage_sums *sums,
		      struct th_err *err)
{
	sqlite3_stmt *get = th_db_get(db, TH_SQL_SESSION_NUMBER), *set;
	struct th_session_row before;
	struct th_usage_row more;
	struct th_placed_row r;
	int status;

	if (get)
		th_bind_u64(get, 1, e->number);
	status = th_db_step(db, get, err);
	if (status != 1)
		return status;
	if (th_session_column(get, &r)) {
		sqlite3_reset(get);
		return 0;
	}
	if (r.last_place >= e->place) {
		sqlite3_reset(get);
		return 1;
	}
	before = r.row;
	th_recent_apply(e, &r);
	if (th_usage_of(&before, &r.row, &more)) {
		enum th_code code = th_usage_sums_add(sums, &more, err);

		if (code) {
			sqlite3_reset(get);
			return (int)code;
		}
	}
	set = th_db_get(db, TH_SQL_SESSION_UPDATE);
	if (set)
		th_session_bind(set, &r);
	status = th_db_step(db, set, err);
	sqlite3_reset(get); /* what was bound is its */
	return status < 0 ? status : 1;
}

/* Leaves of each session what is newest, or with `carry` what cannot be carried over. */
static enum th_code rewrite(struct th_db *db, bool carry, struct th_err *err)
{
	struct th_buf left TH_CLEANUP(th_buf_deinit) = {};
	struct th_usage_sums sums TH_CLEANUP(th_usage_sums_deinit) = {};
	const struct th_recent *r = &db->recent;
	uint64_t place = r->last;
	enum th_code code = TH_OK;

	th_buf_init_try(&left, TH_RECENT_BYTES_MAX);
	th_usage_sums_init(&sums);
	for (size_t i = 0; i < r->count && code == TH_OK; i++) {
		const struct th_recent_row *e = &r->list[i];
		struct th_placed_row row = { .number = e->number };
		int status = carry ? settle_one(db, e, &sums, err) : 0;

		if (status < 0)
			code = (enum th_code)status;
		if (status != 0)
			continue;
		th_recent_apply(e, &row);
		th_recent_add(&left, &row); /* a repair of the row needs it */
	}
	for (size_t i = 0; i < sums.count && code == TH_OK; i++)
		code = th_db_usage_add(db, &sums.list[i], err);
	if (code == TH_OK && r->bytes > 0)
		code = th_db_run(db, TH_SQL_RECENT_DELETE, err);
	if (code == TH_OK && left.no_memory)
		code = th_fail_memory(err);
	if (code == TH_OK && left.len > 0)
		code = th_recent_write(db, place, &left, err);
	th_recent_clear(&db->recent);
	return code;
}

enum th_code th_recent_settle(struct th_db *db, struct th_err *err)
{
	enum th_code code = th_recent_load(db, err);

	return code == TH_OK ? rewrite(db, true, err) : code;
}

enum th_code th_recent_shorten(struct th_db *db, size_t *ret_bytes, struct th_err *err)
{
	enum th_code code = th_recent_load(db, err);
	size_t bytes = db->recent.count * ENTRY_SIZE;
	bool carry = bytes > TH_STORE_RECENT_MAX / 2;

	/* What cannot be carried over does not count, or each commit would try again. */
	*ret_bytes = carry ? 0 : bytes;
	return code == TH_OK ? rewrite(db, carry, err) : code;
}
