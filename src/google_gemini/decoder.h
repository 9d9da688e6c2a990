/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder.h - the state of the Gemini decoder: what event.c
 * gathers from the pieces of an answer, answer.c makes an answer of.
 */
#ifndef TH_GOOGLE_GEMINI_DECODER_H
#define TH_GOOGLE_GEMINI_DECODER_H

#include "google_gemini/parts.h"
#include "model_wire/intake.h"

#define TH_GEMINI_MEMBERS_MAX 32 /* of a candidate that are kept beside its content */

/* A member of the candidate, raw: its last value counts. */
struct th_gemini_member {
	struct th_buf key, val;
};

struct th_decoder {
	struct th_intake in;
	bool done; /* [DONE] came: no such server says it, some gateways do */
	bool lost; /* a piece of arguments that cannot be placed */
	th_delta_fn *fn;
	void *ctx;
	struct th_gemini_parts parts;
	struct th_gemini_member members[TH_GEMINI_MEMBERS_MAX];
	size_t member_count, member_size;
	size_t item_index; /* of the item that the next delta belongs to */
	int item_kind;     /* of the piece before */
	struct th_usage usage;
	int64_t tool_input;               /* tokens that the provider's own tools added */
	struct th_buf response_id, model; /* raw strings */
	struct th_buf finish;             /* raw finishReason */
	struct th_buf feedback;           /* raw promptFeedback */
	struct th_buf error;              /* the first error, raw: the whole event */
	struct th_buf last;               /* the event before, to know one that is sent twice */
	/* For the answer. */
	struct th_buf message, items, text;
	struct th_delta_text delta;
	struct th_json_doc *error_doc;
};

/* Takes one piece of the answer: an event of the stream, or a body.  False: not an object. */
bool th_gemini_chunk(struct th_decoder *d, struct th_str chunk);
/* As th_intake_fn. */
bool th_gemini_event(void *ctx, const struct th_sse_event *ev);

#endif
