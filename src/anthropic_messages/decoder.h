/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder.h - the state of the Messages decoder: what
 * event.c gathers from the events of a stream is put together as one
 * message, of which answer.c makes an answer just as of a whole body.
 */
#ifndef TH_ANTHROPIC_MESSAGES_DECODER_H
#define TH_ANTHROPIC_MESSAGES_DECODER_H

#include "anthropic_messages/blocks.h"
#include "model_wire/intake.h"

struct th_delta_row; /* a kind of delta: event.c */

struct th_decoder {
	struct th_intake in;
	bool finished; /* message_stop came */
	th_delta_fn *fn;
	void *ctx;
	struct th_blocks blocks;
	int64_t early_count;   /* blocks that came whole in message_start: indexes below 0 */
	struct th_buf start;   /* message of message_start */
	struct th_buf over;    /* an object: members that later events gave */
	struct th_buf usage;   /* an object: the usage so far */
	struct th_buf error;   /* the first error event */
	struct th_str message; /* in `raw` */
	struct th_buf raw, items;
	struct th_buf scratch;
	struct th_json_doc *doc, *error_doc;
	struct th_delta_text delta;
	/* What stood before the text of the last delta that was walked, and what it said. */
	struct th_buf head;
	const struct th_delta_row *head_row;
	int64_t head_index;
	/* Some proxies send every event twice; a block that starts twice in a row gives it away. */
	bool doubled;
	uint64_t last_hash; /* of the event before, 0: none to compare with */
};

/* As th_intake_fn. */
bool th_messages_event(void *ctx, const struct th_sse_event *ev);

/* Members of `a`, but for those that `b` has and that are not null there, and then those of `b`. */
void th_messages_merge(struct th_str a, struct th_str b, struct th_buf *out);

/* The content of a message, checked JSON, as items in the unified form (items.c).
 * `blocks`: of a stream, or NULL.  TH_ELIMIT: too many items or calls; TH_EPROTO: a block is no
 * object. */
TH_NODISCARD enum th_code th_messages_items(struct th_str raw, const struct th_blocks *blocks,
					    struct th_buf *out, struct th_err *err);

#endif
