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
};

/* NULL: the message is this node's.  `stream_id` may be empty. */
struct th_response_pass *th_response_pass_start(struct th_access *a, const char *session,
						struct th_str message, const char *stream_id,
						const struct th_response_pass_ops *ops, void *ctx);
/* Nothing is called any more; who made it gives up.  Takes NULL. */
void th_response_pass_free(struct th_response_pass *p);

#endif
