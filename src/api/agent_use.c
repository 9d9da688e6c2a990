/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_use.c - an agent is completed when a session begins with it: its tools, its workspace and
 * its team.
 */
#include <stdlib.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/text.h"
#include "config/policy_names.h"

/* Of a file that names none: those of the configuration, else ours and what its computer brings. */
static struct th_strs default_tools(const struct thole_agent *a, const struct th_config *config,
				    struct th_str ours[static TH_AGENT_TOOLS_MAX])
{
	if (config && config->tools.count)
		return config->tools;
	return (struct th_strs){ ours, th_config_default_tools(&a->def, ours) };
}

/* What the definition names, the defaults where it is a file that names none, and the functions. */
static int complete_tools(struct thole_agent *a, const struct th_config *config,
			  struct thole_error *err)
{
	struct th_str ours[TH_AGENT_TOOLS_MAX];
	const struct th_agent_command *commands = a->def.commands.list;
	struct th_strs named = a->def.tools, all;

	if (named.count == 0 && !a->bare)
		named = default_tools(a, config, ours);
	if (named.count == 1 && th_str_is(named.list[0], "none"))
		named.count = 0;
	all.list = th_arena_array(
	    &a->memory, named.count + a->tool_count + a->def.commands.count + 1, sizeof(*all.list));
	if (!all.list)
		return th_api_agent_too_large(err);
	for (all.count = 0; all.count < named.count; all.count++) {
		/* The configuration may be gone before the agent is. */
		all.list[all.count] = th_arena_str(&a->memory, named.list[all.count]);
		if (!all.list[all.count].ptr)
			return th_api_agent_too_large(err);
	}
	for (size_t i = 0; i < a->tool_count; i++)
		if (!th_strs_has(&named, a->tools[i]->spec.name))
			all.list[all.count++] = a->tools[i]->spec.name;
	for (size_t i = 0; i < a->def.commands.count; i++)
		if (!th_strs_has(&named, commands[i].name))
			all.list[all.count++] = commands[i].name;
	if (all.count == 0)
		all.list[all.count++] = TH_STR("none");
	a->def.tools = all;
	return TH_OK;
}

/* Tools of the executor work in a folder. */
static int complete_workspace(struct thole_agent *a, struct thole_error *err)
{
	struct th_str given = a->def.workspace;
	char *path, *name;
	struct stat st;

	name =
	    given.len ? th_arena_cstr(&a->memory, given) : th_arena_cstr(&a->memory, TH_STR("."));
	path = name ? realpath(name, NULL) : NULL;
	if (!path || stat(path, &st) || !S_ISDIR(st.st_mode)) {
		free(path);
		return th_api_fail(err, TH_EUSAGE, "the workspace %.*s is not a folder",
				   TH_FMT(th_utf8_cut(given, 200)));
	}
	a->def.workspace = th_arena_str(&a->memory, th_str_of(path));
	free(path);
	return a->def.workspace.ptr ? TH_OK : th_api_agent_too_large(err);
}

/* Two agents may share a function, but not the name of one. */
static int check_names(const struct thole_agent *a, const struct thole_agent *b,
		       struct thole_error *err)
{
	for (size_t i = 0; i < a->tool_count; i++)
		for (size_t j = 0; j < b->tool_count; j++)
			if (th_str_eq(a->tools[i]->spec.name, b->tools[j]->spec.name) &&
			    (a->tools[i]->fn != b->tools[j]->fn ||
			     a->tools[i]->ctx != b->tools[j]->ctx))
				return th_api_fail(err, TH_EEXIST,
						   "two agents of the team have different tools "
						   "named %.*s",
						   TH_FMT(a->tools[i]->spec.name));
	return TH_OK;
}

/* The members are completed too. */
static int complete_team(struct thole_agent *a, const struct th_config *config,
			 struct thole_error *err)
{
	struct th_buf text = TH_BUF_INIT(TH_AGENT_MEMORY_MAX);
	struct th_jw w = th_jw(&text);
	struct th_str all;
	int code = TH_OK;

	if (a->member_count == 0)
		return TH_OK;
	th_jw_object(&w);
	for (size_t i = 0; !code && i < a->member_count; i++) {
		struct thole_agent *m = a->members[i];

		code = th_api_agent_use(m, config, err);
		if (!code)
			code = check_names(a, m, err);
		for (size_t j = 0; !code && j < i; j++)
			code = check_names(a->members[j], m, err);
		th_jw_key(&w, m->def.name);
		th_table_print(&th_agent_table, &m->def, &w);
	}
	th_jw_object_end(&w);
	all = text.failed ? (struct th_str){ 0 } : th_arena_str(&a->memory, th_buf_str(&text));
	th_buf_deinit(&text);
	if (!code && !all.ptr)
		code = th_api_fail(err, TH_ELIMIT, "the agents of the team are too large");
	if (!code)
		a->def.agents = all;
	return code;
}

/* What all sessions share that are begun with it; where it has code, each is of its own. */
static void print_definition(struct thole_agent *a)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_agent def = a->def;
	struct th_jw w = th_jw(&text);

	if (!def.model.len || a->see || a->tool_count || a->member_count || a->function_count)
		return;
	def.workspace = TH_STR("");
	th_table_print(&th_agent_table, &def, &w);
	if (!text.failed)
		a->text = th_arena_str(&a->memory, th_buf_str(&text));
}

int th_api_agent_use(struct thole_agent *a, const struct th_config *config, struct thole_error *err)
{
	bool bare = a->bare && a->def.tools.count == 0 && !(a->def.computer && !a->see);
	struct th_strs tools = a->def.tools;
	int code = TH_OK;

	if (atomic_load(&a->in_use))
		return TH_OK;
	pthread_mutex_lock(&a->lock);
	if (!atomic_load(&a->in_use)) {
		code = complete_tools(a, config, err);
		if (!code && !bare)
			code = complete_workspace(a, err);
		if (!code)
			code = complete_team(a, config, err);
		if (code)
			a->def.tools = tools;
		else
			print_definition(a);
		atomic_store(&a->in_use, !code);
	}
	pthread_mutex_unlock(&a->lock);
	return code;
}

int th_api_agent_policies(const struct thole_agent *a, struct thole_error *err)
{
	struct th_buf path TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_NAME_NEAR_MAX);
	/* Whoever begins a session may choose the computer, after the file was read, and a
	 * server's clients have functions of their own, with which one begins and another not. */
	const struct th_policy_scope scope = { .tools = &a->def.tools,
					       .functions_later = !a->bare,
					       .other_computer = true };
	struct th_err why;
	int code = TH_OK;

	if (th_policy_names_check(&scope, &a->def, &path, &why))
		return th_api_fail(err, TH_EUSAGE, "agent \"%.*s\": %s %s",
				   TH_FMT(th_utf8_cut(a->def.name, 80)), path.ptr, why.msg);
	for (size_t i = 0; i < a->member_count && !code; i++)
		code = th_api_agent_policies(a->members[i], err);
	return code;
}
