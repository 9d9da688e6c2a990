/* SPDX-License-Identifier: Apache-2.0 */
/*
 * team.c - the agents of a team, and the functions by which an agent decides: guardrails,
 * instructions, filters.  Bodies of tools are in call.c; both are calls to the program.
 */
#include <stdlib.h>

#include "api/api.h"
#include "base/text.h"

_Static_assert((int)THOLE_STAGE_INPUT == (int)TH_GUARD_INPUT &&
		   (int)THOLE_STAGE_OUTPUT == (int)TH_GUARD_OUTPUT &&
		   (int)THOLE_STAGE_TOOL_INPUT == (int)TH_GUARD_TOOL_INPUT &&
		   (int)THOLE_STAGE_TOOL_OUTPUT == (int)TH_GUARD_TOOL_OUTPUT,
	       "one list of stages");

/* ---- members and handoffs ---------------------------------------------------------------------
 */

int thole_agent_member(struct thole_agent *agent, struct thole_agent *member,
		       struct thole_error *err)
{
	int code = th_api_check_agent(agent, err);

	if (!code && !member)
		code = th_api_fail(err, TH_EUSAGE, "the member is NULL");
	if (!code && (member == agent || member->member_count > 0))
		code = th_api_fail(err, TH_EUSAGE, "a member of a team has no members itself");
	if (!code && th_str_eq(member->def.name, agent->def.name))
		code = th_api_fail(err, TH_EEXIST, "the agents of a team have different names");
	for (size_t i = 0; !code && i < agent->member_count; i++)
		if (th_str_eq(agent->members[i]->def.name, member->def.name))
			code = th_api_fail(err, TH_EEXIST, "the team has an agent %.*s",
					   TH_FMT(member->def.name));
	if (!code && agent->member_count == TH_TEAM_MAX - 1)
		code = th_api_fail(err, TH_ELIMIT, "a team has at most %d agents", TH_TEAM_MAX);
	if (code)
		return code;
	agent->members = (struct thole_agent **)th_realloc(
	    agent->members, (agent->member_count + 1) * sizeof(*agent->members));
	agent->members[agent->member_count++] = th_api_agent_ref(member);
	return TH_OK;
}

int thole_agent_handoff(struct thole_agent *agent, const char *to, const char *description,
			const char *filter, struct thole_error *err)
{
	struct th_buf list = TH_BUF_INIT(TH_CONFIG_SIZE_MAX);
	struct th_str before, after;
	struct th_jw w = th_jw(&list);
	int code = th_api_check_agent(agent, err);

	if (!code)
		code = th_api_text(to, "the agent's name", 1, TH_AGENT_NAME_MAX, err);
	if (!code && description)
		code = th_api_text(description, "the description", 0, TH_MIB / 4, err);
	if (!code && filter)
		code = th_api_text(filter, "the filter's name", 1, TH_TOOL_NAME_MAX, err);
	if (code)
		return code;
	before = agent->def.handoffs;
	th_buf_add(&list, before.len ? th_str_sub(before, 0, before.len - 1) : TH_STR("["));
	if (list.len > 1)
		th_buf_add_char(&list, ',');
	th_jw_object(&w);
	th_jw_kstr(&w, "agent", th_str_of(to));
	if (description)
		th_jw_kstr(&w, "description", th_str_of(description));
	if (filter)
		th_jw_kstr(&w, "filter", th_str_of(filter));
	th_jw_object_end(&w);
	th_buf_add_char(&list, ']');
	after =
	    list.failed ? (struct th_str){ 0 } : th_arena_str(&agent->memory, th_buf_str(&list));
	th_buf_deinit(&list);
	if (!after.ptr)
		return th_api_fail(err, TH_ELIMIT, "the agent's handoffs are too large");
	agent->def.handoffs = after;
	return TH_OK;
}

const struct thole_tool *th_api_tool_find(const struct thole_agent *a, struct th_str name)
{
	const struct thole_tool *found = NULL;

	for (size_t i = 0; a && !found && i < a->tool_count; i++)
		if (th_str_eq(a->tools[i]->spec.name, name))
			found = a->tools[i];
	for (size_t i = 0; a && !found && i < a->member_count; i++)
		found = th_api_tool_find(a->members[i], name);
	return found;
}

/* ---- functions --------------------------------------------------------------------------------
 */

static const struct th_api_function *own_function(const struct thole_agent *a, struct th_str name)
{
	for (size_t i = 0; i < a->function_count; i++)
		if (th_str_eq(a->functions[i].name, name))
			return &a->functions[i];
	return NULL;
}

/* Of the agent that asks; what it does not have is the first agent's. */
static const struct th_api_function *function_of(const struct thole_agent *a, struct th_str agent,
						 struct th_str name)
{
	const struct th_api_function *f = NULL;

	for (size_t i = 0; a && !f && i < a->member_count; i++)
		if (th_str_eq(a->members[i]->def.name, agent))
			f = own_function(a->members[i], name);
	return f || !a ? f : own_function(a, name);
}

int th_api_function_add(struct thole_agent *agent, const char *name, thole_tool_fn *fn,
			thole_note_fn *hook, void *ctx, struct thole_error *err)
{
	struct th_str copy;
	int code = th_api_check_agent(agent, err);

	if (!code)
		code = th_api_text(name, "the function's name", 1, TH_TOOL_NAME_MAX, err);
	if (!code && !fn && !hook)
		code = th_api_fail(err, TH_EUSAGE, "the function %s is NULL", name);
	if (!code && own_function(agent, th_str_of(name)))
		code = th_api_fail(err, TH_EEXIST, "the agent has a function %s", name);
	if (!code && agent->function_count == TH_AGENT_TOOLS_MAX)
		code = th_api_fail(err, TH_ELIMIT, "an agent has at most %d functions",
				   TH_AGENT_TOOLS_MAX);
	if (code)
		return code;
	copy = th_arena_str(&agent->memory, th_str_of(name));
	if (!copy.ptr)
		return th_api_fail(err, TH_ELIMIT, "the agent's definition is too large");
	agent->functions =
	    th_realloc(agent->functions, (agent->function_count + 1) * sizeof(*agent->functions));
	agent->functions[agent->function_count++] =
	    (struct th_api_function){ .name = copy, .fn = fn, .hook = hook, .ctx = ctx };
	return TH_OK;
}

int thole_agent_function(struct thole_agent *agent, const char *name, thole_tool_fn *fn, void *ctx,
			 struct thole_error *err)
{
	return th_api_function_add(agent, name, fn, NULL, ctx, err);
}

int thole_agent_guardrail(struct thole_agent *agent, const char *name, enum thole_stage stage,
			  bool blocking, thole_tool_fn *fn, void *ctx, struct thole_error *err)
{
	struct th_agent_guardrail *list;
	size_t count;
	int code = th_api_check_agent(agent, err);

	if (!code && (unsigned)stage >= TH_GUARD_STAGE_COUNT)
		code = th_api_fail(err, TH_EUSAGE, "there is no stage %d", (int)stage);
	if (code)
		return code;
	count = agent->def.guardrails.count;
	list = th_arena_array(&agent->memory, count + 1, sizeof(*list));
	if (!list)
		return th_api_fail(err, TH_ELIMIT, "the agent's definition is too large");
	code = thole_agent_function(agent, name, fn, ctx, err);
	if (code)
		return code;
	if (count > 0)
		memcpy(list, agent->def.guardrails.list, count * sizeof(*list));
	list[count] = (struct th_agent_guardrail){
		.name = agent->functions[agent->function_count - 1].name,
		.stage = (int64_t)stage,
		.blocking = blocking,
	};
	agent->def.guardrails = (struct th_objects){ list, count + 1 };
	return TH_OK;
}

int thole_agent_instructions(struct thole_agent *agent, thole_tool_fn *fn, void *ctx,
			     struct thole_error *err)
{
	int code = thole_agent_function(agent, "instructions", fn, ctx, err);

	if (!code)
		agent->def.instructions_from = TH_STR("instructions");
	return code;
}

/* ---- the driver's side ------------------------------------------------------------------------
 */

static enum th_asked on_ask(void *ctx, const struct th_code_ask *ask, struct th_buf *answer,
			    struct th_err *err)
{
	struct thole_session *s = ctx;
	const struct th_api_function *f = function_of(s->agent, ask->agent, ask->function);
	struct th_local_call from = {
		.ticket = ask->ticket,
		.tool = ask->function,
		.arguments = ask->input,
		.session_id = ask->session_id,
		.class = TH_CLASS_R,
	};
	struct thole_call *c;

	if (!f)
		return TH_ASKED_NOTHING;
	if (f->hook && ask->kind != TH_ASK_HOOK) {
		(void)th_fail(err, TH_EUSAGE, "%.*s only watches: it answers nothing",
			      TH_FMT(ask->function));
		return TH_ASKED_FAILED;
	}
	if (ask->kind == TH_ASK_APPROVAL || ask->kind == TH_ASK_TEXT) {
		(void)th_fail(err, TH_EUSAGE,
			      "%.*s is to answer at once, which a function of the program cannot",
			      TH_FMT(ask->function));
		return TH_ASKED_FAILED;
	}
	if (s->freed)
		return TH_ASKED_LATER;
	if (f->hook) {
		th_api_hook_tell(s, f, ask);
		th_buf_add_cstr(answer, "null");
		return TH_ASKED_ANSWERED;
	}
	c = th_api_call_new(s, &from);
	c->is_ask = true;
	c->ask = ask->kind;
	c->fn = f->fn;
	c->ctx = f->ctx;
	th_api_call_give(c);
	return TH_ASKED_LATER;
}

static void on_cancel(void *ctx, struct th_ticket t)
{
	struct thole_session *s = ctx;

	for (struct thole_call *c = s->calls; c; c = c->next)
		if (c->is_ask && th_ticket_eq(c->ticket, t)) {
			th_api_call_forget(c);
			return;
		}
}

const struct th_callbacks_ops th_api_callbacks_ops = { .ask = on_ask, .cancel = on_cancel };

/* Passing is silence; what a text means depends on the question. */
void th_api_ask_conclude(struct thole_call *c)
{
	struct th_driver *d = c->session->rt->driver;
	struct th_ticket ticket = c->ticket;
	bool failed = c->status != TH_OUTCOME_DONE;
	bool silent = c->ask == TH_ASK_HOOK ||
		      (!c->is_json && (c->ask == TH_ASK_GUARDRAIL || c->ask == TH_ASK_DECISION));
	struct th_buf text = TH_BUF_INIT(TH_CALL_ANSWER_MAX);

	if (failed && (!th_json_unescape(th_buf_str(&c->output), &text) || text.len == 0))
		th_buf_printf(&text, "%s failed", c->name);
	th_api_call_forget(c);
	th_driver_code_done(d, ticket, failed,
			    failed   ? th_buf_str(&text)
			    : silent ? TH_STR("null")
				     : th_buf_str(&c->output));
	th_buf_deinit(&text);
}

/* The answer of a question as JSON; the call is gone, unless this failed. */
static int answer_json(struct thole_call *c, struct th_str json, struct thole_error *err)
{
	th_buf_clear(&c->output);
	th_buf_add(&c->output, json);
	if (c->output.failed) {
		th_buf_clear(&c->output);
		return th_api_fail(err, TH_ELIMIT, "the answer has more than %zu bytes",
				   TH_CALL_ANSWER_MAX);
	}
	c->is_json = true;
	return th_api_call_hand_in(c, TH_OUTCOME_DONE);
}

static int check_ask(const struct thole_call *c, struct thole_error *err)
{
	if (!c)
		return th_api_fail(err, TH_EUSAGE, "the call is NULL");
	if (!c->is_ask)
		return th_api_fail(err, TH_EUSAGE, "this is the call of a tool");
	return TH_OK;
}

int th_api_answer_verdict(struct thole_call *c, const struct th_api_verdict *v, bool verdict,
			  const char *message, struct thole_error *err)
{
	struct th_buf json = TH_BUF_INIT(TH_CALL_ANSWER_MAX);
	struct th_jw w = th_jw(&json);
	int code = check_ask(c, err);

	if (!code && c->ask != v->ask)
		code = th_api_fail(err, TH_EUSAGE, "%s", v->elsewhere);
	if (!code && message)
		code = th_api_text(message, "the message", 0, TH_MIB, err);
	if (code)
		return code;
	th_jw_object(&w);
	th_jw_kbool(&w, v->key, verdict);
	if (message)
		th_jw_kstr(&w, "message", th_str_of(message));
	th_jw_object_end(&w);
	code = answer_json(c, th_buf_str(&json), err);
	th_buf_deinit(&json);
	return code;
}

int thole_call_trip(struct thole_call *call, const char *message, struct thole_error *err)
{
	static const struct th_api_verdict trip = { TH_ASK_GUARDRAIL, "tripped",
						    "only a guardrail trips" };

	return th_api_answer_verdict(call, &trip, true, message, err);
}

int thole_call_answer(struct thole_call *call, const char *json, struct thole_error *err)
{
	struct th_json_doc *doc = NULL;
	struct th_err e = { 0 };
	enum th_code bad;
	int code = check_ask(call, err);

	if (!code)
		code = th_api_text(json, "the answer", 1, TH_CALL_ANSWER_MAX, err);
	if (code)
		return code;
	bad = th_json_parse(th_str_of(json), &doc, &e);
	th_json_free(doc);
	return bad ? th_api_out(th_prefix(&e, bad, "the answer"), &e, err)
		   : answer_json(call, th_str_of(json), err);
}
