/* SPDX-License-Identifier: Apache-2.0 */
#include "config/agent_check.h"

#include <stdio.h>

#include "agents/agent_secret.h"
#include "agents/origin.h"
#include "agents/team.h"
#include "base/label.h"
#include "base/text.h"
#include "config/computer.h"
#include "config/policy_names.h"
#include "config/read.h"
#include "config/script.h"
#include "config/yaml.h"
#include "context/condenser.h"
#include "tools/tool.h"

enum th_code th_agent_check_fail(const struct th_agent_checker *c, struct th_str path,
				 const char *fmt, ...)
{
	struct th_buf what = TH_BUF_INIT(TH_ERR_MSG_MAX * 4);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&what, fmt, ap);
	va_end(ap);
	(void)th_fail(c->err, TH_EUSAGE, "%.*s:%d: %.*s %s", TH_FMT(c->name),
		      th_yaml_line(c->yaml, path), TH_FMT(path), what.ptr);
	th_buf_deinit(&what);
	return TH_EUSAGE;
}

static enum th_code check_tools(const struct th_agent_checker *c, const struct th_agent *agent)
{
	const char *names[TH_AGENT_TOOLS_MAX + 2] = { "none" };
	const struct th_strs *list = &agent->tools;

	(void)th_tool_names(names + 1);
	for (size_t i = 0; i < list->count; i++) {
		struct th_str shown = th_utf8_cut(list->list[i], TH_NAME_NEAR_MAX);
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
		const char *near;

		if (th_names_find(names, list->list[i]) >= 0 ||
		    th_agent_command_find(&agent->commands, list->list[i]))
			continue;
		near = th_names_nearest(names, list->list[i]);
		th_buf_printf(&path, "tools[%zu]", i);
		return th_agent_check_fail(
		    c, th_buf_str(&path), "is \"%.*s\", which is not a tool%s%s%s", TH_FMT(shown),
		    near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	}
	return TH_OK;
}

/* A first agent that names no tools gets them from the configuration, or from who runs it. */
static enum th_code check_policies(const struct th_agent_checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_str defaults[TH_AGENT_TOOLS_MAX];
	struct th_strs tools = agent->tools;
	struct th_policy_scope scope = { .tools = &tools,
					 .functions_later = true,
					 .other_computer = true };
	struct th_err why;

	if (c->member.len)
		th_buf_printf(&path, "agents.%.*s.", TH_FMT(c->member));
	if (!tools.count && c->member.len)
		tools = (struct th_strs){ defaults, th_config_default_tools(agent, defaults) };
	if (!tools.count)
		scope.tools = NULL;
	return th_policy_names_check(&scope, agent, &path, &why)
		   ? th_agent_check_fail(c, th_buf_str(&path), "%s", why.msg)
		   : TH_OK;
}

/* What a check of core/ says of the field at `path`. */
static enum th_code fail_checked(const struct th_agent_checker *c, const struct th_buf *path,
				 const struct th_err *why)
{
	(void)th_fail(c->err, TH_EUSAGE, "%s: %s", path->ptr, why->msg);
	th_tools_place_err(c->places, c->err);
	return th_config_table_err(c->yaml, c->name, TH_EUSAGE, c->err);
}

static enum th_code check_commands(const struct th_agent_checker *c, const struct th_agent *agent)
{
	/* Those of ours that an agent has without a word are taken.  Others may be named so: a new
	 * tool of ours breaks no file that is there. */
	const char *taken[2 * TH_AGENT_TOOLS_MAX + 5] = { "all", "none", "computer", "command" };
	struct th_str ours[TH_AGENT_TOOLS_MAX];
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t count = th_tools_default(ours), at = 4;
	struct th_err why;
	enum th_code code;

	for (size_t i = 0; i < count; i++)
		taken[at++] = ours[i].ptr;
	count = th_tools_former(ours);
	for (size_t i = 0; i < count; i++)
		taken[at++] = ours[i].ptr;
	code = th_agent_commands_check(&agent->commands, taken, &path, &why);
	if (code == TH_OK)
		return TH_OK;
	return fail_checked(c, &path, &why);
}

static enum th_code check_servers(const struct th_agent_checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_err why;

	return th_agent_mcp_check(&agent->mcp_servers, &path, &why) ? fail_checked(c, &path, &why)
								    : TH_OK;
}

static enum th_code check_rules(const struct th_agent_checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_err why;

	return th_rules_check(&agent->rules, &path, &why) ? fail_checked(c, &path, &why) : TH_OK;
}

static enum th_code check_net(const struct th_agent_checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_net_policy policy;
	struct th_err why;
	size_t at = 0;

	th_arena_init(&a, TH_MIB);
	enum th_code code = th_net_parse(agent->net, &a, &policy, &at, &why);
	if (code == TH_OK && (!agent->net_ask || policy.kind == TH_NET_LIST))
		return TH_OK;
	if (code == TH_OK) {
		th_fail(&why, TH_EUSAGE, "needs a net that is a list of hosts");
		th_buf_add_cstr(&path, "net_ask");
	} else if (at == SIZE_MAX)
		th_buf_add_cstr(&path, "net");
	else
		th_buf_printf(&path, "net[%zu]", at);
	return fail_checked(c, &path, &why);
}

static enum th_code check_untrusted(const struct th_agent_checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_buf at TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_NAME_NEAR_MAX);
	struct th_untrusted policy;
	struct th_err why;
	enum th_code code = th_untrusted_read(agent->untrusted, &policy, &path, &why);

	if (code == TH_OK && policy.ask & TH_GUARDED_BIT(TH_GUARDED_HOST) &&
	    th_net_kind_of(agent->net) == TH_NET_HOST)
		code = th_fail(&why, TH_EUSAGE,
			       "cannot ask about hosts where net is host: make net none or a list");
	th_buf_printf(&at, "untrusted%s%s", path.len ? "." : "", path.ptr);
	return code ? fail_checked(c, &at, &why) : TH_OK;
}

/* The programs that get a secret are there.  Those of other agents of the team are not looked for.
 */
static enum th_code check_takers(const struct th_agent *agent, const struct th_agent_secret *s,
				 struct th_buf *path, struct th_err *why)
{
	for (size_t i = 0; i < s->tools.count && !agent->agents.len; i++) {
		const struct th_agent_command *c =
		    th_agent_command_find(&agent->commands, s->tools.list[i]);

		th_buf_clear(path);
		th_buf_printf(path, "%.*s.tools[%zu]", TH_FMT(s->name), i);
		if (!c || !c->command.count)
			return th_fail(why, TH_EUSAGE,
				       "is no program that is a tool of this agent");
	}
	for (size_t i = 0; i < s->servers.count && !agent->agents.len; i++) {
		const struct th_agent_mcp *server =
		    th_agent_mcp_find(&agent->mcp_servers, s->servers.list[i]);

		th_buf_clear(path);
		th_buf_printf(path, "%.*s.servers[%zu]", TH_FMT(s->name), i);
		if (!server || !server->command.count)
			return th_fail(why, TH_EUSAGE,
				       "is no MCP server of this agent that is a program");
	}
	return TH_OK;
}

static enum th_code check_secrets(const struct th_agent_checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_buf at TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_NAME_NEAR_MAX);
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent_secrets secrets;
	struct th_err why;
	bool goes_out = false;

	th_arena_init(&a, TH_MIB);
	enum th_code code = th_agent_secrets_read(agent->secrets, &a, &secrets, &path, &why);
	for (size_t i = 0; code == TH_OK && i < secrets.count; i++)
		goes_out |= !secrets.list[i].give;
	for (size_t i = 0; code == TH_OK && i < secrets.count; i++)
		code = check_takers(agent, &secrets.list[i], &path, &why);
	if (code == TH_OK && goes_out && th_net_kind_of(agent->net) != TH_NET_LIST)
		code = th_fail(&why, TH_EUSAGE,
			       "need a net that is a list of hosts: the egress puts them in");
	th_buf_printf(&at, "secrets%s%s", path.len ? "." : "", path.ptr);
	return code ? fail_checked(c, &at, &why) : TH_OK;
}

static enum th_code check_environment(const struct th_agent_checker *c, const struct th_agent *a)
{
	const struct th_strs *list = &a->environment;

	for (size_t i = 0; i < list->count; i++) {
		struct th_str s = list->list[i];
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);

		if (th_str_find_char(s, '=') > 0 && !memchr(s.ptr, '\0', s.len))
			continue;
		th_buf_printf(&path, "environment[%zu]", i);
		return th_agent_check_fail(c, th_buf_str(&path), "must be NAME=value");
	}
	return TH_OK;
}

static enum th_code check_computer(const struct th_agent_checker *c, const struct th_agent *a)
{
	const struct th_agent_computer *k = a->computer;
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_NAME_NEAR_MAX);
	struct th_err why;

	return k && th_config_computer_check(k, &path, &why) ? fail_checked(c, &path, &why) : TH_OK;
}

static enum th_code check_fallback(const struct th_agent_checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t at = 0;
	const char *fault = th_agent_fallback_fault(a, &at);

	th_buf_printf(&path, "fallback[%zu]", at);
	return fault ? th_agent_check_fail(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

static enum th_code check_labels(const struct th_agent_checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t at = 0;
	const char *fault = th_labels_fault(&a->labels, &at);

	th_buf_printf(&path, "labels[%zu]", at);
	return fault ? th_agent_check_fail(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

static enum th_code check_numbers(const struct th_agent_checker *c, const struct th_agent *a)
{
	const char *member, *fault = th_agent_numbers_fault(a, &member);

	return fault ? th_agent_check_fail(c, th_str_of(member), "%s", fault) : TH_OK;
}

static enum th_code check_settings(const struct th_agent_checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	const char *member, *fault = th_agent_settings_fault(a->settings, &member);

	th_buf_printf(&path, "settings.%s", member);
	return fault ? th_agent_check_fail(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

static enum th_code check_native(const struct th_agent_checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t at = 0;
	const char *fault = th_agent_native_fault(a, &at);

	th_buf_printf(&path, "native_tools[%zu]", at);
	return fault ? th_agent_check_fail(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

/* Functions and the computer are ours to run. */
static enum th_code check_hosted(const struct th_agent_checker *c, const struct th_agent *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	enum th_code code = TH_OK;

	if (!a->hosted_tools.len)
		return TH_OK;
	code = th_json_parse(a->hosted_tools, &doc, c->err);
	if (code)
		return code;
	if (!th_json_is_array(th_json_root(doc)))
		return th_agent_check_fail(c, TH_STR("hosted_tools"), "must be a list");
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);) {
		struct th_str type = th_json_get_str(it.val, "type");
		bool mcp = th_str_is(type, "mcp");
		bool shell = th_str_is(type, "shell") && !th_native_is_theirs(it.val);

		if (mcp && !th_json_get_str(it.val, "server_label").len)
			return th_agent_check_fail(
			    c, TH_STR("hosted_tools"),
			    "has an mcp without a server_label, by which its calls "
			    "are told apart");
		if (!type.len || th_str_is(type, "function") || th_str_is(type, "custom") ||
		    shell || th_str_is(type, "apply_patch") || th_str_is(type, "local_shell") ||
		    th_str_is(th_str_sub(type, 0, 8), "computer"))
			return th_agent_check_fail(
			    c, TH_STR("hosted_tools"),
			    "is for what the provider runs itself, such as web_search: "
			    "each has such a type");
	}
	return TH_OK;
}

static enum th_code check_pure(const struct th_agent_checker *c, const struct th_agent *a)
{
	enum th_code code = th_agent_check_output(a, c->err);

	if (!code)
		code = th_condenser_check(a->compact, c->err);
	if (!code && a->result_bytes && a->result_bytes < TH_RESULT_SHOWN_MIN)
		code = th_fail(c->err, TH_ELIMIT, "result_bytes must be %d at least",
			       TH_RESULT_SHOWN_MIN);
	return code ? th_prefix(c->err, code, "%.*s", TH_FMT(c->name)) : TH_OK;
}

static enum th_code check_confirm(const struct th_agent_checker *c, const struct th_agent *a)
{
	char path[64];
	const char *at, *fault = a->confirm ? th_confirm_fault(a->confirm, &at) : NULL;

	if (!fault)
		return TH_OK;
	snprintf(path, sizeof(path), "confirm.%s", at);
	return th_agent_check_fail(c, th_str_of(path), "%s", fault);
}

typedef enum th_code check_fn(const struct th_agent_checker *c, const struct th_agent *a);

enum th_code th_agent_check(const struct th_agent_checker *c, const struct th_agent *a)
{
	static check_fn *const checks[] = {
		check_computer, check_confirm,   check_fallback, check_labels,   check_settings,
		check_numbers,  check_hosted,    check_native,   check_commands, check_servers,
		check_tools,    check_rules,     check_pure,     check_policies, check_environment,
		check_net,      check_untrusted, check_secrets,
	};
	enum th_code code = TH_OK;

	for (size_t i = 0; i < TH_COUNT(checks) && !code; i++)
		code = checks[i](c, a);
	return code;
}

/* The other agents, and all that they say of each other. */
enum th_code th_agent_check_team(const struct th_agent_checker *c, const struct th_agent *agent,
				 const struct th_json *root, struct th_arena *a)
{
	static const struct th_tools_places no_places;
	struct th_agent_checker of_member = { c->yaml, c->name, &no_places, c->err, TH_STR("") };
	const struct th_team *team;
	enum th_code code = th_team_resolve(root, a, &team, c->err);

	for (size_t i = 1; code == TH_OK && i < team->count; i++) {
		struct th_agent member;

		code = th_team_agent(root, i, a, &member, c->err);
		of_member.member = team->members[i].name;
		if (code == TH_OK)
			code = th_agent_check(&of_member, &member);
		if (code != TH_OK)
			return code;
	}
	if (code == TH_OK)
		code = th_config_check_script(agent, root, team, c->err);
	return code ? th_prefix(c->err, code, "%.*s", TH_FMT(c->name)) : TH_OK;
}
