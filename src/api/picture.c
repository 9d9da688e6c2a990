/* SPDX-License-Identifier: Apache-2.0 */
/*
 * picture.c - pictures that the program gives: checked when they come, made into what the model
 * wants when they go.
 */
#include <stdlib.h>

#include "api/api.h"
#include "computer/image.h"

static int room_for(struct thole_call *c, struct thole_error *err)
{
	if (!c)
		return th_api_fail(err, TH_EUSAGE, "the call is NULL");
	if (c->picture_count == TH_CALL_PICTURES_MAX)
		return th_api_fail(err, TH_ELIMIT, "an answer has at most %d pictures",
				   TH_CALL_PICTURES_MAX);
	return TH_OK;
}

int thole_call_png(struct thole_call *call, const void *bytes, size_t size, struct thole_error *err)
{
	struct th_api_picture p = { .size = size };
	struct th_err e = { 0 };
	enum th_code bad;
	int code = room_for(call, err);

	if (!code && !bytes)
		code = th_api_fail(err, TH_EUSAGE, "the picture is NULL");
	if (!code && size > TH_CALL_PICTURE_MAX)
		code = th_api_fail(err, TH_ELIMIT, "a picture has at most %zu bytes",
				   TH_CALL_PICTURE_MAX);
	if (code)
		return code;
	bad = th_png_size(th_str_n(bytes, size), &p.dim, &e);
	if (bad)
		return th_api_out(bad == TH_EPROTO ? TH_EUSAGE : bad, &e, err);
	p.bytes = th_alloc(size);
	memcpy(p.bytes, bytes, size);
	call->pictures[call->picture_count++] = p;
	return TH_OK;
}

int thole_call_pixels(struct thole_call *call, const void *pixels, int width, int height,
		      size_t stride, struct thole_error *err)
{
	struct th_api_picture p = { .raw = true, .dim = { width, height } };
	const uint8_t *from = pixels;
	uint8_t *to;
	int code = room_for(call, err);

	if (!code && !pixels)
		code = th_api_fail(err, TH_EUSAGE, "the picture is NULL");
	if (!code &&
	    (width < 1 || height < 1 || width > TH_CALL_SIDE_MAX || height > TH_CALL_SIDE_MAX))
		code = th_api_fail(err, TH_ELIMIT, "a picture has 1 to %d pixels a side",
				   TH_CALL_SIDE_MAX);
	if (!code && stride < (size_t)width * 4)
		code = th_api_fail(err, TH_EUSAGE, "a row of %d pixels has more than %zu bytes",
				   width, stride);
	if (code)
		return code;
	p.size = (size_t)width * (size_t)height * 4;
	p.bytes = to = th_alloc(p.size);
	for (int y = 0; y < height; y++, from += stride)
		for (int x = 0; x < width; x++, to += 4) {
			to[0] = from[4 * x + 2];
			to[1] = from[4 * x + 1];
			to[2] = from[4 * x];
		}
	call->pictures[call->picture_count++] = p;
	return TH_OK;
}

static uint8_t *bytes_copy(struct th_str s)
{
	uint8_t *copy = th_alloc(s.len);

	memcpy(copy, s.ptr, s.len);
	return copy;
}

static enum th_code encode(struct thole_session *s, const struct th_pixels *from,
			   struct th_size size, struct th_api_picture *ret, struct th_err *err)
{
	struct th_pixels scaled = *from;
	uint8_t *memory = NULL;
	bool changed;
	enum th_code code;

	if (!th_size_eq(from->size, size)) {
		memory = th_alloc((size_t)size.width * (size_t)size.height * 4);
		scaled = (struct th_pixels){ memory, (size_t)size.width * 4, size };
		th_image_scale(from, &scaled);
	}
	if (!s->png)
		s->png = th_png_new();
	code = th_png_encode(s->png, &scaled, NULL, &changed, err);
	free(memory);
	if (code)
		return code;
	ret->size = th_png_bytes(s->png).len;
	ret->bytes = bytes_copy(th_png_bytes(s->png));
	ret->dim = size;
	return TH_OK;
}

enum th_code th_api_picture_png(struct thole_session *s, const struct th_api_picture *p,
				const struct th_rect *region, struct th_size size,
				struct th_api_picture *ret, struct th_err *err)
{
	struct th_pixels all = { p->bytes, (size_t)p->dim.width * 4, p->dim }, part;
	enum th_code code = TH_OK;

	*ret = (struct th_api_picture){ 0 };
	if (!p->raw && !region && th_size_eq(p->dim, size)) {
		*ret = *p;
		ret->bytes = bytes_copy(th_str_n(p->bytes, p->size));
		return TH_OK;
	}
	if (!p->raw)
		code = th_png_read(th_str_n(p->bytes, p->size), &all, err);
	if (code)
		return code;
	part = region ? th_pixels_cut(&all, *region) : all;
	code = encode(s, &part, th_size_fit(part.size, size), ret, err);
	if (!p->raw)
		free(all.ptr);
	return code;
}

void th_api_picture_part(const struct th_api_picture *png, struct th_jw *w, struct th_blob *ret)
{
	char hex[TH_SHA256_HEX_SIZE + 1];

	*ret = (struct th_blob){
		.media_type = TH_STR("image/png"),
		.bytes = th_str_n(png->bytes, png->size),
	};
	ret->hash = th_sha256_of(png->bytes, png->size);
	th_digest_hex(&ret->hash, hex);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("image"));
	th_jw_kstr(w, "media_type", ret->media_type);
	th_jw_kstr(w, "blob", th_str_of(hex));
	th_jw_kuint(w, "size", png->size);
	th_jw_kint(w, "width", png->dim.width);
	th_jw_kint(w, "height", png->dim.height);
	th_jw_object_end(w);
}
