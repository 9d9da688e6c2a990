/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - what must hold before a model is asked, and the event that says it is.
 */
#include "driver/model.h"
#include "driver/observation.h"
#include "history/history.h"
#include "live/log.h"
#include "session_tools/mcp_tools.h"
#include "turns/agent_code.h"
#include "turns/condense.h"
#include "turns/current_agent.h"
#include "turns/history_make.h"
#include "turns/log_ahead.h"
#include "turns/provider_state.h"
#include "turns/team.h"
#include "turns/transcript.h"

/* Another process asked, and what became of that nobody knows. */
static void request_lost(struct th_live *l)
{
	struct th_ev_model_failed ev = { .class = th_str_of(th_failure_name(TH_FAILURE_CUT)) };
	struct th_buf why = TH_BUF_INIT(4 * TH_KIB);

	th_live_provider_say(l, TH_STR("the answer was lost when the process ended"), &why);
	ev.message = th_buf_str(&why);
	th_live_write_event(l, TH_EV_MODEL_FAILED, TH_SOURCE_ENVIRONMENT, l->fold.request_seq,
			    TH_STR(""), &ev);
	th_buf_deinit(&why);
}

/* What is said while a request waits for something else is looked at before it is made; the last
 * word of those who look makes it due again.  One that another process made is given up for that.
 */
static bool request_looks_first(struct th_live *l)
{
	const struct th_session *s = &l->fold;

	if (s->phase == TH_TURN_REQUESTED && th_session_unseen(s)) {
		th_live_model_cancel(l, true);
		return true;
	}
	return th_session_request_waits(s);
}

static bool nothing_lost(struct th_live *l)
{
	if (!th_live_provider_lost(l))
		return true;
	request_lost(l);
	return false;
}

static bool input_checked(struct th_live *l)
{
	return !request_looks_first(l);
}

static bool history_read(struct th_live *l)
{
	struct th_err err = { 0 };

	if (!th_live_history_rewritten(l) && !th_live_history_here(l, TH_DO_REQUEST, 0))
		return false;
	if (!th_live_history(l, &err))
		return true;
	th_live_lose(l, &err);
	return false;
}

static bool screen_seen(struct th_live *l)
{
	return !th_live_first_observation(l);
}

static bool instructions_known(struct th_live *l)
{
	return !th_live_instructions(l);
}

static bool compacted(struct th_live *l)
{
	return !th_live_compact(l) && !th_live_condense(l);
}

static bool input_joined(struct th_live *l)
{
	return !th_live_join(l);
}

static bool history_filtered(struct th_live *l)
{
	return !th_live_filter(l);
}

/*
 * What a request needs, in this order: each may use what those before it made.
 * False: it began what makes it true, and the request is made when that is
 * over; or it ended the run.
 */
static bool (*const conditions[])(struct th_live *l) = {
	th_live_choose,         /* a model that may be asked now */
	nothing_lost,           /* no answer at the provider is lost with another process */
	input_checked,          /* the guardrails that go before the first request */
	history_read,           /* the log is in memory */
	screen_seen,            /* a model that cannot ask for a picture has one */
	instructions_known,     /* those that code writes */
	th_live_mcp_listed,     /* the tools of its servers */
	compacted,              /* the history at the provider fits */
	input_joined,           /* what the session's own input callback makes of it */
	history_filtered,       /* what the input filter leaves of it */
	th_live_provider_ready, /* the state at the provider can be continued */
};

static bool request_ready(struct th_live *l)
{
	for (size_t i = 0; i < TH_COUNT(conditions); i++)
		if (!conditions[i](l))
			return false;
	return true;
}

void th_live_request(struct th_live *l)
{
	const struct th_session *s = &l->fold;
	struct th_reservation reserved = th_session_reservation(s);
	struct th_ev_model_requested d = {
		.turn = s->totals.turns + 1,
		.attempt = s->totals.attempts + 1,
		.reserved_tokens = reserved.tokens,
		.reserved_cost_nano = reserved.cost_nano,
	};

	if (!request_ready(l))
		return;
	d.model = l->resolved->model;
	d.choice = (int64_t)l->model_at;
	th_live_provider_begin(l);
	*(l->options.conversation ? &d.conversation : &d.previous) = l->options.previous;
	if (l->history)
		d.items =
		    (int64_t)(l->tail ? th_history_tail(l->history) : th_history_items(l->history));
	if (s->team->count > 1)
		d.agent = th_session_member(s)->name;
	if (l->instructions_new)
		d.instructions = th_buf_str(&l->instructions);
	l->instructions_new = l->not_compacted = false;
	if (l->speaking->input_filter.len)
		d.history = th_buf_str(&l->filtered);
	th_live_write_event(l, TH_EV_MODEL_REQUESTED, TH_SOURCE_AGENT, s->seq, TH_STR(""), &d);
}
