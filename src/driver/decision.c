/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decision.c - calls that wait for a decision: by the agent's code, by what a person said
 * for good, or by a person.
 */
#include "driver/decision.h"

#include "core/policy.h"
#include "live/expiry.h"
#include "live/log.h"
#include "live/pending_callback.h"
#include "session_tools/mcp_sample.h"

static th_callback_answered_fn decision_answered;

static void ask_event(struct th_live *l, struct th_call *c)
{
	struct th_ev_approval_requested d = {
		.call_id = c->call_id,
		.digest = th_str_of(c->digest),
		.reason = c->reason.len ? c->reason : TH_STR("a person must approve this"),
		.expires_ms = th_live_expires_ms(l),
	};

	th_live_write_event(l, TH_EV_APPROVAL_REQUESTED, TH_SOURCE_ENVIRONMENT, c->call_seq,
			    c->call_id, &d);
}

static void write_decision(struct th_live *l, const struct th_call *c, bool approve,
			   struct th_str by, struct th_str message)
{
	struct th_ev_approval_decided d = { .call_id = c->call_id,
					    .digest = th_str_of(c->digest),
					    .approve = approve,
					    .by = by,
					    .message = message };

	th_live_write_event(l, TH_EV_APPROVAL_DECIDED, TH_SOURCE_ENVIRONMENT, c->call_seq,
			    c->call_id, &d);
}

/* Somebody has decided about its tool since it was recorded. */
static const struct th_sticky *decided_for_good(const struct th_live *l, const struct th_call *c)
{
	const struct th_sticky *k = th_session_sticky(&l->fold, c->tool);

	return k && th_session_sticks(&l->fold, c, k->approve) ? k : NULL;
}

void th_live_ask_person(struct th_live *l, struct th_call *c)
{
	const struct th_sticky *sticky = decided_for_good(l, c);
	const char *why = "";
	int policy = c->sample ? th_live_mcp_sample_policy(l, c, &why) : -1;

	ask_event(l, c);
	if (policy >= 0 && !l->lost)
		write_decision(l, c, policy == 1, TH_STR("policy"), th_str_of(policy ? "" : why));
	if (sticky && !l->lost)
		write_decision(l, c, sticky->approve, TH_STR(""), sticky->message);
}

void th_live_decision(struct th_live *l, struct th_call *c)
{
	struct th_pending_callback *a;
	struct th_buf input;
	struct th_jw w;

	/* Paused or stopped meanwhile: resume asks again. */
	if (c->phase != TH_CALL_RECORDED ||
	    (l->fold.state != TH_STATE_RUNNING && l->fold.state != TH_STATE_WAITING))
		return;
	if (c->form.len || decided_for_good(l, c)) {
		th_live_ask_person(l, c);
		return;
	}
	a = th_callback_new(l, TH_ASK_DECISION, decision_answered);
	a->member = l->fold.agent;
	a->call_seq = c->call_seq;
	th_buf_init(&input, TH_EVENT_DATA_MAX * 2);
	th_callback_input(l, a->member, &input, &w);
	th_jw_kstr(&w, "tool", c->tool);
	th_jw_kstr(&w, "call_id", c->call_id);
	th_jw_kraw(&w, "arguments", c->arguments);
	th_jw_kstr(&w, "class", th_str_of(th_class_name(c->class)));
	th_jw_kstr(&w, "reason", c->reason);
	th_jw_object_end(&w);
	th_callback_ask(l, a, l->session_config->agent->decide_from, th_buf_str(&input));
	th_buf_deinit(&input);
}

/* {approve, message}; anything else leaves it to a person, and so does code that fails.  It never
 * approves what cannot be undone, or what the provider doubts. */
static void decision_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			      struct th_str answer)
{
	struct th_call *c = th_live_call(l, a->call_seq);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *approve;
	struct th_str message;
	bool decided;

	if (!c || c->phase != TH_CALL_RECORDED)
		return;
	if (!failed && th_json_parse(answer, &doc, NULL))
		failed = true;
	approve = th_json_get(th_json_root(doc), "approve");
	message = th_json_get_str(th_json_root(doc), "message");
	decided =
	    !failed && th_json_type(approve) == TH_JSON_BOOL &&
	    !(th_json_bool(approve, false) && th_policy_needs_person(c->class, c->safety_checks));
	if (!message.len && decided)
		message = th_json_bool(approve, false) ? message : TH_STR(TH_CODE_REJECTED);
	if (!decided) {
		th_live_ask_person(l, c);
		return;
	}
	ask_event(l, c);
	if (!l->lost)
		write_decision(l, c, th_json_bool(approve, false),
			       l->session_config->agent->decide_from, message);
}
