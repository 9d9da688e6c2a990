/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent.c - agents and tools of the C API: a definition as agent files have it, and functions.
 */
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/api.h"
#include "base/text.h"
#include "computers/computer.h"
#include "tools/tool.h"

/* ---- life -------------------------------------------------------------------------------------
 */

static struct thole_agent *agent_make(void)
{
	struct thole_agent *a = th_alloc(sizeof(*a));

	atomic_init(&a->users, 1);
	atomic_init(&a->in_use, false);
	pthread_mutex_init(&a->lock, NULL);
	th_arena_init(&a->memory, TH_AGENT_MEMORY_MAX);
	return a;
}

struct thole_agent *th_api_agent_ref(struct thole_agent *a)
{
	if (a)
		atomic_fetch_add(&a->users, 1);
	return a;
}

void th_api_agent_unref(struct thole_agent *a)
{
	if (!a || atomic_fetch_sub(&a->users, 1) > 1)
		return;
	for (size_t i = 0; i < a->member_count; i++)
		th_api_agent_unref(a->members[i]);
	free(a->members);
	free(a->functions);
	pthread_mutex_destroy(&a->lock);
	free(a->tools);
	th_arena_deinit(&a->memory);
	free(a);
}

void thole_agent_free(struct thole_agent *agent)
{
	th_api_agent_unref(agent);
}

int th_api_check_agent(struct thole_agent *a, struct thole_error *err)
{
	if (!a)
		return th_api_fail(err, TH_EUSAGE, "the agent is NULL");
	if (atomic_load(&a->in_use))
		return th_api_fail(
		    err, TH_EPROTO,
		    "a session was begun with the agent: it does not change any more");
	return TH_OK;
}

static int too_large(struct thole_error *err)
{
	return th_api_fail(err, TH_ELIMIT, "the agent's definition has more than %zu bytes",
			   TH_AGENT_MEMORY_MAX);
}

/* ---- definitions ------------------------------------------------------------------------------
 */

int thole_agent_new(const char *name, struct thole_agent **ret, struct thole_error *err)
{
	struct thole_agent *a;
	int code = th_api_text(name, "the agent's name", 1, TH_AGENT_NAME_MAX, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the agent: ret is NULL");
	if (code)
		return code;
	a = agent_make();
	th_agent_default(&a->def);
	a->def.name = th_arena_str(&a->memory, th_str_of(name));
	a->def.instructions = TH_STR("");
	a->bare = true;
	*ret = a;
	return TH_OK;
}

static int agent_from(struct thole_agent *a, enum th_code code, const struct th_err *e,
		      struct thole_agent **ret, struct thole_error *err)
{
	if (code) {
		th_api_agent_unref(a);
		return th_api_out(code, e, err);
	}
	*ret = a;
	return TH_OK;
}

int thole_agent_load(const char *path, struct thole_agent **ret, struct thole_error *err)
{
	struct thole_agent *a;
	struct th_err e = { 0 };
	int code = th_api_text(path, "the file's name", 1, TH_PATH_LEN_MAX, err);

	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the agent: ret is NULL");
	if (code)
		return code;
	a = agent_make();
	return agent_from(a, th_agent_load(th_str_of(path), &a->memory, &a->def, &e), &e, ret, err);
}

int thole_agent_parse(const char *yaml, const char *name, struct thole_agent **ret,
		      struct thole_error *err)
{
	struct thole_agent *a;
	struct th_err e = { 0 };
	int code = th_api_text(yaml, "the agent's definition", 0, TH_CONFIG_SIZE_MAX, err);

	if (!code && name)
		code = th_api_text(name, "the definition's name", 0, TH_PATH_LEN_MAX, err);
	if (!code && !ret)
		code = th_api_fail(err, TH_EUSAGE, "there is no place for the agent: ret is NULL");
	if (code)
		return code;
	a = agent_make();
	return agent_from(a,
			  th_agent_parse(th_str_of(yaml), name ? th_str_of(name) : TH_STR("agent"),
					 &a->memory, &a->def, &e),
			  &e, ret, err);
}

static size_t size_of(enum th_field_kind kind)
{
	switch (kind) {
#define X(kind, type, text)   \
	case TH_FIELD_##kind: \
		return sizeof(th_field_type_##kind);
		TH_FIELD_KINDS(X)
#undef X
	case TH_FIELD_KIND_COUNT:
		break;
	}
	return 0;
}

static const struct th_field *field_find(struct th_str name)
{
	for (size_t i = 0; i < th_agent_table.count; i++)
		if (th_str_is(name, th_agent_table.fields[i].name))
			return &th_agent_table.fields[i];
	return NULL;
}

/* The member is parsed as a definition of its own, and its cell taken over: what it refers to is in
 * the agent's memory. */
static int member_set(struct thole_agent *a, struct th_str member, struct th_str json,
		      struct thole_error *err)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_CONFIG_SIZE_MAX);
	struct th_json_doc *doc = NULL;
	struct th_jw w = th_jw(&text);
	struct th_agent parsed;
	struct th_err e = { 0 };
	const struct th_field *f;
	enum th_code code;

	th_jw_object(&w);
	th_jw_key(&w, member);
	th_jw_raw(&w, json);
	th_jw_object_end(&w);
	code = th_buf_check(&text, "the member", &e);
	if (!code)
		code = th_json_parse(th_buf_str(&text), &doc, &e);
	if (!code)
		code = th_table_parse(&th_agent_table, th_json_root(doc), &a->memory, &parsed, &e);
	if (!code && th_str_is(member, "net")) {
		struct th_net_policy policy;

		code = th_net_parse(parsed.net, &a->memory, &policy, NULL, &e);
		code = code ? th_prefix(&e, code, "net") : TH_OK;
	}
	f = code ? NULL : field_find(member);
	if (f) {
		struct th_agent kept = a->def;

		memcpy((char *)&kept + f->offset, (const char *)&parsed + f->offset,
		       size_of(f->kind));
		/* Strings of the text go with it. */
		code = th_agent_copy(&kept, &a->memory, &a->def, &e);
		if (code)
			(void)th_fail(&e, code, "the agent's definition has more than %zu bytes",
				      TH_AGENT_MEMORY_MAX);
	}
	if (!code && th_str_is(member, "computer"))
		a->see = NULL;
	th_json_free(doc);
	th_buf_deinit(&text);
	return th_api_out(code, &e, err);
}

static int check_member(struct thole_agent *a, const char *member, struct thole_error *err)
{
	int code = th_api_check_agent(a, err);

	return code ? code : th_api_text(member, "the member's name", 1, TH_NAME_NEAR_MAX, err);
}

int thole_agent_set(struct thole_agent *agent, const char *member, const char *text,
		    struct thole_error *err)
{
	struct th_buf json = TH_BUF_INIT(2 * TH_CONFIG_SIZE_MAX);
	struct th_jw w = th_jw(&json);
	struct th_err e = { 0 };
	int code = check_member(agent, member, err);

	if (!code)
		code = th_api_text(text, member, 0, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	th_jw_str(&w, th_str_of(text));
	code = th_buf_check(&json, member, &e);
	if (code)
		(void)th_api_out((enum th_code)code, &e, err);
	else
		code = member_set(agent, th_str_of(member), th_buf_str(&json), err);
	th_buf_deinit(&json);
	return code;
}

int thole_agent_set_json(struct thole_agent *agent, const char *member, const char *json,
			 struct thole_error *err)
{
	struct th_json_doc *doc = NULL;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = check_member(agent, member, err);

	if (!code)
		code = th_api_text(json, member, 1, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	/* By itself: text that closes the object around it is no value. */
	bad = th_json_parse(th_str_of(json), &doc, &e);
	th_json_free(doc);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "%s", member), &e, err);
	return member_set(agent, th_str_of(member), th_str_of(json), err);
}

/* The smaller of both; 0 is none. */
static int64_t lower(int64_t has, int64_t wanted)
{
	return wanted <= 0 ? has : has <= 0 ? wanted : TH_MIN(has, wanted);
}

int thole_agent_lower(struct thole_agent *agent, const char *limits, struct thole_error *err)
{
	struct th_agent_limits wanted, now = { 0 };
	struct th_json_doc *doc = NULL;
	struct th_agent def;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = th_api_check_agent(agent, err);

	if (!code)
		code = th_api_text(limits, "the limits", 1, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	bad = th_json_parse(th_str_of(limits), &doc, &e);
	if (!bad)
		bad = th_table_parse(&th_agent_limits_table, th_json_root(doc), &agent->memory,
				     &wanted, &e);
	th_json_free(doc);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "limits"), &e, err);
	def = agent->def;
	if (def.limits)
		now = *def.limits;
	now.turns = lower(now.turns ?: TH_TURNS_DEFAULT, wanted.turns);
	now.model_attempts =
	    lower(now.model_attempts ?: TH_ATTEMPTS_DEFAULT, wanted.model_attempts);
	now.command_seconds =
	    lower(now.command_seconds ?: TH_COMMAND_SECONDS_DEFAULT, wanted.command_seconds);
	now.tokens = lower(now.tokens, wanted.tokens);
	now.seconds = lower(now.seconds, wanted.seconds);
	now.parallel_calls = lower(now.parallel_calls, wanted.parallel_calls);
	if (wanted.cost_usd > 0 && (now.cost_usd <= 0 || wanted.cost_usd < now.cost_usd))
		now.cost_usd = wanted.cost_usd;
	def.limits = &now;
	return th_api_out(th_agent_copy(&def, &agent->memory, &agent->def, &e), &e, err);
}

/* ---- tools ------------------------------------------------------------------------------------
 */

bool th_api_good_name(const char *name)
{
	const char *begin = name;

	for (; *name; name++)
		if (!(*name >= 'a' && *name <= 'z') && !(*name >= 'A' && *name <= 'Z') &&
		    !(*name >= '0' && *name <= '9') && *name != '_' && *name != '-')
			return false;
	return strcmp(begin, "none") != 0 && strcmp(begin, "all") != 0 &&
	       strcmp(begin, "computer") != 0;
}

int thole_agent_tool(struct thole_agent *agent, const char *name, thole_tool_fn *fn, void *ctx,
		     struct thole_tool **ret, struct thole_error *err)
{
	struct thole_tool *t;
	int code = th_api_check_agent(agent, err);

	if (!code)
		code = th_api_text(name, "the tool's name", 1, TH_TOOL_NAME_MAX, err);
	if (code)
		return code;
	if (!th_api_good_name(name))
		return th_api_fail(err, TH_EUSAGE,
				   "a tool's name has letters, digits, _ and -, and is none of "
				   "none, all and computer; \"%s\" is not such a one",
				   name);
	if (!fn)
		return th_api_fail(err, TH_EUSAGE, "the function of the tool %s is NULL", name);
	for (size_t i = 0; i < agent->tool_count; i++)
		if (th_str_is(agent->tools[i]->spec.name, name))
			return th_api_fail(err, TH_EEXIST, "the agent has a tool %s", name);
	if (agent->tool_count == TH_AGENT_TOOLS_MAX)
		return th_api_fail(err, TH_ELIMIT, "an agent has at most %d tools",
				   TH_AGENT_TOOLS_MAX);
	t = TH_NEW(&agent->memory, struct thole_tool);
	if (!t)
		return too_large(err);
	t->agent = agent;
	t->fn = fn;
	t->ctx = ctx;
	t->spec = (struct th_tool_spec){
		.name = th_arena_str(&agent->memory, th_str_of(name)),
		.schema = TH_STR("{\"type\":\"object\",\"properties\":{}}"),
		.class = TH_CLASS_W,
	};
	if (!t->spec.name.ptr)
		return too_large(err);
	agent->tools = (struct thole_tool **)th_realloc(agent->tools, (agent->tool_count + 1) *
									  sizeof(*agent->tools));
	agent->tools[agent->tool_count++] = t;
	if (ret)
		*ret = t;
	return TH_OK;
}

static int check_tool(struct thole_tool *t, struct thole_error *err)
{
	return t ? th_api_check_agent(t->agent, err)
		 : th_api_fail(err, TH_EUSAGE, "the tool is NULL");
}

int thole_tool_describe(struct thole_tool *tool, const char *text, struct thole_error *err)
{
	struct th_str copy;
	int code = check_tool(tool, err);

	if (!code)
		code = th_api_text(text, "the tool's description", 0, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	copy = th_arena_str(&tool->agent->memory, th_str_of(text));
	if (!copy.ptr)
		return too_large(err);
	tool->spec.description = copy;
	return TH_OK;
}

int thole_tool_schema(struct thole_tool *tool, const char *json, bool strict,
		      struct thole_error *err)
{
	struct th_json_doc *doc = NULL;
	struct th_err e = { 0 };
	struct th_str text;
	enum th_code bad;
	int code = check_tool(tool, err);

	if (!code)
		code = th_api_text(json, "the tool's schema", 1, TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	bad = th_json_parse(th_str_of(json), &doc, &e);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "the tool's schema"), &e, err);
	if (!th_json_is_object(th_json_root(doc)) ||
	    !th_str_is(th_json_get_str(th_json_root(doc), "type"), "object")) {
		th_json_free(doc);
		return th_api_fail(err, TH_EUSAGE,
				   "the tool's schema is an object whose \"type\" is \"object\"");
	}
	text = th_json_text(th_json_root(doc), &tool->agent->memory);
	th_json_free(doc);
	if (!text.ptr)
		return too_large(err);
	tool->spec.schema = text;
	tool->spec.strict = strict;
	tool->spec.native = NULL; /* an object, not a text */
	return TH_OK;
}

int thole_tool_text(struct thole_tool *tool, const char *format, struct thole_error *err)
{
	struct th_tool_native *native;
	struct th_err e = { 0 };
	struct th_str text;
	enum th_code bad;
	int code = check_tool(tool, err);

	if (!code)
		code = th_api_text(format ? format : "\"text\"", "the tool's format", 1,
				   TH_CONFIG_SIZE_MAX, err);
	if (code)
		return code;
	text = th_str_of(format ? format : "\"text\"");
	bad = th_text_format_check(text, &e);
	if (bad)
		return th_api_out(th_prefix(&e, bad, "the tool's format"), &e, err);
	native = TH_NEW(&tool->agent->memory, struct th_tool_native);
	text = th_arena_str(&tool->agent->memory, text);
	if (!native || !text.ptr)
		return too_large(err);
	*native = th_text_native(text);
	tool->spec.native = native;
	tool->spec.schema = th_text_schema();
	tool->spec.strict = false;
	return TH_OK;
}

int thole_tool_class(struct thole_tool *tool, enum thole_class class_, struct thole_error *err)
{
	static const enum th_class classes[] = {
		[THOLE_CLASS_READ] = TH_CLASS_R,
		[THOLE_CLASS_KEYED] = TH_CLASS_K,
		[THOLE_CLASS_WRITE] = TH_CLASS_W,
		[THOLE_CLASS_IRREVERSIBLE] = TH_CLASS_X,
	};
	int code = check_tool(tool, err);

	if (!code && ((int)class_ < THOLE_CLASS_READ || (size_t)class_ >= TH_COUNT(classes)))
		code = th_api_fail(err, TH_EUSAGE, "there is no class %d", (int)class_);
	if (!code)
		tool->spec.class = classes[class_];
	return code;
}

int thole_tool_ask(struct thole_tool *tool, bool ask, struct thole_error *err)
{
	int code = check_tool(tool, err);

	if (!code)
		tool->spec.ask = ask;
	return code;
}

int thole_tool_timeout(struct thole_tool *tool, int64_t timeout_ms, struct thole_error *err)
{
	int code = check_tool(tool, err);

	if (!code && (timeout_ms < 0 || timeout_ms > TH_CALL_TIMEOUT_MAX_MS))
		code =
		    th_api_fail(err, TH_ELIMIT, "a timeout is 0 to %ld ms", TH_CALL_TIMEOUT_MAX_MS);
	if (!code)
		tool->timeout_ms = timeout_ms;
	return code;
}

int thole_tool_on_cancel(struct thole_tool *tool, thole_tool_fn *fn, struct thole_error *err)
{
	int code = check_tool(tool, err);

	if (!code)
		tool->on_cancel = fn;
	return code;
}

int thole_agent_computer(struct thole_agent *agent, int width, int height, thole_tool_fn *see,
			 thole_tool_fn *act, void *ctx, struct thole_error *err)
{
	struct th_agent_computer *pc;
	int code = th_api_check_agent(agent, err);

	if (code)
		return code;
	if (!see || !act)
		return th_api_fail(err, TH_EUSAGE, "a computer needs both functions");
	if (width < 1 || height < 1 || width > TH_CALL_SIDE_MAX || height > TH_CALL_SIDE_MAX)
		return th_api_fail(err, TH_ELIMIT, "a screen has 1 to %d pixels a side",
				   TH_CALL_SIDE_MAX);
	pc = TH_NEW(&agent->memory, struct th_agent_computer);
	if (!pc)
		return too_large(err);
	*pc = (struct th_agent_computer){ .kind = TH_STR(TH_COMPUTER_CUSTOM),
					  .width = width,
					  .height = height };
	agent->def.computer = pc;
	agent->see = see;
	agent->act = act;
	agent->computer_ctx = ctx;
	return TH_OK;
}

/* ---- use --------------------------------------------------------------------------------------
 */

static bool names_tool(const struct th_strs *list, struct th_str name)
{
	for (size_t i = 0; i < list->count; i++)
		if (th_str_eq(list->list[i], name))
			return true;
	return false;
}

/* Of a file that names none: those of the configuration, else ours and what its computer brings. */
static struct th_strs default_tools(const struct thole_agent *a, const struct th_config *config,
				    struct th_str ours[static TH_AGENT_TOOLS_MAX])
{
	const struct th_computer_kind *kind =
	    a->def.computer ? th_computer_find(a->def.computer->kind) : NULL;
	struct th_strs list = { ours, 0 };

	if (config && config->tools.count)
		return config->tools;
	list.count = th_tools_default(ours);
	if (kind && kind->tool && list.count < TH_AGENT_TOOLS_MAX)
		ours[list.count++] = th_str_of(kind->tool);
	return list;
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
		return too_large(err);
	for (all.count = 0; all.count < named.count; all.count++) {
		/* The configuration may be gone before the agent is. */
		all.list[all.count] = th_arena_str(&a->memory, named.list[all.count]);
		if (!all.list[all.count].ptr)
			return too_large(err);
	}
	for (size_t i = 0; i < a->tool_count; i++)
		if (!names_tool(&named, a->tools[i]->spec.name))
			all.list[all.count++] = a->tools[i]->spec.name;
	for (size_t i = 0; i < a->def.commands.count; i++)
		if (!names_tool(&named, commands[i].name))
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
	return a->def.workspace.ptr ? TH_OK : too_large(err);
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
			code = th_api_team_use(a, config, err);
		if (code)
			a->def.tools = tools;
		atomic_store(&a->in_use, !code);
	}
	pthread_mutex_unlock(&a->lock);
	return code;
}
