/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_value.c - a value by itself: its type, its range, its length.
 */
#include "schema/schema_internal.h"

/* ---- types ---- */

static const char *const type_words[][2] = {
	{ "string", "a string" }, { "integer", "an integer" },
	{ "number", "a number" }, { "boolean", "true or false" },
	{ "array", "a list" },    { "object", "an object" },
	{ "null", "null" },
};

bool th_schema_is_type(struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(type_words); i++)
		if (th_str_is(name, type_words[i][0]))
			return true;
	return false;
}

/* The nearest whole number; what is too large to have a fraction is one. */
static double nearest(double d)
{
	return d > 0x1p52 || d < -0x1p52 ? d : (double)(int64_t)(d < 0 ? d - 0.5 : d + 0.5);
}

static bool is_whole(const struct th_json *v)
{
	double d = th_json_num(v, 0);

	return th_json_type(v) == TH_JSON_INT || d == nearest(d);
}

static bool is_type(struct th_str type, const struct th_json *v)
{
	switch (th_json_type(v)) {
	case TH_JSON_STR:
		return th_str_is(type, "string");
	case TH_JSON_INT:
	case TH_JSON_REAL:
		return th_str_is(type, "number") || (th_str_is(type, "integer") && is_whole(v));
	case TH_JSON_BOOL:
		return th_str_is(type, "boolean");
	case TH_JSON_ARRAY:
		return th_str_is(type, "array");
	case TH_JSON_OBJECT:
		return th_str_is(type, "object");
	case TH_JSON_NULL:
		return th_str_is(type, "null");
	case TH_JSON_ABSENT:
		return false;
	}
	return false;
}

bool th_schema_fits_type(const struct th_json *types, const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(types);

	if (th_json_type(types) == TH_JSON_STR)
		return is_type(th_json_str(types), v);
	while (th_json_next(&it))
		if (is_type(th_json_str(it.val), v))
			return true;
	return !th_json_is_array(types); /* what is neither says nothing */
}

static void add_type(struct th_buf *out, struct th_str name)
{
	for (size_t i = 0; i < TH_COUNT(type_words); i++)
		if (th_str_is(name, type_words[i][0])) {
			th_buf_add_cstr(out, type_words[i][1]);
			return;
		}
	th_buf_add(out, th_utf8_cut(name, TH_SCHEMA_SHOWN_MAX));
}

bool th_schema_check_type(struct th_schema_run *c, const struct th_json *types,
			  const struct th_json *v, const struct th_schema_path *at)
{
	struct th_json_iter it = th_json_iter(types);
	struct th_buf *out;

	if (!th_schema_spend(c, th_json_count(types)) || th_schema_fits_type(types, v))
		return true;
	out = th_schema_fault(c, at);
	if (!out)
		return false;
	th_buf_add_cstr(out, "must be ");
	if (!th_json_is_array(types))
		add_type(out, th_json_str(types));
	while (th_json_next(&it) && it.index <= TH_COUNT(type_words)) {
		if (it.index)
			th_buf_add_cstr(out, " or ");
		add_type(out, th_json_str(it.val));
	}
	th_buf_add_cstr(out, ", not ");
	th_schema_add_value(out, v);
	return false;
}

/* ---- scalars ---- */

bool th_schema_check_enum(struct th_schema_run *c, const struct th_json *list,
			  const struct th_json *v, const struct th_schema_path *at)
{
	struct th_json_iter it = th_json_iter(list);
	struct th_buf *out;

	while (th_json_next(&it))
		if (!th_schema_spend(c, 1 + th_json_count(it.val)) || th_json_equal(it.val, v))
			return true;
	out = th_schema_fault(c, at);
	if (out) {
		th_buf_add_cstr(out, "must be ");
		th_schema_add_values(out, list);
		th_buf_add_cstr(out, ", not ");
		th_schema_add_value(out, v);
	}
	return false;
}

/* "at least 3", compared. */
struct bound {
	const char *key, *words;
	bool (*holds)(double value, double limit);
};

static bool at_least(double value, double limit)
{
	return value >= limit;
}

static bool at_most(double value, double limit)
{
	return value <= limit;
}

static bool above(double value, double limit)
{
	return value > limit;
}

static bool below(double value, double limit)
{
	return value < limit;
}

static bool multiple(double value, double limit)
{
	double quotient = value / limit;
	double off = quotient - nearest(quotient), size = quotient < 0 ? -quotient : quotient;

	/* 0.3 is a multiple of 0.1, whatever its last bit. */
	return !(limit > 0) || (off < 0 ? -off : off) <= 1e-9 * TH_MAX(1, size);
}

static const struct bound number_bounds[] = {
	{ "minimum", "at least", at_least },         { "maximum", "at most", at_most },
	{ "exclusiveMinimum", "more than", above },  { "exclusiveMaximum", "less than", below },
	{ "multipleOf", "a multiple of", multiple },
};
static const struct bound count_bounds[TH_SCHEMA_COUNT_COUNT][2] = {
	[TH_SCHEMA_LENGTH] = { { "minLength", "at least", at_least },
			       { "maxLength", "at most", at_most } },
	[TH_SCHEMA_ITEMS] = { { "minItems", "at least", at_least },
			      { "maxItems", "at most", at_most } },
	[TH_SCHEMA_MEMBERS] = { { "minProperties", "at least", at_least },
				{ "maxProperties", "at most", at_most } },
};
static const char *const counted[TH_SCHEMA_COUNT_COUNT] = {
	[TH_SCHEMA_LENGTH] = "characters",
	[TH_SCHEMA_ITEMS] = "elements",
	[TH_SCHEMA_MEMBERS] = "members",
};

static bool is_number(const struct th_json *v)
{
	return th_json_type(v) == TH_JSON_INT || th_json_type(v) == TH_JSON_REAL;
}

bool th_schema_check_number(struct th_schema_run *c, const struct th_json *schema,
			    const struct th_json *v, const struct th_schema_path *at)
{
	double value = th_json_num(v, 0);
	bool fits = true;

	for (size_t i = 0; i < TH_COUNT(number_bounds); i++) {
		const struct th_json *limit = th_json_get(schema, number_bounds[i].key);
		struct th_buf *out;

		if (!is_number(limit) || number_bounds[i].holds(value, th_json_num(limit, 0)))
			continue;
		fits = false;
		out = th_schema_fault(c, at);
		if (!out)
			continue;
		th_buf_printf(out, "must be %s ", number_bounds[i].words);
		th_schema_add_value(out, limit);
		th_buf_add_cstr(out, ", not ");
		th_schema_add_value(out, v);
	}
	return fits;
}

bool th_schema_check_count(struct th_schema_run *c, const struct th_json *schema,
			   enum th_schema_count what, size_t count, const struct th_schema_path *at)
{
	bool fits = true;

	for (size_t i = 0; i < 2; i++) {
		const struct bound *b = &count_bounds[what][i];
		const struct th_json *limit = th_json_get(schema, b->key);

		if (is_number(limit) && !b->holds((double)count, th_json_num(limit, 0)))
			fits = th_schema_fail_count(c, at, b->words, th_json_num(limit, 0),
						    counted[what], count);
	}
	return fits;
}
