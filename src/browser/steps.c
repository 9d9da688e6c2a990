/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - steps on the structure of pages (actions/browse.h): see
 * browser.h.
 *
 * An action goes to the page as input from a device where there is one for it;
 * what has none (choosing in a list, a date) is set by a function in the page.
 * What came of it is awaited by events and told as what has changed.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "browser/browser.h"

typedef enum th_code step_fn(struct th_browser *b, const struct th_browse_step *s,
			     struct th_buf *out, struct th_err *err);

/* ---- what is shown ---- */

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

static void tell_snapshot(struct th_browser *b, struct th_buf *out)
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

static enum th_code snapshot(struct th_browser *b, const struct th_browse_step *s,
			     struct th_buf *out, struct th_err *err)
{
	(void)s;
	enum th_code code = th_browser_snapshot(b, false, err);
	if (!code)
		tell_snapshot(b, out);
	b->moved = false;
	return code;
}

static enum th_code read_page(struct th_browser *b, const struct th_browse_step *s,
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
	if (!code) {
		struct th_str cut = th_utf8_cut(text, TH_PAGE_SHOWN_MAX);
		th_buf_add(out, cut);
		if (cut.len < text.len) {
			th_buf_printf(out, "\n… %zu more bytes; ", text.len - cut.len);
			th_browser_put_text(b, "page", text, out);
		}
		th_buf_add_char(out, '\n');
	}
	th_buf_deinit(&clean);
	return code;
}

/* ---- going somewhere ---- */

static enum th_code open_page(struct th_browser *b, const struct th_browse_step *s,
			      struct th_buf *out, struct th_err *err)
{
	enum th_code code = s->new_tab ? th_browser_tab_new(b, err) : TH_OK;

	(void)out;
	b->moved = true;
	return code || s->url.len == 0 ? code : th_browser_open(b, s->url, err);
}

static enum th_code search(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			   struct th_err *err)
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

static enum th_code go(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
		       struct th_err *err)
{
	(void)out;
	b->moved = true;
	return th_browser_history(b,
				  s->action == TH_BROWSE_BACK      ? -1
				  : s->action == TH_BROWSE_FORWARD ? 1
								   : 0,
				  err);
}

/* ---- elements ---- */

/* Why an element cannot be clicked at this point: "" when it can. */
static const char obstacle[] =
    "function(){if(this.disabled)return 'it is disabled';"
    "const b=this.getClientRects()[0];if(!b)return 'it is not shown';"
    "const r=this.getRootNode();if(!r.elementFromPoint)return '';"
    "const "
    "x=Math.min(Math.max(b.left+b.width/2,0),innerWidth-1),y=Math.min(Math.max(b.top+b.height/"
    "2,0),innerHeight-1);"
    "let e=r.elementFromPoint(x,y);if(!e)return '';"
    "for(let n=e;n;n=n.parentNode||n.host)if(n===this)return '';"
    "if(e.closest&&e.closest('label')&&e.closest('label').control===this)return '';"
    "if(this.contains(e)||e.shadowRoot&&e.contains(this))return '';"
    "return 'another element ('+e.tagName.toLowerCase()+(e.id?'#'+e.id:'')+') is in front of it'}";

static enum th_code reach(struct th_browser *b, int64_t ref, bool clear,
			  struct th_browser_element *e, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf why = TH_BUF_INIT(TH_KIB);
	const struct th_json *value;
	enum th_code code = th_browser_element(b, ref, e, err) ?: th_browser_reach(b, e, err);

	if (code || !clear)
		return code;
	code = th_browser_on_element(b, e, obstacle, TH_STR(""), &value, err);
	if (code || th_json_str(value).len == 0)
		return code;
	th_text_line(&why, th_json_str(value), 120);
	return th_fail(err, TH_EUSAGE, "element %lld cannot be clicked: %s", (long long)ref,
		       why.ptr);
}

/* Where a step points: at an element, at a place in it, or at a place of the screen. */
static enum th_code place_of(struct th_browser *b, const struct th_browse_step *s, bool clear,
			     struct th_point *ret, struct th_err *err)
{
	struct th_browser_element e;
	bool in_element = s->ref && s->x >= 0;
	enum th_code code = TH_OK;

	*ret = (struct th_point){ (int32_t)TH_MIN(s->x, (int64_t)TH_SCREEN_SIDE_MAX),
				  (int32_t)TH_MIN(s->y, (int64_t)TH_SCREEN_SIDE_MAX) };
	if (!s->ref && b->screen)
		return th_fail(
		    err, TH_EUSAGE,
		    "x and y without ref are no place of this page: it is in a window on "
		    "the screen; give ref, or click there as on any desktop");
	if (s->ref)
		code = reach(b, s->ref, clear && !in_element, &e, err);
	if (code)
		return code;
	if (in_element && (ret->x >= e.box.width || ret->y >= e.box.height))
		return th_fail(err, TH_EUSAGE, "(%d, %d) is outside of element %lld: it is %dx%d",
			       ret->x, ret->y, (long long)s->ref, e.box.width, e.box.height);
	if (in_element)
		*ret = (struct th_point){ e.box.x + ret->x, e.box.y + ret->y };
	else if (s->ref)
		*ret = e.at;
	return th_size_has(b->size, *ret)
		   ? TH_OK
		   : th_fail(err, TH_EUSAGE, "(%d, %d) is outside of the page's %dx%d", ret->x,
			     ret->y, b->size.width, b->size.height);
}

static enum th_code click(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			  struct th_err *err)
{
	struct th_action a = { .kind = TH_ACTION_CLICK,
			       .has_at = true,
			       .button = (enum th_button)s->button,
			       .count = (int32_t)s->count,
			       .key_count = TH_MIN(s->keys.count, (size_t)TH_CHORD_KEYS_MAX) };
	enum th_code code = place_of(b, s, true, &a.at, err);

	(void)out;
	for (size_t i = 0; i < a.key_count; i++)
		a.keys[i] = s->keys.list[i];
	return code ?: th_browser_input(b, &a, err);
}

static enum th_code hover(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			  struct th_err *err)
{
	struct th_action a = { .kind = TH_ACTION_MOVE, .has_at = true };
	enum th_code code = place_of(b, s, false, &a.at, err);

	(void)out;
	return code ?: th_browser_input(b, &a, err);
}

static enum th_code drag(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			 struct th_err *err)
{
	struct th_browser_element from, to;
	struct th_point path[2];
	struct th_action a = { .kind = TH_ACTION_DRAG, .path = path, .path_count = 2 };
	/* To reach the second may move the first away. */
	enum th_code code = reach(b, s->ref, false, &from, err) ?: reach(b, s->to, false, &to, err)
						       ?: reach(b, s->ref, true, &from, err);

	(void)out;
	if (!code)
		code = reach(b, s->to, false, &to, err);
	if (code)
		return code;
	path[0] = from.at;
	path[1] = to.at;
	return th_browser_input(b, &a, err);
}

/* Fields that no text can be typed into take it at once: true, if this is one. */
static const char set_value[] =
    "function(v){if(!['color','date','datetime-local','month','range','time','week'].includes("
    "this.type))return false;this.value=v;this.dispatchEvent(new Event('input',{bubbles:true}));"
    "this.dispatchEvent(new Event('change',{bubbles:true}));return true}";

static enum th_code focus(struct th_browser *b, const struct th_browser_element *e,
			  struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, e->session, "DOM.focus");

	th_jw_kint(w, "backendNodeId", e->node);
	enum th_code code = th_browser_call(b, NULL, err);
	return code == TH_EIO ? th_fail(err, TH_EUSAGE, "the element takes no keys") : code;
}

static enum th_code type(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			 struct th_err *err)
{
	struct th_action a = {
		.kind = TH_ACTION_TYPE, .text = s->text, .clear = s->clear, .enter = s->enter
	};
	const struct th_json *value = NULL;
	struct th_browser_element e;
	enum th_code code = TH_OK;

	(void)out;
	if (s->ref) {
		code = reach(b, s->ref, false, &e, err);
		if (!code)
			code = th_browser_on_element(b, &e, set_value, s->text, &value, err);
		if (code || th_json_bool(value, false))
			return code;
		code = focus(b, &e, err);
	}
	return code ?: th_browser_input(b, &a, err);
}

static enum th_code key(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			struct th_err *err)
{
	struct th_action a = { .kind = TH_ACTION_KEY, .count = 1, .key_count = s->keys.count };
	struct th_browser_element e;
	enum th_code code = TH_OK;

	(void)out;
	for (size_t i = 0; i < s->keys.count; i++)
		a.keys[i] = s->keys.list[i];
	if (s->ref)
		code = th_browser_element(b, s->ref, &e, err) ?: focus(b, &e, err);
	return code ?: th_browser_input(b, &a, err);
}

static enum th_code scroll(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			   struct th_err *err)
{
	struct th_action a = {
		.kind = TH_ACTION_SCROLL, .unit = TH_SCROLL_PIXEL, .has_at = true, .at = b->at
	};
	struct th_browser_element e;
	enum th_code code = TH_OK;

	(void)out;
	a.dx = (int32_t)TH_MAX(TH_MIN(s->dx, INT64_C(1000000)), INT64_C(-1000000));
	a.dy = (int32_t)TH_MAX(TH_MIN(s->dy, INT64_C(1000000)), INT64_C(-1000000));
	if (s->ref) {
		code = reach(b, s->ref, false, &e, err);
		a.at = e.at;
	} else if (s->x >= 0) {
		code = place_of(b, s, false, &a.at, err);
	}
	return code || (!a.dx && !a.dy) ? code : th_browser_input(b, &a, err);
}

/* By their texts or values; what is not among them is an error that names those that are. */
static const char choose[] =
    "function(v){if(!this.options)return 'it is not a select element';const w=JSON.parse(v),o=[..."
    "this.options],f=[];for(const x of w){const y=o.find(p=>p.label.trim()===x||p.text.trim()===x||"
    "p.value===x);if(!y)return 'there is no choice '+JSON.stringify(x)+'; the choices are '+"
    "o.slice(0,30).map(p=>p.label.trim()).join(', ');f.push(y)}"
    "if(f.length>1&&!this.multiple)return 'it takes one choice';"
    "for(const p of o)p.selected=f.includes(p);"
    "this.dispatchEvent(new Event('input',{bubbles:true}));"
    "this.dispatchEvent(new Event('change',{bubbles:true}));return ''}";

static enum th_code choose_values(struct th_browser *b, const struct th_browse_step *s,
				  struct th_buf *out, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf list = TH_BUF_INIT(64 * TH_KIB);
	TH_CLEANUP(th_buf_deinit) struct th_buf why = TH_BUF_INIT(TH_ERR_MSG_MAX);
	struct th_jw w = th_jw(&list);
	const struct th_json *value = NULL;
	struct th_browser_element e;

	(void)out;
	th_jw_array(&w);
	for (size_t i = 0; i < s->values.count; i++)
		th_jw_str(&w, s->values.list[i]);
	th_jw_array_end(&w);
	enum th_code code = th_buf_check(&list, "the values", err);
	if (!code)
		code = reach(b, s->ref, false, &e, err);
	if (!code)
		code = th_browser_on_element(b, &e, choose, th_buf_str(&list), &value, err);
	if (code || th_json_str(value).len == 0)
		return code;
	th_text_line(&why, th_json_str(value), 300);
	return th_fail(err, TH_EUSAGE, "nothing was chosen: %s", why.ptr);
}

/* ---- files, dialogs, tabs ---- */

static enum th_code upload(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			   struct th_err *err)
{
	TH_CLEANUP(th_arena_deinit) struct th_arena a = {};
	const char *paths[TH_BROWSER_FILES_MAX];
	struct th_browser_element e = { 0 };
	struct th_browser_tab *tab;
	enum th_code code = th_browser_tab(b, &tab, err);

	(void)out;
	if (!code && s->ref)
		code = th_browser_element(b, s->ref, &e, err);
	else if (!code && tab->chooser.open) {
		memcpy(e.session, tab->chooser.session, sizeof(e.session));
		e.node = tab->chooser.node;
	} else if (!code)
		code = th_fail(err, TH_EUSAGE, "upload needs ref: no page has asked for files");
	th_arena_init(&a, 256 * TH_KIB);
	for (size_t i = 0; i < s->files.count && !code; i++)
		code = th_browser_upload(b, s->files.list[i], &a, &paths[i], err);
	if (code)
		return code == TH_ENOENT || code == TH_EPERM
			   ? th_fail(err, TH_EUSAGE, "%s", (err ? err->msg : ""))
			   : code;
	struct th_jw *w = th_browser_begin(b, e.session, "DOM.setFileInputFiles");
	th_jw_name(w, TH_STR("files"));
	th_jw_array(w);
	for (size_t i = 0; i < s->files.count; i++)
		th_jw_str(w, th_str_of(paths[i]));
	th_jw_array_end(w);
	th_jw_kint(w, "backendNodeId", e.node);
	tab->chooser.open = false;
	code = th_browser_call(b, NULL, err);
	return code == TH_EIO ? th_fail(err, TH_EUSAGE, "the element takes no files") : code;
}

static enum th_code dialog(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			   struct th_err *err)
{
	struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	if (!tab || !tab->dialog.open)
		return th_fail(err, TH_EUSAGE, "no dialog is open");
	th_buf_printf(out, "%s: %s %s\n", tab->dialog.type, tab->dialog.message,
		      s->dismiss ? "dismissed" : "accepted");
	return th_browser_dialog_end(b, tab, !s->dismiss, s->text, err);
}

static enum th_code tabs(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			 struct th_err *err)
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

static enum th_code tab(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			struct th_err *err)
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

/* What is looked for is looked for again when something was drawn. */
static enum th_code wait(struct th_browser *b, const struct th_browse_step *s, struct th_buf *out,
			 struct th_err *err)
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

/* ---- what the page says of itself ---- */

static enum th_code console(struct th_browser *b, const struct th_browse_step *s,
			    struct th_buf *out, struct th_err *err)
{
	(void)err;
	th_browser_log_tell(s->action == TH_BROWSE_CONSOLE ? &b->console : &b->network, 0, out);
	return TH_OK;
}

static enum th_code picture(struct th_browser *b, const struct th_browse_step *s,
			    struct th_buf *out, struct th_err *err)
{
	(void)s;
	(void)err;
	tell_page(b, out); /* the picture itself is added by who asked */
	return TH_OK;
}

static enum th_code evaluate(struct th_browser *b, const struct th_browse_step *s,
			     struct th_buf *out, struct th_err *err)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf text = TH_BUF_INIT(TH_MIB);
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
	if (code || !result)
		return code;
	const struct th_json *thrown = th_json_get(result, "exceptionDetails");
	const struct th_json *value = th_json_get(result, "result");
	if (thrown) {
		th_text_line(&text,
			     th_json_get_str(th_json_get(thrown, "exception"), "description"), 300);
		return th_fail(err, TH_EUSAGE, "the script failed: %s", text.ptr);
	}
	if (th_json_get(value, "value"))
		th_json_print(th_json_get(value, "value"), &text);
	else
		th_buf_add(&text, th_json_get_str(value, "type"));
	th_text_line(out, th_utf8_cut(th_buf_str(&text), TH_PAGE_SHOWN_MAX), TH_PAGE_SHOWN_MAX);
	th_buf_add_char(out, '\n');
	return TH_OK;
}

/* ---- a call ---- */

static step_fn *const steps[TH_BROWSE_COUNT] = {
	[TH_BROWSE_SNAPSHOT] = snapshot,
	[TH_BROWSE_OPEN] = open_page,
	[TH_BROWSE_SEARCH] = search,
	[TH_BROWSE_BACK] = go,
	[TH_BROWSE_FORWARD] = go,
	[TH_BROWSE_RELOAD] = go,
	[TH_BROWSE_CLICK] = click,
	[TH_BROWSE_TYPE] = type,
	[TH_BROWSE_SELECT] = choose_values,
	[TH_BROWSE_HOVER] = hover,
	[TH_BROWSE_DRAG] = drag,
	[TH_BROWSE_KEY] = key,
	[TH_BROWSE_SCROLL] = scroll,
	[TH_BROWSE_UPLOAD] = upload,
	[TH_BROWSE_DIALOG] = dialog,
	[TH_BROWSE_TABS] = tabs,
	[TH_BROWSE_TAB] = tab,
	[TH_BROWSE_CLOSE] = tab,
	[TH_BROWSE_WAIT] = wait,
	[TH_BROWSE_READ] = read_page,
	[TH_BROWSE_CONSOLE] = console,
	[TH_BROWSE_NETWORK] = console,
	[TH_BROWSE_SCREENSHOT] = picture,
	[TH_BROWSE_EVALUATE] = evaluate,
};

/* Until the page is quiet, a page on its way has come and a small download is over. */
static enum th_code rest(struct th_browser *b, struct th_err *err)
{
	static const struct th_settle_options options = { 0 };
	int64_t until = th_browser_now_us() + TH_BROWSER_DOWNLOAD_MS * INT64_C(1000);
	struct th_settle_result ignored;
	enum th_code code = th_browser_settle(&b->computer, &options, &ignored, err);

	while (!code && th_browser_downloading(b))
		code = th_browser_idle(b, until, err);
	return code == TH_ETIMEOUT ? TH_OK : code;
}

/* All but those that see to the tabs, or tell what is known. */
static bool needs_page(enum th_browse_kind kind)
{
	return kind != TH_BROWSE_DIALOG && kind != TH_BROWSE_TABS && kind != TH_BROWSE_TAB &&
	       kind != TH_BROWSE_CLOSE && kind != TH_BROWSE_CONSOLE && kind != TH_BROWSE_NETWORK &&
	       kind != TH_BROWSE_SCREENSHOT;
}

enum th_code th_browser_browse(struct th_computer *c, const struct th_browse_step *step,
			       struct th_buf *out, bool *ret_started, struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	const enum th_browse_kind kind = (enum th_browse_kind)step->action;
	bool acts = !th_browse_only_looks(kind);
	size_t from = out->len;

	if (!b->in_call) {
		b->in_call = true;
		b->acted = b->moved = false;
		b->console.told = b->console.count;
		th_browser_mark(b);
		b->call_drawn = b->drawn;
	}
	if (acts)
		th_browser_hops_begin(b);
	/* The one before may have set something going. */
	struct th_browser_tab *ignored;
	enum th_code code = b->acted ? rest(b, err) : TH_OK;
	if (!code && needs_page(kind))
		code = th_browser_tab(b, &ignored, err);
	if (code)
		return code;
	*ret_started = acts;
	code = steps[kind](b, step, out, err);
	/* What was refused before it reached the page has not begun. */
	if (code == TH_EUSAGE || code == TH_EPERM || code == TH_EBUSY || code == TH_ELIMIT)
		*ret_started = false;
	b->acted |= *ret_started;
	if (!code && out->len == from && acts)
		th_buf_add(out, TH_STR("done\n"));
	return code;
}

static enum th_code tell_changes(struct th_browser *b, struct th_buf *out, struct th_err *err)
{
	const struct th_browser_tab *t = th_browser_tab_find(b, b->active);
	bool other =
	    !b->shown || b->shown_tab != b->active || (t && b->shown_document != t->documents);

	if (!other && !b->moved && b->drawn == b->call_drawn) {
		th_buf_add(out, TH_STR("Nothing was drawn on the page.\n"));
		return TH_OK;
	}
	enum th_code code = th_browser_snapshot(b, false, err);
	if (code)
		return code;
	if (other || b->moved) {
		tell_snapshot(b, out);
		return TH_OK;
	}
	size_t from = out->len;
	int32_t focus = th_page_focus(b->page);
	th_buf_add(out, TH_STR("Changed on the page:\n"));
	size_t head = out->len;
	size_t count = th_page_changes(b->shown, b->page, TH_PAGE_CHANGES_MAX, out);
	if (count == 0) {
		bool same = th_str_eq(th_page_text(b->shown), th_page_text(b->page));
		th_buf_truncate(out, from);
		th_buf_add(out,
			   same ? TH_STR("Nothing has changed in the page's text and elements.\n")
				: TH_STR("Lines of the page stand in another order; a snapshot "
					 "shows it.\n"));
	} else if (out->len - head > TH_PAGE_CHANGES_MAX / 5 * 4) {
		th_buf_printf(out, "… %zu lines differ in all; a snapshot shows them\n", count);
	}
	if (focus && focus != th_page_focus(b->shown))
		th_buf_printf(out, "Focus is on %d.\n", focus);
	th_browser_shown(b);
	return TH_OK;
}

static void tell_events(struct th_browser *b, struct th_buf *out)
{
	struct th_browser_tab *t = th_browser_tab_find(b, b->active);

	th_browser_downloads_tell(b, out);
	if (t && t->spun)
		th_buf_printf(out,
			      "The page went on to others by itself more than %d times, and was "
			      "stopped.\n",
			      TH_BROWSER_HOPS_MAX);
	if (t)
		t->spun = false;
	if (b->last_tab_told && b->last_tab != b->last_tab_told)
		th_buf_printf(out, "Tab %d was opened.\n", b->last_tab);
	b->last_tab_told = b->last_tab;
	if (t && t->chooser.open)
		th_buf_add(out, TH_STR("The page asks for a file: upload answers it.\n"));
	if (b->console.count > b->console.told && b->acted)
		th_buf_printf(out, "%llu new lines in the console.\n",
			      (unsigned long long)(b->console.count - b->console.told));
}

/* The page keeps no elements for us (th_browser_on_element). */
static enum th_code forget_objects(struct th_browser *b, const struct th_browser_tab *t,
				   struct th_err *err)
{
	struct th_jw *w = th_browser_begin(b, t->session, "Runtime.releaseObjectGroup");

	th_jw_kstr(w, "objectGroup", TH_STR("step"));
	return th_browser_post(b, err);
}

enum th_code th_browser_browsed(struct th_computer *c, struct th_buf *out, struct th_err *err)
{
	struct th_browser *b = th_browser_of(c);
	const struct th_browser_tab *t;
	enum th_code code = TH_OK;

	if (!b->in_call)
		return TH_OK;
	b->in_call = false;
	if (b->acted)
		code = rest(b, err);
	t = th_browser_tab_find(b, b->active);
	if (!code && b->acted && t && !t->dialog.open && !t->crashed)
		code = forget_objects(b, t, err);
	/* A page with a dialog says nothing; what it shows, the notice tells. */
	if (!code && b->acted && t && !t->dialog.open)
		code = tell_changes(b, out, err);
	tell_events(b, out);
	return code;
}
