/* SPDX-License-Identifier: Apache-2.0 */
/*
 * critic.h - a judge that is a classifier behind HTTP, as OpenHands' critics are: what it is sent,
 * and what its answer means.  judge.c asks, and the event VERDICT has what came of it.
 *
 * It is sent {model, input} at URL/classify: what was said, in the form of Qwen's chat template, as
 * texts alone.  It answers {data: [{probs, num_classes}]}, a number from 0 to 1 for each of
 * TH_CRITIC_LABELS in that order; the first is how likely it is that the task is done.
 */
#ifndef TH_SIDE_MODELS_CRITIC_H
#define TH_SIDE_MODELS_CRITIC_H

#include "agents/agent.h"
#include "transcript/transcript.h"

/* name, whether it is something that the agent did wrong */
// clang-format off
#define TH_CRITIC_LABELS(X)                                                        \
	X("success", false) X("sentiment_positive", false) X("sentiment_neutral", false) \
	X("sentiment_negative", false) X("misunderstood_intention", true)             \
	X("did_not_follow_instruction", true) X("insufficient_analysis", true)        \
	X("insufficient_clarification", true) X("improper_tool_use_or_setup", true)   \
	X("loop_behavior", true) X("insufficient_testing", true)                      \
	X("insufficient_debugging", true) X("incomplete_implementation", true)        \
	X("file_management_errors", true) X("scope_creep", true)                      \
	X("risky_actions_or_permission", true) X("other_agent_issue", true)           \
	X("infrastructure_external_issue", false) X("infrastructure_agent_caused_issue", true) \
	X("clarification_or_restatement", false) X("correction", false)               \
	X("direction_change", false) X("vcs_update_requests", false)                  \
	X("progress_or_scope_concern", false) X("frustration_or_complaint", false)    \
	X("removal_or_reversion_request", false) X("other_user_issue", false)
// clang-format on

/* What was said, about `room` bytes of it at most: longer texts are cut, then items in the middle
 * are left out. */
void th_critic_print_input(const struct th_transcript *t, struct th_str instructions, size_t room,
			   struct th_buf *out);
/* The question for TH_ANALYSER_TOOL (core/effect_call.h). */
void th_critic_print_question(const struct th_agent_critic *c, struct th_str input,
			      struct th_buf *out);
/* `labels`: an object, label -> number; `missing`: a list of sentences, where `*ret_score` is below
 * the threshold.  TH_EPROTO: it is no such answer. */
TH_NODISCARD enum th_code th_critic_read(struct th_str text, double threshold, double *ret_score,
					 struct th_buf *labels, struct th_buf *missing,
					 struct th_err *err);

#endif
