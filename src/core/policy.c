/* SPDX-License-Identifier: Apache-2.0 */
#include "core/policy.h"

#include "base/text.h"

/* Does `approve` name it, by one of its names or as a tool that does the same? */
static bool listed(const struct th_policy_facts *f)
{
	const struct th_strs *list = &f->agent->approve;
	bool ret = th_strs_has(list, f->spec->name) || th_strs_has(list, TH_STR("all"));

	for (size_t i = 0; !ret && f->called && i < f->called->count; i++)
		ret = th_strs_has(list, f->called->names[i]);
	return ret;
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

static struct th_verdict run(void)
{
	return (struct th_verdict){ .policy = TH_POLICY_RUN, .reason = { 0 } };
}

static struct th_verdict refuse(struct th_str reason)
{
	return (struct th_verdict){ .policy = TH_POLICY_REFUSE, .reason = reason };
}

/* A tool of an MCP server that the provider calls by itself ("server.tool"). */
static struct th_verdict of_mcp(const struct th_policy_facts *f, struct th_arena *a)
{
	struct th_str label = f->call->tool;
	ptrdiff_t dot = th_str_find_char(label, '.');

	if (dot >= 0)
		label.len = (size_t)dot;
	if (!f->spec)
		return refuse(th_arena_printf(a, "MCP server label %.*s not found",
					      TH_FMT(th_utf8_cut(label, 80))));
	return ask(th_arena_printf(a, "the provider asks whether its MCP server may run %.*s",
				   TH_FMT(th_utf8_cut(f->call->tool, 160))));
}

/* It waits for an answer; nobody's word about another one is that. */
static struct th_verdict question(const struct th_call *call, struct th_arena *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_verdict v = ask(TH_STR("the agent asks a question"));

	v.each = true;
	if (!th_json_parse(call->arguments, &doc, NULL)) {
		struct th_str text = th_json_get_str(th_json_root(doc), "question");

		v.reason =
		    th_arena_printf(a, "the agent asks: %.*s", TH_FMT(th_utf8_cut(text, 1000)));
	}
	return v;
}

/* What the kind of call and the agent file say, before anything looks into its arguments. */
static struct th_verdict of_tool(const struct th_policy_facts *f, struct th_arena *a)
{
	const struct th_call *call = f->call;

	if (call->handoff)
		return run();
	if (call->native == TH_NATIVE_MCP)
		return of_mcp(f, a);
	if (!f->spec)
		return refuse(th_arena_printf(a, "there is no tool named \"%.*s\"",
					      TH_FMT(th_utf8_cut(call->tool, 80))));
	if (call->incomplete)
		return refuse(TH_STR("the answer was cut inside this call, so it was not run"));
	if (call->safety_checks.len > 0)
		return ask(checks_reason(call, a));
	if (f->spec->question)
		return question(call, a);
	if (f->spec->class == TH_CLASS_X)
		return ask(TH_STR("this cannot be undone"));
	if (f->spec->ask || listed(f))
		return ask(TH_STR("the agent file asks for approval of this tool"));
	return run();
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

/* A rule makes run only what `approve` asks for. */
static struct th_verdict by_rules(const struct th_policy_facts *f,
				  const struct th_verdict *otherwise)
{
	const struct th_agent_rule *rule =
	    f->rule ? th_rules_match(&f->agent->rules, f->rule) : NULL;
	bool must_ask = th_policy_needs_person(f->class, f->call->safety_checks);

	if (!rule || otherwise->policy == TH_POLICY_REFUSE)
		return *otherwise;
	switch ((enum th_rule_decision)rule->decide) {
	case TH_RULE_RUN:
		return must_ask || (f->spec && f->spec->question) ? *otherwise : run();
	case TH_RULE_ASK:
		return otherwise->policy == TH_POLICY_ASK &&
			       (must_ask || (f->spec && f->spec->question))
			   ? *otherwise
			   : ask_by(rule);
	case TH_RULE_REFUSE:
		return refuse(rule->message.len ? rule->message
						: TH_STR("a rule of the agent file forbids this"));
	}
	return *otherwise;
}

static struct th_verdict by_code(const struct th_policy_facts *f,
				 const struct th_verdict *otherwise, struct th_arena *a)
{
	struct th_str reason = { 0 };

	if (!f->code || otherwise->policy != TH_POLICY_RUN)
		return *otherwise;
	switch (f->code(f->code_ctx, a, &reason)) {
	case TH_CODE_AGREES:
		break;
	case TH_CODE_ASKS:
		return ask(reason.len ? reason : TH_STR("the agent's code asks for approval"));
	case TH_CODE_FAILED:
		return ask(TH_STR("the code that decides about approvals failed"));
	}
	return *otherwise;
}

bool th_policy_sticks(bool approve, enum th_class class, bool each, struct th_str safety_checks)
{
	return !each && !safety_checks.len && !(approve && class == TH_CLASS_X);
}

static struct th_verdict for_good(const struct th_policy_facts *f, struct th_verdict otherwise)
{
	const struct th_sticky *k = f->sticky;

	if (!k || otherwise.policy != TH_POLICY_ASK ||
	    !th_policy_sticks(k->approve, f->class, otherwise.each, f->call->safety_checks))
		return otherwise;
	if (k->approve)
		return (struct th_verdict){ .policy = TH_POLICY_RUN,
					    .reason = TH_STR("approved for good") };
	return refuse(k->message.len ? k->message : TH_STR(TH_REJECTED));
}

/* What could carry untrusted words out, or cannot be taken back. */
static const char *guarded(const struct th_policy_facts *f)
{
	unsigned guards = f->tainted ? f->tainted->ask : 0;

	if (f->call->handoff || f->class == TH_CLASS_R || f->class == TH_CLASS_L)
		return NULL;
	if (guards & TH_GUARDED_BIT(TH_GUARDED_IRREVERSIBLE) && f->class == TH_CLASS_X)
		return "cannot be undone";
	if (guards & TH_GUARDED_BIT(TH_GUARDED_OUTSIDE) && f->spec &&
	    f->spec->scope.target == TH_TARGET_OTHER)
		return "changes what is outside the workspace";
	return NULL;
}

/* No word about the tool, and no rule, lifts it. */
static struct th_verdict by_origin(const struct th_policy_facts *f, struct th_verdict otherwise,
				   struct th_arena *a)
{
	bool asks = otherwise.policy == TH_POLICY_ASK;
	const char *what = guarded(f);
	struct th_verdict v;

	if (!what || otherwise.policy == TH_POLICY_REFUSE)
		return otherwise;
	v = ask(th_arena_printf(
	    a, "it %s, and untrusted bytes (%s, event %llu) are in the context%s%.*s", what,
	    th_origin_name(f->tainted->origin), (unsigned long long)f->tainted->seq,
	    asks ? "; " : "", TH_FMT(asks ? otherwise.reason : TH_STR(""))));
	v.each = true;
	return v;
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
	case TH_TARGET_WEB:
	case TH_TARGET_OTHER:
	case TH_TARGET_COUNT:
		break;
	}
	return "use a tool that only reads";
}

/*
 * Look before you repeat: refused with a sentence that says how to look, or for a person to
 * decide, as the agent file says; a person also where no look of ours could help.
 */
static struct th_verdict by_outcome(const struct th_policy_facts *f, struct th_verdict otherwise,
				    struct th_arena *a)
{
	const struct th_unresolved_effect *u = f->unresolved;
	struct th_verdict v;

	/* What is refused for another reason stays refused; what changes nothing may be repeated.
	 */
	if (!u || otherwise.policy == TH_POLICY_REFUSE || f->class == TH_CLASS_R ||
	    f->class == TH_CLASS_L)
		return otherwise;
	if (otherwise.policy == TH_POLICY_ASK || f->agent->repeat == TH_REPEAT_ASK ||
	    u->target == TH_TARGET_OTHER) {
		v = ask(th_arena_printf(
		    a, "it repeats an action that may have happened already (event %llu)%s%.*s",
		    (unsigned long long)u->seq, otherwise.reason.len ? "; " : "",
		    TH_FMT(otherwise.reason)));
		v.each = otherwise.each;
		return v;
	}
	return refuse(
	    th_arena_printf(a,
			    "it is the same action as the one of unknown outcome (event %llu), "
			    "which may have happened already; look first (%s), then decide",
			    (unsigned long long)u->seq, how_to_look(u)));
}

/* Is a person asked?  *why, of the risk, becomes the reason; *ret_each: for each call anew. */
static bool is_asked(const struct th_policy_facts *f, enum th_risk risk, struct th_str *why,
		     bool *ret_each)
{
	const struct th_agent_confirm *both[] = { f->agent->confirm, &f->confirm };
	static const char *const always[] = { "the agent file asks for approval of each call",
					      "approval of each call was asked for" };

	*ret_each = true;
	for (size_t i = 0; i < TH_COUNT(both); i++)
		if (both[i] && both[i]->when == TH_CONFIRM_ALWAYS) {
			*ret_each = false;
			*why = th_str_of(always[i]);
			return true;
		}
	for (size_t i = 0; i < TH_COUNT(both); i++)
		if (both[i] && th_confirm_asks(both[i], risk))
			return true;
	return false;
}

/* What only looks is of little risk, unless an analyser sees more; a thought is none. */
static struct th_verdict by_risk(const struct th_policy_facts *f,
				 const struct th_verdict *otherwise, enum th_risk *ret_risk,
				 struct th_arena *a)
{
	const struct th_agent_confirm *c = f->agent->confirm ?: &f->confirm;
	bool looks = f->class == TH_CLASS_R || f->class == TH_CLASS_L, each;
	const char *fixed = "its arguments cannot be looked at";
	struct th_str why;
	enum th_risk risk = TH_RISK_HIGH;
	struct th_verdict v = *otherwise;

	if ((!f->agent->confirm && f->confirm.when == TH_CONFIRM_NEVER) ||
	    otherwise->policy != TH_POLICY_RUN)
		return *otherwise;
	if (f->arguments)
		risk = th_risk_of(c, f->arguments, &fixed);
	why = th_str_of(fixed);
	if (f->call->risk > risk) {
		risk = f->call->risk;
		why = f->call->risk_reason.len ? f->call->risk_reason
					       : TH_STR("an analyser sees a risk in it");
	}
	if (looks && risk == TH_RISK_UNKNOWN)
		risk = TH_RISK_LOW;
	*ret_risk = risk;
	if (looks && risk <= TH_RISK_LOW)
		return *otherwise;
	if (!is_asked(f, risk, &why, &each))
		return *otherwise;
	v = ask(th_arena_str(a, why));
	v.each = each;
	return v;
}

struct th_verdict th_policy_verdict(const struct th_policy_facts *f, struct th_arena *a)
{
	enum th_risk risk = TH_RISK_UNKNOWN;
	const struct th_call *call = f->call;
	struct th_verdict v = of_tool(f, a);

	/* Of a tool that does not exist the model hears just that; a computer's actions always
	 * count. */
	if (f->unusable.len && (f->spec || call->computer))
		v = refuse(f->unusable);
	if (f->plan && f->class != TH_CLASS_R && f->class != TH_CLASS_L &&
	    v.policy != TH_POLICY_REFUSE)
		v = refuse(TH_STR("this is plan mode, in which only calls that look are made; say "
				  "what you would do, and a person decides"));
	if (!call->handoff) {
		struct th_verdict risky = by_risk(f, &v, &risk, a);
		struct th_verdict ruled = by_rules(f, &risky);

		v = by_code(f, &ruled, a);
	}
	v = for_good(f, v);
	v = by_origin(f, v, a);
	v = by_outcome(f, v, a);
	v.risk = risk;
	return v;
}
