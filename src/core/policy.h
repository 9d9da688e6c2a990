/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - whether a call runs, is refused, or needs a person.
 *
 * Decided once per call, before anything of its answer starts, and written
 * into its CALL event; a replay reads it there.
 */
#ifndef TH_CORE_POLICY_H
#define TH_CORE_POLICY_H

#include "core/agent.h"
#include "core/session.h"

struct th_verdict {
	enum th_policy policy;
	struct th_str reason; /* of ask and refuse; in the arena or static */
	bool each;            /* of ask: a rule that looks into the call; "always" lifts it not */
};

/* `spec` NULL: the tool does not exist.  `computer` calls have a spec too (made by the caller). */
struct th_verdict th_policy_decide(const struct th_agent *agent, const struct th_tool_spec *spec,
				   const struct th_call *call, struct th_arena *a);

/*
 * What the agent's rules make of it, once its class and arguments are known.
 * Refused stays refused; a rule makes run only what `approve` asks for.
 */
struct th_verdict th_policy_rules(const struct th_agent *agent, const struct th_call *call,
				  const struct th_rule_call *looks, struct th_verdict otherwise);

/*
 * Look before you repeat: `doubt` is of the very same action (th_unresolved_find).
 * Refused with a sentence that says how to look, or for a person to decide,
 * as the agent file says; a person also where no look of ours could help.
 */
struct th_verdict th_policy_repeat(const struct th_agent *agent,
				   const struct th_unresolved_effect *unresolved,
				   struct th_verdict otherwise, struct th_arena *a);

#endif
