/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_sample.h - what a server of MCP asks a model (sampling/createMessage): as a
 * question to the person, as a message to the model, and the answer as the server wants it.
 *
 * The message holds only what the server said, each line of it marked as such: nothing of
 * the session, and no tools.  Pure, and total.
 */
#ifndef TH_WIRE_MCP_SAMPLE_H
#define TH_WIRE_MCP_SAMPLE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"

#define TH_MCP_SAMPLE_YES "yes"

/* {"question": …, "options": ["yes", "no"]}.  TH_EPROTO: it is no such request; TH_EUNSUPPORTED: it
 * holds what is no text. */
TH_NODISCARD enum th_code th_mcp_sample_question(const struct th_json *params, struct th_buf *out,
						 struct th_err *err);
/* The text of the message, and how many tokens the answer may have. */
TH_NODISCARD enum th_code th_mcp_sample_prompt(const struct th_json *params, struct th_buf *out,
					       int64_t *ret_tokens, struct th_err *err);
/* {"role": "assistant", "content": …, "model": …, "stopReason": "endTurn"} */
void th_mcp_sample_answer(struct th_str text, struct th_str model, struct th_buf *out);

#endif
