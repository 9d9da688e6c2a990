/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_internal.h - what the two files of a connection share: flow.c has its
 * bytes and its end, flow_want.c what the client wants, and whether it may.
 */
#ifndef TH_EGRESS_FLOW_INTERNAL_H
#define TH_EGRESS_FLOW_INTERNAL_H

#include "egress/flow.h"
#include "egress/terminate.h"
#include "io/dial.h"
#include "wire/proxy.h"

enum stage { STAGE_HEAD, STAGE_ASK, STAGE_DIAL, STAGE_RELAY, STAGE_LEAVE };
enum kind { KIND_TUNNEL, KIND_HTTP, KIND_SOCKS };
enum answer { ANSWER_BAD, ANSWER_REFUSED, ANSWER_UNREACHABLE };

struct side {
	int fd;
	struct th_poll *poll;
	struct th_buf out; /* what waits to be written to it */
	size_t out_used;
	bool ended; /* nothing more comes from it */
	bool shut;  /* nothing more is written to it */
};

struct flow {
	struct th_flow base; /* first */
	enum stage stage;
	enum kind kind;
	bool greeted; /* SOCKS */
	bool whole;   /* HTTP: the request has ended */
	bool chunks;  /* HTTP: its body goes on in chunks */
	bool secret;  /* a tunnel to a host that gets one */
	bool address;
	bool listed;              /* it is asked for although the list has it */
	int64_t ask_id;           /* of the question that it waits for; 0: none */
	bool tls_ended;           /* its server has, and the rest was given on */
	struct th_terminate *tls; /* of that, once it is connected */
	struct th_buf early;      /* of the client, not yet understood */
	struct th_http1 *http;
	struct th_proxy_request request;
	char host[TH_NET_HOST_MAX + 1];
	uint16_t port;
	struct side client, server;
	struct th_dial *dial;
	struct th_timer timer;
	size_t left; /* bytes read while leaving */
	/* what is told */
	const char *decision; /* NULL: not yet */
	char why[200];
	bool counted;
	uint64_t from_ms, up, down;
	bool ending;
};

/* flow.c */
void th_flow_decide(struct flow *f, const char *decision, const char *why);
void th_flow_end(struct flow *f);
void th_flow_update(struct flow *f); /* what is watched for */
/* Reads of the client; >0: so many bytes behind f->early, 0: none now, -1: none ever more. */
ssize_t th_flow_read(struct flow *f);
/* Writes at once, and keeps what does not go; false: it is broken. */
bool th_flow_give(struct side *s, struct th_str bytes);
/* The client may read it, and then the connection ends. */
void th_flow_leave(struct flow *f, enum answer answer, const char *text);
void th_flow_relay(struct flow *f, int fd); /* the server is reached; takes the descriptor */

/* flow_want.c */
void th_flow_want(struct flow *f);       /* the client has said something, or more */
void th_flow_unanswered(struct flow *f); /* it has waited long enough */
void th_flow_hung_up(struct flow *f);    /* the client, while somebody is asked */

#endif
