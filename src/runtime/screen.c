/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - see screen.h. */
#include "runtime/screen.h"

#include <stdlib.h>

#include "runtime/internal.h"
#include "wire/exec.h"

struct tile {
	uint64_t version; /* 0: no picture yet */
	size_t size;
	char *bytes;
};

struct th_screen_feed {
	struct th_screen_feed *next;
	struct th_runtime *rt;
	struct th_executor_client *client;
	struct th_timer retry;
	struct th_deferred tell;
	struct th_screen *viewers;
	char *session;
	const char *format;
	int quality, rate;
	bool asked; /* the next frame was */
	bool begun; /* it is known whether there is a screen */
	struct th_size size;
	struct tile *tiles;
	size_t tile_count;
	uint64_t version;
	bool has_at;
	struct th_point at;
	struct th_err why;
};

struct th_screen {
	struct th_screen *next;
	struct th_screen_feed *feed;
	void (*fn)(void *ctx);
	void *ctx;
	uint64_t seen;
	bool told, left;
};

/* ---- tiles ---- */

static void tiles_drop(struct th_screen_feed *f)
{
	for (size_t i = 0; i < f->tile_count; i++)
		free(f->tiles[i].bytes);
	free(f->tiles);
	f->tiles = NULL;
	f->tile_count = 0;
}

/* Of a terminal a tile is a row. */
static struct th_size tile_size(const struct th_screen_feed *f)
{
	if (strcmp(f->format, TH_SCREEN_TERMINAL) == 0)
		return (struct th_size){ TH_MAX(f->size.width, 1), 1 };
	return (struct th_size){ TH_LIVE_TILE_WIDTH, TH_LIVE_TILE_HEIGHT };
}

static int32_t columns(const struct th_screen_feed *f)
{
	return (f->size.width + tile_size(f).width - 1) / tile_size(f).width;
}

static int32_t rows(const struct th_screen_feed *f)
{
	return (f->size.height + tile_size(f).height - 1) / tile_size(f).height;
}

static struct th_rect tile_at(const struct th_screen_feed *f, size_t i)
{
	struct th_size tile = tile_size(f);
	struct th_rect r = { (int32_t)i % columns(f) * tile.width,
			     (int32_t)i / columns(f) * tile.height, tile.width, tile.height };

	return th_rect_clip(r, f->size);
}

static enum th_code resize(struct th_screen_feed *f, struct th_size size, struct th_err *err)
{
	if (size.width > TH_SCREEN_SIDE_MAX || size.height > TH_SCREEN_SIDE_MAX ||
	    (int64_t)size.width * size.height > TH_SCREEN_PIXELS_MAX)
		return th_fail(err, TH_EPROTO, "a screen of %dx%d pixels", size.width, size.height);
	tiles_drop(f);
	f->size = size;
	f->tile_count = (size_t)columns(f) * (size_t)rows(f);
	f->tiles = th_alloc(f->tile_count * sizeof(*f->tiles));
	return TH_OK;
}

/* One [x, y, width, height, size] and its bytes.  The other process may be compromised. */
static enum th_code take_tile(struct th_screen_feed *f, const struct th_json *v,
			      struct th_str *bytes, struct th_err *err)
{
	int64_t n[5];
	struct th_json_iter it = th_json_iter(v);
	size_t count = 0, i;

	while (count < TH_COUNT(n) && th_json_next(&it))
		n[count++] = th_json_int(it.val, -1);
	if (count < TH_COUNT(n) || n[0] < 0 || n[1] < 0 || n[0] >= f->size.width ||
	    n[1] >= f->size.height || n[4] < 0 || (uint64_t)n[4] > bytes->len)
		return th_fail(err, TH_EPROTO, "a frame with a tile that is none");
	i = (size_t)(n[1] / tile_size(f).height * columns(f) + n[0] / tile_size(f).width);
	struct th_rect at = tile_at(f, i);
	struct tile *t = &f->tiles[i];
	if (at.x != n[0] || at.y != n[1] || at.width != n[2] || at.height != n[3])
		return th_fail(err, TH_EPROTO, "a frame with a tile at another place");
	t->bytes = th_realloc(t->bytes, (size_t)n[4] + 1);
	t->size = (size_t)n[4];
	memcpy(t->bytes, bytes->ptr, t->size);
	t->version = f->version;
	*bytes = th_str_sub(*bytes, t->size, bytes->len);
	return TH_OK;
}

static enum th_code take_frame(struct th_screen_feed *f, const struct th_exec_frame *m,
			       struct th_str bytes, struct th_err *err)
{
	TH_CLEANUP(th_json_freep) struct th_json_doc *doc = NULL;
	struct th_size size = { (int32_t)m->width, (int32_t)m->height };
	enum th_code code = th_json_parse(m->tiles, &doc, err);
	struct th_json_iter it;

	if (!code &&
	    (m->width > TH_SCREEN_SIDE_MAX || m->height > TH_SCREEN_SIDE_MAX || m->height == 0))
		code = th_fail(err, TH_EPROTO, "a frame of no size");
	f->version++;
	if (!code && !th_size_eq(size, f->size))
		code = resize(f, size, err);
	if (code)
		return code;
	it = th_json_iter(th_json_root(doc));
	while (!code && th_json_next(&it))
		code = take_tile(f, it.val, &bytes, err);
	f->has_at = m->pointer;
	f->at = (struct th_point){ (int32_t)TH_MIN(m->x, (int64_t)TH_SCREEN_SIDE_MAX),
				   (int32_t)TH_MIN(m->y, (int64_t)TH_SCREEN_SIDE_MAX) };
	return code;
}

/* ---- who watches ---- */

static void feed_free(struct th_screen_feed *f)
{
	struct th_screen_feed **at = &f->rt->screens;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	th_loop_undefer(f->rt->loop, &f->tell);
	th_timer_stop(&f->retry);
	th_executor_client_free(f->client);
	tiles_drop(f);
	free(f->session);
	free(f);
}

static bool is_new(const struct th_screen *s)
{
	return s->feed->begun && s->seen != s->feed->version;
}

static void tell(void *ctx)
{
	struct th_screen_feed *f = ctx;

	for (struct th_screen *s = f->viewers; s; s = s->next)
		if (!s->left && !s->told && is_new(s)) {
			s->told = true;
			s->fn(s->ctx);
		}
	for (struct th_screen **at = &f->viewers; *at;) {
		struct th_screen *s = *at;

		if (!s->left) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
		f->rt->viewer_count--;
	}
	if (!f->viewers)
		feed_free(f);
}

static void tell_soon(struct th_screen_feed *f)
{
	th_loop_defer(f->rt->loop, &f->tell);
}

static void no_screen(struct th_screen_feed *f, const struct th_err *why)
{
	bool same = f->begun && f->size.width == 0 && strcmp(f->why.msg, why->msg) == 0;

	f->asked = false;
	f->begun = true;
	f->why = *why;
	f->has_at = false;
	tiles_drop(f);
	f->size = (struct th_size){ 0 };
	if (same)
		return;
	f->version++;
	tell_soon(f);
}

static void on_frame(void *ctx, const struct th_exec_frame *m, struct th_str bytes,
		     const struct th_err *err)
{
	struct th_screen_feed *f = ctx;
	struct th_err why = { 0 };

	if (!m) {
		no_screen(f, err);
		th_timer_start(&f->retry, TH_LIVE_RETRY_MS, 0);
		return;
	}
	if (m->width <= 0) {
		th_fail(&why, TH_ENOENT, "%.*s", TH_FMT(m->reason));
		no_screen(f, &why);
		return;
	}
	if (take_frame(f, m, bytes, &why)) {
		no_screen(f, &why);
		return;
	}
	f->asked = false;
	f->begun = true;
	f->why = (struct th_err){ 0 };
	tell_soon(f);
}

static void watch(struct th_screen_feed *f)
{
	const struct th_executor_watch w = { .format = f->format,
					     .quality = f->quality,
					     .interval_ms = 1000 / f->rate,
					     .on_frame = on_frame,
					     .ctx = f };

	f->asked = true;
	th_executor_client_watch(f->client, &w);
}

static void on_retry(void *ctx)
{
	watch(ctx);
}

static enum th_code feed_new(struct th_runtime *rt, const struct th_screen_options *o,
			     struct th_screen_feed **ret, struct th_err *err)
{
	const struct th_executor_options options = { .session = o->session,
						     .scope = th_buf_str(&rt->scope),
						     .place = th_runtime_far_of(rt, o->session),
						     .tls = rt->far_tls,
						     .only_running = true,
						     .looks_on = true };
	struct th_executor_client *client;
	struct th_screen_feed *f;
	enum th_code code = th_executor_client_new(rt->loop, &options, &client, err);

	if (code)
		return code;
	f = th_alloc(sizeof(*f));
	*f = (struct th_screen_feed){ .next = rt->screens,
				      .rt = rt,
				      .client = client,
				      .format = o->format,
				      .quality = o->quality,
				      .rate = o->rate };
	f->session = th_alloc(o->session.len + 1);
	memcpy(f->session, o->session.ptr, o->session.len);
	f->tell = (struct th_deferred){ .fn = tell, .ctx = f };
	th_timer_init(&f->retry, rt->loop, on_retry, f);
	rt->screens = f;
	watch(f);
	*ret = f;
	return TH_OK;
}

enum th_code th_screen_new(struct th_runtime *rt, const struct th_screen_options *o,
			   void (*fn)(void *ctx), void *ctx, struct th_screen **ret,
			   struct th_err *err)
{
	struct th_screen_feed *f = rt->screens;
	struct th_screen *s;
	enum th_code code = TH_OK;

	if (rt->viewer_count == TH_LIVE_VIEWERS_MAX)
		return th_fail(err, TH_ELIMIT, "%d watch screens already, the maximum",
			       TH_LIVE_VIEWERS_MAX);
	while (f && !(th_str_is(o->session, f->session) && strcmp(o->format, f->format) == 0 &&
		      o->quality == f->quality && o->rate == f->rate))
		f = f->next;
	if (!f)
		code = feed_new(rt, o, &f, err);
	if (code)
		return code;
	s = th_alloc(sizeof(*s));
	*s = (struct th_screen){ .next = f->viewers, .feed = f, .fn = fn, .ctx = ctx };
	f->viewers = s;
	rt->viewer_count++;
	if (f->begun)
		tell_soon(f);
	*ret = s;
	return TH_OK;
}

struct th_screen *th_screen_free(struct th_screen *s)
{
	if (!s)
		return NULL;
	s->left = true;
	tell_soon(s->feed);
	return NULL;
}

struct th_size th_screen_size(const struct th_screen *s)
{
	return s->feed->size;
}

struct th_str th_screen_reason(const struct th_screen *s)
{
	return th_str_of(s->feed->why.msg);
}

bool th_screen_pointer(const struct th_screen *s, struct th_point *ret)
{
	if (!s->feed->has_at)
		return false;
	*ret = s->feed->at;
	return true;
}

void th_screen_take(struct th_screen *s, th_screen_tile_fn *fn, void *ctx)
{
	struct th_screen_feed *f = s->feed;

	for (size_t i = 0; i < f->tile_count; i++)
		if (f->tiles[i].version > s->seen)
			fn(ctx, tile_at(f, i), th_str_n(f->tiles[i].bytes, f->tiles[i].size));
	s->seen = f->version;
	s->told = false;
	if (!f->asked && f->size.width > 0) {
		f->asked = true;
		th_executor_client_watch_next(f->client);
	}
}

void th_screens_end(struct th_runtime *rt)
{
	while (rt->screens) {
		struct th_screen_feed *f = rt->screens;

		while (f->viewers) {
			struct th_screen *s = f->viewers;

			f->viewers = s->next;
			free(s);
		}
		feed_free(f);
	}
}
