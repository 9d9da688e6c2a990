/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - snapshots of a page, and its elements by their number: see
 * browser.h.
 *
 * A snapshot asks for the accessibility tree of each frame, in whichever process,
 * and joins them (wire/page.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "browser/browser.h"

static void free_trees(struct th_browser *b)
{
	while (b->tree_count > 0)
		th_json_free(b->trees[--b->tree_count]);
}

void th_browser_page_deinit(struct th_browser *b)
{
	free_trees(b);
	b->page = th_page_free(b->page);
	b->shown = th_page_free(b->shown);
	th_page_refs_deinit(&b->refs);
}

/* ---- frames ---- */

/* Stores one answer: its values are needed until the snapshot is made. */
static const struct th_json *keep_answer(struct th_browser *b, const struct th_json *result)
{
	if (!result || b->tree_count == TH_COUNT(b->trees))
		return NULL;
	b->trees[b->tree_count++] = b->answer_doc;
	b->answer_doc = NULL;
	return result;
}

/* A frame that was removed meanwhile is no error. */
static enum th_code ask_frame(struct th_browser *b, const char *session, const char *method,
			      struct th_str frame, const struct th_json **ret, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, session, method);

	if (frame.len > 0)
		th_jw_kstr(w, "frameId", frame);
	enum th_code code = th_browser_call(b, ret, err);
	return code == TH_EIO ? TH_OK : code;
}

static enum th_code add_tree(struct th_browser *b, const struct th_browser_session *s,
			     struct th_str frame, int *ret, struct th_err *err)
{
	const struct th_json *result;
	enum th_code code = ask_frame(b, s->id, "Accessibility.getFullAXTree", frame, &result, err);

	*ret = -1;
	result = code ? NULL : keep_answer(b, result);
	if (result)
		*ret = th_page_add(b->page, s->space, th_json_get(result, "nodes"));
	return code;
}

static enum th_code hang(struct th_browser *b, const struct th_browser_session *in,
			 struct th_str frame, int index, struct th_err *err)
{
	const struct th_json *result;
	enum th_code code = ask_frame(b, in->id, "DOM.getFrameOwner", frame, &result, err);

	if (!code && result)
		th_page_hang(b->page, index, in->space,
			     th_json_get_int(result, "backendNodeId", 0));
	return code;
}

/* The child frames in the same process. */
static enum th_code add_inner(struct th_browser *b, const struct th_browser_session *s,
			      const struct th_json *tree, int depth, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(tree, "childFrames"));
	enum th_code code = TH_OK;
	int index;

	while (!code && depth < TH_PAGE_FRAMES_MAX && th_json_next(&it)) {
		struct th_str id = th_json_get_str(th_json_get(it.val, "frame"), "id");
		code = add_tree(b, s, id, &index, err);
		if (!code && index >= 0)
			code = hang(b, s, id, index, err);
		if (!code && index >= 0)
			code = add_inner(b, s, it.val, depth + 1, err);
	}
	return code;
}

static enum th_code add_session(struct th_browser *b, const struct th_browser_session *s,
				const struct th_browser_session *parent, struct th_err *err)
{
	const struct th_json *result;
	struct th_json_doc *doc;
	int index;
	enum th_code code = add_tree(b, s, TH_STR(""), &index, err);

	if (code || index < 0)
		return code;
	if (parent)
		code = hang(b, parent, th_str_of(s->target), index, err);
	if (!code)
		code = ask_frame(b, s->id, "Page.getFrameTree", TH_STR(""), &result, err);
	if (code || !result)
		return code;
	doc = b->answer_doc;
	b->answer_doc = NULL;
	code = add_inner(b, s, th_json_get(result, "frameTree"), 0, err);
	th_json_free(doc);
	return code;
}

/* Sessions come and go while we ask: a copy of those of the tab. */
static enum th_code add_all(struct th_browser *b, const struct th_browser_tab *tab,
			    struct th_err *err)
{
	struct th_browser_session *copy = th_alloc(sizeof(b->sessions));
	size_t count = b->session_count;
	int32_t number = tab->number;
	char top[TH_BROWSER_ID_SIZE];
	enum th_code code = TH_OK;

	memcpy(copy, b->sessions, sizeof(b->sessions));
	memcpy(top, tab->session, sizeof(top));
	for (size_t i = 0; i < count && !code; i++)
		if (strcmp(copy[i].id, top) == 0)
			code = add_session(b, &copy[i], NULL, err);
	for (size_t i = 0; i < count && !code; i++) {
		const struct th_browser_session *parent = NULL;
		if (copy[i].tab != number || strcmp(copy[i].id, top) == 0)
			continue;
		for (size_t k = 0; k < count; k++)
			if (strcmp(copy[k].id, copy[i].parent) == 0)
				parent = &copy[k];
		if (parent)
			code = add_session(b, &copy[i], parent, err);
	}
	free(copy);
	return code;
}

enum th_code th_browser_snapshot(struct th_browser *b, bool plain, struct th_err *err)
{
	struct th_browser_tab *tab;
	enum th_code code = th_browser_tab(b, &tab, err);

	if (code)
		return code;
	b->page = b->page ?: th_page_new();
	th_page_begin(b->page);
	code = add_all(b, tab, err);
	if (!code)
		th_page_write(b->page, plain ? NULL : &b->refs);
	free_trees(b);
	return code ?: th_browser_tab(b, &tab, err);
}

void th_browser_shown(struct th_browser *b)
{
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);
	struct th_page *page = b->shown;

	b->shown = b->page;
	b->page = page;
	b->shown_tab = b->active;
	b->shown_document = tab ? tab->documents : 0;
}

/* ---- elements ---- */

enum th_code th_browser_element(struct th_browser *b, int64_t ref, struct th_browser_element *ret,
				struct th_err *err)
{
	const struct th_page_ref *r =
	    ref <= INT32_MAX ? th_page_refs_find(&b->refs, (int32_t)ref) : NULL;
	const struct th_browser_session *s = r ? th_browser_session_of(b, r->space) : NULL;

	if (!r && ref > 0 && ref <= b->refs.last)
		return th_fail(err, TH_EUSAGE,
			       "%lld is a mark outside of the page, or long gone: the computer's "
			       "actions reach it",
			       (long long)ref);
	if (!r)
		return th_fail(err, TH_EUSAGE,
			       "no snapshot has shown an element %lld: take a snapshot",
			       (long long)ref);
	if (!s)
		return th_fail(err, TH_EUSAGE,
			       "element %lld is of a page that is no longer there: take a snapshot",
			       (long long)ref);
	if (s->tab != b->active)
		return th_fail(err, TH_EUSAGE, "element %lld is in tab %d, which is not looked at",
			       (long long)ref, s->tab);
	*ret = (struct th_browser_element){ .node = r->node };
	memcpy(ret->session, s->id, sizeof(ret->session));
	return TH_OK;
}

enum th_code th_browser_on_element(struct th_browser *b, const struct th_browser_element *e,
				   const char *function, struct th_str argument,
				   const struct th_json **ret, struct th_err *err)
{
	const struct th_json *result;
	char object[128];
	struct th_jw *w = th_browser_begin(b, e->session, "DOM.resolveNode");

	*ret = NULL;
	th_jw_kint(w, "backendNodeId", e->node);
	th_jw_kstr(w, "objectGroup", TH_STR("step"));
	enum th_code code = th_browser_call(b, &result, err);
	if (code == TH_EIO)
		return th_fail(err, TH_EUSAGE,
			       "the element is no longer on the page: take a snapshot");
	if (code || !result)
		return code;
	struct th_str id = th_json_get_str(th_json_get(result, "object"), "objectId");
	if (id.len == 0 || id.len >= sizeof(object))
		return th_fail(err, TH_EIO, "the browser does not name the element");
	snprintf(object, sizeof(object), "%.*s", TH_FMT(id));
	w = th_browser_begin(b, e->session, "Runtime.callFunctionOn");
	th_jw_kstr(w, "functionDeclaration", th_str_of(function));
	th_jw_kstr(w, "objectId", th_str_of(object));
	th_jw_kbool(w, "returnByValue", true);
	th_jw_kbool(w, "userGesture", true);
	th_jw_name(w, TH_STR("arguments"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "value", argument);
	th_jw_object_end(w);
	th_jw_array_end(w);
	code = th_browser_call(b, &result, err);
	if (!code && result)
		*ret = th_json_get(th_json_get(result, "result"), "value");
	return code;
}

/* ---- where an element is ---- */

/* The box around a list of eight numbers. */
static bool box_of(const struct th_json *quad, double *x, double *y, double *width, double *height)
{
	double least[2] = { 1e9, 1e9 }, most[2] = { -1e9, -1e9 };

	if (th_json_count(quad) != 8)
		return false;
	for (size_t i = 0; i < 8; i++) {
		double v = th_json_num(th_json_at(quad, i), 0);
		v = v < -1e6 ? -1e6 : v > 1e6 ? 1e6 : v;
		least[i % 2] = TH_MIN(least[i % 2], v);
		most[i % 2] = TH_MAX(most[i % 2], v);
	}
	*x = least[0];
	*y = least[1];
	*width = most[0] - least[0];
	*height = most[1] - least[1];
	return true;
}

/* How far the frame of a session is from the corner of the screen. */
static enum th_code frame_offset(struct th_browser *b, const char *session, double *x, double *y,
				 struct th_err *err)
{
	char at[TH_BROWSER_ID_SIZE], target[TH_BROWSER_ID_SIZE];
	const struct th_json *result;
	double dx, dy, width, height;
	enum th_code code = TH_OK;

	memcpy(at, session, sizeof(at));
	for (size_t depth = 0; depth < TH_PAGE_FRAMES_MAX; depth++) {
		const struct th_browser_session *s = NULL;
		for (size_t i = 0; i < b->session_count; i++)
			if (strcmp(b->sessions[i].id, at) == 0)
				s = &b->sessions[i];
		if (!s || !s->parent[0])
			return TH_OK;
		memcpy(at, s->parent, sizeof(at));
		memcpy(target, s->target, sizeof(target));
		code = ask_frame(b, at, "DOM.getFrameOwner", th_str_of(target), &result, err);
		if (code || !result)
			return code;
		int64_t node = th_json_get_int(result, "backendNodeId", 0);
		struct th_jw *w = th_browser_begin(b, at, "DOM.getBoxModel");
		th_jw_kint(w, "backendNodeId", node);
		code = th_browser_call(b, &result, err);
		if (code || !result)
			return code;
		if (box_of(th_json_get(th_json_get(result, "model"), "content"), &dx, &dy, &width,
			   &height)) {
			*x += dx;
			*y += dy;
		}
	}
	return TH_OK;
}

enum th_code th_browser_box(struct th_browser *b, struct th_browser_element *e, struct th_err *err)
{
	const struct th_json *result;
	double x = 0, y = 0, width = 0, height = 0, dx = 0, dy = 0;
	struct th_jw *w = th_browser_begin(b, e->session, "DOM.getContentQuads");
	bool found = false;

	th_jw_kint(w, "backendNodeId", e->node);
	enum th_code code = th_browser_call(b, &result, err);
	if (code && code != TH_EIO)
		return code;
	struct th_json_iter it = th_json_iter(code ? NULL : th_json_get(result, "quads"));
	while (!found && th_json_next(&it))
		found = box_of(it.val, &x, &y, &width, &height) && width >= 1 && height >= 1;
	if (!found)
		return th_fail(err, TH_EUSAGE,
			       "the element has no place on the page: it is hidden");
	code = frame_offset(b, e->session, &dx, &dy, err);
	if (code)
		return code;
	e->box = (struct th_rect){ (int32_t)(x + dx), (int32_t)(y + dy), (int32_t)width,
				   (int32_t)height };
	e->at = (struct th_point){ (int32_t)(x + dx + width / 2), (int32_t)(y + dy + height / 2) };
	return TH_OK;
}

enum th_code th_browser_reach(struct th_browser *b, struct th_browser_element *e,
			      struct th_err *err)
{
	const struct th_json *result;
	struct th_jw *w = th_browser_begin(b, e->session, "DOM.scrollIntoViewIfNeeded");

	th_jw_kint(w, "backendNodeId", e->node);
	enum th_code code = th_browser_call(b, &result, err);
	if (code == TH_EIO)
		return th_fail(err, TH_EUSAGE,
			       "the element is not shown, or no longer on the page: take a "
			       "snapshot");
	if (!code)
		code = th_browser_fit(b, err);
	if (!code)
		code = th_browser_box(b, e, err);
	if (code)
		return code;
	/* Of what is larger than the screen, the part on it. */
	struct th_rect seen = th_rect_clip(e->box, b->size);
	if (!th_size_has(b->size, e->at) && seen.width > 0 && seen.height > 0)
		e->at = (struct th_point){ seen.x + seen.width / 2, seen.y + seen.height / 2 };
	return th_size_has(b->size, e->at)
		   ? TH_OK
		   : th_fail(err, TH_EUSAGE, "the element cannot be brought onto the screen");
}
