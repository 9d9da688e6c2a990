/* SPDX-License-Identifier: Apache-2.0 */
/* think.c - a place for a thought: the log keeps the call, and nothing else happens. */
#include "tools/tool.h"

#define TH_FIELDS_think(F)                                                        \
	F(think, str, thought, "thought", TH_REQ | TH_NONEMPTY, "The thought.")   \
	F(think, str, security_risk, "security_risk", TH_HIDDEN, "not looked at") \
	F(think, str, summary, "summary", TH_HIDDEN, "not looked at")

TH_STRUCT(think)
extern const struct th_table th_think_table;
TH_TABLE(think, "arguments of think", false)

static void start(struct th_tool_job *job)
{
	th_tool_text(job, TH_OUTCOME_DONE, TH_STR("Your thought has been logged."), TH_STR(""));
}

const struct th_tool th_tool_think = {
	.name = "think",
	.description =
	    "Think about something before going on. It changes nothing and finds nothing "
	    "out; the thought is kept in the log.",
	.class = TH_CLASS_R,
	.scope = { TH_TARGET_OTHER, TH_SHOWS_ONE },
	.arguments = &th_think_table,
	.start = start,
};
