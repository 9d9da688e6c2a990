/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/registry.h"

#include "computers/computers.h"
#include "tools/tool.h"

static struct th_str schema_of(const struct th_tool *tool, struct th_schemas *kept,
			       struct th_arena *a)
{
	struct th_buf text;
	struct th_str *known = NULL, ret;
	struct th_jw w;

	for (size_t i = 0; kept && i < TH_COUNT(kept->list) && th_tools[i]; i++)
		if (th_tools[i] == tool)
			known = &kept->list[i];
	if (known && known->ptr)
		return *known;
	th_buf_init(&text, TH_JSON_SIZE_MAX);
	w = th_jw(&text);
	th_table_schema(tool->arguments, &w);
	ret = th_arena_str(known ? &kept->memory : a, th_buf_str(&text));
	if (known)
		*known = ret;
	th_buf_deinit(&text);
	return ret;
}

static enum th_code builtin(struct th_str name, const struct th_tool *tool, struct th_schemas *kept,
			    struct th_arena *a, struct th_tool_row *row, struct th_err *err)
{
	*row = (struct th_tool_row){
		.spec = {
			.name = th_str_of(th_tool_name(name)),
			.description = th_str_of(tool->description),
			.schema = schema_of(tool, kept, a),
			.class = tool->class,
			.ask = tool->ask,
			.question = tool->question,
			.last = tool->last,
			.scope = tool->scope,
			.looks = tool->looks,
		},
		.check = tool->question, /* which no executor looks at */
	};
	return row->spec.schema.ptr ? TH_OK
				    : th_fail(err, TH_ELIMIT, "the tools' schemas are too large");
}

static const struct th_tool_native natives[] = {
	[TH_NATIVE_SHELL] = { .kind = TH_NATIVE_SHELL },
	[TH_NATIVE_LOCAL_SHELL] = { .kind = TH_NATIVE_LOCAL_SHELL },
	[TH_NATIVE_PATCH] = { .kind = TH_NATIVE_PATCH },
	[TH_NATIVE_BASH] = { .kind = TH_NATIVE_BASH },
	[TH_NATIVE_EDITOR] = { .kind = TH_NATIVE_EDITOR },
	[TH_NATIVE_MEMORY] = { .kind = TH_NATIVE_MEMORY },
};

/* Those of the agent's tools that some models are offered as their own. */
static enum th_code set_natives(const struct th_agent *agent, struct th_tool_row *rows,
				size_t count, struct th_err *err)
{
	size_t at = 0;
	const char *fault = th_agent_native_fault(agent, &at);

	if (fault)
		return th_fail(err, TH_EUSAGE, "native_tools[%zu] %s", at, fault);
	for (size_t i = 0; i < agent->native_tools.count; i++) {
		enum th_native kind = th_agent_native_of(agent->native_tools.list[i]);
		const char *name = th_agent_native_tool(kind);
		const struct th_tool *tool = th_tool_find(th_str_of(name));
		bool found = false;

		/* By another of its names too, but in one row. */
		for (size_t j = 0; j < count && !found; j++)
			if (th_tool_find(rows[j].spec.name) == tool) {
				rows[j].spec.native = &natives[kind];
				rows[j].spec.hidden = false;
				found = true;
			}
		if (!found)
			return th_fail(err, TH_EUSAGE,
				       "native_tools[%zu] needs the tool %s, which is not among "
				       "the agent's tools",
				       i, name);
	}
	return TH_OK;
}

static struct th_tool_row command_row(const struct th_agent_command *c, struct th_arena *a)
{
	struct th_tool_native *native = c->format.len ? TH_NEW(a, struct th_tool_native) : NULL;

	if (native)
		*native = th_text_native(c->format);
	return (struct th_tool_row){
		.spec = {
			.name = c->name,
			.description = c->description,
			.schema = th_agent_command_schema(c, a),
			.class = th_agent_command_class(c),
			.ask = c->approve,
			.native = native,
		},
		.command = c,
		.check = true,
	};
}

static enum th_code unknown(struct th_str name, const struct th_tool_row *extra, size_t extra_count,
			    struct th_err *err)
{
	struct th_buf known = TH_BUF_INIT(TH_KIB);
	const char *names[TH_AGENT_TOOLS_MAX];
	size_t count = th_tool_names(names);

	for (size_t i = 0; i < extra_count; i++)
		th_buf_printf(&known, " %.*s,", TH_FMT(extra[i].spec.name));
	for (size_t i = 0; i < count; i++)
		th_buf_printf(&known, " %s,", names[i]);
	(void)th_fail(err, TH_EUSAGE, "there is no tool named \"%.*s\"; the tools are%.*s none",
		      TH_FMT(name), TH_FMT(th_buf_str(&known)));
	th_buf_deinit(&known);
	return TH_EUSAGE;
}

/* Has it a place for what the model says of the risk? */
static bool takes_risk(const struct th_tool *tool)
{
	for (size_t i = 0; i < tool->arguments->count; i++)
		if (strcmp(tool->arguments->fields[i].name, "security_risk") == 0)
			return true;
	return false;
}

static enum th_code find(const struct th_agent *agent, struct th_str name,
			 const struct th_tool_row *extra, size_t extra_count,
			 struct th_schemas *kept, struct th_arena *a, struct th_tool_row *row,
			 struct th_err *err)
{
	const struct th_agent_command *command = th_agent_command_find(&agent->commands, name);
	const struct th_tool *tool;
	enum th_code code;

	if (command) {
		*row = command_row(command, a);
		return TH_OK;
	}

	for (size_t i = 0; i < extra_count; i++)
		if (th_str_eq(extra[i].spec.name, name)) {
			*row = extra[i];
			return TH_OK;
		}
	tool = th_tool_find(name);
	if (!tool || th_tool_is_internal(tool))
		return unknown(name, extra, extra_count, err);
	code = builtin(name, tool, kept, a, row, err);
	if (!code && takes_risk(tool) && th_confirm_asks_model(agent->confirm))
		row->spec.schema = th_risk_schema(row->spec.schema, a);
	return code;
}

static bool has_row(const struct th_tool_row *rows, size_t count, struct th_str name)
{
	for (size_t i = 0; i < count; i++)
		if (th_str_eq(rows[i].spec.name, name))
			return true;
	return false;
}

enum th_code th_registry_rows(const struct th_agent *agent, const struct th_tool_row *extra,
			      size_t extra_count, struct th_schemas *schemas, struct th_arena *a,
			      struct th_tool_row **ret, size_t *ret_count, struct th_err *err)
{
	struct th_str defaults[TH_AGENT_TOOLS_MAX];
	size_t default_count = th_tools_default(defaults);
	const struct th_computer_kind *kind =
	    agent->computer ? th_computer_find(agent->computer->kind) : NULL;
	bool given = agent->tools.count > 0;
	bool none = agent->tools.count == 1 && th_str_is(agent->tools.list[0], "none");
	/* What its computer brings. */
	if (kind && kind->tool && default_count < TH_AGENT_TOOLS_MAX)
		defaults[default_count++] = th_str_of(kind->tool);
	size_t count = none ? 0 : given ? agent->tools.count : default_count + extra_count;
	struct th_str former[TH_AGENT_TOOLS_MAX];
	size_t former_count = given ? 0 : th_tools_former(former);
	struct th_tool_row *rows;
	enum th_code code = TH_OK;

	if (count > TH_AGENT_TOOLS_MAX)
		return th_fail(err, TH_ELIMIT, "an agent has at most %d tools, this one has %zu",
			       TH_AGENT_TOOLS_MAX, count);
	rows = th_arena_array(a, count + former_count + 1, sizeof(*rows));
	if (!rows)
		return th_fail(err, TH_ELIMIT, "the agent's tools take too much memory");
	for (size_t i = 0; i < count && !code; i++) {
		if (given)
			code = find(agent, agent->tools.list[i], extra, extra_count, schemas, a,
				    &rows[i], err);
		else if (i < default_count)
			code = find(agent, defaults[i], NULL, 0, schemas, a, &rows[i], err);
		else
			rows[i] = extra[i - default_count];
		for (size_t j = 0; j < i && !code; j++)
			if (th_str_eq(rows[j].spec.name, rows[i].spec.name))
				code = th_fail(err, TH_EUSAGE, "the tool \"%.*s\" is listed twice",
					       TH_FMT(rows[i].spec.name));
	}
	/* A model that goes on with an older session knows these. */
	for (size_t i = 0; i < former_count && !code; i++) {
		if (has_row(rows, count, former[i]))
			continue;
		code = find(agent, former[i], NULL, 0, schemas, a, &rows[count], err);
		rows[count++].spec.hidden = true;
	}
	if (!code)
		code = set_natives(agent, rows, count, err);
	*ret = rows;
	*ret_count = count;
	return code;
}
