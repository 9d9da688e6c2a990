/* SPDX-License-Identifier: Apache-2.0 */
/*
 * see.c - pictures of an X display.
 *
 * The server is asked, in one round trip, which area was drawn on since the
 * last time and where the pointer is (damage.c).  Only rows that were drawn
 * on are copied (pixels.c), only rows that differ are encoded.  A picture that
 * nothing has happened to costs that round trip and no more.
 *
 * Two views keep their encoders: the whole screen as PNG, and the last other
 * way it was asked for (a region, scaled, another format).
 */
#include "x11/see.h"

#include <stdlib.h>
#include <xcb/randr.h>

/* ---- views ---- */

static bool rect_same(struct th_rect a, struct th_rect b)
{
	return a.x == b.x && a.y == b.y && a.width == b.width && a.height == b.height;
}

static bool options_same(const struct th_see_options *a, const struct th_see_options *b)
{
	return a->format == b->format && a->quality == b->quality && a->cursor == b->cursor &&
	       rect_same(a->region, b->region) && a->fit.width == b->fit.width &&
	       a->fit.height == b->fit.height;
}

/* Fills in what was left out, so that equal wishes look equal: region is the part, fit its size. */
static enum th_code settle_options(struct th_size screen, struct th_see_options *o,
				   struct th_err *err)
{
	if (o->format >= TH_IMAGE_FORMAT_COUNT)
		return th_fail(err, TH_EUSAGE, "no such picture format");
	if (o->quality < 0 || o->quality > 100)
		return th_fail(err, TH_EUSAGE, "quality %d: must be 1 to 100", o->quality);
	if (o->fit.width < 0 || o->fit.height < 0)
		return th_fail(err, TH_EUSAGE, "a picture cannot be scaled to %dx%d", o->fit.width,
			       o->fit.height);
	if (o->format == TH_IMAGE_PNG)
		o->quality = 0;
	else if (o->quality == 0)
		o->quality = 80;
	struct th_rect all = { 0, 0, screen.width, screen.height };
	if (!o->has_region)
		o->region = all;
	struct th_rect r = o->region, inside = th_rect_clip(r, screen);
	if (r.width <= 0 || r.height <= 0 || !rect_same(r, inside))
		return th_fail(err, TH_EUSAGE,
			       "the region (%d, %d) %dx%d is not inside the screen of %dx%d", r.x,
			       r.y, r.width, r.height, screen.width, screen.height);
	o->has_region = !rect_same(r, all);
	o->fit = th_size_fit((struct th_size){ r.width, r.height }, o->fit);
	return TH_OK;
}

static bool is_whole(const struct th_see_options *o, struct th_size screen)
{
	return o->format == TH_IMAGE_PNG && !o->has_region && o->fit.width == screen.width &&
	       o->fit.height == screen.height;
}

static struct th_x11_view *choose_view(struct th_x11_see *s, const struct th_see_options *o)
{
	struct th_x11_view *v = &s->views[is_whole(o, s->size) ? 0 : 1];

	if (!options_same(&v->options, o)) {
		/* The whole screen with or without pointer is the same but for the pointer's rows.
		 */
		v->valid = v->valid && v == &s->views[0];
		v->options = *o;
	}
	return v;
}

/* Rows where the pointer was drawn, or is to be, become stale when that differs from the last
 * picture. */
static void compare_cursor(const struct th_x11_see *s, struct th_x11_view *v)
{
	struct th_rect area = th_rect_clip(s->cursor_area, s->size);
	bool draw = v->options.cursor && s->cursor_known && area.width > 0 && area.height > 0;

	if (draw == v->cursor_drawn && (!draw || (v->cursor_serial == s->cursor_serial &&
						  rect_same(v->cursor_area, s->cursor_area))))
		return;
	if (v->cursor_drawn)
		th_x11_mark_rows(v->stale, th_rect_clip(v->cursor_area, s->size));
	if (draw)
		th_x11_mark_rows(v->stale, area);
	v->cursor_drawn = draw;
	v->cursor_area = s->cursor_area;
	v->cursor_serial = s->cursor_serial;
}

static enum th_code encode_part(const struct th_x11_see *s, struct th_x11_view *v,
				bool *ret_changed, struct th_err *err)
{
	const struct th_see_options *o = &v->options;
	struct th_pixels screen = { s->pixels, (size_t)s->size.width * 4, s->size };
	struct th_pixels part = th_pixels_cut(&screen, o->region);

	if (o->fit.width != part.size.width || o->fit.height != part.size.height) {
		size_t need = (size_t)o->fit.width * 4 * o->fit.height;
		if (need > v->scaled_size)
			v->scaled = th_realloc(v->scaled, need);
		v->scaled_size = TH_MAX(v->scaled_size, need);
		struct th_pixels small = { v->scaled, (size_t)o->fit.width * 4, o->fit };
		th_image_scale(&part, &small);
		part = small;
	}
	*ret_changed = true;
	switch (o->format) {
	case TH_IMAGE_PNG:
		if (!v->png)
			v->png = th_png_new();
		return th_png_encode(v->png, &part, v == &s->views[0] && v->valid ? v->stale : NULL,
				     ret_changed, err);
	case TH_IMAGE_JPEG:
		return th_jpeg_encode(&part, o->quality, &v->out, err);
	case TH_IMAGE_WEBP:
		return th_webp_encode(&part, o->quality, &v->out, err);
	case TH_IMAGE_FORMAT_COUNT:
		break;
	}
	return th_fail(err, TH_EUSAGE, "no such picture format");
}

/* The pointer is painted over the captured pixels, and these are put back afterwards. */
static enum th_code encode(const struct th_x11_see *s, struct th_x11_view *v, bool *ret_changed,
			   struct th_err *err)
{
	if (!v->cursor_drawn)
		return encode_part(s, v, ret_changed, err);

	struct th_pixels screen = { s->pixels, (size_t)s->size.width * 4, s->size };
	struct th_rect area = th_rect_clip(v->cursor_area, s->size);
	struct th_pixels under = th_pixels_cut(&screen, area);
	size_t line = (size_t)area.width * 4;
	uint8_t *kept = th_realloc(NULL, line * (size_t)area.height);
	for (int32_t y = 0; y < area.height; y++)
		memcpy(kept + (size_t)y * line, th_pixels_row(&under, y), line);
	th_image_blend(&screen, (struct th_point){ v->cursor_area.x, v->cursor_area.y }, s->cursor,
		       (struct th_size){ v->cursor_area.width, v->cursor_area.height });
	enum th_code code = encode_part(s, v, ret_changed, err);
	for (int32_t y = 0; y < area.height; y++)
		memcpy(th_pixels_row(&under, y), kept + (size_t)y * line, line);
	free(kept);
	return code;
}

static enum th_code renew(struct th_x11 *x, struct th_x11_view *v, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	bool changed, was_valid = v->valid;
	enum th_code code = th_x11_capture(x, v->options.region, err);
	if (code)
		return code;

	if ((code = encode(s, v, &changed, err))) {
		v->valid = false;
		return code;
	}
	memset(v->stale, 0, (size_t)s->bands * sizeof(bool));
	v->valid = true;
	if (!changed && was_valid)
		return TH_OK;
	bool png = v->options.format == TH_IMAGE_PNG;
	struct th_frame_image image = {
		.size = v->options.fit,
		.format = v->options.format,
		.bytes = png ? th_png_bytes(v->png) : th_buf_str(&v->out),
	};
	image.digest = th_sha256_of(image.bytes.ptr, image.bytes.len);
	if (!was_valid || !th_digest_eq(&image.digest, &v->image.digest))
		v->version++;
	v->image = image;
	return TH_OK;
}

enum th_code th_x11_see(struct th_computer *c, const struct th_see_options *options,
			struct th_frame_image *ret, struct th_err *err)
{
	struct th_x11 *x = th_x11_of(c);
	struct th_x11_see *s = x->see;
	struct th_see_options o = *options;
	bool any;
	enum th_code code = th_x11_collect(x, o.cursor, &any, err);
	if (code)
		return code;
	if ((x->size.width != s->size.width || x->size.height != s->size.height) &&
	    (code = th_x11_make_pixels(x, err)))
		return code;
	if ((code = settle_options(s->size, &o, err)))
		return code;

	struct th_x11_view *v = choose_view(s, &o);
	compare_cursor(s, v);
	if ((!v->valid || th_x11_any_stale(v->stale, o.region)) && (code = renew(x, v, err)))
		return code;
	bool same = s->last == v && s->last_version == v->version;
	if (!same)
		s->frame_id++;
	s->last = v;
	s->last_version = v->version;
	th_x11_forget_changes(s);
	*ret = v->image;
	ret->frame_id = s->frame_id;
	ret->unchanged = same;
	return TH_OK;
}

/* ---- a live view ---- */

enum th_code th_x11_drawn(struct th_computer *c, bool *ret, struct th_err *err)
{
	struct th_x11 *x = th_x11_of(c);
	const struct th_x11_see *s = x->see;
	enum th_code code = th_x11_pump(x, err);

	*ret = !code && (!s->live || s->live_drawn || s->damage_event || s->damage_lost ||
			 !th_size_eq(x->size, s->size));
	return code ? code : th_x11_flush(x, err);
}

enum th_code th_x11_live(struct th_computer *c, struct th_live_look *ret, struct th_err *err)
{
	struct th_x11 *x = th_x11_of(c);
	struct th_x11_see *s = x->see;
	bool any;
	enum th_code code = th_x11_collect(x, true, &any, err);
	if (!code && !th_size_eq(x->size, s->size))
		code = th_x11_make_pixels(x, err);
	if (code)
		return code;

	struct th_rect all = { 0, 0, s->size.width, s->size.height };
	if (!s->live) {
		size_t count = (size_t)th_live_columns(s->size) * th_live_rows(s->size);
		s->live = th_alloc(count * sizeof(bool));
		th_x11_mark_tiles(s, all);
	}
	code = th_x11_capture(x, all, err);
	if (code)
		return code;
	s->live_drawn = false;
	*ret = (struct th_live_look){ .size = s->size,
				      .pixels = s->pixels,
				      .stride = (size_t)s->size.width * 4,
				      .drawn = s->live,
				      .has_at = true,
				      .at = x->pointer };
	return TH_OK;
}

/* ---- settling ---- */

#define COALESCE_US 1000 /* a client that draws without pause is asked about at most this often */

enum th_code th_x11_settle(struct th_computer *c, const struct th_settle_options *options,
			   struct th_settle_result *ret, struct th_err *err)
{
	struct th_x11 *x = th_x11_of(c);
	struct th_x11_see *s = x->see;
	int64_t quiet =
	    (options->quiet_ms > 0 ? options->quiet_ms : TH_SETTLE_QUIET_MS) * INT64_C(1000);
	int64_t first =
	    (options->first_ms > 0 ? options->first_ms : TH_SETTLE_FIRST_MS) * INT64_C(1000);
	int64_t max = (options->max_ms > 0 ? options->max_ms : TH_SETTLE_MAX_MS) * INT64_C(1000);
	int64_t start = th_x11_now_us(), drawn = start, now = start;
	enum th_code code = TH_OK;
	bool any = true, settled = false;

	*ret = (struct th_settle_result){ 0 };
	for (s->damage_event = true;;) {
		if (s->damage_event && (code = th_x11_collect(x, false, &any, err)))
			return code;
		now = th_x11_now_us();
		/* A live view may have collected meanwhile. */
		if (any || s->drawn_us > drawn)
			drawn = any ? now : s->drawn_us;
		any = false;
		int64_t quiet_end = s->changed ? drawn + quiet : start + first;
		settled = now >= quiet_end;
		if (settled || now >= start + max)
			break;
		if (drawn == now && s->changed &&
		    (code = th_x11_sleep(x, TH_MIN(now + COALESCE_US, start + max), false, err)))
			return code;
		if ((code = th_x11_pump(x, err)))
			return code;
		if (!s->damage_event &&
		    (code = th_x11_sleep(x, TH_MIN(quiet_end, start + max), true, err)))
			return code;
		if ((code = th_x11_pump(x, err)))
			return code;
	}
	ret->changed = s->changed;
	ret->settled = settled;
	ret->area = s->area;
	ret->waited_ms = (int32_t)((now - start) / 1000);
	return TH_OK;
}

/* ---- life ---- */

/* True when pixels of the root window are four bytes, blue first. */
static bool is_bgrx(const struct th_x11 *x)
{
	if (x->setup->image_byte_order != XCB_IMAGE_ORDER_LSB_FIRST)
		return false;
	xcb_format_iterator_t f = xcb_setup_pixmap_formats_iterator(x->setup);
	for (; f.rem; xcb_format_next(&f))
		if (f.data->depth == x->screen->root_depth && f.data->bits_per_pixel != 32)
			return false;
	xcb_depth_iterator_t d = xcb_screen_allowed_depths_iterator(x->screen);
	for (; d.rem; xcb_depth_next(&d)) {
		xcb_visualtype_iterator_t v = xcb_depth_visuals_iterator(d.data);
		for (; v.rem; xcb_visualtype_next(&v))
			if (v.data->visual_id == x->screen->root_visual)
				return v.data->red_mask == 0xff0000 &&
				       v.data->green_mask == 0xff00 && v.data->blue_mask == 0xff;
	}
	return false;
}

enum th_code th_x11_see_init(struct th_x11 *x, struct th_err *err)
{
	if (!is_bgrx(x))
		return th_fail(
		    err, TH_EUNSUPPORTED,
		    "the display %.*s has %d bits of colour; thole sees screens of 24 bits",
		    TH_FMT(x->name), x->screen->root_depth);

	struct th_x11_see *s = th_alloc(sizeof(*s));
	x->see = s;
	for (size_t i = 0; i < TH_COUNT(s->views); i++)
		th_buf_init(&s->views[i].out, TH_IMAGE_SIZE_MAX);
	s->damage = xcb_generate_id(x->conn);
	s->region = xcb_generate_id(x->conn);
	xcb_damage_create(x->conn, s->damage, x->root, XCB_DAMAGE_REPORT_LEVEL_NON_EMPTY);
	xcb_xfixes_create_region(x->conn, s->region, 0, NULL);
	if (x->randr.present)
		xcb_randr_select_input(x->conn, x->root, XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE);
	enum th_code code = th_x11_make_pixels(x, err);
	if (!code)
		code = th_x11_see_mark(x, err);
	return code;
}

void th_x11_see_deinit(struct th_x11 *x)
{
	struct th_x11_see *s = x->see;

	if (!s)
		return;
	th_x11_drop_pixels(x);
	for (size_t i = 0; i < TH_COUNT(s->views); i++) {
		th_png_free(s->views[i].png);
		th_buf_deinit(&s->views[i].out);
		free(s->views[i].scaled);
	}
	free(s->cursor);
	free(s);
	x->see = NULL;
}

/* ---- windows ---- */

static bool is_viewable(struct th_x11 *x, xcb_window_t window)
{
	void *reply = NULL;
	bool viewable =
	    th_x11_reply(x, xcb_get_window_attributes(x->conn, window).sequence, &reply, NULL) ==
		TH_OK &&
	    ((xcb_get_window_attributes_reply_t *)reply)->map_state == XCB_MAP_STATE_VIEWABLE;

	free(reply);
	return viewable;
}

enum th_code th_x11_windows(struct th_computer *c, size_t *ret, struct th_err *err)
{
	static const char name[] = "_NET_CLIENT_LIST";
	struct th_x11 *x = th_x11_of(c);
	void *reply = NULL;
	xcb_atom_t atom;
	enum th_code code = th_x11_reply(
	    x, xcb_intern_atom(x->conn, 0, sizeof(name) - 1, name).sequence, &reply, err);

	*ret = 0;
	if (code)
		return code;
	atom = ((const xcb_intern_atom_reply_t *)reply)->atom;
	free(reply);
	reply = NULL;
	code = th_x11_reply(
	    x,
	    xcb_get_property(x->conn, 0, x->root, atom, XCB_ATOM_WINDOW, 0, TH_X11_WINDOWS_MAX)
		.sequence,
	    &reply, err);
	if (code)
		return code;
	const xcb_get_property_reply_t *list = reply;
	size_t count = list->format == 32
			   ? (size_t)xcb_get_property_value_length(list) / sizeof(xcb_window_t)
			   : 0;
	for (size_t i = 0; i < count; i++)
		*ret += is_viewable(x, ((const xcb_window_t *)xcb_get_property_value(list))[i]);
	free(reply);
	return TH_OK;
}
