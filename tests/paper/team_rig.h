/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team_rig.h - several agents and their code in a world of paper: what the code
 * says, and what it was asked.  One world at a time.
 */
#ifndef TH_TESTS_UNIT_RUN_TEAM_RIG_H
#define TH_TESTS_UNIT_RUN_TEAM_RIG_H

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paper.h"

#define ASKS_MAX 64

/* The agents' code: what it says, at once or (later) when the test says so. */
static struct {
	const char *says[TH_ASK_COUNT];
	bool later[TH_ASK_COUNT];
	const char *trips; /* the guardrail of this name says true whatever the others say */
	struct {
		struct th_ticket ticket;
		enum th_ask_kind kind;
		char function[32], input[2048];
	} asks[ASKS_MAX];
	size_t ask_count, cancels;
} script;

static uint64_t told_of(struct th_str input)
{
	int64_t seq = 0;

	return th_str_i64(th_json_raw_get(input, "seq"), &seq) ? (uint64_t)seq : 0;
}

static enum th_asked on_ask(void *ctx, const struct th_code_ask *q, struct th_buf *answer,
			    struct th_err *err)
{
	struct paper *w = ctx;

	assert_true(script.ask_count < ASKS_MAX);
	script.asks[script.ask_count].ticket = q->ticket;
	script.asks[script.ask_count].kind = q->kind;
	snprintf(script.asks[script.ask_count].function, 32, "%.*s", TH_FMT(q->function));
	snprintf(script.asks[script.ask_count++].input, 2048, "%.*s", TH_FMT(q->input));
	if (q->kind == TH_ASK_HOOK) /* it is told of one event, while others may be on their way */
		w->early |= told_of(q->input) > w->log->count || told_of(q->input) == 0;
	else
		w->early |= q->kind != TH_ASK_TEXT &&
			    th_driver_session(w->driver, w->h)->seq > w->log->count;
	if (script.later[q->kind])
		return TH_ASKED_LATER;
	if (!script.says[q->kind])
		return TH_ASKED_NOTHING;
	if (script.says[q->kind][0] == '!') {
		(void)th_fail(err, TH_EPROTO, "%s", script.says[q->kind] + 1);
		return TH_ASKED_FAILED;
	}
	th_buf_add_cstr(answer, script.trips && th_str_is(q->function, script.trips)
				    ? "true"
				    : script.says[q->kind]);
	return TH_ASKED_ANSWERED;
}

static void on_cancel(void *ctx, struct th_ticket t)
{
	(void)ctx, (void)t;
	script.cancels++;
}

static const struct th_callbacks_ops code_ops = { .ask = on_ask, .cancel = on_cancel };

struct team {
	struct th_arena memory;
	struct th_json_doc *doc; /* the agents borrow from it */
	struct th_agent agents[4];
	struct th_session_config session_configs[4];
	struct th_tool_row row;
	struct th_callbacks callbacks;
};

static struct team team;
static const char *team_model = "gpt-5.4"; /* of all agents */
static bool team_log_beside; /* every log is read beside the loop, however short it is */

static const struct th_session_config *dress(struct paper *w, const char *definition)
{
	struct th_err err = { 0 };
	size_t count = 0;

	th_arena_deinit(&team.memory);
	th_json_free(team.doc);
	memset(&team, 0, sizeof(team));
	th_arena_init(&team.memory, TH_MIB);
	assert_int_equal(th_json_parse(th_str_of(definition), &team.doc, &err), TH_OK);
	team.callbacks = (struct th_callbacks){ &code_ops, w };
	team.row = (struct th_tool_row){ .spec = { .name = TH_STR("weather"),
						   .schema = TH_STR("{\"type\":\"object\"}"),
						   .class = TH_CLASS_W },
					 .local = paper_weather,
					 .ctx = w };
	for (; count < 4; count++) {
		struct th_session_config *o = &team.session_configs[count];
		struct th_agent *a = &team.agents[count];

		if (th_team_agent(th_json_root(team.doc), count, &team.memory, a, &err))
			break;
		o->agent = a;
		o->tools = &team.row;
		o->tool_count = 1;
		o->callbacks = &team.callbacks;
		assert_int_equal(th_model_resolve(th_str_of(team_model), &o->first.profile,
						  &o->first.model, &err),
				 TH_OK);
	}
	team.session_configs[0].members = &team.session_configs[1];
	team.session_configs[0].member_count = count - 1;
	return &team.session_configs[0];
}

static struct paper *begin(const char *definition, const char *task)
{
	struct paper *w = paper_new();
	struct th_ev_session_created created = { .model = th_str_of(team_model) };
	struct th_err err = { 0 };

	memset(&script, 0, sizeof(script));
	w->log_beside = team_log_beside;
	if (team_log_beside)
		th_driver_log_short(w->driver, 0);
	if (paper_create(w, dress(w, definition), &created, &err))
		fail_msg("%s", err.msg);
	paper_settle(w);
	if (task)
		assert_int_equal(th_driver_message(w->driver, w->h, th_str_of(task), &err), TH_OK);
	return w;
}

static inline void reopen(struct paper *w, const char *definition)
{
	script.ask_count = 0;
	paper_die(w);
	w->h = paper_open(w, "a1", dress(w, definition));
}

static inline void restart(struct paper *w, const char *definition)
{
	reopen(w, definition);
	paper_resume(w);
}

static inline void answer(struct paper *w, const char *items)
{
	paper_answer(w, w->request, items);
}

static inline void code_says(struct paper *w, size_t ask, bool failed, const char *json)
{
	th_driver_code_done(w->driver, script.asks[ask].ticket, failed, th_str_of(json));
	paper_settle(w);
}

#define CHECKED                                                                  \
	"{\"name\":\"a\",\"guardrails\":[{\"name\":\"in\",\"stage\":\"input\"}," \
	"{\"name\":\"out\",\"stage\":\"output\"},"                               \
	"{\"name\":\"before\",\"stage\":\"tool_input\"},"                        \
	"{\"name\":\"after\",\"stage\":\"tool_output\"}]}"

/* The tests twice: with logs that are read on the loop, and beside it. */
#define RUN_BOTH_WAYS(failed, tests)                                                      \
	do {                                                                              \
		(failed) = cmocka_run_group_tests_name("on the loop", tests, NULL, NULL); \
		team_log_beside = true;                                                   \
		(failed) += cmocka_run_group_tests_name("beside it", tests, NULL, NULL);  \
	} while (0)

static inline size_t times(const char *text, const char *part)
{
	size_t n = 0;

	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

static inline const char *last_data(const struct paper *w, enum th_event_kind kind)
{
	const char *data = paper_last(w->log, kind);

	if (!data)
		fail_msg("there is no %s", th_event_name(kind));
	return data;
}

#endif
