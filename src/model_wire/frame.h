/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h - what stands around a request's groups: the wire's head and tail,
 * and its headers, with what the agent's settings add to them (extra_body and
 * extra_headers, where o->extra).
 *
 * extra_body is a merge patch (RFC 7396) of the body: objects are merged member
 * by member, anything else takes the place of what the wire says, null takes it
 * out.  The groups' list is left as it is, and stays last.
 */
#ifndef TH_MODEL_WIRE_FRAME_H
#define TH_MODEL_WIRE_FRAME_H

#include "models/model.h"

/* Head and tail, into `out`, which is empty; the groups go in at *ret_at.  TH_EPROTO, TH_ELIMIT:
 * the settings are none, or too large. */
TH_NODISCARD enum th_code th_request_frame(const struct th_request_options *o, struct th_buf *out,
					   size_t *ret_at, struct th_err *err);

/* Lines "name: value\n", beside the key and the content type. */
void th_request_headers(const struct th_request_options *o, struct th_buf *out);

#endif
