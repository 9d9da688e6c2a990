/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript_internal.h - what the files of a transcript share.  transcript.c calls the others, and
 * all of them the list.
 */
#ifndef TH_TRANSCRIPT_TRANSCRIPT_INTERNAL_H
#define TH_TRANSCRIPT_TRANSCRIPT_INTERNAL_H

#include "transcript/plan.h"
#include "transcript/transcript.h"

/* ---- transcript_list.c ---- */

/* Room for one more; NULL: p->no_memory. */
struct th_transcript_item *th_transcript_insert(struct th_transcript *p, size_t at);
/* `count` items go; the places behind them move with what is left. */
void th_transcript_cut(struct th_transcript *p, size_t from, size_t count);
/* A copy in the transcript's memory. */
struct th_str th_transcript_hold(struct th_transcript *p, struct th_str s);
/* The newest of that id; NULL: there is none. */
const struct th_transcript_item *th_transcript_call_of(const struct th_transcript *p,
						       struct th_str call_id);
bool th_transcript_is_reasoning(const struct th_transcript_item *i);
/* Has an answer reasoning right before this item? */
bool th_transcript_is_reasoned(const struct th_transcript_item *list, size_t i);
/* Of one item as the Responses API has it. */
void th_transcript_fill(struct th_transcript *p, struct th_transcript_item *to,
			const struct th_json *v, struct th_str raw);
/* `plan` and `who`: of an answer, whose duplicates are left out; NULL: no model said this. */
void th_transcript_add_list(struct th_transcript *p, size_t at, uint64_t seq, struct th_str raw,
			    const struct th_json *items, struct th_str answer_raw,
			    const struct th_next *plan, const struct th_transcript_who *who);

/* ---- transcript_guard.c ---- */

/* `v` is the event of a guardrail. */
void th_transcript_guardrail(struct th_transcript *p, uint64_t cause, const struct th_json *v);
/* What a guardrail refused no later task sends.  The whole session's history has it: it was said.
 */
void th_transcript_forget_refused(struct th_transcript *p);

/* ---- transcript_keep.c ---- */

/* The list is another one until the next task begins. */
TH_NODISCARD enum th_code th_transcript_join(struct th_transcript *p, uint64_t seq,
					     const struct th_json *marks, struct th_err *err);
/* Event `seq` was a condensation, whose marks were kept; the memory holds only what is left. */
void th_transcript_condensed(struct th_transcript *p, uint64_t seq, const struct th_json *v);

#endif
