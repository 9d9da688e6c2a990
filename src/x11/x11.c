/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x11.c - the connection to an X display: made, asked, watched and ended
 * without ever waiting longer than a deadline.
 *
 * xcb itself waits for ever in three places: while connecting, on the first
 * use of an extension, and when the socket is full.  The first two happen
 * under a watchdog that cuts the socket; the third cannot happen to who syncs
 * as x11.h asks.
 */
#include "x11/x11.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xcb/damage.h>
#include <xcb/randr.h>
#include <xcb/shm.h>
#include <xcb/xcbext.h>
#include <xcb/xfixes.h>
#include <xcb/xkb.h>
#include <xcb/xtest.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"
#include "x11/input.h"

int64_t th_x11_now_us(void)
{
	return (int64_t)(th_clock_ns() / 1000);
}

/* ---- asking ---- */

static enum th_code lost(struct th_x11 *x, struct th_err *err)
{
	x->lost = true;
	return th_fail(err, TH_ECONN,
		       "the display %.*s is gone: its X server ended or cut the connection",
		       TH_FMT(x->name));
}

/* TH_OK, or TH_ECONN when the connection is known to be lost.  Sends and waits for nothing. */
static enum th_code check_connection(struct th_x11 *x, struct th_err *err)
{
	if (x->lost || xcb_connection_has_error(x->conn))
		return lost(x, err);
	return TH_OK;
}

static void handle_event(struct th_x11 *x, const xcb_generic_event_t *event)
{
	uint8_t type = event->response_type & 0x7f;

	x->served++;
	if (type == 0)
		return; /* an error nobody waits for: its request was allowed to fail */
	if ((x->damage.present && type == x->damage.first_event + XCB_DAMAGE_NOTIFY) ||
	    (x->xfixes.present && type == x->xfixes.first_event + XCB_XFIXES_CURSOR_NOTIFY) ||
	    (x->randr.present && type == x->randr.first_event + XCB_RANDR_SCREEN_CHANGE_NOTIFY)) {
		if (x->see)
			th_x11_see_event(x, event);
	} else if (x->input) {
		th_x11_input_event(x, event);
	}
}

/* Reads and handles all there is; the number of events, or -1 when the connection is gone. */
static int drain(struct th_x11 *x)
{
	int count = 0;
	xcb_generic_event_t *event;

	while ((event = xcb_poll_for_event(x->conn))) {
		handle_event(x, event);
		free(event);
		count++;
	}
	return xcb_connection_has_error(x->conn) ? -1 : count;
}

enum th_code th_x11_pump(struct th_x11 *x, struct th_err *err)
{
	if (x->lost || drain(x) < 0)
		return lost(x, err);
	return TH_OK;
}

static enum th_code x_error(struct th_x11 *x, xcb_generic_error_t *error, struct th_err *err)
{
	static const char *const names[] = {
		"Success",  "Request",  "Value",    "Window",   "Pixmap", "Atom",
		"Cursor",   "Font",     "Match",    "Drawable", "Access", "Alloc",
		"Colormap", "GContext", "IDChoice", "Name",     "Length", "Implementation",
	};
	unsigned number = error->error_code, major = error->major_code, minor = error->minor_code;
	const char *name = number < TH_COUNT(names) ? names[number] : "of an extension";

	free(error);
	return th_fail(err, TH_EIO, "the display %.*s refused request %u.%u: error %u (%s)",
		       TH_FMT(x->name), major, minor, number, name);
}

/*
 * xcb_flush would wait for ever where a frozen server has let the socket fill
 * up.  A writable socket takes more than xcb ever has queued.
 */
enum th_code th_x11_flush(struct th_x11 *x, struct th_err *err)
{
	int64_t end = th_x11_now_us() + x->reply_ms * INT64_C(1000);

	for (;;) {
		int64_t left_us = end - th_x11_now_us();
		struct pollfd p = { .fd = x->fd, .events = POLLOUT };
		int ready = left_us > 0 ? poll(&p, 1, (int)(left_us / 1000 + 1)) : 0;
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready == 0)
			return th_fail(err, TH_ETIMEOUT,
				       "the display %.*s does not read (waited %d ms)",
				       TH_FMT(x->name), x->reply_ms);
		if (xcb_flush(x->conn) <= 0)
			return lost(x, err);
		return TH_OK;
	}
}

static enum th_code wait_reply(struct th_x11 *x, unsigned int sequence, void **ret,
			       struct th_err *err)
{
	int64_t started = th_x11_now_us(), heard = started;
	xcb_generic_error_t *error = NULL;

	*ret = NULL;
	for (;;) {
		if (xcb_poll_for_reply(x->conn, sequence, ret, &error))
			break;
		if (drain(x) < 0)
			return lost(x, err);
		if (xcb_poll_for_reply(x->conn, sequence, ret, &error))
			break;
		int64_t now = th_x11_now_us();
		int64_t left_us = TH_MIN(heard + x->reply_ms * INT64_C(1000),
					 started + x->reply_total_ms * INT64_C(1000)) -
				  now;
		struct pollfd p = { .fd = x->fd, .events = POLLIN };
		int ready = left_us > 0 ? poll(&p, 1, (int)(left_us / 1000 + 1)) : 0;
		if (ready > 0) {
			heard = th_x11_now_us();
		} else if (ready == 0) {
			xcb_discard_reply(x->conn, sequence);
			return th_fail(err, TH_ETIMEOUT,
				       "the display %.*s does not answer (waited %d ms)",
				       TH_FMT(x->name), (int)((now - started) / 1000));
		} else if (errno != EINTR) {
			return th_fail_errno(err, errno, "wait for the display %.*s",
					     TH_FMT(x->name));
		}
	}
	if (error)
		return x_error(x, error, err);
	/* Neither reply nor error: a request without a reply was processed, or the connection
	 * broke. */
	if (!*ret && xcb_connection_has_error(x->conn))
		return lost(x, err);
	return TH_OK;
}

enum th_code th_x11_reply(struct th_x11 *x, unsigned int sequence, void **ret, struct th_err *err)
{
	*ret = NULL;
	if (check_connection(x, err))
		return TH_ECONN;
	/* Something that is always answered, so that requests without a reply end too. */
	xcb_discard_reply(x->conn, xcb_get_input_focus(x->conn).sequence);
	enum th_code code = th_x11_flush(x, err);
	if (code == TH_ETIMEOUT)
		xcb_discard_reply(x->conn, sequence);
	return code ? code : wait_reply(x, sequence, ret, err);
}

enum th_code th_x11_sync(struct th_x11 *x, struct th_err *err)
{
	if (check_connection(x, err))
		return TH_ECONN;
	unsigned int sequence = xcb_get_input_focus(x->conn).sequence;
	void *reply = NULL;
	enum th_code code = th_x11_flush(x, err);
	if (code == TH_ETIMEOUT)
		xcb_discard_reply(x->conn, sequence);
	if (!code)
		code = wait_reply(x, sequence, &reply, err);
	free(reply);
	return code;
}

/* ---- waiting ---- */

enum th_code th_x11_sleep(struct th_x11 *x, int64_t until_us, bool display, struct th_err *err)
{
	const struct th_pulse *pulse = x->computer.pulse;
	uint64_t served = x->served;
	int64_t again_ms = pulse ? pulse->fn(pulse->ctx) : -1;
	int64_t now = th_x11_now_us();

	/* What it asked the server for may have brought the event that is waited for. */
	if (pulse && drain(x) < 0)
		return lost(x, err);
	if (x->served != served)
		return TH_OK;
	if (again_ms >= 0)
		until_us = TH_MIN(until_us, now + again_ms * 1000);
	int64_t left = TH_MAX(until_us - now, 0);
	struct timespec ts = { left / 1000000, left % 1000000 * 1000 };
	struct pollfd p[4] = { { .fd = display ? x->fd : -1, .events = POLLIN },
			       { .fd = x->interrupt_fd, .events = POLLIN },
			       { .fd = pulse ? pulse->fd : -1, .events = POLLIN },
			       { .fd = x->beside ? x->beside->fd : -1, .events = POLLIN } };
	int ready = ppoll(p, TH_COUNT(p), &ts, NULL);

	if (ready < 0 && errno != EINTR)
		return th_fail_errno(err, errno, "wait for the display %.*s", TH_FMT(x->name));
	if (ready > 0 && p[1].revents)
		return th_fail(err, TH_ECANCELED, "interrupted");
	if (ready > 0 && p[3].revents)
		return x->beside->serve(x->beside, err);
	return TH_OK;
}

enum th_code th_x11_wait_event(struct th_x11 *x, int64_t timeout_ms, bool *ret_served,
			       struct th_err *err)
{
	int64_t end = th_x11_now_us() + timeout_ms * 1000;
	uint64_t served = x->served;
	bool over = false;

	*ret_served = false;
	enum th_code code = check_connection(x, err);
	if (code || (code = th_x11_flush(x, err)))
		return code;
	for (;;) {
		if (drain(x) < 0)
			return lost(x, err);
		*ret_served = x->served != served;
		if (*ret_served)
			return th_x11_flush(x, err);
		if (over)
			return TH_OK;
		if ((code = th_x11_sleep(x, end, true, err)))
			return code;
		over = th_x11_now_us() >= end;
	}
}

enum th_code th_x11_wait(struct th_x11 *x, int64_t timeout_ms, struct th_err *err)
{
	int64_t end = th_x11_now_us() + timeout_ms * 1000;

	for (;;) {
		int64_t left_ms = (end - th_x11_now_us() + 999) / 1000;
		bool served;
		enum th_code code = th_x11_wait_event(x, TH_MAX(left_ms, 0), &served, err);
		if (code || left_ms <= 0)
			return code;
	}
}

/* ---- connecting ---- */

struct watchdog {
	pthread_t thread;
	int fd, done_fd, timeout_ms; /* fd: a duplicate of the socket */
	bool barked;
};

static void *watch(void *ctx)
{
	struct watchdog *w = ctx;
	struct pollfd p = { .fd = w->done_fd, .events = POLLIN };
	int64_t end = th_x11_now_us() + w->timeout_ms * INT64_C(1000);
	int ready;

	do {
		int64_t left_ms = (end - th_x11_now_us() + 999) / 1000;
		ready = poll(&p, 1, (int)TH_MAX(left_ms, 0));
	} while (ready < 0 && errno == EINTR);
	if (ready == 0) {
		w->barked = true;
		shutdown(w->fd, SHUT_RDWR);
	}
	return NULL;
}

static enum th_code watchdog_start(struct watchdog *w, int fd, int timeout_ms, struct th_err *err)
{
	w->timeout_ms = timeout_ms;
	w->barked = false;
	w->fd = dup(fd);
	w->done_fd = eventfd(0, EFD_CLOEXEC);
	int error =
	    w->fd < 0 || w->done_fd < 0 ? errno : pthread_create(&w->thread, NULL, watch, w);
	if (!error)
		return TH_OK;
	th_fd_close(&w->fd);
	th_fd_close(&w->done_fd);
	return th_fail_errno(err, error, "watch over connecting to the display");
}

static bool watchdog_stop(struct watchdog *w)
{
	uint64_t one = 1;
	ssize_t written = write(w->done_fd, &one, sizeof(one));
	assert(written == sizeof(one));
	int error = pthread_join(w->thread, NULL);
	assert(!error);
	th_fd_close(&w->fd);
	th_fd_close(&w->done_fd);
	return w->barked;
}

static void find_extension(struct th_x11 *x, struct th_x11_ext *ext, xcb_extension_t *id)
{
	const xcb_query_extension_reply_t *r = xcb_get_extension_data(x->conn, id);

	*ext = (struct th_x11_ext){ 0 };
	if (!r || !r->present)
		return;
	ext->present = true;
	ext->opcode = r->major_opcode;
	ext->first_event = r->first_event;
	ext->first_error = r->first_error;
}

/* Under the watchdog: from here on nothing about extensions makes xcb wait. */
static void find_extensions(struct th_x11 *x)
{
	struct {
		struct th_x11_ext *ext;
		xcb_extension_t *id;
	} all[] = {
		{ &x->shm, &xcb_shm_id },       { &x->damage, &xcb_damage_id },
		{ &x->xfixes, &xcb_xfixes_id }, { &x->randr, &xcb_randr_id },
		{ &x->xtest, &xcb_test_id },    { &x->xkb, &xcb_xkb_id },
	};

	for (size_t i = 0; i < TH_COUNT(all); i++)
		xcb_prefetch_extension_data(x->conn, all[i].id);
	for (size_t i = 0; i < TH_COUNT(all); i++)
		find_extension(x, all[i].ext, all[i].id);
	xcb_get_maximum_request_length(x->conn);
}

/* Tells each extension which version we speak, all in one round trip. */
static enum th_code negotiate(struct th_x11 *x, struct th_err *err)
{
	enum { SHM, DAMAGE, XFIXES, RANDR, COUNT };
	struct th_x11_ext *exts[COUNT] = { &x->shm, &x->damage, &x->xfixes, &x->randr };
	unsigned int sequences[COUNT] = { 0 };

	if (x->shm.present)
		sequences[SHM] = xcb_shm_query_version(x->conn).sequence;
	if (x->damage.present)
		sequences[DAMAGE] = xcb_damage_query_version(x->conn, 1, 1).sequence;
	if (x->xfixes.present)
		sequences[XFIXES] = xcb_xfixes_query_version(x->conn, 5, 0).sequence;
	if (x->randr.present)
		sequences[RANDR] = xcb_randr_query_version(x->conn, 1, 3).sequence;
	for (int i = 0; i < COUNT; i++) {
		void *reply;
		if (!exts[i]->present)
			continue;
		enum th_code code = th_x11_reply(x, sequences[i], &reply, err);
		if (code)
			return code;
		if (i == SHM) {
			const xcb_shm_query_version_reply_t *r = reply;
			exts[i]->major = r->major_version;
			exts[i]->minor = r->minor_version;
		} else {
			/* The replies of the others have the same form. */
			const xcb_damage_query_version_reply_t *r = reply;
			exts[i]->major = r->major_version;
			exts[i]->minor = r->minor_version;
		}
		free(reply);
	}
	return TH_OK;
}

static enum th_code check_extensions(struct th_x11 *x, struct th_err *err)
{
	static const char what[] =
	    "the display %.*s has no %s extension; thole needs DAMAGE, XFIXES and XTEST";

	if (!x->damage.present)
		return th_fail(err, TH_EUNSUPPORTED, what, TH_FMT(x->name), "DAMAGE");
	if (!x->xfixes.present)
		return th_fail(err, TH_EUNSUPPORTED, what, TH_FMT(x->name), "XFIXES");
	if (!x->xtest.present)
		return th_fail(err, TH_EUNSUPPORTED, what, TH_FMT(x->name), "XTEST");
	return TH_OK;
}

static void make_window(struct th_x11 *x)
{
	uint32_t values[] = { 1 /* override redirect: no window manager touches it */,
			      XCB_EVENT_MASK_PROPERTY_CHANGE };

	x->window = xcb_generate_id(x->conn);
	xcb_create_window(x->conn, XCB_COPY_FROM_PARENT, x->window, x->root, -1, -1, 1, 1, 0,
			  XCB_WINDOW_CLASS_INPUT_OUTPUT, XCB_COPY_FROM_PARENT,
			  XCB_CW_OVERRIDE_REDIRECT | XCB_CW_EVENT_MASK, values);
}

static enum th_code set_up(struct th_x11 *x, struct th_err *err)
{
	enum th_code code;

	x->setup = xcb_get_setup(x->conn);
	x->screen = xcb_setup_roots_iterator(x->setup).data;
	x->root = x->screen->root;
	x->size = (struct th_size){ x->screen->width_in_pixels, x->screen->height_in_pixels };
	find_extensions(x);
	if ((code = check_connection(x, err)) || (code = check_extensions(x, err)) ||
	    (code = negotiate(x, err)))
		return code;
	make_window(x);
	if ((code = th_x11_see_init(x, err)))
		return code;
	return th_x11_input_init(x, err);
}

enum th_code th_x11_init(struct th_x11 *x, int fd, struct th_str name, const void *cookie,
			 size_t cookie_len, int interrupt_fd, struct th_err *err)
{
	static char protocol[] = "MIT-MAGIC-COOKIE-1";
	uint8_t copy[TH_X11_COOKIE_SIZE];
	struct watchdog dog;

	assert(cookie_len <= sizeof(copy));
	x->interrupt_fd = interrupt_fd;
	x->reply_ms = TH_X11_REPLY_MS;
	x->reply_total_ms = TH_X11_REPLY_TOTAL_MS;
	char *text = th_alloc(name.len + 1);
	if (name.len > 0)
		memcpy(text, name.ptr, name.len);
	x->name = th_str_n(text, name.len);

	enum th_code code = watchdog_start(&dog, fd, TH_X11_CONNECT_MS, err);
	if (code) {
		close(fd);
		th_x11_deinit(x);
		return code;
	}
	xcb_auth_info_t auth = { .namelen = sizeof(protocol) - 1,
				 .name = protocol,
				 .datalen = (int)cookie_len,
				 .data = (char *)copy };
	if (cookie)
		memcpy(copy, cookie, cookie_len);
	x->conn = xcb_connect_to_fd(fd, cookie ? &auth : NULL);
	if (xcb_connection_has_error(x->conn)) {
		code = th_fail(err, TH_EPERM,
			       "the display %.*s refused us: it wants another cookie (XAUTHORITY), "
			       "or it ended",
			       TH_FMT(x->name));
	} else {
		x->fd = xcb_get_file_descriptor(x->conn);
		code = set_up(x, err);
	}
	if (watchdog_stop(&dog))
		code = th_fail(err, TH_ETIMEOUT, "the display %.*s does not answer (waited %d ms)",
			       TH_FMT(x->name), TH_X11_CONNECT_MS);
	if (code)
		th_x11_deinit(x);
	return code;
}

void th_x11_deinit(struct th_x11 *x)
{
	if (x->input)
		th_x11_input_deinit(x);
	th_x11_see_deinit(x);
	if (x->conn)
		xcb_disconnect(x->conn);
	x->conn = NULL;
	for (char **e = x->env; e && *e; e++)
		free(*e);
	free(x->env);
	x->env = NULL;
	free(x->bus);
	x->bus = NULL;
	free((char *)(uintptr_t)x->name.ptr);
	x->name = (struct th_str){ 0 };
}

/* ---- the vtable's small members ---- */

struct th_size th_x11_size(struct th_computer *c)
{
	return th_x11_of(c)->size;
}

int th_x11_fd(struct th_computer *c)
{
	return th_x11_of(c)->fd;
}

enum th_code th_x11_dispatch(struct th_computer *c, struct th_err *err)
{
	struct th_x11 *x = th_x11_of(c);
	enum th_code code = th_x11_pump(x, err);

	return code ? code : th_x11_flush(x, err);
}

const char *const *th_x11_env(struct th_computer *c)
{
	return (const char *const *)th_x11_of(c)->env;
}

static enum th_code before(struct th_x11 *x, const char *name, struct th_err *err)
{
	enum th_code code = th_x11_see_mark(x, err);
	return code ? th_prefix(err, code, "the %s was not done", name) : TH_OK;
}

enum th_code th_x11_act(struct th_computer *c, const struct th_action *action,
			struct th_act_result *ret, struct th_err *err)
{
	struct th_x11 *x = th_x11_of(c);
	const char *name = th_action_name(action->kind);

	*ret = (struct th_act_result){ 0 };
	if (action->kind == TH_ACTION_SCREENSHOT || action->kind == TH_ACTION_ZOOM)
		return check_connection(x, err); /* the picture itself is asked for with see */
	if (action->kind == TH_ACTION_WAIT)
		return th_x11_wait(
		    x, action->duration_ms > 0 ? action->duration_ms : TH_WAIT_MS_DEFAULT, err);

	enum th_code code = before(x, name, err);
	if (code)
		return code;
	ret->started = true;
	code = th_x11_input_act(x, action, ret, err);
	if (code == TH_ECONN || code == TH_ETIMEOUT)
		return th_prefix(err, code, "it is unknown whether this %s happened", name);
	return code;
}

enum th_code th_x11_reset(struct th_computer *c, struct th_act_result *ret, struct th_err *err)
{
	struct th_x11 *x = th_x11_of(c);

	*ret = (struct th_act_result){ 0 };
	enum th_code code = check_connection(x, err);
	return code ? code : th_x11_input_reset(x, ret, err);
}
