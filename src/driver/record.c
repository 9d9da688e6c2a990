/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - a call as the model's answer has it: read, judged, and recorded or refused.
 */
#include "driver/calls.h"

#include "base/text.h"
#include "core/policy.h"
#include "dialects/actions.h"
#include "driver/marks.h"
#include "driver/observation.h"
#include "driver/unknown.h"
#include "guards/analyse.h"
#include "guards/verdict.h"
#include "live/log.h"
#include "live/pending_callback.h"
#include "schema/schema.h"
#include "session_tools/mcp.h"
#include "session_tools/mcp_tools.h"
#include "side_models/ground.h"

static const struct th_tool_spec computer_spec = {
	.name = TH_STR_INIT("computer"),
	.class = TH_CLASS_W,
	.scope = { .target = TH_TARGET_SCREEN },
};

static const struct th_tool_spec handoff_spec = {
	.name = TH_STR_INIT("handoff"),
	.class = TH_CLASS_L,
};

/* The provider's actions in our form: {"actions":[…]}.  Class R when all of them only look. */
static enum th_code computer_arguments(struct th_live *l, struct th_str item, struct th_arena *a,
				       struct th_buf *out, enum th_class *ret_class,
				       struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_action *actions = NULL;
	size_t count = 0;
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse(item, &doc, err);

	if (code)
		return code;
	code = th_model_actions(l->resolved->profile, th_json_root(doc), a, &actions, &count, err);
	*ret_class = TH_CLASS_R;
	th_jw_object(&w);
	th_jw_key(&w, TH_STR("actions"));
	th_jw_array(&w);
	for (size_t i = 0; !code && i < count; i++) {
		th_action_print(&actions[i], &w);
		if (th_action_class(actions[i].kind) != 'R')
			*ret_class = TH_CLASS_W;
	}
	th_jw_array_end(&w);
	/* Every provider wants to be shown what its actions led to. */
	if (count > 0 && actions[count - 1].kind != TH_ACTION_ZOOM) {
		th_jw_kbool(&w, "screenshot", true);
		if (*ret_class != TH_CLASS_R)
			th_jw_kbool(&w, "settle", true);
	}
	th_live_put_fit(l, &w);
	th_jw_object_end(&w);
	th_json_free(doc);
	return code;
}

static void record_item(struct th_live *l, struct th_call *c, struct th_str item,
			struct th_str grounding);

void th_live_record(struct th_live *l, struct th_call *c)
{
	if (c->cancelled ||
	    (!th_live_mark(l, c, record_item) && !th_live_ground(l, c, record_item)))
		record_item(l, c, c->item, TH_STR(""));
}

/* A call before it in the same answer ends the task. */
static bool is_behind_the_end(const struct th_live *l, const struct th_call *c)
{
	const struct th_member *m = th_session_member(&l->fold);

	for (const struct th_call *before = l->fold.calls; before < c; before++) {
		const struct th_tool_row *row =
		    before->computer ? NULL : th_live_tool(l, before->tool);

		if (row && row->spec.last && before->phase != TH_CALL_DENIED &&
		    th_member_stops_at(m, before->tool))
			return true;
	}
	return false;
}

/* Why its dialect could not say it as a call of a tool of ours; empty: it could. */
static struct th_str unread(struct th_str item, struct th_arena *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	/* Few have one, so the text is looked at before its members are. */
	if (th_str_find(item, TH_STR("\"error\":")) < 0 || !th_json_raw_get(item, "error").len ||
	    th_json_parse(item, &doc, NULL))
		return TH_STR("");
	return th_arena_str(a, th_json_get_str(th_json_root(doc), "error"));
}

/* The tool that is called, and the class of the call as far as its tool says it; NULL: there is
 * none. */
static const struct th_tool_spec *spec_of(struct th_live *l, const struct th_call *c,
					  const struct th_tool_row *row, enum th_class *ret_class)
{
	*ret_class = row ? row->spec.class : TH_CLASS_W;
	if (c->handoff) {
		*ret_class = TH_CLASS_L;
		return &handoff_spec;
	}
	if (c->native == TH_NATIVE_MCP)
		return th_live_mcp_spec(l, c);
	if (c->computer && l->session_config->has_computer)
		return &computer_spec;
	return row ? &row->spec : NULL;
}

/* Records the call with another item, and with what the grounder found; both JSON. */
static void record_item(struct th_live *l, struct th_call *c, struct th_str item,
			struct th_str grounding)
{
	const struct th_tool_row *row = c->computer ? NULL : th_live_tool(l, c->tool);
	enum th_class class;
	const struct th_tool_spec *spec = spec_of(l, c, row, &class);
	struct th_verdict verdict;
	struct th_str why = { 0 };
	struct th_ev_call d = { .call_id = c->call_id,
				.tool = c->tool,
				.safety_checks = c->safety_checks,
				.grounding = grounding };
	struct th_arena a;
	struct th_buf arguments;
	struct th_err err = { 0 };
	char digest[TH_SHA256_HEX_SIZE + 1];

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	th_buf_init(&arguments, TH_EVENT_DATA_MAX);
	d.unknown = !spec;
	if (c->computer) {
		if (computer_arguments(l, item, &a, &arguments, &class, &err)) {
			th_buf_clear(&arguments);
			th_buf_add_cstr(&arguments, "{}");
			why = th_str_of(err.msg);
		}
	} else {
		th_live_usable(l, row, c, &arguments, &a, &why);
		if (!why.len)
			why = unread(item, &a);
	}
	if (c->cancelled)
		why = TH_STR(TH_CALL_CANCELLED_WHY);
	else if (is_behind_the_end(l, c))
		why = TH_STR("a call before it in the same answer ended the task");
	d.arguments = th_buf_str(&arguments);
	if (!c->computer && spec && th_effect_only_looks(spec->looks, d.arguments))
		class = TH_CLASS_R;
	if (spec && !why.len &&
	    th_live_analyse(l, &(struct th_analyse){ .call = c,
						     .class = class,
						     .arguments = d.arguments,
						     .item = item,
						     .grounding = grounding,
						     .record = record_item })) {
		th_buf_deinit(&arguments);
		th_arena_deinit(&a);
		return;
	}
	th_call_digest(c->tool, d.arguments, digest);
	d.digest = th_str_of(digest);
	verdict = th_live_verdict(l, c, spec, class, d.arguments, digest, why, &a);
	d.class = th_str_of(th_class_name(class));
	d.target = th_effect_target_name(spec ? spec->scope : (struct th_effect_scope){});
	d.shows = th_effect_shows_name(spec ? spec->scope : (struct th_effect_scope){});
	d.policy = th_str_of(th_policy_name(verdict.policy));
	d.reason = verdict.reason;
	if (verdict.risk != TH_RISK_UNKNOWN)
		d.risk = th_str_of(th_risk_name(verdict.risk));
	d.each = verdict.each;
	d.question = spec && spec->question;
	th_live_write_event(l, TH_EV_CALL, TH_SOURCE_AGENT, l->fold.answer_seq, c->call_id, &d);
	th_buf_deinit(&arguments);
	th_arena_deinit(&a);
}

/* ---- refused ---- */

/* In the words of the agent's code, if it has any. */
static void refusal_text(struct th_live *l, const struct th_call *c, struct th_buf *text)
{
	bool rejected = c->was_asked || th_session_sticky(&l->fold, c->tool);
	struct th_buf input;
	struct th_jw w;

	if (c->verbatim) {
		th_buf_add(text, th_utf8_cut(c->reason, 4000));
		return;
	}
	th_buf_printf(
	    text, "Not done: %.*s. Nothing was executed.",
	    TH_FMT(th_utf8_cut(c->reason.len ? c->reason : TH_STR("it was refused"), 2000)));
	th_buf_init(&input, TH_EVENT_DATA_MAX);
	w = th_jw(&input);
	th_jw_object(&w);
	th_jw_kstr(&w, "kind",
		   c->unknown_tool ? TH_STR("unknown_tool")
		   : rejected      ? TH_STR("rejected")
				   : TH_STR("refused"));
	th_jw_kstr(&w, "tool", c->tool);
	th_jw_kstr(&w, "call_id", c->call_id);
	th_jw_kstr(&w, "message", c->reason);
	th_jw_kstr(&w, "text", th_buf_str(text));
	th_jw_object_end(&w);
	th_live_reword(l, th_buf_str(&input), text, "Not done.");
	th_buf_deinit(&input);
}

void th_live_refuse_with(struct th_live *l, const struct th_call *c, struct th_str picture_parts)
{
	struct th_ev_outcome d = {
		.call_id = c->call_id,
		.status = TH_STR("refused"),
		.acknowledged = c->safety_checks,
	};
	struct th_buf text, output, evidence = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_json_raw_iter it = th_json_raw_iter(picture_parts);
	struct th_jw w;

	th_buf_init(&text, TH_EVENT_DATA_MAX);
	th_buf_init(&output, TH_EVENT_DATA_MAX);
	refusal_text(l, c, &text);
	w = th_jw(&output);
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", th_buf_str(&text));
	th_jw_object_end(&w);
	while (th_json_raw_next(&it))
		if (th_str_is(th_json_raw_get(it.val, "type"), "\"image\""))
			th_jw_raw(&w, it.val);
	th_jw_array_end(&w);
	if (!c->computer) {
		th_buf_clear(&output);
		w = th_jw(&output);
		th_jw_str(&w, th_buf_str(&text));
	}
	d.output = th_buf_str(&output);
	if (c->native == TH_NATIVE_MCP)
		th_live_mcp_reason(c, &evidence);
	d.evidence = th_buf_str(&evidence);
	th_live_write_event(l, TH_EV_OUTCOME, TH_SOURCE_ENVIRONMENT, c->call_seq, c->call_id, &d);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
	th_buf_deinit(&evidence);
}

/* A computer call is answered with a picture even when it is refused: a look changes nothing. */
void th_live_refuse(struct th_live *l, struct th_call *c)
{
	struct th_arena a;
	struct th_observation look;

	if (!c->computer || !l->session_config->has_computer) {
		th_live_refuse_with(l, c, TH_STR("[]"));
		return;
	}
	th_arena_init(&a, TH_KIB);
	look = th_unknown_observation(computer_spec.scope, TH_STR("{}"), true, &a);
	th_live_observe(l, &look, th_live_ticket(l, c->call_seq));
	th_arena_deinit(&a);
}

/* ---- after a replay ---- */

enum th_code th_live_check_calls(struct th_live *l, struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < l->fold.call_count && !code; i++) {
		const struct th_call *c = &l->fold.calls[i];
		struct th_arena a;
		struct th_buf arguments;
		enum th_class class;
		char ours[TH_SHA256_HEX_SIZE + 1];

		/* What was refused needs not be readable; what is over is over; where elements were
		 * found is not in the answer. */
		if (!c->computer || c->grounded || c->phase < TH_CALL_RECORDED ||
		    c->phase == TH_CALL_DENIED || c->phase == TH_CALL_SETTLED)
			continue;
		th_arena_init(&a, TH_TURN_MEMORY_MAX);
		th_buf_init(&arguments, TH_EVENT_DATA_MAX);
		code = computer_arguments(l, c->item, &a, &arguments, &class, err);
		th_call_digest(c->tool, th_buf_str(&arguments), ours);
		if (code || strcmp(ours, c->digest) != 0)
			code =
			    th_fail(err, TH_EDIVERGED,
				    "diverged: the log calls computer with %.*s, this build makes "
				    "%.*s of the answer",
				    TH_FMT(th_utf8_cut(c->arguments, 160)),
				    TH_FMT(th_utf8_cut(th_buf_str(&arguments), 160)));
		th_buf_deinit(&arguments);
		th_arena_deinit(&a);
	}
	return code;
}
