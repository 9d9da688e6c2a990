/* SPDX-License-Identifier: Apache-2.0 */
/*
 * side.h - requests to models beside the turns of a session: who makes them,
 * and what they have cost.  The event that needed the answer records the cost,
 * as a JSON object with the members below; the fold has a line for each kind.
 * Who sends them: live/side_request.h.
 */
#ifndef TH_CORE_SIDE_H
#define TH_CORE_SIDE_H

#include "base/json.h"

/* id, name in states and traces */
// clang-format off
#define TH_SIDE_KINDS(X)                                                            \
	X(GROUNDER, "grounder")   /* finds the elements that a planner described */    \
	X(CONDENSER, "condenser") /* summarizes a history that has become too long */ \
	X(JUDGE, "judge")         /* says whether the task is done */                  \
	X(SAMPLER, "sampler")     /* answers what a server of tools asks of it */      \
	X(READER, "reader")       /* reads what the session's model does not see */    \
	X(HOOK, "hook")           /* decides by the policy of a hook */                \
	X(ASKED, "asked")         /* answers what a person asks beside the task */
// clang-format on
#define X(id, name) TH_SIDE_##id,
enum th_side_kind { TH_SIDE_KINDS(X) TH_SIDE_KIND_COUNT };
#undef X
const char *th_side_name(enum th_side_kind k);

struct th_side_usage {
	int64_t requests, tokens_in, tokens_out, cost_nano;
	bool cost_unknown; /* at least one request had no price */
	bool unmetered;    /* an answer does not say what a limit would count */
};

/* Members requests, input, output, and cost_nano where it is known, unmetered where true. */
void th_side_print(const struct th_side_usage *u, struct th_jw *w);
/* Of such an object; what is not there is 0. */
struct th_side_usage th_side_read(const struct th_json *object);
void th_side_add(struct th_side_usage *to, const struct th_side_usage *more);

#endif
