/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handoff.h - what the code of a handoff is shown of the history, and what its
 * answer means: the same three lists that the Agents SDK gives a filter.
 *
 *	input_history      what the run began with: all of before, and the task
 *	pre_handoff_items  what it brought before the turn under way
 *	new_items          the turn, with the call that hands over and its result
 *
 * It answers with these lists (those that it leaves out stay as they were), with
 * input_items, which the next agent then sees in place of new_items, or with one
 * list of items, which is all that the next agent sees.
 */
#ifndef TH_TRANSCRIPT_HANDOFF_H
#define TH_TRANSCRIPT_HANDOFF_H

#include "transcript/transcript.h"

/* Members of an object that is being written. */
void th_handoff_put_parts(const struct th_transcript *transcript, struct th_jw *w);

/* An answer as marks (transcript/transcript.h), and how many of them at the end are the run's own.
 * TH_EPROTO: it is no such answer. */
TH_NODISCARD enum th_code th_handoff_mark(const struct th_transcript *transcript,
					  const struct th_json *answer, struct th_buf *marks,
					  size_t *ret_run_items, struct th_err *err);

#endif
