/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_internal.h - what the parts that read a team's definition share.
 */
#ifndef TH_AGENTS_TEAM_INTERNAL_H
#define TH_AGENTS_TEAM_INTERNAL_H

#include "agents/team.h"

/* One definition being resolved. */
struct th_team_resolver {
	const struct th_json *definition;
	struct th_team *team;
	struct th_arena *a; /* what stays */
	struct th_err *err;
	bool alike; /* the definition's guards_alike */
};

static inline enum th_code th_team_full(struct th_team_resolver *r)
{
	return th_fail(r->err, TH_ELIMIT, "the agents' definition takes too much memory");
}

static inline bool th_team_keep(struct th_team_resolver *r, struct th_str s, struct th_str *ret)
{
	*ret = th_arena_str(r->a, s);
	return ret->ptr != NULL;
}

/* The definition of a member; 0 is the team's first. */
const struct th_json *th_team_member_definition(const struct th_json *d, size_t index,
						struct th_str *ret_key);
TH_NODISCARD enum th_code th_team_resolve_strs(struct th_team_resolver *r,
					       const struct th_strs *from, struct th_strs *ret);
TH_NODISCARD enum th_code th_team_resolve_programs(struct th_team_resolver *r,
						   struct th_team *team);
TH_NODISCARD enum th_code th_team_resolve_guards(struct th_team_resolver *r, struct th_member *m,
						 const struct th_agent *agent,
						 const struct th_json *definition);
bool th_team_has_programs_at(const struct th_json *d, const char *member);
bool th_team_has_programs(const struct th_json *d);

#endif
