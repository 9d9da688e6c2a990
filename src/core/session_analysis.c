/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_analysis.c - what external analysers say of a call, before it is recorded.
 */
#include "base/text.h"
#include "core/session_internal.h"

enum th_code th_on_analysis(struct th_step *st)
{
	struct th_call *c = th_step_call(st, 1u << TH_CALL_SEEN);
	struct th_ev_analysis d;
	enum th_code code = th_step_parse(st, &d);
	int risk;

	if (code)
		return code;
	risk = th_risk_find(d.risk);
	if (!c || risk < 0 || d.index >= TH_ANALYSERS_MAX ||
	    (c->analysed & (UINT32_C(1) << d.index)))
		return th_fail(st->err, TH_EPROTO, "no analysis \"%.*s\" of the call is awaited",
			       TH_FMT(th_utf8_cut(d.name, 80)));
	c->analysed |= UINT32_C(1) << d.index;
	if ((enum th_risk)risk <= c->risk)
		return TH_OK;
	c->risk = (enum th_risk)risk;
	c->risk_reason = th_arena_str(&st->s->turn, d.reason.len ? d.reason : d.failed);
	return TH_OK;
}
