/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict.h - what policy (core/policy.h) says of a call, with all that it depends on: the tool,
 * the arguments as they are recorded, the agent's rules and code, and what was said before.
 */
#ifndef TH_GUARDS_VERDICT_H
#define TH_GUARDS_VERDICT_H

#include "live/live.h"
#include "rules/tool_names.h"

/* The arguments in our form, which fit the schema where the tool says so; else *ret_why is for the
 * model. */
void th_live_usable(const struct th_live *l, const struct th_tool_row *row, const struct th_call *c,
		    struct th_buf *out, struct th_arena *a, struct th_str *ret_why);
/* The names that policy knows the call's tool by; for a function, a command and a tool of a server
 * that is its own name.  Strings are borrowed. */
struct th_tool_called th_live_called(const struct th_live *l, const struct th_call *c,
				     enum th_class class);
/* Of a handoff, `spec` is its own. */
struct th_verdict th_live_verdict(struct th_live *l, const struct th_call *c,
				  const struct th_tool_spec *spec, enum th_class class,
				  struct th_str arguments, const char *digest,
				  struct th_str unusable, struct th_arena *a);
/* May the call run with these arguments, without a person?  `out` has them as the log has them;
 * false: `why` says why not. */
bool th_live_may_run_with(struct th_live *l, const struct th_call *c, struct th_str text,
			  struct th_buf *out, enum th_class *ret_class, struct th_buf *why);

#endif
