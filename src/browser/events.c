/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - events of tabs and frames: see browser.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "browser/tabs.h"

static struct th_browser_tab *tab_of_target(struct th_browser *b, struct th_str target)
{
	for (size_t i = 0; i < b->tab_count; i++)
		if (th_str_is(target, b->tabs[i].target))
			return &b->tabs[i];
	return NULL;
}

static void on_dialog(struct th_browser_tab *tab, const struct th_json *params)
{
	struct th_buf line = TH_BUF_INIT(4 * TH_BROWSER_DIALOG_MAX);

	tab->dialog.open = true;
	tab->dialog.number++;
	th_browser_keep_text(tab->dialog.type, sizeof(tab->dialog.type) - 1,
			     th_json_get_str(params, "type"));
	th_text_line(&line, th_json_get_str(params, "message"), TH_BROWSER_DIALOG_MAX / 4);
	th_browser_keep_text(tab->dialog.message, TH_BROWSER_DIALOG_MAX, th_buf_str(&line));
	th_buf_deinit(&line);
}

static void on_info(struct th_browser *b, const struct th_json *info)
{
	struct th_browser_tab *tab = tab_of_target(b, th_json_get_str(info, "targetId"));
	struct th_buf line = TH_BUF_INIT(8 * TH_BROWSER_TITLE_MAX);

	if (tab) {
		th_browser_keep_text(tab->url, TH_BROWSER_URL_MAX, th_json_get_str(info, "url"));
		th_text_line(&line, th_json_get_str(info, "title"), TH_BROWSER_TITLE_MAX);
		th_browser_keep_text(tab->title, TH_BROWSER_TITLE_MAX, th_buf_str(&line));
	}
	th_buf_deinit(&line);
}

static enum th_code on_drawn(struct th_browser *b, struct th_browser_tab *tab,
			     const struct th_json *params, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, tab->session, "Page.screencastFrameAck");

	if (tab->number == b->active)
		b->drawn++;
	th_jw_kint(w, "sessionId", th_json_get_int(params, "sessionId", 0));
	return th_browser_post(b, err);
}

static void on_chooser(struct th_browser_tab *tab, const struct th_cdp_message *m)
{
	tab->chooser.open = th_browser_keep_id(tab->chooser.session, m->session);
	tab->chooser.node = th_json_get_int(m->params, "backendNodeId", 0);
	tab->chooser.many = th_str_is(th_json_get_str(m->params, "mode"), "selectMultiple");
}

/* Another document in the main frame.  A page that navigates again and again by its script never
 * counts as loaded and blocks other navigation: then loading is stopped, and this document stays.
 */
static enum th_code on_document(struct th_browser *b, struct th_browser_tab *tab,
				struct th_err *err)
{
	int64_t now = th_browser_now_us();

	if (tab->going)
		return TH_OK;
	if (now - tab->hops_since_us > TH_BROWSER_HOPS_MS * INT64_C(1000)) {
		tab->hops_since_us = now;
		tab->hops = 0;
	}
	if (++tab->hops <= TH_BROWSER_HOPS_MAX)
		return TH_OK;
	tab->spun = true;
	return th_browser_post_flag(b, tab->session, "Page.stopLoading", NULL, false, err);
}

static enum th_code on_page(struct th_browser *b, struct th_browser_tab *tab,
			    const struct th_cdp_message *m, struct th_err *err)
{
	struct th_str frame = th_json_get_str(m->params, "frameId");
	const struct th_json *whole = th_json_get(m->params, "frame");

	if (th_str_is(m->method, "Page.frameStartedLoading") && th_str_is(frame, tab->frame)) {
		tab->loading = true;
		tab->loads++;
		tab->chooser.open = false;
	} else if (th_str_is(m->method, "Page.frameStoppedLoading") &&
		   th_str_is(frame, tab->frame)) {
		tab->loading = false;
	} else if (th_str_is(m->method, "Page.frameNavigated") &&
		   th_str_is(th_json_get_str(whole, "id"), tab->frame)) {
		th_browser_keep_text(tab->url, TH_BROWSER_URL_MAX, th_json_get_str(whole, "url"));
		tab->loads++;
		tab->documents++;
		return on_document(b, tab, err);
	} else if (th_str_is(m->method, "Page.navigatedWithinDocument") &&
		   th_str_is(frame, tab->frame)) {
		th_browser_keep_text(tab->url, TH_BROWSER_URL_MAX,
				     th_json_get_str(m->params, "url"));
		tab->loads++;
	} else if (th_str_is(m->method, "Page.fileChooserOpened")) {
		on_chooser(tab, m);
	} else if (th_str_is(m->method, "Page.javascriptDialogOpening")) {
		on_dialog(tab, m->params);
		b->drawn++;
	} else if (th_str_is(m->method, "Page.javascriptDialogClosed")) {
		tab->dialog.open = false;
		b->drawn++;
	}
	return TH_OK;
}

static void on_drag(struct th_browser *b, const struct th_json *params)
{
	struct th_buf data = TH_BUF_INIT(TH_CLIPBOARD_MAX);

	th_json_print(th_json_get(params, "data"), &data);
	b->drag_doc = th_json_free(b->drag_doc);
	b->drag_came = !data.failed && !th_json_parse(th_buf_str(&data), &b->drag_doc, NULL);
	th_buf_deinit(&data);
}

static void on_crash(struct th_browser *b, struct th_browser_tab *tab, const struct th_json *params)
{
	if (!tab)
		return;
	tab->crashed = true;
	snprintf(tab->crash, sizeof(tab->crash), "%.*s, %lld",
		 TH_FMT(th_utf8_cut(th_json_get_str(params, "status"), 20)),
		 (long long)th_json_get_int(params, "errorCode", 0));
	b->drawn++; /* whoever waits for something looks again */
}

enum th_code th_browser_on_event(struct th_browser *b, const struct th_cdp_message *m,
				 struct th_err *err)
{
	struct th_browser_tab *tab;

	if (th_str_is(m->method, "Target.attachedToTarget"))
		return th_browser_attached(b, m, err);
	if (th_str_is(m->method, "Target.detachedFromTarget"))
		return th_browser_detached(b, th_json_get_str(m->params, "sessionId"), err);
	if (th_str_is(m->method, "Target.targetInfoChanged"))
		on_info(b, th_json_get(m->params, "targetInfo"));
	if (th_str_is(m->method, "Target.targetCrashed"))
		on_crash(b, tab_of_target(b, th_json_get_str(m->params, "targetId")), m->params);
	th_browser_download_event(b, m);
	tab = th_browser_tab_of(b, m->session);
	if (!tab)
		return TH_OK;
	th_browser_log_event(b, tab, m);
	/* The browser may use its node ids for other nodes from now on. */
	struct th_browser_session *s = th_browser_session_find(b, m->session);
	if (s && th_str_is(m->method, "Page.frameNavigated") &&
	    th_str_is(th_json_get_str(th_json_get(m->params, "frame"), "id"), s->target))
		s->space = ++b->last_space;
	if (th_str_is(m->method, "Page.screencastFrame"))
		return on_drawn(b, tab, m->params, err);
	if (!th_str_is(m->method, "Input.dragIntercepted"))
		return on_page(b, tab, m, err);
	on_drag(b, m->params);
	return TH_OK;
}
