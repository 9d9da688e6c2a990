/* SPDX-License-Identifier: Apache-2.0 */
/*
 * response_pass.h - a message of a WebSocket that goes on from a session of another node: asked of
 * that one as a stream, whose events are the message's.
 */
#ifndef TH_MODEL_API_RESPONSE_PASS_H
#define TH_MODEL_API_RESPONSE_PASS_H

#include "model_api/response_internal.h"

struct th_response_pass;

/* All from the loop. */
struct th_response_pass_ops {
	void (*event)(void *ctx, struct th_str json); /* what the client is sent */
	/* The last one, and it is gone.  `here`: no other node has the session, and nothing was
	 * sent.  `fault` (may be NULL) is what the client is told. */
	void (*over)(void *ctx, bool here, const struct th_response_fault *fault);
	/* What was said to the response is written; `why`: it is not. */
	void (*steered)(void *ctx, const char *name, const struct th_response_fault *why);
};

/* NULL: the message is this node's.  `stream_id` may be empty. */
struct th_response_pass *th_response_pass_start(struct th_access *a, const char *session,
						struct th_str message, const char *stream_id,
						const struct th_response_pass_ops *ops, void *ctx);
/* The response's, as soon as that node has told it; else empty. */
const char *th_response_pass_name(const struct th_response_pass *p);
/* Says the input of a response.steer to it.  `over` waits for what that node says of it.  False:
 * `fault` says why not. */
bool th_response_pass_steer(struct th_response_pass *p, struct th_str message,
			    struct th_response_fault *fault);
/* Nothing is called any more; who made it gives up.  Takes NULL. */
void th_response_pass_free(struct th_response_pass *p);

#endif
