/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage.c - what was drawn on of an X display, and where its pointer is (DAMAGE, XFIXES).
 */
#include "x11/see.h"

#include <stdlib.h>
#include <xcb/randr.h>

static struct th_rect join(struct th_rect a, struct th_rect b)
{
	if (a.width == 0 || a.height == 0)
		return b;
	int32_t right = TH_MAX(a.x + a.width, b.x + b.width);
	int32_t bottom = TH_MAX(a.y + a.height, b.y + b.height);
	struct th_rect r = { .x = TH_MIN(a.x, b.x), .y = TH_MIN(a.y, b.y) };
	r.width = right - r.x;
	r.height = bottom - r.y;
	return r;
}

void th_x11_mark_rows(bool *stale, struct th_rect r)
{
	if (!stale || r.height <= 0)
		return;
	int32_t last = (r.y + r.height - 1) / TH_PNG_BAND_ROWS;
	for (int32_t b = r.y / TH_PNG_BAND_ROWS; b <= last; b++)
		stale[b] = true;
}

bool th_x11_any_stale(const bool *stale, struct th_rect r)
{
	int32_t last = (r.y + r.height - 1) / TH_PNG_BAND_ROWS;
	for (int32_t b = r.y / TH_PNG_BAND_ROWS; b <= last; b++)
		if (stale[b])
			return true;
	return false;
}

void th_x11_mark_tiles(struct th_x11_see *s, struct th_rect r)
{
	int32_t columns = th_live_columns(s->size);

	if (!s->live)
		return;
	for (int32_t y = r.y / TH_LIVE_TILE_HEIGHT; y <= (r.y + r.height - 1) / TH_LIVE_TILE_HEIGHT;
	     y++)
		for (int32_t x = r.x / TH_LIVE_TILE_WIDTH;
		     x <= (r.x + r.width - 1) / TH_LIVE_TILE_WIDTH; x++)
			s->live[y * columns + x] = true;
	s->live_drawn = true;
}

void th_x11_drawn_on(struct th_x11_see *s, struct th_rect r)
{
	r = th_rect_clip(r, s->size);
	if (r.width == 0 || r.height == 0)
		return;
	s->changed = true;
	s->drawn_us = th_x11_now_us();
	th_x11_mark_tiles(s, r);
	s->area = join(s->area, r);
	th_x11_mark_rows(s->stale, r);
	for (size_t i = 0; i < TH_COUNT(s->views); i++)
		th_x11_mark_rows(s->views[i].stale, r);
}

static void take_region(struct th_x11_see *s, const xcb_xfixes_fetch_region_reply_t *r,
			bool *ret_any)
{
	const xcb_rectangle_t *list = xcb_xfixes_fetch_region_rectangles(r);
	int count = xcb_xfixes_fetch_region_rectangles_length(r);

	for (int i = 0; i < count; i++)
		th_x11_drawn_on(
		    s, (struct th_rect){ list[i].x, list[i].y, list[i].width, list[i].height });
	*ret_any = count > 0;
}

static void take_cursor(struct th_x11 *x, const xcb_xfixes_get_cursor_image_reply_t *r)
{
	struct th_x11_see *s = x->see;
	size_t count = (size_t)r->width * r->height;

	x->pointer = (struct th_point){ r->x, r->y };
	s->cursor_area = (struct th_rect){ r->x - r->xhot, r->y - r->yhot, r->width, r->height };
	if (s->cursor_known && s->cursor_serial == r->cursor_serial)
		return;
	if ((size_t)xcb_xfixes_get_cursor_image_cursor_image_length(r) < count)
		return;
	if (count > s->cursor_count)
		s->cursor = th_realloc(s->cursor, count * sizeof(*s->cursor));
	s->cursor_count = TH_MAX(s->cursor_count, count);
	if (count > 0)
		memcpy(s->cursor, xcb_xfixes_get_cursor_image_cursor_image(r),
		       count * sizeof(*s->cursor));
	s->cursor_serial = r->cursor_serial;
	s->cursor_known = true;
}

/* Asks what was drawn on since the last time.  After it, the next damage comes as an event again.
 */
enum th_code th_x11_collect(struct th_x11 *x, bool cursor, bool *ret_any, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	enum th_code code = th_x11_pump(x, err);
	if (code)
		return code;

	/* The flag goes first: an event that comes during the round trip may be of newer damage. */
	s->damage_event = false;
	xcb_damage_subtract(x->conn, s->damage, XCB_NONE, s->region);
	unsigned int fetch = xcb_xfixes_fetch_region(x->conn, s->region).sequence;
	unsigned int image = cursor ? xcb_xfixes_get_cursor_image(x->conn).sequence : 0;
	void *reply;

	code = th_x11_reply(x, fetch, &reply, err);
	if (!code) {
		take_region(s, reply, ret_any);
		free(reply);
		if (s->damage_lost)
			th_x11_drawn_on(s, (struct th_rect){ 0, 0, s->size.width, s->size.height });
		*ret_any |= s->damage_lost;
	}
	s->damage_lost = code != TH_OK;
	if (!cursor)
		return code;
	if (code) {
		if (!x->lost)
			xcb_discard_reply(x->conn, image);
		return code;
	}
	code = th_x11_reply(x, image, &reply, err);
	if (!code) {
		take_cursor(x, reply);
		free(reply);
	} else if (code == TH_EIO) {
		s->cursor_known = false; /* there is no cursor: nothing to draw */
		code = TH_OK;
	}
	return code;
}

void th_x11_forget_changes(struct th_x11_see *s)
{
	s->changed = false;
	s->area = (struct th_rect){ 0 };
}

enum th_code th_x11_see_mark(struct th_x11 *x, struct th_err *err)
{
	bool any;
	enum th_code code = th_x11_collect(x, false, &any, err);
	if (!code)
		th_x11_forget_changes(x->see);
	return code;
}

void th_x11_see_event(struct th_x11 *x, const xcb_generic_event_t *event)
{
	uint8_t type = event->response_type & 0x7f;

	if (type == x->damage.first_event + XCB_DAMAGE_NOTIFY) {
		x->see->damage_event = true;
	} else if (x->randr.present &&
		   type == x->randr.first_event + XCB_RANDR_SCREEN_CHANGE_NOTIFY) {
		const xcb_randr_screen_change_notify_event_t *e = (const void *)event;
		bool turned =
		    e->rotation & (XCB_RANDR_ROTATION_ROTATE_90 | XCB_RANDR_ROTATION_ROTATE_270);
		x->size = turned ? (struct th_size){ e->height, e->width }
				 : (struct th_size){ e->width, e->height };
	}
}
