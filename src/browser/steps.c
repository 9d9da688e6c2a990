/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.c - a call of the tool, step by step (actions/browse.h): see browser.h.
 *
 * Events say when an action is over; then the changes of the page are reported.
 */
#include "browser/steps.h"
#include "base/limits.h"

static th_browser_step_fn *const steps[TH_BROWSE_COUNT] = {
	[TH_BROWSE_SNAPSHOT] = th_browser_step_snapshot,
	[TH_BROWSE_OPEN] = th_browser_step_open,
	[TH_BROWSE_SEARCH] = th_browser_step_search,
	[TH_BROWSE_BACK] = th_browser_step_go,
	[TH_BROWSE_FORWARD] = th_browser_step_go,
	[TH_BROWSE_RELOAD] = th_browser_step_go,
	[TH_BROWSE_CLICK] = th_browser_step_click,
	[TH_BROWSE_TYPE] = th_browser_step_type,
	[TH_BROWSE_SELECT] = th_browser_step_select,
	[TH_BROWSE_HOVER] = th_browser_step_hover,
	[TH_BROWSE_DRAG] = th_browser_step_drag,
	[TH_BROWSE_KEY] = th_browser_step_key,
	[TH_BROWSE_SCROLL] = th_browser_step_scroll,
	[TH_BROWSE_UPLOAD] = th_browser_step_upload,
	[TH_BROWSE_DIALOG] = th_browser_step_dialog,
	[TH_BROWSE_TABS] = th_browser_step_tabs,
	[TH_BROWSE_TAB] = th_browser_step_tab,
	[TH_BROWSE_CLOSE] = th_browser_step_tab,
	[TH_BROWSE_WAIT] = th_browser_step_wait,
	[TH_BROWSE_READ] = th_browser_step_read,
	[TH_BROWSE_CONSOLE] = th_browser_step_console,
	[TH_BROWSE_NETWORK] = th_browser_step_console,
	[TH_BROWSE_SCREENSHOT] = th_browser_step_screenshot,
	[TH_BROWSE_EVALUATE] = th_browser_step_evaluate,
};

/* Waits until the page is quiet and loaded, and a small download is over. */
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

/* All but those that manage tabs or report what is already known. */
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
	/* The step before may have started something. */
	struct th_browser_tab *ignored;
	enum th_code code = b->acted ? rest(b, err) : TH_OK;
	if (!code && needs_page(kind))
		code = th_browser_tab(b, &ignored, err);
	if (code)
		return code;
	*ret_started = acts;
	code = steps[kind](b, step, out, err);
	/* With these codes the step was refused before it reached the page. */
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
		th_browser_tell_snapshot(b, out);
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

/* Releases the elements that th_browser_on_element referred to. */
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
	/* A page with a dialog does not answer; the notice describes the dialog. */
	if (!code && b->acted && t && !t->dialog.open)
		code = tell_changes(b, out, err);
	tell_events(b, out);
	return code;
}
