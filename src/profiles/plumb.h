/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plumb.h - the layer as functions from JSON to JSON, for `thole plumb`, for
 * tests and for other languages.
 */
#ifndef TH_PROFILES_PLUMB_H
#define TH_PROFILES_PLUMB_H

#include "dialects/dialect.h"
#include "models/model.h"

/* {"profile","wire","dialect","model","capabilities"} */
TH_NODISCARD enum th_code th_plumb_route(struct th_str model, struct th_buf *out,
					 struct th_err *err);

/* {"items":[…],"usage":{…},"status":"…","error":null} and, where the answer says them, "reason",
 * "response_id" and "model". */
void th_plumb_answer(const struct th_answer *answer, struct th_buf *out);

/* Any bytes of a body, as th_plumb_answer.  `http_status`: 0 or 200 to 299 is an answer, others an
 * error. */
void th_plumb_decode(const struct th_profile *profile, struct th_str body, int http_status,
		     struct th_buf *out);

/* The same with the model's actions as a session would do them: in pixels of the context's screen.
 * Without a screen the items are as the wire gives them. */
void th_plumb_decode_on(const struct th_dialect_context *c, struct th_str body, int http_status,
			struct th_buf *out);

/* Bare text of a model, as if it were an answer. */
void th_plumb_decode_text(const struct th_dialect_context *c, struct th_str text,
			  struct th_buf *out);

/* The input's "tools": [{"name","description","parameters","strict"}]; none is no error.  Strings
 * are the arena's. */
TH_NODISCARD enum th_code th_plumb_tools(struct th_str input, struct th_arena *a,
					 struct th_tool_spec **ret, size_t *ret_count,
					 struct th_err *err);

/*
 * {"items":[…]} -> {"path","headers","body"}.  Items are in the Responses form:
 * messages, output items, and results of calls, whose images are data URLs.
 * An answer's first item may have the "raw" that it was decoded with, and in it
 * "items", for how many items it stands.
 * Results go the way they go in a session: as entries with holes for images.
 * TH_EPROTO: not of that form.
 */
TH_NODISCARD enum th_code th_plumb_encode(const struct th_request_options *o, struct th_str input,
					  struct th_buf *out, struct th_err *err);

#endif
