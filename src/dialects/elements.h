/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elements.h - models that name elements instead of points: by a
 * description, which a grounder finds (composed models), or by the number of a
 * mark on the picture (OmniParser).
 *
 * Such a call comes out of decode as
 *
 *   {"type":"computer_call","call_id","name","arguments","actions":[],
 *    "targets":[{"description":"OK button"}] or [{"id":2}],…}
 *
 * with one target, or two for a drag.  Whoever knows where they are makes the
 * call of it with th_elements_resolve.
 */
#ifndef TH_DIALECTS_ELEMENTS_H
#define TH_DIALECTS_ELEMENTS_H

#include "dialects/dialect.h"

#define TH_TARGETS_MAX 2

struct th_target {
	struct th_str description; /* or, without one, */
	int64_t id;
};
struct th_target_place {
	bool found;
	struct th_point at; /* pixels of the screen */
	const char *why;    /* not found: one sentence, or NULL */
};

/* The targets of an item; 0: it has none to be found. */
size_t th_elements_targets(const struct th_json *item, struct th_target ret[TH_TARGETS_MAX]);

/* The item as a whole call, or as an error when a place was not found ("element not found: OK
 * button").  `count` is that of th_elements_targets. */
TH_NODISCARD enum th_code th_elements_resolve(const struct th_dialect_context *c,
					      const struct th_json *item,
					      const struct th_target_place *places, size_t count,
					      struct th_buf *out, struct th_err *err);

#endif
