/* SPDX-License-Identifier: Apache-2.0 */
#include "session_tools/mcp_asks.h"

#include "live/log.h"
#include "live/queue.h"
#include "session_tools/mcp_tools.h"

bool th_live_mcp_asks(const struct th_live *l, const struct th_call *c,
		      const struct th_effect_result *r)
{
	struct th_str asks = th_json_raw_get(r->evidence, "asks");

	return th_live_mcp_is(l, c) && th_json_raw_is_object(asks) &&
	       th_json_raw_is_object(th_json_raw_get(asks, "arguments")) &&
	       th_json_raw_is_object(th_json_raw_get(asks, "form"));
}

void th_live_mcp_question(struct th_live *l, const struct th_call *c,
			  const struct th_effect_result *r)
{
	struct th_str asks = th_json_raw_get(r->evidence, "asks");
	struct th_ev_question d = { .call_id = c->call_id,
				    .effect_id = c->effect_id,
				    .arguments = th_json_raw_get(asks, "arguments"),
				    .form = th_json_raw_get(asks, "form") };

	th_live_write_event(l, TH_EV_QUESTION, TH_SOURCE_ENVIRONMENT, c->intent_seq, c->call_id,
			    &d);
}

void th_live_mcp_task(struct th_live *l, uint64_t intent_seq, struct th_str task)
{
	for (size_t i = 0; i < l->fold.call_count; i++) {
		const struct th_call *c = &l->fold.calls[i];
		struct th_ev_server_task e = { .call_id = c->call_id,
					       .effect_id = c->effect_id,
					       .task = task };

		if (c->phase != TH_CALL_INTENDED || c->intent_seq != intent_seq || c->task.len)
			continue;
		th_live_write_event(l, TH_EV_SERVER_TASK, TH_SOURCE_ENVIRONMENT, c->intent_seq,
				    c->call_id, &e);
		th_live_pump(l);
		return;
	}
}
