/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h - one connection of a program: what it wants, whether the list has it,
 * and its bytes in both directions.
 */
#ifndef TH_EGRESS_FLOW_H
#define TH_EGRESS_FLOW_H

#include "egress/secrets.h"
#include "io/loop.h"
#include "rules/net_rule.h"
#include "wire/egress.h"

struct th_flow;

/* What flows of a session share; its owner's. */
struct th_flow_owner {
	struct th_loop *loop;
	const struct th_net_policy *policy;
	const struct th_egress_secrets *secrets; /* NULL: none */
	/* Something to tell of a flow. */
	void (*on_report)(void *ctx, const struct th_egress_connection *c);
	/* Somebody is to be asked whether it may be reached, which th_flow_answer says; returns
	 * the number of the question. */
	int64_t (*on_ask)(void *ctx, const char *host, uint16_t port, bool listed);
	/* Who asked is gone: no answer is waited for. */
	void (*on_withdrawn)(void *ctx, int64_t ask_id);
	bool asks, asks_listed; /* of what is not on the list, and of what is */
	/* It has ended and is freed after this call. */
	void (*on_end)(void *ctx, struct th_flow *f);
	void *ctx;
};

struct th_flow {
	struct th_flow *prev, *next; /* its owner's */
	struct th_flow_owner *owner;
};

/* Takes over the descriptor.  NULL: it could not be watched. */
struct th_flow *th_flow_new(struct th_flow_owner *owner, int fd);
void th_flow_free(struct th_flow *f); /* without on_end; what is new of it is told */
/* False: this question is not its. */
bool th_flow_answer(struct th_flow *f, int64_t ask_id, bool allow, struct th_str why);
void th_flow_sync(struct th_flow *f); /* tells what is new of it */

#endif
