/* SPDX-License-Identifier: Apache-2.0 */
#include "context/condensation.h"

TH_TABLE(condensation, "Events that are forgotten, and what stands for them.", true)

static bool is_given(struct th_str raw)
{
	return raw.len && !th_str_is(raw, "null");
}

static bool is_number(struct th_str raw)
{
	int64_t value;

	return th_str_i64(raw, &value);
}

static bool is_numbers(struct th_str raw)
{
	struct th_json_raw_iter it = th_json_raw_iter(raw);

	if (!raw.len || raw.ptr[0] != '[')
		return false;
	while (th_json_raw_next(&it))
		if (!is_number(it.val))
			return false;
	return true;
}

enum th_code th_condensation_check(const struct th_condensation *c, struct th_err *err)
{
	bool ids = is_given(c->ids), from = is_given(c->from), to = is_given(c->to);
	bool summary = is_given(c->summary), offset = is_given(c->offset);

	if (from != to || ids == from)
		return th_fail(err, TH_EPROTO,
			       "a condensation names either the events that are forgotten or the "
			       "first and the last of them");
	if (summary != offset)
		return th_fail(err, TH_EPROTO,
			       "a condensation has either a summary and its place, or neither");
	if ((ids && !is_numbers(c->ids)) || (from && !(is_number(c->from) && is_number(c->to))) ||
	    (summary && c->summary.ptr[0] != '"') || (offset && !is_number(c->offset)))
		return th_fail(err, TH_EPROTO, "a condensation's events and places are numbers");
	return TH_OK;
}
