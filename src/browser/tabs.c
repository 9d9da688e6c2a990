/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tabs.c - tabs and frames of a browser: see browser.h.
 *
 * All is told by events: a tab or a frame with a process of its own comes as a
 * session, and waits until we have set it up.  A pop-up is a tab that is looked
 * at from then on, as in a browser with a window.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "browser/browser.h"

/* ---- finding ---- */

struct th_browser_tab *th_browser_tab_find(struct th_browser *b, int32_t number)
{
	for (size_t i = 0; i < b->tab_count; i++)
		if (b->tabs[i].number == number)
			return &b->tabs[i];
	return NULL;
}

static struct th_browser_session *session_find(struct th_browser *b, struct th_str id)
{
	for (size_t i = 0; i < b->session_count; i++)
		if (id.len > 0 && th_str_is(id, b->sessions[i].id))
			return &b->sessions[i];
	return NULL;
}

struct th_browser_tab *th_browser_tab_of(struct th_browser *b, struct th_str session)
{
	const struct th_browser_session *s = session_find(b, session);

	return s ? th_browser_tab_find(b, s->tab) : NULL;
}

static struct th_browser_tab *tab_of_target(struct th_browser *b, struct th_str target)
{
	for (size_t i = 0; i < b->tab_count; i++)
		if (th_str_is(target, b->tabs[i].target))
			return &b->tabs[i];
	return NULL;
}

/* An id as it is kept; false: it is none of ours. */
static bool keep_id(char to[static TH_BROWSER_ID_SIZE], struct th_str id)
{
	if (id.len == 0 || id.len >= TH_BROWSER_ID_SIZE)
		return false;
	memcpy(to, id.ptr, id.len);
	to[id.len] = '\0';
	return true;
}

/* What a page says of itself, cut at a character. */
static void keep_text(char *to, size_t size_max, struct th_str text)
{
	struct th_str cut = th_utf8_cut(text, size_max);

	if (cut.len > 0)
		memcpy(to, cut.ptr, cut.len);
	to[cut.len] = '\0';
}

struct th_browser_session *th_browser_session_of(struct th_browser *b, int32_t space)
{
	for (size_t i = 0; i < b->session_count; i++)
		if (b->sessions[i].space == space)
			return &b->sessions[i];
	return NULL;
}

/* ---- a session that begins ---- */

static enum th_code post_flag(struct th_browser *b, const char *session, const char *method,
			      const char *member, bool value, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, session, method);

	if (member)
		th_jw_kbool(w, member, value);
	return th_browser_post(b, err);
}

static enum th_code post_children(struct th_browser *b, const char *session, const char *type,
				  struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, session, "Target.setAutoAttach");

	th_jw_kbool(w, "autoAttach", true);
	th_jw_kbool(w, "waitForDebuggerOnStart", true);
	th_jw_kbool(w, "flatten", true);
	th_jw_name(w, TH_STR("filter"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(type));
	th_jw_object_end(w);
	th_jw_object(w);
	th_jw_kbool(w, "exclude", true);
	th_jw_object_end(w);
	th_jw_array_end(w);
	return th_browser_post(b, err);
}

static enum th_code post_size(struct th_browser *b, const char *session, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, session, "Emulation.setDeviceMetricsOverride");

	th_jw_kint(w, "width", b->size.width);
	th_jw_kint(w, "height", b->size.height);
	th_jw_kint(w, "deviceScaleFactor", 1);
	th_jw_kbool(w, "mobile", false);
	return th_browser_post(b, err);
}

/* Only what was asked for, not what came: no bodies are kept. */
static enum th_code post_network(struct th_browser *b, const char *session, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, session, "Network.enable");

	th_jw_kint(w, "maxTotalBufferSize", 0);
	th_jw_kint(w, "maxResourceBufferSize", 0);
	return th_browser_post(b, err);
}

/* Before the page runs: in the order in which they are sent. */
static enum th_code set_up(struct th_browser *b, const char *session, bool is_tab,
			   struct th_err *err)
{
	enum th_code code = post_flag(b, session, "Page.enable", NULL, false, err);

	static const char *const domains[] = { "DOM.enable", "Runtime.enable", "Log.enable" };
	for (size_t i = 0; i < TH_COUNT(domains) && !code; i++)
		code = post_flag(b, session, domains[i], NULL, false, err);
	if (!code)
		code = post_network(b, session, err);
	if (!code && is_tab)
		code = post_flag(b, session, "Page.setInterceptFileChooserDialog", "enabled", true,
				 err);
	if (!code && is_tab && !b->screen)
		code = post_size(b, session, err);
	if (!code)
		code = post_children(b, session, "iframe", err);
	return code ?: post_flag(b, session, "Runtime.runIfWaitingForDebugger", NULL, false, err);
}

static enum th_code close_target(struct th_browser *b, struct th_str target, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, "", "Target.closeTarget");

	th_jw_kstr(w, "targetId", target);
	return th_browser_post(b, err);
}

static enum th_code screencast(struct th_browser *b, const struct th_browser_tab *tab, bool on,
			       struct th_err *err)
{
	struct th_jw *w =
	    th_browser_begin(b, tab->session, on ? "Page.startScreencast" : "Page.stopScreencast");

	/* Only to be told that something was drawn: the picture of it is as small as can be. */
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
		code = post_flag(b, tab->session, "Page.bringToFront", NULL, false, err);
	return code ?: screencast(b, tab, true, err);
}

/* Its answer is of no use: a page that hangs gives none. */
enum th_code th_browser_to_front(struct th_browser *b, struct th_err *err)
{
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	return tab ? post_flag(b, tab->session, "Page.bringToFront", NULL, false, err) : TH_OK;
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

static enum th_code on_tab(struct th_browser *b, struct th_str session, const struct th_json *info,
			   struct th_err *err)
{
	struct th_str target = th_json_get_str(info, "targetId");
	struct th_browser_tab *tab = &b->tabs[b->tab_count];
	struct th_browser_session *s = &b->sessions[b->session_count];

	if (b->tab_count == TH_BROWSER_TABS_MAX || b->session_count == TH_BROWSER_SESSIONS_MAX)
		return close_target(b, target, err);
	*tab = (struct th_browser_tab){ .number = b->last_tab + 1 };
	*s = (struct th_browser_session){ .tab = tab->number, .space = ++b->last_space };
	if (!keep_id(tab->target, target) || !keep_id(tab->session, session))
		return th_fail(err, TH_EPROTO, "a tab without an id");
	memcpy(tab->frame, tab->target, sizeof(tab->frame));
	memcpy(s->id, tab->session, sizeof(s->id));
	memcpy(s->target, tab->target, sizeof(s->target));
	keep_text(tab->url, TH_BROWSER_URL_MAX, th_json_get_str(info, "url"));
	b->last_tab = tab->number;
	b->tab_count++;
	b->session_count++;
	enum th_code code = set_up(b, tab->session, true, err);
	return code ?: th_browser_show(b, tab, err);
}

static enum th_code on_attached(struct th_browser *b, const struct th_cdp_message *m,
				struct th_err *err)
{
	struct th_str id = th_json_get_str(m->params, "sessionId");
	const struct th_json *info = th_json_get(m->params, "targetInfo");
	const struct th_browser_session *parent = session_find(b, m->session);
	struct th_browser_session *s = &b->sessions[b->session_count];

	if (m->session.len == 0)
		return on_tab(b, id, info, err);
	if (!parent)
		return TH_OK; /* its tab has gone meanwhile */
	*s = (struct th_browser_session){ .tab = parent->tab, .space = ++b->last_space };
	/* A frame too many stands still: it is never told to run. */
	if (b->session_count == TH_BROWSER_SESSIONS_MAX || !keep_id(s->id, id) ||
	    !keep_id(s->target, th_json_get_str(info, "targetId")))
		return TH_OK;
	memcpy(s->parent, parent->id, sizeof(s->parent));
	b->session_count++;
	return set_up(b, s->id, false, err);
}

/* ---- and ends ---- */

static void drop_sessions(struct th_browser *b, const char *id)
{
	for (size_t i = b->session_count; i-- > 0;)
		if (strcmp(b->sessions[i].id, id) == 0)
			b->sessions[i] = b->sessions[--b->session_count];
}

static enum th_code open_blank(struct th_browser *b, struct th_str url, struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, "", "Target.createTarget");

	th_jw_kstr(w, "url", url);
	return th_browser_post(b, err);
}

static enum th_code on_detached(struct th_browser *b, struct th_str id, struct th_err *err)
{
	struct th_browser_tab *tab = th_browser_tab_of(b, id);
	char session[TH_BROWSER_ID_SIZE];

	if (!tab || !keep_id(session, id))
		return TH_OK;
	drop_sessions(b, session);
	if (strcmp(tab->session, session) != 0)
		return TH_OK;
	int32_t number = tab->number;
	for (size_t i = b->session_count; i-- > 0;)
		if (b->sessions[i].tab == number)
			b->sessions[i] = b->sessions[--b->session_count];
	memmove(tab, tab + 1, (size_t)(&b->tabs[--b->tab_count] - tab) * sizeof(*tab));
	if (b->active != number)
		return TH_OK;
	b->active = 0;
	if (b->tab_count > 0)
		return th_browser_show(b, &b->tabs[b->tab_count - 1], err);
	return open_blank(b, TH_STR("about:blank"), err);
}

/* ---- what a session tells ---- */

static void on_dialog(struct th_browser_tab *tab, const struct th_json *params)
{
	struct th_buf line = TH_BUF_INIT(4 * TH_BROWSER_DIALOG_MAX);

	tab->dialog.open = true;
	tab->dialog.number++;
	keep_text(tab->dialog.type, sizeof(tab->dialog.type) - 1, th_json_get_str(params, "type"));
	th_text_line(&line, th_json_get_str(params, "message"), TH_BROWSER_DIALOG_MAX / 4);
	keep_text(tab->dialog.message, TH_BROWSER_DIALOG_MAX, th_buf_str(&line));
	th_buf_deinit(&line);
}

static void on_info(struct th_browser *b, const struct th_json *info)
{
	struct th_browser_tab *tab = tab_of_target(b, th_json_get_str(info, "targetId"));
	struct th_buf line = TH_BUF_INIT(8 * TH_BROWSER_TITLE_MAX);

	if (tab) {
		keep_text(tab->url, TH_BROWSER_URL_MAX, th_json_get_str(info, "url"));
		th_text_line(&line, th_json_get_str(info, "title"), TH_BROWSER_TITLE_MAX);
		keep_text(tab->title, TH_BROWSER_TITLE_MAX, th_buf_str(&line));
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
	tab->chooser.open = keep_id(tab->chooser.session, m->session);
	tab->chooser.node = th_json_get_int(m->params, "backendNodeId", 0);
	tab->chooser.many = th_str_is(th_json_get_str(m->params, "mode"), "selectMultiple");
}

void th_browser_hops_begin(struct th_browser *b)
{
	for (size_t i = 0; i < b->tab_count; i++) {
		b->tabs[i].going = false;
		b->tabs[i].hops = 0;
		b->tabs[i].hops_since_us = th_browser_now_us();
	}
}

/* What the page did is of no matter any more. */
static void leave(struct th_browser_tab *tab)
{
	tab->going = true;
	tab->spun = false;
}

/* Another document in the main frame.  One that goes on and on by its script never counts as
 * loaded, and lets no other address in: the page on its way is given up, and this one stays. */
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
	return post_flag(b, tab->session, "Page.stopLoading", NULL, false, err);
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
		keep_text(tab->url, TH_BROWSER_URL_MAX, th_json_get_str(whole, "url"));
		tab->loads++;
		tab->documents++;
		return on_document(b, tab, err);
	} else if (th_str_is(m->method, "Page.navigatedWithinDocument") &&
		   th_str_is(frame, tab->frame)) {
		keep_text(tab->url, TH_BROWSER_URL_MAX, th_json_get_str(m->params, "url"));
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
		return on_attached(b, m, err);
	if (th_str_is(m->method, "Target.detachedFromTarget"))
		return on_detached(b, th_json_get_str(m->params, "sessionId"), err);
	if (th_str_is(m->method, "Target.targetInfoChanged"))
		on_info(b, th_json_get(m->params, "targetInfo"));
	if (th_str_is(m->method, "Target.targetCrashed"))
		on_crash(b, tab_of_target(b, th_json_get_str(m->params, "targetId")), m->params);
	th_browser_download_event(b, m);
	tab = th_browser_tab_of(b, m->session);
	if (!tab)
		return TH_OK;
	th_browser_log_event(b, tab, m);
	/* The numbers of its nodes may be those of other nodes from now on. */
	struct th_browser_session *s = session_find(b, m->session);
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

/* ---- asking for one ---- */

enum th_code th_browser_tabs_begin(struct th_browser *b, struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_START_MS * INT64_C(1000);
	struct th_jw *w = th_browser_begin(b, "", "Target.setDiscoverTargets");

	th_jw_kbool(w, "discover", true);
	enum th_code code = th_browser_call(b, NULL, err);
	if (!code)
		code = post_children(b, "", "page", err);
	while (!code && b->tab_count == 0)
		code = th_browser_pump(b, until, err);
	if (!code)
		code = th_browser_downloads_begin(b, err);
	return code == TH_ETIMEOUT
		   ? th_fail(err, TH_ETIMEOUT, "the browser showed no page for %d ms",
			     TH_BROWSER_START_MS)
		   : code;
}

/* A tab whose process died is closed, and its address opened in a new one; not for ever. */
static enum th_code begin_anew(struct th_browser *b, const struct th_browser_tab *tab,
			       struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_REPLY_MS * INT64_C(1000);
	int32_t last = b->last_tab;
	bool again = b->crashes++ < TH_BROWSER_CRASHES_MAX;
	char crash[sizeof(tab->crash)];

	memcpy(crash, tab->crash, sizeof(crash)); /* the array of tabs moves */
	enum th_code code = open_blank(b, again ? th_str_of(tab->url) : TH_STR("about:blank"), err);

	if (!code)
		code = close_target(b, th_str_of(tab->target), err);
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
	enum th_code code = open_blank(b, TH_STR("about:blank"), err);
	while (!code && b->last_tab == last)
		code = th_browser_pump(b, until, err);
	return code == TH_ETIMEOUT ? th_fail(err, TH_EIO, "the new tab did not come") : code;
}

enum th_code th_browser_tab_close(struct th_browser *b, int32_t number, struct th_err *err)
{
	int64_t until = th_browser_now_us() + TH_BROWSER_REPLY_MS * INT64_C(1000);
	const struct th_browser_tab *tab = th_browser_tab_find(b, number);

	unsigned dialog = tab->dialog.number;
	enum th_code code = close_target(b, th_str_of(tab->target), err);
	while (!code && (tab = th_browser_tab_find(b, number)) && tab->dialog.number == dialog)
		code = th_browser_pump(b, until, err);
	return code == TH_ETIMEOUT ? th_fail(err, TH_EIO, "the tab does not close") : code;
}

/* ---- going somewhere ---- */

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
	/* Within the document nothing is loaded; a download goes on by itself. */
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
	/* Its answer may come after the next dialog of the same script: the event counts. */
	enum th_code code = th_browser_post(b, err);
	while (!code && (tab = th_browser_tab_find(b, number)) && tab->dialog.open &&
	       tab->dialog.number == dialog)
		code = th_browser_pump(b, until, err);
	return code == TH_ETIMEOUT ? th_fail(err, TH_EIO, "the dialog does not close") : code;
}
