/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_code.c - what else the agent's code says: its instructions for a turn, and
 * whether a tool's result ends the run.
 */
#include "turns/agent_code.h"

#include "base/text.h"
#include "live/log.h"
#include "live/pending_callback.h"
#include "live/queue.h"
#include "turns/current_agent.h"

static th_callback_answered_fn instructions_answered, tool_use_answered;

bool th_live_instructions(struct th_live *l)
{
	struct th_str function = l->session_config->agent->instructions_from;
	struct th_pending_callback *a;
	struct th_buf input;
	struct th_jw w;

	/* Another try of a turn is asked with the same words. */
	if (!function.len || l->fold.totals.attempts > 0 ||
	    l->instructed_turn == l->fold.totals.turns + 1)
		return false;
	if (th_live_asks(l, TH_ASK_INSTRUCTIONS))
		return true;
	if (l->durable_seq < l->fold.seq)
		return th_live_defer_request(l); /* what led to it is durable before it is asked */
	a = th_callback_new(l, TH_ASK_INSTRUCTIONS, instructions_answered);
	a->member = l->fold.agent;
	a->asked_seq = l->fold.seq;
	th_buf_init(&input, TH_EVENT_DATA_MAX);
	th_callback_input(l, a->member, &input, &w);
	th_jw_kint(&w, "turn", l->fold.totals.task_turns + 1);
	th_jw_object_end(&w);
	th_callback_ask(l, a, function, th_buf_str(&input));
	th_buf_deinit(&input);
	return true; /* the answer makes the request */
}

static void instructions_answered(struct th_live *l, const struct th_pending_callback *a,
				  bool failed, struct th_str answer)
{
	struct th_session *s = &l->fold;
	struct th_buf text = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	(void)a;
	/* Paused or stopped meanwhile: resume asks again. */
	if (s->state != TH_STATE_RUNNING || s->phase != TH_TURN_DUE)
		return;
	if (failed || !th_json_unescape(answer, &text)) {
		th_buf_clear(&text);
		th_buf_printf(
		    &text, "the agent's instructions: %.*s",
		    TH_FMT(th_utf8_cut(failed ? answer : TH_STR("not a string"), TH_ERR_MSG_MAX)));
		th_live_fail(l, "code", th_buf_str(&text));
	} else {
		l->instructed_turn = s->totals.turns + 1;
		th_live_instruct(l, th_buf_str(&text), true);
		th_live_request_now(l);
	}
	th_buf_deinit(&text);
}

void th_live_tool_use(struct th_live *l)
{
	struct th_session *s = &l->fold;
	const struct th_member *m = th_session_member(s);
	struct th_pending_callback *a;
	struct th_buf input;
	struct th_jw w;

	/* Paused or stopped meanwhile: resume asks again. */
	if (s->state != TH_STATE_RUNNING || s->phase != TH_TURN_CALLS || s->use_answered ||
	    m->tool_use != TH_USE_CODE)
		return;
	a = th_callback_new(l, TH_ASK_TOOL_USE, tool_use_answered);
	a->member = s->agent;
	a->asked_seq = s->answer_seq;
	th_buf_init(&input, TH_EVENT_DATA_MAX);
	th_callback_input(l, a->member, &input, &w);
	th_jw_key(&w, TH_STR("results"));
	th_jw_array(&w);
	for (size_t i = 0; i < s->call_count; i++) {
		const struct th_call *c = &s->calls[i];

		th_jw_object(&w);
		th_jw_kstr(&w, "tool", c->tool);
		th_jw_kstr(&w, "call_id", c->call_id);
		th_jw_kstr(&w, "output", c->output);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_callback_ask(l, a, m->tool_use_fn, th_buf_str(&input));
	th_buf_deinit(&input);
}

static void tool_use_answered(struct th_live *l, const struct th_pending_callback *a, bool failed,
			      struct th_str answer)
{
	struct th_session *s = &l->fold;
	const struct th_member *m = &s->team->members[a->member];
	struct th_ev_code d = { .use = TH_STR("tool_use"),
				.name = m->tool_use_fn,
				.agent = m->name,
				.answer = answer };

	if (a->asked_seq != s->answer_seq || s->state != TH_STATE_RUNNING ||
	    s->phase != TH_TURN_CALLS || s->use_answered)
		return;
	if (failed) {
		th_live_fail(l, "code", answer);
		return;
	}
	th_live_write_event(l, TH_EV_CODE, TH_SOURCE_ENVIRONMENT, a->asked_seq, TH_STR(""), &d);
}
