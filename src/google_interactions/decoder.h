/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder.h - the state of the Interactions decoder: what
 * event.c gathers from the events of a stream,
 * answer.c makes an answer of, as of a whole body.
 */
#ifndef TH_GOOGLE_INTERACTIONS_DECODER_H
#define TH_GOOGLE_INTERACTIONS_DECODER_H

#include "google_interactions/steps.h"
#include "model_wire/intake.h"

struct th_decoder {
	struct th_intake in;
	bool finished; /* interaction.completed came */
	bool done;     /* [DONE] came */
	th_delta_fn *fn;
	void *ctx;
	struct th_steps steps;
	struct th_buf id;     /* of the interaction, as text; */
	struct th_buf model;  /* likewise */
	struct th_buf status; /* the last one that was said, as text */
	struct th_buf usage;  /* the last one, raw */
	struct th_buf final;  /* raw `interaction` of the terminal event */
	struct th_buf error;  /* the first error event */
	struct th_delta_text delta;
	/* For the answer. */
	struct th_buf raw, items, text;
	struct th_json_doc *doc, *error_doc;
};

/* As th_intake_fn. */
bool th_interactions_event(void *ctx, const struct th_sse_event *ev);

#endif
