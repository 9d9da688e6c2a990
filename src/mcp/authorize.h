/* SPDX-License-Identifier: Apache-2.0 */
/*
 * authorize.h - a login at a server of MCP, from its address to a token in the file
 * (login.h): documents, registration, the person's way through a browser, the token.
 *
 * The person's way is the caller's: `visit` is given the address that the person
 * opens, and the caller gives the redirect that came back.
 */
#ifndef TH_MCP_AUTHORIZE_H
#define TH_MCP_AUTHORIZE_H

#include "io/fetch.h"
#include "wire/oauth.h"

struct th_mcp_authorize;

struct th_mcp_authorize_spec {
	struct th_loop *loop;
	struct th_fetcher *fetcher;
	struct th_str url;      /* of the server */
	struct th_str redirect; /* where the browser is sent back to */
	/* Of the client; all may be empty: it is registered.  client_secret, key_file: beside
	 * client_id. */
	struct th_str client_id, client_secret, key_file, client_document;
	struct th_str scope; /* in place of what the server asks for */
	bool by_client;      /* client_credentials: no person */
	void (*visit)(void *ctx, struct th_str url);
	/* NULL: there is a token, and it is written down.  Not from inside of a function here. */
	void (*done)(void *ctx, const struct th_err *err);
	void *ctx;
};

/* Begins.  TH_EUSAGE: the spec. */
TH_NODISCARD enum th_code th_mcp_authorize_new(const struct th_mcp_authorize_spec *spec,
					       struct th_mcp_authorize **ret, struct th_err *err);
struct th_mcp_authorize *th_mcp_authorize_free(struct th_mcp_authorize *a); /* takes NULL */
/* After `visit`: the query of the redirect, or its whole address.  TH_EPROTO: it is no answer to
 * this login, which goes on waiting; other errors have ended it. */
TH_NODISCARD enum th_code th_mcp_authorize_answer(struct th_mcp_authorize *a, struct th_str query,
						  struct th_err *err);

#endif
