/* SPDX-License-Identifier: Apache-2.0 */
#include "config/policy_names.h"

#include "base/text.h"
#include "computers/computers.h"
#include "rules/tool_names.h"
#include "tools/tool.h"

struct check {
	const struct th_policy_scope *scope;
	const struct th_agent *agent;
	struct th_buf *path;
	struct th_err *err;
};

size_t th_config_default_tools(const struct th_agent *agent,
			       struct th_str ret[static TH_AGENT_TOOLS_MAX])
{
	const struct th_computer_kind *kind =
	    agent->computer ? th_computer_find(agent->computer->kind) : NULL;
	size_t count = th_tools_default(ret);

	if (kind && kind->tool && count < TH_AGENT_TOOLS_MAX)
		ret[count++] = th_str_of(kind->tool);
	return count;
}

static const char *nearest(struct th_str name)
{
	const char *names[TH_AGENT_TOOLS_MAX + 2];
	size_t count = th_tool_names(names);

	names[count++] = "computer";
	names[count] = NULL;
	return th_names_nearest(names, name);
}

static bool any_in_background(const struct th_agent *agent)
{
	const struct th_agent_command *list = agent->commands.list;

	for (size_t i = 0; i < agent->commands.count; i++)
		if (list[i].background)
			return true;
	return false;
}

/* What comes with a computer of any kind. */
static bool is_of_computers(struct th_str name)
{
	for (size_t i = 0; th_computer_kinds[i]; i++)
		if (th_computer_kinds[i]->tool && th_str_is(name, th_computer_kinds[i]->tool))
			return true;
	return th_str_is(name, "computer");
}

/* Tools that come with something else that the agent has. */
static bool is_implied(const struct check *c, struct th_str name)
{
	const struct th_agent *agent = c->agent;

	return (th_str_is(name, "computer") && agent->computer) ||
	       (c->scope->other_computer && is_of_computers(name)) ||
	       (th_str_is(name, "skill") && agent->skills) ||
	       (th_str_is(name, "background") && any_in_background(agent)) ||
	       th_agent_command_find(&agent->commands, name) ||
	       th_agent_mcp_may_have(&agent->mcp_servers, name) ||
	       (agent->hosted_tools.len && th_str_find_char(name, '.') > 0);
}

static bool is_there(const struct check *c, struct th_str name, bool functions_later)
{
	const struct th_strs *tools = c->scope->tools;
	bool ours = th_tool_name(name) != NULL || th_str_is(name, "computer");

	if (is_implied(c, name))
		return true;
	for (size_t i = 0; tools && i < tools->count; i++)
		if (th_tool_named(name, tools->list[i]))
			return true;
	if (!ours && (functions_later || c->agent->handoffs.len || c->agent->subagents))
		return !nearest(name);
	return ours && (!tools || c->agent->subagents) && !th_str_is(name, "computer");
}

static enum th_code fail(const struct check *c, struct th_str name)
{
	struct th_buf has TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	const struct th_strs *tools = c->scope->tools;
	const char *near = th_tool_name(name) || th_str_is(name, "computer") ? NULL : nearest(name);
	struct th_str shown = th_utf8_cut(name, TH_NAME_NEAR_MAX);

	if (near)
		return th_fail(c->err, TH_EUSAGE,
			       "is \"%.*s\", which is not a tool; did you mean \"%s\"?",
			       TH_FMT(shown), near);
	for (size_t i = 0; tools && i < tools->count; i++)
		th_buf_printf(&has, "%s%.*s", i ? ", " : "", TH_FMT(tools->list[i]));
	return th_fail(c->err, TH_EUSAGE, "is \"%.*s\", which is no tool of this agent%s%.*s",
		       TH_FMT(shown), has.len ? "; it has: " : "",
		       TH_FMT(th_utf8_cut(th_buf_str(&has), 300)));
}

static bool is_pattern(struct th_str name)
{
	return th_str_find_char(name, '*') >= 0 || th_str_find_char(name, '?') >= 0;
}

static enum th_code check_list(const struct check *c, const char *field, size_t at, const char *of,
			       const struct th_strs *list, bool patterns)
{
	for (size_t i = 0; i < list->count; i++) {
		if ((patterns && is_pattern(list->list[i])) ||
		    is_there(c, list->list[i], c->scope->functions_later))
			continue;
		if (of)
			th_buf_printf(c->path, "%s[%zu].%s[%zu]", field, at, of, i);
		else
			th_buf_printf(c->path, "%s[%zu]", field, i);
		return fail(c, list->list[i]);
	}
	return TH_OK;
}

static enum th_code check_approve(const struct check *c)
{
	const struct th_strs *list = &c->agent->approve;

	for (size_t i = 0; i < list->count; i++) {
		if (th_str_is(list->list[i], "all") || is_there(c, list->list[i], false))
			continue;
		th_buf_printf(c->path, "approve[%zu]", i);
		return fail(c, list->list[i]);
	}
	return TH_OK;
}

static enum th_code check_rules(const struct check *c)
{
	const struct th_agent_rule *rules = c->agent->rules.list;

	for (size_t i = 0; i < c->agent->rules.count; i++) {
		if (!rules[i].tool.len || is_pattern(rules[i].tool) ||
		    is_there(c, rules[i].tool, c->scope->functions_later))
			continue;
		th_buf_printf(c->path, "rules[%zu].tool", i);
		return fail(c, rules[i].tool);
	}
	return TH_OK;
}

enum th_code th_policy_names_check(const struct th_policy_scope *scope,
				   const struct th_agent *agent, struct th_buf *path,
				   struct th_err *err)
{
	const struct check c = { scope, agent, path, err };
	const struct th_agent_guardrail *guards = agent->guardrails.list;
	enum th_code code;

	code = check_approve(&c) ?: check_rules(&c)
				    ?: check_list(&c, "quarantine", 0, NULL, &agent->quarantine, true);
	for (size_t i = 0; i < agent->guardrails.count && !code; i++)
		code = check_list(&c, "guardrails", i, "tools", &guards[i].tools, false);
	return code;
}
