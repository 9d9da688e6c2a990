/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clipboard.h - the selection CLIPBOARD as UTF-8 text.
 *
 * Only CLIPBOARD: what Ctrl+C, Ctrl+X and Ctrl+V use.  PRIMARY (what is
 * selected with the mouse, pasted by the middle button, and by Shift+Insert in
 * xterm) is left alone, because taking it makes programs drop their selection.
 *
 * Text that we own is served from th_x11_clipboard_event, which never waits:
 * at once, or in pieces (INCR) when it is large, to several programs at a
 * time.  Who asks keeps the text as it was when it asked.
 */
#ifndef TH_X11_CLIPBOARD_H
#define TH_X11_CLIPBOARD_H

#include "x11/x11.h"

/* Text that transfers share. */
struct th_x11_clip {
	size_t refs, len;
	char bytes[];
};

/* A large text on its way to somebody. */
struct th_x11_transfer {
	struct th_x11_clip *clip; /* NULL: this place is free */
	size_t sent;
	xcb_window_t requestor;
	xcb_atom_t property, type;
	int64_t touched_us;
};

#define TH_X11_TRANSFERS_MAX 16

struct th_x11_clip_atoms {
	xcb_atom_t clipboard, targets, timestamp, utf8_string, text, text_plain, text_plain_utf8,
	    incr, property;
};

struct th_x11_clipboard {
	struct th_x11_clip_atoms atoms;
	struct th_x11_clip *own; /* what we serve; NULL: somebody else has the selection */
	xcb_timestamp_t own_time;
	struct th_x11_transfer transfers[TH_X11_TRANSFERS_MAX];
	/* what th_x11_clipboard_get waits for */
	bool notified;         /* SelectionNotify came */
	bool refused;          /* ... and said no */
	bool piece;            /* our property has a new value */
	xcb_timestamp_t asked; /* the request it must belong to */
	bool spoilt;           /* the last one failed: its owner may still write */
	unsigned failures;
	struct th_buf text; /* the last answer of th_x11_clipboard_get */
};

TH_NODISCARD enum th_code th_x11_clipboard_init(struct th_x11 *x, struct th_x11_clipboard *c,
						struct th_err *err);
void th_x11_clipboard_deinit(struct th_x11_clipboard *c);
void th_x11_clipboard_event(struct th_x11 *x, struct th_x11_clipboard *c,
			    const xcb_generic_event_t *event);

/* TH_EIO: the selection could not be had. */
TH_NODISCARD enum th_code th_x11_clipboard_set(struct th_x11 *x, struct th_x11_clipboard *c,
					       struct th_str text, struct th_err *err);
/* "" when nobody owns the selection.  TH_EUNSUPPORTED: it holds no text; TH_EIO: its owner does
 * not answer; TH_ELIMIT: more than TH_CLIPBOARD_MAX.  *ret is borrowed until the next call. */
TH_NODISCARD enum th_code th_x11_clipboard_get(struct th_x11 *x, struct th_x11_clipboard *c,
					       struct th_str *ret, struct th_err *err);

#endif
