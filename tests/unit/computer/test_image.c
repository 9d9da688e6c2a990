/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: every encoder gives back the pixels it was given, whatever the size. */
#include "computer/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libdeflate.h>
#include <spng.h>
#include <turbojpeg.h>
#include <webp/decode.h>

#include "base/limits.h"

static uint64_t seed = 20240229;

static uint32_t chance(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 24) % below;
}

enum pattern { NOISE, FLAT, SLOPE, TEXT, PATTERNS };

static struct th_pixels make(int32_t width, int32_t height, enum pattern pattern)
{
	size_t stride = (size_t)width * 4 + chance(3) * 4; /* rows need not touch */
	struct th_pixels p = { malloc(stride * (size_t)height), stride, { width, height } };

	assert_non_null(p.ptr);
	for (int32_t y = 0; y < height; y++)
		for (int32_t x = 0; x < (int32_t)(stride / 4); x++) {
			uint8_t *to = th_pixels_row(&p, y) + x * 4;
			uint32_t v = 0x336699;
			if (pattern == NOISE)
				v = chance(1u << 24);
			else if (pattern == SLOPE)
				v = (uint32_t)(x * 255 / width) << 16 |
				    (uint32_t)(y * 255 / height);
			else if (pattern == TEXT)
				v = chance(7) ? 0xffffff : 0;
			to[0] = (uint8_t)v;
			to[1] = (uint8_t)(v >> 8);
			to[2] = (uint8_t)(v >> 16);
			to[3] = (uint8_t)chance(256); /* nobody looks at it */
		}
	return p;
}

/* RGB of `image` at (x, y) against a decoded buffer. */
static void same_pixels(const struct th_pixels *image, const uint8_t *rgb)
{
	for (int32_t y = 0; y < image->size.height; y++)
		for (int32_t x = 0; x < image->size.width; x++, rgb += 3) {
			const uint8_t *p = th_pixels_row(image, y) + x * 4;
			if (p[0] != rgb[2] || p[1] != rgb[1] || p[2] != rgb[0])
				fail_msg("%dx%d differs at (%d, %d)", image->size.width,
					 image->size.height, x, y);
		}
}

static void check_png(struct th_str bytes, const struct th_pixels *image)
{
	spng_ctx *s = spng_ctx_new(0);
	struct spng_ihdr head;
	size_t size;

	assert_int_equal(spng_set_crc_action(s, SPNG_CRC_ERROR, SPNG_CRC_ERROR), 0);
	assert_int_equal(spng_set_png_buffer(s, bytes.ptr, bytes.len), 0);
	assert_int_equal(spng_get_ihdr(s, &head), 0);
	assert_int_equal(head.width, image->size.width);
	assert_int_equal(head.height, image->size.height);
	assert_int_equal(spng_decoded_image_size(s, SPNG_FMT_RGB8, &size), 0);
	uint8_t *rgb = malloc(size);
	assert_int_equal(spng_decode_image(s, rgb, size, SPNG_FMT_RGB8, 0), 0);
	assert_int_equal(spng_decode_chunks(s), 0);
	same_pixels(image, rgb);
	spng_ctx_free(s);
	/* And as we read files of others. */
	struct th_pixels back = { 0 };
	assert_int_equal(th_png_read(bytes, &back, NULL), TH_OK);
	assert_true(th_size_eq(back.size, image->size));
	same_pixels(&back, rgb);
	free(back.ptr);
	free(rgb);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Strict: the IDATs together are one zlib stream of exactly the rows, Adler-32 included. */
static void check_zlib(struct th_str bytes, const struct th_pixels *image)
{
	size_t raw_size = ((size_t)image->size.width * 3 + 1) * (size_t)image->size.height;
	uint8_t *stream = malloc(bytes.len), *raw = malloc(raw_size);
	const uint8_t *at = (const uint8_t *)bytes.ptr + 8;
	const uint8_t *end = (const uint8_t *)bytes.ptr + bytes.len;
	size_t len = 0, got;
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();

	while (at < end) {
		uint32_t size = get32(at);
		assert_true(size <= (size_t)(end - at) - 12);
		assert_int_equal(get32(at + 8 + size), libdeflate_crc32(0, at + 4, size + 4));
		if (memcmp(at + 4, "IDAT", 4) == 0) {
			memcpy(stream + len, at + 8, size);
			len += size;
		}
		at += size + 12;
	}
	assert_ptr_equal(at, end);
	assert_int_equal(libdeflate_zlib_decompress(d, stream, len, raw, raw_size, &got),
			 LIBDEFLATE_SUCCESS);
	assert_int_equal(got, raw_size);
	libdeflate_free_decompressor(d);
	free(stream);
	free(raw);
}

static const int32_t widths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 333 };
static const int32_t heights[] = { 1, 2, 3, 23, 24, 25, 47, 48, 49, 95, 97, 193 };

static void png_gives_back_every_pixel(void **state)
{
	struct th_err err = { 0 };
	bool changed;

	(void)state;
	for (size_t w = 0; w < TH_COUNT(widths); w++)
		for (size_t h = 0; h < TH_COUNT(heights); h++)
			for (enum pattern k = 0; k < PATTERNS; k++) {
				struct th_png *p = th_png_new();
				struct th_pixels image = make(widths[w], heights[h], k);
				assert_int_equal(th_png_encode(p, &image, NULL, &changed, &err),
						 TH_OK);
				assert_true(changed);
				check_png(th_png_bytes(p), &image);
				check_zlib(th_png_bytes(p), &image);
				free(image.ptr);
				th_png_free(p);
			}
}

static void png_of_a_whole_screen(void **state)
{
	struct th_err err = { 0 };
	struct th_png *p = th_png_new();
	bool changed;

	(void)state;
	for (enum pattern k = 0; k < PATTERNS; k++) {
		struct th_pixels image = make(1920, 1080, k);
		assert_int_equal(th_png_encode(p, &image, NULL, &changed, &err), TH_OK);
		check_png(th_png_bytes(p), &image);
		check_zlib(th_png_bytes(p), &image);
		free(image.ptr);
	}
	/* One encoder, many sizes. */
	struct th_pixels small = make(3, 2, NOISE);
	assert_int_equal(th_png_encode(p, &small, NULL, &changed, &err), TH_OK);
	check_png(th_png_bytes(p), &small);
	free(small.ptr);
	th_png_free(p);
}

static void png_bands_are_kept_and_renewed(void **state)
{
	enum { WIDTH = 211, HEIGHT = 24 * 9 + 5, ROUNDS = 400 };
	struct th_err err = { 0 };
	struct th_png *p = th_png_new();
	struct th_pixels image = make(WIDTH, HEIGHT, TEXT);
	bool stale[TH_PNG_BAND_ROWS], changed;
	int32_t bands = th_png_bands(HEIGHT);

	(void)state;
	assert_int_equal(bands, 10);
	assert_int_equal(th_png_encode(p, &image, NULL, &changed, &err), TH_OK);
	for (int round = 0; round < ROUNDS; round++) {
		memset(stale, 0, sizeof(stale));
		bool differs = false;
		for (uint32_t n = chance(4); n > 0; n--) {
			int32_t x = (int32_t)chance(WIDTH), y = (int32_t)chance(HEIGHT);
			int32_t w = 1 + (int32_t)chance(20), h = 1 + (int32_t)chance(40);
			uint8_t colour = (uint8_t)chance(256);
			for (int32_t j = y; j < TH_MIN(y + h, HEIGHT); j++)
				for (int32_t i = x; i < TH_MIN(x + w, WIDTH); i++) {
					uint8_t *to = th_pixels_row(&image, j) + i * 4;
					differs |= to[1] != colour;
					to[1] = colour;
					stale[j / TH_PNG_BAND_ROWS] = true;
				}
		}
		/* Sometimes more is said to be stale than is, sometimes all may be. */
		if (chance(3) == 0)
			stale[chance((uint32_t)bands)] = true;
		struct th_digest before = th_sha256_of(th_png_bytes(p).ptr, th_png_bytes(p).len);
		assert_int_equal(th_png_encode(p, &image, chance(4) ? stale : NULL, &changed, &err),
				 TH_OK);
		struct th_digest after = th_sha256_of(th_png_bytes(p).ptr, th_png_bytes(p).len);
		assert_int_equal(changed, differs);
		assert_int_equal(th_digest_eq(&before, &after), !differs);
		check_png(th_png_bytes(p), &image);
		if (round % 16 == 0)
			check_zlib(th_png_bytes(p), &image);
	}
	/* A byte that is no colour is no change. */
	for (int32_t y = 0; y < HEIGHT; y++)
		for (int32_t x = 0; x < WIDTH; x++)
			th_pixels_row(&image, y)[x * 4 + 3] ^= 0x5a;
	assert_int_equal(th_png_encode(p, &image, NULL, &changed, &err), TH_OK);
	assert_false(changed);
	free(image.ptr);
	th_png_free(p);
}

static void png_looks_only_at_stale_bands(void **state)
{
	struct th_err err = { 0 };
	struct th_png *p = th_png_new();
	struct th_pixels image = make(64, 240, FLAT);
	bool stale[10] = { 0 }, changed;

	(void)state;
	assert_int_equal(th_png_encode(p, &image, stale, &changed, &err),
			 TH_OK); /* the first: all */
	check_png(th_png_bytes(p), &image);
	th_pixels_row(&image, 100)[0] ^= 0xff;
	assert_int_equal(th_png_encode(p, &image, stale, &changed, &err), TH_OK);
	assert_false(changed);
	stale[100 / TH_PNG_BAND_ROWS] = true;
	assert_int_equal(th_png_encode(p, &image, stale, &changed, &err), TH_OK);
	assert_true(changed);
	check_png(th_png_bytes(p), &image);
	free(image.ptr);
	th_png_free(p);
}

/* In a picture of a few pixels a slope is a cliff. */
static enum pattern smooth(int32_t width, int32_t height)
{
	return width > 30 && height > 20 ? SLOPE : FLAT;
}

/* The largest difference of any colour, and the mean. */
static int farthest(const struct th_pixels *image, const uint8_t *rgb, double *ret_mean)
{
	int most = 0;
	double sum = 0;
	for (int32_t y = 0; y < image->size.height; y++)
		for (int32_t x = 0; x < image->size.width; x++, rgb += 3) {
			const uint8_t *p = th_pixels_row(image, y) + x * 4;
			for (int c = 0; c < 3; c++) {
				int d = abs(p[c] - rgb[2 - c]);
				most = TH_MAX(most, d);
				sum += d;
			}
		}
	*ret_mean = sum / (3.0 * image->size.width * image->size.height);
	return most;
}

static void jpeg_is_near(void **state)
{
	struct th_err err = { 0 };
	struct th_buf out = TH_BUF_INIT(TH_IMAGE_SIZE_MAX);
	static const int qualities[] = { 0, 1, 80, 90, 100 };

	(void)state;
	for (size_t w = 0; w < TH_COUNT(widths); w++)
		for (size_t h = 0; h < TH_COUNT(heights); h++) {
			struct th_pixels image =
			    make(widths[w], heights[h], smooth(widths[w], heights[h]));
			size_t size = (size_t)image.size.width * 3 * image.size.height;
			uint8_t *rgb = malloc(size);
			int quality = qualities[(w + h) % TH_COUNT(qualities)];
			int width, height, samples;
			double mean;
			assert_int_equal(th_jpeg_encode(&image, quality, &out, &err), TH_OK);
			tjhandle t = tjInitDecompress();
			const unsigned char *in = (const unsigned char *)out.ptr;
			assert_int_equal(tjDecompressHeader2(t, (unsigned char *)(uintptr_t)in,
							     out.len, &width, &height, &samples),
					 0);
			assert_int_equal(width, image.size.width);
			assert_int_equal(height, image.size.height);
			assert_int_equal(samples, quality >= 90 ? TJSAMP_444 : TJSAMP_420);
			assert_int_equal(
			    tjDecompress2(t, in, out.len, rgb, width, 0, height, TJPF_RGB, 0), 0);
			farthest(&image, rgb, &mean);
			assert_true(mean < (quality == 1 ? 40.0 : quality < 90 ? 8.0 : 3.0));
			tjDestroy(t);
			free(rgb);
			free(image.ptr);
		}
	th_buf_deinit(&out);
}

static void webp_is_near_and_100_is_exact(void **state)
{
	struct th_err err = { 0 };
	struct th_buf out = TH_BUF_INIT(TH_IMAGE_SIZE_MAX);

	(void)state;
	for (size_t w = 0; w < TH_COUNT(widths); w++)
		for (size_t h = 0; h < TH_COUNT(heights); h++) {
			bool exact = (w + h) % 2;
			struct th_pixels image = make(
			    widths[w], heights[h], exact ? NOISE : smooth(widths[w], heights[h]));
			int width, height;
			double mean;
			assert_int_equal(th_webp_encode(&image, exact ? 100 : 0, &out, &err),
					 TH_OK);
			uint8_t *rgb =
			    WebPDecodeRGB((const uint8_t *)out.ptr, out.len, &width, &height);
			assert_non_null(rgb);
			assert_int_equal(width, image.size.width);
			assert_int_equal(height, image.size.height);
			if (exact)
				same_pixels(&image, rgb);
			farthest(&image, rgb, &mean);
			assert_true(mean < 8.0);
			WebPFree(rgb);
			free(image.ptr);
		}
	th_buf_deinit(&out);
}

static void sizes_have_limits(void **state)
{
	static uint8_t pixel[4];
	struct th_err err = { 0 };
	struct th_buf out = TH_BUF_INIT(TH_IMAGE_SIZE_MAX), tiny = TH_BUF_INIT(20);
	struct th_png *p = th_png_new();
	bool changed;
	static const struct th_size bad[] = { { 0, 5 },
					      { 5, 0 },
					      { -1, 5 },
					      { TH_SCREEN_SIDE_MAX + 1, 1 },
					      { 1, TH_SCREEN_SIDE_MAX + 1 },
					      { TH_SCREEN_SIDE_MAX,
						TH_SCREEN_PIXELS_MAX / TH_SCREEN_SIDE_MAX + 1 } };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		struct th_pixels image = { pixel, 4, bad[i] };
		enum th_code want = bad[i].width <= 0 || bad[i].height <= 0 ? TH_EUSAGE : TH_ELIMIT;
		assert_int_equal(th_png_encode(p, &image, NULL, &changed, &err), want);
		assert_int_equal(th_jpeg_encode(&image, 80, &out, &err), want);
		assert_int_equal(th_webp_encode(&image, 80, &out, &err), want);
	}
	assert_int_equal(
	    th_image_check(
		(struct th_size){ TH_SCREEN_SIDE_MAX, TH_SCREEN_PIXELS_MAX / TH_SCREEN_SIDE_MAX },
		&err),
	    TH_OK);
	/* At the edge of a side. */
	struct th_pixels line = make(TH_SCREEN_SIDE_MAX, 1, NOISE),
			 column = make(1, TH_SCREEN_SIDE_MAX, NOISE);
	assert_int_equal(th_png_encode(p, &line, NULL, &changed, &err), TH_OK);
	check_png(th_png_bytes(p), &line);
	assert_int_equal(th_png_encode(p, &column, NULL, &changed, &err), TH_OK);
	check_png(th_png_bytes(p), &column);
	assert_int_equal(th_jpeg_encode(&line, 80, &out, &err), TH_OK);
	assert_int_equal(th_webp_encode(&line, 80, &out, &err), TH_ELIMIT);
	/* An output that has no room. */
	line.size.width = 64;
	assert_int_equal(th_jpeg_encode(&line, 80, &tiny, &err), TH_ELIMIT);
	assert_int_equal(th_webp_encode(&line, 80, &tiny, &err), TH_ELIMIT);
	free(line.ptr);
	free(column.ptr);
	th_png_free(p);
	th_png_free(NULL);
	th_buf_deinit(&out);
	th_buf_deinit(&tiny);
}

static void fit_keeps_the_shape(void **state)
{
	static const struct {
		struct th_size size, fit, want;
	} rows[] = {
		{ { 1920, 1080 }, { 0, 0 }, { 1920, 1080 } },
		{ { 1920, 1080 }, { 1280, 800 }, { 1280, 720 } },
		{ { 1920, 1080 }, { 3000, 3000 }, { 1920, 1080 } },
		{ { 1080, 1920 }, { 1280, 800 }, { 450, 800 } },
		{ { 1920, 1080 }, { 1000, 0 }, { 1000, 563 } },
		{ { 1920, 1080 }, { 0, 540 }, { 960, 540 } },
		{ { 16384, 1 }, { 100, 100 }, { 100, 1 } },
		{ { 1, 1 }, { 1, 1 }, { 1, 1 } },
		{ { 7, 5 }, { 1, 1 }, { 1, 1 } },
		{ { 1000, 1000 }, { 999, 1000 }, { 999, 999 } },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_size got = th_size_fit(rows[i].size, rows[i].fit);
		assert_int_equal(got.width, rows[i].want.width);
		assert_int_equal(got.height, rows[i].want.height);
	}
	for (int i = 0; i < 20000; i++) {
		struct th_size s = { 1 + (int32_t)chance(5000), 1 + (int32_t)chance(5000) };
		struct th_size f = { (int32_t)chance(3000), (int32_t)chance(3000) };
		struct th_size got = th_size_fit(s, f);
		assert_true(got.width >= 1 && got.height >= 1);
		assert_true(got.width <= s.width && got.height <= s.height);
		assert_true((f.width == 0 || got.width <= f.width) &&
			    (f.height == 0 || got.height <= f.height));
	}
}

/* The definition, in doubles. */
static double covered(const struct th_pixels *from, struct th_size to, int32_t x, int32_t y, int c)
{
	double left = (double)x * from->size.width / to.width,
	       right = (double)(x + 1) * from->size.width / to.width;
	double top = (double)y * from->size.height / to.height;
	double bottom = (double)(y + 1) * from->size.height / to.height;
	double sum = 0;

	for (int32_t j = (int32_t)top; j < from->size.height && j < bottom; j++)
		for (int32_t i = (int32_t)left; i < from->size.width && i < right; i++) {
			double w = TH_MIN(right, i + 1.0) - TH_MAX(left, (double)i);
			double h = TH_MIN(bottom, j + 1.0) - TH_MAX(top, (double)j);
			if (w > 0 && h > 0)
				sum += w * h * th_pixels_row(from, j)[i * 4 + c];
		}
	return sum / ((right - left) * (bottom - top));
}

static void scaling_is_the_area_average(void **state)
{
	(void)state;
	for (int round = 0; round < 60; round++) {
		struct th_pixels from =
		    make(1 + (int32_t)chance(150), 1 + (int32_t)chance(150), NOISE);
		struct th_size size = { 1 + (int32_t)chance((uint32_t)from.size.width),
					1 + (int32_t)chance((uint32_t)from.size.height) };
		struct th_pixels to = make(size.width, size.height, NOISE);
		th_image_scale(&from, &to);
		for (int32_t y = 0; y < size.height; y++)
			for (int32_t x = 0; x < size.width; x++)
				for (int c = 0; c < 3; c++) {
					double want = covered(&from, size, x, y, c);
					double got = th_pixels_row(&to, y)[x * 4 + c];
					assert_true(got - want < 0.51 && want - got < 0.51);
				}
		free(from.ptr);
		free(to.ptr);
	}
	/* One colour stays that colour, and equal sizes stay as they are. */
	struct th_pixels flat = make(1920, 1080, FLAT), half = make(1280, 720, NOISE);
	struct th_pixels noise = make(50, 40, NOISE), copy = make(50, 40, FLAT);
	th_image_scale(&flat, &half);
	for (int32_t y = 0; y < 720; y++)
		for (int32_t x = 0; x < 1280; x++)
			assert_memory_equal(th_pixels_row(&half, y) + x * 4, flat.ptr, 3);
	th_image_scale(&noise, &copy);
	for (int32_t y = 0; y < 40; y++)
		assert_memory_equal(th_pixels_row(&copy, y), th_pixels_row(&noise, y), 200);
	free(flat.ptr);
	free(half.ptr);
	free(noise.ptr);
	free(copy.ptr);
}

static void a_cut_is_a_view(void **state)
{
	struct th_pixels image = make(40, 30, NOISE);

	(void)state;
	struct th_pixels part = th_pixels_cut(&image, (struct th_rect){ 5, 7, 35, 23 });
	assert_ptr_equal(part.ptr, th_pixels_row(&image, 7) + 20);
	assert_int_equal(part.size.width, 35);
	assert_ptr_equal(th_pixels_row(&part, 22), th_pixels_row(&image, 29) + 20);
	free(image.ptr);
}

static void a_cursor_is_drawn_and_clipped(void **state)
{
	static const uint32_t argb[4] = { 0xff102030, 0x00000000, 0x80402010, 0xffffffff };
	uint8_t back[4 * 4 * 4];
	struct th_pixels image = { back, 16, { 4, 4 } };

	(void)state;
	memset(back, 200, sizeof(back));
	th_image_blend(&image, (struct th_point){ 1, 1 }, argb, (struct th_size){ 2, 2 });
	assert_memory_equal(th_pixels_row(&image, 1) + 4, ((uint8_t[]){ 0x30, 0x20, 0x10 }), 3);
	assert_memory_equal(th_pixels_row(&image, 1) + 8, ((uint8_t[]){ 200, 200, 200 }), 3);
	/* 128/255 covered: the colour as it is (premultiplied) plus 127/255 of what was there. */
	assert_int_equal(th_pixels_row(&image, 2)[4], 0x10 + (200 * 127 + 127) / 255);
	assert_int_equal(th_pixels_row(&image, 2)[6], 0x40 + (200 * 127 + 127) / 255);
	assert_memory_equal(th_pixels_row(&image, 2) + 8, ((uint8_t[]){ 255, 255, 255 }), 3);
	memset(back, 200, sizeof(back));
	th_image_blend(&image, (struct th_point){ -1, -1 }, argb, (struct th_size){ 2, 2 });
	assert_memory_equal(back, ((uint8_t[]){ 255, 255, 255, 200, 200 }), 5);
	memset(back, 200, sizeof(back));
	static const struct th_point outside[] = {
		{ 4, 0 }, { 0, 4 }, { -2, 0 }, { 0, -2 }, { 99, 99 }
	};
	for (size_t i = 0; i < TH_COUNT(outside); i++)
		th_image_blend(&image, outside[i], argb, (struct th_size){ 2, 2 });
	for (size_t i = 0; i < sizeof(back); i++)
		assert_int_equal(back[i], 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(png_gives_back_every_pixel),
		cmocka_unit_test(png_of_a_whole_screen),
		cmocka_unit_test(png_bands_are_kept_and_renewed),
		cmocka_unit_test(png_looks_only_at_stale_bands),
		cmocka_unit_test(jpeg_is_near),
		cmocka_unit_test(webp_is_near_and_100_is_exact),
		cmocka_unit_test(sizes_have_limits),
		cmocka_unit_test(fit_keeps_the_shape),
		cmocka_unit_test(scaling_is_the_area_average),
		cmocka_unit_test(a_cut_is_a_view),
		cmocka_unit_test(a_cursor_is_drawn_and_clipped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
