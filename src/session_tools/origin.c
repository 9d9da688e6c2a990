/* SPDX-License-Identifier: Apache-2.0 */
#include "session_tools/origin.h"

#include "live/delegation.h"
#include "rules/net_rule.h"
#include "session_tools/mcp_tools.h"

/* A connection of the session gave bytes. */
static bool was_reached(struct th_str evidence)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(evidence, "network"));

	while (th_json_raw_next(&it))
		if (th_str_is(th_json_raw_get(it.val, "decision"), "\"allowed\""))
			return true;
	return false;
}

/* A command with the host's network may have been anywhere; what a screen shows may be
 * anybody's. */
static unsigned of_builtin(const struct th_live *l, const struct th_tool_row *row)
{
	bool commands = row->spec.class == TH_CLASS_W && row->spec.scope.target == TH_TARGET_FILES;

	if (row->spec.question)
		return TH_ORIGIN_BIT(TH_ORIGIN_PERSON);
	if (row->spec.scope.target == TH_TARGET_SCREEN || row->spec.scope.target == TH_TARGET_WEB)
		return TH_ORIGIN_BIT(TH_ORIGIN_WEB);
	if (commands && th_net_kind_of(l->session_config->agent->net) == TH_NET_HOST)
		return TH_ORIGIN_BIT(TH_ORIGIN_WEB) | TH_ORIGIN_BIT(TH_ORIGIN_WORKSPACE);
	return TH_ORIGIN_BIT(TH_ORIGIN_WORKSPACE);
}

static unsigned bits_of(const struct th_live *l, const struct th_call *c,
			const struct th_tool_row *row)
{
	if (c->native == TH_NATIVE_MCP || (row && row->mcp))
		return TH_ORIGIN_BIT(TH_ORIGIN_MCP);
	if (c->computer)
		return TH_ORIGIN_BIT(TH_ORIGIN_WEB);
	if (c->class == TH_CLASS_L)
		return 0;
	if (!row || row->local || row->command)
		return TH_ORIGIN_BIT(TH_ORIGIN_TOOL);
	return of_builtin(l, row);
}

struct th_strs th_live_origins(const struct th_live *l, const struct th_call *c,
			       struct th_str evidence, unsigned more, struct th_origin_list *room)
{
	struct th_strs list = { .list = room->names };
	unsigned bits = bits_of(l, c, th_live_row(l, c)) | more;

	if (was_reached(evidence))
		bits |= TH_ORIGIN_BIT(TH_ORIGIN_WEB);
	for (unsigned o = 0; o < TH_ORIGIN_COUNT; o++)
		if (bits & TH_ORIGIN_BIT(o))
			room->names[list.count++] = th_str_of(th_origin_name((enum th_origin)o));
	return list;
}

bool th_live_tainted(const struct th_live *l, struct th_tainted *ret)
{
	const struct th_session_origins *o = &l->fold.origins;

	while (!o->seq && l->parent_call && l->parent_call->parent) {
		l = l->parent_call->parent;
		o = &l->fold.origins;
	}
	if (!o->seq)
		return false;
	*ret = (struct th_tainted){ .origin = o->first, .seq = o->seq, .ask = o->policy.ask };
	return true;
}
