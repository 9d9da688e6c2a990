/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compose.h - two models as one: "grounder+planner".  The planner says what to
 * do to which element; the grounder says where that element is on the screen.
 * In "omni+planner" (or omniparser+) the elements have numbered marks on the
 * pictures, and the planner says their numbers.
 *
 * The planner is its own profile with the dialect of descriptions in place of
 * its computer tool.  A name with a plus that is a model of its own (a server's
 * tag) is not composed: only a first half that can point at things makes a pair.
 */
#ifndef TH_PROFILES_COMPOSE_H
#define TH_PROFILES_COMPOSE_H

#include "models/model.h"

struct th_composed {
	struct th_profile planner;         /* valid when grounder is, or marks */
	bool marks;                        /* omni+PLANNER: pictures have numbered marks */
	const struct th_profile *grounder; /* NULL: one model */
	struct th_str grounder_name;       /* to send; borrowed as th_match's */
	struct th_match grounder_match;
};

/* As th_model_match.  For a pair ret->profile is &c->planner, which must live as long as it is
 * used.
 */
TH_NODISCARD enum th_code th_model_compose(const struct th_profiles *mine, struct th_str name,
					   struct th_composed *c, struct th_match *ret,
					   struct th_err *err);

/* A request that asks where something is: one message with the picture and the description. */
void th_ground_message(const struct th_profile *grounder, struct th_str description,
		       const struct th_digest *picture, const char *media_type, struct th_buf *out);

/* Where the answer points: the place of the first action that has one.  TH_EPROTO: it points at
 * nothing.  `items` as dialect->decode gave them. */
TH_NODISCARD enum th_code th_ground_point(const struct th_profile *grounder, struct th_str items,
					  struct th_point *ret, struct th_err *err);

#endif
