/* SPDX-License-Identifier: Apache-2.0 */
/*
 * finish.c - the end of a task as a call, for models that were taught to end so.
 *
 * An agent that has it says tool_use_behavior: {stop_at: [finish]}: then its message is the
 * final output, and calls behind it in the same answer are refused.
 */
#include "tools/tool.h"

#define TH_FIELDS_finish(F)                                                                  \
	F(finish, str, message, "message", TH_REQ, "What was done and found, for the user.") \
	F(finish, str, security_risk, "security_risk", TH_HIDDEN, "not looked at")           \
	F(finish, str, summary, "summary", TH_HIDDEN, "not looked at")

TH_STRUCT(finish)
extern const struct th_table th_finish_table;
TH_TABLE(finish, "arguments of finish", false)

static void start(struct th_tool_job *job)
{
	const struct th_finish *args = job->args;

	th_tool_text(job, TH_OUTCOME_DONE, args->message, TH_STR(""));
}

const struct th_tool th_tool_finish = {
	.name = "finish",
	.description = "Say that the task is done, or that it cannot be. It ends your work.",
	.class = TH_CLASS_R,
	.scope = { TH_TARGET_OTHER, TH_SHOWS_ONE },
	.last = true,
	.arguments = &th_finish_table,
	.start = start,
};
