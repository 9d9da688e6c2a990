/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_terminal.c - live views of the session's shell: the rows of its terminal
 * that changed, as tiles of one row.
 *
 * As with a screen, a view gets one frame and no other before it asks for the
 * next, and none before its interval is over: a flood costs a screenful a frame.
 */
#include "executor/state.h"

#include <stdlib.h>

#include "base/geom.h"
#include "base/hash.h"
#include "base/limits.h"
#include "io/clock.h"
#include "tools/bash_view.h"

#define ROWS TH_TERMINAL_ROWS
#define COLUMNS TH_TERMINAL_COLUMNS

struct th_exec_terminal_view {
	struct th_exec_terminal_view *next; /* of the executor */
	struct th_executor_server *x;
	th_exec_frame_fn *fn;
	void *ctx;
	struct th_timer timer;
	uint64_t interval_ms, sent_ms;
	bool asked, dirty;   /* it takes a frame; something may be new */
	bool told, there;    /* whether there is a shell, and that it was said */
	uint64_t rows[ROWS]; /* hashes of what it has */
	struct th_point at;  /* of the cursor */
};

/* The frame of a terminal; false: nothing of it is new. */
static bool put_rows(struct th_exec_terminal_view *v, struct th_terminal *t, struct th_buf *tiles,
		     struct th_buf *bytes)
{
	struct th_buf row TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_TERMINAL_ROW_MAX);
	struct th_jw w = th_jw(tiles);
	bool any = !v->there;

	th_jw_array(&w);
	for (int i = 0; i < ROWS; i++) {
		th_buf_clear(&row);
		th_terminal_row(t, i, &row);
		uint64_t hash = th_hash64(row.ptr ? row.ptr : "", row.len);
		if (v->there && hash == v->rows[i])
			continue;
		const int64_t tile[] = { 0, i, COLUMNS, 1, (int64_t)row.len };
		v->rows[i] = hash;
		any = true;
		th_jw_array(&w);
		for (size_t n = 0; n < TH_COUNT(tile); n++)
			th_jw_int(&w, tile[n]);
		th_jw_array_end(&w);
		th_buf_add(bytes, th_buf_str(&row));
	}
	th_jw_array_end(&w);
	return any;
}

static void send_now(struct th_exec_terminal_view *v)
{
	struct th_buf tiles TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf bytes TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(ROWS * TH_TERMINAL_ROW_MAX);
	struct th_terminal *t = th_bash_terminal(&v->x->env);
	struct th_exec_frame m = { .op = TH_STR("frame"), .tiles = TH_STR("[]") };
	bool any = !v->told || v->there != (t != NULL);
	struct th_point at = { 0 };

	v->dirty = false;
	if (t) {
		th_terminal_cursor(t, &at.x, &at.y);
		any |= put_rows(v, t, &tiles, &bytes) || at.x != v->at.x || at.y != v->at.y;
		m.width = COLUMNS;
		m.height = ROWS;
		m.pointer = true;
		m.x = at.x;
		m.y = at.y;
		m.tiles = th_buf_str(&tiles);
	} else {
		m.reason = TH_STR("no shell of the tool bash runs");
	}
	if (!any)
		return;
	/* That there is none is said unasked, and answers nothing. */
	v->asked &= t == NULL;
	v->told = true;
	v->there = t != NULL;
	v->at = at;
	v->sent_ms = th_clock_ms();
	v->fn(v->ctx, &m, th_buf_str(&bytes));
}

static void on_timer(void *ctx)
{
	struct th_exec_terminal_view *v = (struct th_exec_terminal_view *)ctx;

	if (v->asked && v->dirty)
		send_now(v);
}

/* Also the first change is told a moment later: what is printed is more than its first bytes. */
static void look_soon(struct th_exec_terminal_view *v)
{
	uint64_t now_ms = th_clock_ms(), at_ms = v->sent_ms + v->interval_ms;

	if (v->asked && v->dirty && !th_timer_running(&v->timer))
		th_timer_start(&v->timer, at_ms > now_ms ? at_ms - now_ms : 1, 0);
}

static void on_change(void *ctx)
{
	struct th_executor_server *x = (struct th_executor_server *)ctx;

	for (struct th_exec_terminal_view *v = x->terminal_views; v; v = v->next) {
		v->dirty = true;
		look_soon(v);
	}
}

struct th_exec_terminal_view *th_exec_terminal_view_new(struct th_executor_server *x,
							uint64_t interval_ms, th_exec_frame_fn *fn,
							void *ctx)
{
	struct th_exec_terminal_view *v = (struct th_exec_terminal_view *)th_alloc(sizeof(*v));

	v->x = x;
	v->fn = fn;
	v->ctx = ctx;
	v->interval_ms = TH_MAX(interval_ms, (uint64_t)(1000 / TH_LIVE_RATE_MAX));
	v->asked = v->dirty = true;
	v->next = x->terminal_views;
	x->terminal_views = v;
	x->env.bash_viewer.changed = on_change;
	x->env.bash_viewer.ctx = x;
	th_timer_init(&v->timer, x->loop, on_timer, v);
	look_soon(v);
	return v;
}

void th_exec_terminal_view_next(struct th_exec_terminal_view *v)
{
	v->asked = true;
	look_soon(v);
}

struct th_exec_terminal_view *th_exec_terminal_view_free(struct th_exec_terminal_view *v)
{
	struct th_exec_terminal_view **at;

	if (!v)
		return NULL;
	for (at = &v->x->terminal_views; *at != v; at = &(*at)->next)
		;
	*at = v->next;
	th_timer_stop(&v->timer);
	free(v);
	return NULL;
}
