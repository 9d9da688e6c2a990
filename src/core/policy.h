/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - whether a call runs, is refused, or needs a person.
 *
 * Decided once per call, before anything of its answer starts, and written
 * into its CALL event; a replay reads it there.
 */
#ifndef TH_CORE_POLICY_H
#define TH_CORE_POLICY_H

#include "agents/agent.h"
#include "core/session.h"

struct th_verdict {
	enum th_policy policy;
	struct th_str reason; /* of ask and refuse; in the arena or static */
	bool each;            /* of ask: a rule that looks into the call; "always" lifts it not */
	enum th_risk risk;    /* as the agent's analysers see it; unknown: or it has none */
};

/* What the agent's own code says of a call that would run (approve_from). */
enum th_code_says {
	TH_CODE_AGREES, /* it has nothing against it, or there is no such code */
	TH_CODE_ASKS,   /* a person decides, for the reason that it gives, or for none */
	TH_CODE_FAILED, /* it gave no answer; a person decides */
};

/* All that a verdict depends on. */
struct th_policy_facts {
	const struct th_agent *agent;
	const struct th_call *call;
	const struct th_tool_spec *spec;     /* NULL: no such tool, or no such MCP server */
	const struct th_tool_called *called; /* names that hold for it; NULL: its own alone */
	enum th_class class;                 /* of the tool, with these arguments */
	struct th_str unusable;              /* why the arguments cannot be used; empty: they can */
	const struct th_rule_call *rule;     /* for the agent's rules; NULL: it has none */
	const struct th_json
	    *arguments; /* for its analysers; NULL: it has none, or they cannot be read */
	/* Asked at most once, and only of a call that would run.  NULL: there is no such code. */
	enum th_code_says (*code)(void *ctx, struct th_arena *a, struct th_str *ret_reason);
	void *code_ctx;
	struct th_agent_confirm confirm; /* asked of the session, beside the agent file's */
	bool plan;                       /* plan mode: what does more than look is refused */
	const struct th_sticky *sticky; /* what a person said of the tool for good; NULL: nothing */
	/* The very same action ended UNKNOWN, and nobody has looked since; NULL: no. */
	const struct th_unresolved_effect *unresolved;
	const struct th_tainted *tainted; /* untrusted bytes are in the context; NULL: none */
};

/*
 * The verdict on a call.  In this order, and a refusal is never lifted:
 *  1. what cannot run (no such tool, cut in the middle, unusable arguments) is refused, and in
 *     plan mode what is of another class than R and L;
 *  2. a person is asked where the provider wants it, where it cannot be undone,
 *     of a hosted MCP server's tool, where the agent file names the tool, where the
 *     tool is a question to him, and where the call looks risky (confirm, also what was asked of
 *     the session);
 *  3. the agent's rules, then its code, which can only make a person be asked;
 *  4. what a person said of the tool for good;
 *  5. what the agent file wants asked once untrusted bytes are in the context (untrusted);
 *  6. an action of unknown outcome is not repeated before somebody has looked.
 */
struct th_verdict th_policy_verdict(const struct th_policy_facts *f, struct th_arena *a);

/* Only a person may let it run: it cannot be undone, or the provider wants it checked. */
static inline bool th_policy_needs_person(enum th_class class, struct th_str safety_checks)
{
	return class == TH_CLASS_X || safety_checks.len > 0;
}

/*
 * Whether what a person says of a tool for good decides about a call of it: never where a
 * rule looks into the call (`each`) or the provider wants it checked; and what cannot be
 * undone is approved one by one.
 */
bool th_policy_sticks(bool approve, enum th_class class, bool each, struct th_str safety_checks);

#endif
