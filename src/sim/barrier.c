/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/barrier.h"

#include <stdio.h>

#include "base/limits.h"

#define KEY_MAX 512

void th_sim_barrier_init(struct th_sim_barrier *b)
{
	*b = (struct th_sim_barrier){ 0 };
	th_buf_init(&b->input, TH_MIB);
	th_buf_init(&b->answer, TH_MIB);
	th_buf_init(&b->late, TH_MIB);
}

void th_sim_barrier_deinit(struct th_sim_barrier *b)
{
	th_buf_deinit(&b->input);
	th_buf_deinit(&b->answer);
	th_buf_deinit(&b->late);
}

static void key_of(struct th_str stage, struct th_str name, struct th_str call_id, uint64_t about,
		   struct th_buf *out)
{
	th_buf_printf(out, "\n%.*s %.*s %.*s %llu\n", TH_FMT(stage), TH_FMT(name), TH_FMT(call_id),
		      (unsigned long long)about);
}

static bool is_input(struct th_str stage)
{
	return th_str_is(stage, "input");
}

bool th_sim_barrier_said(const struct th_sim_barrier *b, struct th_str stage, struct th_str name,
			 struct th_str call_id, uint64_t about)
{
	const struct th_buf *in = is_input(stage) ? &b->input : &b->answer;
	struct th_buf key = TH_BUF_INIT(KEY_MAX);
	bool said;

	key_of(stage, name, call_id, is_input(stage) ? about : 0, &key);
	said = th_str_find(th_buf_str(in), th_buf_str(&key)) >= 0;
	th_buf_deinit(&key);
	return said;
}

static const char *on_guardrail(struct th_sim_barrier *b, uint64_t about,
				const struct th_json *data)
{
	struct th_str stage = th_json_get_str(data, "stage"), name = th_json_get_str(data, "name");
	struct th_str call_id = th_json_get_str(data, "call_id");

	if (th_sim_barrier_said(b, stage, name, call_id, about))
		return "a guardrail has two verdicts about the same";
	key_of(stage, name, call_id, is_input(stage) ? about : 0,
	       is_input(stage) ? &b->input : &b->answer);
	b->tripped |= th_json_bool(th_json_get(data, "tripped"), false);
	return NULL;
}

static void on_asked(struct th_sim_barrier *b, const struct th_json *data)
{
	struct th_str call_id = th_json_get_str(data, "call_id");
	size_t at = b->wait_count++ % TH_SIM_WAITS_MAX;

	b->asked++;
	snprintf(b->waits[at].call_id, sizeof(b->waits[at].call_id), "%.*s", TH_FMT(call_id));
	b->waits[at].expires_ms = th_json_get_int(data, "expires_ms", 0);
}

static const char *on_decided(struct th_sim_barrier *b, const struct th_event *ev,
			      const struct th_json *data)
{
	struct th_str call_id = th_json_get_str(data, "call_id");
	bool expired = th_json_bool(th_json_get(data, "expired"), false);
	int64_t expires_ms = 0;

	if (b->asked > 0)
		b->asked--;
	for (size_t i = 0; i < TH_MIN(b->wait_count, (size_t)TH_SIM_WAITS_MAX); i++)
		if (th_str_is(call_id, b->waits[i].call_id))
			expires_ms = b->waits[i].expires_ms;
	if (expired)
		key_of(TH_STR("late"), TH_STR(""), call_id, 0, &b->late);
	if (expired && (!expires_ms || ev->ts_ms < expires_ms))
		return "a question is over before its time";
	if (!expired && expires_ms && ev->ts_ms >= expires_ms)
		return "a person decides about a call whose time was over";
	return NULL;
}

static bool is_late(const struct th_sim_barrier *b, struct th_str call_id)
{
	struct th_buf key = TH_BUF_INIT(KEY_MAX);
	bool late;

	key_of(TH_STR("late"), TH_STR(""), call_id, 0, &key);
	late = th_str_find(th_buf_str(&b->late), th_buf_str(&key)) >= 0;
	th_buf_deinit(&key);
	return late;
}

/* All guardrails of that stage that look at the tool have spoken. */
static bool all_said(const struct th_sim_barrier *b, const struct th_member *m,
		     enum th_guard_stage stage, struct th_str tool, struct th_str call_id)
{
	for (size_t i = 0; i < m->guard_count; i++) {
		const struct th_guardrail *g = &m->guards[i];
		bool looks = g->tools.count == 0;

		for (size_t j = 0; j < g->tools.count; j++)
			looks |= th_str_eq(g->tools.list[j], tool);
		if (g->stage == stage && looks &&
		    !th_sim_barrier_said(b, th_str_of(th_guard_stage_name(stage)), g->name, call_id,
					 0))
			return false;
	}
	return true;
}

/* The same of input, or of those alone that a request waits for. */
static bool input_said(const struct th_sim_barrier *b, const struct th_member *m, bool blocking,
		       uint64_t about)
{
	for (size_t i = 0; i < m->guard_count; i++)
		if (m->guards[i].stage == TH_GUARD_INPUT &&
		    (!blocking || (m->guard_blocking & (UINT32_C(1) << i))) &&
		    !th_sim_barrier_said(b, TH_STR("input"), m->guards[i].name, TH_STR(""), about))
			return false;
	return true;
}

static const char *on_requested(struct th_sim_barrier *b, const struct th_session *fold,
				const struct th_event *ev)
{
	const struct th_team *team = fold->team;

	if (fold->asked_seq != ev->seq) /* an answer is fetched that was asked for before */
		return NULL;
	if (b->said > b->read && b->said > b->task_seq) {
		b->added = b->said;
		b->added_to = fold->agent;
	}
	b->read = b->said;
	if (!input_said(b, &team->members[fold->task_agent], true, b->task_seq) ||
	    (b->added && !input_said(b, &team->members[b->added_to], true, b->added)))
		return "a model is asked before the guardrails that block have spoken";
	return NULL;
}

static const char *on_intent(const struct th_sim_barrier *b, const struct th_session *fold,
			     const struct th_json *data)
{
	int class = th_class_find(th_json_get_str(data, "class"));
	struct th_str tool = th_json_get_str(data, "tool");
	struct th_str call_id = th_json_get_str(data, "call_id");
	const struct th_team *team = fold->team;

	if (is_late(b, call_id))
		return "a call is intended that nobody approved in time";
	if (class == TH_CLASS_L || class == TH_CLASS_R)
		return NULL; /* these may start early */
	if (b->tripped)
		return "an effect is intended after a guardrail has stopped the run";
	if (b->asked > 0)
		return "an effect is intended while a person is asked about its answer";
	if (!input_said(b, &team->members[fold->task_agent], false, b->task_seq))
		return "an effect is intended before the guardrails of the task have spoken";
	if (b->added && !input_said(b, &team->members[b->added_to], false, b->added))
		return "an effect is intended before the guardrails of what was said have spoken";
	if (!all_said(b, &team->members[fold->agent], TH_GUARD_TOOL_INPUT, tool, call_id))
		return "an effect is intended before the guardrails of its call have spoken";
	return NULL;
}

/* A task that begins is looked at anew; so is one that goes on after it was stopped. */
static void begin_anew(struct th_sim_barrier *b, const struct th_session *fold,
		       const struct th_event *ev, const struct th_json *data)
{
	bool goes_on = ev->kind == TH_EV_STATE_CHANGED &&
		       th_str_is(th_json_get_str(data, "to"), "running") && b->tripped;

	if (fold->task_seq == b->task_seq && !goes_on)
		return;
	b->task_seq = b->read = fold->task_seq;
	b->added = 0;
	b->tripped = false;
	th_buf_clear(&b->input);
}

const char *th_sim_barrier_event(struct th_sim_barrier *b, const struct th_session *fold,
				 const struct th_event *ev, const struct th_json *data)
{
	begin_anew(b, fold, ev, data);
	if (ev->kind == TH_EV_MESSAGE && ev->source == TH_SOURCE_USER)
		b->said = ev->seq;
	if (ev->kind == TH_EV_MODEL_REQUESTED)
		return on_requested(b, fold, ev);
	if (ev->kind == TH_EV_MODEL_ANSWERED) {
		th_buf_clear(&b->answer);
		th_buf_clear(&b->late);
		b->asked = 0;
		b->wait_count = 0;
	}
	if (ev->kind == TH_EV_APPROVAL_REQUESTED)
		on_asked(b, data);
	if (ev->kind == TH_EV_APPROVAL_DECIDED)
		return on_decided(b, ev, data);
	if (ev->kind == TH_EV_GUARDRAIL)
		return on_guardrail(b, ev->cause, data);
	if (ev->kind == TH_EV_INTENT)
		return on_intent(b, fold, data);
	return NULL;
}
