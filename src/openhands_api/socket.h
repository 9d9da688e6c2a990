/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.h - a conversation's events over a WebSocket, as they become durable.
 *
 * A socket knows how many events its peer has.  A note of the session only says that there
 * are more: they are read (held.c), and so a slow reader holds nothing in memory, and there is no
 * gap and no repeat.  Behind the events comes how the conversation stands, which is not stored
 * and has an id of its own each time.
 *
 * Shared by socket.c, socket_feed.c and socket_send.c alone.
 */
#ifndef TH_OPENHANDS_API_SOCKET_H
#define TH_OPENHANDS_API_SOCKET_H

#include "openhands_api/internal.h"

#define TH_OH_CLOSE_AUTH 4001 /* clients do not try again */
#define TH_OH_CLOSE_NONE 4004
#define TH_OH_CLOSE_MANY 1013

struct th_oh_socket {
	struct th_oh_socket *prev, *next;
	struct th_oh *o;
	struct th_access *access;
	struct th_listener listener; /* once it is known who it is */
	struct th_oh_reading *reading;
	struct th_deferred pump;
	struct th_timer login;
	struct th_buf since;       /* only events from this time on */
	size_t at;                 /* events that its peer has */
	uint64_t head_seq;         /* of one that others write */
	const char *status;        /* that was told last */
	bool authenticated, begun; /* begun: `at` is known */
	bool more;                 /* something happened since the reading began */
	bool full;                 /* the peer takes no more for now */
	bool whole;                /* it is to be told how all stands */
	bool ran;                  /* the agent did something since it was told, or does now */
	bool deltas, sends, gone;
	/* Of the session's row: one that others write is looked at, and how it stands is told. */
	struct th_needs look;
	bool looks, tells, stale; /* stale: it is to be read once more */
	struct th_buf said;       /* messages that wait until they can be said, a NUL behind each */
};

/* ---- socket_send.c ---- */

void th_oh_socket_free(struct th_oh_socket *s);
/* Its peer is gone; who is sending frees it when that is over. */
void th_oh_socket_leave(struct th_oh_socket *s);
/* The same, and the peer is told why: a code of WebSockets. */
void th_oh_socket_end(struct th_oh_socket *s, unsigned code);
/* False: it is over; it is freed by who holds `sends`, or is. */
bool th_oh_socket_send(struct th_oh_socket *s, struct th_str json);
/* Begins an object that is not stored: it has an id of its own and the time of now. */
void th_oh_socket_head(const char *kind, const char *source, struct th_jw *w);
void th_oh_socket_tell_error(struct th_oh_socket *s, const char *code, const char *detail);

/* ---- socket_feed.c ---- */

/* There may be more events for it. */
void th_oh_socket_go_on(struct th_oh_socket *s);
/* Called by what it waits for; ctx is the socket. */
void th_oh_socket_pump(void *ctx);   /* deferred: reads on */
void th_oh_socket_looked(void *ctx); /* its session's row is there */
void th_oh_socket_note(struct th_listener *l, const struct thole_note *note);
void th_oh_socket_look(struct th_listener *l);

#endif
