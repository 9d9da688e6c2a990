/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder.h - the state of the Responses decoder: what
 * event.c gathers from the events of a stream, answer.c
 * makes an answer of.
 */
#ifndef TH_OPENAI_RESPONSES_DECODER_H
#define TH_OPENAI_RESPONSES_DECODER_H

#include "model_wire/intake.h"
#include "openai_responses/items.h"

struct th_decoder {
	struct th_intake in;
	bool finished; /* the terminal event came */
	bool done;     /* [DONE] came */
	th_delta_fn *fn;
	void *ctx;
	struct th_items items;
	struct th_buf response_id, model; /* of response.created; */
	int64_t next_event;               /* the number after its own; 0: it has none */
	struct th_buf final;              /* raw `response` of the terminal event */
	const char *final_status;         /* what its name says */
	struct th_buf error;              /* the first error event, raw */
	struct th_buf list;               /* items put together */
	struct th_json_doc *doc, *error_doc;
	struct th_delta_text delta;
	/* The delta before, to know one that is sent twice. */
	int64_t last_seq;
	size_t last_len;
	uint64_t last_mark;
};

/* As th_intake_fn. */
bool th_responses_event(void *ctx, const struct th_sse_event *ev);

#endif
