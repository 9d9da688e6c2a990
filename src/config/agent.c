/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - agent files: read, looked at beyond what their table can say, and copied.
 */
#include "config/config.h"

#include <stdio.h>
#include <unistd.h>

#include "agents/agent_secret.h"
#include "agents/origin.h"
#include "agents/team.h"
#include "base/label.h"
#include "base/text.h"
#include "config/computer.h"
#include "config/read.h"
#include "config/script.h"
#include "config/tools.h"
#include "config/yaml.h"
#include "context/condenser.h"
#include "tools/tool.h"

/* ---- agents ---- */

static enum th_code copy_strs(const struct th_strs *from, struct th_arena *a, struct th_strs *to)
{
	to->count = from->count;
	to->list = from->list ? th_arena_array(a, from->count, sizeof(*to->list)) : NULL;
	if (from->list && !to->list)
		return TH_ELIMIT;
	for (size_t i = 0; i < from->count; i++) {
		to->list[i] = th_arena_str(a, from->list[i]);
		if (!to->list[i].ptr)
			return TH_ELIMIT;
	}
	return TH_OK;
}

static enum th_code copy_table(const struct th_table *t, void *to, struct th_arena *a);

static enum th_code copy_objects(const struct th_field *f, struct th_objects *to,
				 struct th_arena *a)
{
	struct th_objects from = *to;
	enum th_code code = TH_OK;

	if (!from.list)
		return TH_OK;
	to->list = th_arena_array(a, from.count + 1, f->sub->size);
	if (!to->list)
		return TH_ELIMIT;
	memcpy(to->list, from.list, from.count * f->sub->size);
	for (size_t i = 0; i < from.count && !code; i++)
		code = copy_table(f->sub, (char *)to->list + i * f->sub->size, a);
	return code;
}

/* `to` is a flat copy of `from`: what it points to is copied into the arena. */
static enum th_code copy_table(const struct th_table *t, void *to, struct th_arena *a)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < t->count && code == TH_OK; i++) {
		const struct th_field *f = &t->fields[i];
		void *cell = (char *)to + f->offset;
		struct th_str *s = cell;
		void **sub = cell;

		if (f->kind == TH_FIELD_strs) {
			struct th_strs from = *(struct th_strs *)cell;

			code = copy_strs(&from, a, cell);
		} else if (f->kind == TH_FIELD_ints && *sub) {
			struct th_ints *list = cell;
			const int64_t *from = list->list;

			list->list = th_arena_array(a, list->count, sizeof(*from));
			if (!list->list)
				return TH_ELIMIT;
			memcpy(list->list, from, list->count * sizeof(*from));
		} else if ((f->kind == TH_FIELD_str || f->kind == TH_FIELD_raw) && s->ptr) {
			*s = th_arena_str(a, *s);
			code = s->ptr ? TH_OK : TH_ELIMIT;
		} else if (f->kind == TH_FIELD_object && *sub) {
			const void *from = *sub;

			*sub = th_arena_alloc(a, f->sub->size);
			if (!*sub)
				return TH_ELIMIT;
			memcpy(*sub, from, f->sub->size);
			code = copy_table(f->sub, *sub, a);
		} else if (f->kind == TH_FIELD_objects) {
			code = copy_objects(f, cell, a);
		}
	}
	return code;
}

enum th_code th_agent_copy(const struct th_agent *from, struct th_arena *a, struct th_agent *ret,
			   struct th_err *err)
{
	struct th_agent copy = *from;
	enum th_code code = copy_table(&th_agent_table, &copy, a);

	if (code != TH_OK)
		return th_fail(err, code, "the agent's definition is too large");
	*ret = copy;
	return TH_OK;
}

static const char default_instructions[] =
    "You do tasks on a Linux computer with the tools you are given.\n"
    "Your commands and files are in the workspace, the current folder; other folders may be "
    "read-only, and "
    "there may be no network.\n"
    "Where you have a computer, look at the screen before you act and check on it that each step "
    "worked.\n"
    "When an outcome is said to be unknown, look before you do it again.\n"
    "Work until the task is done, check the result, then say in a few sentences what you did and "
    "what you found.";

void th_agent_default(struct th_agent *ret)
{
	*ret = (struct th_agent){
		.name = TH_STR("default"),
		.instructions = th_str_of(default_instructions),
	};
}

/* ---- what an agent file's table cannot say ---- */

struct checker {
	struct th_str yaml, name;
	const struct th_tools_places *places;
	struct th_err *err;
};

TH_PRINTF(3, 4)
static enum th_code fail_path(const struct checker *c, struct th_str path, const char *fmt, ...)
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

/* One list of names against what is known; `more`, `computer`: words that are no tools. */
static enum th_code check_tools(const struct checker *c, const struct th_agent *agent,
				const char *field, const struct th_strs *list, const char *more,
				const char *computer)
{
	const char *names[TH_AGENT_TOOLS_MAX + 4] = { more, computer };
	size_t count = computer ? 2 : 1;

	count += th_tool_names(names + count);
	for (size_t i = 0; i < list->count; i++) {
		struct th_str shown = th_utf8_cut(list->list[i], TH_NAME_NEAR_MAX);
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
		const char *near;

		if (th_names_find(names, list->list[i]) >= 0 ||
		    th_agent_command_find(&agent->commands, list->list[i]) ||
		    (computer && th_agent_mcp_may_have(&agent->mcp_servers, list->list[i])))
			continue;
		near = th_names_nearest(names, list->list[i]);
		th_buf_printf(&path, "%s[%zu]", field, i);
		return fail_path(c, th_buf_str(&path), "is \"%.*s\", which is not a tool%s%s%s",
				 TH_FMT(shown), near ? "; did you mean \"" : "", near ? near : "",
				 near ? "\"?" : "");
	}
	return TH_OK;
}

/* A rule or a guardrail about a tool that is not there would hold nothing back, and not say so. One
 * of the program's functions may come later: only a name that looks like a known one is a slip. */
static enum th_code check_slip(const struct checker *c, const struct th_agent *agent,
			       struct th_str tool, const char *path)
{
	const char *names[TH_AGENT_TOOLS_MAX + 4] = { "computer" }, *near;
	size_t count = 1;

	count += th_tool_names(names + count);
	if (th_str_find_char(tool, '*') >= 0 || th_str_find_char(tool, '?') >= 0 || !tool.len ||
	    th_names_find(names, tool) >= 0 || th_agent_command_find(&agent->commands, tool) ||
	    th_agent_mcp_may_have(&agent->mcp_servers, tool))
		return TH_OK;
	near = th_names_nearest(names, tool);
	if (!near)
		return TH_OK;
	return fail_path(c, th_str_of(path),
			 "is \"%.*s\", which is not a tool; did you mean \"%s\"?",
			 TH_FMT(th_utf8_cut(tool, TH_NAME_NEAR_MAX)), near);
}

static enum th_code check_slips(const struct checker *c, const struct th_agent *agent)
{
	const struct th_agent_guardrail *guards = agent->guardrails.list;
	const struct th_agent_rule *rules = agent->rules.list;
	enum th_code code = TH_OK;
	char path[64];

	for (size_t i = 0; i < agent->guardrails.count; i++)
		for (size_t k = 0; code == TH_OK && k < guards[i].tools.count; k++) {
			snprintf(path, sizeof(path), "guardrails[%zu].tools[%zu]", i, k);
			code = check_slip(c, agent, guards[i].tools.list[k], path);
		}
	for (size_t i = 0; code == TH_OK && i < agent->rules.count; i++) {
		snprintf(path, sizeof(path), "rules[%zu].tool", i);
		code = check_slip(c, agent, rules[i].tool, path);
	}
	return code;
}

/* What a check of core/ says of the field at `path`. */
static enum th_code fail_checked(const struct checker *c, const struct th_buf *path,
				 const struct th_err *why)
{
	(void)th_fail(c->err, TH_EUSAGE, "%s: %s", path->ptr, why->msg);
	th_tools_place_err(c->places, c->err);
	return th_config_table_err(c->yaml, c->name, TH_EUSAGE, c->err);
}

static enum th_code check_commands(const struct checker *c, const struct th_agent *agent)
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

static enum th_code check_servers(const struct checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_err why;

	return th_agent_mcp_check(&agent->mcp_servers, &path, &why) ? fail_checked(c, &path, &why)
								    : TH_OK;
}

static enum th_code check_rules(const struct checker *c, const struct th_agent *agent)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_err why;

	return th_rules_check(&agent->rules, &path, &why) ? fail_checked(c, &path, &why) : TH_OK;
}

static enum th_code check_net(const struct checker *c, const struct th_agent *agent)
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

static enum th_code check_untrusted(const struct checker *c, const struct th_agent *agent)
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

static enum th_code check_secrets(const struct checker *c, const struct th_agent *agent)
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

static enum th_code check_environment(const struct checker *c, const struct th_strs *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct th_str s = list->list[i];
		struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);

		if (th_str_find_char(s, '=') > 0 && !memchr(s.ptr, '\0', s.len))
			continue;
		th_buf_printf(&path, "environment[%zu]", i);
		return fail_path(c, th_buf_str(&path), "must be NAME=value");
	}
	return TH_OK;
}

static enum th_code check_computer(const struct checker *c, const struct th_agent_computer *k)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_NAME_NEAR_MAX);
	struct th_err why;

	return k && th_config_computer_check(k, &path, &why) ? fail_checked(c, &path, &why) : TH_OK;
}

static enum th_code check_fallback(const struct checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t at = 0;
	const char *fault = th_agent_fallback_fault(a, &at);

	th_buf_printf(&path, "fallback[%zu]", at);
	return fault ? fail_path(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

static enum th_code check_labels(const struct checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t at = 0;
	const char *fault = th_labels_fault(&a->labels, &at);

	th_buf_printf(&path, "labels[%zu]", at);
	return fault ? fail_path(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

static enum th_code check_numbers(const struct checker *c, const struct th_agent *a)
{
	const char *member, *fault = th_agent_numbers_fault(a, &member);

	return fault ? fail_path(c, th_str_of(member), "%s", fault) : TH_OK;
}

static enum th_code check_settings(const struct checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	const char *member, *fault = th_agent_settings_fault(a->settings, &member);

	th_buf_printf(&path, "settings.%s", member);
	return fault ? fail_path(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

static enum th_code check_native(const struct checker *c, const struct th_agent *a)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	size_t at = 0;
	const char *fault = th_agent_native_fault(a, &at);

	th_buf_printf(&path, "native_tools[%zu]", at);
	return fault ? fail_path(c, th_buf_str(&path), "%s", fault) : TH_OK;
}

/* Functions and the computer are ours to run. */
static enum th_code check_hosted(const struct checker *c, const struct th_agent *a)
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
		return fail_path(c, TH_STR("hosted_tools"), "must be a list");
	for (it = th_json_iter(th_json_root(doc)); th_json_next(&it);) {
		struct th_str type = th_json_get_str(it.val, "type");
		bool mcp = th_str_is(type, "mcp");
		bool shell = th_str_is(type, "shell") && !th_native_is_theirs(it.val);

		if (mcp && !th_json_get_str(it.val, "server_label").len)
			return fail_path(c, TH_STR("hosted_tools"),
					 "has an mcp without a server_label, by which its calls "
					 "are told apart");
		if (!type.len || th_str_is(type, "function") || th_str_is(type, "custom") ||
		    shell || th_str_is(type, "apply_patch") || th_str_is(type, "local_shell") ||
		    th_str_is(th_str_sub(type, 0, 8), "computer"))
			return fail_path(
			    c, TH_STR("hosted_tools"),
			    "is for what the provider runs itself, such as web_search: "
			    "each has such a type");
	}
	return TH_OK;
}

static enum th_code check_pure(const struct checker *c, const struct th_agent *a)
{
	enum th_code code = th_agent_check_output(a, c->err);

	if (!code)
		code = th_condenser_check(a->compact, c->err);
	if (!code && a->result_bytes && a->result_bytes < TH_RESULT_SHOWN_MIN)
		code = th_fail(c->err, TH_ELIMIT, "result_bytes must be %d at least",
			       TH_RESULT_SHOWN_MIN);
	return code ? th_prefix(c->err, code, "%.*s", TH_FMT(c->name)) : TH_OK;
}

static enum th_code check_confirm(const struct checker *c, const struct th_agent *a)
{
	char path[64];
	const char *at, *fault = a->confirm ? th_confirm_fault(a->confirm, &at) : NULL;

	if (!fault)
		return TH_OK;
	snprintf(path, sizeof(path), "confirm.%s", at);
	return fail_path(c, th_str_of(path), "%s", fault);
}

static enum th_code check_agent(const struct checker *c, const struct th_agent *a)
{
	enum th_code code = check_computer(c, a->computer);

	if (code == TH_OK)
		code = check_confirm(c, a);

	if (code == TH_OK)
		code = check_fallback(c, a);
	if (code == TH_OK)
		code = check_labels(c, a);
	if (code == TH_OK)
		code = check_settings(c, a);
	if (code == TH_OK)
		code = check_numbers(c, a);
	if (code == TH_OK)
		code = check_hosted(c, a);
	if (code == TH_OK)
		code = check_native(c, a);
	if (code == TH_OK)
		code = check_commands(c, a);
	if (code == TH_OK)
		code = check_servers(c, a);
	if (code == TH_OK)
		code = check_tools(c, a, "tools", &a->tools, "none", NULL);
	if (code == TH_OK)
		code = check_tools(c, a, "approve", &a->approve, "all", "computer");
	if (code == TH_OK)
		code = check_rules(c, a);
	if (code == TH_OK)
		code = check_pure(c, a);
	if (code == TH_OK)
		code = check_slips(c, a);
	if (code == TH_OK)
		code = check_environment(c, &a->environment);
	if (code == TH_OK)
		code = check_net(c, a);
	if (code == TH_OK)
		code = check_untrusted(c, a);
	if (code == TH_OK)
		code = check_secrets(c, a);
	return code;
}

/* The other agents, and all that they say of each other. */
static enum th_code check_team(const struct checker *c, const struct th_agent *agent,
			       const struct th_json *root, struct th_arena *a)
{
	static const struct th_tools_places no_places;
	const struct checker of_member = { c->yaml, c->name, &no_places, c->err };
	const struct th_team *team;
	enum th_code code = th_team_resolve(root, a, &team, c->err);

	for (size_t i = 1; code == TH_OK && i < team->count; i++) {
		struct th_agent member;

		code = th_team_agent(root, i, a, &member, c->err);
		if (code == TH_OK)
			code = check_agent(&of_member, &member);
		if (code != TH_OK)
			return code;
	}
	if (code == TH_OK)
		code = th_config_check_script(agent, root, team, c->err);
	return code ? th_prefix(c->err, code, "%.*s", TH_FMT(c->name)) : TH_OK;
}

/* Of a file, absolute, with a slash at its end: a definition is used from anywhere. */
static struct th_str folder_of(struct th_arena *a, struct th_str file)
{
	char here[TH_PATH_LEN_MAX];
	size_t len = file.len;

	while (len > 0 && file.ptr[len - 1] != '/')
		len--;
	file = th_str_sub(file, 0, len);
	if ((file.len && file.ptr[0] == '/') || !getcwd(here, sizeof(here)))
		return th_arena_str(a, file);
	return th_arena_printf(a, "%s/%.*s", here, TH_FMT(file));
}

/* script_file becomes script: the log holds all that a session is run with. */
static enum th_code read_script(const struct checker *c, struct th_arena *a, struct th_agent *agent)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SCRIPT_SOURCE_MAX);
	struct th_str path = agent->script_file;
	enum th_code code;

	if (!path.len)
		return TH_OK;
	if (agent->script.len)
		return fail_path(c, TH_STR("script_file"), "stands beside script: give one");
	code = th_config_read_file(th_config_path(a, path, c->name), "script_file", &text, c->err);
	if (code != TH_OK)
		return th_prefix(c->err, code, "%.*s", TH_FMT(c->name));
	if (!text.len)
		return fail_path(c, TH_STR("script_file"), "is empty");
	agent->script = th_arena_str(a, th_buf_str(&text));
	return agent->script.ptr ? TH_OK : th_fail(c->err, TH_ELIMIT, "the script is too large");
}

enum th_code th_agent_parse(struct th_str yaml, struct th_str name, struct th_arena *a,
			    struct th_agent *ret, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_tools_places places;
	struct checker c = { yaml, name, &places, err };
	struct th_agent agent;
	enum th_code code = th_config_read_yaml(yaml, name, &doc, err);

	if (code == TH_OK) {
		code = th_tools_lift(&doc, folder_of(a, name), &places, err);
		if (code == TH_OK)
			code = th_table_parse(&th_agent_table, th_json_root(doc), a, &agent, err);
		if (code != TH_OK)
			th_tools_place_err(&places, err);
		code = th_config_table_err(yaml, name, code, err);
	}
	if (code == TH_OK)
		code = check_agent(&c, &agent);
	if (code == TH_OK)
		code = read_script(&c, a, &agent);
	if (code == TH_OK)
		code = check_team(&c, &agent, th_json_root(doc), a);
	if (code != TH_OK)
		return code;
	if (!agent.name.len)
		agent.name = TH_STR("default");
	if (!agent.instructions.ptr)
		agent.instructions = th_str_of(default_instructions);
	if (agent.workspace.len)
		agent.workspace = th_config_path(a, agent.workspace, name);
	return th_agent_copy(&agent, a, ret, err);
}

enum th_code th_agent_load(struct th_str path, struct th_arena *a, struct th_agent *ret,
			   struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	enum th_code code = th_config_read_file(path, "agent file", &text, err);

	return code == TH_OK ? th_agent_parse(th_buf_str(&text), path, a, ret, err) : code;
}
