/* SPDX-License-Identifier: Apache-2.0 */
#include "run/config_script.h"

#include "base/text.h"
#include "run/script_code.h"

#define AGENT_MEMORY_MAX (16 * TH_CONFIG_SIZE_MAX)

struct check {
	const struct th_script_code *code; /* NULL: there is none */
	struct th_str agent;
	struct th_err *err;
};

static enum th_code look_for(const struct check *c, const char *what, struct th_str function)
{
	struct th_err why;

	if (!function.len || !c->code || !th_script_code_check(c->code, function, &why))
		return TH_OK;
	return th_fail(c->err, TH_EUSAGE, "agent \"%.*s\", %s: %s",
		       TH_FMT(th_utf8_cut(c->agent.len ? c->agent : TH_STR("default"), 80)), what,
		       why.msg);
}

static enum th_code look_for_hooks(const struct check *c, const char *what,
				   const struct th_agent_hooks *hooks)
{
	enum th_code code = TH_OK;

	for (int i = 0; !code && i < TH_HOOK_COUNT; i++)
		code = look_for(c, what, th_agent_hook(hooks, (enum th_hook)i));
	return code;
}

static enum th_code check_member(const struct check *c, const struct th_agent *agent,
				 const struct th_member *m)
{
	const struct th_agent_command *tools = agent->commands.list;
	enum th_code code = look_for(c, "instructions_from", agent->instructions_from);

	for (size_t i = 0; !code && i < agent->commands.count; i++) {
		if (tools[i].script.len && !c->code)
			return th_fail(c->err, TH_EUSAGE,
				       "the tool \"%.*s\" is a function of a script, and there is "
				       "none: give script or script_file",
				       TH_FMT(tools[i].name));
		code = look_for(c, "tools", tools[i].script);
	}
	for (size_t i = 0; !code && i < m->guard_count; i++)
		code = look_for(c, "guardrails", m->guards[i].name);
	for (size_t i = 0; !code && i < m->handoff_count; i++)
		code = look_for(c, "handoffs", m->handoffs[i].filter);
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
		code = look_for(c, "compact", agent->compact->from);
	return code ?: look_for(c, "tool_use_behavior", m->tool_use_fn);
}

enum th_code th_config_check_script(const struct th_agent *agent, const struct th_json *definition,
				    const struct th_team *team, struct th_err *err)
{
	struct th_script_code script;
	struct check c = { NULL, agent->name, err };
	enum th_code code = TH_OK;
	struct th_err why;

	if (th_script_code_init(agent, &script)) {
		c.code = &script;
		if (th_script_code_check(&script, TH_STR(""), &why))
			code = th_fail(err, TH_EUSAGE, "%s", why.msg);
	}
	for (size_t i = 0; !code && i < team->count; i++) {
		struct th_arena a TH_CLEANUP(th_arena_deinit);
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
