/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - the way to a server at an address, for its own files alone: http.c (the transport),
 * http_exchange.c (a message on its way) and http_old.c (servers of 2024-11-05).
 */
#ifndef TH_MCP_HTTP_H
#define TH_MCP_HTTP_H

#include "io/fetch.h"
#include "mcp/internal.h"
#include "mcp/renew.h"
#include "wire/jsonrpc.h"
#include "wire/sse.h"

#define TH_MCP_HEADERS_OWN 8
#define TH_MCP_SESSION_MAX 256

/* One message on its way, and what comes back for it. */
struct th_mcp_exchange {
	struct th_mcp_exchange *next;
	struct th_mcp_process *p;
	struct th_fetch_id fetch;
	bool running, is_stream, is_first, has_session, quiet;
	bool waits;       /* for a token */
	bool renewed;     /* it was refused once, and a new token was asked for */
	bool once;        /* what it asks for does something */
	bool listens;     /* the stream on which the server speaks unasked */
	bool carries;     /* that of an older server, on which its answers come, too */
	bool waits_place; /* for where such a server takes messages */
	uint64_t id;      /* of the request; 0: a notification, or an answer of ours */
	int status, resumes;
	char *text;          /* of the message; it must live as long as the fetch */
	struct th_str piece; /* of the body */
	struct th_buf answer;
	struct th_sse events;
	struct th_timer again;
	struct th_err broken;    /* it could not be sent at all */
	struct th_buf challenge; /* WWW-Authenticate */
};

struct th_mcp_http_channel {
	const char *url;
	const char **names; /* of the headers */
	struct th_str *values;
	size_t header_count;
	struct th_secret *token;              /* of token_env; or */
	struct th_mcp_renew *login;           /* what a person has logged in for */
	char session[TH_MCP_SESSION_MAX + 1]; /* Mcp-Session-Id; empty: none */
	bool old;                             /* it is a server of 2024-11-05: HTTP+SSE */
	int refused;                          /* the status that made us think so */
	struct th_buf endpoint;               /* where its messages go; empty: it has not said */
	struct th_mcp_exchange *exchanges;
	struct th_timer end; /* a server is ended from outside of its callbacks */
	struct th_err why;
};

static inline struct th_mcp_http_channel *th_mcp_http_of(const struct th_mcp_process *p)
{
	return (struct th_mcp_http_channel *)p->channel;
}

static inline const struct th_secret *th_mcp_http_token(const struct th_mcp_http_channel *h)
{
	return h->login ? th_mcp_renew_token(h->login) : h->token;
}

static inline void th_mcp_http_add(struct th_fetch_header *list, size_t *count, const char *name,
				   struct th_str value)
{
	list[(*count)++] = (struct th_fetch_header){ name, value };
}

/* ---- http.c ---- */

/* Sends a message of its own, now or when that can be. */
void th_mcp_http_dispatch(struct th_mcp_exchange *e);

/* ---- http_old.c ---- */

/* The first message was refused as an older server does; it is sent again there.  False: it is
 * none of these. */
bool th_mcp_old_begin(struct th_mcp_exchange *e);
/* Opens the stream of such a server, unless it is open. */
void th_mcp_old_open(struct th_mcp_process *p);
/* Where messages go: those that wait are sent. */
void th_mcp_old_endpoint(struct th_mcp_exchange *e, struct th_str named);
/* Its stream has ended, and with it what the server knows of us. */
void th_mcp_old_over(struct th_mcp_exchange *e, const struct th_fetch_result *r);

/* ---- http_exchange.c ---- */

/* It is in p's list; nothing is sent yet. */
struct th_mcp_exchange *th_mcp_exchange_new(struct th_mcp_process *p, struct th_str message);
void th_mcp_exchange_free(struct th_mcp_exchange *e);
/* `resume`: a stream is asked for, else the message is sent; `once`: on a connection of its own. */
void th_mcp_exchange_start(struct th_mcp_exchange *e, bool resume, bool once);
void th_mcp_exchange_send_again(struct th_mcp_exchange *e);
/* Why it has no answer, in a sentence. */
void th_mcp_exchange_say(struct th_mcp_exchange *e, const struct th_fetch_result *r,
			 struct th_err *err);
/* What was refused stays refused: its end, as that of a fetch.  It has gone, and others may have.
 */
void th_mcp_exchange_refused(struct th_mcp_exchange *e);
/* Only a call of a tool does anything; and of these not the ones that only look. */
bool th_mcp_exchange_acts(const struct th_mcp_exchange *e, const struct th_rpc *m);

#endif
