/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools.c - tools of a client (client_tools): the model calls them, and what they do happens at the
 * client, which reads the call among the events.  As there, a call is over at once, and its result
 * only says that the client has it.
 *
 * They stand in the session's metadata, and are given to it whenever it is opened again.
 */
#include "base/text.h"
#include "openhands_api/internal.h"

#define RESULT "Tool call dispatched to client." /* OpenHands' own words */

static bool is_name(struct th_str name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!(name.ptr[i] >= 'a' && name.ptr[i] <= 'z') &&
		    !(name.ptr[i] >= 'A' && name.ptr[i] <= 'Z') &&
		    !(name.ptr[i] >= '0' && name.ptr[i] <= '9') && name.ptr[i] != '_' &&
		    name.ptr[i] != '-')
			return false;
	return name.len >= 1 && name.len <= TH_TOOL_NAME_MAX;
}

static bool is_there_before(const struct th_json *tools, size_t at, struct th_str name)
{
	for (size_t i = 0; i < at; i++)
		if (th_str_eq(th_json_get_str(th_json_at(tools, i), "name"), name))
			return true;
	return false;
}

static const char *fault_of(const struct th_json *tools, size_t at)
{
	const struct th_json *tool = th_json_at(tools, at), *schema;
	struct th_str name = th_json_get_str(tool, "name"),
		      about = th_json_get_str(tool, "description");

	schema = th_json_get(tool, "parameters");
	if (!is_name(name))
		return "client_tools: a name has 1 to 64 letters, digits, _ and -";
	if (is_there_before(tools, at, name))
		return "client_tools: a name is there twice";
	if (th_json_type(th_json_get(tool, "description")) != TH_JSON_STR ||
	    (about.len && memchr(about.ptr, 0, about.len)))
		return "client_tools: description is a text without a zero in it";
	if (schema &&
	    (!th_json_is_object(schema) || !th_str_is(th_json_get_str(schema, "type"), "object")))
		return "client_tools: parameters are JSON Schema of the type object";
	return NULL;
}

const char *th_oh_tools_fault(const struct th_json *tools)
{
	const char *why = NULL;

	if (th_json_is_null(tools))
		return NULL;
	if (!th_json_is_array(tools) || th_json_count(tools) > TH_AGENT_TOOLS_MAX)
		return "client_tools are a list of at most 128 objects";
	for (size_t i = 0; !why && i < th_json_count(tools); i++)
		why = fault_of(tools, i);
	return why;
}

static void on_call(void *ctx, struct thole_call *call)
{
	struct th_server *s = ctx;
	struct thole_error err;

	if (thole_call_done(call, RESULT, &err) != 0)
		(void)thole_call_fail(call, err.text, NULL);
	th_server_kick(s);
}

static int add_one(struct th_server *s, struct thole_agent *agent, const struct th_json *tool,
		   struct thole_error *err)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	const struct th_json *schema = th_json_get(tool, "parameters");
	const struct th_json *looks = th_json_get(th_json_get(tool, "annotations"), "readOnlyHint");
	struct th_str about = th_json_get_str(tool, "description");
	struct thole_tool *made = NULL;
	int code;

	th_arena_init(&memory, TH_AGENT_MEMORY_MAX);
	code = thole_agent_tool(agent, th_arena_cstr(&memory, th_json_get_str(tool, "name")) ?: "",
				on_call, s, &made, err);
	if (!code && th_json_bool(looks, false))
		code = thole_tool_class(made, THOLE_CLASS_READ, err);
	if (!code && about.len)
		code = thole_tool_describe(made, th_arena_cstr(&memory, about) ?: "", err);
	if (!code && schema) {
		struct th_str text = th_json_text(schema, &memory);

		code = thole_tool_schema(made, th_arena_cstr(&memory, text) ?: "", false, err);
	}
	return code;
}

int th_oh_tools_add(struct th_server *s, struct thole_agent *agent, const struct th_json *tools,
		    struct thole_error *err)
{
	struct th_json_iter it = th_json_iter(tools);
	int code = 0;

	while (!code && th_json_next(&it))
		code = add_one(s, agent, it.val, err);
	return code;
}

int th_oh_tools_again(struct th_server *s, const struct th_json *metadata,
		      struct thole_agent *agent, bool *ret_any, struct thole_error *err)
{
	const struct th_json *tools =
	    th_json_get(th_json_get(metadata, TH_OPENHANDS_MEMBER), TH_OPENHANDS_TOOLS);

	*ret_any |= th_json_count(tools) > 0;
	return th_oh_tools_add(s, agent, tools, err);
}
