/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_lanes.h - what the files of a WebSocket of the Responses API share.
 * Messages of one stream_id (or of none) are a lane: one response after the
 * other, and each may go on from the last, also when it is not stored.  Lanes run
 * beside each other.
 */
#ifndef TH_MODEL_API_RESPONSE_LANES_H
#define TH_MODEL_API_RESPONSE_LANES_H

#include "model_api/response_pass.h"

struct th_lane {
	struct th_lanes *wire;
	struct th_lane *next;
	struct th_response *now;
	struct th_response_pass *passed;       /* a message, to another node; NULL: none is */
	char *at_node;                         /* that message */
	bool here;                             /* the next one is this node's: it was looked for */
	char *waiting[TH_SERVE_QUEUE_MAX + 1]; /* messages, oldest first; one may come back */
	size_t count;
	char last[TH_RESPONSE_NAME_MAX]; /* what may be gone on from here, also when not stored */
	char id[TH_SERVE_STREAM_ID_MAX + 1]; /* empty: of messages that name none */
};

/* The message of which a response is made: one at a time, since they share the access's needs. */
struct th_lane_making {
	struct th_lane *lane; /* NULL: none */
	char *body;
	struct th_stored before; /* what it goes on from, while that is read */
	struct thole_error lost; /* why that could not be read */
	struct th_stored_load *load;
	struct th_lane *own; /* whose last one that is */
};

/* One socket. */
struct th_lanes {
	struct th_lanes *next, **link; /* of the server's */
	struct th_server *server;
	struct th_access *access; /* until it is gone */
	struct th_lane *first;    /* the one that was used least lately is first */
	size_t lanes, waiting;
	struct th_lane_making making;
	struct th_timer limit;
	struct th_deferred
	    closing;      /* from the loop: who is told something may be at work with it */
	bool gone, ended; /* ended: its time is over, and it takes no more */
	unsigned close;   /* the code that it is to be closed with; 0: it stays */
	unsigned busy;    /* functions below that are at work with it */
};

/* ---- response_lanes.c: which there are, and what waits in them ---- */

void th_lane_free(struct th_lane *l);
/* The one of that name, put last; NULL: there are too many that work. */
struct th_lane *th_lane_of(struct th_lanes *s, const char *id);
/* The first one that has something to do and nothing under way. */
struct th_lane *th_lane_due(const struct th_lanes *s);
/* Whose last response that is, which may be gone on from. */
struct th_lane *th_lane_whose_last(struct th_lanes *s, struct th_str response);
void th_lane_put(struct th_lane *l, char *body); /* it waits; takes it over */
char *th_lane_take(struct th_lane *l);           /* the oldest that waits */

/* ---- response_turn.c: a response of a lane ---- */

/* Begins what waits, as far as lanes are free. */
void th_lanes_next(struct th_lanes *s);
/* Says a message to the response that is under way which it names, at once.  The answer names that
 * one's lane, and `id` where there is none. */
void th_lanes_steer(struct th_lanes *s, const char *id, struct th_str text);

/* ---- response_told.c: what it is told beside the events of responses ---- */

/* Where the peer turns out to have left, s is gone behind these, and freed unless it is busy. */
void th_lanes_fault(struct th_lanes *s, const char *id, int status, const char *code,
		    const char *text);
/* `why`: it was not taken; NULL: it is written. */
void th_lanes_tell_steer(struct th_lanes *s, const char *id, struct th_str response,
			 const struct th_response_fault *why);
void th_lanes_unread(struct th_lanes *s); /* its peer does not read: it is closed by the loop */

/* ---- response_wire.c: the socket ---- */

struct th_lanes *th_lanes_new(struct th_access *a); /* whose ctx and gone it takes */
void th_lanes_free(struct th_lanes *s);
/* Around what is at work with it.  The last that leaves closes it where that is due, and frees it
 * where the peer left meanwhile. */
void th_lanes_enter(struct th_lanes *s);
void th_lanes_leave(struct th_lanes *s);
/* Its time is over, or the server's, and nothing is under way: what was is told to its end. */
void th_lanes_end_if_due(struct th_lanes *s);

#endif
