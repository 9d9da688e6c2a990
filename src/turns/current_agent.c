/* SPDX-License-Identifier: Apache-2.0 */
/*
 * current_agent.c - the agent and the model that answer next: their tools, prices,
 * instructions and output schema, as the next requests need them.
 */
#include "turns/current_agent.h"
#include "turns/log_ahead.h"

#include <stdlib.h>

#include "agents/output.h"
#include "history/history.h"
#include "live/log.h"
#include "live/queue.h"
#include "session_tools/mcp_tools.h"

/* What the model is told: the agent's own instructions or those of its code, and then what its
 * servers of tools say. */
static void fit_instructions(struct th_live *l)
{
	const struct th_agent *agent = l->session_config->agent;
	struct th_str own = l->instructed ? th_buf_str(&l->instructions) : agent->instructions;

	th_buf_clear(&l->told);
	th_buf_add(&l->told, own);
	th_live_mcp_instructions(l, &l->told);
	l->options.agent = l->speaking = agent;
	if (!l->instructed && l->told.len == own.len)
		return;
	if (!l->rewritten)
		l->rewritten = th_alloc(sizeof(*l->rewritten));
	*l->rewritten = *agent;
	l->rewritten->instructions = th_buf_str(&l->told);
	l->options.agent = l->speaking = l->rewritten;
}

void th_live_instruct(struct th_live *l, struct th_str text, bool fresh)
{
	if (l->instructed && th_str_eq(th_buf_str(&l->instructions), text))
		return;
	th_buf_clear(&l->instructions);
	th_buf_add(&l->instructions, text);
	l->instructed = true;
	l->instructions_new = fresh;
	fit_instructions(l);
}

/* The functions that hand over and the tools of servers, beside the agent's own tools, which are
 * listed with its configuration where there are no others. */
static enum th_code fit_tools(struct th_live *l, struct th_err *err)
{
	const struct th_session_config *session_config = l->session_config;
	const struct th_member *m = &l->fold.team->members[l->speaks];
	size_t count = session_config->tool_count + m->handoff_count, told = 0;
	const struct th_tool_row *row;
	struct th_tool_spec *specs;

	for (size_t i = 0; th_live_mcp_row(l, i); i++)
		count++;
	free(l->own_tools);
	l->own_tools = NULL;
	l->options.tools = session_config->specs;
	l->options.tool_count = session_config->spec_count;
	if (count == 0 || (session_config->specs && count == session_config->tool_count))
		return TH_OK;
	specs = th_try_alloc(count * sizeof(*specs));
	if (!specs)
		return th_fail_memory(err);
	for (size_t i = 0; i < session_config->tool_count; i++)
		if (!session_config->tools[i].spec.hidden)
			specs[told++] = session_config->tools[i].spec;
	for (size_t i = 0; i < m->handoff_count; i++)
		specs[told++] = (struct th_tool_spec){
			.name = m->handoffs[i].tool,
			.description = m->handoffs[i].description,
			.schema = m->handoffs[i].schema,
			.class = TH_CLASS_L,
			.strict = m->handoffs[i].strict,
		};
	for (size_t i = 0; (row = th_live_mcp_row(l, i)); i++)
		specs[told++] = row->spec;
	l->options.tools = l->own_tools = specs;
	l->options.tool_count = told;
	return TH_OK;
}

enum th_code th_live_tools_listed(struct th_live *l, const struct th_json *data, struct th_err *err)
{
	enum th_code code = th_live_mcp_event(l, data, err);

	fit_instructions(l);
	return code ?: fit_tools(l, err);
}

static const struct th_resolved_model *choice_at(const struct th_session_config *o, size_t at)
{
	assert(at <= o->agent->fallback.count);
	return at ? &o->fallback[at - 1] : &o->first;
}

/* The model for the next requests.  Another model gets a new history. */
void th_live_turn_to(struct th_live *l, size_t at)
{
	const struct th_resolved_model *before = l->resolved;

	assert(!l->flight && !l->sides);
	l->model_at = at;
	l->resolved = choice_at(th_config_member(&l->team_config, l->speaks), at);
	l->options.profile = l->resolved->profile;
	l->options.model = l->resolved->model;
	l->options.image = th_image_size(l->resolved->profile, l->session_config->screen);
	if (before && (before->profile != l->resolved->profile ||
		       !th_str_eq(before->model, l->resolved->model)))
		th_live_history_retire(l);
}

static void who_answered(const void *ctx, struct th_str agent, size_t at, struct th_speaker *ret)
{
	const struct th_live *l = ctx;
	int member = agent.len ? th_team_find(l->fold.team, agent) : 0;
	const struct th_session_config *o =
	    th_config_member(&l->team_config, (size_t)TH_MAX(member, 0));
	const struct th_resolved_model *c = choice_at(o, TH_MIN(at, o->agent->fallback.count));

	*ret = (struct th_speaker){ c->profile, c->model };
}

bool th_live_choose(struct th_live *l)
{
	if (l->model_at == l->fold.model_at)
		return true;
	if (l->durable_seq < l->fold.seq)
		return !th_live_defer_request(l);
	th_live_turn_to(l, l->fold.model_at);
	l->history_due = false; /* it can be made at once */
	return true;
}

/* In the strict subset where that is possible: providers hold the model to it. */
static void fit_format(struct th_live *l)
{
	struct th_output_format *f = &l->options.format;
	struct th_err err;

	*f = (struct th_output_format){ 0 };
	th_arena_reset(&l->format);
	if (l->speaking->output_schema.len &&
	    th_output_schema(l->speaking->output_schema, &l->format, &f->schema, &f->strict, &err))
		f->schema = l->speaking->output_schema; /* what it is, the provider will say */
}

enum th_code th_live_switch_agent(struct th_live *l, struct th_err *err)
{
	const struct th_session_config *session_config =
	    th_config_member(&l->team_config, l->fold.agent);

	l->speaks = l->fold.agent;
	l->session_config = session_config;
	l->instructed = l->instructions_new = false;
	l->instructed_turn = 0;
	fit_instructions(l);
	l->options.has_computer = session_config->has_computer;
	l->options.has_pages = session_config->has_computer && session_config->has_pages;
	l->options.screen = session_config->screen;
	l->options.stream =
	    !session_config->agent->settings || session_config->agent->settings->stream;
	l->options.who = who_answered;
	l->options.who_ctx = l;
	for (size_t i = 0; i <= session_config->agent->fallback.count; i++) {
		const struct th_price *price = &choice_at(session_config, i)->profile->price;

		th_session_prices(&l->fold, i, price->input, price->output);
	}
	th_live_turn_to(l, l->fold.model_at);
	fit_format(l);
	return fit_tools(l, err);
}
