/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - a value checked against a schema.  One pass down both; what anyOf
 * and its kin try is checked quietly, and of alternatives that all fail the one
 * that came furthest is told.
 */
#include "core/schema.h"

#include "base/limits.h"
#include "base/text.h"

/* Where in the value: from the innermost step out. */
struct path {
	const struct path *up;
	struct th_str key; /* of an object's member; .ptr NULL: an element */
	size_t index;
};

struct check {
	const struct th_json *root; /* of the schema */
	struct th_buf *faults;      /* NULL: only whether it fits */
	size_t fault_count, fault_max;
	size_t fault_depth; /* of the first fault's path */
	size_t steps, depth;
	enum th_code code; /* what ended it early: the schema is broken, or a limit */
	struct th_err *err;
};

static bool check(struct check *c, const struct th_json *schema, const struct th_json *v,
		  const struct path *at);

/* ---- limits ---- */

/* False: it is over. */
static bool spend(struct check *c, size_t steps)
{
	c->steps += TH_MIN(steps, (size_t)TH_SCHEMA_STEPS_MAX + 1);
	if (!c->code && c->steps > TH_SCHEMA_STEPS_MAX)
		c->code =
		    th_fail(c->err, TH_ELIMIT,
			    "checking the value takes more than %d steps: a smaller value, or "
			    "a simpler schema",
			    TH_SCHEMA_STEPS_MAX);
	return !c->code;
}

/* A member by name costs as many steps as there are members. */
static const struct th_json *member(struct check *c, const struct th_json *object,
				    struct th_str key)
{
	return spend(c, th_json_count(object)) ? th_json_getn(object, key) : NULL;
}

/* ---- faults ---- */

static size_t path_depth(const struct path *at)
{
	size_t depth = 0;

	for (; at; at = at->up)
		depth++;
	return depth;
}

/* "items[2].price: "; nothing for the value itself. */
static void add_path(struct th_buf *out, const struct path *at, bool last)
{
	if (!at)
		return;
	add_path(out, at->up, false);
	if (!at->key.ptr)
		th_buf_printf(out, "[%zu]", at->index);
	else
		th_buf_printf(out, "%s%.*s", at->up ? "." : "",
			      TH_FMT(th_utf8_cut(at->key, TH_SCHEMA_SHOWN_MAX)));
	if (last)
		th_buf_add_cstr(out, ": ");
}

/* A value in a sentence: scalars as JSON, cut; containers by name. */
static void add_value(struct th_buf *out, const struct th_json *v)
{
	struct th_buf text = TH_BUF_INIT(TH_SCHEMA_SHOWN_MAX * 8);
	struct th_str s = th_json_str(v);

	if (s.ptr) {
		struct th_str cut = th_utf8_cut(s, TH_SCHEMA_SHOWN_MAX);
		struct th_jw w = th_jw(&text);

		th_jw_str(&w, cut);
		th_buf_add(out, th_buf_str(&text));
		if (cut.len < s.len)
			th_buf_printf(out, "… (%zu bytes)", s.len);
	} else if (th_json_is_object(v) || th_json_is_array(v)) {
		th_buf_add_cstr(out, th_json_type_name(th_json_type(v)));
	} else {
		th_json_print(v, &text);
		th_buf_add(out, th_buf_str(&text));
	}
	th_buf_deinit(&text);
}

/* A list of values, as many as a sentence bears. */
static void add_values(struct th_buf *out, const struct th_json *list)
{
	struct th_json_iter it = th_json_iter(list);
	size_t from = out->len;

	while (th_json_next(&it)) {
		if (out->len - from > (size_t)TH_SCHEMA_SHOWN_MAX * 3) {
			th_buf_printf(out, " or %zu others", th_json_count(list) - it.index);
			return;
		}
		if (it.index)
			th_buf_add_cstr(out, it.index + 1 == th_json_count(list) ? " or " : ", ");
		add_value(out, it.val);
	}
}

/* Begins the line of a fault; NULL: nobody wants it. */
static struct th_buf *fault(struct check *c, const struct path *at)
{
	if (c->fault_count == 0)
		c->fault_depth = path_depth(at);
	if (c->fault_count++ >= c->fault_max || !c->faults)
		return NULL;
	if (c->faults->len)
		th_buf_add_char(c->faults, '\n');
	add_path(c->faults, at, true);
	return c->faults;
}

/* "must be WHAT, not VALUE"; always false. */
static bool fail_value(struct check *c, const struct path *at, const char *what,
		       const struct th_json *v)
{
	struct th_buf *out = fault(c, at);

	if (out) {
		th_buf_printf(out, "must be %s, not ", what);
		add_value(out, v);
	}
	return false;
}

/* "must have WHAT NUMBER THINGS, not COUNT"; always false. */
static bool fail_count(struct check *c, const struct path *at, const char *what, double limit,
		       const char *things, size_t count)
{
	struct th_buf *out = fault(c, at);

	if (out)
		th_buf_printf(out, "must have %s %.0f %s, not %zu", what, limit, things, count);
	return false;
}

/* ---- alternatives ---- */

/* Whether it fits, and nothing is said; the first fault goes into `first`, when there is one. */
static bool quietly(struct check *c, const struct th_json *schema, const struct th_json *v,
		    const struct path *at, struct th_buf *first, size_t *ret_depth)
{
	struct th_buf *faults = c->faults;
	size_t count = c->fault_count, max = c->fault_max, depth = c->fault_depth;
	bool fits;

	c->faults = first;
	c->fault_count = 0;
	c->fault_max = first ? 1 : 0;
	fits = check(c, schema, v, at);
	if (ret_depth)
		*ret_depth = c->fault_depth;
	c->faults = faults;
	c->fault_count = count;
	c->fault_max = max;
	c->fault_depth = depth;
	return fits;
}

/* Does this alternative speak of values of another kind?  Then its fault says nothing. */
static bool other_type(const struct th_json *schema, const struct th_json *v);

/* How many of the alternatives fit, up to two; the best fault of those that do not in `best`. */
static size_t try_all(struct check *c, const struct th_json *list, const struct th_json *v,
		      const struct path *at, bool until_first, struct th_buf *best)
{
	struct th_json_iter it = th_json_iter(list);
	size_t fits = 0, best_rank = 0;

	while (fits < (until_first ? 1 : 2) && th_json_next(&it)) {
		struct th_buf first TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
		size_t depth = 0;

		if (quietly(c, it.val, v, at, &first, &depth)) {
			fits++;
			continue;
		}
		if (c->code)
			return 0;
		depth = 2 * depth + !other_type(it.val, v) + 1;
		if (depth > best_rank) {
			best_rank = depth;
			th_buf_clear(best);
			th_buf_add(best, th_buf_str(&first));
		}
	}
	return fits;
}

static bool check_any(struct check *c, const struct th_json *list, bool exactly_one,
		      const struct th_json *v, const struct path *at)
{
	struct th_buf best TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	size_t fits = try_all(c, list, v, at, !exactly_one, &best);
	struct th_buf *out;

	if (c->code || fits == 1)
		return true; /* a code ends it all */
	out = fault(c, at);
	if (out && fits)
		th_buf_add_cstr(out, "must fit exactly one of the alternatives, not several");
	else if (out)
		th_buf_printf(out, "fits none of %zu alternatives; the nearest says: %.*s",
			      th_json_count(list), TH_FMT(th_buf_str(&best)));
	return false;
}

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

static bool fits_type(const struct th_json *types, const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(types);

	if (th_json_type(types) == TH_JSON_STR)
		return is_type(th_json_str(types), v);
	while (th_json_next(&it))
		if (is_type(th_json_str(it.val), v))
			return true;
	return !th_json_is_array(types); /* what is neither says nothing */
}

static bool other_type(const struct th_json *schema, const struct th_json *v)
{
	return !fits_type(th_json_get(schema, "type"), v);
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

static bool check_type(struct check *c, const struct th_json *types, const struct th_json *v,
		       const struct path *at)
{
	struct th_json_iter it = th_json_iter(types);
	struct th_buf *out;

	if (!spend(c, th_json_count(types)) || fits_type(types, v))
		return true;
	out = fault(c, at);
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
	add_value(out, v);
	return false;
}

/* ---- scalars ---- */

static bool check_enum(struct check *c, const struct th_json *list, const struct th_json *v,
		       const struct path *at)
{
	struct th_json_iter it = th_json_iter(list);
	struct th_buf *out;

	while (th_json_next(&it))
		if (!spend(c, 1 + th_json_count(it.val)) || th_json_equal(it.val, v))
			return true;
	out = fault(c, at);
	if (out) {
		th_buf_add_cstr(out, "must be ");
		add_values(out, list);
		th_buf_add_cstr(out, ", not ");
		add_value(out, v);
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
static const struct bound length_bounds[] = { { "minLength", "at least", at_least },
					      { "maxLength", "at most", at_most } };
static const struct bound item_bounds[] = { { "minItems", "at least", at_least },
					    { "maxItems", "at most", at_most } };
static const struct bound member_bounds[] = { { "minProperties", "at least", at_least },
					      { "maxProperties", "at most", at_most } };

static bool is_number(const struct th_json *v)
{
	return th_json_type(v) == TH_JSON_INT || th_json_type(v) == TH_JSON_REAL;
}

static bool check_number(struct check *c, const struct th_json *schema, const struct th_json *v,
			 const struct path *at)
{
	double value = th_json_num(v, 0);
	bool fits = true;

	for (size_t i = 0; i < TH_COUNT(number_bounds); i++) {
		const struct th_json *limit = th_json_get(schema, number_bounds[i].key);
		struct th_buf *out;

		if (!is_number(limit) || number_bounds[i].holds(value, th_json_num(limit, 0)))
			continue;
		fits = false;
		out = fault(c, at);
		if (!out)
			continue;
		th_buf_printf(out, "must be %s ", number_bounds[i].words);
		add_value(out, limit);
		th_buf_add_cstr(out, ", not ");
		add_value(out, v);
	}
	return fits;
}

static bool check_count(struct check *c, const struct th_json *schema, const struct bound *bounds,
			size_t count, const char *things, const struct path *at)
{
	bool fits = true;

	for (size_t i = 0; i < 2; i++) {
		const struct th_json *limit = th_json_get(schema, bounds[i].key);

		if (is_number(limit) && !bounds[i].holds((double)count, th_json_num(limit, 0)))
			fits = fail_count(c, at, bounds[i].words, th_json_num(limit, 0), things,
					  count);
	}
	return fits;
}

/* ---- containers ---- */

static bool check_unique(struct check *c, const struct th_json *v, const struct path *at)
{
	struct th_json_iter a = th_json_iter(v), b;

	while (th_json_next(&a))
		for (b = a; th_json_next(&b);) {
			struct th_buf *out;

			if (!spend(c, 1 + th_json_count(b.val)))
				return true;
			if (!th_json_equal(a.val, b.val))
				continue;
			out = fault(c, at);
			if (out)
				th_buf_printf(out, "elements %zu and %zu are the same", a.index,
					      b.index);
			return false;
		}
	return true;
}

static bool check_array(struct check *c, const struct th_json *schema, const struct th_json *v,
			const struct path *at)
{
	const struct th_json *items = th_json_get(schema, "items");
	struct th_json_iter first = th_json_iter(th_json_get(schema, "prefixItems"));
	struct th_json_iter it = th_json_iter(v);
	bool fits = check_count(c, schema, item_bounds, th_json_count(v), "elements", at);

	if (th_json_bool(th_json_get(schema, "uniqueItems"), false))
		fits &= check_unique(c, v, at);
	while (th_json_next(&it) && !c->code) {
		struct path here = { at, { NULL, 0 }, it.index };
		const struct th_json *own = first.parent && th_json_next(&first) ? first.val : NULL;

		if (!own)
			first.parent = NULL;
		if (own || items)
			fits &= check(c, own ? own : items, it.val, &here);
	}
	return fits;
}

static bool check_required(struct check *c, const struct th_json *schema, const struct th_json *v,
			   const struct path *at)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "required"));
	bool fits = true;

	while (th_json_next(&it)) {
		struct th_str name = th_json_str(it.val);
		struct th_buf *out;

		if (!name.ptr || member(c, v, name))
			continue;
		if (c->code)
			return true;
		fits = false;
		out = fault(c, at);
		if (out)
			th_buf_printf(out, "\"%.*s\" is missing",
				      TH_FMT(th_utf8_cut(name, TH_SCHEMA_SHOWN_MAX)));
	}
	return fits;
}

static void add_names(struct th_buf *out, const struct th_json *properties)
{
	struct th_json_iter it = th_json_iter(properties);
	size_t from = out->len;

	if (!th_json_count(properties)) {
		th_buf_add_cstr(out, "no members are");
		return;
	}
	while (th_json_next(&it) && out->len - from < (size_t)TH_SCHEMA_SHOWN_MAX * 3)
		th_buf_printf(out, "%s\"%.*s\"", it.index ? ", " : "",
			      TH_FMT(th_utf8_cut(it.key, TH_SCHEMA_SHOWN_MAX)));
	th_buf_add_cstr(out, th_json_count(properties) == 1 ? " is" : " are");
}

static bool check_object(struct check *c, const struct th_json *schema, const struct th_json *v,
			 const struct path *at)
{
	const struct th_json *properties = th_json_get(schema, "properties");
	const struct th_json *more = th_json_get(schema, "additionalProperties");
	struct th_json_iter it = th_json_iter(v);
	bool fits = check_required(c, schema, v, at);

	fits &= check_count(c, schema, member_bounds, th_json_count(v), "members", at);
	while (th_json_next(&it) && !c->code) {
		struct path here = { at, it.key, 0 };
		const struct th_json *own = member(c, properties, it.key);
		struct th_buf *out;

		if (own) {
			fits &= check(c, own, it.val, &here);
		} else if (th_json_type(more) == TH_JSON_BOOL && !th_json_bool(more, true)) {
			fits = false;
			out = fault(c, at);
			if (out) {
				th_buf_printf(out, "\"%.*s\" is not known here; ",
					      TH_FMT(th_utf8_cut(it.key, TH_SCHEMA_SHOWN_MAX)));
				add_names(out, properties);
			}
		} else if (th_json_is_object(more)) {
			fits &= check(c, more, it.val, &here);
		}
	}
	return fits;
}

/* ---- references ---- */

static bool broken(struct check *c, const char *what, struct th_str shown)
{
	if (!c->code)
		c->code = th_fail(c->err, TH_EUSAGE, "the schema's $ref %.*s %s",
				  TH_FMT(th_utf8_cut(shown, 200)), what);
	return false;
}

/* One step of a JSON pointer; NULL: there is nothing. */
static const struct th_json *pointer_step(struct check *c, const struct th_json *v,
					  struct th_str part)
{
	struct th_buf key TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SCHEMA_SIZE_MAX);
	int64_t index;

	for (size_t i = 0; i < part.len; i++) {
		char next = i + 1 < part.len ? part.ptr[i + 1] : 0;

		if (part.ptr[i] == '~' && (next == '0' || next == '1')) {
			th_buf_add_char(&key, next == '1' ? '/' : '~');
			i++;
		} else {
			th_buf_add_char(&key, part.ptr[i]);
		}
	}
	if (th_json_is_array(v))
		return th_str_i64(part, &index) && index >= 0 && spend(c, th_json_count(v))
			   ? th_json_at(v, (size_t)index)
			   : NULL;
	return member(c, v, th_buf_str(&key));
}

static bool check_ref(struct check *c, struct th_str ref, const struct th_json *v,
		      const struct path *at)
{
	const struct th_json *target = c->root;
	struct th_str rest = th_str_sub(ref, 2, SIZE_MAX);
	bool more = !th_str_is(ref, "#");

	if (more && !th_str_starts(ref, TH_STR("#/")))
		return broken(c, "points out of the document", ref);
	while (more && target) {
		more = th_str_find_char(rest, '/') >= 0;
		target = pointer_step(c, target, th_str_split(&rest, '/'));
	}
	return target ? check(c, target, v, at) : broken(c, "points to nothing", ref);
}

/* ---- a schema ---- */

static bool check_conditions(struct check *c, const struct th_json *schema, const struct th_json *v,
			     const struct path *at)
{
	const struct th_json *not = th_json_get(schema, "not"), *when = th_json_get(schema, "if");
	bool fits = true;

	if (not &&quietly(c, not, v, at, NULL, NULL) && !c->code)
		fits = fail_value(c, at, "something else", v);
	if (when && !c->code) {
		const struct th_json *then =
		    th_json_get(schema, quietly(c, when, v, at, NULL, NULL) ? "then" : "else");

		if (then && !c->code)
			fits &= check(c, then, v, at);
	}
	return fits;
}

static bool check_combined(struct check *c, const struct th_json *schema, const struct th_json *v,
			   const struct path *at)
{
	const struct th_json *any = th_json_get(schema, "anyOf");
	const struct th_json *one = th_json_get(schema, "oneOf");
	struct th_json_iter all = th_json_iter(th_json_get(schema, "allOf"));
	bool fits = true;

	while (th_json_next(&all) && !c->code)
		fits &= check(c, all.val, v, at);
	if (th_json_count(any) && !c->code)
		fits &= check_any(c, any, false, v, at);
	if (th_json_count(one) && !c->code)
		fits &= check_any(c, one, true, v, at);
	return fits && check_conditions(c, schema, v, at);
}

static bool check_own(struct check *c, const struct th_json *schema, const struct th_json *v,
		      const struct path *at)
{
	const struct th_json *types = th_json_get(schema, "type"), *value;
	bool fits = true;

	if (types && !check_type(c, types, v, at))
		return false;
	value = th_json_get(schema, "enum");
	if (th_json_is_array(value) && !check_enum(c, value, v, at))
		return false;
	value = th_json_get(schema, "const");
	if (value && !th_json_equal(value, v)) {
		struct th_buf *out = fault(c, at);

		if (out) {
			th_buf_add_cstr(out, "must be ");
			add_value(out, value);
			th_buf_add_cstr(out, ", not ");
			add_value(out, v);
		}
		return false;
	}
	switch (th_json_type(v)) {
	case TH_JSON_INT:
	case TH_JSON_REAL:
		fits = check_number(c, schema, v, at);
		break;
	case TH_JSON_STR:
		fits = check_count(c, schema, length_bounds, th_utf8_count(th_json_str(v)),
				   "characters", at);
		break;
	case TH_JSON_ARRAY:
		fits = check_array(c, schema, v, at);
		break;
	case TH_JSON_OBJECT:
		fits = check_object(c, schema, v, at);
		break;
	case TH_JSON_ABSENT:
	case TH_JSON_NULL:
	case TH_JSON_BOOL:
		break;
	}
	return fits & check_combined(c, schema, v, at);
}

static bool check(struct check *c, const struct th_json *schema, const struct th_json *v,
		  const struct path *at)
{
	struct th_str ref = th_json_get_str(schema, "$ref");
	bool fits;

	if (!spend(c, 1 + th_json_count(schema)))
		return false;
	if (th_json_type(schema) == TH_JSON_BOOL)
		return th_json_bool(schema, true) || fail_value(c, at, "left out", v);
	if (c->depth >= TH_SCHEMA_CHECK_DEPTH_MAX) {
		c->code = th_fail(c->err, TH_ELIMIT, "the schema is nested too deeply to check");
		return false;
	}
	c->depth++;
	fits = check_own(c, schema, v, at);
	if (ref.ptr && !c->code)
		fits &= check_ref(c, ref, v, at);
	c->depth--;
	return fits;
}

enum th_code th_schema_check(const struct th_json *schema, const struct th_json *value,
			     struct th_buf *faults, struct th_err *err)
{
	struct th_buf lines TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct check c = {
		.root = schema, .faults = &lines, .fault_max = TH_SCHEMA_FAULTS_MAX, .err = err
	};
	bool fits = check(&c, schema, value, NULL);
	struct th_str rest, first;

	if (c.code || fits)
		return c.code;
	if (c.fault_count > c.fault_max)
		th_buf_printf(&lines, "\n… and %zu more", c.fault_count - c.fault_max);
	if (faults)
		th_buf_add(faults, th_buf_str(&lines));
	rest = th_buf_str(&lines);
	first = th_str_split(&rest, '\n');
	return th_fail(err, TH_EPROTO, "%.*s", TH_FMT(first));
}
