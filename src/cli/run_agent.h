/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_agent.h - the options of thole run and thole resume, and the agent that they mean.
 */
#ifndef TH_CLI_RUN_AGENT_H
#define TH_CLI_RUN_AGENT_H

#include "cli/cli.h"
#include "cli/runner.h"

struct run_options {
	struct th_common common;
	struct th_str agent, model, computer, session, base_url, key_file, net, approve, tools,
	    sandbox, folder, models, more, note, at, priority;
	int64_t turns, rounds;
	bool json, view, quiet, plan, act, goal;
};

/* `agent` lives as long as the arena. */
TH_NODISCARD enum th_code th_run_agent(const struct run_options *o, const struct th_config *config,
				       struct th_arena *a, struct th_agent *agent,
				       struct th_err *err);

#endif
