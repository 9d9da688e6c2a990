/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls.c - one call from the answer to its result.
 */
#include "driver/calls.h"

#include "base/text.h"
#include "core/policy.h"
#include "dialects/actions.h"
#include "driver/delegate.h"
#include "driver/delegate_background.h"
#include "driver/driver.h"
#include "driver/host.h"
#include "driver/marks.h"
#include "driver/observation.h"
#include "driver/person.h"
#include "driver/skills.h"
#include "driver/unknown.h"
#include "guards/analyse.h"
#include "guards/program.h"
#include "guards/quarantine.h"
#include "guards/verdict.h"
#include "live/log.h"
#include "live/pending_callback.h"
#include "live/queue.h"
#include "schema/schema.h"
#include "session_tools/mcp.h"
#include "session_tools/mcp_asks.h"
#include "session_tools/mcp_sample.h"
#include "session_tools/mcp_tools.h"
#include "session_tools/origin.h"
#include "side_models/ground.h"

static const struct th_tool_spec computer_spec = {
	.name = TH_STR_INIT("computer"),
	.class = TH_CLASS_W,
	.scope = { .target = TH_TARGET_SCREEN },
};

static const struct th_tool_spec handoff_spec = {
	.name = TH_STR_INIT("handoff"),
	.class = TH_CLASS_L,
};

/* The provider's actions in our form: {"actions":[…]}.  Class R when all of them only look. */
static enum th_code computer_arguments(struct th_live *l, struct th_str item, struct th_arena *a,
				       struct th_buf *out, enum th_class *ret_class,
				       struct th_err *err)
{
	struct th_json_doc *doc;
	struct th_action *actions = NULL;
	size_t count = 0;
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse(item, &doc, err);

	if (code)
		return code;
	code = th_model_actions(l->resolved->profile, th_json_root(doc), a, &actions, &count, err);
	*ret_class = TH_CLASS_R;
	th_jw_object(&w);
	th_jw_key(&w, TH_STR("actions"));
	th_jw_array(&w);
	for (size_t i = 0; !code && i < count; i++) {
		th_action_print(&actions[i], &w);
		if (th_action_class(actions[i].kind) != 'R')
			*ret_class = TH_CLASS_W;
	}
	th_jw_array_end(&w);
	/* Every provider wants to be shown what its actions led to. */
	if (count > 0 && actions[count - 1].kind != TH_ACTION_ZOOM) {
		th_jw_kbool(&w, "screenshot", true);
		if (*ret_class != TH_CLASS_R)
			th_jw_kbool(&w, "settle", true);
	}
	th_live_put_fit(l, &w);
	th_jw_object_end(&w);
	th_json_free(doc);
	return code;
}

static void record_item(struct th_live *l, struct th_call *c, struct th_str item,
			struct th_str grounding);

void th_live_record(struct th_live *l, struct th_call *c)
{
	if (c->cancelled ||
	    (!th_live_mark(l, c, record_item) && !th_live_ground(l, c, record_item)))
		record_item(l, c, c->item, TH_STR(""));
}

/* A call before it in the same answer ends the task. */
static bool is_behind_the_end(const struct th_live *l, const struct th_call *c)
{
	const struct th_member *m = th_session_member(&l->fold);

	for (const struct th_call *before = l->fold.calls; before < c; before++) {
		const struct th_tool_row *row =
		    before->computer ? NULL : th_live_tool(l, before->tool);

		if (row && row->spec.last && before->phase != TH_CALL_DENIED &&
		    th_member_stops_at(m, before->tool))
			return true;
	}
	return false;
}

/* Why its dialect could not say it as a call of a tool of ours; empty: it could. */
static struct th_str unread(struct th_str item, struct th_arena *a)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	/* Few have one, so the text is looked at before its members are. */
	if (th_str_find(item, TH_STR("\"error\":")) < 0 || !th_json_raw_get(item, "error").len ||
	    th_json_parse(item, &doc, NULL))
		return TH_STR("");
	return th_arena_str(a, th_json_get_str(th_json_root(doc), "error"));
}

/* Records the call with another item, and with what the grounder found; both JSON. */
static void record_item(struct th_live *l, struct th_call *c, struct th_str item,
			struct th_str grounding)
{
	const struct th_tool_row *row = c->computer ? NULL : th_live_tool(l, c->tool);
	const struct th_tool_spec *spec = row ? &row->spec : NULL;
	struct th_verdict verdict;
	struct th_str why = { 0 };
	struct th_ev_call d = { .call_id = c->call_id,
				.tool = c->tool,
				.safety_checks = c->safety_checks,
				.grounding = grounding };
	struct th_arena a;
	struct th_buf arguments;
	struct th_err err = { 0 };
	char digest[TH_SHA256_HEX_SIZE + 1];
	enum th_class class = spec ? spec->class : TH_CLASS_W;

	th_arena_init(&a, TH_TURN_MEMORY_MAX);
	th_buf_init(&arguments, TH_EVENT_DATA_MAX);
	if (c->computer && l->session_config->has_computer)
		spec = &computer_spec;
	if (c->native == TH_NATIVE_MCP)
		spec = th_live_mcp_spec(l, c);
	if (c->handoff) {
		spec = &handoff_spec;
		class = TH_CLASS_L;
	}
	d.unknown = !spec;
	if (c->computer) {
		if (computer_arguments(l, item, &a, &arguments, &class, &err)) {
			th_buf_clear(&arguments);
			th_buf_add_cstr(&arguments, "{}");
			why = th_str_of(err.msg);
		}
	} else {
		th_live_usable(l, row, c, &arguments, &a, &why);
		if (!why.len)
			why = unread(item, &a);
	}
	if (c->cancelled)
		why = TH_STR(TH_CALL_CANCELLED_WHY);
	else if (is_behind_the_end(l, c))
		why = TH_STR("a call before it in the same answer ended the task");
	d.arguments = th_buf_str(&arguments);
	if (!c->computer && spec && th_effect_only_looks(spec->looks, d.arguments))
		class = TH_CLASS_R;
	if (spec && !why.len &&
	    th_live_analyse(l, &(struct th_analyse){ .call = c,
						     .class = class,
						     .arguments = d.arguments,
						     .item = item,
						     .grounding = grounding,
						     .record = record_item })) {
		th_buf_deinit(&arguments);
		th_arena_deinit(&a);
		return;
	}
	th_call_digest(c->tool, d.arguments, digest);
	d.digest = th_str_of(digest);
	verdict = th_live_verdict(l, c, spec, class, d.arguments, digest, why, &a);
	d.class = th_str_of(th_class_name(class));
	d.target = th_effect_target_name(spec ? spec->scope : (struct th_effect_scope){});
	d.shows = th_effect_shows_name(spec ? spec->scope : (struct th_effect_scope){});
	d.policy = th_str_of(th_policy_name(verdict.policy));
	d.reason = verdict.reason;
	if (verdict.risk != TH_RISK_UNKNOWN)
		d.risk = th_str_of(th_risk_name(verdict.risk));
	d.each = verdict.each;
	d.question = spec && spec->question;
	th_live_write_event(l, TH_EV_CALL, TH_SOURCE_AGENT, l->fold.answer_seq, c->call_id, &d);
	th_buf_deinit(&arguments);
	th_arena_deinit(&a);
}

/* In the words of the agent's code, if it has any. */
static void refusal_text(struct th_live *l, const struct th_call *c, struct th_buf *text)
{
	bool rejected = c->was_asked || th_session_sticky(&l->fold, c->tool);
	struct th_buf input;
	struct th_jw w;

	if (c->verbatim) {
		th_buf_add(text, th_utf8_cut(c->reason, 4000));
		return;
	}
	th_buf_printf(
	    text, "Not done: %.*s. Nothing was executed.",
	    TH_FMT(th_utf8_cut(c->reason.len ? c->reason : TH_STR("it was refused"), 2000)));
	th_buf_init(&input, TH_EVENT_DATA_MAX);
	w = th_jw(&input);
	th_jw_object(&w);
	th_jw_kstr(&w, "kind",
		   c->unknown_tool ? TH_STR("unknown_tool")
		   : rejected      ? TH_STR("rejected")
				   : TH_STR("refused"));
	th_jw_kstr(&w, "tool", c->tool);
	th_jw_kstr(&w, "call_id", c->call_id);
	th_jw_kstr(&w, "message", c->reason);
	th_jw_kstr(&w, "text", th_buf_str(text));
	th_jw_object_end(&w);
	th_live_reword(l, th_buf_str(&input), text, "Not done.");
	th_buf_deinit(&input);
}

static void refuse_now(struct th_live *l, const struct th_call *c, struct th_str picture_parts)
{
	struct th_ev_outcome d = {
		.call_id = c->call_id,
		.status = TH_STR("refused"),
		.acknowledged = c->safety_checks,
	};
	struct th_buf text, output, evidence = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_json_raw_iter it = th_json_raw_iter(picture_parts);
	struct th_jw w;

	th_buf_init(&text, TH_EVENT_DATA_MAX);
	th_buf_init(&output, TH_EVENT_DATA_MAX);
	refusal_text(l, c, &text);
	w = th_jw(&output);
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", th_buf_str(&text));
	th_jw_object_end(&w);
	while (th_json_raw_next(&it))
		if (th_str_is(th_json_raw_get(it.val, "type"), "\"image\""))
			th_jw_raw(&w, it.val);
	th_jw_array_end(&w);
	if (!c->computer) {
		th_buf_clear(&output);
		w = th_jw(&output);
		th_jw_str(&w, th_buf_str(&text));
	}
	d.output = th_buf_str(&output);
	if (c->native == TH_NATIVE_MCP)
		th_live_mcp_reason(c, &evidence);
	d.evidence = th_buf_str(&evidence);
	th_live_write_event(l, TH_EV_OUTCOME, TH_SOURCE_ENVIRONMENT, c->call_seq, c->call_id, &d);
	th_buf_deinit(&text);
	th_buf_deinit(&output);
	th_buf_deinit(&evidence);
}

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
	if (settle && row->alive && row->alive(row->ctx, ticket))
		return;
	/* A function of this process leaves no journal: after a crash only R and L may run again,
	 * and K, which its key protects. */
	if (settle && c->class != TH_CLASS_R && c->class != TH_CLASS_L && c->class != TH_CLASS_K) {
		struct th_effect_result unknown = { .status = TH_OUTCOME_UNKNOWN };

		th_driver_tool_done(d, ticket, &unknown);
		return;
	}
	row->local(row->ctx, d,
		   &(struct th_local_call){ .ticket = ticket,
					    .tool = c->tool,
					    .arguments = c->arguments,
					    .call_id = c->call_id,
					    .session_id = th_str_of(l->id),
					    .effect_id = c->effect_id,
					    .class = c->class });
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

/* A computer call is answered with a picture even when it is refused: a look changes nothing. */
void th_live_refuse(struct th_live *l, struct th_call *c)
{
	struct th_arena a;
	struct th_observation look;

	if (!c->computer || !l->session_config->has_computer) {
		refuse_now(l, c, TH_STR("[]"));
		return;
	}
	th_arena_init(&a, TH_KIB);
	look = th_unknown_observation(computer_spec.scope, TH_STR("{}"), true, &a);
	th_live_observe(l, &look, th_live_ticket(l, c->call_seq));
	th_arena_deinit(&a);
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
	if (l && !l->lost && t.kind == TH_TICKET_ANALYSER) {
		th_live_analysis_done(l, t, r);
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
		refuse_now(l, c, r->output);
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

enum th_code th_live_check_calls(struct th_live *l, struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < l->fold.call_count && !code; i++) {
		const struct th_call *c = &l->fold.calls[i];
		struct th_arena a;
		struct th_buf arguments;
		enum th_class class;
		char ours[TH_SHA256_HEX_SIZE + 1];

		/* What was refused needs not be readable; what is over is over; where elements were
		 * found is not in the answer. */
		if (!c->computer || c->grounded || c->phase < TH_CALL_RECORDED ||
		    c->phase == TH_CALL_DENIED || c->phase == TH_CALL_SETTLED)
			continue;
		th_arena_init(&a, TH_TURN_MEMORY_MAX);
		th_buf_init(&arguments, TH_EVENT_DATA_MAX);
		code = computer_arguments(l, c->item, &a, &arguments, &class, err);
		th_call_digest(c->tool, th_buf_str(&arguments), ours);
		if (code || strcmp(ours, c->digest) != 0)
			code =
			    th_fail(err, TH_EDIVERGED,
				    "diverged: the log calls computer with %.*s, this build makes "
				    "%.*s of the answer",
				    TH_FMT(th_utf8_cut(c->arguments, 160)),
				    TH_FMT(th_utf8_cut(th_buf_str(&arguments), 160)));
		th_buf_deinit(&arguments);
		th_arena_deinit(&a);
	}
	return code;
}

void th_driver_tool_task(struct th_driver *d, struct th_ticket t, struct th_str task)
{
	struct th_live *l = th_live_find(d, t.index, t.generation);

	if (l && !l->lost)
		th_live_mcp_task(l, t.seq, task);
}
