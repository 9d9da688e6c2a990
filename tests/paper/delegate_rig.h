/* SPDX-License-Identifier: Apache-2.0 */
/* delegate_rig.h - agents as tools, in a world of paper. */
#ifndef TH_TESTS_DRIVER_DELEGATE_RIG_H
#define TH_TESTS_DRIVER_DELEGATE_RIG_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agents/agent_command.h"
#include "driver/delegate_background.h"
#include "paper.h"

struct team {
	struct th_arena memory;
	struct th_json_doc *doc;
	struct th_agent agents[3];
	struct th_session_config session_configs[3];
	struct th_profile priced;
	struct th_tool_row rows[3][2];
};

static struct team team;

static const struct th_session_config *dress(struct paper *w, const char *definition)
{
	struct th_err err = { 0 };
	size_t count = 0;

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	memset(&team, 0, sizeof(team));
	th_arena_init(&team.memory, TH_MIB);
	assert_int_equal(th_json_parse(th_str_of(definition), &team.doc, &err), TH_OK);
	for (; count < 3; count++) {
		struct th_session_config *o = &team.session_configs[count];
		struct th_agent *a = &team.agents[count];
		const struct th_agent_command *c;

		if (th_team_agent(th_json_root(team.doc), count, &team.memory, a, &err))
			break;
		o->agent = a;
		o->tools = team.rows[count];
		c = a->commands.list;
		if (c)
			team.rows[count][o->tool_count++] = (struct th_tool_row){
				.spec = { .name = c->name,
					  .schema = th_agent_command_schema(c, &team.memory),
					  .class = th_agent_command_class(c) },
				.command = c,
				.check = true,
			};
		if (c && c->background)
			team.rows[count][o->tool_count++] = th_background_row;
		for (size_t i = 0; !c && i < 2; i++)
			team.rows[count][o->tool_count++] = (struct th_tool_row){
				.spec = { .name = i ? TH_STR("risky") : TH_STR("weather"),
					  .schema = TH_STR("{\"type\":\"object\"}"),
					  .class = TH_CLASS_R },
				.local = paper_weather,
				.ctx = w,
			};
		assert_int_equal(
		    th_model_resolve(TH_STR("gpt-5.4"), &o->first.profile, &o->first.model, &err),
		    TH_OK);
		team.priced = *o->first.profile;
		team.priced.price = (struct th_price){ .input = 1, .output = 1 };
		o->first.profile = &team.priced;
	}
	team.session_configs[0].members = &team.session_configs[1];
	team.session_configs[0].member_count = count - 1;
	return &team.session_configs[0];
}

static struct paper *begin_until(const char *definition, size_t commits_max)
{
	struct paper *w = paper_new();
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4"),
						 .user = TH_STR("ada") };
	struct th_err err = { 0 };

	w->commits_max = commits_max;
	if (paper_create(w, dress(w, definition), &created, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(th_driver_message(w->driver, w->h, TH_STR("my task"), &err), TH_OK);
	paper_settle(w);
	return w;
}

static inline struct paper *begin(const char *definition)
{
	return begin_until(definition, 0);
}

/* The runtime dies, and another one opens this session. */
static struct th_handle take(struct paper *w, const char *definition, const char *id)
{
	paper_die(w);
	return paper_open(w, id, dress(w, definition));
}

static inline void reopen(struct paper *w, const char *definition)
{
	w->h = take(w, definition, "a1");
	paper_resume(w);
}

static void answer(struct paper *w, const char *id, const char *items)
{
	struct paper_request *r = paper_request_of(w, id);

	if (!r)
		fail_msg("nobody asks for %s", id);
	paper_answer(w, r, items);
}

static const char *data_of(struct paper *w, const char *id, enum th_event_kind kind)
{
	return paper_last(paper_log_of(w, th_str_of(id)), kind);
}

static size_t count_of(struct paper *w, const char *id, enum th_event_kind kind)
{
	return paper_count(paper_log_of(w, th_str_of(id)), kind);
}

/* The id of the n-th session that works for a1. */
TH_UNUSED static const char *child(struct paper *w, size_t n)
{
	return n < w->log_count - 1 ? w->logs[n + 1]->id : "none";
}

#endif
