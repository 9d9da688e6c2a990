/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - a question to the person.
 *
 * Nothing runs: the call waits as one does that needs approval, and the answer
 * that a person gives with the approval is its result (driver/calls.c).
 */
#include "tools/tool.h"

#define TH_FIELDS_ask(F)                                                                  \
	F(ask, str, question, "question", TH_REQ | TH_NONEMPTY, "What you want to know.") \
	F(ask, strs, options, "options", 0,                                               \
	  "Answers to choose from; the person may give another.")                         \
	F(ask, str, security_risk, "security_risk", TH_HIDDEN, "not looked at")           \
	F(ask, str, summary, "summary", TH_HIDDEN, "not looked at")

TH_STRUCT(ask)
extern const struct th_table th_ask_table;
TH_TABLE(ask, "arguments of ask", false)

static void start(struct th_tool_job *job)
{
	struct th_err err = {};

	th_fail(&err, TH_EUNSUPPORTED, "only a person answers a question");
	th_tool_fail(job, TH_OUTCOME_REFUSED, &err);
}

const struct th_tool th_tool_ask = {
	.name = "ask",
	.description =
	    "Ask the person something that you need to know and cannot find out, and wait for the "
	    "answer. Not for what you may decide by yourself.",
	.class = TH_CLASS_R,
	.scope = { TH_TARGET_OTHER, TH_SHOWS_ONE },
	.question = true,
	.arguments = &th_ask_table,
	.start = start,
};
