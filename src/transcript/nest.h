/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest.h - the history of a handoff as one conversation told to the next
 * agent: messages of the assistant that list what was said and done ("nested
 * history" of the Agents SDK), and between them, in their order, what is
 * forwarded as it is.
 *
 * What the run began with is always told, and such a message in it is told
 * record by record, so that histories never nest twice.  Of what the run
 * brought, calls of functions, their results and reasoning are told; messages
 * of the turn under way, people's words, and every other kind of item (which
 * mean something to the API only as they are) are forwarded, and named by
 * marks (transcript/transcript.h).
 *
 *	For context, here is the conversation so far between the user and the previous agent:
 *	<CONVERSATION HISTORY>
 *	1. user: one line is told as it is
 *	2. {"role":"user","content":"two\nlines and any other item are JSON"}
 *	</CONVERSATION HISTORY>
 *
 * Text in, text out; nothing is kept.
 */
#ifndef TH_TRANSCRIPT_NEST_H
#define TH_TRANSCRIPT_NEST_H

#include "agents/team.h"
#include "transcript/transcript.h"

/* The marks of what the next agent sees.  TH_ELIMIT: they do not fit. */
TH_NODISCARD enum th_code th_nest(const struct th_transcript *transcript,
				  const struct th_nest_markers *markers, struct th_buf *marks,
				  struct th_err *err);
/* All of it as a list of items, nested ones told apart: what a program's own form is made of. */
TH_NODISCARD enum th_code th_nest_transcript(const struct th_transcript *transcript,
					     const struct th_nest_markers *markers,
					     struct th_buf *items, struct th_err *err);

#endif
