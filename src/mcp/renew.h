/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renew.h - the token of a server's login, as its requests need it: read from the
 * file, and renewed without a person while the authorization server allows it.
 *
 * Many sessions and processes share one login.  One of them renews it at a time, with
 * the file locked; the others wait for the file, because most authorization servers
 * take a refresh token once.
 */
#ifndef TH_MCP_RENEW_H
#define TH_MCP_RENEW_H

#include "mcp/ask.h"
#include "mcp/login.h"

struct th_mcp_renew;

/* `done` is never called from inside a function of this header. */
struct th_mcp_renew *th_mcp_renew_new(struct th_loop *loop, struct th_fetcher *fetcher,
				      struct th_str url, void (*done)(void *ctx, bool good),
				      void *ctx);
struct th_mcp_renew *th_mcp_renew_free(struct th_mcp_renew *r); /* takes NULL, returns NULL */
const struct th_secret *th_mcp_renew_token(const struct th_mcp_renew *r); /* NULL: no login */
/* It ends soon, and another can be had. */
bool th_mcp_renew_due(const struct th_mcp_renew *r);
/* The token was refused, or is due: `done` comes, unless it is on its way already.  False: no other
 * can be had without a person. */
bool th_mcp_renew_start(struct th_mcp_renew *r);
/* The file has another token by now, which is taken: a person has logged in anew. */
bool th_mcp_renew_reload(struct th_mcp_renew *r);

#endif
