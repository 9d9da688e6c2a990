/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hub.h - the sessions that this server has open or that somebody listens to,
 * by name, and those who listen.
 *
 * A hub is there while its session is open here or somebody listens.  One
 * watcher of the session tells all listeners; a session that rests, and that
 * nobody listens to, is given back to the store after a while, and at once where
 * more than TH_SERVE_RESTING_MAX rest.
 */
#ifndef TH_SERVER_HUB_H
#define TH_SERVER_HUB_H

#include "base/limits.h"
#include "io/loop.h"
#include "server/needs.h"
#include "server/server.h"

struct th_hub;
struct th_listener;

/* A note of the session; NULL: the session is this server's no more. */
typedef void th_listener_fn(struct th_listener *l, const struct thole_note *note);

/* In the listener's own memory. */
struct th_listener {
	th_listener_fn *fn;
	/* Called about once a second while the session is not open here: others may write it. */
	void (*look)(struct th_listener *l);
	/* A sign of life for who reads a stream, every TH_SERVE_PING_MS; may be NULL. */
	void (*ping)(struct th_listener *l);
	bool only_listens; /* does not keep the session from being given back */
	bool deltas;       /* is told of pieces of answers, too: what nobody wants is not made */
	uint64_t looked;   /* the round of looks that it had its turn in */
	struct th_hub *hub;
	struct th_listener *prev, *next;
};

/* Over the listeners of a hub, each of which may leave meanwhile. */
struct th_hub_walk {
	struct th_hub_walk *outer;
	struct th_listener *next;
};

/* A call of a function of the client, which waits for its result; or a result that came before its
 * call was given again. */
struct th_client_call {
	struct th_client_call *next;
	struct thole_call *call; /* NULL: it is a result */
	char *call_id, *result;
};

struct th_hub {
	struct th_hub *prev, *next; /* of all */
	struct th_hub *chain;       /* of those with the same hash */
	struct th_server *server;
	struct thole_session *session; /* NULL: it is not open here */
	struct th_listener *first, *last;
	size_t deltas;             /* listeners that are told pieces of answers */
	size_t busy;               /* listeners that keep it open */
	struct th_hub_walk *walks; /* of the list, under way */
	struct th_client_call *calls;
	struct th_needs needs; /* of its quota, after a turn */
	bool turned;           /* another turn ended while that was read */
	uint64_t parked_ms;    /* since when it waits for a client's results; 0: it does not */
	uint64_t rested_ms;    /* since when it rests; 0: it does not */
	bool spare;            /* it rests, and nobody needs it: in the list of those */
	struct th_hub *spare_prev, *spare_next;
	const void *keeper; /* the socket whose end is its end, too; NULL: none */
	bool doomed;        /* it is deleted as soon as it rests */
	bool to_run;        /* while it is LOADING: it was running, or something was said to it */
	bool written;       /* since it was opened: an event of it became durable */
	bool discarding;    /* doomed, and that is under way */
	unsigned dooms;     /* how often that was tried in vain */
	bool leaving;       /* it begins nothing more, and is handed over when it can be */
	char *reservation;  /* of the store, for its run; NULL: none */
	char user[TH_USER_MAX + 1];
	char id[TH_SESSION_ID_MAX + 1];
};

struct th_hubs {
	struct th_hub *first;
	struct th_hub **table;
	size_t table_size, count, open;
	struct th_hub *spare_first, *spare_last; /* the one that rests longest is first */
	size_t spare_count;
	struct th_deferred trim;
	uint64_t round; /* of looks: over when all have had their turn */
};

void th_hubs_init(struct th_server *s);
struct th_hub *th_hub_find(struct th_server *s, const char *id); /* NULL: there is none */
struct th_hub *th_hub_get(struct th_server *s, const char *id, const char *user); /* or makes it */
/* A session that was begun just now. */
void th_hub_adopt(struct th_hub *h, struct thole_session *session);
/* Has the session open, which may be LOADING first (thole_session_open_start); `agent` gives the
 * functions that it needs, and may be NULL.  Otherwise an error of the API. */
TH_NODISCARD int th_hub_open_start(struct th_hub *h, struct thole_agent *agent,
				   struct thole_error *err);

/* Here, and neither rests nor waits for a client's results. */
static inline bool th_hub_runs(const struct th_hub *h)
{
	int state;

	if (!h->session || h->parked_ms)
		return false;
	state = thole_session_state(h->session);
	return state == THOLE_RUNNING || (state == THOLE_LOADING && h->to_run);
}

void th_hub_listen(struct th_hub *h, struct th_listener *l);
void th_hub_unlisten(struct th_listener *l); /* also in its own function; again: nothing */

/* It does not run, or not any more. */
void th_hub_unreserve(struct th_hub *h);

/* Its session runs, and goes on at another node that takes it: listeners are told that it is not
 * here. What thole_session_hand_over returns. */
TH_NODISCARD int th_hub_hand_over(struct th_hub *h, struct thole_error *err);

/* Nobody will answer them: their session goes back to the store, where they are open. */
void th_hub_drop_calls(struct th_hub *h);
/* It was deleted, or this server gives it up: whoever listens is told. */
void th_hub_lose(struct th_hub *h);

/* The socket ends: so do the sessions that are kept only for it. */
void th_hubs_let_go(struct th_server *s, const void *keeper);
/* About once a second: gives back what rests, looks at what others may write. */
void th_hubs_sweep(struct th_server *s);
void th_hubs_ping(struct th_server *s); /* every TH_SERVE_PING_MS */
/* Tells all listeners that their session is gone from here: the server ends. */
void th_hubs_finish(struct th_server *s);
void th_hubs_deinit(struct th_server *s);

#endif
