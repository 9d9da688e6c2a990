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
