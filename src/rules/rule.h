/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h - rules of an agent file about calls: run it, ask a person, refuse it.
 *
 *	rules:
 *	- {tool: shell, arguments: {command: "git status*"}, decide: run}
 *	- {path: "**.pem", decide: ask, message: "this is a key"}
 *	- {domain: "*.bank.example", decide: refuse}
 *	- {class: write, decide: ask, until: 2026-12-31}
 *
 * The first rule that matches decides; all that a rule names must match.  In a
 * pattern * is any text and ? one byte; in a path, and in an argument where the
 * rule says run, * stays inside a folder or a plain command and ** does not.  What cannot be
 *decided for certain (an argument too long to look at) counts as matching where the rule asks or
 *refuses, as not where it runs.
 *
 * A rule about a tool is one about each name of it; where it asks or refuses, also about tools that
 * do the same (tool_names.h).  Such a tool may lack an argument that the rule names: that cannot be
 * decided for certain.
 *
 * A rule cannot make run what the provider wants checked, what cannot be undone,
 * or what repeats an action of unknown outcome.
 */
#ifndef TH_RULES_RULE_H
#define TH_RULES_RULE_H

#include "base/field.h"
#include "events/event.h"
#include "rules/tool_names.h"

enum th_rule_decision { TH_RULE_RUN, TH_RULE_ASK, TH_RULE_REFUSE };

struct th_agent_rule {
	struct th_str tool;      /* pattern of its name; empty: any */
	struct th_str arguments; /* raw object: name of an argument -> pattern of its value */
	int64_t class;           /* index into names, -1: any */
	struct th_str path;      /* pattern of an absolute path that the call names */
	struct th_str domain;    /* pattern of the host of a URL that the call names */
	int64_t decide;          /* enum th_rule_decision */
	struct th_str message; /* why: for the person who is asked, or the model that is refused */
	struct th_str until;   /* date, UTC; from that day on it is no rule any more */
};

extern const struct th_table th_agent_rule_table;

/* What a call looks like to a rule. */
struct th_rule_call {
	struct th_str tool;
	const struct th_tool_called *called; /* by which names; NULL: by this one alone */
	enum th_class class;
	const struct th_json *arguments; /* object */
	struct th_str workspace;         /* absolute: what a relative path is taken from */
	int64_t now_ms;                  /* of the answer that the call is of */
};

/* The first rule that matches, or NULL. */
const struct th_agent_rule *th_rules_match(const struct th_objects *rules,
					   const struct th_rule_call *call);

/* TH_EUSAGE: `path` says where ("rules[2].until") and err what. */
TH_NODISCARD enum th_code th_rules_check(const struct th_objects *rules, struct th_buf *path,
					 struct th_err *err);

/* The days from 1970 to a date "2026-12-31"; -1: it is none. */
int64_t th_date_days(struct th_str date);

/* Does the text match?  `stop`: bytes that * and ? do not take, but ** does. */
bool th_glob(struct th_str pattern, struct th_str text, struct th_str stop);
/* Is a name one of a list of patterns? */
bool th_glob_any(const struct th_strs *patterns, struct th_str name);

#endif
