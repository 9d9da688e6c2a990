/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_resolve.c - a definition of agents, read into a team: names become members, and what cannot
 * be is said by its path.
 */
#include "agents/names.h"
#include "agents/provider_state.h"
#include "agents/team.h"
#include "agents/team_internal.h"
#include "base/text.h"
#include "schema/schema.h"

static bool has_delegates(const struct th_json *d)
{
	struct th_json_iter it = th_json_iter(th_json_get(d, "commands"));

	while (th_json_is_array(it.parent) && th_json_next(&it))
		if (th_json_get(it.val, "agent"))
			return true;
	return false;
}

/* What makes a definition more than one plain agent. */
static bool more_than_plain(const struct th_json *d)
{
	static const char *const members[] = {
		"agents",        "handoffs",          "tool_use_behavior",
		"output_schema", "guardrails",        "instead",
		"unknown_tool",  "instructions_from", "reset_tool_choice",
		"nest_history",  "history_mapper",    "history_markers",
		"fallback",
	};

	for (size_t i = 0; i < TH_COUNT(members); i++)
		if (!th_json_is_null(th_json_get(d, members[i])))
			return true;
	return th_team_has_programs(d) || th_team_has_programs_at(d, "run_hooks") ||
	       has_delegates(d);
}

static enum th_code no_agent(struct th_team_resolver *r, const char *field, struct th_str name)
{
	struct th_buf known = TH_BUF_INIT(4 * TH_KIB);

	for (size_t i = 0; i < r->team->count; i++)
		th_buf_printf(&known, "%s%.*s", i ? ", " : "", TH_FMT(r->team->members[i].name));
	(void)th_fail(r->err, TH_EUSAGE,
		      "%s: there is no agent named \"%.*s\"; the agents are %.*s", field,
		      TH_FMT(th_utf8_cut(name, 80)), TH_FMT(th_buf_str(&known)));
	th_buf_deinit(&known);
	return TH_EUSAGE;
}

/* The agents are known by their keys; the first one by its name. */
static int agent_by_key(struct th_team_resolver *r, struct th_str key)
{
	struct th_json_iter it = th_json_iter(th_json_get(r->definition, "agents"));

	for (int i = 1; th_json_next(&it); i++)
		if (th_str_eq(it.key, key))
			return i;
	return th_team_find(r->team, key);
}

/* What the model says with a handoff: why, for whom, how urgent. */
static enum th_code resolve_parameters(struct th_team_resolver *r, struct th_handoff *h,
				       const struct th_json *schema)
{
	static const char none[] = "{\"type\":\"object\",\"properties\":{},\"required\":[],"
				   "\"additionalProperties\":false}";
	struct th_arena scratch;
	struct th_str strict;
	struct th_json_doc *doc = NULL;

	h->schema = th_str_of(none);
	h->strict = true;
	if (th_json_is_null(schema))
		return TH_OK;
	if (!th_json_is_object(schema) || !th_str_is(th_json_get_str(schema, "type"), "object"))
		return th_fail(r->err, TH_EUSAGE,
			       "handoffs: parameters must be a JSON Schema of type object");
	h->told = true;
	h->schema = th_json_text(schema, r->a);
	if (!h->schema.ptr)
		return th_team_full(r);
	/* As it stands, or not at all: nothing is added to what somebody wrote. */
	th_arena_init(&scratch, TH_TURN_MEMORY_MAX);
	h->strict = !th_schema_strict(schema, 0, &scratch, &strict, NULL) &&
		    !th_json_parse(strict, &doc, NULL) && th_json_equal(schema, th_json_root(doc));
	th_json_free(doc);
	th_arena_deinit(&scratch);
	return TH_OK;
}

/* A handoff's members: names that are known, values of their type. */
static enum th_code check_members(struct th_team_resolver *r, const struct th_json *handoff)
{
	static const struct {
		const char *name;
		enum th_json_type type;
		const char *is;
	} members[] = {
		{ "agent", TH_JSON_STR, "a string" },
		{ "tool", TH_JSON_STR, "a string" },
		{ "description", TH_JSON_STR, "a string" },
		{ "filter", TH_JSON_STR, "a string" },
		{ "nest", TH_JSON_BOOL, "true or false" },
		{ "enabled", TH_JSON_BOOL, "true or false" },
		{ "parameters", TH_JSON_NULL, NULL },
	};
	struct th_json_iter it = th_json_iter(handoff);

	while (th_json_next(&it)) {
		size_t i = 0;

		while (i < TH_COUNT(members) && !th_str_is(it.key, members[i].name))
			i++;
		if (i == TH_COUNT(members))
			return th_fail(r->err, TH_EUSAGE, "handoffs: unknown member \"%.*s\"",
				       TH_FMT(th_utf8_cut(it.key, 60)));
		if (members[i].is && !th_json_is_null(it.val) &&
		    th_json_type(it.val) != members[i].type)
			return th_fail(r->err, TH_EUSAGE, "handoffs: %s is %s", members[i].name,
				       members[i].is);
	}
	return TH_OK;
}

static enum th_code resolve_handoff(struct th_team_resolver *r, struct th_member *m,
				    const struct th_json *v)
{
	struct th_handoff *h = &m->handoffs[m->handoff_count];
	struct th_str name = th_json_str(v), key, given;
	const struct th_json *to;
	enum th_code code;
	int index;

	if (!name.ptr) {
		if (!th_json_is_object(v))
			return th_fail(r->err, TH_EUSAGE,
				       "handoffs: each is an agent's name or an object");
		code = check_members(r, v);
		if (code)
			return code;
		name = th_json_get_str(v, "agent");
		if (!th_json_bool(th_json_get(v, "enabled"), true))
			return TH_OK;
	}
	index = agent_by_key(r, name);
	if (index < 0)
		return no_agent(r, "handoffs", name);
	*h = (struct th_handoff){ .to = (size_t)index };
	name = r->team->members[index].name;
	given = th_json_get_str(v, "tool");
	h->tool = given.len ? th_arena_str(r->a, given) : th_name_handoff(r->a, name);
	given = th_json_get_str(v, "description");
	to = th_team_member_definition(r->definition, (size_t)index, &key);
	h->description =
	    given.len
		? th_arena_str(r->a, given)
		: th_name_handoff_text(r->a, name, th_json_get_str(to, "handoff_description"));
	h->nest = th_json_bool(th_json_get(v, "nest"), h->nest);
	code = resolve_parameters(r, h, th_json_get(v, "parameters"));
	if (code)
		return code;
	if (!h->tool.ptr || !h->description.ptr ||
	    !th_team_keep(r, th_json_get_str(v, "filter"), &h->filter))
		return th_team_full(r);
	for (size_t i = 0; i < m->handoff_count; i++)
		if (th_str_eq(m->handoffs[i].tool, h->tool))
			return th_fail(r->err, TH_EUSAGE,
				       "handoffs: two have the function name \"%.*s\"",
				       TH_FMT(h->tool));
	m->handoff_count++;
	return TH_OK;
}

static enum th_code resolve_handoffs(struct th_team_resolver *r, struct th_member *m,
				     const struct th_json *d)
{
	const struct th_json *list = th_json_get(d, "handoffs");
	struct th_json_iter it = th_json_iter(list);
	bool nest = th_json_bool(th_json_get(d, "nest_history"), false);
	struct th_str mapper;
	enum th_code code = TH_OK;

	if (th_json_is_null(list))
		return TH_OK;
	if (!th_json_is_array(list) || th_json_count(list) > TH_HANDOFFS_MAX)
		return th_fail(r->err, TH_EUSAGE, "handoffs must be a list of at most %d agents",
			       TH_HANDOFFS_MAX);
	m->handoffs = th_arena_array(r->a, th_json_count(list) + 1, sizeof(*m->handoffs));
	if (!m->handoffs || !th_team_keep(r, th_json_get_str(d, "history_mapper"), &mapper))
		return th_team_full(r);
	while (!code && th_json_next(&it)) {
		size_t before = m->handoff_count;

		code = resolve_handoff(r, m, it.val);
		if (code || m->handoff_count == before)
			continue;
		if (th_json_is_null(th_json_get(it.val, "nest")))
			m->handoffs[before].nest = nest;
		m->handoffs[before].mapper = mapper;
	}
	return code;
}

/* What works on a call has no screen: it would be another one. */
static enum th_code resolve_delegate(struct th_team_resolver *r, struct th_delegate *d,
				     const struct th_agent_command *tool)
{
	const struct th_strs one = { (struct th_str *)(uintptr_t)&tool->agent, 1 };
	const struct th_strs *names = tool->agents.count ? &tool->agents : &one;
	struct th_str key;

	d->to = th_arena_array(r->a, names->count, sizeof(*d->to));
	d->names.list = th_arena_array(r->a, names->count, sizeof(*d->names.list));
	if (!d->to || !d->names.list || !th_team_keep(r, tool->name, &d->tool))
		return th_team_full(r);
	for (size_t i = 0; i < names->count; i++) {
		int to = agent_by_key(r, names->list[i]);

		if (to < 0)
			return no_agent(r, "tools", names->list[i]);
		if (th_json_get(th_team_member_definition(r->definition, (size_t)to, &key),
				"computer"))
			return th_fail(r->err, TH_EUSAGE,
				       "tools: the agent \"%.*s\" has a computer, which an agent "
				       "that is a tool cannot have; hand over to it instead",
				       TH_FMT(th_utf8_cut(names->list[i], 80)));
		if (!th_team_keep(r, names->list[i], &d->names.list[i]))
			return th_team_full(r);
		d->to[d->names.count++] = (size_t)to;
	}
	return TH_OK;
}

/* Tools that are agents. */
static enum th_code resolve_delegates(struct th_team_resolver *r, struct th_member *m,
				      const struct th_agent *agent)
{
	const struct th_agent_command *list = agent->commands.list;

	for (size_t i = 0; i < agent->commands.count; i++) {
		enum th_code code;

		if (!th_agent_command_delegates(&list[i]))
			continue;
		if (!m->delegates)
			m->delegates =
			    th_arena_array(r->a, agent->commands.count, sizeof(*m->delegates));
		if (!m->delegates)
			return th_team_full(r);
		m->delegates[m->delegate_count].background = list[i].background;
		code = resolve_delegate(r, &m->delegates[m->delegate_count++], &list[i]);
		if (code)
			return code;
	}
	return TH_OK;
}

static enum th_code resolve_tool_use(struct th_team_resolver *r, struct th_member *m,
				     const struct th_json *v)
{
	struct th_str word = th_json_str(v), code = th_json_get_str(v, "code");
	const struct th_json *names = th_json_get(v, "stop_at");
	struct th_json_iter it = th_json_iter(names);

	if (th_json_is_null(v) || th_str_is(word, "run_again"))
		return TH_OK;
	if (th_str_is(word, "stop_on_first_tool")) {
		m->tool_use = TH_USE_FIRST;
		return TH_OK;
	}
	if (code.len) {
		m->tool_use = TH_USE_CODE;
		return th_team_keep(r, code, &m->tool_use_fn) ? TH_OK : th_team_full(r);
	}
	if (!th_json_is_array(names) || th_json_count(names) > TH_STOP_TOOLS_MAX)
		return th_fail(r->err, TH_EUSAGE,
			       "tool_use_behavior is run_again, stop_on_first_tool, {stop_at: "
			       "[tools, at most %d]} or {code: function}",
			       TH_STOP_TOOLS_MAX);
	m->tool_use = TH_USE_NAMES;
	m->stop_at.list = th_arena_array(r->a, th_json_count(names) + 1, sizeof(struct th_str));
	if (!m->stop_at.list)
		return th_team_full(r);
	while (th_json_next(&it))
		if (!th_team_keep(r, th_json_str(it.val), &m->stop_at.list[m->stop_at.count++]))
			return th_team_full(r);
	return TH_OK;
}

/* A string is said as it is, anything else as JSON. */
static enum th_code resolve_instead(struct th_team_resolver *r, struct th_member *m,
				    const struct th_json *v)
{
	for (int i = 0; i < TH_INSTEAD_COUNT; i++) {
		const struct th_json *o = th_json_get(v, th_instead_name((enum th_instead)i));
		const struct th_json *given = o;
		struct th_instead_output *out = &m->instead[i];

		if (th_json_is_null(o))
			continue;
		out->in_history = true;
		if (th_json_get(o, "output") &&
		    th_json_count(o) == 1 + (size_t)(th_json_get(o, "in_history") != NULL)) {
			given = th_json_get(o, "output");
			out->in_history = th_json_bool(th_json_get(o, "in_history"), true);
		}
		out->text = th_json_str(given).ptr ? th_arena_str(r->a, th_json_str(given))
						   : th_json_text(given, r->a);
		if (!out->text.ptr)
			return th_team_full(r);
	}
	return TH_OK;
}

/* The markers tell such a text apart from others: one pair for the whole team. */
static enum th_code resolve_markers(struct th_team_resolver *r, size_t index,
				    const struct th_agent *agent)
{
	const struct th_strs *given = &agent->history_markers;

	if (!given->count)
		return TH_OK;
	if (index > 0)
		return th_fail(r->err, TH_EUSAGE, "only the first agent may have history_markers");
	if (given->count != 2 || !given->list[0].len || !given->list[1].len)
		return th_fail(r->err, TH_EUSAGE,
			       "history_markers must be two texts, the line before a nested "
			       "history and the line behind it");
	return th_team_keep(r, given->list[0], &r->team->markers.start) &&
		       th_team_keep(r, given->list[1], &r->team->markers.end)
		   ? TH_OK
		   : th_team_full(r);
}

static enum th_code resolve_member(struct th_team_resolver *r, size_t index)
{
	struct th_member *m = &r->team->members[index];
	struct th_arena scratch;
	struct th_agent *agent;
	struct th_str key;
	const struct th_json *d = th_team_member_definition(r->definition, index, &key);
	enum th_code code;

	th_arena_init_try(&scratch, TH_PROVIDER_STATE_MAX);
	agent = TH_NEW(&scratch, struct th_agent);
	code =
	    agent ? th_table_parse(&th_agent_table, d, &scratch, agent, r->err) : th_team_full(r);
	if (!code && index > 0 && agent->agents.len)
		code = th_fail(r->err, TH_EUSAGE, "only the first agent may have agents");
	if (!code && th_team_has_programs_at(d, "run_hooks"))
		code = th_fail(r->err, TH_EUSAGE,
			       "only `hooks` may have programs: those of the first agent are asked "
			       "about every agent of the team, those of another about itself");
	if (!code && index > 0 && agent->run_hooks)
		code = th_fail(r->err, TH_EUSAGE, "only the first agent may have run_hooks");
	if (!code && index > 0 && agent->stuck)
		code = th_fail(r->err, TH_EUSAGE, "only the first agent may have stuck");
	if (!code) {
		m->output_retries = agent->output_retries;
		m->reset_tool_choice = agent->reset_tool_choice;
		m->unknown_tool_fails = agent->unknown_tool == TH_UNKNOWN_TOOL_FAIL;
		if (!th_team_keep(r, agent->output_schema, &m->output_schema))
			code = th_team_full(r);
	}
	if (!code && agent->fallback.count > TH_FALLBACK_MAX)
		code = th_fail(r->err, TH_ELIMIT, "an agent has at most %d models to fall back to",
			       TH_FALLBACK_MAX);
	if (!code)
		code = th_team_resolve_strs(r, &agent->fallback, &m->fallback);
	if (!code)
		code = th_team_resolve_guards(r, m, agent, d);
	if (!code)
		code = resolve_tool_use(r, m, th_json_get(d, "tool_use_behavior"));
	if (!code)
		code = resolve_instead(r, m, th_json_get(d, "instead"));
	if (!code)
		code = resolve_handoffs(r, m, d);
	if (!code)
		code = resolve_markers(r, index, agent);
	if (!code)
		code = resolve_delegates(r, m, agent);
	r->a->no_memory |= scratch.no_memory;
	th_arena_deinit(&scratch);
	if (code && index > 0)
		return th_prefix(r->err, code, "agents.%.*s", TH_FMT(th_utf8_cut(key, 80)));
	return code;
}

enum th_code th_team_resolve(const struct th_json *definition, struct th_arena *a,
			     const struct th_team **ret, struct th_err *err)
{
	const struct th_json *agents = th_json_get(definition, "agents");
	struct th_team *team;
	struct th_team_resolver r = {
		.definition = definition,
		.a = a,
		.err = err,
		.alike = th_json_bool(th_json_get(definition, "guards_alike"), false),
	};
	enum th_code code = th_provider_state_check(definition, err);

	*ret = &th_team_plain;
	if (code || !more_than_plain(definition))
		return code;
	if (!th_json_is_null(agents) &&
	    (!th_json_is_object(agents) || th_json_count(agents) >= TH_TEAM_MAX))
		return th_fail(err, TH_EUSAGE,
			       "agents must be an object of at most %d agents by their names",
			       TH_TEAM_MAX - 1);
	r.team = team = TH_NEW(a, struct th_team);
	if (!team)
		return th_team_full(&r);
	team->count = 1 + th_json_count(agents);
	team->markers = th_team_plain.markers;
	team->members = th_arena_array(a, team->count, sizeof(*team->members));
	if (!team->members)
		return th_team_full(&r);
	for (size_t i = 0; i < team->count; i++) {
		struct th_str key, name;
		const struct th_json *d = th_team_member_definition(definition, i, &key);

		name = th_json_get_str(d, "name");
		if (!name.len)
			name = key.len ? key : TH_STR("default");
		for (size_t j = 0; j < i; j++)
			if (th_str_eq(team->members[j].name, name))
				return th_fail(err, TH_EUSAGE, "two agents are named \"%.*s\"",
					       TH_FMT(th_utf8_cut(name, 80)));
		if (!th_team_keep(&r, name, &team->members[i].name))
			return th_team_full(&r);
	}
	if (!code)
		code = th_team_resolve_programs(&r, team);
	for (size_t i = 0; i < team->count && !code; i++)
		code = resolve_member(&r, i);
	if (!code)
		*ret = team;
	return code;
}
