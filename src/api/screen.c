/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - live views of sessions' computers (runtime/screen.h). */
#include "runtime/screen.h"

#include <stdlib.h>

#include "api/api.h"

struct thole_screen {
	struct thole_screen *prev, *next;
	struct thole_runtime *rt;
	struct th_screen *screen;
	thole_screen_fn *fn;
	void *ctx;
	char *reason;
};

static int read_number(const char *name, const char *text, int max, int *ret,
		       struct thole_error *err)
{
	int64_t n;

	if (!th_str_i64(th_str_of(text), &n) || n < 1 || n > max)
		return th_api_fail(err, TH_EUSAGE, "%s is 1 to %d", name, max);
	*ret = (int)n;
	return TH_OK;
}

static int read_options(const char *const *options, struct th_screen_options *o,
			struct thole_error *err)
{
	static const char *const formats[] = { "jpeg", "webp", "png", TH_SCREEN_TERMINAL, NULL };
	int code = TH_OK, format;

	for (; !code && options && *options; options += 2) {
		code = th_api_text(*options, "an option's name", 1, TH_PATH_LEN_MAX, err)
			   ?: th_api_text(options[1], "an option", 0, TH_PATH_LEN_MAX, err);
		if (code)
			return code;
		if (strcmp(*options, "format") == 0) {
			format = th_names_find(formats, th_str_of(options[1]));
			if (format < 0)
				return th_api_fail(err, TH_EUSAGE,
						   "format is jpeg, webp, png or terminal");
			o->format = formats[format];
		} else if (strcmp(*options, "quality") == 0) {
			code = read_number("quality", options[1], 100, &o->quality, err);
		} else if (strcmp(*options, "rate") == 0) {
			code = read_number("rate", options[1], TH_LIVE_RATE_MAX, &o->rate, err);
		} else {
			return th_api_fail(err, TH_EUSAGE,
					   "there is no option \"%.64s\" of a live view", *options);
		}
	}
	return code;
}

static void on_new(void *ctx)
{
	struct thole_screen *s = ctx;

	s->fn(s->ctx, s);
}

int thole_screen_watch(struct thole_runtime *rt, const char *session_id, const char *const *options,
		       thole_screen_fn *fn, void *ctx, struct thole_screen **ret,
		       struct thole_error *err)
{
	struct th_screen_options o = { .session = th_str_of(session_id),
				       .format = "jpeg",
				       .quality = 80,
				       .rate = TH_LIVE_RATE_DEFAULT };
	struct thole_screen *s;
	struct th_err e = { 0 };
	enum th_code opened;
	int code = th_api_enter(rt, err);

	if (!code)
		code = th_api_text(session_id, "the session's name", 1, TH_SESSION_ID_MAX, err);
	if (!code && (!fn || !ret))
		code = th_api_fail(err, TH_EUSAGE, "fn or ret is NULL");
	if (!code)
		code = read_options(options, &o, err);
	if (code)
		return code;
	s = th_alloc(sizeof(*s));
	*s = (struct thole_screen){ .rt = rt, .fn = fn, .ctx = ctx, .next = rt->screens };
	opened = th_screen_new(rt->rt, &o, on_new, s, &s->screen, &e);
	if (opened) {
		free(s);
		return th_api_out(opened, &e, err);
	}
	if (s->next)
		s->next->prev = s;
	rt->screens = s;
	*ret = s;
	return TH_OK;
}

void thole_screen_free(struct thole_screen *s)
{
	if (!s || th_api_enter(s->rt, NULL))
		return;
	if (s->prev)
		s->prev->next = s->next;
	else
		s->rt->screens = s->next;
	if (s->next)
		s->next->prev = s->prev;
	th_screen_free(s->screen);
	free(s->reason);
	free(s);
}

void th_api_screens_end(struct thole_runtime *rt)
{
	while (rt->screens) {
		struct thole_screen *s = rt->screens;

		rt->screens = s->next;
		th_screen_free(s->screen);
		free(s->reason);
		free(s);
	}
}

struct taking {
	thole_tile_fn *fn;
	void *ctx;
};

static void on_tile(void *ctx, struct th_rect at, struct th_str picture)
{
	const struct taking *t = ctx;

	t->fn(t->ctx, at.x, at.y, at.width, at.height, picture.ptr, picture.len);
}

int thole_screen_take(struct thole_screen *s, thole_tile_fn *fn, void *ctx, struct thole_error *err)
{
	struct taking t = { fn, ctx };
	int code = s ? th_api_enter(s->rt, err) : th_api_fail(err, TH_EUSAGE, "the screen is NULL");

	if (!code && !fn)
		code = th_api_fail(err, TH_EUSAGE, "fn is NULL");
	if (!code)
		th_screen_take(s->screen, on_tile, &t);
	return code;
}

int thole_screen_width(const struct thole_screen *s)
{
	return s ? th_screen_size(s->screen).width : 0;
}

int thole_screen_height(const struct thole_screen *s)
{
	return s ? th_screen_size(s->screen).height : 0;
}

const char *thole_screen_reason(const struct thole_screen *s)
{
	struct thole_screen *keeper = (struct thole_screen *)(uintptr_t)s;

	if (!s || th_screen_size(s->screen).width > 0)
		return NULL;
	free(keeper->reason);
	keeper->reason = th_api_copy(th_screen_reason(s->screen));
	return keeper->reason;
}

bool thole_screen_pointer(const struct thole_screen *s, int *ret_x, int *ret_y)
{
	struct th_point at;

	if (!s || !ret_x || !ret_y || !th_screen_pointer(s->screen, &at))
		return false;
	*ret_x = at.x;
	*ret_y = at.y;
	return true;
}
