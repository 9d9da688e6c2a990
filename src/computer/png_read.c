/* SPDX-License-Identifier: Apache-2.0 */
/* png_read.c - PNG files that others made, as pixels, by libspng. */
#include <spng.h>
#include <stdlib.h>

#include "base/limits.h"
#include "computer/image.h"

static enum th_code fail(struct th_err *err, int status)
{
	return th_fail(err, TH_EPROTO, "the picture is not a PNG file that can be read: %s",
		       spng_strerror(status));
}

static uint32_t be32(const char *p)
{
	const uint8_t *b = (const uint8_t *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

enum th_code th_png_size(struct th_str bytes, struct th_size *ret, struct th_err *err)
{
	static const char head[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
	uint32_t width, height;

	if (bytes.len < 33 || memcmp(bytes.ptr, head, 16) != 0)
		return th_fail(err, TH_EPROTO, "the picture is not a PNG file");
	width = be32(bytes.ptr + 16);
	height = be32(bytes.ptr + 20);
	if (width > TH_SCREEN_SIDE_MAX || height > TH_SCREEN_SIDE_MAX)
		return th_fail(err, TH_ELIMIT, "a picture has at most %d pixels a side",
			       TH_SCREEN_SIDE_MAX);
	*ret = (struct th_size){ (int32_t)width, (int32_t)height };
	return th_image_check(*ret, err);
}

/* Red green blue alpha as blue green red and one more, in place. */
static void turn(uint8_t *p, size_t size)
{
	for (size_t i = 0; i + 3 < size; i += 4) {
		uint8_t red = p[i];

		p[i] = p[i + 2];
		p[i + 2] = red;
	}
}

enum th_code th_png_read(struct th_str bytes, struct th_pixels *ret, struct th_err *err)
{
	struct th_size size;
	spng_ctx *ctx;
	uint8_t *pixels = NULL;
	size_t wanted = 0;
	int status;
	enum th_code code = th_png_size(bytes, &size, err);

	if (code)
		return code;
	ctx = spng_ctx_new(0);
	if (!ctx)
		return th_fail_memory(err);
	status = spng_set_png_buffer(ctx, bytes.ptr, bytes.len);
	if (!status)
		status = spng_set_chunk_limits(ctx, TH_MIB, TH_MIB);
	if (!status)
		status = spng_decoded_image_size(ctx, SPNG_FMT_RGBA8, &wanted);
	if (!status && wanted != (size_t)size.width * (size_t)size.height * 4)
		status = SPNG_EOVERFLOW;
	if (!status) {
		pixels = th_alloc(wanted);
		status = spng_decode_image(ctx, pixels, wanted, SPNG_FMT_RGBA8, 0);
	}
	spng_ctx_free(ctx);
	if (status) {
		free(pixels);
		return fail(err, status);
	}
	turn(pixels, wanted);
	*ret = (struct th_pixels){ pixels, (size_t)size.width * 4, size };
	return TH_OK;
}
