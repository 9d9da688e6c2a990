/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - the elements that are on the screen now, each with the
 * number that snapshots give it: see browser.h.
 *
 * Positions are asked for one by one, since an element may be in a frame of another
 * process.  What a page draws in a canvas is no element: computer/marked.h reads its words.
 *
 * Where a page is on a screen is asked in a world of our own, in which the page's scripts can
 * change nothing.
 */
#include "base/limits.h"
#include "browser/browser.h"

/* Of a page on a screen. */
struct place {
	struct th_size screen;
	double x, y, scale; /* of a pixel of the page */
};

/* In pixels of the screen.  What is scrolled out of view has none: other things are there. */
static struct th_rect on_screen(const struct place *p, struct th_rect box, struct th_size page)
{
	box = th_rect_clip(box, page);
	return (
	    struct th_rect){ (int32_t)(p->x + box.x * p->scale), (int32_t)(p->y + box.y * p->scale),
			     (int32_t)(box.width * p->scale), (int32_t)(box.height * p->scale) };
}

static enum th_code add_all(struct th_browser *b, const struct place *place, struct th_marks *m,
			    struct th_err *err)
{
	enum th_code code = th_browser_snapshot(b, false, err);
	const struct th_page_element *list;
	size_t count;

	if (code)
		return code;
	list = th_page_elements(b->page, &count);
	m->left_out += count - TH_MIN(count, (size_t)TH_BROWSER_MARKS_ASKED_MAX);
	for (size_t i = 0; i < count && i < TH_BROWSER_MARKS_ASKED_MAX; i++) {
		struct th_browser_element e;
		struct th_mark *mark;
		struct th_err why;

		code = th_browser_element(b, list[i].number, &e, &why);
		if (!code)
			code = th_browser_box(b, &e, &why);
		if (code == TH_EUSAGE) /* it is hidden, or went meanwhile */
			continue;
		if (code) {
			*err = why;
			return code;
		}
		mark =
		    th_marks_add(m, place->screen, TH_MARK_TREE, on_screen(place, e.box, b->size),
				 th_str_of(list[i].role), list[i].name);
		if (mark)
			mark->number = list[i].number;
	}
	return TH_OK;
}

enum th_code th_browser_marks(struct th_computer *c, struct th_marks *m, int32_t **ret_last,
			      struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	const struct place place = { .screen = b->size, .scale = 1 };

	*ret_last = &b->refs.last;
	return add_all(b, &place, m, err);
}

/* ---- in a window ---- */

/* A window's frame is as wide below as at its sides; its bars are above the page. */
static const char where[] =
    "[document.visibilityState==='visible',screenX,screenY,outerWidth,outerHeight,innerWidth,"
    "innerHeight,devicePixelRatio]";

enum { SHOWN, LEFT, TOP, WIDTH, HEIGHT, PAGE_WIDTH, PAGE_HEIGHT, SCALE };

static enum th_code find_place(struct th_browser *b, const struct th_browser_tab *tab,
			       struct place *ret, bool *ret_shown, struct th_err *err)
{
	const struct th_json *result;
	double n[SCALE + 1] = { 0 };
	struct th_jw *w = th_browser_begin(b, tab->session, "Page.createIsolatedWorld");

	*ret_shown = false;
	th_jw_kstr(w, "frameId", th_str_of(tab->frame));
	th_jw_kstr(w, "worldName", TH_STR("thole"));
	enum th_code code = th_browser_call(b, &result, err);
	if (code || !result)
		return code;
	int64_t world = th_json_get_int(result, "executionContextId", 0);
	w = th_browser_begin(b, tab->session, "Runtime.evaluate");
	th_jw_kstr(w, "expression", th_str_of(where));
	th_jw_kint(w, "contextId", world);
	th_jw_kbool(w, "returnByValue", true);
	code = th_browser_call(b, &result, err);
	if (code || !result)
		return code;
	const struct th_json *list = th_json_get(th_json_get(result, "result"), "value");
	for (size_t i = LEFT; i <= SCALE; i++) {
		n[i] = th_json_num(th_json_at(list, i), 0);
		if (!(n[i] >= -TH_SCREEN_SIDE_MAX && n[i] <= TH_SCREEN_SIDE_MAX))
			return th_fail(err, TH_EIO, "the browser does not say where its page is");
	}
	double side = TH_MAX((n[WIDTH] - n[PAGE_WIDTH] * n[SCALE]) / 2, 0.0);
	ret->x = n[LEFT] + side;
	ret->y = n[TOP] + n[HEIGHT] - side - n[PAGE_HEIGHT] * n[SCALE];
	ret->scale = n[SCALE];
	*ret_shown = th_json_bool(th_json_at(list, SHOWN), false) && n[SCALE] > 0;
	return TH_OK;
}

enum th_code th_browser_marks_on(struct th_browser *b, struct th_size screen, struct th_marks *m,
				 struct th_rect *ret_page, struct th_err *err)
{
	const struct th_rect all = { 0, 0, INT16_MAX, INT16_MAX };
	struct place place = { .screen = screen };
	struct th_browser_tab *tab;
	bool shown = false;
	enum th_code code = th_browser_tab(b, &tab, err);

	*ret_page = (struct th_rect){ 0 };
	code = code ?: th_browser_fit(b, err);
	code = code ?: find_place(b, tab, &place, &shown, err);
	if (code || !shown)
		return code;
	*ret_page = on_screen(&place, all, b->size);
	return add_all(b, &place, m, err);
}
