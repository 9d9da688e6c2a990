/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clip.h - the first and the last bytes of an output of any length, in memory
 * of a fixed size, and as text that a model may be shown.
 */
#ifndef TH_TOOLS_CLIP_H
#define TH_TOOLS_CLIP_H

#include "base/buf.h"

struct th_clip {
	struct th_buf head;
	char *ring;    /* the last ring_size bytes behind the head */
	size_t half;   /* size of head and ring */
	uint64_t size; /* of all that came */
};

void th_clip_init(struct th_clip *c, size_t size_max);
void th_clip_deinit(struct th_clip *c);
void th_clip_add(struct th_clip *c, struct th_str bytes);

/*
 * The text: bytes that are no UTF-8 and control characters become U+FFFD,
 * escape sequences of terminals go, and where something is missing stands
 * "… N bytes left out …".  Output that is not text at all is not shown, only
 * said.  Returns how many bytes were left out.
 */
uint64_t th_clip_text(const struct th_clip *c, struct th_buf *out);

/* One piece in the same way; returns how many characters had to be replaced. */
size_t th_clip_clean(struct th_buf *out, struct th_str bytes);

#endif
