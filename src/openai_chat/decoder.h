/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder.h - the state of the Chat Completions decoder: what event.c
 * gathers from the chunks of a stream, answer.c makes an answer of.
 */
#ifndef TH_OPENAI_CHAT_DECODER_H
#define TH_OPENAI_CHAT_DECODER_H

#include "model_wire/intake.h"
#include "openai_chat/chat.h"
#include "openai_chat/message.h"

/* The observer's <think> … </think>. */
enum th_think { TH_THINK_START, TH_THINK_INSIDE, TH_THINK_BEHIND, TH_THINK_NONE };

struct th_decoder {
	struct th_intake in;
	bool finished; /* [DONE] came */
	bool chosen;   /* a chunk with a choice came */
	size_t chunks; /* before [DONE] */
	th_delta_fn *fn;
	void *ctx;
	struct th_chat_message message;
	struct th_buf response_id, model, finish;
	struct th_buf usage, error; /* raw; the last, the first */
	struct th_buf joined, items, raw, text;
	struct th_json_doc *doc, *error_doc;
	/* Some proxies send every event twice.  As long as all came in equal pairs, `single` is the
	 * message of every second one and `before` the event before. */
	bool twins;
	struct th_chat_message single;
	struct th_buf before;
	/* What stood around the delta of the last chunk that was walked. */
	struct th_buf head, tail;
	struct th_str delta; /* in the event under way */
	size_t delta_count;
	bool late; /* whose delta it is stands behind it */
	/* For the observer. */
	struct th_delta_text said, reasoned, called;
	enum th_think think;
	struct th_buf held; /* the start of what may be a tag */
};

/* As th_intake_fn. */
bool th_chat_event(void *ctx, const struct th_sse_event *ev);

/* Tells the observer what a delta holds (deltas.c); at the end, what was held back. */
void th_chat_tell(struct th_decoder *d, struct th_str delta);
void th_chat_tell_end(struct th_decoder *d);

#endif
