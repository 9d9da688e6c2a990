/* SPDX-License-Identifier: Apache-2.0 */
/* step_look.c - steps that read a page and change nothing: see steps.h. */
#include "base/limits.h"
#include "base/text.h"
#include "browser/steps.h"

/* A page without a title has its address for one. */
static void tell_tab(const struct th_browser_tab *tab, struct th_buf *out)
{
	bool titled = tab->title[0] && !strstr(tab->url, tab->title);

	if (titled)
		th_buf_printf(out, "%s - ", tab->title);
	th_text_line(out, th_utf8_cut(th_str_of(tab->url), 300), 300);
}

static void tell_page(struct th_browser *b, struct th_buf *out)
{
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	if (!tab)
		return;
	th_buf_add(out, TH_STR("Page "));
	tell_tab(tab, out);
	if (b->tab_count > 1)
		th_buf_printf(out, " (tab %d of %zu open)", tab->number, b->tab_count);
	th_buf_add_char(out, '\n');
}

void th_browser_tell_snapshot(struct th_browser *b, struct th_buf *out)
{
	size_t left_out;

	tell_page(b, out);
	left_out = th_page_show(b->page, TH_PAGE_SHOWN_MAX, out);
	if (left_out > 0) {
		th_buf_printf(out, "… %zu lines are left out; ", left_out);
		th_browser_put_text(b, "snapshot", th_page_text(b->page), out);
		th_buf_add_char(out, '\n');
	}
	if (th_page_focus(b->page))
		th_buf_printf(out, "Focus is on %d.\n", th_page_focus(b->page));
	if (th_page_text(b->page).len == 0)
		th_buf_add(out, TH_STR("(nothing that can be read; a screenshot shows it)\n"));
	if (th_page_left_out(b->page) > 0)
		th_buf_printf(out, "(the page is larger: %zu of its nodes were not looked at)\n",
			      th_page_left_out(b->page));
	th_browser_shown(b);
}

enum th_code th_browser_step_snapshot(struct th_browser *b, const struct th_browse_step *s,
				      struct th_buf *out, struct th_err *err)
{
	(void)s;
	enum th_code code = th_browser_snapshot(b, false, err);
	if (!code)
		th_browser_tell_snapshot(b, out);
	b->moved = false;
	return code;
}

/* As much of it as a model is shown; all of a longer one is in a file. */
static void tell_text(struct th_browser *b, const char *what, struct th_str text,
		      struct th_buf *out)
{
	struct th_str cut = th_utf8_cut(text, TH_PAGE_SHOWN_MAX);

	th_buf_add(out, cut);
	if (cut.len < text.len) {
		th_buf_printf(out, "\n… %zu more bytes; ", text.len - cut.len);
		th_browser_put_text(b, what, text, out);
	}
	th_buf_add_char(out, '\n');
}

enum th_code th_browser_step_read(struct th_browser *b, const struct th_browse_step *s,
				  struct th_buf *out, struct th_err *err)
{
	const struct th_json *value;
	struct th_browser_element e;
	enum th_code code;
	struct th_str text;
	struct th_buf clean = TH_BUF_INIT(TH_PAGE_TEXT_MAX);

	if (s->ref) {
		code = th_browser_element(b, s->ref, &e, err);
		if (!code)
			code = th_browser_on_element(
			    b, &e, "function(){return String(this.innerText??this.textContent)}",
			    TH_STR(""), &value, err);
		struct th_str rest = code ? TH_STR("") : th_json_str(value);
		while (rest.len > 0 && !clean.failed) {
			th_text_line(&clean, th_str_split(&rest, '\n'), TH_PAGE_PIECE_MAX);
			th_buf_add_char(&clean, '\n');
		}
		text = th_buf_str(&clean);
	} else {
		code = th_browser_snapshot(b, true, err);
		text = code ? TH_STR("") : th_page_text(b->page);
		if (!code)
			tell_page(b, out);
	}
	if (!code)
		tell_text(b, "page", text, out);
	th_buf_deinit(&clean);
	return code;
}

enum th_code th_browser_step_tabs(struct th_browser *b, const struct th_browse_step *s,
				  struct th_buf *out, struct th_err *err)
{
	(void)s;
	(void)err;
	for (size_t i = 0; i < b->tab_count; i++) {
		const struct th_browser_tab *t = &b->tabs[i];
		th_buf_printf(out, "%s%d ", t->number == b->active ? "* " : "  ", t->number);
		tell_tab(t, out);
		th_buf_add_char(out, '\n');
	}
	return TH_OK;
}

enum th_code th_browser_step_console(struct th_browser *b, const struct th_browse_step *s,
				     struct th_buf *out, struct th_err *err)
{
	(void)err;
	th_browser_log_tell(s->action == TH_BROWSE_CONSOLE ? &b->console : &b->network, 0, out);
	return TH_OK;
}

enum th_code th_browser_step_screenshot(struct th_browser *b, const struct th_browse_step *s,
					struct th_buf *out, struct th_err *err)
{
	(void)s;
	(void)err;
	tell_page(b, out); /* the caller adds the picture */
	return TH_OK;
}

enum th_code th_browser_step_evaluate(struct th_browser *b, const struct th_browse_step *s,
				      struct th_buf *out, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_PAGE_TEXT_MAX);
	TH_CLEANUP(th_buf_deinit) struct th_buf line = TH_BUF_INIT(4 * TH_PAGE_TEXT_MAX);
	const struct th_json *result;
	struct th_browser_tab *t;

	if (!b->own.evaluate)
		return th_fail(err, TH_EPERM,
			       "scripts are not allowed here (computer.options.evaluate)");
	enum th_code code = th_browser_tab(b, &t, err);
	if (code)
		return code;
	struct th_jw *w = th_browser_begin(b, t->session, "Runtime.evaluate");
	th_jw_kstr(w, "expression", s->script);
	th_jw_kbool(w, "returnByValue", true);
	th_jw_kbool(w, "awaitPromise", true);
	th_jw_kbool(w, "userGesture", true);
	code = th_browser_call(b, &result, err);
	if (code == TH_EIO && b->answered)
		return th_fail(err, TH_EPROTO,
			       "the script ran, but its value cannot be told: give plain values");
	if (code || !result)
		return code;
	const struct th_json *thrown = th_json_get(result, "exceptionDetails");
	const struct th_json *value = th_json_get(result, "result");
	if (thrown) {
		thrown = th_json_get(thrown, "exception");
		th_text_line(&text, th_json_get_str(thrown, "description"), 300);
		if (!text.len) /* what is no Error can be thrown, too */
			th_text_line(&text, th_json_get_str(thrown, "value"), 300);
		return th_fail(err, TH_EPROTO, "the script failed: %s", text.ptr);
	}
	struct th_str special = th_json_get_str(value, "unserializableValue"); /* NaN, 5n */
	if (th_json_get(value, "value"))
		th_json_print(th_json_get(value, "value"), &text);
	else
		th_buf_add(&text, special.len ? special : th_json_get_str(value, "type"));
	if (text.failed) {
		th_buf_printf(out, "(a value of more than %zu bytes)\n", (size_t)TH_PAGE_TEXT_MAX);
		return TH_OK;
	}
	th_text_line(&line, th_buf_str(&text), 4 * TH_PAGE_TEXT_MAX);
	tell_text(b, "script", th_buf_str(&line), out);
	return TH_OK;
}
