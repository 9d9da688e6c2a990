/* SPDX-License-Identifier: Apache-2.0 */
/* step_go.c - steps that go to another page or tab, and those that wait: see steps.h. */
#include "base/limits.h"
#include "browser/steps.h"

enum th_code th_browser_step_open(struct th_browser *b, const struct th_browse_step *s,
				  struct th_buf *out, struct th_err *err)
{
	enum th_code code = s->new_tab ? th_browser_tab_new(b, err) : TH_OK;

	(void)out;
	b->moved = true;
	return code || s->url.len == 0 ? code : th_browser_open(b, s->url, err);
}

enum th_code th_browser_step_search(struct th_browser *b, const struct th_browse_step *s,
				    struct th_buf *out, struct th_err *err)
{
	static const char hex[] = "0123456789ABCDEF";
	TH_CLEANUP(th_buf_deinit) struct th_buf url = TH_BUF_INIT(64 * TH_KIB);

	(void)out;
	th_buf_add(&url, b->own.search_url);
	for (size_t i = 0; i < s->query.len; i++) {
		uint8_t c = (uint8_t)s->query.ptr[i];
		if ((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')) {
			th_buf_add_char(&url, (char)c);
			continue;
		}
		th_buf_add_char(&url, '%');
		th_buf_add_char(&url, hex[c >> 4]);
		th_buf_add_char(&url, hex[c & 15]);
	}
	b->moved = true;
	enum th_code code = th_buf_check(&url, "the query", err);
	return code ?: th_browser_open(b, th_buf_str(&url), err);
}

enum th_code th_browser_step_go(struct th_browser *b, const struct th_browse_step *s,
				struct th_buf *out, struct th_err *err)
{
	(void)out;
	b->moved = true;
	return th_browser_history(b,
				  s->action == TH_BROWSE_BACK      ? -1
				  : s->action == TH_BROWSE_FORWARD ? 1
								   : 0,
				  err);
}

enum th_code th_browser_step_dialog(struct th_browser *b, const struct th_browse_step *s,
				    struct th_buf *out, struct th_err *err)
{
	struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	if (!tab || !tab->dialog.open)
		return th_fail(err, TH_EUSAGE, "no dialog is open");
	th_buf_printf(out, "%s: %s %s\n", tab->dialog.type, tab->dialog.message,
		      s->dismiss ? "dismissed" : "accepted");
	return th_browser_dialog_end(b, tab, !s->dismiss, s->text, err);
}

enum th_code th_browser_step_tab(struct th_browser *b, const struct th_browse_step *s,
				 struct th_buf *out, struct th_err *err)
{
	int32_t number = s->tab ? (int32_t)TH_MIN(s->tab, (int64_t)INT32_MAX) : b->active;
	struct th_browser_tab *t = th_browser_tab_find(b, number);

	(void)out;
	if (!t)
		return th_fail(err, TH_EUSAGE, "there is no tab %d", number);
	b->moved = true;
	return s->action == TH_BROWSE_CLOSE ? th_browser_tab_close(b, number, err)
					    : th_browser_show(b, t, err);
}

/* ---- waiting ---- */

static bool has_text(const struct th_page *p, struct th_str text)
{
	return th_str_find(th_page_text(p), text) >= 0;
}

static bool busy(struct th_browser *b)
{
	const struct th_browser_tab *t = th_browser_tab_find(b, b->active);

	return t && !t->dialog.open && !t->crashed &&
	       (t->loading || t->requests > t->answers || th_browser_downloading(b));
}

/* The text is searched for again whenever something was drawn. */
enum th_code th_browser_step_wait(struct th_browser *b, const struct th_browse_step *s,
				  struct th_buf *out, struct th_err *err)
{
	int64_t ms = (s->seconds ?: TH_BROWSER_WAIT_S) * 1000;
	int64_t until = th_browser_now_us() + ms * 1000;
	enum th_code code = TH_OK;
	bool looks = s->text.len > 0, timed = !looks && s->seconds;

	for (;;) {
		uint64_t drawn = b->drawn;
		if (looks) {
			code = th_browser_snapshot(b, true, err);
			if (code || has_text(b->page, s->text) != s->gone)
				return code;
		} else if (!timed && !busy(b)) {
			return TH_OK;
		}
		while (!code && (looks ? b->drawn == drawn : timed || busy(b)))
			code = th_browser_idle(b, until, err);
		if (code == TH_ETIMEOUT && timed)
			return TH_OK;
		if (code == TH_ETIMEOUT)
			return th_fail(err, TH_ENOENT,
				       looks ? "the text was %s after %lld s"
					     : "the page was %s after %lld s",
				       !looks    ? "still loading"
				       : s->gone ? "still there"
						 : "not there",
				       (long long)(ms / 1000));
		if (code)
			return code;
	}
	(void)out;
}
