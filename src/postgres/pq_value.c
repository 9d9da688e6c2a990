/* SPDX-License-Identifier: Apache-2.0 */
/* pq_value.c - parameters and columns, in PostgreSQL's binary form. */
#include "base/limits.h"
#include "base/text.h"
#include "postgres/pq_internal.h"

#define ARRAY_HEAD 20
/* The last character of Unicode, which no text has: what follows is hexadecimal. */
#define MARK "\xf4\x8f\xbf\xbf"

static void put32(char *p, uint32_t v)
{
	for (size_t i = 0; i < 4; i++)
		p[i] = (char)(v >> (8 * (3 - i)));
}

static uint64_t big(uint64_t v)
{
	char bytes[8];

	put32(bytes, (uint32_t)(v >> 32));
	put32(bytes + 4, (uint32_t)v);
	memcpy(&v, bytes, sizeof(v));
	return v;
}

/* ---- strings ---- */

static bool plain(struct th_str s)
{
	return (s.len == 0 || !memchr(s.ptr, 0, s.len)) && th_utf8_valid(s) == s.len &&
	       !th_str_starts(s, TH_STR(MARK));
}

static void hex_print(char *out, struct th_str s)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < s.len; i++) {
		*out++ = digits[(uint8_t)s.ptr[i] >> 4];
		*out++ = digits[(uint8_t)s.ptr[i] & 15];
	}
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. */
static bool hex_parse(char *p, size_t len)
{
	if (len % 2 != 0)
		return false;
	for (size_t i = 0; i < len / 2; i++) {
		int high = hex_value(p[2 * i]), low = hex_value(p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		p[i] = (char)(high << 4 | low);
	}
	return true;
}

/* ---- parameters ---- */

void th_pq_args_deinit(struct th_pq_args *a)
{
	th_arena_deinit(&a->memory);
	*a = (struct th_pq_args){ 0 };
}

static void arg_add(struct th_pq_args *a, enum th_pq_type type, const void *ptr, size_t len)
{
	assert(a->count < TH_PQ_ARGS_MAX);
	if (len > INT32_MAX) {
		a->bad = true;
		len = 0;
	}
	a->types[a->count] = (Oid)type;
	a->values[a->count] = ptr ? ptr : "";
	a->lengths[a->count++] = (int)len;
}

void th_pq_arg_text(struct th_pq_args *a, struct th_str s)
{
	size_t len = sizeof(MARK) - 1 + 2 * s.len;
	char *copy;

	if (plain(s)) {
		arg_add(a, TH_PQ_TEXT, s.ptr, s.len);
		return;
	}
	if (!a->memory.max)
		th_arena_init_try(&a->memory, 4 * TH_EVENT_DATA_MAX);
	copy = th_arena_alloc(&a->memory, len);
	a->bad = a->bad || !copy;
	if (copy) {
		memcpy(copy, MARK, sizeof(MARK) - 1);
		hex_print(copy + sizeof(MARK) - 1, s);
	}
	arg_add(a, TH_PQ_TEXT, copy, copy ? len : 0);
}

void th_pq_arg_bytes(struct th_pq_args *a, const void *ptr, size_t len)
{
	arg_add(a, TH_PQ_BYTES, ptr, len);
}

void th_pq_arg_i64(struct th_pq_args *a, int64_t v)
{
	assert(a->count < TH_PQ_ARGS_MAX);
	a->numbers[a->count] = big((uint64_t)v);
	arg_add(a, TH_PQ_I64, &a->numbers[a->count], sizeof(v));
}

/* ---- arrays ---- */

void th_pq_array_init(struct th_pq_array *l, enum th_pq_type of, size_t size_max)
{
	*l = (struct th_pq_array){ .of = of };
	th_buf_init_try(&l->bytes, size_max);
	th_pq_array_clear(l);
}

void th_pq_array_deinit(struct th_pq_array *l)
{
	th_buf_deinit(&l->bytes);
}

void th_pq_array_clear(struct th_pq_array *l)
{
	char head[ARRAY_HEAD] = { 0 };

	l->count = 0;
	th_buf_clear(&l->bytes);
	th_buf_add_mem(&l->bytes, head, sizeof(head));
}

static char *item(struct th_pq_array *l, size_t len)
{
	char *p = len > INT32_MAX ? NULL : th_buf_grow(&l->bytes, 4 + len);

	if (!p) {
		l->bytes.failed = true;
		return NULL;
	}
	put32(p, (uint32_t)len);
	th_buf_grown(&l->bytes, 4 + len);
	l->count++;
	return p + 4;
}

void th_pq_array_bytes(struct th_pq_array *l, const void *ptr, size_t len)
{
	char *p = item(l, len);

	if (p && len > 0)
		memcpy(p, ptr, len);
}

void th_pq_array_text(struct th_pq_array *l, struct th_str s)
{
	char *p;

	if (plain(s)) {
		th_pq_array_bytes(l, s.ptr, s.len);
		return;
	}
	p = item(l, sizeof(MARK) - 1 + 2 * s.len);
	if (!p)
		return;
	memcpy(p, MARK, sizeof(MARK) - 1);
	hex_print(p + sizeof(MARK) - 1, s);
}

void th_pq_array_i64(struct th_pq_array *l, int64_t v)
{
	uint64_t bytes = big((uint64_t)v);

	th_pq_array_bytes(l, &bytes, sizeof(bytes));
}

void th_pq_arg_array(struct th_pq_args *a, struct th_pq_array *l)
{
	static const struct {
		enum th_pq_type of, array;
	} types[] = {
		{ TH_PQ_BYTES, TH_PQ_BYTES_ARRAY },
		{ TH_PQ_I64, TH_PQ_I64_ARRAY },
		{ TH_PQ_TEXT, TH_PQ_TEXT_ARRAY },
		{ TH_PQ_UUID, TH_PQ_UUID_ARRAY },
	};
	enum th_pq_type type = TH_PQ_BYTES_ARRAY;

	for (size_t i = 0; i < TH_COUNT(types); i++)
		if (types[i].of == l->of)
			type = types[i].array;
	if (l->bytes.failed) {
		a->bad = true;
		arg_add(a, type, NULL, 0);
		return;
	}
	put32(l->bytes.ptr, l->count > 0); /* dimensions */
	put32(l->bytes.ptr + 4, 0);        /* no NULL among them */
	put32(l->bytes.ptr + 8, (uint32_t)l->of);
	put32(l->bytes.ptr + 12, (uint32_t)l->count);
	put32(l->bytes.ptr + 16, 1); /* the first one's index */
	arg_add(a, type, l->bytes.ptr, l->count > 0 ? l->bytes.len : 12);
}

/* ---- columns ---- */

bool th_pq_bytes(PGresult *r, int row, int column, struct th_str *ret)
{
	if (th_libpq.PQgetisnull(r, row, column))
		return false;
	*ret = th_str_n(th_libpq.PQgetvalue(r, row, column),
			(size_t)th_libpq.PQgetlength(r, row, column));
	return true;
}

bool th_pq_text(PGresult *r, int row, int column, struct th_str *ret)
{
	char *p;

	if (!th_pq_bytes(r, row, column, ret))
		return false;
	if (!th_str_starts(*ret, TH_STR(MARK)))
		return true;
	p = th_libpq.PQgetvalue(r, row, column) + sizeof(MARK) - 1;
	*ret = th_str_n(p, (ret->len - (sizeof(MARK) - 1)) / 2);
	return hex_parse(p, ret->len * 2);
}

bool th_pq_fixed(PGresult *r, int row, int column, void *ret, size_t len)
{
	struct th_str s;

	if (!th_pq_bytes(r, row, column, &s) || s.len != len)
		return false;
	memcpy(ret, s.ptr, len);
	return true;
}

bool th_pq_i64(PGresult *r, int row, int column, int64_t *ret)
{
	uint64_t v;

	if (!th_pq_fixed(r, row, column, &v, sizeof(v)))
		return false;
	*ret = (int64_t)big(v);
	return true;
}

bool th_pq_u64(PGresult *r, int row, int column, uint64_t *ret)
{
	int64_t v;

	if (!th_pq_i64(r, row, column, &v) || v < 0)
		return false;
	*ret = (uint64_t)v;
	return true;
}

bool th_pq_bool(PGresult *r, int row, int column, bool *ret)
{
	char v;

	if (!th_pq_fixed(r, row, column, &v, 1))
		return false;
	*ret = v != 0;
	return true;
}

int th_pq_rows(const PGresult *r)
{
	return r ? th_libpq.PQntuples(r) : 0;
}

PGresult *th_pq_clear(PGresult *r)
{
	if (r)
		th_libpq.PQclear(r);
	return NULL;
}

void th_pq_clearp(PGresult **r)
{
	*r = th_pq_clear(*r);
}
