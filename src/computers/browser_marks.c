/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser_marks.c - the elements that are on the screen now, each with the
 * number that snapshots give it: see browser.h.
 *
 * Places are asked for one by one, since an element may be in a frame of another
 * process.  What the page shows in a canvas is no element and gets no mark.
 */
#include "base/limits.h"
#include "computers/browser.h"

enum th_code th_browser_marks(struct th_computer *c, struct th_marks *m, int32_t **ret_last,
			      struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	enum th_code code = th_browser_snapshot(b, false, err);
	const struct th_page_element *list;
	size_t count;

	if (code)
		return code;
	*ret_last = &b->refs.last;
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
		mark = th_marks_add(m, b->size, TH_MARK_TREE, e.box, th_str_of(list[i].role),
				    list[i].name);
		if (mark)
			mark->number = list[i].number;
	}
	return TH_OK;
}
