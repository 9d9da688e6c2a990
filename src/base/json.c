/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.c - the one file that knows yyjson.  A th_json_doc is a yyjson_doc and
 * a th_json a yyjson_val; only these casts and the accessors below say so.
 */
#include "base/json.h"

#include <stdlib.h>
#include <yyjson.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/limits.h"
#include "base/text.h"

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

/* ---- looking for the next interesting byte, sixteen at a time ---- */

enum {
	STOP_QUOTE = 1,  /* ends a run inside a string: " and \ */
	STOP_NEST = 2,   /* matters outside of strings: " [ ] { } */
	STOP_ESCAPE = 4, /* must be escaped when written: " \ and C0 */
	STOP_PLAIN = 8,  /* that, and what is not ASCII: may not be UTF-8 */
};

/* clang-format off */
#define C0 (STOP_ESCAPE | STOP_PLAIN)
static const uint8_t stops[256] = {
	C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0,
	C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0, C0,
	['"'] = STOP_QUOTE | STOP_NEST | STOP_ESCAPE | STOP_PLAIN,
	['\\'] = STOP_QUOTE | STOP_ESCAPE | STOP_PLAIN,
	['['] = STOP_NEST, [']'] = STOP_NEST, ['{'] = STOP_NEST, ['}'] = STOP_NEST,
	[0x80 ... 0xff] = STOP_PLAIN,
};
#undef C0
/* clang-format on */

#ifdef __SSE2__
static inline unsigned eq(__m128i v, char c)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c)));
}

static inline unsigned stop_mask(const char *p, unsigned stop)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);

	if (stop == STOP_NEST) {
		/* 0x20 makes { of [ and } of ], and of nothing else that JSON knows. */
		__m128i low = _mm_or_si128(v, _mm_set1_epi8(0x20));

		return eq(v, '"') | eq(low, '{') | eq(low, '}');
	}
	unsigned mask = eq(v, '"') | eq(v, '\\');

	if (stop == STOP_PLAIN) /* signed: what is not ASCII is less than any of it */
		mask |= (unsigned)_mm_movemask_epi8(_mm_cmplt_epi8(v, _mm_set1_epi8(0x20)));
	if (stop == STOP_ESCAPE)
		mask |= (unsigned)_mm_movemask_epi8(
		    _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v));
	return mask;
}
#endif

/* The first byte of [p, end) that `stop` names, or end. */
static inline __attribute__((always_inline)) const char *skip_to(const char *p, const char *end,
								 unsigned stop)
{
#ifdef __SSE2__
	for (; end - p >= 16; p += 16) {
		unsigned mask = stop_mask(p, stop);

		if (mask)
			return p + __builtin_ctz(mask);
	}
#endif
	while (p < end && !(stops[(unsigned char)*p] & stop))
		p++;
	return p;
}

/* Behind a string's closing quote, given what stands behind its opening one; NULL: no end. */
static const char *skip_string(const char *p, const char *end)
{
	for (;;) {
		p = skip_to(p, end, STOP_QUOTE);
		if (p == end)
			return NULL;
		if (*p == '"')
			return p + 1;
		if (end - p < 2)
			return NULL;
		p += 2;
	}
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
	while ((p = skip_to(p, end, STOP_NEST)) < end) {
		char c = *p++;

		if (c == '"') {
			p = skip_string(p, end);
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

/* ---- writing ---- */

static void escape_char(struct th_buf *out, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	static const char names[] = "btn\0fr"; /* 8..13; 11 has no name */
	char text[6] = { '\\', (char)c };
	size_t len = 2;

	if (c >= 8 && c <= 13 && names[c - 8]) {
		text[1] = names[c - 8];
	} else if (c < 0x20) {
		memcpy(text, "\\u00", 4);
		text[4] = hex[c >> 4];
		text[5] = hex[c & 15];
		len = 6;
	}
	th_buf_add_mem(out, text, len);
}

/* `s` is UTF-8 */
static void escape_valid(struct th_buf *out, struct th_str s)
{
	const char *p = s.ptr, *end = p + s.len;

	while (p < end) {
		const char *stop = skip_to(p, end, STOP_ESCAPE);

		th_buf_add_mem(out, p, (size_t)(stop - p));
		if (stop == end || out->failed)
			return;
		escape_char(out, (unsigned char)*stop);
		p = stop + 1;
	}
}

void th_json_escape(struct th_buf *out, struct th_str s)
{
	size_t plain;

	if (s.len == 0) /* its pointer may be NULL */
		return;
	/* Most strings, and all keys, are nothing else. */
	plain = (size_t)(skip_to(s.ptr, s.ptr + s.len, STOP_PLAIN) - s.ptr);
	th_buf_add_mem(out, s.ptr, plain);
	s = th_str_sub(s, plain, s.len);
	while (s.len && !out->failed) {
		size_t good = th_utf8_valid(s);

		escape_valid(out, (struct th_str){ s.ptr, good });
		if (good == s.len)
			return;
		th_utf8_add(out, 0xFFFD);
		s = th_str_sub(s, good + 1, s.len);
	}
}

static inline void comma(struct th_jw *w)
{
	if (w->comma)
		th_buf_add_char(w->out, ',');
	w->comma = true;
}

static void container_begin(struct th_jw *w, char c)
{
	comma(w);
	th_buf_add_char(w->out, c);
	w->comma = false;
}

static void container_end(struct th_jw *w, char c)
{
	th_buf_add_char(w->out, c);
	w->comma = true;
}

void th_jw_object(struct th_jw *w)
{
	container_begin(w, '{');
}

void th_jw_object_end(struct th_jw *w)
{
	container_end(w, '}');
}

void th_jw_array(struct th_jw *w)
{
	container_begin(w, '[');
}

void th_jw_array_end(struct th_jw *w)
{
	container_end(w, ']');
}

static void add_str(struct th_buf *out, struct th_str s)
{
	th_buf_reserve(out, s.len + 2);
	th_buf_add_char(out, '"');
	th_json_escape(out, s);
	th_buf_add_char(out, '"');
}

void th_jw_name(struct th_jw *w, struct th_str name)
{
	size_t len = name.len + 3 + w->comma;
	char *p = th_buf_grow(w->out, len);

	if (p) {
		if (w->comma)
			*p++ = ',';
		*p++ = '"';
		memcpy(p, name.ptr, name.len);
		memcpy(p + name.len, "\":", 2);
		th_buf_grown(w->out, len);
	}
	w->comma = false;
}

void th_jw_key(struct th_jw *w, struct th_str key)
{
	comma(w);
	add_str(w->out, key);
	th_buf_add_char(w->out, ':');
	w->comma = false;
}

void th_jw_str(struct th_jw *w, struct th_str s)
{
	comma(w);
	add_str(w->out, s);
}

void th_jw_int(struct th_jw *w, int64_t v)
{
	comma(w);
	th_buf_add_i64(w->out, v);
}

void th_jw_uint(struct th_jw *w, uint64_t v)
{
	comma(w);
	th_buf_add_u64(w->out, v);
}

/* yyjson's shortest form, written into memory of ours. */
static void add_real(struct th_buf *out, double v)
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

void th_jw_real(struct th_jw *w, double v)
{
	comma(w);
	add_real(w->out, v);
}

void th_jw_bool(struct th_jw *w, bool v)
{
	th_jw_raw(w, v ? TH_STR("true") : TH_STR("false"));
}

void th_jw_null(struct th_jw *w)
{
	th_jw_raw(w, TH_STR("null"));
}

void th_jw_raw(struct th_jw *w, struct th_str text)
{
	comma(w);
	th_buf_add(w->out, text);
}

/* The depth of `v` is bounded by th_json_parse. */
static void add_json(struct th_jw *w, yyjson_val *v)
{
	struct th_json_iter it;

	switch (yyjson_get_type(v)) {
	case YYJSON_TYPE_BOOL:
		th_jw_bool(w, yyjson_get_bool(v));
		return;
	case YYJSON_TYPE_NUM:
		if (yyjson_is_real(v))
			th_jw_real(w, yyjson_get_real(v));
		else if (yyjson_is_sint(v))
			th_jw_int(w, yyjson_get_sint(v));
		else
			th_jw_uint(w, yyjson_get_uint(v));
		return;
	case YYJSON_TYPE_STR: /* parsed, so UTF-8 */
		comma(w);
		th_buf_add_char(w->out, '"');
		escape_valid(w->out, th_json_str(json(v)));
		th_buf_add_char(w->out, '"');
		return;
	case YYJSON_TYPE_ARR:
		th_jw_array(w);
		for (it = th_json_iter(json(v)); th_json_next(&it);)
			add_json(w, val(it.val));
		th_jw_array_end(w);
		return;
	case YYJSON_TYPE_OBJ:
		th_jw_object(w);
		for (it = th_json_iter(json(v)); th_json_next(&it);) {
			comma(w);
			th_buf_add_char(w->out, '"');
			escape_valid(w->out, it.key);
			th_buf_add_mem(w->out, "\":", 2);
			w->comma = false;
			add_json(w, val(it.val));
		}
		th_jw_object_end(w);
		return;
	default: /* null, and no value */
		th_jw_null(w);
		return;
	}
}

void th_jw_json(struct th_jw *w, const struct th_json *v)
{
	add_json(w, val(v));
}

/* ---- verbatim pieces: total on any bytes ---- */

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* Behind the container that starts at p, its brackets paired by kind; NULL: no end, or too deep. */
static const char *skip_container(const char *p, const char *end)
{
	uint64_t kinds = 0; /* a bit for each open bracket: 1 is { */
	size_t depth = 0;

	_Static_assert(TH_JSON_DEPTH_MAX <= 64, "kinds has a bit for each level");
	while ((p = skip_to(p, end, STOP_NEST)) < end) {
		char c = *p++;

		if (c == '"') {
			p = skip_string(p, end);
			if (!p)
				return NULL;
		} else if (c == '[' || c == '{') {
			if (++depth > TH_JSON_DEPTH_MAX)
				return NULL;
			kinds = kinds << 1 | (c == '{');
		} else {
			if ((c == '}') != (kinds & 1))
				return NULL;
			kinds >>= 1;
			if (--depth == 0)
				return p;
		}
	}
	return NULL;
}

/* Behind the value that starts at p; NULL when none does.  A scalar ends where JSON must go on. */
static const char *skip_value(const char *p, const char *end)
{
	const char *start = p;

	if (p == end)
		return NULL;
	if (*p == '"')
		return skip_string(p + 1, end);
	if (*p == '[' || *p == '{')
		return skip_container(p, end);
	while (p < end && (unsigned char)*p > ' ' && *p != ',' && *p != ':' &&
	       !(stops[(unsigned char)*p] & (STOP_NEST | STOP_QUOTE)))
		p++;
	return p == start ? NULL : p;
}

struct th_json_raw_iter th_json_raw_iter(struct th_str container)
{
	struct th_str none = { NULL, 0 }, rest = none;
	const char *end, *p = container.ptr;
	bool object = false;

	if (container.len) {
		end = p + container.len;
		p = skip_space(p, end);
		object = p < end && *p == '{';
		if (object || (p < end && *p == '['))
			rest = th_str_n(p + 1, (size_t)(end - p - 1));
	}
	return (struct th_json_raw_iter){ rest, none, none, object, false };
}

/* Behind a member's key and colon, at its value; NULL when there is no such thing. */
static const char *raw_key(struct th_json_raw_iter *it, const char *p, const char *end)
{
	const char *close;

	if (p == end || *p != '"')
		return NULL;
	close = skip_string(p + 1, end);
	if (!close)
		return NULL;
	it->key = th_str_n(p + 1, (size_t)(close - 1 - (p + 1)));
	p = skip_space(close, end);
	return p < end && *p == ':' ? skip_space(p + 1, end) : NULL;
}

bool th_json_raw_next(struct th_json_raw_iter *it)
{
	struct th_str rest = it->rest;
	const char *p, *end, *stop;

	it->key = it->val = it->rest = (struct th_str){ NULL, 0 };
	if (!rest.ptr)
		return false;
	end = rest.ptr + rest.len;
	p = skip_space(rest.ptr, end);
	if (it->started) {
		if (p == end || *p != ',')
			return false;
		p = skip_space(p + 1, end);
	}
	it->started = true;
	if (it->object)
		p = raw_key(it, p, end);
	stop = p ? skip_value(p, end) : NULL;
	if (!stop) {
		it->key = (struct th_str){ NULL, 0 };
		return false;
	}
	it->val = th_str_n(p, (size_t)(stop - p));
	it->rest = th_str_n(stop, (size_t)(end - stop));
	return true;
}

struct th_json_walk th_json_walk(struct th_str text)
{
	if (!text.ptr)
		text = TH_STR("");
	return (struct th_json_walk){ text.ptr, text.ptr + text.len, false, false };
}

bool th_json_enter(struct th_json_walk *w, char open)
{
	w->at = skip_space(w->at, w->end);
	if (w->failed || w->at == w->end || *w->at != open)
		return false;
	w->at++;
	w->fresh = true;
	return true;
}

static bool walk_fail(struct th_json_walk *w)
{
	w->failed = true;
	w->at = w->end;
	return false;
}

/* Behind the comma, or `close`, or where the first value is. */
static bool walk_on(struct th_json_walk *w, char close)
{
	w->at = skip_space(w->at, w->end);
	if (w->at == w->end)
		return walk_fail(w);
	if (*w->at == close) {
		w->at++;
		w->fresh = false;
		return false;
	}
	if (!w->fresh && *w->at++ != ',')
		return walk_fail(w);
	w->fresh = false;
	w->at = skip_space(w->at, w->end);
	return true;
}

bool th_json_member(struct th_json_walk *w, struct th_str *ret_key)
{
	const char *close = NULL, *p;

	*ret_key = (struct th_str){ NULL, 0 };
	if (!walk_on(w, '}'))
		return false;
	p = w->at;
	if (p < w->end && *p == '"')
		close = skip_string(p + 1, w->end);
	if (!close)
		return walk_fail(w);
	w->at = skip_space(close, w->end);
	if (w->at == w->end || *w->at != ':')
		return walk_fail(w);
	w->at = skip_space(w->at + 1, w->end);
	*ret_key = th_str_n(p + 1, (size_t)(close - 1 - (p + 1)));
	return true;
}

bool th_json_element(struct th_json_walk *w)
{
	return walk_on(w, ']');
}

struct th_str th_json_skip(struct th_json_walk *w)
{
	const char *p = w->at, *stop = skip_value(p, w->end);

	if (!stop) {
		walk_fail(w);
		return (struct th_str){ NULL, 0 };
	}
	w->at = stop;
	return th_str_n(p, (size_t)(stop - p));
}

bool th_json_walked(const struct th_json_walk *w)
{
	return !w->failed && skip_space(w->at, w->end) == w->end;
}

static int hex4(const char *p, const char *end)
{
	int v = 0;

	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = p[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			v = v << 4 | ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* The escape behind a backslash at *p: moves *p behind it and gives its character, -1 for none. */
static int32_t unescape_one(const char **p, const char *end)
{
	static const char names[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
	int high, low;

	if (*p == end)
		return -1;
	char c = *(*p)++;

	if (c != 'u') {
		for (const char *n = names; *n; n += 2)
			if (*n == c)
				return n[1];
		return -1;
	}
	high = hex4(*p, end);
	if (high < 0 || (high >= 0xdc00 && high <= 0xdfff))
		return -1;
	*p += 4;
	if (high < 0xd800 || high > 0xdbff)
		return high;
	if (end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u')
		return -1;
	low = hex4(*p + 2, end);
	if (low < 0xdc00 || low > 0xdfff)
		return -1;
	*p += 6;
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* The inside of a raw string. */
static bool unescape(struct th_str inside, struct th_buf *out)
{
	const char *p = inside.ptr, *end = p + inside.len;

	while (p < end) {
		const char *stop = skip_to(p, end, STOP_ESCAPE);
		int32_t cp;

		th_buf_add_mem(out, p, (size_t)(stop - p));
		if (stop == end)
			break;
		if (*stop != '\\')
			return false; /* a bare quote or control character */
		p = stop + 1;
		cp = unescape_one(&p, end);
		if (cp < 0)
			return false;
		th_utf8_add(out, (uint32_t)cp);
	}
	return true;
}

bool th_json_unescape(struct th_str raw, struct th_buf *out)
{
	size_t len = out->len;

	if (raw.len < 2 || raw.ptr[0] != '"' || raw.ptr[raw.len - 1] != '"')
		return false;
	raw = th_str_sub(raw, 1, raw.len - 2);
	if (th_utf8_valid(raw) == raw.len && unescape(raw, out))
		return true;
	th_buf_truncate(out, len);
	return false;
}

/* Whether a raw key means `key`, escaped or not, as the parser would have it. */
static bool raw_key_is(struct th_str raw, struct th_str key)
{
	/* An escape is longer than what it means. */
	if (raw.len < key.len || (raw.len == key.len && memcmp(raw.ptr, key.ptr, key.len) != 0))
		return false;
	if (th_str_find_char(raw, '\\') < 0)
		return raw.len == key.len;

	struct th_buf plain = TH_BUF_INIT(raw.len);
	bool same = unescape(raw, &plain) && th_str_eq(th_buf_str(&plain), key);

	th_buf_deinit(&plain);
	return same;
}

struct th_str th_json_raw_getn(struct th_str object, struct th_str key)
{
	struct th_json_raw_iter it = th_json_raw_iter(object);

	while (it.object && th_json_raw_next(&it))
		if (raw_key_is(it.key, key))
			return it.val;
	return (struct th_str){ NULL, 0 };
}

void th_json_raw_gets(struct th_str object, size_t count, const char *const keys[],
		      struct th_str values[])
{
	struct th_json_raw_iter it = th_json_raw_iter(object);
	size_t left = count;

	for (size_t i = 0; i < count; i++)
		values[i] = (struct th_str){ NULL, 0 };
	while (left > 0 && it.object && th_json_raw_next(&it))
		for (size_t i = 0; i < count; i++)
			if (!values[i].ptr && raw_key_is(it.key, th_str_of(keys[i]))) {
				values[i] = it.val;
				left--;
				break;
			}
}

/* ---- a number for str.h, by the reader that no locale changes ---- */

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
