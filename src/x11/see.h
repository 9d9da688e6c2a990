/* SPDX-License-Identifier: Apache-2.0 */
/*
 * see.h - what the files share that see an X display: what was drawn on (damage.c), its
 * pixels (pixels.c), and the pictures made of them (see.c).
 */
#ifndef TH_X11_SEE_H
#define TH_X11_SEE_H

#include <xcb/damage.h>
#include <xcb/shm.h>
#include <xcb/xfixes.h>

#include "base/limits.h"
#include "computer/image.h"
#include "x11/x11.h"

/* How a picture was asked for, with defaults filled in. */
struct th_x11_view {
	struct th_see_options options;
	bool valid;  /* bytes show what they showed when they were made, stale rows aside */
	bool *stale; /* per band of the screen: drawn on since */
	struct th_png *png;
	struct th_buf out; /* the other formats */
	uint8_t *scaled;
	size_t scaled_size;
	bool cursor_drawn; /* where and which, if any */
	struct th_rect cursor_area;
	uint32_t cursor_serial;
	struct th_frame_image image;
	uint64_t version; /* grows when bytes change */
};

enum th_x11_how { TH_X11_HOW_SHM, TH_X11_HOW_GET_IMAGE };
enum th_x11_memory { TH_X11_MEMORY_HEAP, TH_X11_MEMORY_MAPPED, TH_X11_MEMORY_SYSV };

struct th_x11_see {
	xcb_damage_damage_t damage;
	xcb_xfixes_region_t region;
	/* Pixels of the screen, as far as they are not stale. */
	enum th_x11_how how;
	enum th_x11_memory memory;
	uint8_t *pixels;
	size_t pixels_size;
	xcb_shm_seg_t segment;
	struct th_size size;
	int32_t bands;
	bool *stale;
	/* Drawn on since the last picture or action. */
	bool changed;
	struct th_rect area;
	bool damage_event; /* the server told us so; it tells again when we have asked */
	bool damage_lost;  /* it was asked, and its answer came too late: anything may have been
			      drawn on */
	int64_t drawn_us;  /* when that was last seen to grow */
	/* Of a live view; NULL: there never was one. */
	bool *live;
	bool live_drawn; /* one of them was set */
	/* The pointer's picture. */
	uint32_t *cursor;
	size_t cursor_count;
	struct th_rect cursor_area;
	uint32_t cursor_serial;
	bool cursor_known;
	struct th_x11_view views[2];
	const struct th_x11_view *last; /* what the last picture was */
	uint64_t last_version, frame_id;
};

/* ---- damage.c ---- */

/* Asks what was drawn on since the last time.  After it, the next damage comes as an event again.
 */
TH_NODISCARD enum th_code th_x11_collect(struct th_x11 *x, bool cursor, bool *ret_any,
					 struct th_err *err);
void th_x11_drawn_on(struct th_x11_see *s, struct th_rect r);
void th_x11_mark_rows(bool *stale, struct th_rect r); /* takes NULL */
bool th_x11_any_stale(const bool *stale, struct th_rect r);
void th_x11_mark_tiles(struct th_x11_see *s, struct th_rect r); /* of the live view */
void th_x11_forget_changes(struct th_x11_see *s);

/* ---- pixels.c ---- */

/* Anew, for the size that the screen has now. */
TH_NODISCARD enum th_code th_x11_make_pixels(struct th_x11 *x, struct th_err *err);
void th_x11_drop_pixels(struct th_x11 *x);
/* Copies what is stale of these rows. */
TH_NODISCARD enum th_code th_x11_capture(struct th_x11 *x, struct th_rect part, struct th_err *err);

#endif
