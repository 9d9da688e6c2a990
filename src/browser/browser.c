/* SPDX-License-Identifier: Apache-2.0 */
/* browser.c - kind "browser": see browser.h. */
#include "browser/browser.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/text.h"
#include "io/files.h"

#define SEARCH_URL "https://www.google.com/search?q="
#define DEFAULT_SIZE ((struct th_size){ 1280, 800 })

#define TH_FIELDS_browser_own(F)                                                                   \
	F(browser_own, str, program, "program", 0, "path of Chromium; default: it is looked for")  \
	F(browser_own, str, start_url, "start_url", 0, "address of the first page; default: none") \
	F(browser_own, str, search_url, "search_url", 0,                                           \
	  "where words are searched for; they are put behind it; default: " SEARCH_URL)            \
	F(browser_own, bool, evaluate, "evaluate", 0,                                              \
	  "the tool browser may run scripts of the model's in pages")
TH_TABLE(browser_own, "options of a browser", false)

static struct th_size size(struct th_computer *c)
{
	return th_browser_of(c)->size;
}

static int fd(struct th_computer *c)
{
	return th_browser_of(c)->in_fd;
}

static enum th_code dispatch(struct th_computer *c, struct th_err *err)
{
	enum th_code code = th_browser_pump(th_browser_of(c), 0, err);

	return code == TH_ETIMEOUT || code == TH_ECANCELED ? TH_OK : code;
}

/* What a picture does not show. */
static struct th_str notice(struct th_computer *c)
{
	struct th_browser *b = th_browser_of(c);
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	th_buf_clear(&b->notice);
	if (!tab)
		return TH_STR("");
	if (tab->dialog.open)
		th_buf_printf(
		    &b->notice,
		    "The page shows a dialog, which is not on the picture: %s \"%s\". "
		    "Press Return to accept it, Escape to dismiss it%s.",
		    tab->dialog.type, tab->dialog.message,
		    strcmp(tab->dialog.type, "prompt") == 0 ? "; what is typed is its answer" : "");
	else if (tab->crashed)
		th_buf_add_cstr(&b->notice, "The page crashed.");
	else if (b->menu.len > 0)
		th_buf_printf(&b->notice,
			      "The page shows the menu of a select element, which is not on the "
			      "picture: %s. The keys Up, Down and Return choose in it, Escape "
			      "closes it; a click does not reach it.",
			      b->menu.ptr);
	return th_buf_str(&b->notice);
}

struct th_browser *th_browser_free(struct th_browser *b)
{
	if (!b)
		return NULL;
	th_browser_end(b);
	th_browser_see_deinit(b);
	th_browser_page_deinit(b);
	th_json_free(b->own_doc);
	th_json_free(b->answer_doc);
	th_json_free(b->drag_doc);
	th_buf_deinit(&b->notice);
	th_buf_deinit(&b->menu);
	th_buf_deinit(&b->text);
	th_buf_deinit(&b->out);
	th_cdp_in_deinit(&b->in);
	th_arena_deinit(&b->arena);
	free(b);
	return NULL;
}

static void browser_close(struct th_computer *c)
{
	th_browser_free(th_browser_of(c));
}

static enum th_code begin(struct th_browser *b, const struct th_computer_options *o,
			  struct th_err *err)
{
	enum th_code code =
	    th_computer_own(&th_computer_browser, o->own, &b->arena, &b->own_doc, &b->own, err);

	if (b->own.search_url.len == 0)
		b->own.search_url = TH_STR(SEARCH_URL);
	b->workspace = o->workspace.len ? th_arena_cstr(&b->arena, o->workspace) : NULL;
	b->state_dir = th_arena_cstr(&b->arena, o->state_dir);
	b->uid = o->uid ?: TH_BROWSER_NOBODY;
	b->gid = o->gid ?: b->uid;
	b->size = o->size.width > 0 && o->size.height > 0 ? o->size : DEFAULT_SIZE;
	b->at = (struct th_point){ b->size.width / 2, b->size.height / 2 };
	if (code || (code = th_image_check(b->size, err)) || (code = th_browser_start(b, o, err)) ||
	    (code = th_browser_tabs_begin(b, err)))
		return code;
	/* If the page cannot be opened, the first picture shows it. */
	struct th_err why;
	if (b->own.start_url.len > 0)
		code = th_browser_open(b, b->own.start_url, &why);
	if (code == TH_EPERM)
		return th_fail(err, TH_EUSAGE, "start_url: %s", why.msg);
	return code == TH_ECONN || code == TH_ECANCELED ? th_fail(err, code, "%s", why.msg) : TH_OK;
}

static struct th_str address(struct th_computer *c)
{
	struct th_browser *b = th_browser_of(c);
	const struct th_browser_tab *tab = th_browser_tab_find(b, b->active);

	return th_str_of(tab ? tab->url : "about:blank");
}

enum th_code th_browser_new(struct th_computer *screen, const struct th_computer_options *options,
			    struct th_browser **ret, struct th_err *err)
{
	struct th_browser *b = th_alloc(sizeof(*b));

	b->computer.kind = &th_computer_browser;
	b->screen = screen;
	b->screen_fd = -1;
	b->in_fd = b->out_fd = b->conn = b->profile_fd = -1;
	b->interrupt_fd = options->interrupt_fd;
	th_arena_init(&b->arena, 64 * TH_KIB);
	th_cdp_in_init(&b->in);
	th_buf_init(&b->notice, 4 * TH_BROWSER_MENU_MAX + 4 * TH_KIB);
	th_buf_init(&b->menu, 4 * TH_BROWSER_MENU_MAX + 4);
	th_buf_init(&b->text, TH_BROWSER_COMMAND_MAX);
	th_buf_init(&b->out, TH_BROWSER_COMMAND_MAX);
	th_buf_init(&b->shot, TH_JSON_SIZE_MAX);
	th_buf_init(&b->encoded, TH_IMAGE_SIZE_MAX);
	enum th_code code = begin(b, options, err);
	*ret = code ? th_browser_free(b) : b;
	return code;
}

static enum th_code browser_open(const struct th_computer_options *options,
				 struct th_computer **ret, struct th_err *err)
{
	struct th_browser *b;
	enum th_code code = th_browser_new(NULL, options, &b, err);

	if (!code)
		*ret = &b->computer;
	return code;
}

const struct th_computer_kind th_computer_browser = {
	.name = "browser",
	.summary = "a Chromium of its own, without a window; its pages are the screen",
	.caps = TH_CAP_SEE | TH_CAP_POINTER | TH_CAP_KEYBOARD | TH_CAP_SETTLE,
	.tool = TH_TOOL_BROWSER,
	.shared = TH_HAS_SIZE,
	.files = true,
	.own = &th_browser_own_table,
	.open = browser_open,
	.size = size,
	.see = th_browser_see,
	.pixels = th_browser_pixels,
	.drawn = th_browser_drawn,
	.live = th_browser_live,
	.act = th_browser_act,
	.settle = th_browser_settle,
	.reset = th_browser_reset,
	.address = address,
	.marks = th_browser_marks,
	.browse = th_browser_browse,
	.browsed = th_browser_browsed,
	.notice = notice,
	.fd = fd,
	.dispatch = dispatch,
	.close = browser_close,
};
