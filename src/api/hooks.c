/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.c - functions of the program that watch an agent, and those that decide in a person's
 * place.
 */
#include <stdio.h>

#include "api/api.h"
#include "base/text.h"

#define X(id, name)                                               \
	_Static_assert((int)THOLE_HOOK_##id == (int)TH_HOOK_##id, \
		       "one list of hooks: thole.h and agents/agent.h");
TH_HOOKS(X)
#undef X

/* ---- hooks ------------------------------------------------------------------------------------
 */

static void set_hook(struct th_agent_hooks *h, enum th_hook hook, struct th_str function)
{
	switch (hook) {
#define X(id, name)                 \
	case TH_HOOK_##id:          \
		h->name = function; \
		break;
		TH_HOOKS(X)
#undef X
	case TH_HOOK_COUNT:
		break;
	}
}

int thole_agent_hook(struct thole_agent *agent, enum thole_hook hook, bool team, thole_note_fn *fn,
		     void *ctx, struct thole_error *err)
{
	const char *owner = team ? "on_team" : "on";
	struct th_agent_hooks **at, *hooks;
	char name[TH_TOOL_NAME_MAX];
	int code = th_api_check_agent(agent, err);

	if (!code && (unsigned)hook >= TH_HOOK_COUNT)
		code = th_api_fail(err, TH_EUSAGE, "there is no hook %d", (int)hook);
	if (!code && !fn)
		code = th_api_fail(err, TH_EUSAGE, "the function that watches is NULL");
	if (code)
		return code;
	at = team ? &agent->def.run_hooks : &agent->def.hooks;
	if (th_agent_hook(*at, (enum th_hook)hook).len)
		return th_api_fail(err, TH_EEXIST, "the agent has a function that watches %s",
				   th_hook_name((enum th_hook)hook));
	hooks = TH_NEW(&agent->memory, struct th_agent_hooks);
	if (!hooks)
		return th_api_fail(err, TH_ELIMIT, "the agent's definition is too large");
	(void)snprintf(name, sizeof(name), "%s_%s", owner, th_hook_name((enum th_hook)hook));
	code = th_api_function_add(agent, name, NULL, fn, ctx, err);
	if (code)
		return code;
	if (*at)
		*hooks = **at;
	set_hook(hooks, (enum th_hook)hook, agent->functions[agent->function_count - 1].name);
	*at = hooks;
	return TH_OK;
}

void th_api_hook_tell(struct thole_session *s, const struct th_api_function *f,
		      const struct th_code_ask *ask)
{
	struct th_str none = { 0 }, id = ask->told.call_id;
	struct thole_note *n;

	n = th_api_tell(s, THOLE_NOTE_HOOK, th_str_of(th_hook_name(ask->told.hook)),
			ask->told.agent, ask->input, id.len ? id : none, ask->told.seq, NULL);
	n->hook = f;
}

void th_api_hook_note(const struct thole_note *n)
{
	if (!n->session->freed)
		n->hook->hook(n->hook->ctx, n->session, n);
}

/* ---- decisions --------------------------------------------------------------------------------
 */

int thole_agent_approvals(struct thole_agent *agent, thole_tool_fn *fn, void *ctx,
			  struct thole_error *err)
{
	int code = thole_agent_function(agent, "approvals", fn, ctx, err);

	if (!code)
		agent->def.decide_from = TH_STR("approvals");
	return code;
}

static const struct th_api_verdict decision = { TH_ASK_DECISION, "approve",
						"nothing waits here for an approval" };

int thole_call_approve(struct thole_call *call, struct thole_error *err)
{
	return th_api_answer_verdict(call, &decision, true, NULL, err);
}

int thole_call_reject(struct thole_call *call, const char *message, struct thole_error *err)
{
	return th_api_answer_verdict(call, &decision, false, message, err);
}
