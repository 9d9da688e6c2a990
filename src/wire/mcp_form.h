/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_form.h - what a server of MCP asks a person in the middle of a call
 * (elicitation/create): as a question, and the person's answer as the server
 * wants it.
 *
 * A form has a flat schema: strings, numbers, booleans, one or several of a list.
 * An answer is a text: the value of the one field that there is, or that must be
 * answered; "name=value; name=value"; or a JSON object.  What it leaves out has its default.  An
 * address is not opened here: the person does, and says so.
 *
 * Pure, and total: any schema and any text give an answer or a sentence.
 */
#ifndef TH_WIRE_MCP_FORM_H
#define TH_WIRE_MCP_FORM_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"

/* Of the parameters: {"question": …, "options": […]}, as the arguments of the tool ask.  `why`:
 * what was wrong with the answer before, or empty.  TH_EPROTO: it is no question that can be shown.
 */
TH_NODISCARD enum th_code th_mcp_form_question(const struct th_json *params, struct th_str why,
					       struct th_buf *out, struct th_err *err);
/* The result: {"action": "accept", "content": …}; `declined`: {"action": "decline"}.  TH_EUSAGE:
 * the answer does not fit. */
TH_NODISCARD enum th_code th_mcp_form_result(const struct th_json *params, struct th_str answer,
					     bool declined, struct th_buf *out, struct th_err *err);

#endif
