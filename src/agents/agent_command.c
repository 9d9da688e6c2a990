/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/agent_command.h"

#include "base/text.h"

#define NAME_LEN_MAX 64 /* what every provider takes */

TH_TABLE(agent_task_limit, "What a task of one of several agents may take.", false)

#define AT(member) offsetof(struct th_agent_command, member)

TH_TABLE(agent_task, "What an agent is to do.", false)

static const char *const budgets[] = { "divided", "shared", NULL };
static const char *const classes[] = { "write", "read", "keyed", "irreversible", NULL };
static const enum th_class class_values[] = { TH_CLASS_W, TH_CLASS_R, TH_CLASS_K, TH_CLASS_X };

static const struct th_field command_fields[] = {
	{ "name", AT(name), TH_FIELD_str, TH_REQ | TH_NONEMPTY, "name of the tool", NULL, NULL,
	  false, 0 },
	{ "description", AT(description), TH_FIELD_str, 0, "description for the model", NULL, NULL,
	  false, 0 },
	{ "parameters", AT(parameters), TH_FIELD_raw, 0,
	  "JSON Schema of the arguments, which the program reads on standard input", NULL, NULL,
	  false, 0 },
	{ "format", AT(format), TH_FIELD_raw, 0,
	  "in place of parameters: the model writes a text, which comes as {\"input\": the text}: "
	  "text, or {type: grammar, syntax: lark or regex, definition: …}, which models of the "
	  "Responses API keep to",
	  NULL, NULL, false, 0 },
	{ "command", AT(command), TH_FIELD_strs, TH_NONEMPTY,
	  "program and arguments; run without a shell, in the workspace", NULL, NULL, false, 0 },
	{ "script", AT(script), TH_FIELD_str, TH_NONEMPTY,
	  "instead of command: a function of the agent's script", NULL, NULL, false, 0 },
	{ "agent", AT(agent), TH_FIELD_str, TH_NONEMPTY,
	  "instead of command: an agent of the team, which does the work in a session of its own",
	  NULL, NULL, false, 0 },
	{ "agents", AT(agents), TH_FIELD_strs, TH_NONEMPTY,
	  "instead of agent: several, of which a call names one (subagent_type); a call may go on "
	  "with an earlier task (resume)",
	  NULL, NULL, false, 0 },
	{ "turns", AT(turns), TH_FIELD_int, TH_POSITIVE,
	  "agent: maximum number of its model turns; default 10", NULL, NULL, false, 0 },
	{ "tokens", AT(tokens), TH_FIELD_int, TH_POSITIVE,
	  "agent: input and output tokens of one call; default: what its budget leaves", NULL, NULL,
	  false, 0 },
	{ "cost_usd", AT(cost_usd), TH_FIELD_num, TH_POSITIVE,
	  "agent: price of one call in US dollars; default: what its budget leaves", NULL, NULL,
	  false, 0 },
	{ "limits", AT(limits), TH_FIELD_objects, 0,
	  "agents: what a task of one of them may take, within the tool's own turns and cost",
	  &th_agent_task_limit_table, NULL, false, 0 },
	{ "budget", AT(budget), TH_FIELD_enum, 0,
	  "agent: what is left of the caller's limits is divided among its calls that are under "
	  "way, "
	  "or shared: they draw on it together",
	  NULL, budgets, true, TH_BUDGET_DIVIDED },
	{ "background", AT(background), TH_FIELD_bool, 0,
	  "agents: a call may go on in the background; the tool background looks at such tasks, "
	  "waits for them and stops them",
	  NULL, NULL, false, 0 },
	{ "timeout_s", AT(timeout_s), TH_FIELD_int, TH_POSITIVE,
	  "seconds after which the call is stopped; default, and maximum for a program: "
	  "limits.command_seconds",
	  NULL, NULL, false, 0 },
	{ "class", AT(class), TH_FIELD_enum, 0,
	  "whether a call may run again after a crash: write: never; read: yes; keyed: yes, with "
	  "the same THOLE_EFFECT_ID; irreversible: as write, and each call needs approval",
	  NULL, classes, true, 0 },
	{ "approve", AT(approve), TH_FIELD_bool, 0, "a person must approve each call", NULL, NULL,
	  false, 0 },
};

const struct th_table th_agent_command_table = {
	"agent_command",          "A program as a tool.",          command_fields,
	TH_COUNT(command_fields), sizeof(struct th_agent_command), false,
};

enum th_class th_agent_command_class(const struct th_agent_command *c)
{
	assert(c->class >= 0 && (size_t)c->class < TH_COUNT(class_values));
	if (c->script.len)
		return TH_CLASS_R;
	return th_agent_command_delegates(c) ? TH_CLASS_K : class_values[c->class];
}

#define ANY_TEXT "\"text\""

enum th_code th_text_format_check(struct th_str format, struct th_err *err)
{
	struct th_json_doc *doc = NULL;
	const struct th_json *v;
	bool good;

	if (th_str_is(format, ANY_TEXT))
		return TH_OK;
	if (th_json_parse(format, &doc, err))
		return err->code;
	v = th_json_root(doc);
	good = th_str_is(th_json_get_str(v, "type"), "grammar") &&
	       (th_str_is(th_json_get_str(v, "syntax"), "lark") ||
		th_str_is(th_json_get_str(v, "syntax"), "regex")) &&
	       th_json_get_str(v, "definition").len;
	th_json_free(doc);
	return good ? TH_OK
		    : th_fail(err, TH_EUSAGE,
			      "must be text, or {type: grammar, syntax: lark or regex, "
			      "definition: …}");
}

struct th_tool_native th_text_native(struct th_str format)
{
	return (struct th_tool_native){
		.kind = TH_NATIVE_CUSTOM,
		.format = th_str_is(format, ANY_TEXT) ? (struct th_str){ NULL, 0 } : format,
	};
}

struct th_str th_text_schema(void)
{
	return TH_STR("{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},"
		      "\"required\":[\"input\"],\"additionalProperties\":false}");
}

/* As the table says, with the agents' names. */
static struct th_str task_schema(const struct th_agent_command *c, struct th_arena *a)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("object"));
	th_jw_key(&w, TH_STR("properties"));
	th_jw_object(&w);
	for (size_t i = 0; i < th_agent_task_table.count; i++) {
		const struct th_field *f = &th_agent_task_table.fields[i];

		if (f->kind == TH_FIELD_bool && !c->background)
			continue;
		th_jw_key(&w, th_str_of(f->name));
		th_jw_object(&w);
		th_jw_kstr(&w, "type",
			   f->kind == TH_FIELD_bool ? TH_STR("boolean") : TH_STR("string"));
		th_jw_kstr(&w, "description", th_str_of(f->doc));
		if (strcmp(f->name, "subagent_type") == 0) {
			th_jw_key(&w, TH_STR("enum"));
			th_jw_array(&w);
			for (size_t j = 0; j < c->agents.count; j++)
				th_jw_str(&w, c->agents.list[j]);
			th_jw_array_end(&w);
		}
		th_jw_object_end(&w);
	}
	th_jw_object_end(&w);
	th_jw_kraw(&w, "required", TH_STR("[\"prompt\"]"));
	th_jw_kbool(&w, "additionalProperties", false);
	th_jw_object_end(&w);
	return th_arena_str(a, th_buf_str(&out));
}

struct th_str th_agent_command_schema(const struct th_agent_command *c, struct th_arena *a)
{
	if (c->agents.count)
		return task_schema(c, a);
	if (c->format.len || (c->agent.len && !c->parameters.len))
		return th_text_schema();
	return c->parameters.len ? c->parameters
				 : TH_STR("{\"type\":\"object\",\"properties\":{},"
					  "\"additionalProperties\":true}");
}

const struct th_agent_task_limit *th_agent_task_limit_of(const struct th_agent_command *c,
							 struct th_str agent)
{
	const struct th_agent_task_limit *list = c->limits.list;

	for (size_t i = 0; i < c->limits.count; i++)
		if (th_str_eq(list[i].agent, agent))
			return &list[i];
	return NULL;
}

const struct th_agent_command *th_agent_command_find(const struct th_objects *commands,
						     struct th_str name)
{
	const struct th_agent_command *list = commands->list;

	for (size_t i = 0; i < commands->count; i++)
		if (th_str_eq(list[i].name, name))
			return &list[i];
	return NULL;
}

static bool name_ok(struct th_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '-'))
			return false;
	}
	return name.len > 0 && name.len <= NAME_LEN_MAX;
}

static enum th_code check_format(const struct th_agent_command *c, struct th_err *err)
{
	if (!c->format.len)
		return TH_OK;
	if (c->parameters.len)
		return th_fail(err, TH_EUSAGE,
			       "stands beside parameters: a tool takes a text or an object");
	return th_text_format_check(c->format, err);
}

/* What an agent alone has. */
static enum th_code check_budget(const struct th_agent_command *c, const char **ret_field,
				 struct th_err *err)
{
	const struct {
		const char *field;
		bool given;
	} fields[] = { { "turns", c->turns },
		       { "tokens", c->tokens },
		       { "cost_usd", c->cost_usd > 0 },
		       { "budget", c->budget } };

	for (size_t i = 0; i < TH_COUNT(fields); i++) {
		*ret_field = fields[i].field;
		if (fields[i].given && !th_agent_command_delegates(c))
			return th_fail(err, TH_EUSAGE, "is for tools that are agents");
	}
	return TH_OK;
}

/* Of an agent that the tool does not have it would hold nothing. */
static enum th_code check_limits(const struct th_agent_command *c, struct th_err *err)
{
	const struct th_agent_task_limit *list = c->limits.list;

	for (size_t i = 0; i < c->limits.count; i++) {
		bool has = th_strs_has(&c->agents, list[i].agent);

		if (!has || th_agent_task_limit_of(c, list[i].agent) != &list[i])
			return th_fail(err, TH_EUSAGE, "has \"%.*s\", which %s",
				       TH_FMT(th_utf8_cut(list[i].agent, 80)),
				       has ? "is there twice" : "is not one of agents");
	}
	return TH_OK;
}

static enum th_code check(const struct th_objects *commands, size_t index, const char *const *taken,
			  const char **ret_field, struct th_err *err)
{
	const struct th_agent_command *c = (const struct th_agent_command *)commands->list + index;
	enum th_code code;

	*ret_field = "name";
	if (!name_ok(c->name))
		return th_fail(err, TH_EUSAGE,
			       "must be 1 to %d letters, digits, \"_\" and \"-\", not \"%.*s\"",
			       NAME_LEN_MAX, TH_FMT(th_utf8_cut(c->name, 80)));
	if (th_names_find(taken, c->name) >= 0)
		return th_fail(err, TH_EUSAGE, "is \"%.*s\", which is a tool of ours",
			       TH_FMT(c->name));
	if (th_agent_command_find(commands, c->name) != c)
		return th_fail(err, TH_EUSAGE, "is \"%.*s\" a second time", TH_FMT(c->name));
	*ret_field = "script";
	if (c->script.len && c->command.count)
		return th_fail(err, TH_EUSAGE, "stands beside command: a tool is one or the other");
	if (c->script.len && (c->class > 1 || c->timeout_s))
		return th_fail(err, TH_EUSAGE,
			       "is a function, which only computes: class and timeout_s are for "
			       "programs");
	*ret_field = "agent";
	if (th_agent_command_delegates(c) && (c->command.count || c->script.len))
		return th_fail(err, TH_EUSAGE, "stands beside %s: a tool is one or the other",
			       c->script.len ? "script" : "command");
	if (c->agent.len && c->agents.count)
		return th_fail(err, TH_EUSAGE, "stands beside agents: a tool is one or the other");
	if (th_agent_command_delegates(c) && c->class)
		return th_fail(err, TH_EUSAGE,
			       "is an agent, whose calls have their own classes: "
			       "class is for programs");
	*ret_field = "agents";
	if (c->agents.count && (c->parameters.len || c->format.len))
		return th_fail(err, TH_EUSAGE,
			       "stands beside %s: the arguments of such a tool are its own",
			       c->format.len ? "format" : "parameters");
	if (c->agents.count > TH_TEAM_MAX)
		return th_fail(err, TH_EUSAGE, "has more than %d agents", TH_TEAM_MAX);
	code = check_budget(c, ret_field, err);
	if (code)
		return code;
	*ret_field = "background";
	if (c->background && !c->agents.count)
		return th_fail(err, TH_EUSAGE, "is for tools that are several agents");
	if (c->background && th_agent_command_find(commands, TH_STR(TH_BACKGROUND_TOOL)))
		return th_fail(err, TH_EUSAGE,
			       "needs the name background for its tool, and another one has it");
	*ret_field = "limits";
	code = check_limits(c, err);
	if (code)
		return code;
	*ret_field = "command";
	if (!c->script.len && !th_agent_command_delegates(c) && !c->command.count)
		return th_fail(err, TH_EUSAGE,
			       "is missing; or name a function with script, or an agent");
	if (c->command.count > TH_COMMAND_ARGV_MAX)
		return th_fail(err, TH_EUSAGE, "has %zu words, more than %d", c->command.count,
			       TH_COMMAND_ARGV_MAX);
	if (c->command.count && !c->command.list[0].len)
		return th_fail(err, TH_EUSAGE, "names no program");
	for (size_t i = 0; i < c->command.count; i++)
		if (memchr(c->command.list[i].ptr, '\0', c->command.list[i].len))
			return th_fail(err, TH_EUSAGE, "holds a NUL byte");
	*ret_field = "parameters";
	if (c->parameters.len && c->parameters.ptr[0] != '{')
		return th_fail(err, TH_EUSAGE, "must be a JSON Schema, an object");
	*ret_field = "format";
	return check_format(c, err);
}

enum th_code th_agent_commands_check(const struct th_objects *commands, const char *const *taken,
				     struct th_buf *path, struct th_err *err)
{
	const char *field = "";
	enum th_code code = TH_OK;

	for (size_t i = 0; i < commands->count; i++) {
		code = check(commands, i, taken, &field, err);
		if (code) {
			th_buf_printf(path, "commands[%zu].%s", i, field);
			return code;
		}
	}
	return TH_OK;
}
