/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_talk.h - the parts of a conversation with a server, for the files of mcp_client.h alone:
 * mcp_client.c (the requests and the server's answers), mcp_begin.c (the first words), mcp_asked.c
 * (what the server asks) and mcp_say.c (what is said).
 */
#ifndef TH_WIRE_MCP_TALK_H
#define TH_WIRE_MCP_TALK_H

#include "wire/jsonrpc.h"
#include "wire/mcp_client.h"

#define TH_MCP_META "io.modelcontextprotocol/"

/* ---- mcp_say.c ---- */

/* `id` 0: a notification.  `params`: as they go out. */
void th_mcp_say_call(struct th_mcp_client *c, uint64_t id, const char *method,
		     struct th_str params);
/* `params` gets the _meta of its era; of a modern request `progress` is its id. */
void th_mcp_say(struct th_mcp_client *c, uint64_t id, const char *method, struct th_str params,
		uint64_t progress, bool modern);
/* Members: who we are, and what we can be asked for. */
void th_mcp_say_self(struct th_jw *w, const char *name);
void th_mcp_say_capabilities(const struct th_mcp_client *c, struct th_jw *w, const char *name,
			     bool modern);

/* By its id, or, where that is 0, by its user.  NULL: there is none. */
struct th_mcp_request *th_mcp_request_find(struct th_mcp_client *c, uint64_t id, const void *user);
void th_mcp_request_free(struct th_mcp_client *c, struct th_mcp_request *r);

/* ---- mcp_begin.c ---- */

/* The answer to the first word.  Anything but a modern answer to `server/discover` is an older
 * server's. */
TH_NODISCARD enum th_code th_mcp_begin_take(struct th_mcp_client *c, uint64_t id,
					    const struct th_rpc *m, struct th_err *err);

/* ---- mcp_asked.c ---- */

/* Who is asked or told: whoever waits for the answer in whose course that came, else the newest
 * call.  NULL: nobody. */
struct th_mcp_request *th_mcp_asker(struct th_mcp_client *c);
/* A request of the server's. */
void th_mcp_asked_take(struct th_mcp_client *c, const struct th_rpc *m);
/* The first question of an answer (2026-07-28) that a person must answer; roots go along with it.
 * False: there is none. */
bool th_mcp_asked_person(struct th_mcp_client *c, struct th_mcp_request *r, struct th_str value);
/* Makes the request once more, with the answers: the same user, another id. */
TH_NODISCARD enum th_code th_mcp_asked_again(struct th_mcp_client *c, struct th_mcp_request *r,
					     const struct th_json *result, struct th_err *err);

#endif
