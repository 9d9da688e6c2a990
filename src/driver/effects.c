/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effects.c - what a step asks for.  One table says of each effect whether it
 * happens at once or waits until its event, or the whole log, is durable.
 */
#include "driver/effects.h"

#include <stdlib.h>

#include "base/text.h"
#include "driver/calls.h"
#include "driver/decision.h"
#include "driver/delegate.h"
#include "driver/delegate_background.h"
#include "driver/host.h"
#include "driver/model.h"
#include "driver/person.h"
#include "driver/unknown.h"
#include "guards/guardrail.h"
#include "guards/program.h"
#include "live/log.h"
#include "live/queue.h"
#include "side_models/judge.h"
#include "turns/agent_code.h"
#include "turns/team.h"

static void write_final(struct th_live *l)
{
	const struct th_session *s = &l->fold;
	struct th_ev_final d = {
		.output = th_buf_str(&s->final),
		.status = s->final_refusal ? TH_STR("refused") : TH_STR("finished"),
	};

	if (s->instead >= 0) {
		d.instead_of = th_str_of(th_instead_name((enum th_instead)s->instead));
		d.in_history = th_session_member(s)->instead[s->instead].in_history;
	}
	th_live_write_event(l, TH_EV_FINAL, TH_SOURCE_AGENT, s->answer_seq, TH_STR(""), &d);
}

static void write_failure(struct th_live *l, const struct th_effect *fx)
{
	struct th_session *s = &l->fold;
	/* The final output may hold the reason; else the run's own reason does. */
	struct th_str why =
	    th_utf8_cut(th_buf_str(s->final_failure ? &s->final : &s->reason), TH_ERR_MSG_MAX);
	struct th_buf text;

	th_buf_init(&text, 4 * TH_KIB);
	if (fx->class) { /* whatever was said since, this is why */
		th_buf_add(&text, th_utf8_cut(th_buf_str(&s->trip), 4000));
	} else {
		th_buf_add_cstr(&text, fx->reason);
		if (why.len > 0) {
			th_buf_add_cstr(&text, ": ");
			th_buf_add(&text, why);
		}
	}
	th_live_fail(l, fx->class ? fx->class : "model", th_buf_str(&text));
	th_buf_deinit(&text);
}

/* Another may have been made, or the run held, since this one was. */
static bool request_stands(const struct th_live *l, const struct th_held *held,
			   const struct th_call *c)
{
	(void)c;
	if (l->fold.state != TH_STATE_RUNNING || l->fold.correct)
		return false;
	return l->fold.phase == TH_TURN_DUE ||
	       (held->call_seq && held->call_seq == th_live_request_again(l));
}

/* The event that must be durable before the effect happens; 0: none. */
static uint64_t after_request(const struct th_live *l, const struct th_call *c)
{
	(void)c;
	return l->fold.request_seq;
}

static uint64_t after_intent(const struct th_live *l, const struct th_call *c)
{
	(void)l;
	return c->intent_seq;
}

static uint64_t after_head(const struct th_live *l, const struct th_call *c)
{
	(void)c;
	return l->fold.seq;
}

/* Code that decides sees a call that is durable; a person is asked by an event. */
static uint64_t after_call_for_code(const struct th_live *l, const struct th_call *c)
{
	return l->session_config->agent->decide_from.len ? c->call_seq : 0;
}

/* Whether what was held is still wanted, now that its event is durable. */
static bool call_is_intended(const struct th_live *l, const struct th_held *h,
			     const struct th_call *c)
{
	(void)l;
	(void)h;
	return c && c->phase == TH_CALL_INTENDED;
}

static bool has_call(const struct th_live *l, const struct th_held *h, const struct th_call *c)
{
	(void)l;
	(void)h;
	return c;
}

/* A later request may have taken its place. */
static bool is_newest_request(const struct th_live *l, const struct th_held *h,
			      const struct th_call *c)
{
	(void)c;
	return (h->call_seq ?: h->seq) == l->fold.request_seq;
}

static bool rests(const struct th_live *l, const struct th_held *h, const struct th_call *c)
{
	(void)h;
	(void)c;
	return th_session_rests(&l->fold);
}

/* Whether everything that was written since must be durable as well. */
static bool after_whole_log(const struct th_live *l)
{
	(void)l;
	return true;
}

/* A request without a history is made of the whole log. */
static bool after_log_without_history(const struct th_live *l)
{
	return l->history_due;
}

static void do_record(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_record(l, c);
}

static void do_ask(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	if (h->seq)
		th_live_decision(l, c);
	else
		th_live_ask_person(l, c);
}

static void do_refuse(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_refuse(l, c);
}

static void do_intend(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_intend(l, c);
}

static void do_conclude(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_conclude(l, c);
}

/* It rests at a limit of those that it works for. */
static bool shared_limit(struct th_live *l)
{
	const char *limit = th_live_shared_limit(l, th_session_reservation(&l->fold));
	struct th_err err;

	if (limit && th_live_state(l, TH_STATE_LIMIT, th_str_of(limit), &err))
		th_live_lose(l, &err);
	return limit != NULL;
}

static void do_request(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)c;
	/* A verdict that was written since may have stopped the run. */
	if ((h->seq || !l->fold.tripped) && !shared_limit(l))
		th_live_request(l);
}

static void do_finish(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	write_final(l);
}

static void do_fail(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)c;
	write_failure(l, &h->effect);
}

static void do_limit(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	struct th_err err;

	(void)c;
	if (th_live_state(l, TH_STATE_LIMIT, th_str_of(h->effect.reason), &err))
		th_live_lose(l, &err);
}

/* "the agent repeats itself: …", and which rule says so. */
static void print_stuck(const struct th_live *l, const char *begin, struct th_buf *out)
{
	struct th_stuck_finding f;

	if (!th_session_stuck(&l->fold, &f) && !th_session_stuck_hint(&l->fold, &f))
		return; /* never: the effect is due because it is */
	th_buf_printf(out, "%s: ", begin);
	th_stuck_print(&f, out);
}

static void rest_stuck(struct th_live *l, enum th_state to)
{
	struct th_buf why TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ERR_MSG_MAX);
	struct th_err err;

	print_stuck(l, "the agent repeats itself", &why);
	if (th_live_state(l, to, th_buf_str(&why), &err))
		th_live_lose(l, &err);
}

static void do_stuck(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	rest_stuck(l, TH_STATE_STUCK);
}

static void do_stuck_ask(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	rest_stuck(l, TH_STATE_PAUSED);
}

static void do_stuck_tell(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);
	struct th_err err;

	(void)h;
	(void)c;
	print_stuck(l, "You repeat yourself", &text);
	th_buf_add(&text, TH_STR(". It will not end otherwise this time. Do something else, or say "
				 "what keeps you from the task."));
	if (th_live_append_message(l, TH_SOURCE_ENVIRONMENT, l->fold.seq, th_buf_str(&text), &err))
		th_live_lose(l, &err);
}

static void do_model_call(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	th_live_model_call(l);
}

static void do_notify(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	if (th_live_programs_end(l))
		return;
	if (l->observer.rest)
		l->observer.rest(l->observer.ctx, th_live_handle(l), &l->fold, NULL);
}

static void do_tool_run(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_tool_run(l, c, false);
}

static void do_correct(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	if (l->fold.judge && l->fold.judge->tells)
		th_live_judge_correct(l);
	else
		th_live_correct(l);
}

static void do_guard(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)c;
	th_live_guard(l, h);
}

static void do_hook(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	th_live_programs_start(l);
}

static void do_hand_over(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_hand_over(l, c);
}

static void do_tool_use(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	th_live_tool_use(l);
}

static bool answer_is_checked(const struct th_live *l, const struct th_held *h,
			      const struct th_call *c)
{
	(void)h;
	(void)c;
	return l->fold.state == TH_STATE_RUNNING && l->fold.phase == TH_TURN_CHECK;
}

static void do_judge(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	th_live_judge(l);
}

static void do_model_cancel(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	th_live_model_cancel(l, true);
}

static void do_tool_settle(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_tool_run(l, c, true);
}

static void do_tool_cancel(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_tool_cancel(l, c);
}

static void do_background(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	th_live_background_tasks(l);
}

static void do_host(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	th_live_host_said(l, c);
}

static void do_timer_set(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	struct th_driver *d = l->driver;

	(void)c;
	d->world.ops->timer(d->world.ctx, th_live_ticket(l, l->fold.seq), h->effect.retry_in_ms);
}

static uint64_t after_input(const struct th_live *l, const struct th_call *c)
{
	(void)c;
	return th_session_control(&l->fold)->input_seq;
}

static bool input_is_open(const struct th_live *l, const struct th_held *h, const struct th_call *c)
{
	(void)c;
	return h->seq == th_session_control(&l->fold)->input_seq;
}

static void do_input(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	th_live_input_run(l, false);
}

static void do_input_settle(struct th_live *l, const struct th_held *h, struct th_call *c)
{
	(void)h;
	(void)c;
	th_live_input_run(l, true);
}

const struct th_effect_row th_effect_rows[TH_EFFECT_COUNT] = {
	[TH_DO_RECORD] = { .run = do_record },
	[TH_DO_ASK] = { .run = do_ask,
			.after = after_call_for_code,
			.of_call = true,
			.stands = has_call },
	[TH_DO_REFUSE] = { .run = do_refuse },
	[TH_DO_INTEND] = { .run = do_intend },
	[TH_DO_CONCLUDE] = { .run = do_conclude },
	/* Held only by th_live_defer_request. */
	[TH_DO_REQUEST] = { .run = do_request, .stands = request_stands },
	[TH_DO_FINISH] = { .run = do_finish },
	[TH_DO_FAIL] = { .run = do_fail },
	[TH_DO_LIMIT] = { .run = do_limit },
	[TH_DO_STUCK] = { .run = do_stuck },
	[TH_DO_STUCK_TELL] = { .run = do_stuck_tell },
	[TH_DO_STUCK_ASK] = { .run = do_stuck_ask },
	[TH_DO_MODEL_CALL] = { .run = do_model_call,
			       .after = after_request,
			       .stands = is_newest_request,
			       .whole = after_log_without_history },
	[TH_DO_NOTIFY] = { .run = do_notify,
			   .after = after_head,
			   .stands = rests,
			   .whole = after_whole_log },
	[TH_DO_TOOL_RUN] = { .run = do_tool_run,
			     .after = after_intent,
			     .of_call = true,
			     .stands = call_is_intended },
	[TH_DO_CORRECT] = { .run = do_correct },
	[TH_DO_GUARD] = { .run = do_guard, .after = after_head, .of_call = true },
	[TH_DO_HOOK] = { .run = do_hook, .after = after_head },
	[TH_DO_HAND_OVER] = { .run = do_hand_over,
			      .after = after_head,
			      .of_call = true,
			      .stands = has_call },
	[TH_DO_TOOL_USE] = { .run = do_tool_use, .after = after_head },
	[TH_DO_JUDGE] = { .run = do_judge,
			  .after = after_head,
			  .stands = answer_is_checked,
			  .whole = after_whole_log },
	[TH_DO_MODEL_CANCEL] = { .run = do_model_cancel },
	[TH_DO_TOOL_SETTLE] = { .run = do_tool_settle },
	[TH_DO_TOOL_CANCEL] = { .run = do_tool_cancel },
	[TH_DO_BACKGROUND] = { .run = do_background },
	[TH_DO_INPUT] = { .run = do_input, .after = after_input, .stands = input_is_open },
	[TH_DO_INPUT_SETTLE] = { .run = do_input_settle },
	[TH_DO_HOST] = { .run = do_host,
			 .after = after_head,
			 .of_call = true,
			 .stands = call_is_intended },
	[TH_DO_TIMER_SET] = { .run = do_timer_set },
};
