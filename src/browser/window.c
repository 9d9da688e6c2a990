/* SPDX-License-Identifier: Apache-2.0 */
/*
 * window.c - kind "browser_window": a private desktop with a Chromium in a
 * window of it.
 *
 * Its screen is the desktop's, with everything that a desktop can do; the steps of
 * the tool act on the structure of the pages in that window.  The browser is a
 * command of the desktop (desktop.h): it is in the desktop's sandbox, and ends with
 * it.  When the browser ends alone, the desktop continues; the next call of the tool
 * starts another one with the same profile, and reports that.
 *
 * Both are served together: a wait for one of them serves the other.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/limits.h"
#include "browser/browser.h"
#include "desktop/desktop.h"
#include "desktop/kind.h"
#include "io/clock.h"
#include "io/files.h"
#include "io/sandbox.h"
#include "x11/x11.h"

#define ENDED "the browser in the window has ended: it was closed, or it was killed"

struct window {
	struct th_x11_beside beside; /* of the desktop */
	struct th_computer *desktop; /* ours, under another kind */
	struct th_browser *browser;  /* NULL: it has ended */
	bool starts;                 /* and its window is waited for */
	unsigned files;              /* that all of them put into the profile */
	int32_t last;                /* number of an element or a mark that was given */
	int both_fd;                 /* epoll: the display, and the browser */
	struct th_arena arena;       /* strings of the options */
	struct th_computer_options options;
	struct th_sandbox_placed policy;
	char own_folder[40]; /* where nobody has given one; "" */
};

static struct window *window_of(struct th_computer *c)
{
	return TH_CONTAINER_OF(th_x11_of(c)->beside, struct window, beside);
}

/* ---- the browser's life ---- */

static void drop(struct window *w)
{
	w->beside.fd = -1;
	if (w->browser) {
		w->files = w->browser->files;
		w->last = TH_MAX(w->last, w->browser->refs.last);
	}
	w->browser = th_browser_free(w->browser);
}

/* Handles messages that the browser sends while no step runs: tabs that a person opens wait for us.
 * Its end is no error for a wait for the desktop. */
static enum th_code serve(struct th_x11_beside *beside, struct th_err *err)
{
	struct window *w = TH_CONTAINER_OF(beside, struct window, beside);
	struct th_err ignored;

	if (beside->fd < 0)
		return TH_OK;
	beside->fd = -1; /* not from inside itself */
	enum th_code code = th_browser_pump(w->browser, 0, &ignored);
	beside->fd = w->browser->in_fd;
	if (!code || code == TH_ETIMEOUT || code == TH_ECANCELED)
		return TH_OK;
	/* It has ended, or breaks the protocol. */
	drop(w);
	return w->starts
		   ? th_fail(err, TH_EIO, "the browser ended before its window was on the screen")
		   : TH_OK;
}

#define TOP_EDGE 8    /* pixels that a window's frame may have */
#define TOP_HEIGHT 64 /* of a browser's tabs and address bar */

/* While a window is not painted yet, it has one colour where its tabs and address bar will be. */
static bool is_painted(const struct th_live_look *look)
{
	int32_t width = look->size.width - 2 * TOP_EDGE;
	int32_t bottom = TH_MIN(look->size.height, TOP_HEIGHT);

	for (int32_t y = TOP_EDGE; width > 0 && y < bottom; y++) {
		const uint8_t *row = look->pixels + (size_t)y * look->stride + 4 * TOP_EDGE;

		/* Each pixel is the one before it. */
		if (memcmp(row, row + 4, 4 * (size_t)(width - 1)) != 0)
			return true;
	}
	return false;
}

static enum th_code look_at_window(struct th_computer *c, bool *ret, struct th_err *err)
{
	struct th_live_look look;
	size_t shown = 0;
	enum th_code code = th_x11_windows(c, &shown, err);

	*ret = false;
	if (code || shown == 0)
		return code;
	code = th_x11_live(c, &look, err);
	*ret = !code && is_painted(&look);
	return code;
}

/* Waits until its window is on the screen and painted, or the time is over. */
static enum th_code await_window(struct th_computer *c, struct th_err *err)
{
	uint64_t end = th_clock_ms() + TH_BROWSER_START_MS, now;
	struct th_settle_result drawn;
	bool there = false;
	enum th_code code = look_at_window(c, &there, err);

	while (!code && !there && (now = th_clock_ms()) < end) {
		struct th_settle_options o = { .first_ms = (int32_t)(end - now) };
		o.max_ms = o.first_ms;
		code = th_x11_settle(c, &o, &drawn, err);
		code = code ?: look_at_window(c, &there, err);
	}
	return code;
}

static enum th_code start(struct window *w, struct th_err *err)
{
	struct epoll_event event = { .events = EPOLLIN };
	enum th_code code = th_browser_new(w->desktop, &w->options, &w->browser, err);

	if (code)
		return code;
	w->browser->files = w->files;
	if (epoll_ctl(w->both_fd, EPOLL_CTL_ADD, w->browser->in_fd, &event))
		return th_fail_errno(err, errno, "watch the browser");
	w->beside.fd = w->browser->in_fd;
	w->starts = true;
	code = await_window(w->desktop, err);
	w->starts = false;
	return code;
}

/* ---- open and close ---- */

static void window_close(struct th_computer *c)
{
	struct window *w = window_of(c);

	drop(w);
	th_x11_of(c)->beside = NULL;
	c->kind = &th_computer_desktop;
	th_computer_desktop.close(c);
	th_fd_close(&w->both_fd);
	if (w->own_folder[0])
		(void)!th_dir_remove(w->own_folder, NULL);
	th_arena_deinit(&w->arena);
	free(w);
}

/* Copies the options: the browser may be started again. */
static enum th_code copy_options(struct window *w, const struct th_computer_options *o,
				 struct th_err *err)
{
	static const char base[] = "/tmp/thole-browser-XXXXXX";
	char *profile;

	w->options = *o;
	if (o->state_dir.len == 0) {
		memcpy(w->own_folder, base, sizeof(base));
		if (!mkdtemp(w->own_folder)) {
			w->own_folder[0] = '\0';
			return th_fail_errno(err, errno, "make a folder in /tmp");
		}
		w->options.state_dir = th_str_of(w->own_folder);
	}
	struct th_str *texts[] = { &w->options.own, &w->options.state_dir, &w->options.workspace };
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		const char *copy = th_arena_cstr(&w->arena, *texts[i]);
		if (!copy)
			return th_fail(err, TH_ELIMIT, "the computer's options are too long");
		*texts[i] = th_str_of(copy);
	}
	enum th_code code = th_browser_profile(&w->arena, &w->options, &profile, err);
	if (code)
		return code;
	w->options.profile = th_str_of(profile);
	w->options.placed = &w->policy;
	return th_browser_policy(&w->arena, w->options.state_dir, &w->policy, err);
}

static enum th_code begin(struct window *w, struct th_err *err)
{
	struct epoll_event event = { .events = EPOLLIN };
	enum th_code code = th_computer_desktop.open(&w->options, &w->desktop, err);

	if (code)
		return code;
	w->desktop->kind = &th_computer_browser_window;
	th_x11_of(w->desktop)->beside = &w->beside;
	w->options.size = th_x11_size(w->desktop);
	w->both_fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->both_fd < 0 || epoll_ctl(w->both_fd, EPOLL_CTL_ADD, th_x11_fd(w->desktop), &event))
		return th_fail_errno(err, errno, "watch the desktop");
	return start(w, err);
}

static enum th_code window_open(const struct th_computer_options *options, struct th_computer **ret,
				struct th_err *err)
{
	struct window *w = th_alloc(sizeof(*w));

	w->both_fd = -1;
	w->beside = (struct th_x11_beside){ .fd = -1, .serve = serve };
	th_arena_init(&w->arena, 64 * TH_KIB);
	enum th_code code = copy_options(w, options, err) ?: begin(w, err);
	if (!code) {
		*ret = w->desktop;
		return TH_OK;
	}
	if (w->desktop) {
		window_close(w->desktop);
		return code;
	}
	if (w->own_folder[0])
		(void)!th_dir_remove(w->own_folder, NULL);
	th_arena_deinit(&w->arena);
	free(w);
	return code;
}

/* ---- the tool ---- */

/* During a step we wait for the browser and serve the desktop, not the other way round. */
static void call_begin(struct window *w, struct th_computer *c)
{
	w->beside.fd = -1;
	w->browser->computer.pulse = c->pulse;
	w->browser->refs.last = TH_MAX(w->browser->refs.last, w->last);
	w->browser->screen_fd = th_x11_fd(c);
}

static enum th_code call_end(struct window *w, struct th_computer *c, enum th_code code,
			     struct th_err *err)
{
	w->browser->computer.pulse = NULL;
	w->last = w->browser->refs.last;
	w->browser->screen_fd = -1;
	w->beside.fd = w->browser->in_fd;
	if (code != TH_ECONN || th_x11_of(c)->lost)
		return code;
	/* The desktop goes on. */
	drop(w);
	return th_fail(err, TH_EIO, ENDED);
}

static enum th_code browse(struct th_computer *c, const struct th_browse_step *step,
			   struct th_buf *out, bool *ret_started, struct th_err *err)
{
	struct window *w = window_of(c);
	enum th_code code = TH_OK;

	if (!w->browser) {
		code = start(w, err);
		if (code)
			return code == TH_ECONN && !th_x11_of(c)->lost ? th_fail(err, TH_EIO, ENDED)
								       : code;
		th_buf_add_cstr(out, "The browser had ended; this is a new one with the same "
				     "profile, and its tabs are gone.\n");
	}
	call_begin(w, c);
	if (!w->browser->in_call)
		code = th_browser_to_front(w->browser, err);
	if (!code)
		code = th_browser_browse(&w->browser->computer, step, out, ret_started, err);
	return call_end(w, c, code, err);
}

static enum th_code browsed(struct th_computer *c, struct th_buf *out, struct th_err *err)
{
	struct window *w = window_of(c);

	if (!w->browser)
		return TH_OK;
	call_begin(w, c);
	return call_end(w, c, th_browser_browsed(&w->browser->computer, out, err), err);
}

static struct th_str notice(struct th_computer *c)
{
	return window_of(c)->browser ? TH_STR("")
				     : TH_STR("The browser has ended. The next call of the tool "
					      "that works on its pages begins another.");
}

/* ---- marks ---- */

struct others {
	struct th_marks *m;
	struct th_size screen;
	struct th_rect page;
};

/* The bus has the texts of the page, too, which need no mark. */
static bool is_of_page(const struct others *o, struct th_rect box, struct th_str role)
{
	static const char *const texts[] = { "static", "heading", "paragraph", "image", "link" };
	bool inside = box.x >= o->page.x && box.y >= o->page.y &&
		      box.x + box.width <= o->page.x + o->page.width &&
		      box.y + box.height <= o->page.y + o->page.height;

	for (size_t i = 0; inside && i < TH_COUNT(texts); i++)
		if (th_str_is(role, texts[i]))
			return true;
	return false;
}

static void on_other(void *ctx, struct th_rect box, struct th_str role, struct th_str name)
{
	struct others *o = ctx;

	if (!is_of_page(o, box, role))
		(void)th_marks_add(o->m, o->screen, TH_MARK_TREE, box, role, name);
}

/* The elements of the page with their numbers of snapshots, then those of the accessibility bus
 * outside of the page: the browser's own bars and dialogs, other programs. */
static enum th_code marks(struct th_computer *c, struct th_marks *m, int32_t **ret_last,
			  struct th_err *err)
{
	struct window *w = window_of(c);
	struct others o = { .m = m, .screen = th_x11_size(c) };
	enum th_code page = TH_EUNSUPPORTED;
	struct th_err why;

	*ret_last = &w->last;
	if (w->browser) {
		call_begin(w, c);
		page = th_browser_marks_on(w->browser, o.screen, m, &o.page, &why);
		page = call_end(w, c, page, &why);
	}
	if (page == TH_ECANCELED || page == TH_ECONN) {
		*err = why;
		return page;
	}
	enum th_code code = th_computer_desktop.tree(c, on_other, &o, err);
	return code == TH_ECANCELED || (code && page) ? code : TH_OK;
}

/* ---- the desktop ---- */

static int fd(struct th_computer *c)
{
	return window_of(c)->both_fd;
}

static enum th_code dispatch(struct th_computer *c, struct th_err *err)
{
	return serve(&window_of(c)->beside, err) ?: th_x11_dispatch(c, err);
}

static bool here(void)
{
	return th_computer_desktop.here() && th_browser_installed();
}

static enum th_code tree(struct th_computer *c, th_found_fn *fn, void *ctx, struct th_err *err)
{
	return th_computer_desktop.tree(c, fn, ctx, err);
}

static const char *const *prefix(struct th_arena *a, struct th_str state_dir)
{
	return th_computer_desktop.prefix(a, state_dir);
}

const struct th_computer_kind th_computer_browser_window = {
	.name = "browser_window",
	.summary = "a Chromium in a window on a private desktop of its own",
	.caps = TH_CAP_SEE | TH_CAP_POINTER | TH_CAP_KEYBOARD | TH_CAP_CLIPBOARD | TH_CAP_SETTLE |
		TH_CAP_SHELL,
	.tool = TH_TOOL_BROWSER,
	.shared = TH_HAS_SIZE | TH_HAS_START,
	.files = true,
	.own = &th_browser_own_table,
	.prefix = prefix,
	.here = here,
	.open = window_open,
	.size = th_x11_size,
	.see = th_x11_see,
	.pixels = th_x11_pixels,
	.drawn = th_x11_drawn,
	.live = th_x11_live,
	.tree = tree,
	.marks = marks,
	.act = th_x11_act,
	.settle = th_x11_settle,
	.windows = th_x11_windows,
	.reset = th_x11_reset,
	.browse = browse,
	.browsed = browsed,
	.notice = notice,
	.fd = fd,
	.dispatch = dispatch,
	.env = th_x11_env,
	.close = window_close,
};
