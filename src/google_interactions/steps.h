/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - the steps of an answer while it streams, found by their
 * index, and a list of steps as items.  What is stored is raw JSON as it came.
 */
#ifndef TH_GOOGLE_INTERACTIONS_STEPS_H
#define TH_GOOGLE_INTERACTIONS_STEPS_H

#include "base/buf.h"
#include "models/model.h"

struct th_step {
	int64_t index;
	bool done;               /* its stop event came */
	bool broken;             /* its arguments are no JSON object */
	bool open;               /* a text part is under way, in `text` and `notes` */
	const char *list;        /* where its parts go: "content", "summary"; NULL: it has none */
	struct th_buf start;     /* the step of its start event */
	struct th_buf parts;     /* whole parts, with commas between */
	struct th_buf text;      /* the inside of a JSON string */
	struct th_buf notes;     /* annotations, with commas between */
	struct th_buf arguments; /* the inside of a JSON string */
	struct th_buf members;   /* set by deltas: "key":value, with commas between */
};

struct th_steps {
	struct th_step *list; /* by index */
	size_t count, cap;
	size_t size; /* bytes stored */
	bool failed; /* over a maximum: nothing more is taken */
};

void th_steps_deinit(struct th_steps *steps); /* empty again */
/* The step of that index, or NULL. */
struct th_step *th_steps_find(struct th_steps *steps, int64_t index);
/* A step begins; of an index that has begun nothing is taken. */
void th_steps_start(struct th_steps *steps, int64_t index, struct th_str step);
/* A delta of the step; what an observer sees of it: *ret_text is a raw string, or absent. */
void th_steps_delta(struct th_steps *steps, struct th_step *s, struct th_str delta,
		    enum th_delta_kind *ret_kind, struct th_str *ret_text);
/* The list of steps: each start with its deltas in it.  What came must be checked as JSON. */
void th_steps_print(struct th_steps *steps, struct th_buf *out);

/*
 * A list of steps, checked JSON, as items in the unified form
 * (items.c).  `steps`: of a stream, whose broken arguments are
 * marked; or NULL.  `id_base`: raw, what made ids end with.  TH_ELIMIT: too many
 * items or calls; TH_EPROTO: a step is no object.
 */
TH_NODISCARD enum th_code th_interactions_items(struct th_str list, const struct th_steps *steps,
						struct th_str id_base, struct th_buf *out,
						struct th_err *err);

#endif
