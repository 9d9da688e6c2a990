/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.h - what a request says about the answer's form (th_tool_choice,
 * th_output_format), as far as the wires' encoders share it.
 *
 * A provider that cannot hold a model to a schema is not asked to: the model is
 * told in the system prompt, which is what `instructed` means.  Whether the
 * answer fits is checked by who asked for it (schema/schema.h), whatever the
 * provider promises.
 */
#ifndef TH_MODEL_WIRE_FORMAT_H
#define TH_MODEL_WIRE_FORMAT_H

#include "models/model.h"

static inline bool th_format_wanted(const struct th_request_options *o)
{
	return o->format.schema.len > 0;
}

/* The schema's name, or the one that stands for none. */
struct th_str th_format_name(const struct th_request_options *o);

/* The sentence for the system prompt, behind an empty line when `out` has text. */
void th_format_instruct(const struct th_request_options *o, struct th_buf *out);

/* Whether the provider stores its answers: only where the agent's settings ask for it, or need it.
 */
bool th_request_stores(const struct th_request_options *o);
/* Tokens from which on the provider is asked to shorten the history itself; 0: it is not. */
int64_t th_request_compacts(const struct th_request_options *o);

/* Whether a call is demanded: of any tool, or of one. */
static inline bool th_choice_forces(const struct th_request_options *o)
{
	return o->choice.kind == TH_CHOICE_REQUIRED || o->choice.kind == TH_CHOICE_TOOL;
}

/* Whether the tool that must be called is the computer. */
bool th_choice_is_computer(const struct th_request_options *o);

/* "tool_choice" and "parallel_tool_calls" in the words that OpenAI's two APIs share; `named` writes
 * the value for one tool. */
void th_choice_put(const struct th_request_options *o, struct th_jw *w,
		   void (*named)(const struct th_request_options *o, struct th_jw *w));

#endif
