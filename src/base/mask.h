/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask.h - secrets out of text, in every form in which programs write them: as
 * they are, base64 (at each alignment, both alphabets), hex, escaped for URLs
 * and for JSON.
 *
 * Also where lines end inside of it, as in base64 of 76 columns and on terminals.
 *
 * Each byte of an occurrence becomes '*', so that lengths and JSON stay what
 * they were.  What costs is a look at each byte, and nothing without
 * secrets.  Pixels, compressed and encrypted bytes are out of reach.
 */
#ifndef TH_BASE_MASK_H
#define TH_BASE_MASK_H

#include "base/buf.h"
#include "base/secret.h"

struct th_mask;

struct th_mask *th_mask_new(void);
struct th_mask *th_mask_free(struct th_mask *m); /* takes NULL, returns NULL; wipes */
/* TH_EUSAGE: it has less than TH_MASK_LEN_MIN or more than TH_MASK_LEN_MAX bytes; TH_ELIMIT: the
 * mask has too many. */
TH_NODISCARD enum th_code th_mask_add(struct th_mask *m, const struct th_secret *secret,
				      struct th_err *err);
/* After the last one, before the first use.  More may be added later, and it is built once more:
 * who uses it goes on with it. */
void th_mask_build(struct th_mask *m);
bool th_mask_empty(const struct th_mask *m); /* it masks nothing; also NULL */

/* A text as a whole, in place.  True: something was masked.  `m` may be NULL: nothing is. */
bool th_mask_apply(const struct th_mask *m, char *bytes, size_t len);
static inline bool th_mask_apply_buf(const struct th_mask *m, struct th_buf *b)
{
	return m && b->len > 0 && th_mask_apply(m, b->ptr, b->len);
}

/* Text that comes in pieces: what could be the begin of an occurrence is held back, from its
 * TH_MASK_HOLD_MIN th byte on, so that what somebody waits for is not. */
struct th_mask_stream {
	const struct th_mask *mask; /* NULL: all goes through as it is */
	uint32_t node;
	struct th_buf held;
};
void th_mask_stream_init(struct th_mask_stream *s, const struct th_mask *m);
void th_mask_stream_deinit(struct th_mask_stream *s); /* wipes; as after init without a mask */
void th_mask_stream_feed(struct th_mask_stream *s, struct th_str bytes, struct th_buf *out);
void th_mask_stream_end(struct th_mask_stream *s, struct th_buf *out); /* no more comes */

#endif
