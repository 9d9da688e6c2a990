/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the HTTP server of `thole serve`: sessions for programs and people
 * over HTTP, above the public API.
 *
 * It owns no sessions' rules: what it knows of them it asks of thole.h.  What it
 * answers is the services' (service.h).  Each
 * request is a user's, by its token; what is another user's is not there for
 * him.  The stream of a session's events can be taken up again at any event.
 *
 * One server, one runtime, one loop, one thread.
 */
#ifndef TH_SERVER_SERVER_H
#define TH_SERVER_SERVER_H

#include <thole/thole.h>

#include "base/buf.h"
#include "io/loop.h"

struct th_server;
struct th_service;

/* Strings are borrowed for the server's life. */
struct th_server_options {
	const struct th_service *const *services; /* what it answers; ended by NULL */
	struct th_str listen;                     /* "127.0.0.1:7711", "unix:PATH" */
	struct th_str agents;                     /* folder of NAME.yaml; empty: only "default" */
	struct th_str workspaces;  /* folder in which each session has its own; empty: none */
	struct th_str tokens;      /* file of lines TOKEN USER SCOPES; empty: none */
	struct th_str token_store; /* file of `thole token` */
	const char *cert, *key;    /* PEM files; NULL: no TLS */
	struct th_str outbox;      /* file that remembers which webhooks were taken; empty: none */
	struct th_str serve;       /* `serve` of the configuration, JSON; empty: all defaults */
	struct th_str cua;         /* where Cua's face listens; empty: nowhere */
	struct th_str cua_folder;  /* absolute: where its commands begin */
	bool cua_open;             /* without a token */
	bool cua_net_host;         /* its computers have the machine's network */
	struct th_str openhands;   /* where OpenHands' face listens; empty: nowhere */
	bool no_sandbox;           /* of the commands of its sessions */
	int journal;               /* descriptor that gets a JSON line per request; -1: none */
	/* The server cannot go on: the store failed. */
	void (*on_failure)(void *ctx, const struct th_err *err);
	void *ctx;
};

/* TH_EUSAGE, …: an option, an agent file, a token, an address.  Sessions that a server had running
 * are taken up. */
TH_NODISCARD enum th_code th_server_new(struct th_loop *l, struct thole_runtime *rt,
					const struct th_server_options *o, struct th_server **ret,
					struct th_err *err);
/* "http://127.0.0.1:7711", "unix:PATH". */
void th_server_print(const struct th_server *s, struct th_buf *out);
/* A line for each service that listens elsewhere too. */
void th_server_print_services(const struct th_server *s, struct th_buf *out);
bool th_server_has_tokens(const struct th_server *s);
/* Reads configuration, agents and tokens again; sessions keep what they have.  On failure all stays
 * as it was.  `serve`: the new one, borrowed as the options'. */
TH_NODISCARD enum th_code th_server_reload(struct th_server *s, struct th_str serve,
					   struct th_err *err);
/* A node of a fleet: nothing begins any more, and what runs goes on at the others, each when
 * nothing of it is under way.  Requests are still taken.  False: it is no node of a fleet. */
bool th_server_drain(struct th_server *s);
size_t th_server_left(const struct th_server *s); /* sessions that are not handed over yet */
/* Takes no more requests, ends those that only listen. */
void th_server_finish(struct th_server *s);
bool th_server_idle(const struct th_server *s); /* no connection is left */
/* Takes NULL, returns NULL.  Before the runtime is freed. */
struct th_server *th_server_free(struct th_server *s);

#endif
