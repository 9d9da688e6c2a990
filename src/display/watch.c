/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - see watch.h. */
#include "display/watch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "computer/image.h"
#include "io/clock.h"
#include "io/sock.h"

#define SEND_MS 30000
#define STREAK_TRUSTED 3 /* changes in a row, after which a tile is not compared */
#define STREAK_LOOK 8    /* but each time of so many */

void th_watches_init(struct th_watches *w, struct th_computer *c, struct th_pipe *pipe)
{
	*w = (struct th_watches){ .computer = c, .pipe = pipe };
	th_buf_init(&w->picture, TH_IMAGE_SIZE_MAX);
	th_buf_init(&w->tiles, TH_FRAME_JSON_MAX);
	th_buf_init(&w->bytes, TH_FRAME_SIZE_MAX - TH_FRAME_JSON_MAX);
}

/* Nobody watches: nothing is kept. */
static void forget_screen(struct th_watches *w)
{
	free(w->hash);
	free(w->version);
	free(w->streak);
	w->hash = w->version = NULL;
	w->streak = NULL;
	w->size = (struct th_size){ 0 };
	th_buf_deinit(&w->picture);
	th_buf_deinit(&w->tiles);
	th_buf_deinit(&w->bytes);
}

void th_watches_deinit(struct th_watches *w)
{
	for (size_t i = 0; i < w->count; i++)
		th_png_free(w->list[i].png);
	w->count = 0;
	forget_screen(w);
}

void th_watches_pointer(struct th_watches *w, struct th_point at)
{
	w->has_at = true;
	w->at = at;
}

static enum th_code put(struct th_watches *w, const struct th_exec_frame *m, struct th_str bytes,
			struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf head = TH_BUF_INIT(TH_FRAME_JSON_MAX);

	th_exec_print(&th_exec_frame_table, m, &head);
	enum th_code code = th_buf_check(&head, "a frame of a live view", err);
	return code ? code : th_pipe_write(w->pipe, th_buf_str(&head), bytes, SEND_MS, err);
}

/* ---- orders ---- */

static struct th_watch *find(struct th_watches *w, int64_t id)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].id == id)
			return &w->list[i];
	return NULL;
}

static enum th_code begin(struct th_watches *w, const struct th_exec_watch *m, struct th_err *err)
{
	int format = m->format.len ? th_image_format_find(m->format) : TH_IMAGE_JPEG;

	if (format < 0 || m->quality > 100)
		return th_fail(err, TH_EPROTO, "a watch with no such format or quality");
	if (find(w, m->id))
		return th_fail(err, TH_EPROTO, "a second watch of the same number");
	if (w->count == TH_LIVE_WATCHES_MAX)
		return th_fail(err, TH_EPROTO, "more than %d watches", TH_LIVE_WATCHES_MAX);
	w->list[w->count++] = (struct th_watch){
		.id = m->id,
		.format = (enum th_image_format)format,
		.quality = (int)m->quality ?: 80,
		.interval_ms = m->interval_ms,
		.ready = true,
	};
	if (w->computer->kind->live)
		return TH_OK;
	char why[96];
	snprintf(why, sizeof(why), "a computer of kind %s has no live view",
		 w->computer->kind->name);
	const struct th_exec_frame none = {
		.op = TH_STR("frame"), .id = m->id, .reason = th_str_of(why), .tiles = TH_STR("[]")
	};
	return put(w, &none, TH_STR(""), err);
}

enum th_code th_watches_order(struct th_watches *w, enum th_exec_op op, const struct th_json *v,
			      struct th_err *err)
{
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_exec_request request;
	struct th_exec_watch watch;
	struct th_watch *of;

	th_arena_init(&a, 64 * TH_KIB);
	if (op == TH_EXEC_OP_WATCH)
		return th_table_parse(&th_exec_watch_table, v, &a, &watch, err)
			   ?: begin(w, &watch, err);
	if (op != TH_EXEC_OP_NEXT && op != TH_EXEC_OP_UNWATCH)
		return th_fail(err, TH_EPROTO, "'%s' is nothing to ask of a display",
			       th_exec_op_name(op));
	enum th_code code = th_table_parse(&th_exec_request_table, v, &a, &request, err);
	if (code)
		return code;
	of = find(w, request.id);
	if (of && op == TH_EXEC_OP_NEXT) {
		of->ready = true;
	} else if (of) {
		th_png_free(of->png);
		*of = w->list[--w->count];
		if (w->count == 0)
			forget_screen(w);
	}
	return TH_OK;
}

/* ---- the screen ---- */

static struct th_rect tile_at(const struct th_watches *w, int32_t column, int32_t row)
{
	return th_rect_clip((struct th_rect){ column * TH_LIVE_TILE_WIDTH,
					      row * TH_LIVE_TILE_HEIGHT, TH_LIVE_TILE_WIDTH,
					      TH_LIVE_TILE_HEIGHT },
			    w->size);
}

static void resize(struct th_watches *w, struct th_size size)
{
	size_t count = (size_t)th_live_columns(size) * th_live_rows(size);

	free(w->hash);
	free(w->version);
	free(w->streak);
	w->streak = th_alloc(count);
	w->size = size;
	w->hash = th_alloc(count * sizeof(*w->hash));
	w->version = th_alloc(count * sizeof(*w->version));
	w->newest++;
	for (size_t i = 0; i < count; i++)
		w->version[i] = w->newest;
}

static uint64_t hash_of(const struct th_pixels *screen, struct th_rect r)
{
	struct th_pixels tile = th_pixels_cut(screen, r);
	uint64_t lines[TH_LIVE_TILE_HEIGHT];

	for (int32_t y = 0; y < r.height; y++)
		lines[y] = th_hash64(th_pixels_row(&tile, y), (size_t)r.width * 4);
	return th_hash64(lines, (size_t)r.height * sizeof(lines[0]));
}

/* A tile that was drawn on.  One that has changed each time is taken to have changed again: to look
 * costs a third of what encoding it does.  Now and then it is looked at all the same. */
static void renew(struct th_watches *w, int32_t i, const struct th_pixels *screen, struct th_rect r)
{
	uint64_t hash = 0; /* not known */

	if (w->streak[i] < STREAK_TRUSTED || w->streak[i] % STREAK_LOOK == 0)
		hash = hash_of(screen, r) | 1;
	if (hash && hash == w->hash[i]) {
		w->streak[i] = 0;
		return;
	}
	w->hash[i] = hash;
	w->version[i] = w->newest;
	w->streak[i] = (uint8_t)(w->streak[i] < UINT8_MAX ? w->streak[i] + 1 : STREAK_TRUSTED);
}

/* `ret` is good until the computer is asked something else. */
static enum th_code look(struct th_watches *w, struct th_pixels *ret, struct th_err *err)
{
	struct th_live_look l = { 0 };
	enum th_code code = w->computer->kind->live(w->computer, &l, err);
	bool all = !th_size_eq(l.size, w->size);

	if (code)
		return code;
	if (all)
		resize(w, l.size);
	*ret = (struct th_pixels){ l.pixels, l.stride, l.size };
	w->newest++;
	for (int32_t row = 0; row < th_live_rows(w->size); row++)
		for (int32_t column = 0; column < th_live_columns(w->size); column++) {
			int32_t i = row * th_live_columns(w->size) + column;

			if (!l.drawn[i] && !all)
				continue;
			l.drawn[i] = false;
			renew(w, i, ret, tile_at(w, column, row));
		}
	w->has_at = l.has_at;
	w->at = l.at;
	return TH_OK;
}

/* ---- frames ---- */

static enum th_code encode(struct th_watches *w, struct th_watch *of,
			   const struct th_pixels *screen, struct th_rect r, struct th_str *ret,
			   struct th_err *err)
{
	struct th_pixels tile = th_pixels_cut(screen, r);
	enum th_code code;
	bool changed;

	switch (of->format) {
	case TH_IMAGE_PNG:
		if (!of->png)
			of->png = th_png_new();
		code = th_png_encode(of->png, &tile, NULL, &changed, err);
		*ret = code ? TH_STR("") : th_png_bytes(of->png);
		return code;
	case TH_IMAGE_JPEG:
		code = th_jpeg_encode(&tile, of->quality, &w->picture, err);
		break;
	case TH_IMAGE_WEBP:
		code = th_webp_encode(&tile, of->quality, &w->picture, err);
		break;
	case TH_IMAGE_FORMAT_COUNT:
	default:
		return th_fail(err, TH_EUSAGE, "no such picture format");
	}
	*ret = th_buf_str(&w->picture);
	return code;
}

/* What of the screen is newer than what it has; TH_OK without any is fine. */
static enum th_code add_tiles(struct th_watches *w, struct th_watch *of,
			      const struct th_pixels *screen, struct th_jw *list,
			      struct th_err *err)
{
	for (int32_t row = 0; row < th_live_rows(w->size); row++)
		for (int32_t column = 0; column < th_live_columns(w->size); column++) {
			struct th_rect r = tile_at(w, column, row);
			struct th_str picture;

			if (w->version[row * th_live_columns(w->size) + column] <= of->seen)
				continue;
			enum th_code code = encode(w, of, screen, r, &picture, err);
			if (code)
				return code;
			th_jw_array(list);
			th_jw_int(list, r.x);
			th_jw_int(list, r.y);
			th_jw_int(list, r.width);
			th_jw_int(list, r.height);
			th_jw_uint(list, picture.len);
			th_jw_array_end(list);
			th_buf_add(&w->bytes, picture);
		}
	return th_buf_check(&w->bytes, "a frame of a live view", err)
		   ?: th_buf_check(&w->tiles, "the tiles of a frame", err);
}

static bool is_new(const struct th_watches *w, const struct th_watch *of)
{
	bool moved = w->has_at && (of->at.x != w->at.x || of->at.y != w->at.y);

	if (!of->begun || moved)
		return true;
	for (int32_t i = 0; i < th_live_columns(w->size) * th_live_rows(w->size); i++)
		if (w->version[i] > of->seen)
			return true;
	return false;
}

static enum th_code send(struct th_watches *w, struct th_watch *of, const struct th_pixels *screen,
			 struct th_err *err)
{
	struct th_jw list;

	th_buf_clear(&w->tiles);
	th_buf_clear(&w->bytes);
	list = th_jw(&w->tiles);
	th_jw_array(&list);
	enum th_code code = add_tiles(w, of, screen, &list, err);
	if (code)
		return code;
	th_jw_array_end(&list);
	struct th_exec_frame m = {
		.op = TH_STR("frame"),
		.id = of->id,
		.width = w->size.width,
		.height = w->size.height,
		.pointer = w->has_at,
		.x = w->at.x,
		.y = w->at.y,
		.tiles = th_buf_str(&w->tiles),
	};
	of->begun = true;
	of->ready = false;
	of->seen = w->newest;
	of->at = w->at;
	return put(w, &m, th_buf_str(&w->bytes), err);
}

/* Those that have taken their last frame and want what is new: the earliest is due first. */
static uint64_t first_due(const struct th_watches *w, bool drawn)
{
	uint64_t first_ms = UINT64_MAX;

	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].ready && (drawn || is_new(w, &w->list[i])))
			first_ms = TH_MIN(first_ms, w->list[i].due_ms);
	return first_ms;
}

enum th_code th_watches_pass(struct th_watches *w, int64_t *ret_ms, struct th_err *err)
{
	const struct th_computer_kind *kind = w->computer->kind;
	uint64_t now_ms = th_clock_ms(), first_ms;
	struct th_pixels screen;
	enum th_code code = TH_OK;
	bool drawn = false, ready = false;

	*ret_ms = -1;
	for (size_t i = 0; i < w->count; i++)
		ready |= w->list[i].ready;
	if (!ready || !kind->live)
		return TH_OK;
	code = kind->drawn(w->computer, &drawn, err);
	if (code)
		return code;
	first_ms = first_due(w, drawn || !w->hash);
	if (first_ms <= now_ms) {
		code = look(w, &screen, err);
		for (size_t i = 0; !code && i < w->count; i++) {
			struct th_watch *of = &w->list[i];

			if (!of->ready || of->due_ms > now_ms)
				continue;
			/* Also without a frame: what draws the same again and again is not looked
			 * at more often. */
			of->due_ms = now_ms + (uint64_t)of->interval_ms;
			if (is_new(w, of))
				code = send(w, of, &screen, err);
		}
		first_ms = first_due(w, false);
	}
	if (first_ms != UINT64_MAX)
		*ret_ms = first_ms > now_ms ? (int64_t)(first_ms - now_ms) : 0;
	return code;
}
