/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/team.h"

#include "agents/team_internal.h"
#include "rules/tool_names.h"

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

const struct th_json *th_team_member_definition(const struct th_json *d, size_t index,
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

	return th_team_member_definition(definition, index, &key);
}

enum th_code th_team_agent(const struct th_json *definition, size_t index, struct th_arena *a,
			   struct th_agent *ret, struct th_err *err)
{
	struct th_str key;
	const struct th_json *d = th_team_member_definition(definition, index, &key);
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

static bool looks_at(const struct th_guardrail *g, struct th_str tool)
{
	struct th_tool_called called;
	bool ret = g->tools.count == 0 || th_strs_has(&g->tools, tool);

	if (g->program)
		return th_hook_matches(g->program, tool, g->alike);
	if (ret || !g->alike)
		return ret;
	called = th_tool_called(tool, TH_TOOL_ANY);
	for (size_t i = 0; !ret && i < called.count; i++)
		ret = th_strs_has(&g->tools, called.names[i]);
	return ret;
}

uint32_t th_member_tool_guards(const struct th_member *m, enum th_guard_stage stage,
			       struct th_str tool)
{
	bool reads = stage == TH_GUARD_TOOL_OUTPUT && th_str_is(tool, TH_BACKGROUND_TOOL);
	uint32_t mask = 0;

	for (size_t i = 0; reads && i < m->delegate_count; i++)
		if (m->delegates[i].background)
			mask |= th_member_tool_guards(m, stage, m->delegates[i].tool);
	for (size_t i = 0; i < m->guard_count; i++) {
		if (!m->guards[i].alike) /* of an older session: at calls of its tools alone */
			mask &= ~(UINT32_C(1) << i);
		if (m->guards[i].stage == stage && looks_at(&m->guards[i], tool))
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
