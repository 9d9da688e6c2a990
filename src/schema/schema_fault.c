/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_fault.c - what a check against a schema may cost, and the sentences it says.
 */
#include "schema/schema_internal.h"

/* ---- limits ---- */

bool th_schema_spend(struct th_schema_run *c, size_t steps)
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

const struct th_json *th_schema_member(struct th_schema_run *c, const struct th_json *object,
				       struct th_str key)
{
	return th_schema_spend(c, th_json_count(object)) ? th_json_getn(object, key) : NULL;
}

/* ---- faults ---- */

static size_t path_depth(const struct th_schema_path *at)
{
	size_t depth = 0;

	for (; at; at = at->up)
		depth++;
	return depth;
}

/* "items[2].price: "; nothing for the value itself. */
static void add_path(struct th_buf *out, const struct th_schema_path *at, bool last)
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

void th_schema_add_value(struct th_buf *out, const struct th_json *v)
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

void th_schema_add_values(struct th_buf *out, const struct th_json *list)
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
		th_schema_add_value(out, it.val);
	}
}

struct th_buf *th_schema_fault(struct th_schema_run *c, const struct th_schema_path *at)
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

bool th_schema_fail_value(struct th_schema_run *c, const struct th_schema_path *at,
			  const char *what, const struct th_json *v)
{
	struct th_buf *out = th_schema_fault(c, at);

	if (out) {
		th_buf_printf(out, "must be %s, not ", what);
		th_schema_add_value(out, v);
	}
	return false;
}

bool th_schema_fail_count(struct th_schema_run *c, const struct th_schema_path *at,
			  const char *what, double limit, const char *things, size_t count)
{
	struct th_buf *out = th_schema_fault(c, at);

	if (out)
		th_buf_printf(out, "must have %s %.0f %s, not %zu", what, limit, things, count);
	return false;
}
