/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responses_decoder.h - the state of the Responses decoder: what
 * responses_event.c gathers from the events of a stream, responses_answer.c
 * makes an answer of.
 */
#ifndef TH_MODELS_RESPONSES_DECODER_H
#define TH_MODELS_RESPONSES_DECODER_H

#include "models/answer.h"
#include "models/responses_items.h"
#include "wire/sse.h"

struct th_decoder {
	enum th_body_mode mode;
	size_t bom_len; /* bytes of a byte order mark that were skipped */
	bool finished;  /* the terminal event came */
	bool done;      /* [DONE] came */
	bool ended;     /* the stream's last bytes are taken */
	bool broken;    /* an event was not JSON */
	bool limited;   /* over a maximum; err says which */
	size_t events;
	th_delta_fn *fn;
	void *ctx;
	struct th_sse sse;
	struct th_items items;
	struct th_buf body; /* JSON: all of it; a stream: its first bytes, for messages */
	struct th_buf response_id, model; /* of response.created */
	struct th_buf final;              /* raw `response` of the terminal event */
	const char *final_status;         /* what its name says */
	struct th_buf error;              /* the first error event, raw */
	struct th_buf list;               /* items put together */
	struct th_buf text;               /* a body's beginning */
	struct th_json_doc *doc, *error_doc;
	struct th_err err;
	struct th_delta_text delta;
	/* The delta before, to know one that is sent twice. */
	int64_t last_seq;
	size_t last_len;
	uint64_t last_mark;
};

/* Takes one event of the stream. */
void th_responses_event(struct th_decoder *d, const struct th_sse_event *sse);

#endif
