/* SPDX-License-Identifier: Apache-2.0 */
/* task.c - what the sessions are asked to be: agent, tools, models, limits. */
#include <stdio.h>

#include "sim/internal.h"

/* Two of the Responses wire, which is what the simulator's provider speaks; the history is not the
 * same for both. */
static void resolved_models_init(struct th_resolved_model *list)
{
	struct th_err err;

	if (th_model_resolve(TH_STR("gpt-5.4"), &list[0].profile, &list[0].model, &err) ||
	    th_model_resolve(TH_STR("responses:other"), &list[1].profile, &list[1].model, &err))
		assert(false && "the simulator's models are known");
}

static void who_answered(const void *ctx, struct th_str agent, size_t choice,
			 struct th_speaker *ret)
{
	const struct th_sim_task *t = ctx;

	choice += th_sim_team_model(agent);
	assert(choice < TH_COUNT(t->choices));
	*ret = (struct th_speaker){ t->choices[choice].profile, t->choices[choice].model };
}

/* The tools that the simulator has, as the first agent's; returns how many. */
static size_t rows_init(struct th_sim_world *w, struct th_sim_task *t)
{
	size_t rows = 0;

	t->rows[0][rows++] =
	    (struct th_tool_row){ .spec = { .name = TH_STR_INIT("note"), .class = TH_CLASS_L },
				  .local = th_sim_local,
				  .ctx = w };
	t->rows[0][rows++] =
	    (struct th_tool_row){ .spec = { .name = TH_STR_INIT("peek"), .class = TH_CLASS_R },
				  .local = th_sim_local,
				  .ctx = w };
	for (size_t i = 0; th_sim_tools[i].name; i++)
		t->rows[0][rows++].spec =
		    (struct th_tool_spec){ .name = th_str_of(th_sim_tools[i].name),
					   .class = th_sim_tools[i].class,
					   .scope = th_sim_tools[i].scope };
	for (size_t i = 0; i < rows; i++) {
		t->rows[0][i].spec.schema = TH_STR("{\"type\":\"object\"}");
		t->specs[0][i] = t->rows[0][i].spec;
	}
	return rows;
}

/* For each model that may be asked. */
static void request_options_init(struct th_sim_task *t, size_t rows)
{
	for (size_t i = 0; i < TH_COUNT(t->choices); i++)
		t->options[0][i] = (struct th_request_options){
			.profile = t->choices[i].profile,
			.who = who_answered,
			.who_ctx = t,
			.model = t->choices[i].model,
			.agent = &t->agent,
			.tools = t->specs[0],
			.tool_count = rows,
			.has_computer = t->session_config.has_computer,
			.screen = t->session_config.screen,
			.stream = t->settings.stream,
		};
}

void th_sim_task_init(struct th_sim_world *w, size_t number, bool falls_back, bool chains,
		      bool background, bool team, bool asks, int64_t expires)
{
	struct th_sim_task *t = &w->tasks[number];
	struct th_sim_random *r = &w->random;
	size_t rows;

	snprintf(t->id, sizeof(t->id), "s%zu", number);
	th_sim_check_session(w->check, number, th_str_of(t->id));
	t->settings = (struct th_agent_model_settings){ TH_SETTINGS_UNSET };
	t->settings.stream = th_sim_chance(r, 2);
	t->settings.background = background;
	t->settings.history = chains ? TH_HISTORY_PREVIOUS : TH_HISTORY_FULL;
	/* One draw a statement: the order inside an initialiser is the compiler's. */
	t->limits.turns = 3 + (int64_t)th_sim_below(r, 10);
	if (th_sim_chance(r, 3))
		t->limits.tokens = 100 + (int64_t)th_sim_below(r, 500);
	if (th_sim_chance(r, 4))
		t->limits.seconds = 1 + (int64_t)th_sim_below(r, 1000);
	t->limits.model_attempts = 1 + (int64_t)th_sim_below(r, 4);
	t->agent = (struct th_agent){
		.name = TH_STR("sim"),
		.instructions = TH_STR("Be quick."),
		.limits = &t->limits,
		.settings = &t->settings,
		.approve = { t->approve, 0 },
	};
	resolved_models_init(t->choices);
	t->fallback = TH_STR("responses:other");
	if (falls_back)
		t->agent.fallback = (struct th_strs){ &t->fallback, 1 };
	if (th_sim_chance(r, 3))
		t->approve[t->agent.approve.count++] = TH_STR("shell");
	rows = rows_init(w, t);
	t->session_config = (struct th_session_config){
		.agent = &t->agent,
		.first = t->choices[0],
		.fallback = &t->choices[1],
		.tools = t->rows[0],
		.tool_count = rows,
		.has_computer = !th_sim_chance(r, 4),
		.screen = { 1024, 768 },
	};
	request_options_init(t, rows);
	t->agent.approve_seconds = expires;
	if (team || asks)
		th_sim_team_init(t, team, asks);
	t->messages_left = (unsigned)th_sim_below(r, 3);
	t->meddling_left = (unsigned)th_sim_below(r, 4);
}
