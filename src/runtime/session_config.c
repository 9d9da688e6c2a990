/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_config.c - what sessions are run with: the agents of a definition, with
 * their models, keys and tools.
 */
#include <stdlib.h>

#include "computers/computers.h"
#include "profiles/compose.h"
#include "providers/human.h"
#include "runtime/implied_tools.h"
#include "runtime/internal.h"

static enum th_code config_computer(struct th_runtime_setup *u, const struct th_start *start,
				    struct th_err *err)
{
	const struct th_agent_computer *pc = u->agent.computer;
	const struct th_computer_kind *kind = pc ? th_computer_find(pc->kind) : NULL;

	u->config.has_computer = pc != NULL;
	u->config.has_pages = kind && kind->address;
	if (!pc || !th_str_is(pc->kind, TH_COMPUTER_CUSTOM))
		return TH_OK;
	if (!start || !start->computer)
		return th_fail(
		    err, TH_EUSAGE,
		    "its computer is a part of the program that began the session, which "
		    "only that program can open");
	u->computer = *start->computer;
	u->config.computer = &u->computer;
	u->config.screen = (struct th_size){ (int32_t)pc->width, (int32_t)pc->height };
	return TH_OK;
}

static enum th_code list_specs(struct th_session_config *o, struct th_arena *a, struct th_err *err)
{
	struct th_tool_spec *specs = th_arena_array(a, o->tool_count, sizeof(*specs));

	if (!specs)
		return th_fail(err, TH_ELIMIT, "the agent's tools take too much memory");
	o->spec_count = 0;
	for (size_t i = 0; i < o->tool_count; i++)
		if (!o->tools[i].spec.hidden)
			specs[o->spec_count++] = o->tools[i].spec;
	o->specs = specs;
	return TH_OK;
}

static enum th_code config_tools(struct th_runtime *rt, struct th_runtime_setup *u,
				 const struct th_start *start, const struct th_agent *agent,
				 struct th_session_config *o, struct th_err *err)
{
	size_t own = start ? start->tool_count : 0, count = own + rt->tool_count;
	struct th_tool_row *rows = rt->tools, *mine = NULL;
	enum th_code code;

	if (own > 0) {
		rows = th_alloc(count * sizeof(*rows));
		memcpy(rows, start->tools, own * sizeof(*rows));
		if (rt->tool_count > 0)
			memcpy(rows + own, rt->tools, rt->tool_count * sizeof(*rows));
	}
	code = th_registry_rows(agent, rows, count, &rt->schemas, &u->memory, &mine, &o->tool_count,
				err);
	if (!code)
		code = th_script_code_bind(u->script.source.len ? &u->script : NULL, mine,
					   o->tool_count, &u->memory, err);
	if (!code)
		code = th_implied_add_rows(agent, &u->memory, &mine, &o->tool_count, err);
	o->tools = mine;
	if (!code)
		code = list_specs(o, &u->memory, err);
	if (own > 0)
		free(rows);
	return code;
}

static bool has_price(const struct th_profile *p)
{
	return p->wire == &th_wire_human || p->price.input || p->price.cached || p->price.output;
}

/* A limit of the cost counts nothing where a price is not known.  A session that began with one
 * may go on: it stops at the first answer that cannot be counted. */
static enum th_code check_prices(const struct th_runtime_setup *u,
				 const struct th_resolved_models *resolved_models,
				 struct th_err *err)
{
	if (!u->checked || !u->agent.limits || u->agent.limits->cost_usd <= 0)
		return TH_OK;
	for (size_t i = 0; i < resolved_models->count; i++) {
		const struct th_resolved_model *c = &resolved_models->list[i];
		struct th_str model = c->model;

		if (has_price(c->profile) && c->composed && c->composed->grounder &&
		    !has_price(c->composed->grounder))
			model = c->composed->grounder_name;
		else if (has_price(c->profile))
			continue;
		return th_fail(err, TH_EUSAGE,
			       "limits.cost_usd cannot hold, since the price of the model %.*s is "
			       "not known: set price.input and price.output of its row in a models "
			       "file (US dollars per million tokens), or set limits.tokens instead",
			       TH_FMT(model));
	}
	return TH_OK;
}

/* What holds for the whole team is said by the agent that begins: elsewhere it would do nothing. */
static enum th_code check_member(const struct th_runtime_setup *u, const struct th_json *definition,
				 size_t index, struct th_err *err)
{
	static const char *const fields[] = { "limits",  "environment", "net",   "net_ask",
					      "secrets", "untrusted",   "labels" };
	const struct th_json *member = th_team_definition(definition, index);

	for (size_t i = 0; u->checked && i < TH_COUNT(fields); i++) {
		const struct th_json *v = th_json_get(member, fields[i]);

		if (v && !th_json_equal(v, th_json_get(definition, fields[i])))
			return th_fail(err, TH_EUSAGE,
				       "%s holds for the whole team: set it in the first agent",
				       fields[i]);
	}
	return TH_OK;
}

static const struct th_resolved_model *reader_of(const struct th_agent *agent,
						 const struct th_resolved_models *m)
{
	return agent->quarantine_model.len ? &m->list[1 + agent->fallback.count] : NULL;
}

static const struct th_resolved_model *judge_of(const struct th_agent *agent,
						const struct th_resolved_models *m)
{
	return agent->judge && agent->judge->model.len ? &m->list[m->count - 1] : NULL;
}

/* What it does not say itself is as with the agent that begins: they share a place and a screen. */
static enum th_code config_member(struct th_runtime *rt, struct th_runtime_setup *u,
				  const struct th_start *start, struct th_agent *agent,
				  size_t index, struct th_session_config *o, struct th_err *err)
{
	struct th_resolved_models *resolved_models;
	enum th_code code;

	if (!agent->model.len)
		agent->model = u->agent.model;
	if (!agent->base_url.len)
		agent->base_url = u->agent.base_url;
	agent->environment = u->agent.environment;
	agent->net = u->agent.net;
	agent->net_ask = u->agent.net_ask;
	agent->untrusted = u->agent.untrusted;
	agent->secrets = u->agent.secrets;
	*o = u->config;
	o->agent = agent;
	o->definition = TH_STR("");
	o->has_computer = u->config.has_computer && agent->computer;
	resolved_models = TH_NEW(&u->memory, struct th_resolved_models);
	if (!resolved_models)
		return th_fail(err, TH_ELIMIT, "the agents take too much memory");
	code =
	    th_resolved_models_of(rt->config, rt->person, agent, &u->memory, resolved_models, err);
	if (!code)
		code = check_prices(u, resolved_models, err);
	if (code)
		return code;
	o->first = resolved_models->list[0];
	o->fallback = resolved_models->list + 1;
	o->reader = reader_of(agent, resolved_models);
	u->members[index] = resolved_models;
	return config_tools(rt, u, start, agent, o, err);
}

/* The other agents of the team, by the definition that the log has, too. */
static enum th_code config_team(struct th_runtime *rt, struct th_runtime_setup *u,
				const struct th_start *start, struct th_err *err)
{
	struct th_buf text;
	struct th_json_doc *doc = NULL;
	const struct th_team *team;
	struct th_session_config *members = NULL;
	struct th_jw w;
	enum th_code code;

	if (!u->agent.agents.len)
		return TH_OK;
	th_buf_init(&text, TH_EVENT_DATA_MAX);
	w = th_jw(&text);
	th_table_print(&th_agent_table, &u->agent, &w);
	code = th_json_parse(th_buf_str(&text), &doc, err);
	th_buf_deinit(&text);
	if (!code)
		code = th_team_resolve(th_json_root(doc), &u->memory, &team, err);
	if (!code) {
		members = th_arena_array(&u->memory, team->count, sizeof(*members));
		u->members =
		    th_arena_array(&u->memory, team->count, sizeof(struct th_resolved_models *));
		if (!members || !u->members)
			code = th_fail(err, TH_ELIMIT, "the agents take too much memory");
	}
	for (size_t i = 1; !code && i < team->count; i++) {
		struct th_agent parsed, *agent = TH_NEW(&u->memory, struct th_agent);

		if (!agent)
			code = th_fail(err, TH_ELIMIT, "the agents take too much memory");
		if (!code)
			code = check_member(u, th_json_root(doc), i, err);
		if (!code)
			code = th_team_agent(th_json_root(doc), i, &u->memory, &parsed, err);
		if (!code)
			code = th_agent_copy(&parsed, &u->memory, agent, err);
		if (!code)
			code = config_member(rt, u, start, agent, i - 1, &members[i - 1], err);
		if (code)
			code = th_prefix(err, code, "agent %.*s", TH_FMT(team->members[i].name));
		else
			u->config.member_count = i;
	}
	u->config.members = members;
	th_json_free(doc);
	return code;
}

/* ---- code of a program, and of the agent's script ---- */

static enum th_asked ask_both(void *ctx, const struct th_code_ask *ask, struct th_buf *answer,
			      struct th_err *err)
{
	const struct th_runtime_setup *u = ctx;
	const struct th_callbacks *program = &u->program, *script = &u->script.callbacks;
	enum th_asked asked = program->ops->ask(program->ctx, ask, answer, err);

	return asked == TH_ASKED_NOTHING ? script->ops->ask(script->ctx, ask, answer, err) : asked;
}

/* A script answers at once. */
static void cancel_both(void *ctx, struct th_ticket t)
{
	const struct th_runtime_setup *u = ctx;

	if (u->program.ops->cancel)
		u->program.ops->cancel(u->program.ctx, t);
}

static const struct th_callbacks_ops both_ops = { .ask = ask_both, .cancel = cancel_both };

enum th_code th_runtime_setup_make(struct th_runtime *rt, struct th_runtime_setup *u,
				   const struct th_start *start, struct th_err *err)
{
	enum th_code code =
	    th_resolved_models_of(rt->config, rt->person, &u->agent, &u->memory, &u->models, err);

	if (!code)
		code = check_prices(u, &u->models, err);
	if (code)
		return code;
	u->config.agent = &u->agent;
	u->config.first = u->models.list[0];
	u->config.judge = judge_of(&u->agent, &u->models);
	u->config.fallback = u->models.list + 1;
	u->config.reader = reader_of(&u->agent, &u->models);
	if (th_script_code_init(&u->agent, &u->script))
		u->config.callbacks = &u->script.callbacks;
	code = config_computer(u, start, err);
	if (!code)
		code = config_tools(rt, u, start, &u->agent, &u->config, err);
	if (code)
		return code;
	if (start && start->callbacks) {
		u->program = *start->callbacks;
		u->both = (struct th_callbacks){ &both_ops, u };
		u->config.callbacks = u->config.callbacks ? &u->both : &u->program;
	}
	return config_team(rt, u, start, err);
}
