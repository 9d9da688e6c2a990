/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - one request of OAuth and its whole answer: a document, a registration, a
 * token.  Small, within TH_OAUTH_MS, and to the address given alone: a redirect is an
 * answer like any other.
 */
#ifndef TH_MCP_ASK_H
#define TH_MCP_ASK_H

#include "base/buf.h"
#include "base/secret.h"
#include "io/fetch.h"

struct th_mcp_ask {
	struct th_fetcher *fetcher;
	/* The answer is in `answer` and `challenge` until the next request.  `status` 0: `err`. */
	void (*done)(void *ctx, int status, const struct th_err *err);
	void *ctx;
	struct th_fetch_id fetch;
	bool running;
	struct th_secret *body, *authorization;
	struct th_str piece;
	struct th_buf answer, challenge; /* challenge: WWW-Authenticate */
	struct th_timer failed;          /* it could not be sent: told from outside */
	struct th_err err;
};

void th_mcp_ask_init(struct th_mcp_ask *a, struct th_loop *loop, struct th_fetcher *fetcher,
		     void (*done)(void *ctx, int status, const struct th_err *err), void *ctx);
void th_mcp_ask_deinit(struct th_mcp_ask *a);
/* `body` empty: a GET.  `type`: of the body.  Both are wiped afterwards; `done` comes later. */
void th_mcp_ask_start(struct th_mcp_ask *a, struct th_str url, const char *type, struct th_str body,
		      struct th_str authorization);

#endif
