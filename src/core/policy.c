/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy.h"

#include "base/text.h"

static bool listed(const struct th_strs *list, struct th_str name)
{
	for (size_t i = 0; i < list->count; i++)
		if (th_str_eq(list->list[i], name) || th_str_is(list->list[i], "all"))
			return true;
	return false;
}

static struct th_verdict ask(struct th_str reason)
{
	return (struct th_verdict){ .policy = TH_POLICY_ASK, .reason = reason };
}

/* The provider's own words for why it wants a person, one line. */
static struct th_str checks_reason(const struct th_call *call, struct th_arena *a)
{
	struct th_json_doc *doc = NULL;
	struct th_str message = { 0 }, reason = { 0 };

	if (!th_json_parse(call->safety_checks, &doc, NULL)) {
		const struct th_json *first = th_json_at(th_json_root(doc), 0);

		message = th_json_get_str(first, "message");
		if (!message.len)
			message = th_json_get_str(first, "code");
		reason = th_arena_printf(a, "the provider wants a person to check this: %.*s",
					 TH_FMT(th_utf8_cut(message, 300)));
	}
	th_json_free(doc);
	return reason.len ? reason : TH_STR("the provider wants a person to check this");
}

struct th_verdict th_policy_decide(const struct th_agent *agent, const struct th_tool_spec *spec,
				   const struct th_call *call, struct th_arena *a)
{
	if (!spec)
		return (struct th_verdict){
			.policy = TH_POLICY_REFUSE,
			.reason = th_arena_printf(a, "there is no tool named \"%.*s\"",
						  TH_FMT(th_utf8_cut(call->tool, 80))),
		};
	if (call->incomplete)
		return (struct th_verdict){
			.policy = TH_POLICY_REFUSE,
			.reason =
			    TH_STR("the answer was cut inside this call, so it was not run")
		};
	if (call->safety_checks.len > 0)
		return ask(checks_reason(call, a));
	if (spec->class == TH_CLASS_X)
		return ask(TH_STR("this cannot be undone"));
	if (spec->ask || listed(&agent->approve, spec->name))
		return ask(TH_STR("the agent file asks for approval of this tool"));
	return (struct th_verdict){ .policy = TH_POLICY_RUN, .reason = { 0 } };
}

/* More than which tool it is, and what that may do. */
static bool looks_into(const struct th_agent_rule *rule)
{
	return rule->arguments.len || rule->path.len || rule->domain.len;
}

static struct th_verdict ask_by(const struct th_agent_rule *rule)
{
	struct th_verdict v =
	    ask(rule->message.len ? rule->message
				  : TH_STR("a rule of the agent file asks for approval of this"));

	v.each = looks_into(rule);
	return v;
}

struct th_verdict th_policy_rules(const struct th_agent *agent, const struct th_call *call,
				  const struct th_rule_call *looks, struct th_verdict otherwise)
{
	const struct th_agent_rule *rule = th_rules_match(&agent->rules, looks);
	bool must_ask = call->safety_checks.len > 0 || looks->class == TH_CLASS_X;

	if (!rule || otherwise.policy == TH_POLICY_REFUSE)
		return otherwise;
	switch ((enum th_rule_decision)rule->decide) {
	case TH_RULE_RUN:
		return must_ask ? otherwise
				: (struct th_verdict){ .policy = TH_POLICY_RUN, .reason = { 0 } };
	case TH_RULE_ASK:
		return otherwise.policy == TH_POLICY_ASK && must_ask ? otherwise : ask_by(rule);
	case TH_RULE_REFUSE:
		return (struct th_verdict){
			.policy = TH_POLICY_REFUSE,
			.reason = rule->message.len
				      ? rule->message
				      : TH_STR("a rule of the agent file forbids this")
		};
	}
	return otherwise;
}

static const char *how_to_look(const struct th_unresolved_effect *unresolved)
{
	switch (unresolved->target) {
	case TH_TARGET_SCREEN:
		return "take a screenshot";
	case TH_TARGET_FILES:
		return unresolved->path[0]
			   ? "read that file or list its folder"
			   : "read a file, list a folder or run a command that only looks";
	case TH_TARGET_OTHER:
	case TH_TARGET_COUNT:
		break;
	}
	return "use a tool that only reads";
}

struct th_verdict th_policy_repeat(const struct th_agent *agent,
				   const struct th_unresolved_effect *unresolved,
				   struct th_verdict otherwise, struct th_arena *a)
{
	unsigned long long seq = unresolved->seq;

	/* What is refused for another reason stays refused. */
	if (otherwise.policy == TH_POLICY_REFUSE)
		return otherwise;
	if (otherwise.policy == TH_POLICY_ASK || agent->repeat == TH_REPEAT_ASK ||
	    unresolved->target == TH_TARGET_OTHER)
		return ask(th_arena_printf(
		    a, "it repeats an action that may have happened already (event %llu)%s%.*s",
		    seq, otherwise.reason.len ? "; " : "", TH_FMT(otherwise.reason)));
	return (struct th_verdict){
		.policy = TH_POLICY_REFUSE,
		.reason = th_arena_printf(
		    a,
		    "it is the same action as the one of unknown outcome (event %llu), "
		    "which may have happened already; look first (%s), then decide",
		    seq, how_to_look(unresolved)),
	};
}
