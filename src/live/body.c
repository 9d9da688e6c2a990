/* SPDX-License-Identifier: Apache-2.0 */
#include "live/body.h"

#include <stdlib.h>

#include "live/blob_text.h"
#include "live/live.h"
#include "model_wire/frame.h"

void th_body_add(struct th_body *b, struct th_str bytes)
{
	if (b->count == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 16;
		b->parts = th_realloc(b->parts, b->cap * sizeof(*b->parts));
	}
	b->parts[b->count++] = bytes;
}

enum th_code th_body_add_picture(struct th_live *l, struct th_body *b, const struct th_digest *hash,
				 struct th_err *err)
{
	struct th_str text;
	enum th_code code = th_driver_text_need(l->driver, hash, &text, err);

	if (code)
		return code;
	if (b->blob_count == b->blob_cap) {
		b->blob_cap = b->blob_cap ? 2 * b->blob_cap : 4;
		b->blobs = th_realloc(b->blobs, b->blob_cap * sizeof(*b->blobs));
	}
	b->blobs[b->blob_count++] = *hash;
	b->blob_size += text.len;
	th_body_add(b, text);
	return TH_OK;
}

enum th_code th_body_add_history(struct th_live *l, struct th_body *b, bool tail,
				 struct th_err *err)
{
	size_t images = th_images_keep(&l->options), count;
	struct th_slice *slices;
	enum th_code code = TH_OK;

	count = tail ? th_history_tail_slices(l->history, images, &slices)
		     : th_history_slices(l->history, images, &slices);
	for (size_t i = 0; i < count && !code; i++) {
		if (slices[i].bytes.ptr)
			th_body_add(b, slices[i].bytes);
		else
			code = th_body_add_picture(l, b, &slices[i].blob, err);
	}
	free(slices);
	return code;
}

bool th_body_waits(struct th_live *l)
{
	size_t images = th_images_keep(&l->options), count;
	struct th_slice *slices;
	bool waits = false;

	/* What was let go again before all were here is read here and now. */
	if (l->pictures_seq == l->fold.request_seq && !l->pictures_due)
		return false;
	count = l->tail ? th_history_tail_slices(l->history, images, &slices)
			: th_history_slices(l->history, images, &slices);
	for (size_t i = 0; i < count; i++)
		if (!slices[i].bytes.ptr && (l->pictures_seq == l->fold.request_seq
						 ? th_driver_text_comes(l->driver, &slices[i].blob)
						 : !th_driver_text_ask(l->driver, &slices[i].blob)))
			waits = true;
	free(slices);
	l->pictures_seq = l->fold.request_seq;
	l->pictures_due = waits;
	return waits;
}

bool th_body_waiting(const struct th_live *l)
{
	/* Another request may have begun since, which is not durable yet. */
	return l->pictures_due && l->pictures_seq == l->fold.request_seq && !l->lost;
}

void th_body_deinit(struct th_live *l, struct th_body *b)
{
	for (size_t i = 0; i < b->blob_count; i++)
		th_driver_text_drop(l->driver, &b->blobs[i]);
	free(b->blobs);
	free(b->parts);
	*b = (struct th_body){ 0 };
}
