/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_text.c - pictures as base64, shared by requests.
 */
#include "live/blob_text.h"

#include <stdlib.h>

#include "base/text.h"
#include "live/log.h"

static struct th_blob_text *text_find(const struct th_driver *d, const struct th_digest *hash)
{
	for (size_t i = 0; i < d->text_count; i++)
		if (memcmp(&d->texts[i].hash, hash, sizeof(*hash)) == 0)
			return &d->texts[i];
	return NULL;
}

static void text_remove(struct th_driver *d, struct th_blob_text *t)
{
	d->text_bytes -= t->len;
	free(t->text);
	free(t->why);
	*t = d->texts[--d->text_count];
}

/* Lets go of the longest unused texts that no request needs until `more` fits. */
static void texts_shrink(struct th_driver *d, size_t more)
{
	while (d->text_bytes + more > TH_BLOB_CACHE_MAX) {
		struct th_blob_text *oldest = NULL;

		for (size_t i = 0; i < d->text_count; i++)
			if (d->texts[i].users == 0 && d->texts[i].text &&
			    (!oldest || d->texts[i].used < oldest->used))
				oldest = &d->texts[i];
		if (!oldest)
			return;
		text_remove(d, oldest);
	}
}

/* Its place, made when there is none. */
static struct th_blob_text *text_place(struct th_driver *d, const struct th_digest *hash)
{
	struct th_blob_text *t = text_find(d, hash);

	if (t)
		return t;
	if (d->text_count == d->text_cap) {
		d->text_cap = d->text_cap ? d->text_cap * 2 : 8;
		d->texts = th_realloc(d->texts, d->text_cap * sizeof(*d->texts));
	}
	t = &d->texts[d->text_count++];
	*t = (struct th_blob_text){ .hash = *hash };
	return t;
}

static struct th_blob_text *text_fill(struct th_driver *d, const struct th_digest *hash,
				      struct th_str bytes)
{
	struct th_blob_text *t;
	struct th_buf text;

	th_buf_init(&text, th_base64_size(TH_BLOB_MAX));
	th_base64_encode(&text, bytes.ptr, bytes.len);
	texts_shrink(d, text.len);
	t = text_place(d, hash);
	free(t->why);
	t->why = NULL;
	t->asked = false;
	t->text = th_buf_steal(&text, &t->len);
	t->used = ++d->text_clock;
	d->text_bytes += t->len;
	return t;
}

/* Of the store, here and now. */
static enum th_code text_read(struct th_driver *d, const struct th_digest *hash,
			      struct th_blob_text **ret, struct th_err *err)
{
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_BLOB_MAX);
	enum th_code code = d->world.ops->blob(d->world.ctx, hash, &bytes, err);

	if (code == TH_OK)
		*ret = text_fill(d, hash, th_buf_str(&bytes));
	return code;
}

enum th_code th_driver_text_need(struct th_driver *d, const struct th_digest *hash,
				 struct th_str *ret, struct th_err *err)
{
	struct th_blob_text *t = text_find(d, hash);
	enum th_code code = TH_OK;

	if (t && t->why) {
		code = t->why->code;
		if (err)
			*err = *t->why;
	} else if (!t || !t->text) {
		code = text_read(d, hash, &t, err);
	}
	if (code)
		return th_prefix(err, code, "picture of the history");
	t->users++;
	t->used = ++d->text_clock;
	*ret = th_str_n(t->text, t->len);
	return TH_OK;
}

void th_driver_text_keep(struct th_driver *d, const struct th_digest *hash, struct th_str bytes)
{
	const struct th_blob_text *t = text_find(d, hash);

	if (!t || !t->text)
		(void)text_fill(d, hash, bytes);
}

bool th_driver_text_ask(struct th_driver *d, const struct th_digest *hash)
{
	struct th_blob_text *t = text_find(d, hash);

	if (t && (t->text || t->why))
		return true;
	if (t && t->asked)
		return false;
	if (!d->world.ops->blob_ask || d->world.ops->blob_ask(d->world.ctx, hash, NULL))
		return true;
	text_place(d, hash)->asked = true;
	return false;
}

bool th_driver_text_comes(const struct th_driver *d, const struct th_digest *hash)
{
	const struct th_blob_text *t = text_find(d, hash);

	return t && t->asked;
}

void th_driver_text_came(struct th_driver *d, const struct th_digest *hash, struct th_str bytes,
			 const struct th_err *why)
{
	struct th_blob_text *t = text_find(d, hash);

	if (!t || !t->asked)
		return;
	if (why) {
		t->asked = false;
		t->why = th_alloc(sizeof(*why));
		*t->why = *why;
	} else {
		(void)text_fill(d, hash, bytes);
	}
}

void th_driver_text_clear_error(struct th_driver *d, const struct th_digest *hash)
{
	struct th_blob_text *t = text_find(d, hash);

	if (t && t->why)
		text_remove(d, t);
}

void th_driver_text_drop(struct th_driver *d, const struct th_digest *hash)
{
	struct th_blob_text *t = text_find(d, hash);

	assert(t && t->users > 0);
	t->users--;
}

void th_driver_texts_free(struct th_driver *d)
{
	for (size_t i = 0; i < d->text_count; i++) {
		free(d->texts[i].text);
		free(d->texts[i].why);
	}
	free(d->texts);
	d->texts = NULL;
	d->text_count = d->text_cap = d->text_bytes = 0;
}
