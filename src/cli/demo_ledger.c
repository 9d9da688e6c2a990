/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/demo_ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xcb/xcb.h>

#include "base/limits.h"
#include "base/str.h"
#include "io/files.h"

/* Points are a grid with a margin, so that each number has a place of its own. */
#define STEP 12
#define COLUMNS 50
#define MARGIN 10

struct th_demo_ledger {
	int fifo, watch, stop;
	xcb_connection_t *x;
	pthread_t thread;
	pthread_mutex_t lock;
	unsigned counts[TH_LEDGER_KINDS][TH_LEDGER_IDS_MAX];
	char line[64]; /* of the FIFO, not whole yet */
	size_t line_len;
};

void th_demo_ledger_point(unsigned number, int *x, int *y)
{
	*x = MARGIN + STEP * (int)(number % COLUMNS);
	*y = MARGIN + STEP * (int)(number / COLUMNS);
}

static void count(struct th_demo_ledger *l, enum th_ledger_kind kind, struct th_str number)
{
	int64_t n;

	if (!th_str_i64(number, &n) || n < 0 || n >= TH_LEDGER_IDS_MAX)
		return;
	pthread_mutex_lock(&l->lock);
	l->counts[kind][n]++;
	pthread_mutex_unlock(&l->lock);
}

unsigned th_demo_ledger_count(struct th_demo_ledger *l, enum th_ledger_kind kind, unsigned number)
{
	unsigned n;

	pthread_mutex_lock(&l->lock);
	n = number < TH_LEDGER_IDS_MAX ? l->counts[kind][number] : 0;
	pthread_mutex_unlock(&l->lock);
	return n;
}

static void read_fifo(struct th_demo_ledger *l)
{
	char bytes[4096];
	ssize_t n = read(l->fifo, bytes, sizeof(bytes));

	for (ssize_t i = 0; i < n; i++) {
		if (bytes[i] == '\n') {
			count(l, TH_LEDGER_SHELL, th_str_n(l->line, l->line_len));
			l->line_len = 0;
		} else if (l->line_len < sizeof(l->line)) {
			l->line[l->line_len++] = bytes[i];
		}
	}
}

static void read_watch(struct th_demo_ledger *l)
{
	_Alignas(struct inotify_event) char bytes[4096];
	ssize_t n = read(l->watch, bytes, sizeof(bytes));
	struct th_str prefix = TH_STR(TH_LEDGER_FILE_NAME);

	for (ssize_t at = 0; at < n;) {
		struct inotify_event e;
		struct th_str name;

		memcpy(&e, bytes + at, sizeof(e));
		name = e.len ? th_str_of(bytes + at + sizeof(e)) : TH_STR("");
		if (th_str_starts(name, prefix))
			count(l, TH_LEDGER_FILE, th_str_sub(name, prefix.len, name.len));
		at += (ssize_t)sizeof(e) + e.len;
	}
}

static void read_screen(struct th_demo_ledger *l)
{
	xcb_generic_event_t *e;

	while ((e = xcb_poll_for_event(l->x))) {
		if ((e->response_type & 0x7f) == XCB_BUTTON_PRESS) {
			xcb_button_press_event_t press;
			char number[16];
			int column, row;

			memcpy(&press, e, sizeof(press));
			column = (press.root_x - MARGIN) / STEP;
			row = (press.root_y - MARGIN) / STEP;
			(void)snprintf(number, sizeof(number), "%d", row * COLUMNS + column);
			count(l, TH_LEDGER_CLICK, th_str_of(number));
		}
		free(e);
	}
}

static void *thread_main(void *ctx)
{
	struct th_demo_ledger *l = ctx;
	struct pollfd p[4] = {
		{ l->stop, POLLIN, 0 },
		{ l->fifo, POLLIN, 0 },
		{ l->watch, POLLIN, 0 },
		{ l->x ? xcb_get_file_descriptor(l->x) : -1, POLLIN, 0 },
	};

	for (;;) {
		if (l->x && !xcb_connection_has_error(l->x))
			read_screen(l);
		if (l->x && xcb_connection_has_error(l->x))
			p[3].fd = -1;
		if (poll(p, 4, -1) < 0 && errno != EINTR)
			break;
		if (p[1].revents)
			read_fifo(l);
		if (p[2].revents)
			read_watch(l);
		/* Last: what was there before the end is counted. */
		if (p[0].revents && !p[1].revents && !p[2].revents)
			break;
	}
	if (l->x && !xcb_connection_has_error(l->x))
		read_screen(l);
	return NULL;
}

/* A window over all of the screen, that nothing manages and that hears each press. */
static enum th_code open_screen(struct th_demo_ledger *l, const char *display, struct th_err *err)
{
	uint32_t values[] = { 0, 1, XCB_EVENT_MASK_BUTTON_PRESS };
	xcb_screen_t *screen;
	xcb_window_t window;

	l->x = xcb_connect(display, NULL);
	if (xcb_connection_has_error(l->x))
		return th_fail(err, TH_EIO, "cannot open the display %s (%d)", display,
			       xcb_connection_has_error(l->x));
	screen = xcb_setup_roots_iterator(xcb_get_setup(l->x)).data;
	window = xcb_generate_id(l->x);
	values[0] = screen->white_pixel;
	xcb_create_window(l->x, XCB_COPY_FROM_PARENT, window, screen->root, 0, 0,
			  screen->width_in_pixels, screen->height_in_pixels, 0,
			  XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual,
			  XCB_CW_BACK_PIXEL | XCB_CW_OVERRIDE_REDIRECT | XCB_CW_EVENT_MASK, values);
	xcb_map_window(l->x, window);
	/* It is there when this is answered. */
	free(xcb_get_input_focus_reply(l->x, xcb_get_input_focus(l->x), NULL));
	return xcb_connection_has_error(l->x) ? th_fail(err, TH_EIO, "no window on %s", display)
					      : TH_OK;
}

static enum th_code open_files(struct th_demo_ledger *l, const char *workspace, struct th_err *err)
{
	char path[TH_PATH_LEN_MAX];

	if (snprintf(path, sizeof(path), "%s/" TH_LEDGER_FIFO, workspace) >= (int)sizeof(path))
		return th_fail(err, TH_ELIMIT, "the folder's name is too long");
	/* Ours stays open both ways: no writer waits for a reader, no reader sees an end. */
	if (mkfifo(path, 0666) != 0 || chmod(path, 0666) != 0)
		return th_fail_errno(err, errno, "%s", path);
	l->fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	l->watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	l->stop = eventfd(0, EFD_CLOEXEC);
	if (l->fifo < 0 || l->stop < 0 || l->watch < 0 ||
	    inotify_add_watch(l->watch, workspace, IN_MOVED_TO | IN_CREATE) < 0)
		return th_fail_errno(err, errno, "the ledger cannot watch %s", workspace);
	return TH_OK;
}

static void ledger_free(struct th_demo_ledger *l)
{
	th_fd_close(&l->fifo);
	th_fd_close(&l->watch);
	th_fd_close(&l->stop);
	if (l->x)
		xcb_disconnect(l->x);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

enum th_code th_demo_ledger_start(const char *workspace, const char *display,
				  struct th_demo_ledger **ret, struct th_err *err)
{
	struct th_demo_ledger *l = th_alloc(sizeof(*l));
	enum th_code code;
	sigset_t all, before;
	int failed = 0;

	l->fifo = l->watch = l->stop = -1;
	pthread_mutex_init(&l->lock, NULL);
	code = open_files(l, workspace, err);
	if (!code && display && *display)
		code = open_screen(l, display, err);
	if (!code) {
		/* Signals are for the main thread. */
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &before);
		failed = pthread_create(&l->thread, NULL, thread_main, l);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	if (failed)
		code = th_fail_errno(err, failed, "the ledger cannot start its thread");
	if (code) {
		ledger_free(l);
		return code;
	}
	*ret = l;
	return TH_OK;
}

struct th_demo_ledger *th_demo_ledger_stop(struct th_demo_ledger *l)
{
	if (!l)
		return NULL;
	if (eventfd_write(l->stop, 1) == 0)
		pthread_join(l->thread, NULL);
	ledger_free(l);
	return NULL;
}
