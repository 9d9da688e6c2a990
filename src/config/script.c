/* SPDX-License-Identifier: Apache-2.0 */
#include "config/script.h"

#include <stdio.h>

#include "base/text.h"
#include "script/callbacks.h"

#define AGENT_MEMORY_MAX (16 * TH_CONFIG_SIZE_MAX)

struct check {
	const struct th_script_code *code; /* NULL: there is none */
	bool alone;                        /* and nobody else has functions */
	struct th_str agent;
	struct th_err *err;
};

/* Is it there, as far as can be seen?  Else `why`. */
static bool is_there(const struct check *c, struct th_str function, struct th_err *why)
{
	if (c->code)
		return !th_script_code_check(c->code, function, why);
	(void)th_fail(why, TH_ENOENT,
		      "\"%.*s\" is a function of a script, and there is none: give script or "
		      "script_file",
		      TH_FMT(th_utf8_cut(function, 80)));
	return !c->alone;
}

/* `what`: the field, as the agent file has it. */
static enum th_code look_for(const struct check *c, const char *what, struct th_str function)
{
	struct th_err why;

	if (!function.len || is_there(c, function, &why))
		return TH_OK;
	return th_fail(c->err, TH_EUSAGE, "agent \"%.*s\", %s: %s",
		       TH_FMT(th_utf8_cut(c->agent.len ? c->agent : TH_STR("default"), 80)), what,
		       why.msg);
}

static enum th_code look_for_hooks(const struct check *c, const char *what,
				   const struct th_agent_hooks *hooks)
{
	enum th_code code = TH_OK;
	char field[64];

	for (int i = 0; !code && i < TH_HOOK_COUNT; i++) {
		snprintf(field, sizeof(field), "%s.%s", what, th_hook_name((enum th_hook)i));
		code = look_for(c, field, th_agent_hook(hooks, (enum th_hook)i));
	}
	return code;
}

static enum th_code check_member(const struct check *c, const struct th_agent *agent,
				 const struct th_member *m)
{
	const struct th_agent_command *tools = agent->commands.list;
	enum th_code code = look_for(c, "instructions_from", agent->instructions_from);
	char field[2 * TH_FUNCTION_NAME_MAX];

	for (size_t i = 0; !code && i < agent->commands.count; i++) {
		if (tools[i].script.len && !c->code)
			return th_fail(c->err, TH_EUSAGE,
				       "the tool \"%.*s\" is a function of a script, and there is "
				       "none: give script or script_file",
				       TH_FMT(tools[i].name));
		snprintf(field, sizeof(field), "tools, \"%.*s\", script", TH_FMT(tools[i].name));
		code = look_for(c, field, tools[i].script);
	}
	for (size_t i = 0; !code && i < m->guard_count; i++) {
		if (m->guards[i].program)
			continue;
		snprintf(field, sizeof(field), "guardrails[%zu].name", i);
		code = look_for(c, field, m->guards[i].name);
	}
	for (size_t i = 0; !code && i < m->handoff_count; i++) {
		snprintf(field, sizeof(field), "handoffs, \"%.*s\", filter",
			 TH_FMT(m->handoffs[i].tool));
		code = look_for(c, field, m->handoffs[i].filter);
	}
	if (!code)
		code = look_for(c, "history_mapper", agent->history_mapper);
	if (!code)
		code = look_for(c, "approve_from", agent->approve_from);
	if (!code)
		code = look_for(c, "decide_from", agent->decide_from);
	if (!code)
		code = look_for_hooks(c, "hooks", agent->hooks);
	if (!code)
		code = look_for_hooks(c, "run_hooks", agent->run_hooks);
	if (!code)
		code = look_for(c, "input_filter", agent->input_filter);
	if (!code)
		code = look_for(c, "session_input", agent->session_input);
	if (!code && agent->compact)
		code = look_for(c, "compact.from", agent->compact->from);
	return code ?: look_for(c, "tool_use_behavior.code", m->tool_use_fn);
}

static enum th_code check(const struct th_agent *agent, const struct th_json *definition,
			  const struct th_team *team, bool alone, struct th_err *err)
{
	struct th_script_code script;
	struct check c = { NULL, alone, agent->name, err };
	enum th_code code = TH_OK;
	struct th_err why;

	if (th_script_code_init(agent, &script)) {
		c.code = &script;
		if (th_script_code_check(&script, TH_STR(""), &why))
			code = th_fail(err, TH_EUSAGE, "%s%s", why.msg,
				       th_str_ends(th_str_trim(agent->script), TH_STR(".lua"))
					   ? "; script is the source itself, and script_file "
					     "names a file with it"
					   : "");
	}
	for (size_t i = 0; !code && i < team->count; i++) {
		struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
		struct th_agent member = *agent;

		th_arena_init(&a, AGENT_MEMORY_MAX);
		if (i > 0)
			code = th_team_agent(definition, i, &a, &member, err);
		c.agent = member.name;
		if (!code)
			code = check_member(&c, &member, &team->members[i]);
	}
	return code;
}

enum th_code th_config_check_script(const struct th_agent *agent, const struct th_json *definition,
				    const struct th_team *team, struct th_err *err)
{
	return check(agent, definition, team, false, err);
}

enum th_code th_config_check_alone(const struct th_agent *agent, struct th_str file,
				   struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(AGENT_MEMORY_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	const struct th_team *team;
	struct th_jw w = th_jw(&text);
	enum th_code code;

	th_arena_init(&a, AGENT_MEMORY_MAX);
	if (agent->script.len) /* it was looked at when the file was read */
		return TH_OK;
	th_table_print(&th_agent_table, agent, &w);
	code = th_json_parse(th_buf_str(&text), &doc, err);
	if (!code)
		code = th_team_resolve(th_json_root(doc), &a, &team, err);
	if (!code)
		code = check(agent, th_json_root(doc), team, true, err);
	return code ? th_prefix(err, code, "%.*s", TH_FMT(file)) : TH_OK;
}
