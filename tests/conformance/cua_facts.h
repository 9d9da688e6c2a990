/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cua_facts.h - items, of a case and of thole, brought to one form so that they
 * can be compared: a list of what was said and done.
 */
#ifndef TH_TESTS_CUA_FACTS_H
#define TH_TESTS_CUA_FACTS_H

#include "dialects/dialect.h"

enum fact_kind { FACT_THOUGHT, FACT_TEXT, FACT_ACTION, FACT_FUNCTION, FACT_ERROR };
struct fact {
	enum fact_kind kind;
	struct th_str text;      /* THOUGHT, TEXT, ERROR; of a FUNCTION its arguments */
	struct th_str name;      /* FUNCTION; of a TEXT that ends the run, its outcome */
	struct th_str call_id;   /* or empty */
	struct th_action action; /* ACTION; a scroll in pixels, 100 for a notch */
	bool timed;              /* ACTION: says how long */
};

#define FACTS_MAX 64
struct facts {
	struct fact list[FACTS_MAX];
	size_t count;
	bool bad; /* an item that the runner does not understand */
	char why[300];
};

/* A case: its loop says what its scroll amounts mean. */
struct cua_case {
	struct th_str id, loop, stage, model, behaviour;
	const struct th_json *root, *output, *expected;
	bool bug;
	struct th_size screen;
	struct th_arena *arena;
};

void facts_of_case(const struct cua_case *c, const struct th_json *items, struct facts *ret);
void facts_of_items(const struct cua_case *c, const struct th_profile *p,
		    const struct th_json *items, struct facts *ret);
/* An action in the words of a case; false: it is none. */
bool facts_case_action(const struct cua_case *c, const struct th_json *action, struct fact *ret,
		       struct th_err *err);

/* Whether two facts say the same; points may differ by `tolerance`. */
bool fact_same(const struct fact *a, const struct fact *b, int tolerance);
void fact_print(const struct fact *f, struct th_buf *out);

#endif
