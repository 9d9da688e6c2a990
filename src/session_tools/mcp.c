/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - tools of MCP servers that the provider calls by itself, when
 * it asks before it does (mcp_approval_request).
 *
 * The approval is an ordinary one: by rules, by code, by a person, once or for
 * good.  Nothing is run here, so there is no intent: the outcome is the answer
 * that the provider waits for, and goes to it with the next request.
 */
#include "session_tools/mcp.h"

#include "base/text.h"
#include "live/log.h"
#include "session_tools/origin.h"

/* What the provider's server does is not known here. */
static const struct th_tool_spec mcp_spec = {
	.name = TH_STR_INIT("mcp"),
	.class = TH_CLASS_W,
};

static bool is_server(const struct th_json *tool, struct th_str label)
{
	return th_str_is(th_json_get_str(tool, "type"), "mcp") &&
	       th_str_eq(th_json_get_str(tool, "server_label"), label);
}

const struct th_tool_spec *th_live_mcp_spec(const struct th_live *l, const struct th_call *c)
{
	struct th_json_doc *tools TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *item TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_iter it;
	struct th_str label;

	if (!l->session_config->agent->hosted_tools.len ||
	    th_json_parse(l->session_config->agent->hosted_tools, &tools, NULL) ||
	    th_json_parse(c->item, &item, NULL))
		return NULL;
	label = th_json_get_str(th_json_root(item), "server_label");
	for (it = th_json_iter(th_json_root(tools)); th_json_next(&it);)
		if (is_server(it.val, label))
			return &mcp_spec;
	return NULL;
}

void th_live_mcp_admit(struct th_live *l, const struct th_call *c)
{
	struct th_ev_outcome d = {
		.call_id = c->call_id,
		.status = TH_STR("done"),
		.output = TH_STR("\"approved\""),
	};
	struct th_origin_list origins;

	/* The provider calls it, and its answer is in the model's next one. */
	d.origins = th_live_origins(l, c, TH_STR(""), 0, &origins);

	th_live_write_event(l, TH_EV_OUTCOME, TH_SOURCE_ENVIRONMENT, c->call_seq, c->call_id, &d);
}

void th_live_mcp_reason(const struct th_call *c, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	if (!c->reason.len || th_str_is(c->reason, TH_REJECTED) ||
	    th_str_is(c->reason, TH_CODE_REJECTED))
		return;
	th_jw_object(&w);
	th_jw_kstr(&w, "reason", th_utf8_cut(c->reason, 4000));
	th_jw_object_end(&w);
}
