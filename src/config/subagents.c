/* SPDX-License-Identifier: Apache-2.0 */
#include "config/subagents.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agents/hook.h"
#include "agents/skill.h"
#include "agents/subagents.h"
#include "base/text.h"
#include "config/config.h"
#include "config/markdown.h"
#include "config/mcp_json.h"
#include "config/yaml.h"
#include "io/files.h"
#include "rules/risk.h"
#include "tools/tool.h"
#include "wire/authority.h"

#define TASK "task"
#define TASK_TURNS 500 /* as OpenHands', where the file has no number of its own */

struct loading {
	struct th_agent *agent;
	const struct th_agent_subagents *how;
	const struct th_json *given; /* agents of the agent file: these go first */
	struct th_buf members;       /* "NAME":{…}, with commas */
	struct th_buf about;         /* what the tool says of them */
	struct th_str names[TH_TEAM_MAX];
	size_t count;
	struct th_agent_task_limit limits[TH_TEAM_MAX]; /* of those that have some */
	size_t limit_count;
	enum th_place place; /* where the file is that is being read */
	struct th_arena *a;
};

/* ---- one file ---- */

static bool is_known(const struct loading *x, struct th_str name)
{
	struct th_json_iter it = th_json_iter(x->given);

	while (th_json_next(&it))
		if (th_str_eq(it.key, name))
			return true;
	for (size_t i = 0; i < x->count; i++)
		if (th_str_eq(x->names[i], name))
			return true;
	return th_strs_has(&x->how->without, name);
}

/* As OpenHands reads a word: blanks around it and great letters make no difference. */
static bool is_among(struct th_str word, const char *const *words)
{
	word = th_str_trim(word);
	for (size_t i = 0; words[i]; i++)
		if (th_str_ieq(word, th_str_of(words[i])))
			return true;
	return false;
}

/* Whether it condenses.  False: it is neither a word for yes nor one for no. */
static bool read_condenser(const struct th_json *v, bool *ret)
{
	static const char *const yes[] = { "", "default", "inherit", NULL };
	static const char *const no[] = {
		"none", "off", "false", "no", "disable", "disabled", NULL
	};

	*ret = th_json_is_null(v) || th_json_bool(v, is_among(th_json_str(v), yes));
	return th_json_is_null(v) || th_json_type(v) == TH_JSON_BOOL ||
	       (th_json_type(v) == TH_JSON_STR && (*ret || is_among(th_json_str(v), no)));
}

/* What it says and thole does not do would be missed where it is not said. */
static enum th_code check_members(const struct loading *x, const struct th_json *v,
				  struct th_err *err)
{
	static const char *const programs[] = { "hooks", "mcp_config", "mcp_servers" };
	bool ignored;

	for (size_t i = 0; i < TH_COUNT(programs); i++)
		if (th_json_says(th_json_get(v, programs[i])) &&
		    !th_trusts(&x->how->trusted, x->place))
			return th_fail(
			    err, TH_EUSAGE,
			    "%s: an agent in a file has none where subagents.trusted does "
			    "not name the place of the file",
			    programs[i]);
	if (th_json_says(th_json_get(v, "profile_store_dir")))
		return th_fail(err, TH_EUSAGE,
			       "profile_store_dir: an agent in a file has none of its own");
	return read_condenser(th_json_get(v, "condenser"), &ignored)
		   ? TH_OK
		   : th_fail(err, TH_EUSAGE, "condenser must be default or none");
}

static void put_words(struct th_str word, struct th_jw *w)
{
	while (word.len) {
		struct th_str one = th_str_trim(th_str_split(&word, ','));

		if (one.len && !th_str_is(one, "think") && !th_str_is(one, "finish"))
			th_jw_str(w, one);
	}
}

/* Those that it names, and what each agent of OpenHands has. */
static void put_tools(const struct th_json *tools, struct th_jw *w)
{
	struct th_json_iter it = th_json_iter(tools);

	th_jw_key(w, TH_STR("tools"));
	th_jw_array(w);
	put_words(th_json_str(tools), w);
	while (th_json_is_array(tools) && th_json_next(&it))
		put_words(th_json_str(it.val), w);
	th_jw_str(w, TH_STR("think"));
	th_jw_str(w, TH_STR("finish"));
	th_jw_array_end(w);
	th_jw_kraw(w, "tool_use_behavior", TH_STR("{\"stop_at\":[\"finish\"]}"));
}

static enum th_code read_limits(const struct th_json *v, struct th_agent_task_limit *ret,
				struct th_err *err)
{
	const struct th_json *turns = th_json_get(v, "max_iteration_per_run");
	const struct th_json *cost = th_json_get(v, "max_budget_per_run");
	int64_t turns_max = th_json_int(turns, 0);
	double cost_max = th_json_num(cost, 0);

	/* Texts of numbers count, as there. */
	if (th_json_type(turns) == TH_JSON_STR &&
	    !th_str_i64(th_str_trim(th_json_str(turns)), &turns_max))
		turns_max = 0;
	if (th_json_type(cost) == TH_JSON_STR &&
	    !th_str_f64(th_str_trim(th_json_str(cost)), &cost_max))
		cost_max = 0;

	if ((turns && !th_json_is_null(turns) && turns_max <= 0) ||
	    (cost && !th_json_is_null(cost) && !(cost_max > 0)))
		return th_fail(
		    err, TH_EUSAGE,
		    "max_iteration_per_run and max_budget_per_run must be numbers above 0");
	*ret = (struct th_agent_task_limit){ .turns = turns_max, .cost_usd = cost_max };
	return TH_OK;
}

/* The stricter of what the file says and what its caller has. */
static enum th_code put_confirm(const struct loading *x, struct th_str mode, struct th_jw *w,
				struct th_err *err)
{
	static const char *const words[] = { "always_confirm", "confirm_risky", "never_confirm",
					     NULL };
	const struct th_agent_confirm *own = x->agent->confirm;
	bool always, risky;

	mode = th_str_trim(mode);
	always = th_str_ieq(mode, TH_STR("always_confirm"));
	risky = th_str_ieq(mode, TH_STR("confirm_risky"));
	if (mode.len && !is_among(mode, words))
		return th_fail(err, TH_EUSAGE,
			       "permission_mode must be always_confirm, never_confirm or "
			       "confirm_risky");
	if (always || (risky && (!own || own->when == TH_CONFIRM_NEVER))) {
		th_jw_kraw(w, "confirm",
			   always ? TH_STR("{\"when\":\"always\"}")
				  : TH_STR("{\"when\":\"risky\"}"));
	} else if (own) {
		th_jw_key(w, TH_STR("confirm"));
		th_table_print(&th_agent_confirm_table, own, w);
	}
	return TH_OK;
}

static void put_strs(const char *name, const struct th_strs *list, struct th_jw *w)
{
	if (!list->count)
		return;
	th_jw_key(w, th_str_of(name));
	th_jw_array(w);
	for (size_t i = 0; i < list->count; i++)
		th_jw_str(w, list->list[i]);
	th_jw_array_end(w);
}

/* What holds for its caller's calls holds for its own. */
static void put_inherited(const struct loading *x, struct th_jw *w)
{
	const struct th_agent *agent = x->agent;
	const struct th_agent_rule *rules = agent->rules.list;

	put_strs("approve", &agent->approve, w);
	put_strs("quarantine", &agent->quarantine, w);
	if (agent->quarantine_model.len)
		th_jw_kstr(w, "quarantine_model", agent->quarantine_model);
	if (agent->approve_seconds)
		th_jw_kint(w, "approve_seconds", agent->approve_seconds);
	if (agent->rules.count) {
		th_jw_key(w, TH_STR("rules"));
		th_jw_array(w);
		for (size_t i = 0; i < agent->rules.count; i++)
			th_table_print(&th_agent_rule_table, &rules[i], w);
		th_jw_array_end(w);
	}
}

/* Appends those of its caller's skills that it names to a list, or says which is not there. */
static enum th_code put_skill(const struct loading *x, struct th_str name, struct th_jw *w,
			      struct th_err *err)
{
	const struct th_skill *s = th_skill_find(x->agent->skills, name);

	if (!name.len)
		return th_fail(err, TH_EUSAGE, "skills must be a list of names");
	if (!s)
		return th_fail(err, TH_EUSAGE, "no skill \"%.*s\" is among those of its caller",
			       TH_FMT(th_utf8_cut(name, TH_SKILL_NAME_MAX)));
	th_table_print(&th_skill_table, s, w);
	return TH_OK;
}

/* Skills that it names, in `skills`, and what its instructions say of them, in `said`. */
static enum th_code put_skills(const struct loading *x, const struct th_json *names,
			       struct th_buf *skills, struct th_buf *said, struct th_err *err)
{
	struct th_arena scratch TH_CLEANUP(th_arena_deinit) = {};
	struct th_json_iter it = th_json_iter(names);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_agent_skills own;
	struct th_jw w = th_jw(skills);
	enum th_code code = TH_OK;

	th_jw_object(&w);
	th_jw_key(&w, TH_STR("list"));
	th_jw_array(&w);
	if (th_json_str(names).len)
		code = put_skill(x, th_json_str(names), &w, err);
	while (!code && th_json_is_array(names) && th_json_next(&it))
		code = put_skill(x, th_json_str(it.val), &w, err);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_arena_init(&scratch, 4 * TH_MIB);
	code = code ?: th_buf_check(skills, "its skills", err);
	code = code ?: th_json_parse(th_buf_str(skills), &doc, err);
	code =
	    code ?: th_table_parse(&th_agent_skills_table, th_json_root(doc), &scratch, &own, err);
	if (!code)
		th_skills_instruct(&own, said);
	return code ?: th_buf_check(said, "what its instructions say of skills", err);
}

static enum th_code put_servers(const struct loading *x, const struct th_json *v, struct th_jw *w,
				struct th_err *err)
{
	static const char *const names[] = { "mcp_config", "mcp_servers" };
	enum th_code code = TH_OK;

	th_jw_key(w, TH_STR("mcp_servers"));
	th_jw_array(w);
	for (size_t i = 0; i < TH_COUNT(names) && !code; i++)
		if (th_json_says(th_json_get(v, names[i])))
			code = th_mcp_json_put(th_json_get(v, names[i]), x->agent, &x->how->servers,
					       w, err);
	th_jw_array_end(w);
	return code;
}

/* By the names that the events have here. */
static enum th_code put_hooks(const struct th_json *v, struct th_jw *w, struct th_err *err)
{
	const struct th_json *events[TH_HOOK_EVENT_COUNT];
	enum th_code code = th_hooks_file_read(v, events, err);

	th_jw_key(w, TH_STR("hooks"));
	th_jw_object(w);
	for (int i = 0; i < TH_HOOK_EVENT_COUNT && !code; i++)
		if (!th_json_is_null(events[i])) {
			th_jw_key(w, th_str_of(th_hook_event_name((enum th_hook_event)i)));
			th_jw_json(w, events[i]);
		}
	th_jw_object_end(w);
	return th_prefix(err, code, "hooks");
}

static enum th_code put_definition(const struct loading *x, const struct th_json *v,
				   struct th_str text, struct th_buf *out, struct th_err *err)
{
	struct th_str model = th_json_get_str(v, "model");
	const struct th_json *names = th_json_get(v, "skills");
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SKILLS_SAID_MAX);
	struct th_buf skills TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SKILLS_SAID_MAX);
	struct th_jw w = th_jw(out);
	bool condenses;
	enum th_code code;

	th_buf_add(&said, th_str_trim(text));
	code = put_skills(x, names, &skills, &said, err);
	if (code)
		return code;
	th_jw_object(&w);
	th_jw_kstr(&w, "instructions", th_buf_str(&said));
	if (th_json_count(names) || th_json_str(names).len)
		th_jw_kraw(&w, "skills", th_buf_str(&skills));
	th_jw_kstr(&w, "handoff_description",
		   th_utf8_cut(th_json_get_str(v, "description"), TH_SKILL_ABOUT_MAX));
	if (model.len && !th_str_is(model, "inherit"))
		th_jw_kstr(&w, "model", model);
	put_tools(th_json_get(v, "tools"), &w);
	put_inherited(x, &w);
	code = put_servers(x, v, &w, err);
	if (!code && th_json_says(th_json_get(v, "hooks")))
		code = put_hooks(th_json_get(v, "hooks"), &w, err);
	code = code ?: put_confirm(x, th_json_get_str(v, "permission_mode"), &w, err);
	if (read_condenser(th_json_get(v, "condenser"), &condenses) && condenses)
		th_jw_kraw(&w, "compact", TH_STR("{\"condenser\":\"llm_summarizing\"}"));
	th_jw_object_end(&w);
	return code;
}

static enum th_code add(struct loading *x, struct th_str name, const struct th_json *v,
			struct th_str text, struct th_str shown, struct th_err *err)
{
	struct th_buf definition TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_SKILL_SIZE_MAX);
	struct th_arena scratch TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent checked;
	struct th_jw w = th_jw(&x->members);
	struct th_agent_task_limit own;
	enum th_code code =
	    read_limits(v, &own, err) ?: put_definition(x, v, text, &definition, err);

	if (!code && x->count + th_json_count(x->given) + 1 >= TH_TEAM_MAX)
		code = th_fail(err, TH_ELIMIT, "an agent has at most %d others", TH_TEAM_MAX - 1);
	code = code ?: th_buf_check(&definition, "its definition", err);
	if (code)
		return code;
	th_arena_init(&scratch, 4 * TH_MIB);
	code = th_agent_parse(th_buf_str(&definition), shown, &scratch, &checked, err);
	if (code)
		return code;
	if (x->members.len)
		th_buf_add_char(&x->members, ',');
	th_jw_str(&w, name);
	th_buf_add_char(&x->members, ':');
	th_buf_add(&x->members, th_buf_str(&definition));
	th_buf_printf(&x->about, "\n- %.*s: %.*s", TH_FMT(name),
		      TH_FMT(th_utf8_cut(th_json_get_str(v, "description"), TH_SKILL_ABOUT_MAX)));
	own.agent = x->names[x->count++] = th_arena_str(x->a, name);
	if (own.turns || own.cost_usd > 0)
		x->limits[x->limit_count++] = own;
	return TH_OK;
}

static enum th_code add_text(struct loading *x, struct th_str text, struct th_str stem,
			     struct th_str shown, struct th_err *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str matter = th_markdown_front_matter(&text), name;
	enum th_code code = TH_OK;

	if (th_utf8_valid(text) != text.len)
		return th_fail(err, TH_EUSAGE, "%.*s is not UTF-8 text", TH_FMT(shown));
	th_buf_add(&json, matter.len ? TH_STR("") : TH_STR("{}"));
	code = matter.len ? th_yaml_to_json(matter, shown, &json, err) : TH_OK;
	code = code ?: th_json_parse(th_buf_str(&json), &doc, err);
	if (code)
		return code;
	name = th_json_get_str(th_json_root(doc), "name");
	name = name.len ? name : stem;
	if (is_known(x, name))
		return TH_OK;
	if (name.len > TH_SKILL_NAME_MAX)
		code = th_fail(err, TH_EUSAGE, "a name has at most %d bytes", TH_SKILL_NAME_MAX);
	code = code ?: check_members(x, th_json_root(doc), err);
	code = code ?: add(x, name, th_json_root(doc), text, shown, err);
	return code && !strstr(err->msg, ".md:") ? th_prefix(err, code, "%.*s", TH_FMT(shown))
						 : code;
}

/* ---- folders ---- */

static enum th_code add_folder(struct loading *x, int root, struct th_str path, struct th_str shown,
			       struct th_err *err)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SKILL_SIZE_MAX);
	char **names = th_arena_array(x->a, TH_SKILLS_MAX * 2, sizeof(*names));
	struct th_err ignored = {};
	enum th_code code = TH_OK;
	size_t count;
	int dir = -1;

	if (!names)
		return th_fail(err, TH_ELIMIT, "the agents are too large");
	if (th_open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0, &dir, &ignored))
		return TH_OK;
	code = th_markdown_list(dir, x->a, names, TH_SKILLS_MAX * 2, &count, err);
	for (size_t i = 0; !code && i < count; i++) {
		struct th_str name = th_str_of(names[i]);

		if (!th_str_ends(name, TH_STR(".md")) || th_str_ieq(name, TH_STR("README.md")))
			continue;
		if (!th_markdown_read(dir, name, &text))
			code = th_fail(err, TH_EUSAGE,
				       "%.*s/%s cannot be read, or has more than %d bytes",
				       TH_FMT(shown), names[i], TH_SKILL_SIZE_MAX);
		else
			code = add_text(x, th_buf_str(&text), th_str_sub(name, 0, name.len - 3),
					th_arena_printf(x->a, "%.*s/%s", TH_FMT(shown), names[i]),
					err);
	}
	th_fd_close(&dir);
	return code;
}

static enum th_code add_folders(struct loading *x, const char *place, const char *shown,
				struct th_err *err)
{
	static const char *const folders[] = { ".agents/agents", ".openhands/agents" };
	int root = place ? open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	enum th_code code = TH_OK;

	for (size_t i = 0; root >= 0 && !code && i < TH_COUNT(folders); i++)
		code = add_folder(x, root, th_str_of(folders[i]),
				  th_arena_printf(x->a, "%s%s", shown, folders[i]), err);
	th_fd_close(&root);
	return code;
}

static enum th_code add_named(struct loading *x, struct th_str folder, struct th_err *err)
{
	int root = -1;
	enum th_code code = th_markdown_open("subagents.folders", folder, x->a, &root, err);

	code = code ?: add_folder(x, root, TH_STR("."), folder, err);
	th_fd_close(&root);
	return code;
}

/* ---- the tool ---- */

static enum th_code add_tool(struct loading *x, struct th_err *err)
{
	struct th_agent *agent = x->agent;
	size_t count = agent->commands.count, tools = agent->tools.count;
	struct th_agent_command *list = th_arena_array(x->a, count + 1, sizeof(*list));
	struct th_str *names = th_arena_array(x->a, tools + TH_AGENT_TOOLS_MAX + 1, sizeof(*names));
	struct th_str *agents = th_arena_array(x->a, x->count, sizeof(*agents));
	struct th_agent_task_limit *limits =
	    th_arena_array(x->a, x->limit_count + 1, sizeof(*limits));

	if (!list || !names || !agents || !limits)
		return th_fail(err, TH_ELIMIT, "the agents are too large");
	if (th_agent_command_find(&agent->commands, TH_STR(TASK)))
		return th_fail(err, TH_EUSAGE,
			       "subagents need the name " TASK " for their tool, and a tool of the "
			       "agent file has it");
	if (count)
		memcpy(list, agent->commands.list, count * sizeof(*list));
	memcpy(agents, x->names, x->count * sizeof(*agents));
	memcpy(limits, x->limits, x->limit_count * sizeof(*limits));
	list[count] = (struct th_agent_command){
		.name = TH_STR(TASK),
		.description = th_arena_printf(
		    x->a,
		    "Gives a task to another agent, which works on it alone and answers with its "
		    "result. It knows nothing but what you tell it. The agents:%.*s",
		    TH_FMT(th_buf_str(&x->about))),
		.agents = { agents, x->count },
		.limits = { limits, x->limit_count },
		.turns = TASK_TURNS,
		.budget = TH_BUDGET_SHARED,
		.background = x->how->background,
	};
	if (tools)
		memcpy(names, agent->tools.list, tools * sizeof(*names));
	else
		tools = th_tools_default(names);
	if (tools == 1 && th_str_is(names[0], "none"))
		tools = 0;
	names[tools++] = TH_STR(TASK);
	agent->commands = (struct th_objects){ list, count + 1 };
	agent->tools = (struct th_strs){ names, tools };
	return list[count].description.ptr ? TH_OK
					   : th_fail(err, TH_ELIMIT, "the agents are too large");
}

static enum th_code add_members(struct loading *x, struct th_err *err)
{
	struct th_str given = x->agent->agents;
	size_t end = given.len;

	while (end && given.ptr[end - 1] != '}')
		end--;
	/* The agent file's own, up to its last brace. */
	x->agent->agents =
	    th_json_count(x->given)
		? th_arena_printf(x->a, "%.*s,%.*s}", TH_FMT(th_str_sub(given, 0, end - 1)),
				  TH_FMT(th_buf_str(&x->members)))
		: th_arena_printf(x->a, "{%.*s}", TH_FMT(th_buf_str(&x->members)));
	return x->agent->agents.ptr ? TH_OK : th_fail(err, TH_ELIMIT, "the agents are too large");
}

static enum th_code check_servers(const struct th_strs *servers, struct th_err *err)
{
	for (size_t i = 0; i < servers->count; i++)
		if (!th_authority_origin_ok(servers->list[i]))
			return th_fail(err, TH_EUSAGE,
				       "servers[%zu] is not of the form https://HOST or "
				       "https://HOST:PORT, in small letters",
				       i);
	return TH_OK;
}

enum th_code th_subagents_load(struct th_agent *agent, struct th_arena *a, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct loading x = { .agent = agent, .how = agent->subagents, .a = a };
	enum th_code code = TH_OK;

	if (!agent->subagents)
		return TH_OK;
	code = th_trusted_check(&x.how->trusted, err) ?: check_servers(&x.how->servers, err);
	if (code)
		return th_prefix(err, code, "subagents");
	th_buf_init(&x.members, TH_SKILLS_SAID_MAX);
	th_buf_init(&x.about, TH_SKILLS_SAID_MAX);
	if (agent->agents.len)
		code = th_json_parse(agent->agents, &doc, err);
	x.given = doc ? th_json_root(doc) : NULL;
	for (size_t i = 0; !code && i < x.how->folders.count; i++)
		code = add_named(&x, x.how->folders.list[i], err);
	x.place = TH_PLACE_REPOSITORY;
	if (!code && x.how->repository)
		code = add_folders(
		    &x, th_arena_cstr(a, agent->workspace.len ? agent->workspace : TH_STR(".")), "",
		    err);
	x.place = TH_PLACE_USER;
	if (!code && x.how->user)
		code = add_folders(&x, getenv("HOME"), "~/", err);
	code = code ?: th_buf_check(&x.members, "the agents", err) ?: th_buf_check(&x.about, "the agents", err);
	if (!code && x.count)
		code = add_members(&x, err) ?: add_tool(&x, err);
	th_buf_deinit(&x.members);
	th_buf_deinit(&x.about);
	return code;
}
