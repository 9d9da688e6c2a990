/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - one call from its intent to its result.
 */
#include "driver/calls.h"

#include "agents/agent_secret.h"
#include "driver/delegate.h"
#include "driver/delegate_background.h"
#include "driver/driver.h"
#include "driver/host.h"
#include "driver/observation.h"
#include "driver/person.h"
#include "driver/skills.h"
#include "driver/unknown.h"
#include "guards/analyse.h"
#include "guards/program.h"
#include "guards/quarantine.h"
#include "live/log.h"
#include "live/queue.h"
#include "session_tools/mcp.h"
#include "session_tools/mcp_asks.h"
#include "session_tools/mcp_sample.h"
#include "session_tools/mcp_tools.h"
#include "session_tools/origin.h"
#include "side_models/judge.h"

/* A server at an address: this process calls it, and no executor is needed. */
static bool is_remote(const struct th_tool_row *row)
{
	return row->mcp && row->mcp->server->url.len;
}

/* Names the journal that is to hold it, so that no other one can prove that it never began. */
void th_live_intend(struct th_live *l, struct th_call *c)
{
	const struct th_world_ops *ops = l->driver->world.ops;
	const struct th_tool_row *row = th_live_row(l, c);
	bool by_executor = !(row && (row->local || is_remote(row))) && !th_row_delegates(row);
	char id[33];
	struct th_ev_intent d = {
		.call_id = c->call_id,
		.epoch = l->epoch,
		.class = th_str_of(th_class_name(c->class)),
		.tool = c->tool,
		.digest = th_str_of(c->digest),
		.timeout_ms = th_row_delegates(row) ? 0 : th_live_timeout_ms(l),
		.approval = (int64_t)c->approval_seq,
	};

	if (c->phase != TH_CALL_CLEARED) /* stopped meanwhile */
		return;
	if (th_live_mcp_samples(l, c))
		return;
	/* Looking is simply done again.  Else it waits: CLEARED, and given out. */
	if (by_executor && c->class != TH_CLASS_R &&
	    !ops->tool_ready(l->driver->world.ctx, th_live_ticket(l, c->call_seq), &d.journal))
		return;
	if (by_executor && ops->tool_place)
		d.executor = ops->tool_place(l->driver->world.ctx, th_live_ticket(l, c->call_seq));
	th_driver_random_id(l->driver, id);
	d.effect_id = th_str_n(id, 32);
	th_live_write_event(l, TH_EV_INTENT, TH_SOURCE_AGENT, c->call_seq, c->call_id, &d);
}

/* A program as a tool: what it is comes from the agent's definition, the call's arguments go to its
 * standard input. */
static void run_command(struct th_live *l, const struct th_tool_row *row, struct th_ticket ticket,
			struct th_effect_call *call, bool settle)
{
	struct th_buf arguments = TH_BUF_INIT(2 * TH_EVENT_DATA_MAX);
	struct th_jw w = th_jw(&arguments);

	th_jw_object(&w);
	th_jw_kstr(&w, "name", row->spec.name);
	th_jw_key(&w, TH_STR("argv"));
	th_jw_array(&w);
	for (size_t i = 0; i < row->command->command.count; i++)
		th_jw_str(&w, row->command->command.list[i]);
	th_jw_array_end(&w);
	th_jw_kraw(&w, "input", call->arguments);
	th_jw_kint(&w, "timeout_s", row->command->timeout_s);
	th_agent_secrets_name(l->session_config->agent->secrets, TH_SECRET_TO_TOOL, row->spec.name,
			      &w);
	th_jw_object_end(&w);
	call->tool = TH_STR("command");
	call->arguments = th_buf_str(&arguments);
	l->driver->world.ops->tool_run(l->driver->world.ctx, ticket, call, settle);
	th_buf_deinit(&arguments);
}

void th_driver_tool_not_started(struct th_driver *d, struct th_ticket t, const char *why)
{
	struct th_buf text = TH_BUF_INIT(4 * TH_KIB), output = TH_BUF_INIT(16 * TH_KIB);
	struct th_effect_result result = { .status = TH_OUTCOME_NOT_STARTED };
	struct th_jw w = th_jw(&output);

	th_buf_printf(&text, "This was not started: %s.", why);
	th_jw_str(&w, th_buf_str(&text));
	result.output = th_buf_str(&output);
	th_driver_tool_done(d, t, &result);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
}

/* The person's answer, which came with the approval. */
static void answer_question(struct th_live *l, const struct th_call *c, struct th_ticket ticket)
{
	struct th_buf output = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_effect_result result = { .status = TH_OUTCOME_DONE };
	struct th_jw w = th_jw(&output);

	th_jw_str(&w, c->approval_seq && c->reason.len
			  ? c->reason
			  : TH_STR("[the person let you go on, and gave no answer]"));
	result.output = th_buf_str(&output);
	th_driver_tool_done(l->driver, ticket, &result);
	th_buf_deinit(&output);
}

/* A function of this process. */
static void run_here(struct th_live *l, const struct th_call *c, const struct th_tool_row *row,
		     struct th_ticket ticket, bool settle)
{
	if (settle && row->alive && row->alive(row->ctx, ticket))
		return;
	/* It leaves no journal: after a crash only R and L may run again, and K, which its key
	 * protects. */
	if (settle && c->class != TH_CLASS_R && c->class != TH_CLASS_L && c->class != TH_CLASS_K) {
		struct th_effect_result unknown = { .status = TH_OUTCOME_UNKNOWN };

		th_driver_tool_done(l->driver, ticket, &unknown);
		return;
	}
	row->local(row->ctx, l->driver,
		   &(struct th_local_call){ .ticket = ticket,
					    .tool = c->tool,
					    .arguments = c->arguments,
					    .call_id = c->call_id,
					    .session_id = th_str_of(l->id),
					    .effect_id = c->effect_id,
					    .class = c->class });
}

void th_live_tool_run(struct th_live *l, struct th_call *c, bool settle)
{
	struct th_driver *d = l->driver;
	const struct th_tool_row *row = th_live_row(l, c);
	struct th_ticket ticket = th_live_ticket(l, c->intent_seq);
	struct th_buf hosts TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_effect_call call = {
		/* What an earlier runtime dispatched is proved by a journal of its time only.  A
		 * read needs no proof: it is done again, by us. */
		.epoch = settle && c->class != TH_CLASS_R ? c->epoch : l->epoch,
		.effect_id = c->effect_id,
		.tool = c->tool,
		.arguments = c->arguments,
		.digest = th_str_of(c->digest),
		.journal = c->journal,
		.class = c->class,
		.timeout_ms = th_live_timeout_ms(l),
		/* Nobody has stopped the run since, and its intent stands. */
		.begin = settle && l->fold.state == TH_STATE_RUNNING && !l->fold.tripped &&
			 c->intent_seq <= l->durable_seq,
	};

	call.strict = th_live_asks_hosts(l);
	if (l->session_config->agent->net_ask || l->fold.origins.policy.origins)
		th_session_hosts_print(&l->fold, &hosts);
	call.hosts = th_buf_str(&hosts);
	/* Cancelled while its intent was written, or by a hook of that event. */
	if (!settle && (l->fold.tripped || l->fold.state == TH_STATE_STOPPED)) {
		th_driver_tool_not_started(d, ticket, "the run was stopped before it began");
		return;
	}
	if (c->question) {
		answer_question(l, c, ticket);
		return;
	}
	if (th_row_delegates(row)) {
		th_live_delegate(l, c, row->command, settle);
		return;
	}
	if (row && row->command && !row->local) {
		run_command(l, row, ticket, &call, settle);
		return;
	}
	if (row && row->mcp) {
		th_live_mcp_run(l, c, row, ticket, &call, settle);
		return;
	}
	if (c->native == TH_NATIVE_SHELL || c->native == TH_NATIVE_LOCAL_SHELL)
		call.tool = TH_STR("commands"); /* the same, for several and with both streams */
	if (!row || !row->local) {
		d->world.ops->tool_run(d->world.ctx, ticket, &call, settle);
		return;
	}
	run_here(l, c, row, ticket, settle);
}

void th_live_tool_cancel(struct th_live *l, const struct th_call *c)
{
	struct th_driver *d = l->driver;
	const struct th_tool_row *row = th_live_row(l, c);
	struct th_ticket ticket = th_live_ticket(l, c->intent_seq);

	if (th_live_quarantine_cancel(l, c) || th_background_wait_cancel(l, c))
		return;
	if (th_row_delegates(row))
		th_live_delegate_cancel(l, c);
	else if (!row || !row->local)
		d->world.ops->tool_cancel(d->world.ctx, ticket);
	else if (row->cancel)
		row->cancel(row->ctx, ticket);
}

void th_driver_tool_progress(struct th_driver *d, struct th_ticket t, struct th_str bytes)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	if (!l || l->lost || !l->observer.progress || t.kind != TH_TICKET_EVENT)
		return;
	for (size_t i = 0; i < l->fold.call_count; i++) {
		const struct th_call *c = &l->fold.calls[i];

		if (c->intent_seq != t.seq || c->phase != TH_CALL_INTENDED)
			continue;
		l->observer.progress(l->observer.ctx, (struct th_handle){ l->index, l->generation },
				     c->tool, bytes);
		return;
	}
}

void th_driver_tool_ready(struct th_driver *d, struct th_ticket t)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	if (!l || l->lost)
		return;
	/* A pause meanwhile: a resume gives them out again. */
	for (size_t i = 0; i < l->fold.call_count && !l->lost; i++)
		if (l->fold.calls[i].phase == TH_CALL_CLEARED && l->fold.calls[i].emitted &&
		    (l->fold.state == TH_STATE_RUNNING || l->fold.state == TH_STATE_WAITING))
			th_live_intend(l, &l->fold.calls[i]);
	th_live_person_ready(l);
	th_live_programs_ready(l);
	th_live_pump(l);
}

/* A ticket of the INTENT is the effect's; one of the CALL is a look's. */
static struct th_call *call_of_ticket(struct th_live *l, struct th_ticket t)
{
	for (size_t i = 0; i < l->fold.call_count; i++) {
		struct th_call *c = &l->fold.calls[i];
		bool looks = c->phase == TH_CALL_DENIED || c->phase == TH_CALL_INTENDED;

		if ((c->phase == TH_CALL_INTENDED && c->intent_seq == t.seq) ||
		    (looks && c->call_seq == t.seq))
			return c;
	}
	return NULL;
}

/* A call has its result. */
static void go_on(struct th_live *l)
{
	if (l->children)
		th_live_delegates_check(l);
	/* It may be what the call that it works on still waited for. */
	if (l->parent_call && th_delegation_is_over(&l->fold)) {
		th_live_hold(l, TH_DO_NOTIFY, l->fold.seq, 0);
		th_live_dirty(l);
	}
	th_live_pump(l);
}

/* `quarantine`: a member of the event, JSON or empty. */
static void write_outcome(struct th_live *l, const struct th_call *c,
			  const struct th_effect_result *r, struct th_str quarantine)
{
	struct th_arena a;
	struct th_str arguments;
	struct th_origin_list origins;
	struct th_ev_outcome out;

	th_arena_init(&a, 2 * TH_EVENT_DATA_MAX);
	arguments = th_arena_str(&a, c->arguments); /* the event may end the turn */
	out = (struct th_ev_outcome){
		.origins = th_live_origins(l, c, r->evidence, r->origins, &origins),
		.call_id = c->call_id,
		.effect_id = c->effect_id,
		.status = th_str_of(th_outcome_name(r->status)),
		.output = r->output.len ? r->output : TH_STR("\"\""),
		.evidence = r->evidence,
		.acknowledged = c->safety_checks,
		.quarantine = quarantine,
		.elapsed_ms = r->elapsed_ms,
		.fails = r->fails,
	};
	th_live_write_event(l, TH_EV_OUTCOME, TH_SOURCE_ENVIRONMENT, c->intent_seq, c->call_id,
			    &out);
	th_live_skills_touched(l, arguments);
	th_arena_deinit(&a);
	go_on(l);
}

void th_driver_tool_done(struct th_driver *d, struct th_ticket t, const struct th_effect_result *r)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);
	struct th_call *c =
	    l && !l->lost && t.kind == TH_TICKET_EVENT ? call_of_ticket(l, t) : NULL;
	struct th_err err = { 0 };

	if (l && !l->lost && t.kind == TH_TICKET_PERSON) {
		th_live_person_done(l, t, r);
		return;
	}
	if (l && !l->lost && t.kind == TH_TICKET_HOOK) {
		th_live_program_done(l, t, r);
		return;
	}
	if (l && !l->lost && t.kind == TH_TICKET_LOOK) {
		th_live_program_looked(l, t, r);
		return;
	}
	if (l && !l->lost && t.kind == TH_TICKET_ANALYSER) {
		th_live_analysis_done(l, t, r);
		return;
	}
	if (l && !l->lost && t.kind == TH_TICKET_CRITIC) {
		th_live_judge_said(l, t, r);
		return;
	}
	if (t.kind == TH_TICKET_SERVER) {
		th_live_mcp_list_done(d, t, r);
		return;
	}
	if (t.kind == TH_TICKET_OBSERVATION) {
		th_first_observation_done(d, t, r);
		return;
	}
	if (!c)
		return;
	for (size_t i = 0; i < r->blob_count; i++) {
		/* Without its picture the result is not told: the executor keeps it. */
		if (th_driver_add_blob(d, &r->blobs[i], &err)) {
			th_live_lose(l, &err);
			return;
		}
	}
	th_live_mcp_called(l, c, r);
	if (c->phase == TH_CALL_DENIED) {
		th_live_refuse_with(l, c, r->output);
	} else if (t.seq == c->call_seq) {
		th_live_on_observed(l, c, r);
	} else if (r->status == TH_OUTCOME_UNKNOWN) {
		th_live_on_unknown(l, c, r);
	} else if (th_live_mcp_asks(l, c, r)) {
		th_live_mcp_question(l, c, r);
	} else if (th_live_quarantines(l, c, r)) {
		th_live_quarantine(l, c, r, write_outcome);
		return;
	} else {
		write_outcome(l, c, r, TH_STR(""));
		return;
	}
	go_on(l);
}

void th_driver_tool_task(struct th_driver *d, struct th_ticket t, struct th_str task)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	if (l && !l->lost)
		th_live_mcp_task(l, t.seq, task);
}
