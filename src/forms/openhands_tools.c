/* SPDX-License-Identifier: Apache-2.0 */
#include "forms/openhands_tools.h"

#define DEPTH_MAX 16 /* of lists in lists; deeper ones are not looked at, and do not fit */

/* The type of a schema: of several the one beside null; empty: any value. */
static struct th_str type_of(const struct th_json *schema)
{
	const struct th_json *type = th_json_get(schema, "type");
	struct th_json_iter it = th_json_iter(type);
	struct th_str found = { NULL, 0 };

	if (!th_json_is_array(type))
		return th_json_str(type);
	while (th_json_next(&it)) {
		if (th_str_is(th_json_str(it.val), "null"))
			continue;
		if (found.len)
			return (struct th_str){ NULL, 0 };
		found = th_json_str(it.val);
	}
	return found;
}

static bool fits(const struct th_json *schema, const struct th_json *v, int depth)
{
	struct th_str type = type_of(schema);
	struct th_json_iter it = th_json_iter(v);
	const struct th_json *items = th_json_get(schema, "items");

	if (th_str_is(type, "array")) {
		if (!th_json_is_array(v) || depth == DEPTH_MAX)
			return false;
		while (th_json_next(&it))
			if (!fits(items, it.val, depth + 1))
				return false;
		return true;
	}
	if (th_str_is(type, "object"))
		return th_json_is_object(v);
	if (th_str_is(type, "string"))
		return th_json_type(v) == TH_JSON_STR;
	if (th_str_is(type, "boolean"))
		return th_json_type(v) == TH_JSON_BOOL;
	if (th_str_is(type, "integer"))
		return th_json_type(v) == TH_JSON_INT;
	if (th_str_is(type, "number"))
		return th_json_type(v) == TH_JSON_INT || th_json_type(v) == TH_JSON_REAL;
	return true;
}

static bool is_required(const struct th_json *schema, struct th_str name)
{
	struct th_json_iter it = th_json_iter(th_json_get(schema, "required"));

	while (th_json_next(&it))
		if (th_str_eq(th_json_str(it.val), name))
			return true;
	return false;
}

static bool takes(const struct th_json *schema, const struct th_json *arguments)
{
	const struct th_json *properties = th_json_get(schema, "properties");
	struct th_json_iter it = th_json_iter(arguments);

	while (th_json_next(&it)) {
		const struct th_json *property = th_json_getn(properties, it.key);

		/* "kind" says there which type it is. */
		if (!property || th_str_is(it.key, "kind"))
			return false;
		if (th_json_type(it.val) == TH_JSON_NULL ? is_required(schema, it.key)
							 : !fits(property, it.val, 0))
			return false;
	}
	it = th_json_iter(properties);
	while (th_json_next(&it))
		if (is_required(schema, it.key) && !th_json_getn(arguments, it.key))
			return false;
	return true;
}

bool th_openhands_tool_takes(const struct th_json *tools, struct th_str name,
			     const struct th_json *arguments)
{
	struct th_json_iter it = th_json_iter(tools);

	while (th_json_is_object(arguments) && th_json_next(&it))
		if (th_str_eq(th_json_get_str(it.val, "name"), name))
			return takes(th_json_get(it.val, "parameters"), arguments);
	return false;
}
