/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet.h - this server as one of several on one store.
 *
 * Each has an address, which it announces in the store (fleet.c).  A request
 * about a session that another node has is passed on to that one, with the
 * token of the fleet and the name of the user, and its answer passed back as it
 * comes (forward.c).  A node that passed something on is believed: it is not
 * passed on again, but refused with 421 where the session has moved meanwhile,
 * and the first node looks again.
 *
 * What names its session in the body is passed on like the rest, when the body was
 * read; what came to a service's own listener goes to the other node's server, with
 * the service's name (door.c).
 *
 * What another node has can be read here all the same, out of the store: so
 * readers are served here when that node does not answer.
 */
#ifndef TH_SERVER_FLEET_H
#define TH_SERVER_FLEET_H

#include "io/fetch.h"
#include "server/access.h"

struct th_forward;
struct th_pass;
struct th_tls_config;

struct th_fleet {
	struct th_server *server;
	struct th_fetcher *fetcher;
	struct th_tls_config *tls; /* of sockets to other nodes */
	struct th_forward *first;
	struct th_pass *passes;                  /* of services (pass.h) */
	size_t count;                            /* of both */
	struct thole_reading *look;              /* at who lives; NULL: none is under way */
	struct th_buf nodes;                     /* of the last one, a JSON object a line */
	struct th_buf coming;                    /* of the one under way */
	struct thole_reading *slow_look;         /* at slow statements; NULL: none */
	uint64_t slow, slow_ms, slows, slows_ms; /* how many and the oldest; the look's */
	uint64_t looked_ms;
	struct th_timer drain;
	size_t left; /* sessions that are not handed over yet */
	bool draining;
	uint64_t forwarded, moved, lost, handed_over; /* requests; sessions */
	uint64_t told;                                /* by other nodes, that they left something */
};

/* NULL in *ret: `serve.fleet` says nothing. */
TH_NODISCARD enum th_code th_fleet_new(struct th_server *s, struct th_fleet **ret,
				       struct th_err *err);
struct th_fleet *th_fleet_free(struct th_fleet *f); /* takes NULL, returns NULL */
void th_fleet_configure(struct th_fleet *f);        /* its settings are others */
void th_fleet_sweep(struct th_fleet *f);            /* about once a second; takes NULL */
void th_fleet_finish(struct th_fleet *f); /* ends streams that are passed on; takes NULL */

/* Another node passes on what a user asked of it, with the fleet's token: `text`. */
bool th_fleet_caller(struct th_access *a, struct th_str text, struct th_token *ret);
/* For /metrics. */
void th_fleet_figures(const struct th_fleet *f, struct th_buf *out);

/* Gives up, in a while, all that runs here and that nobody waits for. */
void th_fleet_drain(struct th_fleet *f);

/* forward_takes.c */
/* The request may be another node's: true, and it is answered later, here or by that one. */
bool th_forward_takes(struct th_access *a);
/* A handler learned which session the request is about: the same, and here it is `here` that
 * answers.  False: this node has it, or is alone. */
bool th_forward_session(struct th_access *a, const char *session, th_access_fn *here);
/* This node lacks labels that the request needs (THOLE_EPLACE): true, and a node that has them
 * answers it, or it is refused with 503. */
bool th_forward_places(struct th_access *a, const struct thole_error *err);

/* forward.c */
struct th_forward *th_forward_next(const struct th_forward *f);
const char *th_forward_address(const struct th_forward *f); /* ""; it is not sent yet */
void th_forward_lose(struct th_forward *f);                 /* that node is dead */
void th_forward_finish(struct th_forward *f);               /* ends it if it is a stream */
void th_forward_free(struct th_forward *f);                 /* the server is freed */

/* forward_socket.c: a WebSocket that another node has, whose bytes go through unread. */
struct th_passed_socket;
enum th_passed {
	TH_PASSED_BEGUN, /* the client has the other node's answer: 101 */
	TH_PASSED_MOVED, /* that node has not got the session; the request is open yet */
	TH_PASSED_LOST,  /* it does not answer; the same */
	TH_PASSED_OVER,  /* the other node ended it, or refused it: the request is to be ended */
};
/* Not called from within the functions below; after all but BEGUN it is to be freed. */
typedef void th_passed_fn(void *ctx, enum th_passed what);
/* `identity`: headers that say who asks, each ended by CR LF. */
TH_NODISCARD enum th_code th_passed_socket_new(struct th_access *a, const char *address,
					       struct th_str identity, th_passed_fn *fn, void *ctx,
					       struct th_passed_socket **ret, struct th_err *err);
struct th_passed_socket *th_passed_socket_free(struct th_passed_socket *p); /* NULL: nothing */
void th_passed_socket_say(struct th_passed_socket *p, struct th_str bytes); /* from the client */
void th_passed_socket_room(struct th_passed_socket *p); /* the client has read all */
/* Frees it and ends the request: with the other node's refusal, or as a socket ends. */
void th_passed_socket_end(struct th_passed_socket *p);

#endif
