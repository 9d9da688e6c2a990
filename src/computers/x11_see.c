/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x11_see.c - pictures of an X display, and what has changed on it.
 *
 * The server is asked, in one round trip, which area was drawn on since the
 * last time (DAMAGE) and where the pointer is.  Only rows that were drawn on
 * are copied (MIT-SHM), only rows that differ are encoded.  A picture that
 * nothing has happened to costs that round trip and no more.
 *
 * Two views keep their encoders: the whole screen as PNG, and the last other
 * way it was asked for (a region, scaled, another format).
 */
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xfixes.h>

#include "base/limits.h"
#include "computers/image.h"
#include "computers/x11.h"
#include "io/files.h"

/* How a picture was asked for, with defaults filled in. */
struct view {
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

enum how { HOW_SHM, HOW_GET_IMAGE };
enum memory { MEMORY_HEAP, MEMORY_MAPPED, MEMORY_SYSV };

struct th_x11_see {
	xcb_damage_damage_t damage;
	xcb_xfixes_region_t region;
	/* Pixels of the screen, as far as they are not stale. */
	enum how how;
	enum memory memory;
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
	struct view views[2];
	const struct view *last; /* what the last picture was */
	uint64_t last_version, frame_id;
};

/* ---- damage ---- */

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

static void mark_rows(bool *stale, struct th_rect r)
{
	if (!stale || r.height <= 0)
		return;
	int32_t last = (r.y + r.height - 1) / TH_PNG_BAND_ROWS;
	for (int32_t b = r.y / TH_PNG_BAND_ROWS; b <= last; b++)
		stale[b] = true;
}

static bool any_stale(const bool *stale, struct th_rect r)
{
	int32_t last = (r.y + r.height - 1) / TH_PNG_BAND_ROWS;
	for (int32_t b = r.y / TH_PNG_BAND_ROWS; b <= last; b++)
		if (stale[b])
			return true;
	return false;
}

static void mark_tiles(struct th_x11_see *s, struct th_rect r)
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

static void drawn_on(struct th_x11_see *s, struct th_rect r)
{
	r = th_rect_clip(r, s->size);
	if (r.width == 0 || r.height == 0)
		return;
	s->changed = true;
	s->drawn_us = th_x11_now_us();
	mark_tiles(s, r);
	s->area = join(s->area, r);
	mark_rows(s->stale, r);
	for (size_t i = 0; i < TH_COUNT(s->views); i++)
		mark_rows(s->views[i].stale, r);
}

static void take_region(struct th_x11_see *s, const xcb_xfixes_fetch_region_reply_t *r,
			bool *ret_any)
{
	const xcb_rectangle_t *list = xcb_xfixes_fetch_region_rectangles(r);
	int count = xcb_xfixes_fetch_region_rectangles_length(r);

	for (int i = 0; i < count; i++)
		drawn_on(s,
			 (struct th_rect){ list[i].x, list[i].y, list[i].width, list[i].height });
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
static enum th_code collect(struct th_x11 *x, bool cursor, bool *ret_any, struct th_err *err)
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
			drawn_on(s, (struct th_rect){ 0, 0, s->size.width, s->size.height });
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

static void forget_changes(struct th_x11_see *s)
{
	s->changed = false;
	s->area = (struct th_rect){ 0 };
}

enum th_code th_x11_see_mark(struct th_x11 *x, struct th_err *err)
{
	bool any;
	enum th_code code = collect(x, false, &any, err);
	if (!code)
		forget_changes(x->see);
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

/* ---- memory shared with the server ---- */

static void drop_pixels(struct th_x11 *x)
{
	struct th_x11_see *s = x->see;

	if (s->how == HOW_SHM && s->segment && !x->lost)
		xcb_shm_detach(x->conn, s->segment);
	if (s->memory == MEMORY_MAPPED && s->pixels)
		munmap(s->pixels, s->pixels_size);
	else if (s->memory == MEMORY_SYSV && s->pixels)
		shmdt(s->pixels);
	else
		free(s->pixels);
	s->pixels = NULL;
	s->segment = 0;
	s->how = HOW_GET_IMAGE;
	s->memory = MEMORY_HEAP;
	free(s->stale);
	s->stale = NULL;
	free(s->live);
	s->live = NULL;
	for (size_t i = 0; i < TH_COUNT(s->views); i++) {
		free(s->views[i].stale);
		s->views[i].stale = NULL;
		s->views[i].valid = false;
	}
}

static bool confirm(struct th_x11 *x, xcb_void_cookie_t cookie, enum th_code *ret_code,
		    struct th_err *err)
{
	void *reply;
	enum th_code code = th_x11_reply(x, cookie.sequence, &reply, err);

	free(reply);
	*ret_code = code == TH_EIO ? TH_OK : code; /* refused is no failure: there is another way */
	return code == TH_OK;
}

/* Memory passed by descriptor: works between namespaces and users, and leaves nothing behind. */
static bool share_memfd(struct th_x11 *x, size_t size, enum th_code *ret_code, struct th_err *err)
{
	struct th_x11_see *s = x->see;

	if (x->shm.major < 1 || (x->shm.major == 1 && x->shm.minor < 2))
		return false;
	int fd = memfd_create("thole-screen", MFD_CLOEXEC);
	if (fd < 0)
		return false;
	void *p = ftruncate(fd, (off_t)size)
		      ? MAP_FAILED
		      : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		close(fd);
		return false;
	}
	xcb_shm_seg_t segment = xcb_generate_id(x->conn);
	/* xcb closes the descriptor. */
	if (!confirm(x, xcb_shm_attach_fd_checked(x->conn, segment, fd, 0), ret_code, err)) {
		munmap(p, size);
		return false;
	}
	s->how = HOW_SHM;
	s->memory = MEMORY_MAPPED;
	s->segment = segment;
	s->pixels = p;
	return true;
}

/* System V memory for older servers; removed by the kernel when both of us have let go. */
static bool share_sysv(struct th_x11 *x, size_t size, enum th_code *ret_code, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);

	if (id < 0)
		return false;
	void *p = shmat(id, NULL, 0);
	bool attached = p != (void *)-1;
	if (attached) {
		s->segment = xcb_generate_id(x->conn);
		attached = confirm(x, xcb_shm_attach_checked(x->conn, s->segment, (uint32_t)id, 0),
				   ret_code, err);
		if (!attached)
			shmdt(p);
	}
	shmctl(id, IPC_RMID, NULL);
	if (!attached) {
		s->segment = 0;
		return false;
	}
	s->how = HOW_SHM;
	s->memory = MEMORY_SYSV;
	s->pixels = p;
	return true;
}

/* Memory can be shared, and descriptors passed, only over a Unix socket. */
static bool is_local(const struct th_x11 *x)
{
	int domain = 0;
	socklen_t len = sizeof(domain);
	return getsockopt(x->fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

static enum th_code make_pixels(struct th_x11 *x, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	enum th_code code = th_image_check(x->size, err);
	if (code)
		return code;

	drop_pixels(x);
	s->size = x->size;
	s->pixels_size = (size_t)s->size.width * 4 * s->size.height;
	if (!x->shm.present || !is_local(x) ||
	    (!share_memfd(x, s->pixels_size, &code, err) && !code &&
	     !share_sysv(x, s->pixels_size, &code, err) && !code)) {
		s->pixels = th_alloc(s->pixels_size);
		s->how = HOW_GET_IMAGE;
		s->memory = MEMORY_HEAP;
	}
	if (code)
		return code;
	s->bands = th_png_bands(s->size.height);
	s->stale = th_alloc((size_t)s->bands * sizeof(bool));
	for (size_t i = 0; i < TH_COUNT(s->views); i++)
		s->views[i].stale = th_alloc((size_t)s->bands * sizeof(bool));
	drawn_on(s, (struct th_rect){ 0, 0, s->size.width, s->size.height });
	return TH_OK;
}

/* ---- capture ---- */

#define GET_IMAGE_BYTES ((size_t)4 * 1024 * 1024) /* of one XGetImage */

static enum th_code copy_shm(struct th_x11 *x, int32_t top, int32_t rows, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	uint32_t offset = (uint32_t)((size_t)top * 4 * s->size.width);
	void *reply;
	enum th_code code = th_x11_reply(
	    x,
	    xcb_shm_get_image(x->conn, x->root, 0, (int16_t)top, (uint16_t)s->size.width,
			      (uint16_t)rows, ~0u, XCB_IMAGE_FORMAT_Z_PIXMAP, s->segment, offset)
		.sequence,
	    &reply, err);
	free(reply);
	return code;
}

static enum th_code copy_plain(struct th_x11 *x, int32_t top, int32_t rows, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	size_t line = (size_t)s->size.width * 4;
	int32_t step = (int32_t)TH_MAX(GET_IMAGE_BYTES / line, (size_t)1);

	for (int32_t y = top, end = top + rows; y < end; y += step) {
		int32_t n = TH_MIN(step, end - y);
		void *reply;
		enum th_code code = th_x11_reply(
		    x,
		    xcb_get_image(x->conn, XCB_IMAGE_FORMAT_Z_PIXMAP, x->root, 0, (int16_t)y,
				  (uint16_t)s->size.width, (uint16_t)n, ~0u)
			.sequence,
		    &reply, err);
		if (code)
			return code;
		size_t len = (size_t)xcb_get_image_data_length(reply);
		if (len >= line * (size_t)n)
			memcpy(s->pixels + (size_t)y * line, xcb_get_image_data(reply),
			       line * (size_t)n);
		free(reply);
		if (len < line * (size_t)n)
			return th_fail(err, TH_EIO, "the display %.*s sent %zu bytes of %zu",
				       TH_FMT(x->name), len, line * (size_t)n);
	}
	return TH_OK;
}

/* Copies what is stale of these rows. */
static enum th_code capture(struct th_x11 *x, struct th_rect part, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	int32_t first = part.y / TH_PNG_BAND_ROWS;
	int32_t last = (part.y + part.height - 1) / TH_PNG_BAND_ROWS;

	while (first <= last && !s->stale[first])
		first++;
	while (last >= first && !s->stale[last])
		last--;
	if (first > last)
		return TH_OK;
	int32_t top = first * TH_PNG_BAND_ROWS;
	int32_t rows = TH_MIN((last + 1) * TH_PNG_BAND_ROWS, s->size.height) - top;
	enum th_code code =
	    s->how == HOW_SHM ? copy_shm(x, top, rows, err) : copy_plain(x, top, rows, err);
	if (code)
		return th_prefix(err, code, "take a picture");
	memset(s->stale + first, 0, (size_t)(last - first + 1) * sizeof(bool));
	return TH_OK;
}

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

static struct view *choose_view(struct th_x11_see *s, const struct th_see_options *o)
{
	struct view *v = &s->views[is_whole(o, s->size) ? 0 : 1];

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
static void compare_cursor(const struct th_x11_see *s, struct view *v)
{
	struct th_rect area = th_rect_clip(s->cursor_area, s->size);
	bool draw = v->options.cursor && s->cursor_known && area.width > 0 && area.height > 0;

	if (draw == v->cursor_drawn && (!draw || (v->cursor_serial == s->cursor_serial &&
						  rect_same(v->cursor_area, s->cursor_area))))
		return;
	if (v->cursor_drawn)
		mark_rows(v->stale, th_rect_clip(v->cursor_area, s->size));
	if (draw)
		mark_rows(v->stale, area);
	v->cursor_drawn = draw;
	v->cursor_area = s->cursor_area;
	v->cursor_serial = s->cursor_serial;
}

static enum th_code encode_part(const struct th_x11_see *s, struct view *v, bool *ret_changed,
				struct th_err *err)
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
static enum th_code encode(const struct th_x11_see *s, struct view *v, bool *ret_changed,
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

static enum th_code renew(struct th_x11 *x, struct view *v, struct th_err *err)
{
	struct th_x11_see *s = x->see;
	bool changed, was_valid = v->valid;
	enum th_code code = capture(x, v->options.region, err);
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
	enum th_code code = collect(x, o.cursor, &any, err);
	if (code)
		return code;
	if ((x->size.width != s->size.width || x->size.height != s->size.height) &&
	    (code = make_pixels(x, err)))
		return code;
	if ((code = settle_options(s->size, &o, err)))
		return code;

	struct view *v = choose_view(s, &o);
	compare_cursor(s, v);
	if ((!v->valid || any_stale(v->stale, o.region)) && (code = renew(x, v, err)))
		return code;
	bool same = s->last == v && s->last_version == v->version;
	if (!same)
		s->frame_id++;
	s->last = v;
	s->last_version = v->version;
	forget_changes(s);
	*ret = v->image;
	ret->frame_id = s->frame_id;
	ret->unchanged = same;
	return TH_OK;
}

void th_x11_pixels(struct th_computer *c, struct th_pixels *ret)
{
	const struct th_x11_see *s = th_x11_of(c)->see;

	*ret = (struct th_pixels){ s->pixels, (size_t)s->size.width * 4, s->size };
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
	enum th_code code = collect(x, true, &any, err);
	if (!code && !th_size_eq(x->size, s->size))
		code = make_pixels(x, err);
	if (code)
		return code;

	struct th_rect all = { 0, 0, s->size.width, s->size.height };
	if (!s->live) {
		size_t count = (size_t)th_live_columns(s->size) * th_live_rows(s->size);
		s->live = th_alloc(count * sizeof(bool));
		mark_tiles(s, all);
	}
	code = capture(x, all, err);
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
		if (s->damage_event && (code = collect(x, false, &any, err)))
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
	enum th_code code = make_pixels(x, err);
	if (!code)
		code = th_x11_see_mark(x, err);
	return code;
}

void th_x11_see_deinit(struct th_x11 *x)
{
	struct th_x11_see *s = x->see;

	if (!s)
		return;
	drop_pixels(x);
	for (size_t i = 0; i < TH_COUNT(s->views); i++) {
		th_png_free(s->views[i].png);
		th_buf_deinit(&s->views[i].out);
		free(s->views[i].scaled);
	}
	free(s->cursor);
	free(s);
	x->see = NULL;
}

/* ---- windows ------------------------------------------------------------------------------ */

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
