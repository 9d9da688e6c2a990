/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_control.c - a person in the agent's place: the computer is taken, what
 * the person does is written before it is done, and it is given back.
 *
 * While it is taken the session is paused if the agent was at work.  Inputs come
 * one after the other, and none before the calls under way are over.
 */
#include "core/session_internal.h"

const struct th_session_control *th_session_control(const struct th_session *s)
{
	static const struct th_session_control nobody;

	return s->control ?: &nobody;
}

void th_control_deinit(struct th_session *s)
{
	if (!s->control)
		return;
	th_buf_deinit(&s->control->by);
	th_buf_deinit(&s->control->input);
}

/* With the first person who takes over, or acts.  NULL: there was no memory. */
static struct th_session_control *control_of(struct th_session *s)
{
	if (s->control)
		return s->control;
	s->control = TH_NEW(&s->memory, struct th_session_control);
	if (!s->control)
		return NULL;
	th_buf_init_try(&s->control->by, TH_USER_MAX);
	th_buf_init_try(&s->control->input, TH_EVENT_DATA_MAX);
	return s->control;
}

bool th_session_at_rest(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase == TH_CALL_INTENDED)
			return false;
	return s->state != TH_STATE_RUNNING && s->state != TH_STATE_WAITING &&
	       s->state != TH_STATE_LOADING;
}

static enum th_code take(struct th_step *st, const struct th_ev_control *d)
{
	struct th_session *s = st->s;
	struct th_session_control *c;
	bool at_work = s->state == TH_STATE_RUNNING || s->state == TH_STATE_WAITING;
	enum th_code code = TH_OK;

	if (s->record)
		return th_fail(st->err, TH_EPROTO, "the session is only a record");
	c = control_of(s);
	if (!c)
		return th_fail_memory(st->err);
	if (at_work)
		code = th_step_state(st, TH_STATE_PAUSED);
	if (code)
		return code;
	if (at_work) {
		th_step_reason(s, TH_STR("a person has taken over"));
		if (s->phase == TH_TURN_BACKOFF) /* its timer does not ring again */
			th_step_phase(s, TH_TURN_DUE);
		th_step_cancel(st, false);
	}
	/* Of two, one after the other, the agent is told as of one. */
	c->from_run = at_work || (c->taken && c->from_run);
	if (!c->taken)
		c->inputs = c->doubts = 0;
	c->taken = true;
	th_buf_clear(&c->by);
	th_buf_add(&c->by, th_str_sub(d->by, 0, TH_USER_MAX));
	return TH_OK;
}

enum th_code th_on_control(struct th_step *st)
{
	struct th_session_control *c = st->s->control;
	struct th_ev_control d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (d.taken)
		return take(st, &d);
	if (!c || !c->taken)
		return th_fail(st->err, TH_EPROTO, "nobody has taken over");
	if (c->input_seq)
		return th_fail(st->err, TH_EPROTO, "an input is under way");
	c->taken = false;
	th_buf_clear(&c->by);
	return TH_OK;
}

enum th_code th_on_input(struct th_step *st)
{
	struct th_session *s = st->s;
	struct th_session_control *c;
	struct th_ev_input d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (th_session_control(s)->input_seq)
		return th_fail(st->err, TH_EPROTO, "an input is under way");
	if (!th_session_at_rest(s))
		return th_fail(st->err, TH_EPROTO, "the agent is at work");
	c = control_of(s);
	if (!c)
		return th_fail_memory(st->err);
	c->input_seq = st->ev->seq;
	c->inputs++;
	th_buf_clear(&c->input);
	th_buf_add(&c->input, st->ev->data);
	th_step_emit(st->out, (struct th_effect){ .kind = TH_DO_INPUT });
	return TH_OK;
}

enum th_code th_on_input_done(struct th_step *st)
{
	struct th_session_control *c = st->s->control;
	struct th_ev_input_done d;
	enum th_code code = th_step_parse(st, &d);

	if (code)
		return code;
	if (!c || !c->input_seq || st->ev->cause != c->input_seq)
		return th_fail(st->err, TH_EPROTO, "the end of an input that is not under way");
	if (th_outcome_find(d.status) < 0)
		return th_fail(st->err, TH_EPROTO, "an input with no such outcome");
	c->doubts += th_outcome_find(d.status) == TH_OUTCOME_UNKNOWN;
	c->input_seq = 0;
	th_buf_clear(&c->input);
	return TH_OK;
}

void th_control_print(const struct th_session *s, struct th_jw *w)
{
	const struct th_session_control *c = th_session_control(s);

	if (!c->taken && !c->input_seq)
		return;
	th_jw_key(w, TH_STR("control"));
	th_jw_object(w);
	th_jw_kbool(w, "taken", c->taken);
	th_jw_kstr(w, "by", th_buf_str(&c->by));
	th_jw_kbool(w, "from_run", c->from_run);
	th_jw_kint(w, "inputs", c->inputs);
	th_jw_kint(w, "doubts", c->doubts);
	if (c->input_seq)
		th_jw_kuint(w, "input", c->input_seq);
	th_jw_object_end(w);
}
