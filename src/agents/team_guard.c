/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_guard.c - a member's guardrails, and the programs that are called as guardrails are.
 */
#include "agents/team_internal.h"

/* Hooks that are programs. */
bool th_team_has_programs_at(const struct th_json *d, const char *member)
{
	const struct th_json *hooks = th_json_get(d, member);

	for (int i = 0; i < TH_HOOK_EVENT_COUNT; i++)
		if (!th_json_is_null(th_json_get(hooks, th_hook_event_name((enum th_hook_event)i))))
			return true;
	return false;
}

bool th_team_has_programs(const struct th_json *d)
{
	return th_team_has_programs_at(d, "hooks");
}

enum th_code th_team_resolve_strs(struct th_team_resolver *r, const struct th_strs *from,
				  struct th_strs *ret)
{
	*ret = (struct th_strs){ 0 };
	if (from->count == 0)
		return TH_OK;
	ret->list = th_arena_array(r->a, from->count, sizeof(*ret->list));
	if (!ret->list)
		return th_team_full(r);
	for (size_t i = 0; i < from->count; i++)
		if (!th_team_keep(r, from->list[i], &ret->list[i]))
			return th_team_full(r);
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

static enum th_code add_programs(struct th_team_resolver *r, struct th_member *m,
				 const struct th_hook_program *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct th_hook_program *h = &list[i];
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
			.alike = r->alike,
		};
	}
	return TH_OK;
}

static enum th_code read_programs(struct th_team_resolver *r, const struct th_json *definition,
				  struct th_hook_program **ret, size_t *count)
{
	const struct th_json *hooks = th_json_get(definition, "hooks");
	const struct th_json *first = th_json_get(r->definition, "hooks");
	const struct th_json *fail = th_json_get(hooks, "fail") ?: th_json_get(first, "fail");
	enum th_code code = TH_OK;

	*ret = NULL;
	if (!th_team_has_programs(definition))
		return TH_OK;
	*ret = th_arena_array(r->a, TH_GUARDRAILS_MAX + 1, sizeof(**ret));
	if (!*ret)
		return th_team_full(r);
	for (int i = 0; i < TH_HOOK_EVENT_COUNT && !code; i++) {
		enum th_hook_event event = (enum th_hook_event)i;

		code = th_hooks_read(event, th_json_get(hooks, th_hook_event_name(event)), r->a,
				     *ret, count, TH_GUARDRAILS_MAX, r->err);
	}
	for (size_t i = 0; i < *count; i++)
		(*ret)[i].fails = th_json_bool(fail, false);
	return th_prefix(r->err, code, "hooks");
}

/* Of the first agent's `hooks`: asked about all. */
enum th_code th_team_resolve_programs(struct th_team_resolver *r, struct th_team *team)
{
	struct th_hook_program *list;
	enum th_code code = read_programs(r, r->definition, &list, &team->program_count);

	team->programs = list;
	return code;
}

/* Of another's: asked about it alone, and named by it. */
static enum th_code own_programs(struct th_team_resolver *r, struct th_member *m,
				 const struct th_json *definition)
{
	struct th_hook_program *list;
	enum th_code code = read_programs(r, definition, &list, &m->program_count);

	m->programs = list;
	for (size_t i = 0; !code && list && i < m->program_count; i++) {
		list[i].name =
		    th_arena_printf(r->a, "%.*s: %.*s", TH_FMT(m->name), TH_FMT(list[i].name));
		if (!list[i].name.ptr)
			return th_team_full(r);
	}
	return code;
}

enum th_code th_team_resolve_guards(struct th_team_resolver *r, struct th_member *m,
				    const struct th_agent *agent, const struct th_json *definition)
{
	const struct th_agent_guardrail *from = agent->guardrails.list;
	size_t count = agent->guardrails.count;
	enum th_code code = definition == r->definition ? TH_OK : own_programs(r, m, definition);

	if (code)
		return code;
	if (count > TH_GUARDRAILS_MAX)
		return th_fail(r->err, TH_ELIMIT, "an agent has at most %d guardrails",
			       TH_GUARDRAILS_MAX);
	m->guards = th_arena_array(r->a, count + r->team->program_count + m->program_count + 1,
				   sizeof(*m->guards));
	if (!m->guards)
		return th_team_full(r);
	for (size_t i = 0; i < count && !code; i++) {
		struct th_guardrail *g = &m->guards[i];

		g->stage = (enum th_guard_stage)from[i].stage;
		g->blocking = from[i].blocking && g->stage == TH_GUARD_INPUT;
		g->alike = r->alike;
		if (!th_team_keep(r, from[i].name, &g->name))
			return th_team_full(r);
		code = th_team_resolve_strs(r, &from[i].tools, &g->tools);
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
	code = code ?: add_programs(r, m, r->team->programs, r->team->program_count);
	return code ?: add_programs(r, m, m->programs, m->program_count);
}
