/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - the terminal of a session's shell as a WebSocket: the rows that
 * changed, as texts.  docs/HTTP.md has the messages.
 *
 * All else is as of a screen: who is slow, who has taken over, and who is told
 * that (viewer.h).
 */
#include <stdlib.h>

#include "sessions_api/viewer.h"

struct rows {
	struct th_jw w;
	int count;
};

static void on_row(void *ctx, int x, int y, int width, int height, const void *bytes, size_t size)
{
	struct rows *r = ctx;

	(void)x;
	(void)width;
	(void)height;
	th_jw_array(&r->w);
	th_jw_int(&r->w, y);
	th_jw_str(&r->w, th_str_n(bytes, size));
	th_jw_array_end(&r->w);
	r->count++;
}

static void put_size(struct th_viewer *v, struct th_jw *w)
{
	th_jw_kstr(w, "type", TH_STR("terminal"));
	th_jw_kint(w, "columns", v->width);
	th_jw_kint(w, "rows", v->height);
}

static void say_rows(struct th_viewer *v)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct rows r = { .w = th_jw(&json) };
	int x = -1, y = -1;
	bool at = thole_screen_pointer(v->screen, &x, &y);
	bool moved = x != v->x || y != v->y;

	th_jw_object(&r.w);
	th_jw_kstr(&r.w, "type", TH_STR("rows"));
	th_jw_key(&r.w, TH_STR("rows"));
	th_jw_array(&r.w);
	if (thole_screen_take(v->screen, on_row, &r, NULL) != 0)
		return;
	th_jw_array_end(&r.w);
	if (at) {
		th_jw_key(&r.w, TH_STR("cursor"));
		th_jw_array(&r.w);
		th_jw_int(&r.w, x);
		th_jw_int(&r.w, y);
		th_jw_array_end(&r.w);
	}
	th_jw_object_end(&r.w);
	v->x = x;
	v->y = y;
	if (r.count || moved)
		(void)th_viewer_say(v, &json);
}

static const struct th_viewer_form form = {
	.what = "terminal", .terminal = true, .put_size = put_size, .say_new = say_rows
};

void th_api_session_terminal(struct th_access *a)
{
	th_viewer_begin(a, &form);
}
