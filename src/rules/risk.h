/* SPDX-License-Identifier: Apache-2.0 */
/*
 * risk.h - how risky a call looks, and whether a person is asked because of it.
 *
 *	confirm: {when: risky, threshold: medium, analysers: [model, patterns, rails],
 *		  external: [{name: guard, url: http://localhost:9000/risk}]}
 *
 * An analyser is one row of a table and a pure function of the call.  An external one is a
 * program or a server, which is asked before the call is recorded (guards/analyse.h).  The risk
 * of a call is the highest that any of them sees; none that sees anything: unknown.  An analyser
 * is no wall: it makes a person look, and only rules and the sandbox forbid.
 */
#ifndef TH_RULES_RISK_H
#define TH_RULES_RISK_H

#include "base/field.h"

enum th_risk { TH_RISK_UNKNOWN, TH_RISK_LOW, TH_RISK_MEDIUM, TH_RISK_HIGH, TH_RISK_COUNT };
const char *th_risk_name(enum th_risk risk); /* "unknown", "low" … */
int th_risk_find(struct th_str name);        /* or -1 */

enum th_confirm { TH_CONFIRM_NEVER, TH_CONFIRM_ALWAYS, TH_CONFIRM_RISKY };

struct th_agent_confirm {
	int64_t when;               /* enum th_confirm */
	int64_t threshold;          /* enum th_risk; unknown: not set, which is high */
	bool unknown;               /* risky: ask where the risk is not known, too */
	struct th_strs analysers;   /* names; none: patterns and rails */
	struct th_objects external; /* struct th_agent_analyser */
};

/* One of `command` and `url`. */
struct th_agent_analyser {
	struct th_str name;
	struct th_strs command; /* argv */
	struct th_str url;
	struct th_str token_env; /* the runtime's variable with a bearer token; empty: none */
	int64_t timeout_s;
	int64_t on_failure; /* enum th_risk: what no answer means */
};

extern const struct th_table th_agent_confirm_table, th_agent_analyser_table;

/* What an external analyser answers: {"risk": "high", "reason": "..."}; members of other names are
 * passed over.  TH_EPROTO: it is no such answer.  Strings in the arena. */
TH_NODISCARD enum th_code th_analyser_answer_read(struct th_str text, struct th_arena *a,
						  enum th_risk *ret, struct th_str *ret_reason,
						  struct th_err *err);

/* What is wrong with it, for a sentence that begins with its member `*ret_at`; NULL: nothing. */
const char *th_confirm_fault(const struct th_agent_confirm *c, const char **ret_at);

bool th_confirm_asks(const struct th_agent_confirm *c, enum th_risk risk);

/*
 * What is asked of a session beside its agent file: {when, threshold, unknown} alone, since what
 * looks at calls is the agent file's.  TH_EUSAGE.
 */
TH_NODISCARD enum th_code th_confirm_read(const struct th_json *v, struct th_agent_confirm *ret,
					  struct th_err *err);
/* Both of two such: a person is asked where either asks. */
struct th_agent_confirm th_confirm_both(const struct th_agent_confirm *a,
					const struct th_agent_confirm *b);

/* What the analysers see in a call.  `*ret_why`: a sentence of the one that sees most; static. */
enum th_risk th_risk_of(const struct th_agent_confirm *c, const struct th_json *arguments,
			const char **ret_why);

/* Is the model to say itself how risky a call is? */
bool th_confirm_asks_model(const struct th_agent_confirm *c);
/* The schema with a place for it, in the arena; as it was where it has no properties. */
struct th_str th_risk_schema(struct th_str schema, struct th_arena *a);

#endif
