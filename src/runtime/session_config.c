/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_config.c - what a session is run with: its agents as its first event
 * has them, with their models, keys and tools.
 */
#include <stdlib.h>

#include "computers/computer.h"
#include "profiles/compose.h"
#include "providers/human.h"
#include "runtime/internal.h"
#include "runtime/skill_tool.h"

enum th_code th_runtime_session_read(void *ctx, const struct th_event *ev,
				     const struct th_digest *digest, struct th_err *err)
{
	struct th_first_event *f = ctx;
	struct th_ev_session_created d;
	struct th_json_doc *doc = NULL;
	struct th_agent parsed;
	enum th_code code;

	(void)digest;
	if (ev->kind != TH_EV_SESSION_CREATED)
		return th_fail(err, TH_ECORRUPT, "the log does not begin with session_created");
	code = th_json_parse(ev->data, &doc, err);
	if (!code)
		code = th_table_parse_plain(&th_ev_session_created_table, th_json_root(doc), f->a,
					    &d, err);
	if (!code)
		code = th_table_parse(&th_agent_table, th_json_get(th_json_root(doc), "agent"),
				      f->a, &parsed, err);
	if (!code && !parsed.model.len)
		parsed.model = d.model;
	if (!code && !parsed.workspace.len)
		parsed.workspace = d.workspace;
	if (!code)
		code = th_agent_copy(&parsed, f->a, f->agent, err);
	th_json_free(doc);
	f->found = !code;
	return code;
}

enum th_code th_runtime_stored_agent(struct th_runtime *rt, struct th_str session_id,
				     struct th_arena *a, struct th_agent *ret, struct th_err *err)
{
	struct th_first_event f = { a, ret, false };
	enum th_code code =
	    rt->store->kind->read(rt->store, session_id, 1, 1, th_runtime_session_read, &f, err);

	if (!code && !f.found)
		code = th_fail(err, TH_ECORRUPT, "session %.*s has no first event",
			       TH_FMT(session_id));
	return code;
}

enum th_code th_runtime_place_stored(struct th_runtime *rt, struct th_str session_id,
				     struct th_err *err)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_agent agent;
	enum th_code code;

	if (!rt->placed)
		return TH_OK;
	th_arena_init(&memory, 4 * TH_EVENT_DATA_MAX);
	code = th_runtime_stored_agent(rt, session_id, &memory, &agent, err);
	return code ? code : th_runtime_place(rt, &agent, err);
}

static enum th_code config_computer(struct th_runtime_session *s, const struct th_start *start,
				    struct th_err *err)
{
	const struct th_agent_computer *pc = s->agent.computer;

	const struct th_computer_kind *kind = pc ? th_computer_find(pc->kind) : NULL;

	s->session_config.has_computer = pc != NULL;
	s->session_config.has_pages = kind && kind->address;
	if (!pc || !th_str_is(pc->kind, TH_COMPUTER_CUSTOM))
		return TH_OK;
	if (!start || !start->computer)
		return th_fail(
		    err, TH_EUSAGE,
		    "its computer is a part of the program that began the session, which "
		    "only that program can open");
	s->computer = *start->computer;
	s->session_config.computer = &s->computer;
	s->session_config.screen = (struct th_size){ (int32_t)pc->width, (int32_t)pc->height };
	return TH_OK;
}

static enum th_code config_tools(struct th_runtime_session *s, const struct th_start *start,
				 const struct th_agent *agent, struct th_session_config *o,
				 struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	size_t own = start ? start->tool_count : 0, count = own + rt->tool_count;
	struct th_tool_row *rows = rt->tools, *mine = NULL;
	enum th_code code;

	if (own > 0) {
		rows = th_alloc(count * sizeof(*rows));
		memcpy(rows, start->tools, own * sizeof(*rows));
		if (rt->tool_count > 0)
			memcpy(rows + own, rt->tools, rt->tool_count * sizeof(*rows));
	}
	code = th_registry_rows(agent, rows, count, &rt->schemas, &s->memory, &mine, &o->tool_count,
				err);
	if (!code)
		code = th_script_code_bind(s->script.source.len ? &s->script : NULL, mine,
					   o->tool_count, &s->memory, err);
	if (!code)
		code = th_skill_add_row(agent, &s->memory, &mine, &o->tool_count, err);
	o->tools = mine;
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
static enum th_code check_prices(const struct th_runtime_session *s,
				 const struct th_resolved_models *resolved_models,
				 struct th_err *err)
{
	if (s->stored || !s->agent.limits || s->agent.limits->cost_usd <= 0)
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
static enum th_code check_member(const struct th_runtime_session *s,
				 const struct th_json *definition, size_t index, struct th_err *err)
{
	static const char *const fields[] = { "limits",  "environment", "net",   "net_ask",
					      "secrets", "untrusted",   "labels" };
	const struct th_json *member = th_team_definition(definition, index);

	for (size_t i = 0; !s->stored && i < TH_COUNT(fields); i++) {
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
static enum th_code config_member(struct th_runtime_session *s, const struct th_start *start,
				  struct th_agent *agent, size_t index, struct th_session_config *o,
				  struct th_err *err)
{
	struct th_resolved_models *resolved_models;
	enum th_code code;

	if (!agent->model.len)
		agent->model = s->agent.model;
	if (!agent->base_url.len)
		agent->base_url = s->agent.base_url;
	if (!agent->workspace.len)
		agent->workspace = s->agent.workspace;
	agent->environment = s->agent.environment;
	agent->net = s->agent.net;
	agent->net_ask = s->agent.net_ask;
	agent->untrusted = s->agent.untrusted;
	agent->secrets = s->agent.secrets;
	*o = s->session_config;
	o->agent = agent;
	o->has_computer = s->session_config.has_computer && agent->computer;
	resolved_models = TH_NEW(&s->memory, struct th_resolved_models);
	if (!resolved_models)
		return th_fail(err, TH_ELIMIT, "the agents take too much memory");
	code = th_resolved_models_of(s->rt->config, s->rt->person, agent, &s->memory,
				     resolved_models, err);
	if (!code)
		code = check_prices(s, resolved_models, err);
	if (code)
		return code;
	o->first = resolved_models->list[0];
	o->fallback = resolved_models->list + 1;
	o->reader = reader_of(agent, resolved_models);
	s->members[index] = resolved_models;
	return config_tools(s, start, agent, o, err);
}

/* The other agents of the team, by the definition that the log has, too. */
static enum th_code config_team(struct th_runtime_session *s, const struct th_start *start,
				struct th_err *err)
{
	struct th_buf text;
	struct th_json_doc *doc = NULL;
	const struct th_team *team;
	struct th_session_config *members = NULL;
	struct th_jw w;
	enum th_code code;

	if (!s->agent.agents.len)
		return TH_OK;
	th_buf_init(&text, TH_EVENT_DATA_MAX);
	w = th_jw(&text);
	th_table_print(&th_agent_table, &s->agent, &w);
	code = th_json_parse(th_buf_str(&text), &doc, err);
	th_buf_deinit(&text);
	if (!code)
		code = th_team_resolve(th_json_root(doc), &s->memory, &team, err);
	if (!code) {
		members = th_arena_array(&s->memory, team->count, sizeof(*members));
		s->members =
		    th_arena_array(&s->memory, team->count, sizeof(struct th_resolved_models *));
		if (!members || !s->members)
			code = th_fail(err, TH_ELIMIT, "the agents take too much memory");
	}
	for (size_t i = 1; !code && i < team->count; i++) {
		struct th_agent parsed, *agent = TH_NEW(&s->memory, struct th_agent);

		if (!agent)
			code = th_fail(err, TH_ELIMIT, "the agents take too much memory");
		if (!code)
			code = check_member(s, th_json_root(doc), i, err);
		if (!code)
			code = th_team_agent(th_json_root(doc), i, &s->memory, &parsed, err);
		if (!code)
			code = th_agent_copy(&parsed, &s->memory, agent, err);
		if (!code)
			code = config_member(s, start, agent, i - 1, &members[i - 1], err);
		if (code)
			code = th_prefix(err, code, "agent %.*s", TH_FMT(team->members[i].name));
		else
			s->session_config.member_count = i;
	}
	s->session_config.members = members;
	th_json_free(doc);
	return code;
}

enum th_code th_runtime_session_config(struct th_runtime_session *s, const struct th_start *start,
				       struct th_err *err)
{
	struct th_runtime *rt = s->rt;
	enum th_code code = th_runtime_place(rt, &s->agent, err);

	if (!code)
		code = th_resolved_models_of(rt->config, rt->person, &s->agent, &s->memory,
					     &s->resolved_models, err);
	if (!code)
		code = check_prices(s, &s->resolved_models, err);
	if (code)
		return code;
	s->session_config.agent = &s->agent;
	s->session_config.first = s->resolved_models.list[0];
	s->session_config.judge = judge_of(&s->agent, &s->resolved_models);
	s->session_config.fallback = s->resolved_models.list + 1;
	s->session_config.reader = reader_of(&s->agent, &s->resolved_models);
	if (th_script_code_init(&s->agent, &s->script))
		s->session_config.callbacks = &s->script.callbacks;
	code = config_computer(s, start, err);
	if (!code)
		code = config_tools(s, start, &s->agent, &s->session_config, err);
	if (code)
		return code;
	if (start && start->callbacks) {
		s->callbacks = *start->callbacks;
		s->session_config.callbacks = &s->callbacks;
	}
	return config_team(s, start, err);
}
