/* SPDX-License-Identifier: Apache-2.0 */
/* request_condensation.c - the model asks for a shorter history; the fold sees the call
 * (TH_CONDENSE_TOOL), and it is done before the next request. */
#include "tools/tool.h"

#define TH_FIELDS_request_condensation(F)                                                        \
	F(request_condensation, str, security_risk, "security_risk", TH_HIDDEN, "not looked at") \
	F(request_condensation, str, summary, "summary", TH_HIDDEN, "not looked at")

TH_STRUCT(request_condensation)
extern const struct th_table th_request_condensation_table;
TH_TABLE(request_condensation, "arguments of request_condensation", false)

static void start(struct th_tool_job *job)
{
	th_tool_text(job, TH_OUTCOME_DONE,
		     TH_STR("The history will be condensed before your next turn, as far as "
			    "anything can be left out."),
		     TH_STR(""));
}

const struct th_tool th_tool_request_condensation = {
	.name = "request_condensation",
	.description =
	    "Ask that the conversation so far is condensed, when it has become long and much of "
	    "it is no longer needed. The task and the user's messages stay.",
	.class = TH_CLASS_R,
	.scope = { TH_TARGET_OTHER, TH_SHOWS_ONE },
	.arguments = &th_request_condensation_table,
	.start = start,
};
