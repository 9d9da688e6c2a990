/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - before a final output counts, the session's own model is asked
 * whether the task is done (core/session_judge.c has what follows).
 *
 * The request is the session's own with one message more, so that the
 * provider's cache holds.  The answer must be one JSON object of
 * th_judge_answer_table and nothing else.  What it says, and what it cost, is
 * the event VERDICT; a request that was under way at a crash is made again.
 * Another model may be asked (`judge.model`), or a classifier (critic.h).
 */
#ifndef TH_SIDE_MODELS_JUDGE_H
#define TH_SIDE_MODELS_JUDGE_H

#include "live/live.h"

#define TH_FIELDS_judge_answer(F)                                                 \
	F(judge_answer, num, score, "score", TH_REQ | TH_NONEG,                   \
	  "how likely it is that the task is done, from 0 to 1")                  \
	F(judge_answer, bool, complete, "complete", TH_REQ, "whether it is done") \
	F(judge_answer, strs, missing, "missing", TH_REQ,                         \
	  "what is missing or was not checked, one sentence each; empty when it is done")
TH_STRUCT(judge_answer)
extern const struct th_table th_judge_answer_table;

/* JUDGE: asks, or goes on waiting. */
void th_live_judge(struct th_live *l);
/* CORRECT: what the model is told after a verdict that something is missing. */
void th_live_judge_correct(struct th_live *l);
/* What a critic (critic.h) says, in the place of the model. */
void th_live_judge_said(struct th_live *l, struct th_ticket t, const struct th_effect_result *r);
void th_live_judge_free(struct th_live *l); /* a request under way is given up */

#endif
