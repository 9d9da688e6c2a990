/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema_internal.h - what the files of the schema checker share: schema_fault.c
 * what a check may cost and what it says, schema_value.c a value by itself,
 * schema.c alternatives, containers and references.
 */
#ifndef TH_SCHEMA_SCHEMA_INTERNAL_H
#define TH_SCHEMA_SCHEMA_INTERNAL_H

#include "base/limits.h"
#include "base/text.h"
#include "schema/schema.h"

/* Where in the value: from the innermost step out. */
struct th_schema_path {
	const struct th_schema_path *up;
	struct th_str key; /* of an object's member; .ptr NULL: an element */
	size_t index;
};

struct th_schema_run {
	const struct th_json *root; /* of the schema */
	struct th_buf *faults;      /* NULL: only whether it fits */
	size_t fault_count, fault_max;
	size_t fault_depth; /* of the first fault's path */
	size_t steps, depth;
	enum th_code code; /* what ended it early: the schema is broken, or a limit */
	struct th_err *err;
};

/* schema_fault.c */
/* False: it is over. */
bool th_schema_spend(struct th_schema_run *c, size_t steps);
/* A member by name costs as many steps as there are members. */
const struct th_json *th_schema_member(struct th_schema_run *c, const struct th_json *object,
				       struct th_str key);
/* Begins the line of a fault; NULL: nobody wants it. */
struct th_buf *th_schema_fault(struct th_schema_run *c, const struct th_schema_path *at);
/* "must be WHAT, not VALUE"; always false. */
bool th_schema_fail_value(struct th_schema_run *c, const struct th_schema_path *at,
			  const char *what, const struct th_json *v);
/* "must have WHAT NUMBER THINGS, not COUNT"; always false. */
bool th_schema_fail_count(struct th_schema_run *c, const struct th_schema_path *at,
			  const char *what, double limit, const char *things, size_t count);
/* A value in a sentence: scalars as JSON, cut; containers by name. */
void th_schema_add_value(struct th_buf *out, const struct th_json *v);
/* A list of values, as many as a sentence bears. */
void th_schema_add_values(struct th_buf *out, const struct th_json *list);

/* schema_value.c: a check that fails has written its fault. */
enum th_schema_count {
	TH_SCHEMA_LENGTH,
	TH_SCHEMA_ITEMS,
	TH_SCHEMA_MEMBERS,
	TH_SCHEMA_COUNT_COUNT
};
bool th_schema_fits_type(const struct th_json *types, const struct th_json *v);
bool th_schema_check_type(struct th_schema_run *c, const struct th_json *types,
			  const struct th_json *v, const struct th_schema_path *at);
bool th_schema_check_enum(struct th_schema_run *c, const struct th_json *list,
			  const struct th_json *v, const struct th_schema_path *at);
bool th_schema_check_number(struct th_schema_run *c, const struct th_json *schema,
			    const struct th_json *v, const struct th_schema_path *at);
/* The two limits of this count. */
bool th_schema_check_count(struct th_schema_run *c, const struct th_json *schema,
			   enum th_schema_count what, size_t count,
			   const struct th_schema_path *at);

#endif
