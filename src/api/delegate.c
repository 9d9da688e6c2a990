/* SPDX-License-Identifier: Apache-2.0 */
/*
 * delegate.c - agents as tools: a member of the team that works on a call in a session of its own.
 */
#include "api/api.h"
#include "base/text.h"

static int check_schema(const char *json, struct thole_error *err)
{
	struct th_json_doc *doc = NULL;
	struct th_err e = { 0 };
	enum th_code bad = th_json_parse(th_str_of(json), &doc, &e);
	bool object = !bad && th_str_is(th_json_get_str(th_json_root(doc), "type"), "object");

	th_json_free(doc);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "the tool's schema"), &e, err);
	return object ? 0
		      : th_api_fail(err, TH_EUSAGE,
				    "the tool's schema is an object whose \"type\" is \"object\"");
}

static int check(struct thole_agent *agent, const char *name, const char *member,
		 const char *description, const char *schema, int64_t turns,
		 struct thole_error *err)
{
	int code = th_api_check_agent(agent, err);

	if (!code)
		code = th_api_text(name, "the tool's name", 1, TH_TOOL_NAME_MAX, err);
	if (!code && !th_api_good_name(name))
		code = th_api_fail(err, TH_EUSAGE,
				   "a tool's name has letters, digits, _ and -, and is none of "
				   "none, all and computer; \"%s\" is not such a one",
				   name);
	if (!code)
		code = th_api_text(member, "the agent's name", 1, TH_AGENT_NAME_MAX, err);
	if (!code && description)
		code = th_api_text(description, "the description", 0, TH_CONFIG_SIZE_MAX, err);
	if (!code && schema)
		code = th_api_text(schema, "the tool's schema", 1, TH_CONFIG_SIZE_MAX, err);
	if (!code && schema)
		code = check_schema(schema, err);
	if (!code && turns < 0)
		code = th_api_fail(err, TH_EUSAGE, "turns is 0 (the default) or more");
	return code;
}

int thole_agent_delegate(struct thole_agent *agent, const char *name, const char *member,
			 const char *description, const char *schema, int64_t turns,
			 struct thole_error *err)
{
	int code = check(agent, name, member, description, schema, turns, err);
	struct th_objects before;
	struct th_agent_command *list;
	struct th_agent_command c = { .turns = turns };

	if (code)
		return code;
	before = agent->def.commands;
	for (size_t i = 0; i < agent->tool_count; i++)
		if (th_str_is(agent->tools[i]->spec.name, name))
			return th_api_fail(err, TH_EEXIST, "the agent has a tool %s", name);
	if (th_agent_command_find(&before, th_str_of(name)))
		return th_api_fail(err, TH_EEXIST, "the agent has a tool %s", name);
	if (before.count == TH_AGENT_TOOLS_MAX)
		return th_api_fail(err, TH_ELIMIT, "an agent has at most %d tools",
				   TH_AGENT_TOOLS_MAX);
	list = th_arena_array(&agent->memory, before.count + 1, sizeof(*list));
	c.name = th_arena_str(&agent->memory, th_str_of(name));
	c.agent = th_arena_str(&agent->memory, th_str_of(member));
	c.description = th_arena_str(&agent->memory, th_str_of(description));
	c.parameters = th_arena_str(&agent->memory, th_str_of(schema));
	if (!list || !c.name.ptr || !c.agent.ptr || (description && !c.description.ptr) ||
	    (schema && !c.parameters.ptr))
		return th_api_fail(err, TH_ELIMIT, "the agent's definition has more than %zu bytes",
				   TH_AGENT_MEMORY_MAX);
	if (before.count > 0)
		memcpy(list, before.list, before.count * sizeof(*list));
	list[before.count] = c;
	agent->def.commands = (struct th_objects){ list, before.count + 1 };
	return TH_OK;
}
