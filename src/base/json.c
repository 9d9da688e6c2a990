/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - the one file that knows yyjson.  A th_json_doc is a yyjson_doc and
 * a th_json a yyjson_val; only these casts and the accessors below say so.
 */
#include "base/json_internal.h"

#include <stdlib.h>
#include <yyjson.h>

#include "base/limits.h"
#include "base/text.h"
#include "base/wiped.h"

static yyjson_val *val(const struct th_json *v)
{
	return (yyjson_val *)(uintptr_t)v; /* yyjson's readers take no const, but do not write */
}

static const struct th_json *json(const yyjson_val *v)
{
	return (const struct th_json *)v;
}

static yyjson_doc *doc(const struct th_json_doc *d)
{
	return (yyjson_doc *)(uintptr_t)d;
}

/* ---- reading ---- */

/* How many opening brackets there are, also in strings. */
static size_t brackets(struct th_str text)
{
	const char *p = text.ptr, *end = p + text.len;
	size_t count = 0;

#ifdef __SSE2__
	__m128i sums = _mm_setzero_si128();

	for (; end - p >= 16; p += 16) {
		/* 0x20 makes { of [, and of nothing else that JSON knows. */
		__m128i low = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)p),
					   _mm_set1_epi8(0x20));
		__m128i ones =
		    _mm_and_si128(_mm_cmpeq_epi8(low, _mm_set1_epi8('{')), _mm_set1_epi8(1));

		sums = _mm_add_epi64(sums, _mm_sad_epu8(ones, _mm_setzero_si128()));
	}
	count = (size_t)_mm_cvtsi128_si64(sums) +
		(size_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(sums, sums));
#endif
	for (; p < end; p++)
		count += *p == '[' || *p == '{';
	return count;
}

/* Brackets outside of strings, on any bytes.  yyjson itself needs no stack, but everybody who
 * walks a document does. */
static bool depth_fits(struct th_str text)
{
	const char *p = text.ptr, *end = p + text.len;
	size_t depth = 0;

	if (text.len <= TH_JSON_DEPTH_MAX || brackets(text) <= TH_JSON_DEPTH_MAX)
		return true;
	while ((p = th_json_skip_to(p, end, TH_JSON_NEST)) < end) {
		char c = *p++;

		if (c == '"') {
			p = th_json_skip_string(p, end);
			if (!p)
				return true; /* not JSON: the parser will say so */
		} else if (c == '[' || c == '{') {
			if (++depth > TH_JSON_DEPTH_MAX)
				return false;
		} else if (depth > 0) {
			depth--;
		}
	}
	return true;
}

static void *alc_malloc(void *ctx, size_t size)
{
	(void)ctx;
	return th_realloc(NULL, size);
}

static void *alc_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
	(void)ctx;
	(void)old_size;
	return th_realloc(ptr, size);
}

static void alc_free(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

static const yyjson_alc alc = { alc_malloc, alc_realloc, alc_free, NULL };

static void *try_malloc(void *ctx, size_t size)
{
	(void)ctx;
	return th_try_realloc(NULL, size);
}

static void *try_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
	(void)ctx;
	(void)old_size;
	return th_try_realloc(ptr, size);
}

static const yyjson_alc try_alc = { try_malloc, try_realloc, alc_free, NULL };

static void *wiped_malloc(void *ctx, size_t size)
{
	(void)ctx;
	return th_wiped_alloc(size);
}

static void *wiped_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
	(void)ctx;
	(void)old_size;
	return th_wiped_realloc(ptr, size);
}

static void wiped_free(void *ctx, void *ptr)
{
	(void)ctx;
	th_wiped_free(ptr);
}

static const yyjson_alc wiped_alc = { wiped_malloc, wiped_realloc, wiped_free, NULL };

static bool in_room(const struct th_json_room *r, const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)r->bytes < sizeof(r->bytes);
}

static void *room_malloc(void *ctx, size_t size)
{
	struct th_json_room *r = ctx;
	size_t left = sizeof(r->bytes) - r->used;
	char *ptr = r->bytes + r->used;

	if (size > left)
		return r->may_fail ? th_try_realloc(NULL, size) : th_realloc(NULL, size);
	r->used += TH_MIN((size + 15) & ~(size_t)15, left);
	return ptr;
}

static void *room_realloc(void *ctx, void *ptr, size_t old_size, size_t size)
{
	struct th_json_room *r = ctx;
	void *to;

	if (!in_room(r, ptr))
		return r->may_fail ? th_try_realloc(ptr, size) : th_realloc(ptr, size);
	to = room_malloc(r, size); /* what it had is not used again */
	return to ? memcpy(to, ptr, TH_MIN(old_size, size)) : NULL;
}

static void room_free(void *ctx, void *ptr)
{
	if (!in_room(ctx, ptr))
		free(ptr);
}

#define EXCERPT_MAX 40

static enum th_code parse_fail(struct th_str text, const yyjson_read_err *e, struct th_err *err)
{
	size_t line = 1, line_start = 0, pos = TH_MIN(e->pos, text.len);
	char shown[EXCERPT_MAX * 4];
	struct th_buf near = TH_BUF_INIT(sizeof(shown));

	if (!err)
		return TH_EPROTO;
	for (size_t i = 0; i < pos; i++)
		if (text.ptr[i] == '\n') {
			line++;
			line_start = i + 1;
		}
	size_t column = th_utf8_count(th_str_sub(text, line_start, pos - line_start)) + 1;

	th_text_line(&near, th_str_sub(text, pos, EXCERPT_MAX), EXCERPT_MAX / 2);
	enum th_code code =
	    near.len ? th_fail(err, TH_EPROTO, "not JSON: line %zu, column %zu: %s, near %.*s",
			       line, column, e->msg, TH_FMT(th_buf_str(&near)))
		     : th_fail(err, TH_EPROTO, "not JSON: line %zu, column %zu: %s", line, column,
			       e->msg);
	th_buf_deinit(&near);
	return code;
}

static enum th_code parse(struct th_str text, const yyjson_alc *memory, struct th_json_doc **ret,
			  struct th_err *err)
{
	yyjson_read_err e = { 0 };
	yyjson_doc *d;

	*ret = NULL;
	if (text.len > TH_JSON_SIZE_MAX)
		return th_fail(err, TH_ELIMIT, "JSON is larger than %zu bytes", TH_JSON_SIZE_MAX);
	if (!text.len)
		return th_fail(err, TH_EPROTO, "not JSON: empty");
	if (!depth_fits(text))
		return th_fail(err, TH_ELIMIT, "JSON is nested deeper than %d", TH_JSON_DEPTH_MAX);
	d = yyjson_read_opts((char *)(uintptr_t)text.ptr, text.len, YYJSON_READ_NOFLAG, memory, &e);
	if (!d && e.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return th_fail_memory(err);
	if (!d)
		return parse_fail(text, &e, err);
	*ret = (struct th_json_doc *)d;
	return TH_OK;
}

enum th_code th_json_parse(struct th_str text, struct th_json_doc **ret, struct th_err *err)
{
	return parse(text, &alc, ret, err);
}

enum th_code th_json_try_parse(struct th_str text, struct th_json_doc **ret, struct th_err *err)
{
	return parse(text, &try_alc, ret, err);
}

enum th_code th_json_parse_secret(struct th_str text, struct th_json_doc **ret, struct th_err *err)
{
	enum th_code code = parse(text, &wiped_alc, ret, NULL);

	return code ? th_fail(err, code, "this is no JSON, or too large") : TH_OK;
}

enum th_code th_json_parse_in(struct th_json_room *room, bool may_fail, struct th_str text,
			      struct th_json_doc **ret, struct th_err *err)
{
	yyjson_alc memory = { room_malloc, room_realloc, room_free, room };

	room->used = 0;
	room->may_fail = may_fail;
	return parse(text, &memory, ret, err);
}

struct th_json_doc *th_json_free(struct th_json_doc *d)
{
	yyjson_doc_free(doc(d));
	return NULL;
}

void th_json_freep(struct th_json_doc **d)
{
	*d = th_json_free(*d);
}

const struct th_json *th_json_root(const struct th_json_doc *d)
{
	return json(yyjson_doc_get_root(doc(d)));
}

enum th_json_type th_json_type(const struct th_json *v)
{
	switch (yyjson_get_type(val(v))) {
	case YYJSON_TYPE_NULL:
		return TH_JSON_NULL;
	case YYJSON_TYPE_BOOL:
		return TH_JSON_BOOL;
	case YYJSON_TYPE_NUM:
		return yyjson_is_real(val(v)) ? TH_JSON_REAL : TH_JSON_INT;
	case YYJSON_TYPE_STR:
		return TH_JSON_STR;
	case YYJSON_TYPE_ARR:
		return TH_JSON_ARRAY;
	case YYJSON_TYPE_OBJ:
		return TH_JSON_OBJECT;
	default: /* yyjson's enum, and NULL */
		return TH_JSON_ABSENT;
	}
}

const char *th_json_type_name(enum th_json_type type)
{
	switch (type) {
	case TH_JSON_ABSENT:
		return "nothing";
	case TH_JSON_NULL:
		return "null";
	case TH_JSON_BOOL:
		return "true or false";
	case TH_JSON_INT:
		return "an integer";
	case TH_JSON_REAL:
		return "a number";
	case TH_JSON_STR:
		return "a string";
	case TH_JSON_ARRAY:
		return "a list";
	case TH_JSON_OBJECT:
		return "an object";
	}
	return "nothing";
}

bool th_json_is_object(const struct th_json *v)
{
	return yyjson_is_obj(val(v));
}

bool th_json_is_array(const struct th_json *v)
{
	return yyjson_is_arr(val(v));
}

bool th_json_is_null(const struct th_json *v)
{
	return !v || yyjson_is_null(val(v));
}

bool th_json_says(const struct th_json *v)
{
	return th_json_count(v) || th_json_str(v).len || th_json_bool(v, false) ||
	       th_json_num(v, 0) != 0;
}

const struct th_json *th_json_getn(const struct th_json *v, struct th_str key)
{
	return json(yyjson_obj_getn(val(v), key.ptr ? key.ptr : "", key.len));
}

const struct th_json *th_json_at(const struct th_json *v, size_t index)
{
	return json(yyjson_arr_get(val(v), index));
}

size_t th_json_count(const struct th_json *v)
{
	return yyjson_is_ctn(val(v)) ? unsafe_yyjson_get_len(val(v)) : 0;
}

struct th_str th_json_str(const struct th_json *v)
{
	return yyjson_is_str(val(v))
		   ? (struct th_str){ yyjson_get_str(val(v)), yyjson_get_len(val(v)) }
		   : (struct th_str){ NULL, 0 };
}

/* A real without fraction inside [low, high). */
static bool real_is_whole(double d, double low, double high)
{
	return d >= low && d < high && (d < 0 ? (double)(int64_t)d : (double)(uint64_t)d) == d;
}

/* An int below 0; yyjson keeps "-0" as a signed one. */
static bool is_negative(yyjson_val *v)
{
	return yyjson_is_sint(v) && yyjson_get_sint(v) < 0;
}

int64_t th_json_int(const struct th_json *v, int64_t otherwise)
{
	if (yyjson_is_sint(val(v)))
		return yyjson_get_sint(val(v));
	if (yyjson_is_uint(val(v)) && yyjson_get_uint(val(v)) <= INT64_MAX)
		return (int64_t)yyjson_get_uint(val(v));
	if (yyjson_is_real(val(v)) && real_is_whole(yyjson_get_real(val(v)), -0x1p63, 0x1p63))
		return (int64_t)yyjson_get_real(val(v));
	return otherwise;
}

uint64_t th_json_uint(const struct th_json *v, uint64_t otherwise)
{
	if (yyjson_is_int(val(v)) && !is_negative(val(v)))
		return yyjson_get_uint(val(v));
	if (yyjson_is_real(val(v)) && real_is_whole(yyjson_get_real(val(v)), 0, 0x1p64))
		return (uint64_t)yyjson_get_real(val(v));
	return otherwise;
}

double th_json_num(const struct th_json *v, double otherwise)
{
	return yyjson_is_num(val(v)) ? yyjson_get_num(val(v)) : otherwise;
}

bool th_json_bool(const struct th_json *v, bool otherwise)
{
	return yyjson_is_bool(val(v)) ? yyjson_get_bool(val(v)) : otherwise;
}

struct th_json_iter th_json_iter(const struct th_json *v)
{
	return (struct th_json_iter){
		.parent = v,
		.index = SIZE_MAX,
		.cursor = th_json_count(v) ? unsafe_yyjson_get_first(val(v)) : NULL,
	};
}

bool th_json_next(struct th_json_iter *it)
{
	yyjson_val *at = val(it->cursor);

	if (!at || ++it->index >= th_json_count(it->parent)) {
		it->cursor = it->val = NULL;
		it->key = (struct th_str){ NULL, 0 };
		return false;
	}
	if (yyjson_is_obj(val(it->parent))) {
		it->key = (struct th_str){ unsafe_yyjson_get_str(at), unsafe_yyjson_get_len(at) };
		at++; /* a member's value lies behind its key */
	}
	it->val = json(at);
	it->cursor = unsafe_yyjson_get_next(at);
	return true;
}

void th_json_print(const struct th_json *v, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_json(&w, v);
}

struct th_str th_json_text(const struct th_json *v, struct th_arena *a)
{
	struct th_buf text = TH_BUF_INIT(a->max - a->used);
	struct th_str ret = { NULL, 0 };

	text.may_fail = a->may_fail;
	th_json_print(v, &text);
	if (!text.failed)
		ret = th_arena_str(a, th_buf_str(&text));
	a->no_memory |= text.no_memory;
	th_buf_deinit(&text);
	return ret;
}

/* ---- equality ---- */

static bool num_equal(yyjson_val *a, yyjson_val *b)
{
	double d;

	if (yyjson_is_real(a) && yyjson_is_real(b))
		return yyjson_get_real(a) == yyjson_get_real(b);
	if (!yyjson_is_real(a) && !yyjson_is_real(b))
		return is_negative(a) == is_negative(b) && yyjson_get_uint(a) == yyjson_get_uint(b);
	if (yyjson_is_real(a)) {
		yyjson_val *swap = a;

		a = b;
		b = swap;
	}
	d = yyjson_get_real(b);
	return is_negative(a) ? real_is_whole(d, -0x1p63, 0) && (int64_t)d == yyjson_get_sint(a)
			      : real_is_whole(d, 0, 0x1p64) && (uint64_t)d == yyjson_get_uint(a);
}

struct member {
	struct th_str key;
	const struct th_json *val;
	size_t index;
};

static int member_cmp(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int diff = th_str_cmp(x->key, y->key);

	return diff ? diff : (x->index > y->index) - (x->index < y->index);
}

/* The members by key, the first of double keys only: sorted, as a hostile object of a million
 * members must not take a million squared steps. */
static struct member *members_sorted(const struct th_json *v, size_t *ret_count)
{
	struct member *list = th_alloc(th_json_count(v) * sizeof(*list));
	struct th_json_iter it = th_json_iter(v);
	size_t all = 0, kept = 0;

	while (th_json_next(&it))
		list[all++] = (struct member){ it.key, it.val, it.index };
	qsort(list, all, sizeof(*list), member_cmp);
	for (size_t i = 0; i < all; i++)
		if (!kept || !th_str_eq(list[kept - 1].key, list[i].key))
			list[kept++] = list[i];
	*ret_count = kept;
	return list;
}

static bool object_equal(const struct th_json *a, const struct th_json *b)
{
	size_t count_a, count_b;
	struct member *list_a = members_sorted(a, &count_a);
	struct member *list_b = members_sorted(b, &count_b);
	bool equal = count_a == count_b;

	for (size_t i = 0; equal && i < count_a; i++)
		equal = th_str_eq(list_a[i].key, list_b[i].key) &&
			th_json_equal(list_a[i].val, list_b[i].val);
	free(list_a);
	free(list_b);
	return equal;
}

bool th_json_equal(const struct th_json *a, const struct th_json *b)
{
	struct th_json_iter in_a, in_b;

	if (yyjson_get_type(val(a)) != yyjson_get_type(val(b)))
		return false;
	if (yyjson_is_num(val(a)))
		return num_equal(val(a), val(b));
	if (yyjson_is_str(val(a)))
		return th_str_eq(th_json_str(a), th_json_str(b));
	if (yyjson_is_obj(val(a)))
		return object_equal(a, b);
	if (!yyjson_is_arr(val(a)))
		return yyjson_get_tag(val(a)) == yyjson_get_tag(val(b));
	if (th_json_count(a) != th_json_count(b))
		return false;
	in_a = th_json_iter(a);
	in_b = th_json_iter(b);
	while (th_json_next(&in_a) && th_json_next(&in_b))
		if (!th_json_equal(in_a.val, in_b.val))
			return false;
	return true;
}
/* ---- numbers, which no locale changes ---- */

/* yyjson's shortest form, written into memory of ours. */
void th_json_add_real(struct th_buf *out, double v)
{
	_Alignas(16) char memory[1024];
	yyjson_alc pool;
	yyjson_val number = { 0 };
	size_t len = 0;
	char *text;

	if (!__builtin_isfinite(v)) {
		th_buf_add(out, TH_STR("null"));
		return;
	}
	yyjson_alc_pool_init(&pool, memory, sizeof(memory));
	unsafe_yyjson_set_real(&number, v);
	text = yyjson_val_write_opts(&number, YYJSON_WRITE_NOFLAG, &pool, &len, NULL);
	assert(text);
	th_buf_add_mem(out, text, len);
}

static const char *skip_digits(const char *p, const char *end)
{
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

/* Takes what strtod takes of decimal forms (".5", "1.", "007"), and makes JSON's form of it. */
bool th_str_f64(struct th_str s, double *ret)
{
	char text[TH_NUMBER_TEXT_MAX + 4];
	const char *p = s.ptr, *end, *whole, *point, *stop;
	struct th_buf out = TH_BUF_INIT(sizeof(text));
	yyjson_val number = { 0 };

	if (!s.len || s.len > TH_NUMBER_TEXT_MAX)
		return false;
	end = p + s.len;
	if (*p == '-' || *p == '+')
		p++;
	whole = p;
	p = skip_digits(p, end);
	point = p;
	stop = p < end && *p == '.' ? skip_digits(p + 1, end) : p;
	if (stop - whole - (stop > point) == 0)
		return false; /* no digit at all */
	if (stop < end && *stop != 'e' && *stop != 'E')
		return false;
	while (point - whole > 1 && *whole == '0')
		whole++;
	if (s.ptr[0] == '-')
		th_buf_add_char(&out, '-');
	th_buf_add(&out, whole < point ? th_str_n(whole, (size_t)(point - whole)) : TH_STR("0"));
	if (stop - point > 1)
		th_buf_add_mem(&out, point, (size_t)(stop - point));
	th_buf_add_mem(&out, stop, (size_t)(end - stop));
	memcpy(text, out.ptr, out.len + 1);
	stop = text + out.len;
	th_buf_deinit(&out);
	p = yyjson_read_number(text, &number, YYJSON_READ_NOFLAG, NULL, NULL);
	if (p != stop)
		return false;
	*ret = yyjson_get_num(&number);
	return true;
}
