/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_server.c - the fold of what a call's server (MCP) asks in the middle of it: a
 * person's word or a model's answer, with which an intent goes on; and of the task as which
 * it does the call.
 */
#include "core/session.h"

#include "core/session_internal.h"
#include "core/unknown.h"

bool th_call_is_halfway(const struct th_call *c)
{
	return c->form.len && c->phase < TH_CALL_INTENDED;
}

/* The effect is over without an outcome: the call waits as one does that nobody has approved, and
 * what the person says goes on with it. */
enum th_code th_on_question(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_question d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_INTENDED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c || !th_str_eq(d.effect_id, c->effect_id))
		return th_step_no_call(st);
	if (!c->form.len)
		c->own_arguments = c->arguments;
	c->form = th_arena_str(&s->turn, d.form);
	c->arguments = th_arena_str(&s->turn, d.arguments);
	c->question = true;
	c->approved = false;
	c->sample = th_json_raw_get(d.form, "samples").len > 0;
	c->samples += c->sample;
	c->sampled = TH_STR("");
	c->sample_over = false;
	c->reason = c->sample ? TH_STR("its server asks for an answer of the model")
			      : TH_STR("its server asks a question");
	c->told = TH_STR("\"" TH_UNKNOWN_SENTENCE "\""); /* should the run be stopped meanwhile */
	c->evidence = c->observation = TH_STR("");
	th_call_phase_set(c, TH_CALL_RECORDED);
	return TH_OK;
}

enum th_code th_on_sampled(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_ev_sampled d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_CLEARED | 1u << TH_CALL_SETTLED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	th_step_side(s, TH_SIDE_SAMPLER, th_json_get(st->data, "usage"));
	if (!c)
		return th_step_no_call(st);
	/* Stopped meanwhile: it is paid for. */
	if (c->phase != TH_CALL_CLEARED || !c->sample || c->sample_over)
		return TH_OK;
	c->sampled = th_arena_str(&s->turn, d.answer);
	c->sample_over = true;
	th_call_phase_set(c, TH_CALL_CLEARED); /* it is given out again */
	if (d.failed.len)
		c->reason = th_arena_str(&s->turn, d.failed);
	return TH_OK;
}

enum th_code th_on_server_task(struct th_step *st)
{
	struct th_ev_server_task d;
	struct th_call *c = th_step_call(st, 1u << TH_CALL_INTENDED);
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c || !th_str_eq(d.effect_id, c->effect_id))
		return th_step_no_call(st);
	if (d.task.len > TH_MCP_TASK_MAX)
		return th_fail(st->err, TH_EPROTO, "the name of the server's task is too long");
	c->task = th_arena_str(&st->s->turn, d.task);
	return TH_OK;
}
