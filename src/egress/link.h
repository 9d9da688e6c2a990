/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - an executor's end of the egress: finds or starts the process when a
 * program of the session first connects, hands it the session's socket, and
 * gathers what connections there were.
 *
 * While there is no egress the socket is watched here, so that nothing is
 * started before it is needed, and never more often than every
 * TH_EGRESS_RETRY_MS; what connects in between is closed at once.
 */
#ifndef TH_EGRESS_LINK_H
#define TH_EGRESS_LINK_H

#include "base/buf.h"
#include "base/secret.h"
#include "io/loop.h"

struct th_egress_link;

struct th_egress_options {
	const char *program;   /* thole; copied, like the next */
	struct th_str session; /* for people */
	struct th_str net;     /* JSON, th_net_parse */
	const struct th_secret *
	    secrets; /* list of exec_secret; NULL: none.  Both outlive the link, or the next ones */
	const struct th_secret *authority; /* th_ca_export */
	/* A program wants to reach what net does not list, or does (`listed`), and waits for
	 * th_egress_link_answer. */
	void (*on_ask)(void *ctx, struct th_str host, uint16_t port, bool listed);
	/* All that waited for that host and port have hung up. */
	void (*on_withdrawn)(void *ctx, struct th_str host, uint16_t port);
	bool asks, asks_listed; /* which of the two; else it is refused, or reached */
	void *ask_ctx;
	int listen_fd; /* io/net_space.h; the caller's, outlives the link */
};

TH_NODISCARD enum th_code th_egress_link_new(struct th_loop *l, const struct th_egress_options *o,
					     struct th_egress_link **ret, struct th_err *err);
/* Its connections end.  Who waits is not called.  Takes NULL, returns NULL. */
struct th_egress_link *th_egress_link_free(struct th_egress_link *x);

/* Other values of the same secrets, for requests from now on.  It outlives the link, as the former
 * one did until now. */
void th_egress_link_secrets(struct th_egress_link *x, const struct th_secret *secrets);

/* All that wait for that host and port go on, or are refused. */
void th_egress_link_answer(struct th_egress_link *x, struct th_str host, uint16_t port, bool allow,
			   const char *why);

/* Who wants to know all connections up to now; the caller's memory. */
struct th_egress_wait {
	void (*fn)(void *ctx);
	void *ctx;
	/* private */
	struct th_egress_wait *next;
	int64_t id;
};

/* Calls w->fn once: later, when the egress has told all, or was given up; or at once (and returns
 * false) when there is nothing to wait for. */
bool th_egress_link_sync(struct th_egress_link *x, struct th_egress_wait *w);

/* The connections since the last call as a JSON list, equal ones folded into a row; nothing is
 * added when there were none. */
void th_egress_link_take(struct th_egress_link *x, struct th_buf *out);

#endif
