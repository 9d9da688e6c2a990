/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.c - a session of several agents: who may hand over to whom or ask
 * whom, what guardrails there are, and what their code says, at once or later.
 */
#include "sim/internal.h"

#include <stdio.h>

#include "base/limits.h"

#define NOT_THAT "{\"message\":\"not that\"}"

static struct th_agent_guardrail guards[] = {
	{ .name = TH_STR_INIT("first"), .stage = TH_GUARD_INPUT, .blocking = true },
	{ .name = TH_STR_INIT("in"), .stage = TH_GUARD_INPUT },
	{ .name = TH_STR_INIT("call"), .stage = TH_GUARD_TOOL_INPUT },
	{ .name = TH_STR_INIT("result"), .stage = TH_GUARD_TOOL_OUTPUT },
	{ .name = TH_STR_INIT("last"), .stage = TH_GUARD_OUTPUT },
};

/* As the log has it; what of it runs is in the structs of th_sim_team_init. */
#define SECOND                                                                                  \
	"\"handoffs\":[\"sim\",{\"agent\":\"third\",\"nest\":true}],\"guardrails\":[{\"name\":" \
	"\"call\",\"stage\":\"tool_input\",\"tools\":[\"shell\",\"pay\"]},{\"name\":\"in\","    \
	"\"stage\":\"input\"}]"
#define THIRD                                                                 \
	"\"handoffs\":[\"sim\"],\"tool_use_behavior\":{\"code\":\"enough\"}," \
	"\"instructions_from\":\"words\""
#define TEAM(second, third)                                         \
	"{\"second\":{\"instructions\":\"You are second.\"," second \
	"},\"third\":{\"instructions\":\"You are third.\"," third "}}"
#define ASKS(name, agent) "\"commands\":[{\"name\":\"" name "\",\"agent\":\"" agent "\"}]"
#define SECOND_ASKS ASKS("ask_third", "third")
#define THIRD_ASKS ASKS("ask_sim", "sim")

/* [team][asks] */
static const char *const agents[2][2] = {
	{ NULL, TEAM(SECOND_ASKS, THIRD_ASKS) },
	{ TEAM(SECOND, THIRD), TEAM(SECOND "," SECOND_ASKS, THIRD "," THIRD_ASKS) },
};

/* The tools of each agent that are agents, as the definitions have them. */
static const struct {
	size_t of;
	struct th_agent_command command;
} asks_of[] = {
	{ 0, { .name = TH_STR_INIT("ask_second"), .agent = TH_STR_INIT("second") } },
	{ 0, { .name = TH_STR_INIT("ask_third"), .agent = TH_STR_INIT("third"), .turns = 4 } },
	{ 1, { .name = TH_STR_INIT("ask_third"), .agent = TH_STR_INIT("third") } },
	{ 2, { .name = TH_STR_INIT("ask_sim"), .agent = TH_STR_INIT("sim") } },
};

size_t th_sim_team_model(struct th_str agent)
{
	return th_str_is(agent, "second");
}

/* Its agents are each other's tools. */
static void add_asks(struct th_sim_task *t)
{
	size_t counts[TH_SIM_AGENTS_MAX] = { 0 }, rows = t->session_config.tool_count;

	for (size_t i = 0; i < TH_COUNT(asks_of); i++) {
		size_t of = asks_of[i].of, at = counts[of]++;
		struct th_agent_command *c = &t->commands[of][at];

		*c = asks_of[i].command;
		assert(rows + at < TH_SIM_TOOLS_MAX);
		t->rows[of][rows + at] = (struct th_tool_row){
			.spec = { .name = c->name,
				  .schema = th_agent_command_schema(c, NULL),
				  .class = th_agent_command_class(c) },
			.command = c,
			.check = true,
		};
		t->specs[of][rows + at] = t->rows[of][rows + at].spec;
	}
	t->agent.commands = (struct th_objects){ t->commands[0], counts[0] };
	t->session_config.tool_count = rows + counts[0];
	for (size_t i = 0; i < TH_COUNT(t->options[0]); i++)
		t->options[0][i].tool_count = rows + counts[0];
	for (size_t i = 0; i < TH_COUNT(t->members); i++) {
		t->members[i].commands = (struct th_objects){ t->commands[i + 1], counts[i + 1] };
		t->options[i + 1][0].tool_count = rows + counts[i + 1];
	}
}

void th_sim_team_init(struct th_sim_task *t, bool team, bool asks)
{
	t->team = team;
	t->asks = asks;
	t->agent.agents = th_str_of(agents[team][asks]);
	if (team) {
		t->agent.handoffs =
		    TH_STR("[\"second\",{\"agent\":\"third\",\"filter\":\"some\"}]");
		t->agent.guardrails = (struct th_objects){ guards, TH_COUNT(guards) };
	}
	t->members_approve = TH_STR("save");
	t->members[0] = (struct th_agent){
		.name = TH_STR("second"),
		.instructions = TH_STR("You are second."),
		.limits = &t->limits,
		.settings = &t->settings,
		.approve = { &t->members_approve, 1 },
	};
	t->members[1] = (struct th_agent){
		.name = TH_STR("third"),
		.instructions = TH_STR("You are third."),
		.instructions_from = team ? TH_STR("words") : TH_STR(""),
		.limits = &t->limits,
		.settings = &t->settings,
	};
	for (size_t i = 0; i < TH_COUNT(t->members); i++) {
		size_t model = th_sim_team_model(t->members[i].name);

		t->members[i].approve_seconds = t->agent.approve_seconds;
		memcpy(t->rows[i + 1], t->rows[0], sizeof(t->rows[0]));
		memcpy(t->specs[i + 1], t->specs[0], sizeof(t->specs[0]));
		t->options[i + 1][0] = t->options[0][model];
		t->options[i + 1][0].agent = &t->members[i];
		t->options[i + 1][0].tools = t->specs[i + 1];
	}
	if (asks)
		add_asks(t);
}

/* ---- what the code says ------------------------------------------------------------------ */

static void say_guardrail(struct th_sim_random *r, struct th_str stage, struct th_buf *out)
{
	bool tool = th_str_starts(stage, TH_STR("tool_"));

	if (th_sim_chance(r, tool ? 40 : 15))
		th_buf_add_cstr(out, "true");
	else if (tool && th_sim_chance(r, 8))
		th_buf_add_cstr(out, NOT_THAT);
	else
		th_buf_add_cstr(out, th_sim_chance(r, 2) ? "false" : "null");
}

/* Some of the items, or words of its own. */
static void say_some(struct th_sim_random *r, struct th_str items, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);
	unsigned out_of = (unsigned)th_sim_below(r, 4);
	bool any = false;

	th_buf_add_char(out, '[');
	if (th_sim_chance(r, 3)) {
		th_buf_add_cstr(out, "{\"role\":\"user\",\"content\":\"so far\"}");
		any = true;
	}
	while (th_json_raw_next(&it)) {
		if (out_of && th_sim_chance(r, out_of))
			continue;
		if (any)
			th_buf_add_char(out, ',');
		th_buf_add(out, it.val);
		any = true;
	}
	th_buf_add_char(out, ']');
}

/* A handoff's may answer in parts. */
static void say_filter(struct th_sim_random *r, struct th_str input, struct th_buf *out)
{
	static const char *const parts[] = { "input_history", "pre_handoff_items", "new_items" };

	if (!th_json_raw_get(input, parts[0]).len || th_sim_chance(r, 2)) {
		say_some(r, th_json_raw_get(input, "items"), out);
		return;
	}
	for (size_t i = 0; i < TH_COUNT(parts); i++) {
		th_buf_printf(out, "%c\"%s\":", i ? ',' : '{', parts[i]);
		say_some(r, th_json_raw_get(input, parts[i]), out);
	}
	th_buf_add_char(out, '}');
}

static void say_something(struct th_sim_random *r, const struct th_code_ask *q, struct th_buf *out)
{
	struct th_buf stage = TH_BUF_INIT(64);

	switch (q->kind) {
	case TH_ASK_GUARDRAIL:
		if (th_json_unescape(th_json_raw_get(q->input, "stage"), &stage))
			say_guardrail(r, th_buf_str(&stage), out);
		break;
	case TH_ASK_FILTER:
		say_filter(r, q->input, out);
		break;
	case TH_ASK_TOOL_USE:
		th_buf_add_cstr(out, th_sim_chance(r, 5) ? "{\"final\":true,\"output\":\"enough\"}"
							 : "null");
		break;
	case TH_ASK_INSTRUCTIONS: /* the same as it was given, so that the checker knows it */
		th_buf_add_cstr(out, "\"You are third.\"");
		break;
	case TH_ASK_APPROVAL:
	case TH_ASK_TEXT:
	case TH_ASK_HOOK:
	case TH_ASK_DECISION:
	case TH_ASK_SESSION_INPUT:
	case TH_ASK_COMPACT:
	case TH_ASK_COUNT:
		break;
	}
	th_buf_deinit(&stage);
}

/* The variant: what is asked about is done meanwhile. */
static void run_unasked(struct th_sim_resident *s, struct th_str call_id)
{
	struct th_sim_runtime *r = s->r;
	const struct th_session *fold = th_driver_session(r->d, s->handle);
	char effect_id[33];

	snprintf(effect_id, sizeof(effect_id), "%016llx%016llx",
		 (unsigned long long)th_sim_draw(&r->w->random),
		 (unsigned long long)th_sim_draw(&r->w->random));
	for (size_t i = 0; fold && i < fold->call_count; i++) {
		const struct th_call *c = &fold->calls[i];
		struct th_ticket t = { s->handle.index, s->handle.generation, c->call_seq,
				       TH_TICKET_EVENT, 0 };
		struct th_effect_call call = {
			.epoch = s->epoch,
			.effect_id = th_str_of(effect_id),
			.tool = c->tool,
			.arguments = c->arguments,
			.digest = th_str_of(c->digest),
			.journal = s->client ? th_sim_client_journal(s->client) : TH_STR(""),
			.class = c->class,
		};

		if (th_str_eq(c->call_id, call_id) && c->class != TH_CLASS_L &&
		    !th_str_is(c->tool, "peek") && !th_str_starts(c->tool, TH_STR("ask_")) &&
		    s->client && !th_sim_client_has(s->client, t))
			th_sim_client_run(s->client, t, &call, false);
	}
}

static void check_ask(struct th_sim_runtime *r, size_t number, const struct th_code_ask *q)
{
	struct th_buf stage = TH_BUF_INIT(64), call_id = TH_BUF_INIT(TH_KIB);

	if (q->kind == TH_ASK_GUARDRAIL && !r->stale &&
	    th_json_unescape(th_json_raw_get(q->input, "stage"), &stage)) {
		if (!th_json_unescape(th_json_raw_get(q->input, "call_id"), &call_id))
			th_buf_clear(&call_id);
		th_sim_check_guard(r->w->check, number, th_buf_str(&stage), q->function,
				   th_buf_str(&call_id));
		if (r->w->variant == TH_SIM_NO_VERDICT &&
		    th_str_is(th_buf_str(&stage), "tool_input"))
			run_unasked(&r->sessions[number], th_buf_str(&call_id));
	}
	th_buf_deinit(&stage);
	th_buf_deinit(&call_id);
}

/* ---- the seam ---------------------------------------------------------------------------- */

static enum th_asked on_ask(void *ctx, const struct th_code_ask *q, struct th_buf *answer,
			    struct th_err *err)
{
	struct th_sim_resident *s = ctx;
	struct th_sim_runtime *r = s->r;
	struct th_sim_random *random = &r->w->random;
	struct th_sim_pending_callback *a;
	bool fails;

	if (r->dead || (q->kind != TH_ASK_GUARDRAIL && q->kind != TH_ASK_FILTER &&
			q->kind != TH_ASK_TOOL_USE && q->kind != TH_ASK_INSTRUCTIONS))
		return TH_ASKED_NOTHING;
	check_ask(r, th_sim_task_of(r->w, q->session_id), q); /* which may work for `s` */
	th_sim_say(r->w, "runtime %d asks %s %.*s", r->number, th_ask_name(q->kind),
		   TH_FMT(q->function));
	fails = th_sim_chance(random, 60);
	if (fails)
		(void)th_fail(err, TH_EPROTO, "it broke");
	if (r->ask_count == TH_SIM_TIMERS_MAX || th_sim_chance(random, 3)) {
		if (!fails)
			say_something(random, q, answer);
		return fails ? TH_ASKED_FAILED : TH_ASKED_ANSWERED;
	}
	a = &r->asks[r->ask_count++];
	*a = (struct th_sim_pending_callback){ .ticket = q->ticket,
					       .due_ms = th_sim_soon(r->w, 300),
					       .failed = fails,
					       .answer = TH_BUF_INIT(TH_EVENT_DATA_MAX) };
	if (fails)
		th_buf_add_cstr(&a->answer, "it broke");
	else
		say_something(random, q, &a->answer);
	return TH_ASKED_LATER;
}

static void drop(struct th_sim_runtime *r, size_t index)
{
	th_buf_deinit(&r->asks[index].answer);
	r->asks[index] = r->asks[--r->ask_count];
}

static void on_cancel(void *ctx, struct th_ticket t)
{
	struct th_sim_runtime *r = ((struct th_sim_resident *)ctx)->r;

	for (size_t i = r->ask_count; i-- > 0;) {
		const struct th_ticket *a = &r->asks[i].ticket;

		if (th_ticket_eq(*a, t))
			drop(r, i);
	}
}

static const struct th_callbacks_ops callbacks_ops = { .ask = on_ask, .cancel = on_cancel };

void th_sim_team_config(struct th_sim_runtime *r, size_t number)
{
	const struct th_sim_task *t = &r->w->tasks[number];
	struct th_sim_resident *s = &r->sessions[number];

	s->r = r;
	s->session_config = t->session_config;
	if (!t->team && !t->asks)
		return;
	s->callbacks = (struct th_callbacks){ &callbacks_ops, s };
	s->session_config.callbacks = &s->callbacks;
	s->session_config.members = s->members;
	s->session_config.member_count = TH_COUNT(s->members);
	for (size_t i = 0; i < TH_COUNT(s->members); i++) {
		s->members[i] = t->session_config;
		s->members[i].agent = &t->members[i];
		s->members[i].first = t->choices[th_sim_team_model(t->members[i].name)];
		s->members[i].tools = t->rows[i + 1];
		s->members[i].tool_count = t->options[i + 1][0].tool_count;
		s->members[i].callbacks = &s->callbacks;
	}
}

void th_sim_team_answer(struct th_sim_runtime *r, size_t index)
{
	struct th_sim_pending_callback a = r->asks[index];

	r->asks[index] = r->asks[--r->ask_count];
	th_driver_code_done(r->d, a.ticket, a.failed, th_buf_str(&a.answer));
	if (th_sim_chance(&r->w->random, 8))
		th_driver_code_done(r->d, a.ticket, a.failed, th_buf_str(&a.answer));
	th_buf_deinit(&a.answer);
}

void th_sim_team_forget(struct th_sim_runtime *r)
{
	while (r->ask_count > 0)
		drop(r, 0);
}
