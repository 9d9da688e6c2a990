/* SPDX-License-Identifier: Apache-2.0 */
#include "providers/wires.h"

#include "base/field.h"
#include "base/limits.h"

#define X(name) &th_wire_##name,
const struct th_wire *const th_wires[] = { TH_WIRES(X) NULL };
#undef X
#define X(name) #name,
const char *const th_wire_names[] = { TH_WIRES(X) NULL };
#undef X

enum th_code th_group_render(const struct th_request_options *o, const struct th_group *g,
			     bool first, struct th_buf *out, struct th_hole *holes, size_t hole_max,
			     size_t *ret_hole_count, struct th_err *err)
{
	const struct th_wire *wire = o->profile->wire;
	struct th_group_writer x = { o, th_jw(out), holes, hole_max, 0, err };
	size_t start = out->len;
	enum th_code code = TH_OK;

	x.w.comma = !first || (wire->begun && wire->begun(o));
	switch (g->kind) {
	case TH_GROUP_MESSAGE:
		code = wire->message(&x, g);
		break;
	case TH_GROUP_ANSWER:
		code = wire->answer(&x, g);
		break;
	case TH_GROUP_RESULTS:
		code = wire->results(&x, g);
		break;
	}
	if (code)
		th_buf_truncate(out, start);
	*ret_hole_count = code ? 0 : x.hole_count;
	return code;
}

static void add_name(const struct th_wire *wire, struct th_buf *out)
{
	th_buf_printf(out, "%s%s", out->len ? ", " : "", wire->name);
}

void th_wire_names_of(const struct th_dialect *dialect, struct th_buf *out)
{
	for (size_t i = 0; th_wires[i]; i++)
		if (dialect && th_wires[i]->dialect == dialect)
			add_name(th_wires[i], out);
}

void th_wire_names_with(enum th_computer_tool tool, struct th_buf *out)
{
	for (size_t i = 0; th_wires[i]; i++)
		if (th_wires[i]->computers & 1U << tool)
			add_name(th_wires[i], out);
}

static bool is_among(const char *const *names, struct th_str name)
{
	return names && th_names_find(names, name) >= 0;
}

enum th_code th_wire_check_extra(const struct th_wire *wire, struct th_str extra_body,
				 struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	enum th_code code;

	if (!extra_body.len)
		return TH_OK;
	code = th_json_parse(extra_body, &doc, err);
	if (code)
		return th_prefix(err, code, "settings.extra_body");
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);) {
		bool of_agent = is_among(wire->body_agent, it.key);

		if (of_agent || (!th_json_is_null(it.val) && is_among(wire->body_settings, it.key)))
			return th_fail(
			    err, TH_EUSAGE,
			    "settings.extra_body cannot say %.*s: %s has a member for it",
			    TH_FMT(it.key), of_agent ? "the agent" : "settings");
	}
	return TH_OK;
}
