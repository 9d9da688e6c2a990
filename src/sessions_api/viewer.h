/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer.h - a socket that shows a session's screen (screen.c) or the terminal
 * of its shell (terminal.c), and the person
 * who has taken the computer over from one (hold.c).
 *
 * A hold is there from the moment that a person takes over until the computer
 * was given back.  Its lease is renewed by each message of its socket; when it
 * ends, the computer is given back for him.
 */
#ifndef TH_SESSIONS_API_VIEWER_H
#define TH_SESSIONS_API_VIEWER_H

#include "sessions_api/internal.h"

struct th_hold;

struct th_viewer;

/* What is shown: the screen, or the shell's terminal, into which texts are typed. */
struct th_viewer_form {
	const char *what;
	bool terminal;
	void (*put_size)(struct th_viewer *v, struct th_jw *w); /* members of a message */
	void (*say_new)(struct th_viewer *v);                   /* what is new; v may be gone */
};

struct th_viewer {
	struct th_viewer *prev, *next; /* of the server */
	struct th_server *server;
	struct th_access *access;
	struct thole_screen *screen;
	struct th_listener listener; /* of the session: who holds it */
	const struct th_viewer_form *form;
	bool full;  /* the peer takes no more for now */
	bool later; /* and something is new */
	int width, height;
	bool told; /* that there is a screen, or none */
	int x, y;
	uint32_t frame;
	int control; /* as it was told last: enum thole_control */
	bool mine;   /* and whether it holds */
};

/* Sends a text.  False: the peer is gone, and so is the viewer. */
bool th_viewer_say(struct th_viewer *v, const struct th_buf *json);
/* {"type":"refused"}; the same. */
bool th_viewer_refuse(struct th_viewer *v, const char *what, const char *code, const char *message);
/* Who holds it, to all who watch that session. */
void th_viewers_control(struct th_server *s, const struct th_hub *h);

/* Answers a request with such a socket. */
void th_viewer_begin(struct th_access *a, const struct th_viewer_form *form);

/* ---- hold.c ---- */

/* What a socket said; the viewer may be gone afterwards. */
void th_hold_message(struct th_viewer *v, struct th_str text);
void th_hold_left(struct th_viewer *v); /* the socket is closed */
bool th_hold_is(const struct th_viewer *v);
int64_t th_hold_lease_ms(const struct th_server *s, const struct th_hub *h); /* 0: none */

#endif
