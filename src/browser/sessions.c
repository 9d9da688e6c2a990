/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sessions.c - tabs and frames of a browser as they come and go: see browser.h.
 *
 * A tab, or a frame with a process of its own, comes as a session, and waits until we have set it
 * up.  A pop-up is a tab that is looked at from then on, as in a browser with a window.
 */
#include "base/limits.h"
#include "base/text.h"
#include "browser/tabs.h"

bool th_browser_keep_id(char to[static TH_BROWSER_ID_SIZE], struct th_str id)
{
	if (id.len == 0 || id.len >= TH_BROWSER_ID_SIZE)
		return false;
	memcpy(to, id.ptr, id.len);
	to[id.len] = '\0';
	return true;
}

void th_browser_keep_text(char *to, size_t size_max, struct th_str text)
{
	struct th_str cut = th_utf8_cut(text, size_max);

	if (cut.len > 0)
		memcpy(to, cut.ptr, cut.len);
	to[cut.len] = '\0';
}

/* ---- what is sent to one ---- */

enum th_code th_browser_attach(struct th_browser *b, const char *session, const char *type,
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

/* Requests are logged, and no response bodies are stored. */
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
	enum th_code code = th_browser_post_flag(b, session, "Page.enable", NULL, false, err);

	static const char *const domains[] = { "DOM.enable", "Runtime.enable", "Log.enable" };
	for (size_t i = 0; i < TH_COUNT(domains) && !code; i++)
		code = th_browser_post_flag(b, session, domains[i], NULL, false, err);
	if (!code)
		code = post_network(b, session, err);
	if (!code && is_tab)
		code = th_browser_post_flag(b, session, "Page.setInterceptFileChooserDialog",
					    "enabled", true, err);
	if (!code && is_tab && !b->screen)
		code = post_size(b, session, err);
	if (!code)
		code = th_browser_attach(b, session, "iframe", err);
	return code
		   ?: th_browser_post_flag(b, session, "Runtime.runIfWaitingForDebugger", NULL,
					   false, err);
}

/* ---- begin ---- */

static enum th_code on_tab(struct th_browser *b, struct th_str session, const struct th_json *info,
			   struct th_err *err)
{
	struct th_str target = th_json_get_str(info, "targetId");
	struct th_browser_tab *tab = &b->tabs[b->tab_count];
	struct th_browser_session *s = &b->sessions[b->session_count];

	if (b->tab_count == TH_BROWSER_TABS_MAX || b->session_count == TH_BROWSER_SESSIONS_MAX)
		return th_browser_target_close(b, target, err);
	*tab = (struct th_browser_tab){ .number = b->last_tab + 1 };
	*s = (struct th_browser_session){ .tab = tab->number, .space = ++b->last_space };
	if (!th_browser_keep_id(tab->target, target) || !th_browser_keep_id(tab->session, session))
		return th_fail(err, TH_EPROTO, "a tab without an id");
	memcpy(tab->frame, tab->target, sizeof(tab->frame));
	memcpy(s->id, tab->session, sizeof(s->id));
	memcpy(s->target, tab->target, sizeof(s->target));
	th_browser_keep_text(tab->url, TH_BROWSER_URL_MAX, th_json_get_str(info, "url"));
	b->last_tab = tab->number;
	b->tab_count++;
	b->session_count++;
	enum th_code code = set_up(b, tab->session, true, err);
	return code ?: th_browser_show(b, tab, err);
}

enum th_code th_browser_attached(struct th_browser *b, const struct th_cdp_message *m,
				 struct th_err *err)
{
	struct th_str id = th_json_get_str(m->params, "sessionId");
	const struct th_json *info = th_json_get(m->params, "targetInfo");
	const struct th_browser_session *parent = th_browser_session_find(b, m->session);
	struct th_browser_session *s;

	if (m->session.len == 0)
		return on_tab(b, id, info, err);
	/* Its tab has gone meanwhile; or it is a frame above the limit, which stays paused: it is
	 * never told to run. */
	if (!parent || b->session_count == TH_BROWSER_SESSIONS_MAX)
		return TH_OK;
	s = &b->sessions[b->session_count];
	*s = (struct th_browser_session){ .tab = parent->tab, .space = ++b->last_space };
	if (!th_browser_keep_id(s->id, id) ||
	    !th_browser_keep_id(s->target, th_json_get_str(info, "targetId")))
		return TH_OK;
	memcpy(s->parent, parent->id, sizeof(s->parent));
	b->session_count++;
	return set_up(b, s->id, false, err);
}

/* ---- end ---- */

static void drop_sessions(struct th_browser *b, const char *id)
{
	for (size_t i = b->session_count; i-- > 0;)
		if (strcmp(b->sessions[i].id, id) == 0)
			b->sessions[i] = b->sessions[--b->session_count];
}

enum th_code th_browser_detached(struct th_browser *b, struct th_str id, struct th_err *err)
{
	struct th_browser_tab *tab = th_browser_tab_of(b, id);
	char session[TH_BROWSER_ID_SIZE];

	if (!tab || !th_browser_keep_id(session, id))
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
	return th_browser_target_open(b, TH_STR("about:blank"), err);
}
