/* SPDX-License-Identifier: Apache-2.0 */
#include "guards/verdict.h"

#include "base/text.h"
#include "live/delegation.h"
#include "live/pending_callback.h"
#include "schema/schema.h"
#include "session_tools/mcp_tools.h"
#include "session_tools/origin.h"

/* The schema that a call's arguments are held to before it runs; empty: its tool looks itself. */
static struct th_str held_to(const struct th_live *l, const struct th_tool_row *row,
			     const struct th_call *c)
{
	const struct th_member *m = th_session_member(&l->fold);

	if (c->handoff)
		return m->handoffs[c->handoff - 1].told ? m->handoffs[c->handoff - 1].schema
							: TH_STR("");
	return row && row->check ? row->spec.schema : TH_STR("");
}

void th_live_usable(const struct th_live *l, const struct th_tool_row *row, const struct th_call *c,
		    struct th_buf *out, struct th_arena *a, struct th_str *ret_why)
{
	struct th_str wanted = held_to(l, row, c);
	struct th_str name = th_utf8_cut(c->tool, 80);
	struct th_json_doc *schema TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *value TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf faults = TH_BUF_INIT(2 * TH_KIB);
	struct th_err err = { 0 };
	enum th_code code;

	if (!th_call_arguments(c->arguments, out, &err)) {
		*ret_why = th_arena_printf(a, "the arguments of %.*s are not usable: %s",
					   TH_FMT(name), err.msg);
		return;
	}
	if (!wanted.len)
		return;
	code = th_json_parse(wanted, &schema, &err);
	if (!code)
		code = th_json_parse(th_buf_str(out), &value, &err);
	if (!code)
		code = th_schema_check(th_json_root(schema), th_json_root(value), &faults, &err);
	if (code)
		*ret_why = th_arena_printf(a, "the arguments of %.*s do not fit its schema: %s",
					   TH_FMT(name), faults.len ? faults.ptr : err.msg);
	th_buf_deinit(&faults);
}

/* Ours: not the program's, no command, no server's. */
static bool is_ours(const struct th_tool_row *row)
{
	return row && !row->local && !row->command && !row->mcp;
}

struct th_tool_called th_live_called(const struct th_live *l, const struct th_call *c,
				     enum th_class class)
{
	struct th_tool_called all = th_tool_called(c->tool, th_tool_calls_of(class)), ret;

	ret = th_tool_called_alone(c->tool);
	if (c->computer || c->handoff || !is_ours(th_live_tool(l, c->tool)))
		return ret;
	for (size_t i = 1; i < all.count; i++) {
		const struct th_tool_row *row = th_live_tool(l, all.names[i]);

		if (row && !is_ours(row)) /* the name is that tool's */
			continue;
		ret.names[ret.count++] = all.names[i];
		ret.same += i < all.same;
	}
	return ret;
}

/* What the agent's code is asked about. */
struct code_asked {
	struct th_live *l;
	const struct th_call *call;
	enum th_class class;
	struct th_str arguments;
};

static enum th_code_says ask_code(void *ctx, struct th_arena *a, struct th_str *ret_reason)
{
	const struct code_asked *q = ctx;
	struct th_live *l = q->l;
	struct th_buf input = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX), answer = TH_BUF_INIT(TH_MIB);
	struct th_buf why = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&input);
	enum th_code_says says = TH_CODE_ASKS;

	th_jw_object(&w);
	th_jw_kstr(&w, "agent", th_session_member(&l->fold)->name);
	th_jw_kstr(&w, "session", th_str_of(l->id));
	th_jw_kstr(&w, "tool", q->call->tool);
	th_jw_kstr(&w, "call_id", q->call->call_id);
	th_jw_kstr(&w, "class", th_str_of(th_class_name(q->class)));
	th_jw_kraw(&w, "arguments", q->arguments);
	th_jw_object_end(&w);
	if (!th_live_ask_now(l, TH_ASK_APPROVAL, l->session_config->agent->approve_from,
			     th_buf_str(&input), &answer))
		says = TH_CODE_FAILED;
	else if (th_json_unescape(th_buf_str(&answer), &why))
		*ret_reason = th_arena_str(a, th_utf8_cut(th_buf_str(&why), 1000));
	else if (th_str_is(th_buf_str(&answer), "null") || th_str_is(th_buf_str(&answer), "false"))
		says = TH_CODE_AGREES;
	th_buf_deinit(&input);
	th_buf_deinit(&answer);
	th_buf_deinit(&why);
	return says;
}

/* What was asked of the session, and of those that it works for. */
static struct th_agent_confirm confirm_of(const struct th_live *l)
{
	struct th_agent_confirm c = l->fold.confirm;

	while (l->parent_call && l->parent_call->parent) {
		l = l->parent_call->parent;
		c = th_confirm_both(&c, &l->fold.confirm);
	}
	return c;
}

struct th_verdict th_live_verdict(struct th_live *l, const struct th_call *c,
				  const struct th_tool_spec *spec, enum th_class class,
				  struct th_str arguments, const char *digest,
				  struct th_str unusable, struct th_arena *a)
{
	const struct th_agent *agent = l->session_config->agent;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_tool_called called = th_live_called(l, c, class);
	struct th_rule_call rule = { .tool = c->tool, .called = &called, .class = class };
	struct code_asked asked = { .l = l, .call = c, .class = class, .arguments = arguments };
	struct th_tainted tainted;
	struct th_policy_facts f = {
		.agent = agent,
		.call = c,
		.spec = spec,
		.called = &called,
		.class = class,
		.unusable = unusable,
		.code = agent->approve_from.len ? ask_code : NULL,
		.code_ctx = &asked,
		.plan = l->fold.plan,
		.sticky = th_session_sticky(&l->fold, c->tool),
		.unresolved = th_unresolved_find(&l->fold.unresolved, digest),
		.tainted = th_live_tainted(l, &tainted) ? &tainted : NULL,
	};

	f.confirm = confirm_of(l);
	if ((agent->rules.count > 0 || agent->confirm || f.confirm.when != TH_CONFIRM_NEVER) &&
	    !th_json_parse(arguments, &doc, NULL))
		f.arguments = th_json_root(doc);
	if (agent->rules.count > 0 && f.arguments) {
		rule.arguments = th_json_root(doc);
		rule.workspace = l->fold.workspace;
		rule.now_ms = l->driver->world.ops->now_ms(l->driver->world.ctx);
		f.rule = &rule;
	}
	return th_policy_verdict(&f, a);
}

bool th_live_may_run_with(struct th_live *l, const struct th_call *c, struct th_str text,
			  struct th_buf *out, enum th_class *ret_class, struct th_buf *why)
{
	const struct th_tool_row *row = c->computer || c->native ? NULL : th_live_tool(l, c->tool);
	struct th_call changed = *c;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = { 0 };
	struct th_str unusable = { 0 };
	struct th_verdict verdict;
	char digest[TH_SHA256_HEX_SIZE + 1];

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	if (!row || c->handoff || c->approval_seq) {
		th_buf_printf(why, "it changes the arguments of a call that %s",
			      c->approval_seq ? "a person approved as it was"
					      : "cannot be changed");
		return false;
	}
	changed.arguments = text;
	th_live_usable(l, row, &changed, out, &a, &unusable);
	*ret_class =
	    th_effect_only_looks(row->spec.looks, th_buf_str(out)) ? TH_CLASS_R : row->spec.class;
	th_call_digest(c->tool, th_buf_str(out), digest);
	verdict = th_live_verdict(l, &changed, &row->spec, *ret_class, th_buf_str(out), digest,
				  unusable, &a);
	if (verdict.policy == TH_POLICY_RUN &&
	    !th_policy_needs_person(*ret_class, c->safety_checks))
		return true;
	th_buf_clear(out);
	th_buf_printf(
	    why, "it changes the arguments, and with those the call would not simply run%s%.*s",
	    verdict.reason.len ? ": " : "", TH_FMT(th_utf8_cut(verdict.reason, 2000)));
	return false;
}
