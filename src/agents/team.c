/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/team.h"

#include "agents/names.h"
#include "agents/provider_state.h"
#include "base/text.h"
#include "schema/schema.h"

static struct th_member plain_member = { .output_retries = TH_OUTPUT_RETRIES_DEFAULT,
					 .reset_tool_choice = true };
#define MARKERS                                                      \
	{                                                            \
		TH_STR_INIT(TH_NEST_START), TH_STR_INIT(TH_NEST_END) \
	}
const struct th_team th_team_plain = { .members = &plain_member, .count = 1, .markers = MARKERS };

static const char *const instead_names[TH_INSTEAD_COUNT] = { "max_turns", "refusal",
							     "invalid_output" };

const char *th_instead_name(enum th_instead i)
{
	assert(i < TH_INSTEAD_COUNT);
	return instead_names[i];
}

/* One definition being resolved. */
struct resolver {
	const struct th_json *definition;
	struct th_team *team;
	struct th_arena *a; /* what stays */
	struct th_err *err;
};

static enum th_code full(struct resolver *r)
{
	return th_fail(r->err, TH_ELIMIT, "the agents' definition takes too much memory");
}

static bool keep(struct resolver *r, struct th_str s, struct th_str *ret)
{
	*ret = th_arena_str(r->a, s);
	return ret->ptr != NULL;
}

static bool has_delegates(const struct th_json *d)
{
	struct th_json_iter it = th_json_iter(th_json_get(d, "commands"));

	while (th_json_is_array(it.parent) && th_json_next(&it))
		if (th_json_get(it.val, "agent"))
			return true;
	return false;
}

/* Hooks that are programs. */
static bool has_programs_at(const struct th_json *d, const char *member)
{
	const struct th_json *hooks = th_json_get(d, member);

	for (int i = 0; i < TH_HOOK_EVENT_COUNT; i++)
		if (!th_json_is_null(th_json_get(hooks, th_hook_event_name((enum th_hook_event)i))))
			return true;
	return false;
}

static bool has_programs(const struct th_json *d)
{
	return has_programs_at(d, "hooks");
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
	return has_programs(d) || has_programs_at(d, "run_hooks") || has_delegates(d);
}

static const struct th_json *member_definition(const struct th_json *d, size_t index,
					       struct th_str *ret_key)
{
	struct th_json_iter it = th_json_iter(th_json_get(d, "agents"));

	*ret_key = TH_STR("");
	if (index == 0)
		return d;
	while (th_json_next(&it))
		if (--index == 0) {
			*ret_key = it.key;
			return it.val;
		}
	return NULL;
}

const struct th_json *th_team_definition(const struct th_json *definition, size_t index)
{
	struct th_str key;

	return member_definition(definition, index, &key);
}

static enum th_code no_agent(struct resolver *r, const char *field, struct th_str name)
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
static int agent_by_key(struct resolver *r, struct th_str key)
{
	struct th_json_iter it = th_json_iter(th_json_get(r->definition, "agents"));

	for (int i = 1; th_json_next(&it); i++)
		if (th_str_eq(it.key, key))
			return i;
	return th_team_find(r->team, key);
}

/* What the model says with a handoff: why, for whom, how urgent. */
static enum th_code resolve_parameters(struct resolver *r, struct th_handoff *h,
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
		return full(r);
	/* As it stands, or not at all: nothing is added to what somebody wrote. */
	th_arena_init(&scratch, TH_TURN_MEMORY_MAX);
	h->strict = !th_schema_strict(schema, 0, &scratch, &strict, NULL) &&
		    !th_json_parse(strict, &doc, NULL) && th_json_equal(schema, th_json_root(doc));
	th_json_free(doc);
	th_arena_deinit(&scratch);
	return TH_OK;
}

/* A handoff's members: names that are known, values of their type. */
static enum th_code check_members(struct resolver *r, const struct th_json *handoff)
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

static enum th_code resolve_handoff(struct resolver *r, struct th_member *m,
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
	to = member_definition(r->definition, (size_t)index, &key);
	h->description =
	    given.len
		? th_arena_str(r->a, given)
		: th_name_handoff_text(r->a, name, th_json_get_str(to, "handoff_description"));
	h->nest = th_json_bool(th_json_get(v, "nest"), h->nest);
	code = resolve_parameters(r, h, th_json_get(v, "parameters"));
	if (code)
		return code;
	if (!h->tool.ptr || !h->description.ptr ||
	    !keep(r, th_json_get_str(v, "filter"), &h->filter))
		return full(r);
	for (size_t i = 0; i < m->handoff_count; i++)
		if (th_str_eq(m->handoffs[i].tool, h->tool))
			return th_fail(r->err, TH_EUSAGE,
				       "handoffs: two have the function name \"%.*s\"",
				       TH_FMT(h->tool));
	m->handoff_count++;
	return TH_OK;
}

static enum th_code resolve_handoffs(struct resolver *r, struct th_member *m,
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
	if (!m->handoffs || !keep(r, th_json_get_str(d, "history_mapper"), &mapper))
		return full(r);
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
static enum th_code resolve_delegate(struct resolver *r, struct th_delegate *d,
				     const struct th_agent_command *tool)
{
	const struct th_strs one = { (struct th_str *)(uintptr_t)&tool->agent, 1 };
	const struct th_strs *names = tool->agents.count ? &tool->agents : &one;
	struct th_str key;

	d->to = th_arena_array(r->a, names->count, sizeof(*d->to));
	d->names.list = th_arena_array(r->a, names->count, sizeof(*d->names.list));
	if (!d->to || !d->names.list || !keep(r, tool->name, &d->tool))
		return full(r);
	for (size_t i = 0; i < names->count; i++) {
		int to = agent_by_key(r, names->list[i]);

		if (to < 0)
			return no_agent(r, "tools", names->list[i]);
		if (th_json_get(member_definition(r->definition, (size_t)to, &key), "computer"))
			return th_fail(r->err, TH_EUSAGE,
				       "tools: the agent \"%.*s\" has a computer, which an agent "
				       "that is a tool cannot have; hand over to it instead",
				       TH_FMT(th_utf8_cut(names->list[i], 80)));
		if (!keep(r, names->list[i], &d->names.list[i]))
			return full(r);
		d->to[d->names.count++] = (size_t)to;
	}
	return TH_OK;
}

/* Tools that are agents. */
static enum th_code resolve_delegates(struct resolver *r, struct th_member *m,
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
			return full(r);
		code = resolve_delegate(r, &m->delegates[m->delegate_count++], &list[i]);
		if (code)
			return code;
	}
	return TH_OK;
}

static enum th_code resolve_strs(struct resolver *r, const struct th_strs *from,
				 struct th_strs *ret)
{
	*ret = (struct th_strs){ 0 };
	if (from->count == 0)
		return TH_OK;
	ret->list = th_arena_array(r->a, from->count, sizeof(*ret->list));
	if (!ret->list)
		return full(r);
	for (size_t i = 0; i < from->count; i++)
		if (!keep(r, from->list[i], &ret->list[i]))
			return full(r);
	ret->count = from->count;
	return TH_OK;
}

/* Where the fold waits for a hook; -1: nowhere. */
static int stage_of(const struct th_hook_program *h)
{
	switch (h->event) {
	case TH_HOOK_ON_PRE_TOOL_USE:
		return TH_GUARD_TOOL_INPUT;
	case TH_HOOK_ON_POST_TOOL_USE:
		return TH_GUARD_TOOL_OUTPUT;
	case TH_HOOK_ON_USER_PROMPT_SUBMIT:
	case TH_HOOK_ON_SESSION_START:
		return TH_GUARD_INPUT;
	case TH_HOOK_ON_STOP:
		return TH_GUARD_OUTPUT;
	case TH_HOOK_ON_SESSION_END:
	case TH_HOOK_EVENT_COUNT:
		break;
	}
	return -1;
}

static enum th_code add_programs(struct resolver *r, struct th_member *m)
{
	for (size_t i = 0; i < r->team->program_count; i++) {
		const struct th_hook_program *h = &r->team->programs[i];
		int stage = stage_of(h);

		if (stage < 0)
			continue;
		if (m->guard_count == TH_GUARDRAILS_MAX)
			return th_fail(r->err, TH_ELIMIT,
				       "an agent has at most %d guardrails and hooks",
				       TH_GUARDRAILS_MAX);
		m->guard_masks[stage] |= UINT32_C(1) << m->guard_count;
		if (stage == TH_GUARD_INPUT)
			m->guard_blocking |= UINT32_C(1) << m->guard_count;
		m->guards[m->guard_count++] = (struct th_guardrail){
			.name = h->name,
			.stage = (enum th_guard_stage)stage,
			.blocking = stage == TH_GUARD_INPUT,
			.program = h,
			.once = h->event == TH_HOOK_ON_SESSION_START,
		};
	}
	return TH_OK;
}

/* Of the first agent's `hooks`; others may have functions alone. */
static enum th_code resolve_programs(struct resolver *r, struct th_team *team)
{
	const struct th_json *hooks = th_json_get(r->definition, "hooks");
	struct th_hook_program *list;
	enum th_code code = TH_OK;

	if (!has_programs(r->definition))
		return TH_OK;
	list = th_arena_array(r->a, TH_GUARDRAILS_MAX + 1, sizeof(*list));
	if (!list)
		return full(r);
	for (int i = 0; i < TH_HOOK_EVENT_COUNT && !code; i++) {
		enum th_hook_event event = (enum th_hook_event)i;

		code = th_hooks_read(event, th_json_get(hooks, th_hook_event_name(event)), r->a,
				     list, &team->program_count, TH_GUARDRAILS_MAX, r->err);
	}
	team->programs = list;
	team->hooks_fail = th_json_bool(th_json_get(hooks, "fail"), false);
	return th_prefix(r->err, code, "hooks");
}

static enum th_code resolve_guards(struct resolver *r, struct th_member *m,
				   const struct th_agent *agent)
{
	const struct th_agent_guardrail *from = agent->guardrails.list;
	size_t count = agent->guardrails.count;
	enum th_code code = TH_OK;

	if (count > TH_GUARDRAILS_MAX)
		return th_fail(r->err, TH_ELIMIT, "an agent has at most %d guardrails",
			       TH_GUARDRAILS_MAX);
	m->guards = th_arena_array(r->a, count + r->team->program_count + 1, sizeof(*m->guards));
	if (!m->guards)
		return full(r);
	for (size_t i = 0; i < count && !code; i++) {
		struct th_guardrail *g = &m->guards[i];

		g->stage = (enum th_guard_stage)from[i].stage;
		g->blocking = from[i].blocking && g->stage == TH_GUARD_INPUT;
		if (!keep(r, from[i].name, &g->name))
			return full(r);
		code = resolve_strs(r, &from[i].tools, &g->tools);
		m->guard_masks[g->stage] |= UINT32_C(1) << i;
		if (g->blocking)
			m->guard_blocking |= UINT32_C(1) << i;
		for (size_t j = 0; j < i && !code; j++)
			if (m->guards[j].stage == g->stage && th_str_eq(m->guards[j].name, g->name))
				code =
				    th_fail(r->err, TH_EUSAGE,
					    "guardrails: \"%.*s\" is there twice", TH_FMT(g->name));
	}
	m->guard_count = count;
	return code ?: add_programs(r, m);
}

static enum th_code resolve_tool_use(struct resolver *r, struct th_member *m,
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
		return keep(r, code, &m->tool_use_fn) ? TH_OK : full(r);
	}
	if (!th_json_is_array(names) || th_json_count(names) > TH_STOP_TOOLS_MAX)
		return th_fail(r->err, TH_EUSAGE,
			       "tool_use_behavior is run_again, stop_on_first_tool, {stop_at: "
			       "[tools, at most %d]} or {code: function}",
			       TH_STOP_TOOLS_MAX);
	m->tool_use = TH_USE_NAMES;
	m->stop_at.list = th_arena_array(r->a, th_json_count(names) + 1, sizeof(struct th_str));
	if (!m->stop_at.list)
		return full(r);
	while (th_json_next(&it))
		if (!keep(r, th_json_str(it.val), &m->stop_at.list[m->stop_at.count++]))
			return full(r);
	return TH_OK;
}

/* A string is said as it is, anything else as JSON. */
static enum th_code resolve_instead(struct resolver *r, struct th_member *m,
				    const struct th_json *v)
{
	for (int i = 0; i < TH_INSTEAD_COUNT; i++) {
		const struct th_json *o = th_json_get(v, instead_names[i]);
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
			return full(r);
	}
	return TH_OK;
}

/* The markers tell such a text apart from others: one pair for the whole team. */
static enum th_code resolve_markers(struct resolver *r, size_t index, const struct th_agent *agent)
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
	return keep(r, given->list[0], &r->team->markers.start) &&
		       keep(r, given->list[1], &r->team->markers.end)
		   ? TH_OK
		   : full(r);
}

static enum th_code resolve_member(struct resolver *r, size_t index)
{
	struct th_member *m = &r->team->members[index];
	struct th_arena scratch;
	struct th_agent *agent;
	struct th_str key;
	const struct th_json *d = member_definition(r->definition, index, &key);
	enum th_code code;

	th_arena_init_try(&scratch, TH_PROVIDER_STATE_MAX);
	agent = TH_NEW(&scratch, struct th_agent);
	code = agent ? th_table_parse(&th_agent_table, d, &scratch, agent, r->err) : full(r);
	if (!code && index > 0 && agent->agents.len)
		code = th_fail(r->err, TH_EUSAGE, "only the first agent may have agents");
	if (!code &&
	    (has_programs_at(d, "run_hooks") || (index > 0 && has_programs_at(d, "hooks"))))
		code = th_fail(r->err, TH_EUSAGE,
			       "only `hooks` of the first agent may have programs; they are asked "
			       "about every agent of the team");
	if (!code && index > 0 && agent->run_hooks)
		code = th_fail(r->err, TH_EUSAGE, "only the first agent may have run_hooks");
	if (!code && index > 0 && agent->stuck)
		code = th_fail(r->err, TH_EUSAGE, "only the first agent may have stuck");
	if (!code) {
		m->output_retries = agent->output_retries;
		m->reset_tool_choice = agent->reset_tool_choice;
		m->unknown_tool_fails = agent->unknown_tool == TH_UNKNOWN_TOOL_FAIL;
		if (!keep(r, agent->output_schema, &m->output_schema))
			code = full(r);
	}
	if (!code && agent->fallback.count > TH_FALLBACK_MAX)
		code = th_fail(r->err, TH_ELIMIT, "an agent has at most %d models to fall back to",
			       TH_FALLBACK_MAX);
	if (!code)
		code = resolve_strs(r, &agent->fallback, &m->fallback);
	if (!code)
		code = resolve_guards(r, m, agent);
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
	struct resolver r = { definition, NULL, a, err };
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
		return full(&r);
	team->count = 1 + th_json_count(agents);
	team->markers = (struct th_nest_markers)MARKERS;
	team->members = th_arena_array(a, team->count, sizeof(*team->members));
	if (!team->members)
		return full(&r);
	for (size_t i = 0; i < team->count; i++) {
		struct th_str key, name;
		const struct th_json *d = member_definition(definition, i, &key);

		name = th_json_get_str(d, "name");
		if (!name.len)
			name = key.len ? key : TH_STR("default");
		for (size_t j = 0; j < i; j++)
			if (th_str_eq(team->members[j].name, name))
				return th_fail(err, TH_EUSAGE, "two agents are named \"%.*s\"",
					       TH_FMT(th_utf8_cut(name, 80)));
		if (!keep(&r, name, &team->members[i].name))
			return full(&r);
	}
	if (!code)
		code = resolve_programs(&r, team);
	for (size_t i = 0; i < team->count && !code; i++)
		code = resolve_member(&r, i);
	if (!code)
		*ret = team;
	return code;
}

enum th_code th_team_agent(const struct th_json *definition, size_t index, struct th_arena *a,
			   struct th_agent *ret, struct th_err *err)
{
	struct th_str key;
	const struct th_json *d = member_definition(definition, index, &key);
	enum th_code code;

	if (!d)
		return th_fail(err, TH_ENOENT, "there is no agent %zu", index);
	code = th_table_parse(&th_agent_table, d, a, ret, err);
	if (!code && !ret->name.len)
		ret->name = key.len ? key : TH_STR("default");
	return code;
}

bool th_member_stops_at(const struct th_member *m, struct th_str tool)
{
	for (size_t i = 0; i < m->stop_at.count; i++)
		if (m->tool_use == TH_USE_NAMES && th_str_eq(m->stop_at.list[i], tool))
			return true;
	return false;
}

int th_member_handoff(const struct th_member *m, struct th_str tool)
{
	for (size_t i = 0; i < m->handoff_count; i++)
		if (th_str_eq(m->handoffs[i].tool, tool))
			return (int)i;
	return -1;
}

int th_delegate_to(const struct th_delegate *d, struct th_str name)
{
	for (size_t i = 0; i < d->names.count; i++)
		if (!name.len || th_str_eq(d->names.list[i], name))
			return (int)d->to[i];
	return -1;
}

const struct th_delegate *th_member_delegate(const struct th_member *m, struct th_str tool)
{
	for (size_t i = 0; i < m->delegate_count; i++)
		if (th_str_eq(m->delegates[i].tool, tool))
			return &m->delegates[i];
	return NULL;
}

uint32_t th_member_tool_guards(const struct th_member *m, enum th_guard_stage stage,
			       struct th_str tool)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < m->guard_count; i++) {
		const struct th_guardrail *g = &m->guards[i];
		bool named = g->program ? th_hook_matches(g->program, tool) : g->tools.count == 0;

		for (size_t j = 0; j < g->tools.count; j++)
			named |= th_str_eq(g->tools.list[j], tool);
		if (g->stage == stage && named)
			mask |= UINT32_C(1) << i;
	}
	return mask;
}

int th_team_find(const struct th_team *t, struct th_str name)
{
	for (size_t i = 0; i < t->count; i++)
		if (th_str_eq(t->members[i].name, name))
			return (int)i;
	return -1;
}
