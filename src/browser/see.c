/* SPDX-License-Identifier: Apache-2.0 */
/*
 * see.c - what a browser shows: see browser.h.
 *
 * A picture is asked for as PNG and unpacked; regions, sizes and formats are
 * made of its pixels, as for every other computer.  That something was drawn is
 * told by the frames of a screencast, which is as small as can be and sends none
 * while nothing changes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/limits.h"
#include "browser/browser.h"

void th_browser_mark(struct th_browser *b)
{
	b->marked_drawn = b->drawn;
}

/* ---- the picture ---- */

static enum th_code take(struct th_browser *b, struct th_err *err)
{
	struct th_pixels pixels;
	const struct th_json *result;
	struct th_browser_tab *tab;
	uint64_t drawn = b->drawn;
	enum th_code code = th_browser_tab(b, &tab, err);

	if (code)
		return code;
	struct th_jw *w = th_browser_begin(b, tab->session, "Page.captureScreenshot");
	th_jw_kstr(w, "format", TH_STR("png"));
	th_jw_kbool(w, "optimizeForSpeed", true);
	code = th_browser_call(b, &result, err);
	if (code || !result)
		return code ?: th_browser_tab(b, &tab, err);
	/* Taking it makes the page draw a frame; that event comes before the answer. */
	b->seen_drawn = b->drawn;
	if (b->drawn == drawn + 1 && b->marked_drawn == drawn)
		b->marked_drawn = b->drawn;
	th_buf_clear(&b->shot);
	if (!th_base64_decode(&b->shot, th_json_get_str(result, "data")))
		return th_fail(err, TH_EIO, "the browser gave a picture that cannot be read");
	th_browser_menu_look(b, tab);
	struct th_digest digest = th_sha256_of(b->shot.ptr, b->shot.len);
	if (b->pixels.ptr && th_digest_eq(&digest, &b->shot_digest))
		return TH_OK;
	code = th_png_read(th_buf_str(&b->shot), &pixels, err);
	if (code)
		return code;
	if (!th_size_eq(pixels.size, b->size)) {
		free(pixels.ptr);
		return th_fail(err, TH_EIO, "the browser gave a picture of another size");
	}
	free(b->pixels.ptr);
	b->pixels = pixels;
	b->shot_digest = digest;
	b->frame_id++;
	return TH_OK;
}

/* A page with a dialog draws nothing: it is as it was, and the notice tells of the dialog. */
static enum th_code look(struct th_browser *b, struct th_err *err)
{
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	return tab && tab->dialog.open && b->pixels.ptr ? TH_OK : take(b, err);
}

static struct th_pixels room(struct th_pixels *memory, struct th_size size)
{
	if (!th_size_eq(memory->size, size)) {
		free(memory->ptr);
		*memory =
		    (struct th_pixels){ th_alloc((size_t)size.width * 4 * (size_t)size.height),
					(size_t)size.width * 4, size };
	}
	return *memory;
}

/* An arrow as pointers are: . edge, # inside. */
static void draw_pointer(const struct th_pixels *to, struct th_point at)
{
	static const char *const arrow[] = {
		".           ", "..          ", ".#.         ", ".##.        ", ".###.       ",
		".####.      ", ".#####.     ", ".######.    ", ".#######.   ", ".########.  ",
		".#########. ", ".######.....", ".###.##.    ", ".##..##.    ", ".#.  .##.   ",
		"..   .##.   ", "      .##.  ", "      .##.  ", "       ..   ",
	};
	uint32_t argb[TH_COUNT(arrow) * 12] = { 0 };

	for (size_t i = 0; i < TH_COUNT(argb); i++) {
		char c = arrow[i / 12][i % 12];
		argb[i] = c == '.' ? 0xffffffff : c == '#' ? 0xff000000 : 0;
	}
	th_image_blend(to, at, argb, (struct th_size){ 12, (int32_t)TH_COUNT(arrow) });
}

static enum th_code encode(struct th_browser *b, const struct th_pixels *from,
			   const struct th_see_options *o, struct th_str *ret, struct th_err *err)
{
	enum th_code code = TH_OK;
	bool changed;

	switch (o->format) {
	case TH_IMAGE_PNG:
		b->png = b->png ?: th_png_new();
		code = th_png_encode(b->png, from, NULL, &changed, err);
		*ret = code ? TH_STR("") : th_png_bytes(b->png);
		return code;
	case TH_IMAGE_JPEG:
		code = th_jpeg_encode(from, o->quality, &b->encoded, err);
		break;
	case TH_IMAGE_WEBP:
		code = th_webp_encode(from, o->quality, &b->encoded, err);
		break;
	case TH_IMAGE_FORMAT_COUNT:
		return th_fail(err, TH_EUSAGE, "there is no such format");
	}
	*ret = th_buf_str(&b->encoded);
	return code;
}

enum th_code th_browser_see(struct th_computer *c, const struct th_see_options *options,
			    struct th_frame_image *ret, struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	uint64_t before = b->frame_id;
	struct th_pixels from;
	enum th_code code = look(b, err);

	if (code)
		return code;
	from = b->pixels;
	if (options->has_region) {
		struct th_rect r = th_rect_clip(options->region, b->size);
		if (r.width < 1 || r.height < 1)
			return th_fail(err, TH_EUSAGE, "the region is outside of the page");
		from = th_pixels_cut(&from, r);
	} else if (options->cursor) {
		struct th_pixels to = room(&b->pointed, b->size);
		memcpy(to.ptr, from.ptr, to.stride * (size_t)to.size.height);
		draw_pointer(&to, b->at);
		from = to;
	}
	struct th_size fit = th_size_fit(from.size, options->fit);
	if (!th_size_eq(fit, from.size)) {
		struct th_pixels to = room(&b->scaled, fit);
		th_image_scale(&from, &to);
		from = to;
	}
	*ret = (struct th_frame_image){ .frame_id = b->frame_id,
					.size = from.size,
					.format = options->format,
					.unchanged = b->frame_id == before };
	code = encode(b, &from, options, &ret->bytes, err);
	if (!code)
		ret->digest = th_sha256_of(ret->bytes.ptr, ret->bytes.len);
	return code;
}

void th_browser_pixels(struct th_computer *c, struct th_pixels *ret)
{
	*ret = th_browser_of(c)->pixels;
}

/* ---- quiet ---- */

enum th_code th_browser_settle(struct th_computer *c, const struct th_settle_options *options,
			       struct th_settle_result *ret, struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	int64_t quiet =
	    (options->quiet_ms > 0 ? options->quiet_ms : TH_BROWSER_QUIET_MS) * INT64_C(1000);
	int64_t first =
	    (options->first_ms > 0 ? options->first_ms : TH_SETTLE_FIRST_MS) * INT64_C(1000);
	int64_t max = (options->max_ms > 0 ? options->max_ms : TH_SETTLE_MAX_MS) * INT64_C(1000);
	int64_t start = th_browser_now_us(), last = start, now = start;
	uint64_t drawn = b->drawn;
	enum th_code code = TH_OK;

	*ret = (struct th_settle_result){ .area = { 0, 0, b->size.width, b->size.height } };
	for (;;) {
		const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);
		/* While a page is loading, we wait longer: the old one is still visible. */
		bool loading = tab && tab->loading && !tab->dialog.open && !tab->crashed;
		int64_t end =
		    start +
		    (loading ? TH_MAX(max, TH_BROWSER_SETTLE_LOAD_MS * INT64_C(1000)) : max);

		now = th_browser_now_us();
		if (b->drawn != drawn)
			last = now;
		drawn = b->drawn;
		ret->changed = b->drawn != b->marked_drawn;
		int64_t calm = ret->changed ? TH_MAX(last, start) + quiet : start + first;
		ret->settled = !loading && now >= calm;
		if (ret->settled || now >= end)
			break;
		code = th_browser_idle(b, loading ? end : TH_MIN(calm, end), err);
		if (code && code != TH_ETIMEOUT)
			return code;
	}
	ret->waited_ms = (int32_t)((now - start) / 1000);
	return TH_OK;
}

/* ---- a live view ---- */

enum th_code th_browser_drawn(struct th_computer *c, bool *ret, struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	enum th_code code = th_browser_pump(b, 0, err);

	*ret = !b->live_tiles || b->drawn != b->seen_drawn;
	return code == TH_ETIMEOUT || code == TH_ECANCELED ? TH_OK : code;
}

enum th_code th_browser_live(struct th_computer *c, struct th_live_look *ret, struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	size_t count = (size_t)th_live_columns(b->size) * th_live_rows(b->size);
	uint64_t before = b->frame_id;
	enum th_code code = look(b, err);

	if (code)
		return code;
	bool all = !b->live_tiles;
	if (all)
		b->live_tiles = th_alloc(count * sizeof(bool));
	for (size_t i = 0; i < count && (all || b->frame_id != before); i++)
		b->live_tiles[i] = true;
	*ret = (struct th_live_look){ .size = b->size,
				      .pixels = b->pixels.ptr,
				      .stride = b->pixels.stride,
				      .drawn = b->live_tiles,
				      .has_at = true,
				      .at = b->at };
	return TH_OK;
}

void th_browser_see_deinit(struct th_browser *b)
{
	free(b->pixels.ptr);
	free(b->scaled.ptr);
	free(b->pointed.ptr);
	free(b->live_tiles);
	b->png = th_png_free(b->png);
	th_buf_deinit(&b->shot);
	th_buf_deinit(&b->encoded);
}
