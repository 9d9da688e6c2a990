/* SPDX-License-Identifier: Apache-2.0 */
/* go.c - to another page: by address, by history, past a dialog: see browser.h. */
#include "base/limits.h"
#include "base/text.h"
#include "browser/browser.h"

void th_browser_hops_begin(struct th_browser *b)
{
	for (size_t i = 0; i < b->tab_count; i++) {
		b->tabs[i].going = false;
		b->tabs[i].hops = 0;
		b->tabs[i].hops_since_us = th_browser_now_us();
	}
}

/* What the page did so far does not count any more. */
static void leave(struct th_browser_tab *tab)
{
	tab->going = true;
	tab->spun = false;
}

static bool may_open(struct th_str url)
{
	static const char *const schemes[] = { "http://", "https://", "data:" };

	for (size_t i = 0; i < TH_COUNT(schemes); i++)
		if (th_str_istarts(url, th_str_of(schemes[i])))
			return true;
	return th_str_is(url, "about:blank");
}

static enum th_code await_load(struct th_browser *b, struct th_browser_tab *tab,
			       uint64_t loads_before, struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_LOAD_MS * INT64_C(1000);
	int32_t number = tab->number;
	enum th_code code = TH_OK;

	/* The array moves when a tab closes. */
	while (!code && (tab = th_browser_tab_find(b, number)) && !tab->crashed &&
	       !tab->dialog.open && (tab->loading || tab->loads == loads_before))
		code = th_browser_idle(b, until, err);
	return code == TH_ETIMEOUT ? th_fail(err, TH_EIO, "the page was still loading after %d s",
					     TH_BROWSER_LOAD_MS / 1000)
				   : code;
}

static enum th_code navigate(struct th_browser *b, struct th_browser_tab *tab, struct th_str url,
			     struct th_err *err)
{
	const struct th_json *result;
	uint64_t loads = tab->loads;
	int32_t number = tab->number;
	struct th_jw *w = th_browser_begin(b, tab->session, "Page.navigate");
	TH_CLEANUP(th_buf_deinit) struct th_buf why = TH_BUF_INIT(TH_KIB);

	th_jw_kstr(w, "url", url);
	b->call_ms = TH_BROWSER_LOAD_MS;
	leave(tab);
	enum th_code code = th_browser_call(b, &result, err);
	th_browser_hops_begin(b);
	tab = th_browser_tab_find(b, number);
	if (code || !tab || !result)
		return code;
	struct th_str error = th_json_get_str(result, "errorText");
	if (error.len > 0) {
		th_text_line(&why, error, 100);
		return th_fail(err, TH_EUSAGE, "the page could not be opened: %s", why.ptr);
	}
	/* Navigation within the document loads nothing; a download continues by itself. */
	if (!th_json_get(result, "loaderId") ||
	    th_json_bool(th_json_get(result, "isDownload"), false))
		return TH_OK;
	return await_load(b, tab, loads, err);
}

enum th_code th_browser_open(struct th_browser *b, struct th_str url, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf whole = TH_BUF_INIT(TH_CLIPBOARD_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf line = TH_BUF_INIT(TH_KIB);
	struct th_browser_tab *tab;

	url = th_str_trim(url);
	/* As people write it: example.com/page, localhost:8000. */
	ptrdiff_t colon = th_str_find_char(url, ':');
	ptrdiff_t dot =
	    th_str_find_char(th_str_sub(url, 0, colon < 0 ? url.len : (size_t)colon), '.');
	if (!may_open(url) && th_str_find(url, TH_STR("://")) < 0 &&
	    (colon < 0 || dot >= 0 || th_str_istarts(url, TH_STR("localhost:")))) {
		th_buf_printf(&whole, "http://%.*s", TH_FMT(url));
		url = th_buf_str(&whole);
	}
	if (!may_open(url)) {
		th_text_line(&line, url, 80);
		return th_fail(err, TH_EPERM,
			       "\"%s\" is not opened: an address begins with http://, https:// or "
			       "data:, or is about:blank",
			       line.ptr);
	}
	enum th_code code = th_browser_tab(b, &tab, err);
	return code ?: navigate(b, tab, url, err);
}

enum th_code th_browser_history(struct th_browser *b, int by, struct th_err *err)
{
	const struct th_json *result, *entries, *entry;
	struct th_browser_tab *tab;
	enum th_code code = th_browser_tab(b, &tab, err);

	if (code)
		return code;
	uint64_t loads = tab->loads;
	int32_t number = tab->number;
	if (by == 0) {
		leave(tab);
		code = th_browser_tell(b, tab->session, "Page.reload", err);
	} else {
		th_browser_begin(b, tab->session, "Page.getNavigationHistory");
		code = th_browser_call(b, &result, err);
		if (code || !result)
			return code;
		entries = th_json_get(result, "entries");
		int64_t at = th_json_get_int(result, "currentIndex", 0) + by;
		entry = at < 0 ? NULL : th_json_at(entries, (size_t)at);
		if (!entry)
			return th_fail(err, TH_EUSAGE,
				       "there is no page %s this one in the history",
				       by < 0 ? "before" : "after");
		int64_t id = th_json_get_int(entry, "id", 0);
		tab = th_browser_tab_find(b, number); /* the array moves when a tab closes */
		if (!tab)
			return th_fail(err, TH_EIO, "the tab was closed meanwhile");
		leave(tab);
		struct th_jw *w = th_browser_begin(b, tab->session, "Page.navigateToHistoryEntry");
		th_jw_kint(w, "entryId", id);
		code = th_browser_call(b, NULL, err);
	}
	th_browser_hops_begin(b);
	tab = th_browser_tab_find(b, number);
	return code || !tab ? code : await_load(b, tab, loads, err);
}

enum th_code th_browser_dialog_end(struct th_browser *b, struct th_browser_tab *tab, bool accept,
				   struct th_str text, struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_REPLY_MS * INT64_C(1000);
	int32_t number = tab->number;
	unsigned dialog = tab->dialog.number;
	struct th_jw *w = th_browser_begin(b, tab->session, "Page.handleJavaScriptDialog");

	th_jw_kbool(w, "accept", accept);
	if (text.len > 0)
		th_jw_kstr(w, "promptText", text);
	/* The answer may come after the next dialog of the same script: we wait for the event. */
	enum th_code code = th_browser_post(b, err);
	while (!code && (tab = th_browser_tab_find(b, number)) && tab->dialog.open &&
	       tab->dialog.number == dialog)
		code = th_browser_pump(b, until, err);
	return code == TH_ETIMEOUT ? th_fail(err, TH_EIO, "the dialog does not close") : code;
}
