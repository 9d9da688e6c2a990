/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_agent.c - the agent of thole run: a file, what options add to it, and what is configured.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/run_agent.h"
#include "computer/computer.h"
#include "config/computer.h"
#include "config/policy_names.h"
#include "config/script.h"
#include "io/files.h"
#include "tools/tool.h"

static enum th_code split_list(struct th_str text, struct th_arena *a, struct th_strs *ret,
			       struct th_err *err)
{
	struct th_str list[TH_AGENT_TOOLS_MAX];
	size_t count = 0;

	while (text.len) {
		struct th_str name = th_str_trim(th_str_split(&text, ','));

		if (name.len && count == TH_COUNT(list))
			return th_fail(err, TH_EUSAGE, "a list has at most %zu names",
				       TH_COUNT(list));
		if (name.len)
			list[count++] = name;
	}
	ret->list = th_arena_array(a, count + 1, sizeof(*list));
	if (!ret->list)
		return th_fail(err, TH_ELIMIT, "too many names");
	memcpy(ret->list, list, count * sizeof(*list));
	ret->count = count;
	return TH_OK;
}

static enum th_code check_tools(const struct th_strs *list, struct th_err *err)
{
	const char *names[TH_AGENT_TOOLS_MAX + 2] = { "none" }, *near;

	(void)th_tool_names(names + 1);
	for (size_t i = 0; i < list->count; i++) {
		if (th_names_find(names, list->list[i]) >= 0)
			continue;
		near = th_names_nearest(names, list->list[i]);
		return th_fail(err, TH_EUSAGE, "--tools: there is no tool \"%.*s\"%s%s",
			       TH_FMT(th_utf8_cut(list->list[i], TH_NAME_NEAR_MAX)),
			       near ? "; did you mean " : "", near ?: "");
	}
	return TH_OK;
}

/* All that gives the agent tools is known.  With --tools a file's policies may be about tools that
 * it has only without: what the file says was looked at when it was read. */
static enum th_code check_policies(const struct run_options *o, const struct th_agent *agent,
				   struct th_err *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	struct th_str defaults[TH_AGENT_TOOLS_MAX];
	struct th_strs tools = agent->tools;
	const struct th_policy_scope scope = { .tools = &tools,
					       .other_computer = o->agent.ptr && o->computer.ptr };
	struct th_agent checked = *agent;
	struct th_err why;

	if (!tools.count)
		tools = (struct th_strs){ defaults, th_config_default_tools(agent, defaults) };
	if (o->tools.ptr && o->agent.ptr) {
		checked.rules = checked.guardrails = (struct th_objects){ 0 };
		checked.quarantine = (struct th_strs){ 0 };
		if (!o->approve.ptr)
			checked.approve = (struct th_strs){ 0 };
	}
	if (!th_policy_names_check(&scope, &checked, &path, &why))
		return TH_OK;
	if (o->approve.ptr && th_str_starts(th_buf_str(&path), TH_STR("approve[")))
		return th_fail(err, TH_EUSAGE, "--%s %s", path.ptr, why.msg);
	return th_fail(err, TH_EUSAGE, "%.*s: %s %s", TH_FMT(o->agent), path.ptr, why.msg);
}

static enum th_code set_computer(struct th_str text, struct th_arena *a, struct th_agent *agent,
				 struct th_err *err)
{
	struct th_str size = text, kind = th_str_split(&size, ':');
	struct th_agent_computer wanted, *c = TH_NEW(a, struct th_agent_computer);
	enum th_code code;

	if (!c)
		return th_fail(err, TH_ELIMIT, "the agent's definition is too large");
	if (th_str_is(kind, "none")) {
		agent->computer = NULL;
		return TH_OK;
	}
	code = th_config_computer_read(kind, size, "none", &wanted, err);
	if (code != TH_OK)
		return code;
	*c = wanted;
	/* The same kind with another size: what else the agent file says of it stays. */
	if (agent->computer && th_str_eq(agent->computer->kind, kind)) {
		*c = *agent->computer;
		c->width = wanted.width ?: c->width;
		c->height = wanted.height ?: c->height;
	}
	agent->computer = c;
	return TH_OK;
}

static enum th_code set_workspace(struct th_str folder, struct th_arena *a, struct th_agent *agent,
				  struct th_err *err)
{
	struct th_str wanted = folder.len             ? folder
			       : agent->workspace.len ? agent->workspace
						      : TH_STR(".");
	char path[PATH_MAX];
	const char *name = th_arena_cstr(a, wanted);
	struct stat st;

	if (!name || !realpath(name, path))
		return th_fail_errno(err, name ? errno : EINVAL, "workspace %.*s",
				     TH_FMT(th_utf8_cut(wanted, 300)));
	if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
		return th_fail(err, TH_EUSAGE, "workspace %s is not a folder", path);
	agent->workspace = th_arena_str(a, th_str_of(path));
	return TH_OK;
}

static bool is_one_word(struct th_str s)
{
	for (size_t i = 0; i < s.len; i++)
		if (strchr(".:,*/ ", s.ptr[i]))
			return false;
	return true;
}

static enum th_code set_net(struct th_str net, struct th_arena *a, struct th_agent *agent,
			    struct th_err *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_net_policy policy;

	if (!net.ptr)
		return TH_OK;
	/* A slip is no host. */
	if (!th_str_is(net, "none") && !th_str_is(net, "host") && is_one_word(net))
		return th_fail(
		    err, TH_EUSAGE,
		    "--net must be none, host or hosts such as example.org, not \"%.*s\"; a "
		    "host of one word is named with its port, such as git:443",
		    TH_FMT(th_utf8_cut(net, TH_NAME_NEAR_MAX)));
	th_net_of_words(net, &json);
	agent->net = th_arena_str(a, th_buf_str(&json));
	agent->net_ask = false; /* that list is somebody's last word */
	if (!agent->net.ptr)
		return th_fail(err, TH_ELIMIT, "the agent's definition is too large");
	enum th_code code = th_net_parse(agent->net, a, &policy, NULL, err);
	return code ? th_prefix(err, code, "--net %.*s", TH_FMT(th_utf8_cut(net, TH_NAME_NEAR_MAX)))
		    : TH_OK;
}

static enum th_code set_turns(int64_t turns, struct th_arena *a, struct th_agent *agent,
			      struct th_err *err)
{
	struct th_agent_limits *limits = TH_NEW(a, struct th_agent_limits);

	if (turns < 0)
		return TH_OK;
	if (turns == 0)
		return th_fail(err, TH_EUSAGE, "--turns must be above 0");
	if (!limits)
		return th_fail(err, TH_ELIMIT, "the agent's definition is too large");
	if (agent->limits)
		*limits = *agent->limits;
	limits->turns = turns;
	agent->limits = limits;
	return TH_OK;
}

/* The whole list: the agent file's fallbacks are for the model that it names. */
static enum th_code set_models(struct th_str text, struct th_arena *a, struct th_agent *agent,
			       struct th_err *err)
{
	struct th_strs list;
	enum th_code code = th_prefix(err, split_list(text, a, &list, err), "--model");

	if (code != TH_OK)
		return code;
	if (list.count == 0)
		return th_fail(err, TH_EUSAGE, "--model needs the name of a model");
	agent->model = list.list[0];
	agent->fallback = (struct th_strs){ list.list + 1, list.count - 1 };
	return TH_OK;
}

static enum th_code set_lists(const struct run_options *o, struct th_arena *a,
			      struct th_agent *agent, struct th_err *err)
{
	enum th_code code = TH_OK;

	if (o->tools.ptr) {
		code = th_prefix(err, split_list(o->tools, a, &agent->tools, err), "--tools");
		if (code == TH_OK)
			code = check_tools(&agent->tools, err);
	}
	if (code == TH_OK && o->approve.ptr)
		code = th_prefix(err, split_list(o->approve, a, &agent->approve, err), "--approve");
	return code ?: check_policies(o, agent, err);
}

enum th_code th_run_agent(const struct run_options *o, const struct th_config *config,
			  struct th_arena *a, struct th_agent *agent, struct th_err *err)
{
	enum th_code code = TH_OK;

	th_agent_default(agent);
	if (o->agent.ptr)
		code = th_agent_load(o->agent, a, agent, err);
	if (code == TH_OK && o->agent.ptr)
		code = th_config_check_alone(agent, o->agent, err);
	if (code == TH_OK && o->computer.ptr)
		code = set_computer(o->computer, a, agent, err);
	/* Found now, so that the log says which display, bus and parser they were. */
	if (code == TH_OK && agent->computer)
		code = th_config_computer_complete(agent->computer, err);
	if (code == TH_OK)
		code = set_workspace(o->folder, a, agent, err);
	if (code == TH_OK)
		code = set_net(o->net, a, agent, err);
	if (code == TH_OK)
		code = set_turns(o->turns, a, agent, err);
	if (!agent->tools.count)
		agent->tools = config->tools;
	if (code == TH_OK)
		code = set_lists(o, a, agent, err);
	if (code == TH_OK && o->model.len)
		code = set_models(o->model, a, agent, err);
	else if (!agent->model.len)
		agent->model = config->model;
	if (config->base_url.len)
		agent->base_url = config->base_url; /* a later resume finds the same server */
	return code;
}
