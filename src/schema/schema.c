/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.c - a value checked against a schema.  One pass down both; what anyOf
 * and its kin try is checked quietly, and of alternatives that all fail the one
 * that came furthest is told.
 */
#include "schema/schema_internal.h"

static bool check(struct th_schema_run *c, const struct th_json *schema, const struct th_json *v,
		  const struct th_schema_path *at);

/* ---- alternatives ---- */

/* Whether it fits, and nothing is said; the first fault goes into `first`, when there is one. */
static bool quietly(struct th_schema_run *c, const struct th_json *schema, const struct th_json *v,
		    const struct th_schema_path *at, struct th_buf *first, size_t *ret_depth)
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
static bool other_type(const struct th_json *schema, const struct th_json *v)
{
	return !th_schema_fits_type(th_json_get(schema, "type"), v);
}

/* How many of the alternatives fit, up to two; the best fault of those that do not in `best`. */
static size_t try_all(struct th_schema_run *c, const struct th_json *list, const struct th_json *v,
		      const struct th_schema_path *at, bool until_first, struct th_buf *best)
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

static bool check_any(struct th_schema_run *c, const struct th_json *list, bool exactly_one,
		      const struct th_json *v, const struct th_schema_path *at)
{
	struct th_buf best TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	size_t fits = try_all(c, list, v, at, !exactly_one, &best);
	struct th_buf *out;

	if (c->code || fits == 1)
		return true; /* a code ends it all */
	out = th_schema_fault(c, at);
	if (out && fits)
		th_buf_add_cstr(out, "must fit exactly one of the alternatives, not several");
	else if (out)
		th_buf_printf(out, "fits none of %zu alternatives; the nearest says: %.*s",
			      th_json_count(list), TH_FMT(th_buf_str(&best)));
	return false;
}

/* ---- containers ---- */

static bool check_unique(struct th_schema_run *c, const struct th_json *v,
			 const struct th_schema_path *at)
{
	struct th_json_iter a = th_json_iter(v), b;

	while (th_json_next(&a))
		for (b = a; th_json_next(&b);) {
			struct th_buf *out;

			if (!th_schema_spend(c, 1 + th_json_count(b.val)))
				return true;
			if (!th_json_equal(a.val, b.val))
				continue;
			out = th_schema_fault(c, at);
			if (out)
				th_buf_printf(out, "elements %zu and %zu are the same", a.index,
					      b.index);
			return false;
		}
	return true;
}

static bool check_array(struct th_schema_run *c, const struct th_json *schema,
			const struct th_json *v, const struct th_schema_path *at)
{
	const struct th_json *items = th_json_get(schema, "items");
	struct th_json_iter first = th_json_iter(th_json_get(schema, "prefixItems"));
	struct th_json_iter it = th_json_iter(v);
	bool fits = th_schema_check_count(c, schema, TH_SCHEMA_ITEMS, th_json_count(v), at);

	if (th_json_bool(th_json_get(schema, "uniqueItems"), false))
		fits &= check_unique(c, v, at);
	while (th_json_next(&it) && !c->code) {
		struct th_schema_path here = { at, { NULL, 0 }, it.index };
		const struct th_json *own = first.parent && th_json_next(&first) ? first.val : NULL;

		if (!own)
			first.parent = NULL;
		if (own || items)
			fits &= check(c, own ? own : items, it.val, &here);
	}
	return fits;
}

static bool check_required(struct th_schema_run *c, const struct th_json *schema,
			   const struct th_json *v, const struct th_schema_path *at)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "required"));
	bool fits = true;

	while (th_json_next(&it)) {
		struct th_str name = th_json_str(it.val);
		struct th_buf *out;

		if (!name.ptr || th_schema_member(c, v, name))
			continue;
		if (c->code)
			return true;
		fits = false;
		out = th_schema_fault(c, at);
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

static bool check_object(struct th_schema_run *c, const struct th_json *schema,
			 const struct th_json *v, const struct th_schema_path *at)
{
	const struct th_json *properties = th_json_get(schema, "properties");
	const struct th_json *more = th_json_get(schema, "additionalProperties");
	struct th_json_iter it = th_json_iter(v);
	bool fits = check_required(c, schema, v, at);

	fits &= th_schema_check_count(c, schema, TH_SCHEMA_MEMBERS, th_json_count(v), at);
	while (th_json_next(&it) && !c->code) {
		struct th_schema_path here = { at, it.key, 0 };
		const struct th_json *own = th_schema_member(c, properties, it.key);
		struct th_buf *out;

		if (own) {
			fits &= check(c, own, it.val, &here);
		} else if (th_json_type(more) == TH_JSON_BOOL && !th_json_bool(more, true)) {
			fits = false;
			out = th_schema_fault(c, at);
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

static bool broken(struct th_schema_run *c, const char *what, struct th_str shown)
{
	if (!c->code)
		c->code = th_fail(c->err, TH_EUSAGE, "the schema's $ref %.*s %s",
				  TH_FMT(th_utf8_cut(shown, 200)), what);
	return false;
}

/* One step of a JSON pointer; NULL: there is nothing. */
static const struct th_json *pointer_step(struct th_schema_run *c, const struct th_json *v,
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
		return th_str_i64(part, &index) && index >= 0 &&
			       th_schema_spend(c, th_json_count(v))
			   ? th_json_at(v, (size_t)index)
			   : NULL;
	return th_schema_member(c, v, th_buf_str(&key));
}

static bool check_ref(struct th_schema_run *c, struct th_str ref, const struct th_json *v,
		      const struct th_schema_path *at)
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

static bool check_conditions(struct th_schema_run *c, const struct th_json *schema,
			     const struct th_json *v, const struct th_schema_path *at)
{
	const struct th_json *not = th_json_get(schema, "not"), *when = th_json_get(schema, "if");
	bool fits = true;

	if (not &&quietly(c, not, v, at, NULL, NULL) && !c->code)
		fits = th_schema_fail_value(c, at, "something else", v);
	if (when && !c->code) {
		const struct th_json *then =
		    th_json_get(schema, quietly(c, when, v, at, NULL, NULL) ? "then" : "else");

		if (then && !c->code)
			fits &= check(c, then, v, at);
	}
	return fits;
}

static bool check_combined(struct th_schema_run *c, const struct th_json *schema,
			   const struct th_json *v, const struct th_schema_path *at)
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

static bool check_own(struct th_schema_run *c, const struct th_json *schema,
		      const struct th_json *v, const struct th_schema_path *at)
{
	const struct th_json *types = th_json_get(schema, "type"), *value;
	bool fits = true;

	if (types && !th_schema_check_type(c, types, v, at))
		return false;
	value = th_json_get(schema, "enum");
	if (th_json_is_array(value) && !th_schema_check_enum(c, value, v, at))
		return false;
	value = th_json_get(schema, "const");
	if (value && !th_json_equal(value, v)) {
		struct th_buf *out = th_schema_fault(c, at);

		if (out) {
			th_buf_add_cstr(out, "must be ");
			th_schema_add_value(out, value);
			th_buf_add_cstr(out, ", not ");
			th_schema_add_value(out, v);
		}
		return false;
	}
	switch (th_json_type(v)) {
	case TH_JSON_INT:
	case TH_JSON_REAL:
		fits = th_schema_check_number(c, schema, v, at);
		break;
	case TH_JSON_STR:
		fits = th_schema_check_count(c, schema, TH_SCHEMA_LENGTH,
					     th_utf8_count(th_json_str(v)), at);
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

static bool check(struct th_schema_run *c, const struct th_json *schema, const struct th_json *v,
		  const struct th_schema_path *at)
{
	struct th_str ref = th_json_get_str(schema, "$ref");
	bool fits;

	if (!th_schema_spend(c, 1 + th_json_count(schema)))
		return false;
	if (th_json_type(schema) == TH_JSON_BOOL)
		return th_json_bool(schema, true) || th_schema_fail_value(c, at, "left out", v);
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
	struct th_schema_run c = {
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
