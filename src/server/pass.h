/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - a request of a service's own to the node that has a session: for what came by another
 * way than as a request about that session, such as a message of a WebSocket.
 *
 * It goes as one that is passed on (fleet.h): with the token of the fleet, the user's name and his
 * scopes.  Where the session moves meanwhile, the next node is asked.
 */
#ifndef TH_SERVER_PASS_H
#define TH_SERVER_PASS_H

#include "server/access.h"

struct th_pass;

enum th_pass_end {
	TH_PASS_HERE,  /* no other node has it: nothing was sent */
	TH_PASS_WHOLE, /* the answer was given to its end */
	TH_PASS_LOST   /* there was none, or not to its end */
};

/* Strings are copied; `body` is borrowed until the end. */
struct th_pass_request {
	const char *session, *method, *path;
	struct th_str body; /* JSON */
	void (*data)(void *ctx, int status, struct th_str bytes);
	/* Once, from the loop, unless it is freed before; `why` of what was lost.  The pass is gone
	 * then. */
	void (*end)(void *ctx, enum th_pass_end end, int status, const char *why);
	void *ctx;
};

/* NULL in *ret: it is this node's to answer, as far as that is known at once. */
TH_NODISCARD int th_pass_start(struct th_access *a, const struct th_pass_request *r,
			       struct th_pass **ret, struct thole_error *err);
void th_pass_free(struct th_pass *p); /* takes NULL: nothing is called any more */

/* fleet.c: of each, when it is known who lives. */
struct th_pass *th_pass_next(const struct th_pass *p);
const char *th_pass_address(const struct th_pass *p); /* ""; it is not sent */
void th_pass_lose(struct th_pass *p);                 /* that node is dead */

#endif
