/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tabs.c - the tabs of a browser: which there are, which is looked at, another one: see browser.h.
 */
#include <stdio.h>

#include "base/limits.h"
#include "browser/tabs.h"

/* ---- finding ---- */

struct th_browser_tab *th_browser_tab_find(struct th_browser *b, int32_t number)
{
	for (size_t i = 0; i < b->tab_count; i++)
		if (b->tabs[i].number == number)
			return &b->tabs[i];
	return NULL;
}

struct th_browser_session *th_browser_session_find(struct th_browser *b, struct th_str id)
{
	for (size_t i = 0; i < b->session_count; i++)
		if (id.len > 0 && th_str_is(id, b->sessions[i].id))
			return &b->sessions[i];
	return NULL;
}

struct th_browser_tab *th_browser_tab_of(struct th_browser *b, struct th_str session)
{
	const struct th_browser_session *s = th_browser_session_find(b, session);

	return s ? th_browser_tab_find(b, s->tab) : NULL;
}

struct th_browser_session *th_browser_session_of(struct th_browser *b, int32_t space)
{
	for (size_t i = 0; i < b->session_count; i++)
		if (b->sessions[i].space == space)
			return &b->sessions[i];
	return NULL;
}

/* ---- what is shown ---- */

enum th_code th_browser_post_flag(struct th_browser *b, const char *session, const char *method,
				  const char *member, bool value, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, session, method);

	if (member)
		th_jw_kbool(w, member, value);
	return th_browser_post(b, err);
}

static enum th_code screencast(struct th_browser *b, const struct th_browser_tab *tab, bool on,
			       struct th_err *err)
{
	struct th_jw *w =
	    th_browser_begin(b, tab->session, on ? "Page.startScreencast" : "Page.stopScreencast");

	/* We only need the event that something was drawn, so the picture is as small as possible.
	 */
	if (on) {
		th_jw_kstr(w, "format", TH_STR("jpeg"));
		th_jw_kint(w, "quality", 1);
		th_jw_kint(w, "maxWidth", 16);
		th_jw_kint(w, "maxHeight", 16);
	}
	return th_browser_post(b, err);
}

enum th_code th_browser_show(struct th_browser *b, struct th_browser_tab *tab, struct th_err *err)
{
	const struct th_browser_tab *before = th_browser_tab_find(b, b->active);
	enum th_code code = TH_OK;

	if (before == tab)
		return TH_OK;
	if (before)
		code = screencast(b, before, false, err);
	b->active = tab->number;
	b->drawn++;
	if (!code)
		code = th_browser_post_flag(b, tab->session, "Page.bringToFront", NULL, false, err);
	return code ?: screencast(b, tab, true, err);
}

/* We do not wait for the answer: a page that hangs gives none. */
enum th_code th_browser_to_front(struct th_browser *b, struct th_err *err)
{
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	return tab ? th_browser_post_flag(b, tab->session, "Page.bringToFront", NULL, false, err)
		   : TH_OK;
}

enum th_code th_browser_fit(struct th_browser *b, struct th_err *err)
{
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);
	const struct th_json *result;

	if (!b->screen || !tab)
		return TH_OK;
	th_browser_begin(b, tab->session, "Page.getLayoutMetrics");
	enum th_code code = th_browser_call(b, &result, err);
	if (code || !result)
		return code;
	const struct th_json *view = th_json_get(result, "cssLayoutViewport");
	int64_t width = th_json_get_int(view, "clientWidth", 0);
	int64_t height = th_json_get_int(view, "clientHeight", 0);
	if (width > 0 && height > 0 && width <= TH_SCREEN_SIDE_MAX && height <= TH_SCREEN_SIDE_MAX)
		b->size = (struct th_size){ (int32_t)width, (int32_t)height };
	return TH_OK;
}

/* ---- asking for one ---- */

enum th_code th_browser_target_open(struct th_browser *b, struct th_str url, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, "", "Target.createTarget");

	th_jw_kstr(w, "url", url);
	return th_browser_post(b, err);
}

enum th_code th_browser_target_close(struct th_browser *b, struct th_str target, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, "", "Target.closeTarget");

	th_jw_kstr(w, "targetId", target);
	return th_browser_post(b, err);
}

enum th_code th_browser_tabs_begin(struct th_browser *b, struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_START_MS * INT64_C(1000);
	struct th_jw *w = th_browser_begin(b, "", "Target.setDiscoverTargets");

	th_jw_kbool(w, "discover", true);
	enum th_code code = th_browser_call(b, NULL, err);
	if (!code)
		code = th_browser_attach(b, "", "page", err);
	while (!code && b->tab_count == 0)
		code = th_browser_pump(b, until, err);
	if (!code)
		code = th_browser_downloads_begin(b, err);
	return code == TH_ETIMEOUT
		   ? th_fail(err, TH_ETIMEOUT, "the browser showed no page for %d ms",
			     TH_BROWSER_START_MS)
		   : code;
}

/* A tab whose process died is closed, and its address is opened in a new one, a few times. */
static enum th_code begin_anew(struct th_browser *b, const struct th_browser_tab *tab,
			       struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_REPLY_MS * INT64_C(1000);
	int32_t last = b->last_tab;
	bool again = b->crashes++ < TH_BROWSER_CRASHES_MAX;
	char crash[sizeof(tab->crash)];

	memcpy(crash, tab->crash, sizeof(crash)); /* the array of tabs moves */
	enum th_code code =
	    th_browser_target_open(b, again ? th_str_of(tab->url) : TH_STR("about:blank"), err);

	if (!code)
		code = th_browser_target_close(b, th_str_of(tab->target), err);
	while (!code && b->last_tab == last)
		code = th_browser_pump(b, until, err);
	if (code == TH_ETIMEOUT)
		return th_fail(err, TH_ECONN, "the page crashed, and no other could be opened");
	return code
		   ?: th_fail(err, TH_EIO,
			      again ? "the page crashed (%s) and is loaded again (%u of %d)"
				    : "the page crashed (%s; %u times; it is loaded "
				      "again %d times at most) and is closed",
			      crash, b->crashes, TH_BROWSER_CRASHES_MAX);
}

enum th_code th_browser_tab(struct th_browser *b, struct th_browser_tab **ret, struct th_err *err)
{
	struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	/* The last one was closed: a new one is on its way. */
	int64_t until = th_browser_now_us() + TH_BROWSER_REPLY_MS * INT64_C(1000);
	enum th_code code = TH_OK;
	while (!code && !(tab = th_browser_tab_find(b, b->active)))
		code = th_browser_pump(b, until, err);
	if (code)
		return code == TH_ETIMEOUT ? th_fail(err, TH_ECONN, "the browser has no tab")
					   : code;
	if (tab->crashed)
		return begin_anew(b, tab, err);
	*ret = tab;
	if (!tab->dialog.open)
		return TH_OK;
	return th_fail(err, TH_EBUSY, "the page shows a dialog (%s \"%s\") and waits for its end",
		       tab->dialog.type, th_str_sub(th_str_of(tab->dialog.message), 0, 200).ptr);
}

enum th_code th_browser_tab_new(struct th_browser *b, struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_REPLY_MS * INT64_C(1000);
	int32_t last = b->last_tab;

	if (b->tab_count == TH_BROWSER_TABS_MAX)
		return th_fail(err, TH_ELIMIT, "%d tabs are open, the maximum; close one",
			       TH_BROWSER_TABS_MAX);
	enum th_code code = th_browser_target_open(b, TH_STR("about:blank"), err);
	while (!code && b->last_tab == last)
		code = th_browser_pump(b, until, err);
	return code == TH_ETIMEOUT ? th_fail(err, TH_EIO, "the new tab did not come") : code;
}

enum th_code th_browser_tab_close(struct th_browser *b, int32_t number, struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_REPLY_MS * INT64_C(1000);
	const struct th_browser_tab *tab = th_browser_tab_find(b, number);

	unsigned dialog = tab->dialog.number;
	enum th_code code = th_browser_target_close(b, th_str_of(tab->target), err);
	while (!code && (tab = th_browser_tab_find(b, number)) && tab->dialog.number == dialog)
		code = th_browser_pump(b, until, err);
	return code == TH_ETIMEOUT ? th_fail(err, TH_EIO, "the tab does not close") : code;
}
