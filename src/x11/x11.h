/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x11.h - one X display: shared by the files that see it (see.h) and touch it (input.h), and used
 * by the rooms of those that start one (desktop/, browser/).
 *
 * Nobody calls xcb functions that wait (xcb_*_reply, xcb_wait_for_event,
 * xcb_request_check, xcb_aux_sync): a frozen server would hold us for ever.
 * th_x11_reply and th_x11_sync wait with a deadline instead.  Writing can
 * block as well once the socket's buffer is full: so th_x11_flush instead of
 * xcb_flush, and whoever sends many requests calls th_x11_sync at least every
 * TH_X11_UNSYNCED_MAX bytes of them.
 *
 * x11.c reads all events and passes what is not its own to
 * th_x11_input_event().
 */
#ifndef TH_X11_X11_H
#define TH_X11_X11_H

#include <xcb/xcb.h>

#include "computer/computer.h"

struct th_x11_see;   /* see.h: frames, damage, cursor image */
struct th_x11_input; /* input.h: keymap, what is held down, clipboard */

/* What else is served while a call waits for the display, which fails where this does.  fd -1:
 * nothing at the moment. */
struct th_x11_beside {
	int fd;
	enum th_code (*serve)(struct th_x11_beside *beside, struct th_err *err);
};

struct th_x11_ext {
	bool present;
	uint8_t opcode, first_event, first_error;
	uint32_t major, minor; /* version the server speaks; 0.0 where it was not asked */
};

struct th_x11 {
	struct th_computer computer; /* first member: a th_computer with an X display is a th_x11 */
	xcb_connection_t *conn;
	int fd; /* of conn */
	const xcb_setup_t *setup;
	xcb_screen_t *screen;
	xcb_window_t root;
	xcb_window_t window; /* ours, 1x1, never mapped: selections, properties.  Has
				PROPERTY_CHANGE selected. */
	struct th_size size; /* follows RandR */
	int interrupt_fd;    /* -1: none */
	int reply_ms;        /* silence of the server that counts as frozen: TH_X11_REPLY_MS */
	int reply_total_ms;  /* one reply, while other things come: TH_X11_REPLY_TOTAL_MS */
	bool lost;           /* the connection is gone for good */
	uint64_t served;     /* events that were handled: a pulse may do that in between, too */
	/* The pointer as the server last told us; true position: QueryPointer. */
	struct th_point pointer;
	struct th_x11_ext shm, damage, xfixes, randr, xtest, xkb;
	struct th_x11_see *see;
	struct th_x11_input *input;   /* made by th_x11_input_init, freed by th_x11_input_deinit */
	struct th_str name;           /* of the display, for messages: ":0" */
	char **env;                   /* NULL-terminated: DISPLAY=, XAUTHORITY=, ... */
	char *bus;                    /* see th_computer_options; NULL: none */
	struct th_x11_beside *beside; /* NULL: none */
};

static inline struct th_x11 *th_x11_of(struct th_computer *c)
{
	return TH_CONTAINER_OF(c, struct th_x11, computer);
}

/*
 * Waits for the reply of the request with this sequence number (cookie.sequence;
 * requests without a reply must have been sent _checked).  *ret is to be
 * free()d; it is NULL after TH_OK for a checked request without reply.
 * TH_EIO: the server answered with an X error, which the message names.
 * TH_ECONN: the display is gone.  TH_ETIMEOUT: it is frozen; the connection
 * stays usable in case it thaws.  th_x11_act adds that the action's fate is
 * unknown.
 */
TH_NODISCARD enum th_code th_x11_reply(struct th_x11 *x, unsigned int sequence, void **ret,
				       struct th_err *err);

/* The server has processed everything sent so far.  Codes as above. */
TH_NODISCARD enum th_code th_x11_sync(struct th_x11 *x, struct th_err *err);

/* Sends what is queued; instead of xcb_flush.  TH_ETIMEOUT: a frozen server takes no more. */
TH_NODISCARD enum th_code th_x11_flush(struct th_x11 *x, struct th_err *err);

/* Handles all events that have arrived; does not wait. */
TH_NODISCARD enum th_code th_x11_pump(struct th_x11 *x, struct th_err *err);

/*
 * Lets `timeout_ms` pass while events are served (flushes first).
 * TH_ECANCELED at once when interrupt_fd is readable or hung up.
 */
TH_NODISCARD enum th_code th_x11_wait(struct th_x11 *x, int64_t timeout_ms, struct th_err *err);

/* Like th_x11_wait, but returns TH_OK as soon as one event was served; *ret_served says so. */
TH_NODISCARD enum th_code th_x11_wait_event(struct th_x11 *x, int64_t timeout_ms, bool *ret_served,
					    struct th_err *err);

/* Asks whoever watches (th_computer.pulse), and sleeps until something can be read from the display
 * (`display`) or from his descriptor, until `until_us`, or until he wants to be asked again. Serves
 * nothing.  TH_ECANCELED: interrupted. */
TH_NODISCARD enum th_code th_x11_sleep(struct th_x11 *x, int64_t until_us, bool display,
				       struct th_err *err);

/* Monotonic clock. */
int64_t th_x11_now_us(void);

/*
 * For desktop.c: takes a connected socket (closed on failure too) and the
 * MIT-MAGIC-COOKIE-1 (NULL: none) and fills a zeroed struct whose
 * computer.kind is set.  th_x11_deinit ends the connection and frees what
 * hangs on `x`, not `x` itself.
 */
TH_NODISCARD enum th_code th_x11_init(struct th_x11 *x, int fd, struct th_str name,
				      const void *cookie, size_t cookie_len, int interrupt_fd,
				      struct th_err *err);
void th_x11_deinit(struct th_x11 *x);

/* The vtable's members, shared by all kinds with an X display. */
struct th_size th_x11_size(struct th_computer *c);
enum th_code th_x11_see(struct th_computer *c, const struct th_see_options *options,
			struct th_frame_image *ret, struct th_err *err);
void th_x11_pixels(struct th_computer *c, struct th_pixels *ret);
enum th_code th_x11_drawn(struct th_computer *c, bool *ret, struct th_err *err);
enum th_code th_x11_live(struct th_computer *c, struct th_live_look *ret, struct th_err *err);
enum th_code th_x11_act(struct th_computer *c, const struct th_action *action,
			struct th_act_result *ret, struct th_err *err);
/* The windows that the window manager lists (_NET_CLIENT_LIST) and that are viewable. */
enum th_code th_x11_windows(struct th_computer *c, size_t *ret, struct th_err *err);
enum th_code th_x11_settle(struct th_computer *c, const struct th_settle_options *options,
			   struct th_settle_result *ret, struct th_err *err);
enum th_code th_x11_reset(struct th_computer *c, struct th_act_result *ret, struct th_err *err);
int th_x11_fd(struct th_computer *c);
enum th_code th_x11_dispatch(struct th_computer *c, struct th_err *err);
const char *const *th_x11_env(struct th_computer *c);

/* ---- between x11.c and those that see (see.h) ---- */

TH_NODISCARD enum th_code th_x11_see_init(struct th_x11 *x, struct th_err *err);
void th_x11_see_deinit(struct th_x11 *x);
void th_x11_see_event(struct th_x11 *x,
		      const xcb_generic_event_t *event); /* damage, RandR, cursor */
/* What was drawn up to now does not count as the effect of what comes next.  Asks the server. */
TH_NODISCARD enum th_code th_x11_see_mark(struct th_x11 *x, struct th_err *err);

/* ---- display names and cookies ---- */

/*
 * Connects a socket to ":0", "unix:0.0", "host:0" or the path of a socket.
 * TH_EUSAGE: no such name; TH_ECONN, TH_ETIMEOUT, TH_EPERM: nobody answers, or not to us.
 */
TH_NODISCARD enum th_code th_x11_socket(struct th_str name, int *ret_fd, int *ret_number,
					struct th_err *err);
#define TH_X11_COOKIE_SIZE 16
/* The cookie for a display number in a file of xauth's.  *ret_found false: none (TH_OK too). */
TH_NODISCARD enum th_code th_x11_cookie(struct th_str xauthority, int number, bool *ret_found,
					uint8_t ret[static TH_X11_COOKIE_SIZE], struct th_err *err);

#endif
