/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output.h - final outputs of a form: the schema that is sent for an output_schema, and what an
 * answer says in it.
 *
 * Providers take only an object at the top of a structured answer.  A schema of anything else (an
 * array, a number, one of several) is sent as an object whose one member, `response`, it is; the
 * value of that member is the final output.  The form is the Agents SDK's (AgentOutputSchema).
 * Servers that do not hold a model to a schema may leave the object out: then the answer is the
 * value itself.
 */
#ifndef TH_AGENTS_OUTPUT_H
#define TH_AGENTS_OUTPUT_H

#include "base/arena.h"
#include "base/json.h"

/*
 * The schema that is sent, as text in the arena: in the strict subset where that is possible
 * (*ret_strict), else as it is.  Definitions ($defs, definitions) stay at the top, where
 * references find them.  TH_EPROTO: `schema` is no JSON.
 */
TH_NODISCARD enum th_code th_output_schema(struct th_str schema, struct th_arena *a,
					   struct th_str *ret, bool *ret_strict,
					   struct th_err *err);

/*
 * The value that `text` says, as JSON added to `ret`.  TH_EPROTO: it is no JSON, or does not fit,
 * and err has the first fault, in words for the model; else as of th_schema_check().
 */
TH_NODISCARD enum th_code th_output_read(struct th_str schema, struct th_str text,
					 struct th_buf *ret, struct th_err *err);

#endif
