/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.h - reasoning that its provider alone can check or read, on its
 * way through a client.
 *
 * An item of reasoning has it as encrypted_content, a block of the Messages API
 * as its signature, or as the data of a redacted block.  What is of this wire
 * begins in an item with a word that says so, and what is of another wire in a
 * block: each provider gets back what is its own, whichever API carried it.
 */
#ifndef TH_MODEL_WIRE_SEAL_H
#define TH_MODEL_WIRE_SEAL_H

#include "base/json.h"

/* All print encrypted_content, or nothing where there is none: */
/* of the reasoning that is the nth of an answer (`raw` of model_answered), */
void th_seal_of_answer(const struct th_json *raw, size_t nth, struct th_buf *out);
/* of a block's type and its signature or data, a JSON string without its quotes. */
void th_seal_of_parts(struct th_str type, struct th_str inside, struct th_buf *out);

/* Whether an item's is of this wire. */
bool th_seal_is_own(struct th_str sealed);
/* The signature of a block; false: the block is a redacted one, and has none. */
bool th_seal_signature(struct th_str sealed, struct th_buf *out);
/* A block with that text, in which a redacted one has none. */
void th_seal_put_block(struct th_jw *w, struct th_str text, struct th_str sealed);
/* The text of an item's summary, or of its content, into an empty buffer. */
void th_seal_text(const struct th_json *item, struct th_buf *out);

#endif
