/* SPDX-License-Identifier: Apache-2.0 */
/*
 * question.h - a server's question in the middle of a call, as it stands in the
 * evidence of the effect that ends with it, and as it comes back with the answer.
 *
 * {"arguments": what the person sees, "form": what goes on with the answer}
 */
#ifndef TH_MCP_QUESTION_H
#define TH_MCP_QUESTION_H

#include "base/buf.h"
#include "base/err.h"
#include "wire/mcp_client.h"

/* The members of a form, raw JSON. */
struct th_mcp_form {
	struct th_str params;   /* of the server's request */
	struct th_str hold, id; /* the call that waits in this process, and its question; or */
	struct th_str key, state, inputs; /* the call is made again with these */
	struct th_str samples;            /* true: the model answers it, when it may */
};

/* `why`: what was wrong with the answer before.  TH_EPROTO, TH_ELIMIT: nobody can be shown it. */
TH_NODISCARD enum th_code th_mcp_form_put(const struct th_mcp_form *f, struct th_str why,
					  struct th_buf *out, struct th_err *err);
void th_mcp_form_read(struct th_str json, struct th_mcp_form *ret);
/* The result that the server gets for an answer; empty: it gets none (sampling).  TH_EUSAGE: the
 * answer does not fit. */
TH_NODISCARD enum th_code th_mcp_form_answer(const struct th_mcp_form *f, struct th_str answer,
					     bool declined, struct th_buf *out, struct th_err *err);
/* The members of the call that is made again, behind "arguments". */
void th_mcp_form_inputs(const struct th_mcp_form *f, struct th_str result, struct th_jw *w);

#endif
