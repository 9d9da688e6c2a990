/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_tool.c - functions of the program that are an agent's tools, or its computer.
 */
#include "api/api.h"
#include "tools/tool.h"

bool th_api_good_name(const char *name)
{
	const char *begin = name;

	for (; *name; name++)
		if (!(*name >= 'a' && *name <= 'z') && !(*name >= 'A' && *name <= 'Z') &&
		    !(*name >= '0' && *name <= '9') && *name != '_' && *name != '-')
			return false;
	return strcmp(begin, "none") != 0 && strcmp(begin, "all") != 0 &&
	       strcmp(begin, "computer") != 0;
}

int thole_agent_tool(struct thole_agent *agent, const char *name, thole_tool_fn *fn, void *ctx,
		     struct thole_tool **ret, struct thole_error *err)
{
	struct thole_tool *t;
	int code = th_api_check_agent(agent, err);

	if (!code)
		code = th_api_text(name, "the tool's name", 1, TH_TOOL_NAME_MAX, err);
	if (code)
		return code;
	if (!th_api_good_name(name))
		return th_api_fail(err, TH_EUSAGE,
				   "a tool's name has letters, digits, _ and -, and is none of "
				   "none, all and computer; \"%s\" is not such a one",
				   name);
	if (!fn)
		return th_api_fail(err, TH_EUSAGE, "the function of the tool %s is NULL", name);
	for (size_t i = 0; i < agent->tool_count; i++)
		if (th_str_is(agent->tools[i]->spec.name, name))
			return th_api_fail(err, TH_EEXIST, "the agent has a tool %s", name);
	if (agent->tool_count == TH_AGENT_TOOLS_MAX)
		return th_api_fail(err, TH_ELIMIT, "an agent has at most %d tools",
				   TH_AGENT_TOOLS_MAX);
	t = TH_NEW(&agent->memory, struct thole_tool);
	if (!t)
		return th_api_agent_too_large(err);
	t->agent = agent;
	t->fn = fn;
	t->ctx = ctx;
	t->spec = (struct th_tool_spec){
		.name = th_arena_str(&agent->memory, th_str_of(name)),
		.schema = TH_STR("{\"type\":\"object\",\"properties\":{}}"),
		.class = TH_CLASS_W,
	};
	if (!t->spec.name.ptr)
		return th_api_agent_too_large(err);
	agent->tools = (struct thole_tool **)th_realloc(agent->tools, (agent->tool_count + 1) *
									  sizeof(*agent->tools));
	agent->tools[agent->tool_count++] = t;
	if (ret)
		*ret = t;
	return TH_OK;
}

static int check_tool(struct thole_tool *t, struct thole_error *err)
{
	return t ? th_api_check_agent(t->agent, err)
		 : th_api_fail(err, TH_EUSAGE, "the tool is NULL");
}

int thole_tool_describe(struct thole_tool *tool, const char *text, struct thole_error *err)
{
	struct th_str copy;
	int code = check_tool(tool, err);

	if (!code)
		code = th_api_text(text, "the tool's description", 0, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	copy = th_arena_str(&tool->agent->memory, th_str_of(text));
	if (!copy.ptr)
		return th_api_agent_too_large(err);
	tool->spec.description = copy;
	return TH_OK;
}

int thole_tool_schema(struct thole_tool *tool, const char *json, bool strict,
		      struct thole_error *err)
{
	struct th_json_doc *doc = NULL;
	struct th_err e = { 0 };
	struct th_str text;
	enum th_code bad;
	int code = check_tool(tool, err);

	if (!code)
		code = th_api_text(json, "the tool's schema", 1, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	bad = th_json_parse(th_str_of(json), &doc, &e);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "the tool's schema"), &e, err);
	if (!th_json_is_object(th_json_root(doc)) ||
	    !th_str_is(th_json_get_str(th_json_root(doc), "type"), "object")) {
		th_json_free(doc);
		return th_api_fail(err, TH_EUSAGE,
				   "the tool's schema is an object whose \"type\" is \"object\"");
	}
	text = th_json_text(th_json_root(doc), &tool->agent->memory);
	th_json_free(doc);
	if (!text.ptr)
		return th_api_agent_too_large(err);
	tool->spec.schema = text;
	tool->spec.strict = strict;
	tool->spec.native = NULL; /* an object, not a text */
	return TH_OK;
}

int thole_tool_text(struct thole_tool *tool, const char *format, struct thole_error *err)
{
	struct th_tool_native *native;
	struct th_err e = { 0 };
	struct th_str text;
	enum th_code bad;
	int code = check_tool(tool, err);

	if (!code)
		code = th_api_text(format ? format : "\"text\"", "the tool's format", 1,
				   TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	text = th_str_of(format ? format : "\"text\"");
	bad = th_text_format_check(text, &e);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "the tool's format"), &e, err);
	native = TH_NEW(&tool->agent->memory, struct th_tool_native);
	text = th_arena_str(&tool->agent->memory, text);
	if (!native || !text.ptr)
		return th_api_agent_too_large(err);
	*native = th_text_native(text);
	tool->spec.native = native;
	tool->spec.schema = th_text_schema();
	tool->spec.strict = false;
	return TH_OK;
}

int thole_tool_class(struct thole_tool *tool, enum thole_class class_, struct thole_error *err)
{
	static const enum th_class classes[] = {
		[THOLE_CLASS_READ] = TH_CLASS_R,
		[THOLE_CLASS_KEYED] = TH_CLASS_K,
		[THOLE_CLASS_WRITE] = TH_CLASS_W,
		[THOLE_CLASS_IRREVERSIBLE] = TH_CLASS_X,
	};
	int code = check_tool(tool, err);

	if (!code && ((int)class_ < THOLE_CLASS_READ || (size_t)class_ >= TH_COUNT(classes)))
		code = th_api_fail(err, TH_EUSAGE, "there is no class %d", (int)class_);
	if (!code)
		tool->spec.class = classes[class_];
	return code;
}

int thole_tool_ask(struct thole_tool *tool, bool ask, struct thole_error *err)
{
	int code = check_tool(tool, err);

	if (!code)
		tool->spec.ask = ask;
	return code;
}

int thole_tool_timeout(struct thole_tool *tool, int64_t timeout_ms, struct thole_error *err)
{
	int code = check_tool(tool, err);

	if (!code && (timeout_ms < 0 || timeout_ms > TH_CALL_TIMEOUT_MAX_MS))
		code =
		    th_api_fail(err, TH_ELIMIT, "a timeout is 0 to %ld ms", TH_CALL_TIMEOUT_MAX_MS);
	if (!code)
		tool->timeout_ms = timeout_ms;
	return code;
}

int thole_tool_on_cancel(struct thole_tool *tool, thole_tool_fn *fn, struct thole_error *err)
{
	int code = check_tool(tool, err);

	if (!code)
		tool->on_cancel = fn;
	return code;
}

int thole_agent_computer(struct thole_agent *agent, int width, int height, thole_tool_fn *see,
			 thole_tool_fn *act, void *ctx, struct thole_error *err)
{
	struct th_agent_computer *pc;
	int code = th_api_check_agent(agent, err);

	if (code)
		return code;
	if (!see || !act)
		return th_api_fail(err, TH_EUSAGE, "a computer needs both functions");
	if (width < 1 || height < 1 || width > TH_CALL_SIDE_MAX || height > TH_CALL_SIDE_MAX)
		return th_api_fail(err, TH_ELIMIT, "a screen has 1 to %d pixels a side",
				   TH_CALL_SIDE_MAX);
	pc = TH_NEW(&agent->memory, struct th_agent_computer);
	if (!pc)
		return th_api_agent_too_large(err);
	*pc = (struct th_agent_computer){ .kind = TH_STR(TH_COMPUTER_CUSTOM),
					  .width = width,
					  .height = height };
	agent->def.computer = pc;
	agent->see = see;
	agent->act = act;
	agent->computer_ctx = ctx;
	return TH_OK;
}
