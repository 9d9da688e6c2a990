/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any JSON as a definition: refused with a sentence, or a team whose handoffs
 * lead to its own agents, whose guardrails stand in one stage each, and each of
 * whose agents can be had by its index under the same name.
 */
#include "agents/team.h"
#include "base/limits.h"
#include "base/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_member(const struct th_team *t, const struct th_member *m)
{
	uint32_t seen = 0;

	assert(m->handoff_count <= TH_HANDOFFS_MAX && m->guard_count <= TH_GUARDRAILS_MAX);
	for (size_t i = 0; i < m->handoff_count; i++) {
		assert(m->handoffs[i].to < t->count && m->handoffs[i].tool.len > 0);
		assert(th_member_handoff(m, m->handoffs[i].tool) == (int)i);
	}
	for (int stage = 0; stage < TH_GUARD_STAGE_COUNT; stage++) {
		assert((seen & m->guard_masks[stage]) == 0);
		seen |= m->guard_masks[stage];
	}
	assert(seen == (uint32_t)((UINT64_C(1) << m->guard_count) - 1));
	assert((m->guard_blocking & ~m->guard_masks[TH_GUARD_INPUT]) == 0);
	assert((th_member_tool_guards(m, TH_GUARD_TOOL_INPUT, TH_STR("shell")) &
		~m->guard_masks[TH_GUARD_TOOL_INPUT]) == 0);
}

static void check_team(const struct th_json *definition, const struct th_team *t)
{
	struct th_agent agent;
	struct th_arena a;
	struct th_err err = {};

	th_arena_init(&a, 64 * TH_MIB);
	for (size_t i = 0; i < t->count; i++) {
		check_member(t, &t->members[i]);
		if (t == &th_team_plain)
			continue;
		assert(th_team_find(t, t->members[i].name) == (int)i);
		assert(th_team_agent(definition, i, &a, &agent, &err) == TH_OK);
		assert(th_str_eq(agent.name, t->members[i].name));
	}
	assert(t == &th_team_plain ||
	       th_team_agent(definition, t->count, &a, &agent, &err) == TH_ENOENT);
	th_arena_deinit(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct th_json_doc *doc = NULL;
	const struct th_team *team = NULL;
	struct th_arena a;
	struct th_err err = {};

	if (th_json_parse(th_str_n(data, size), &doc, NULL))
		return 0;
	th_arena_init_try(&a, TH_PROVIDER_STATE_MAX);
	if (th_team_resolve(th_json_root(doc), &a, &team, &err) == TH_OK)
		check_team(th_json_root(doc), team);
	else
		assert(err.msg[0] && th_utf8_valid(th_str_of(err.msg)) == strlen(err.msg));
	th_arena_deinit(&a);
	th_json_free(doc);
	return 0;
}
