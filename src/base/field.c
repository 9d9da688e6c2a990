/* SPDX-License-Identifier: Apache-2.0 */
#include "base/field.h"

#include <stdlib.h>

#include "base/field_internal.h"
#include "base/limits.h"
#include "base/text.h"

#define X(kind, type, text) text,
const char *const th_field_kind_texts[] = { TH_FIELD_KINDS(X) };
#undef X

/* A cell of the struct that a table describes. */
#define CELL(type, base, field) ((type *)(void *)((char *)(base) + (field)->offset))

/* Where in the document we are: a chain on the stack, from the inside out. */
struct at {
	const struct at *up; /* NULL: the root */
	struct th_str name;  /* of a member; .ptr NULL: an element */
	size_t index;
};

struct parser {
	struct th_arena *arena;
	struct th_err *err;
	bool plain; /* raw fields stay empty */
};

static void path_add(const struct at *at, struct th_buf *out)
{
	if (!at->up)
		return;
	path_add(at->up, out);
	if (!at->name.ptr) {
		th_buf_printf(out, "[%zu]", at->index);
		return;
	}
	if (out->len)
		th_buf_add_char(out, '.');
	th_text_line(out, at->name, TH_NAME_NEAR_MAX);
}

TH_PRINTF(4, 5)
static enum th_code fail_at(const struct parser *p, const struct at *at, enum th_code code,
			    const char *fmt, ...)
{
	struct th_buf path = TH_BUF_INIT(TH_FIELD_PATH_MAX), what = TH_BUF_INIT(TH_ERR_MSG_MAX * 4);
	va_list ap;

	path_add(at, &path);
	va_start(ap, fmt);
	th_buf_vprintf(&what, fmt, ap);
	va_end(ap);
	(void)th_fail(p->err, code, "%.*s%s%.*s", TH_FMT(th_buf_str(&path)), path.len ? ": " : "",
		      TH_FMT(th_buf_str(&what)));
	th_buf_deinit(&path);
	th_buf_deinit(&what);
	return code;
}

static enum th_code fail_arena(const struct parser *p, const struct at *at)
{
	return fail_at(p, at, TH_ELIMIT, "takes more than the %zu bytes there are", p->arena->max);
}

static enum th_code fail_type(const struct parser *p, const struct at *at, const char *wanted,
			      const struct th_json *v)
{
	return fail_at(p, at, TH_EUSAGE, "must be %s, not %s", wanted,
		       th_json_type_name(th_json_type(v)));
}

struct th_str th_table_err_path(const struct th_err *err)
{
	struct th_str msg = th_str_of(err->msg);
	ptrdiff_t end = th_str_find(msg, TH_STR(": "));

	return end < 0 ? th_str_sub(msg, 0, 0) : th_str_sub(msg, 0, (size_t)end);
}

/* ---- names ---- */

bool th_strs_has(const struct th_strs *strs, struct th_str s)
{
	for (size_t i = 0; i < strs->count; i++)
		if (th_str_eq(strs->list[i], s))
			return true;
	return false;
}

int th_names_find(const char *const *names, struct th_str name)
{
	for (int i = 0; names[i]; i++)
		if (th_str_is(name, names[i]))
			return i;
	return -1;
}

static char name_fold(char c)
{
	return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Insertions, deletions, replacements and swaps of neighbours that make b of a. */
static size_t name_distance(struct th_str a, struct th_str b)
{
	size_t rows[3][TH_NAME_NEAR_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];

	assert(b.len <= TH_NAME_NEAR_MAX);
	for (size_t j = 0; j <= b.len; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= a.len; i++) {
		now[0] = i;
		for (size_t j = 1; j <= b.len; j++) {
			char x = name_fold(a.ptr[i - 1]), y = name_fold(b.ptr[j - 1]);
			size_t cost = TH_MIN(last[j] + 1, now[j - 1] + 1);

			cost = TH_MIN(cost, last[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == name_fold(b.ptr[j - 2]) &&
			    y == name_fold(a.ptr[i - 2]))
				cost = TH_MIN(cost, before[j - 2] + 1);
			now[j] = cost;
		}
		size_t *spare = before;

		before = last;
		last = now;
		now = spare;
	}
	return last[b.len];
}

const char *th_names_nearest(const char *const *names, struct th_str name)
{
	const char *nearest = NULL;
	size_t best;

	if (!name.len || name.len > TH_NAME_NEAR_MAX)
		return NULL;
	best = 1 + (name.len < 3 ? 0 : name.len < 6 ? 1 : name.len < 10 ? 2 : 3);
	for (; *names; names++) {
		struct th_str other = th_str_of(*names);

		if (other.len > TH_NAME_NEAR_MAX)
			continue;
		size_t distance = name_distance(name, other);

		if (distance < best) {
			best = distance;
			nearest = *names;
		}
	}
	return nearest;
}

static const char *field_nearest(const struct th_table *t, struct th_str name)
{
	const char *names[TH_TABLE_FIELDS_MAX + 1];
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		if (!(t->fields[i].flags & TH_HIDDEN))
			names[count++] = t->fields[i].name;
	names[count] = NULL;
	return th_names_nearest(names, name);
}

/* ---- parse ---- */

static enum th_code parse_object(const struct parser *p, const struct at *at,
				 const struct th_table *t, const struct th_json *v, void *out);

/* A range that flags ask for. */
static enum th_code check_sign(const struct parser *p, const struct at *at, unsigned flags,
			       double v)
{
	if ((flags & TH_POSITIVE) && v <= 0)
		return fail_at(p, at, TH_EUSAGE, "must be above 0");
	if ((flags & TH_NONEG) && v < 0)
		return fail_at(p, at, TH_EUSAGE, "must not be below 0");
	return TH_OK;
}

static enum th_code parse_int(const struct parser *p, const struct at *at, const struct th_field *f,
			      const struct th_json *v, int64_t *ret)
{
	int64_t n = th_json_int(v, 0);

	/* Two answers where one call cannot tell "no" from a number. */
	if (n == 0 && th_json_int(v, 1) == 1) {
		if (th_json_type(v) == TH_JSON_REAL)
			return fail_at(p, at, TH_EUSAGE, "must be an integer, not %.17g",
				       th_json_num(v, 0));
		if (th_json_type(v) == TH_JSON_INT)
			return fail_at(p, at, TH_EUSAGE, "is too large");
		return fail_type(p, at, th_field_kind_texts[f->kind], v);
	}
	*ret = n;
	return check_sign(p, at, f->flags, n < 0 ? -1 : n > 0);
}

static enum th_code parse_str(const struct parser *p, const struct at *at, const struct th_field *f,
			      const struct th_json *v, struct th_str *ret)
{
	*ret = th_json_str(v);
	if (!ret->ptr)
		return fail_type(p, at, th_field_kind_texts[TH_FIELD_str], v);
	if ((f->flags & TH_NONEMPTY) && !ret->len)
		return fail_at(p, at, TH_EUSAGE, "must not be empty");
	return TH_OK;
}

static enum th_code parse_raw(const struct parser *p, const struct at *at, const struct th_json *v,
			      struct th_str *ret)
{
	if (p->plain)
		return TH_OK;
	*ret = th_json_text(v, p->arena);
	return ret->ptr ? TH_OK : fail_arena(p, at);
}

static enum th_code parse_enum(const struct parser *p, const struct at *at,
			       const struct th_field *f, const struct th_json *v, int64_t *ret)
{
	struct th_str name = th_json_str(v), shown;
	struct th_buf text = TH_BUF_INIT(TH_ERR_MSG_MAX);
	const char *near;

	*ret = name.ptr ? th_names_find(f->names, name) : -1;
	if (*ret >= 0)
		return TH_OK;
	for (size_t i = 0; f->names[i]; i++) {
		if (i > 0)
			th_buf_add_cstr(&text, f->names[i + 1] ? ", " : " or ");
		th_buf_add_cstr(&text, f->names[i]);
	}
	if (!name.ptr) {
		(void)fail_type(p, at, text.ptr, v);
		th_buf_deinit(&text);
		return TH_EUSAGE;
	}
	near = th_names_nearest(f->names, name);
	shown = th_utf8_cut(name, TH_NAME_NEAR_MAX);
	(void)fail_at(p, at, TH_EUSAGE, "must be %s, not \"%.*s\"%s%s%s", text.ptr, TH_FMT(shown),
		      near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	th_buf_deinit(&text);
	return TH_EUSAGE;
}

static enum th_code parse_list(const struct parser *p, const struct at *at,
			       const struct th_field *f, const struct th_json *v, void *cell)
{
	struct th_json_iter it = th_json_iter(v);
	struct at element = { .up = at };
	size_t count = th_json_count(v);
	size_t size = f->kind == TH_FIELD_objects ? f->sub->size : sizeof(struct th_str);
	enum th_code code = TH_OK;
	char *list;

	if (!th_json_is_array(v))
		return fail_type(p, at, th_field_kind_texts[f->kind], v);
	if ((f->flags & TH_NONEMPTY) && !count)
		return fail_at(p, at, TH_EUSAGE, "must not be empty");
	list = th_arena_array(p->arena, count, size);
	if (!list)
		return fail_arena(p, at);
	while (code == TH_OK && th_json_next(&it)) {
		char *to = list + it.index * size;

		element.index = it.index;
		if (f->kind == TH_FIELD_objects) {
			code = parse_object(p, &element, f->sub, it.val, to);
		} else {
			struct th_str s = th_json_str(it.val);

			memcpy(to, &s, sizeof(s));
			if (!s.ptr)
				code = fail_type(p, &element, th_field_kind_texts[TH_FIELD_str],
						 it.val);
		}
	}
	if (f->kind == TH_FIELD_objects)
		*(struct th_objects *)cell = (struct th_objects){ list, count };
	else
		*(struct th_strs *)cell = (struct th_strs){ (struct th_str *)(void *)list, count };
	return code;
}

static enum th_code parse_ints(const struct parser *p, const struct at *at,
			       const struct th_field *f, const struct th_json *v,
			       struct th_ints *ret)
{
	static const struct th_field element_field = { .kind = TH_FIELD_int };
	struct th_json_iter it = th_json_iter(v);
	struct at element = { .up = at };
	enum th_code code = TH_OK;

	if (!th_json_is_array(v))
		return fail_type(p, at, th_field_kind_texts[f->kind], v);
	if ((f->flags & TH_NONEMPTY) && !th_json_count(v))
		return fail_at(p, at, TH_EUSAGE, "must not be empty");
	ret->list = th_arena_array(p->arena, th_json_count(v), sizeof(*ret->list));
	if (!ret->list)
		return fail_arena(p, at);
	while (code == TH_OK && th_json_next(&it)) {
		element.index = it.index;
		code = parse_int(p, &element, &element_field, it.val, &ret->list[it.index]);
	}
	ret->count = th_json_count(v);
	return code;
}

static enum th_code parse_sub(const struct parser *p, const struct at *at, const struct th_field *f,
			      const struct th_json *v, void **ret)
{
	*ret = th_arena_alloc(p->arena, f->sub->size);
	if (!*ret)
		return fail_arena(p, at);
	return parse_object(p, at, f->sub, v, *ret);
}

static enum th_code parse_field(const struct parser *p, const struct at *at,
				const struct th_field *f, const struct th_json *v, void *out)
{
	enum th_json_type type = th_json_type(v);

	switch (f->kind) {
	case TH_FIELD_str:
		return parse_str(p, at, f, v, CELL(struct th_str, out, f));
	case TH_FIELD_int:
		return parse_int(p, at, f, v, CELL(int64_t, out, f));
	case TH_FIELD_num:
		if (type != TH_JSON_INT && type != TH_JSON_REAL)
			return fail_type(p, at, th_field_kind_texts[f->kind], v);
		*CELL(double, out, f) = th_json_num(v, 0);
		return check_sign(p, at, f->flags, th_json_num(v, 0));
	case TH_FIELD_bool:
		if (type != TH_JSON_BOOL)
			return fail_type(p, at, th_field_kind_texts[f->kind], v);
		*CELL(bool, out, f) = th_json_bool(v, false);
		return TH_OK;
	case TH_FIELD_raw:
		return parse_raw(p, at, v, CELL(struct th_str, out, f));
	case TH_FIELD_strs:
	case TH_FIELD_objects:
		return parse_list(p, at, f, v, CELL(void, out, f));
	case TH_FIELD_ints:
		return parse_ints(p, at, f, v, CELL(struct th_ints, out, f));
	case TH_FIELD_object:
		return parse_sub(p, at, f, v, CELL(void *, out, f));
	case TH_FIELD_enum:
		return parse_enum(p, at, f, v, CELL(int64_t, out, f));
	case TH_FIELD_KIND_COUNT:
		break;
	}
	abort(); /* no field kind */
}

static void set_default(const struct th_field *f, void *out)
{
	if (f->kind == TH_FIELD_enum)
		*CELL(int64_t, out, f) = f->has_default ? f->default_int : -1;
	if (!f->has_default)
		return;
	if (f->kind == TH_FIELD_int)
		*CELL(int64_t, out, f) = f->default_int;
	else if (f->kind == TH_FIELD_num)
		*CELL(double, out, f) = (double)f->default_int;
	else if (f->kind == TH_FIELD_bool)
		*CELL(bool, out, f) = f->default_int != 0;
}

static bool field_is(const struct th_field *f, struct th_str name)
{
	return name.len && f->name[0] == name.ptr[0] && th_str_is(name, f->name);
}

/* Index of the field `name`, or t->count.  Members tend to come in the table's order: `hint`. */
static size_t field_find(const struct th_table *t, struct th_str name, size_t hint)
{
	for (size_t i = hint; i < t->count; i++)
		if (field_is(&t->fields[i], name))
			return i;
	for (size_t i = 0; i < hint; i++)
		if (field_is(&t->fields[i], name))
			return i;
	return t->count;
}

static enum th_code fail_unknown(const struct parser *p, const struct at *at,
				 const struct th_table *t, struct th_str name)
{
	const char *near = field_nearest(t, name);

	return near ? fail_at(p, at, TH_EUSAGE, "is not known; did you mean \"%s\"?", near)
		    : fail_at(p, at, TH_EUSAGE, "is not known");
}

static enum th_code parse_object(const struct parser *p, const struct at *at,
				 const struct th_table *t, const struct th_json *v, void *out)
{
	bool seen[TH_TABLE_FIELDS_MAX] = { false };
	struct th_json_iter it = th_json_iter(v);
	size_t hint = 0;

	assert(t->count <= TH_TABLE_FIELDS_MAX);
	if (!th_json_is_object(v))
		return fail_type(p, at, th_field_kind_texts[TH_FIELD_object], v);
	memset(out, 0, t->size);
	for (size_t i = 0; i < t->count; i++)
		set_default(&t->fields[i], out);
	while (th_json_next(&it)) {
		struct at member = { .up = at, .name = it.key };
		size_t i = field_find(t, it.key, hint);
		enum th_code code;

		if (i == t->count) {
			if (!t->open)
				return fail_unknown(p, &member, t, it.key);
			continue;
		}
		hint = i + 1;
		if (seen[i])
			continue; /* of double keys the first counts */
		seen[i] = true;
		/* null is "not given", but for raw, whose value it may be */
		if (th_json_is_null(it.val) &&
		    (t->fields[i].kind != TH_FIELD_raw || (t->fields[i].flags & TH_REQ))) {
			if (t->fields[i].flags & TH_REQ)
				return fail_type(p, &member, th_field_kind_texts[t->fields[i].kind],
						 it.val);
			continue;
		}
		code = parse_field(p, &member, &t->fields[i], it.val, out);
		if (code != TH_OK)
			return code;
	}
	for (size_t i = 0; i < t->count; i++)
		if ((t->fields[i].flags & TH_REQ) && !seen[i]) {
			struct at member = { .up = at, .name = th_str_of(t->fields[i].name) };

			return fail_at(p, &member, TH_EUSAGE, "is missing");
		}
	return TH_OK;
}

enum th_code th_table_parse(const struct th_table *t, const struct th_json *v, struct th_arena *a,
			    void *out, struct th_err *err)
{
	struct parser p = { a, err, false };
	struct at root = { 0 };

	memset(out, 0, t->size);
	return parse_object(&p, &root, t, v, out);
}

enum th_code th_table_parse_plain(const struct th_table *t, const struct th_json *v,
				  struct th_arena *a, void *out, struct th_err *err)
{
	struct parser p = { a, err, true };
	struct at root = { 0 };

	memset(out, 0, t->size);
	return parse_object(&p, &root, t, v, out);
}
