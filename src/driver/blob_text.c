/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_text.c - pictures as base64, shared by requests.
 */
#include "driver/blob_text.h"

#include <stdlib.h>

#include "base/text.h"
#include "driver/log.h"

static struct th_blob_text *text_find(struct th_driver *d, const struct th_digest *hash)
{
	for (size_t i = 0; i < d->text_count; i++)
		if (memcmp(&d->texts[i].hash, hash, sizeof(*hash)) == 0)
			return &d->texts[i];
	return NULL;
}

/* Lets go of the longest unused texts that no request needs until `more` fits. */
static void texts_shrink(struct th_driver *d, size_t more)
{
	while (d->text_bytes + more > TH_BLOB_CACHE_MAX) {
		struct th_blob_text *oldest = NULL;

		for (size_t i = 0; i < d->text_count; i++)
			if (d->texts[i].users == 0 && (!oldest || d->texts[i].used < oldest->used))
				oldest = &d->texts[i];
		if (!oldest)
			return;
		d->text_bytes -= oldest->len;
		free(oldest->text);
		*oldest = d->texts[--d->text_count];
	}
}

enum th_code th_driver_text_need(struct th_driver *d, const struct th_digest *hash,
				 struct th_str *ret, struct th_err *err)
{
	struct th_blob_text *t = text_find(d, hash);

	if (!t) {
		struct th_buf bytes, text;
		enum th_code code;

		th_buf_init(&bytes, TH_BLOB_MAX);
		code = d->world.ops->blob(d->world.ctx, hash, &bytes, err);
		if (code) {
			th_buf_deinit(&bytes);
			return th_prefix(err, code, "picture of the history");
		}
		th_buf_init(&text, th_base64_size(TH_BLOB_MAX));
		th_base64_encode(&text, bytes.ptr, bytes.len);
		th_buf_deinit(&bytes);
		texts_shrink(d, text.len);
		if (d->text_count == d->text_cap) {
			d->text_cap = d->text_cap ? d->text_cap * 2 : 8;
			d->texts = th_realloc(d->texts, d->text_cap * sizeof(*d->texts));
		}
		t = &d->texts[d->text_count++];
		*t = (struct th_blob_text){ .hash = *hash };
		t->text = th_buf_steal(&text, &t->len);
		d->text_bytes += t->len;
	}
	t->users++;
	t->used = ++d->text_clock;
	*ret = th_str_n(t->text, t->len);
	return TH_OK;
}

void th_driver_text_drop(struct th_driver *d, const struct th_digest *hash)
{
	struct th_blob_text *t = text_find(d, hash);

	assert(t && t->users > 0);
	t->users--;
}

void th_driver_texts_free(struct th_driver *d)
{
	for (size_t i = 0; i < d->text_count; i++)
		free(d->texts[i].text);
	free(d->texts);
	d->texts = NULL;
	d->text_count = d->text_cap = d->text_bytes = 0;
}
