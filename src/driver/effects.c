/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effects.c - what a step asks for: events that the driver owes are
 * written at once, all else waits until its event is durable.
 */
#include <stdlib.h>

#include "base/text.h"
#include "driver/internal.h"

static void hold_as(struct th_live *l, const struct th_held *held)
{
	if (!th_list_room(&l->held, l->held_count, &l->held_cap, 1, sizeof(*l->held))) {
		th_live_no_memory(l);
		return;
	}
	l->held[l->held_count++] = *held;
}

void th_live_hold(struct th_live *l, enum th_effect_kind kind, uint64_t seq, uint64_t call_seq)
{
	hold_as(l, &(struct th_held){ .kind = kind, .seq = seq, .call_seq = call_seq });
}

void th_live_queue(struct th_live *l, const struct th_effects *fx)
{
	if (fx->count == 0)
		return;
	if (l->queue_at == l->queue_count)
		l->queue_at = l->queue_count = 0;
	if (!th_list_room(&l->queue, l->queue_count, &l->queue_cap, fx->count, sizeof(*l->queue))) {
		th_live_no_memory(l);
		return;
	}
	memcpy(l->queue + l->queue_count, fx->list, fx->count * sizeof(fx->list[0]));
	l->queue_count += fx->count;
}

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
	/* Who gave up has said why; else what stopped the run is known. */
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

enum th_code th_live_state(struct th_live *l, enum th_state to, struct th_str reason,
			   struct th_err *err)
{
	const struct th_ev_state_changed d = { .to = th_str_of(th_state_name(to)),
					       .reason = reason };

	return th_live_append_event(l, TH_EV_STATE_CHANGED,
				    to == TH_STATE_LIMIT ? TH_SOURCE_ENVIRONMENT
							 : TH_SOURCE_OPERATOR,
				    0, TH_STR(""), &d, err);
}

static struct th_call *call_by_seq(struct th_live *l, uint64_t call_seq)
{
	for (size_t i = 0; i < l->fold.call_count; i++)
		if (l->fold.calls[i].call_seq == call_seq)
			return &l->fold.calls[i];
	return NULL;
}

/* The request that is made once more, because nobody waits for its answer; 0: a new one. */
static uint64_t request_again(const struct th_live *l)
{
	return l->fold.phase == TH_TURN_REQUESTED && !l->flight ? l->fold.request_seq : 0;
}

bool th_live_defer_request(struct th_live *l)
{
	for (size_t i = 0; i < l->held_count; i++)
		if (l->held[i].kind == TH_DO_REQUEST) {
			l->held[i].call_seq = request_again(l);
			return true;
		}
	th_live_hold(l, TH_DO_REQUEST, l->fold.seq, request_again(l));
	th_live_dirty(l);
	return true;
}

/* Another may have been made, or the run held, since this one was. */
static bool request_stands(const struct th_live *l, const struct th_held *held)
{
	if (l->fold.state != TH_STATE_RUNNING || l->fold.correct)
		return false;
	return l->fold.phase == TH_TURN_DUE ||
	       (held->call_seq && held->call_seq == request_again(l));
}

void th_live_hold_hand_over(struct th_live *l, const struct th_call *c)
{
	th_live_hold(l, TH_DO_HAND_OVER, l->fold.seq, c->call_seq);
	th_live_dirty(l);
}

/* What it looks at is durable before it is asked. */
static void guard(struct th_live *l, const struct th_effect *fx, const struct th_call *c)
{
	struct th_held held = {
		.kind = TH_DO_GUARD, .seq = l->fold.seq, .stage = fx->stage, .guard = fx->guard
	};

	if (fx->stage == TH_GUARD_TOOL_INPUT || fx->stage == TH_GUARD_TOOL_OUTPUT)
		held.call_seq = c->call_seq;
	hold_as(l, &held);
	th_live_dirty(l);
}

static void perform(struct th_live *l, const struct th_effect *fx)
{
	struct th_driver *d = l->driver;
	struct th_session *s = &l->fold;
	struct th_call *c = fx->call < s->call_count ? &s->calls[fx->call] : NULL;
	struct th_err err;

	switch (fx->kind) {
	case TH_DO_RECORD:
		th_live_record(l, c);
		break;
	case TH_DO_ASK:
		if (l->session_config->agent->decide_from.len) {
			th_live_hold(l, fx->kind, c->call_seq, c->call_seq);
			th_live_dirty(l);
		} else {
			th_live_ask_person(l, c);
		}
		break;
	case TH_DO_REFUSE:
		th_live_refuse(l, c);
		break;
	case TH_DO_INTEND:
		th_live_intend(l, c);
		break;
	case TH_DO_CONCLUDE:
		th_live_conclude(l, c);
		break;
	case TH_DO_REQUEST:
		/* A verdict that was written since may have stopped the run. */
		if (!s->tripped)
			th_live_request(l);
		break;
	case TH_DO_FINISH:
		write_final(l);
		break;
	case TH_DO_FAIL:
		write_failure(l, fx);
		break;
	case TH_DO_LIMIT:
		if (th_live_state(l, TH_STATE_LIMIT, th_str_of(fx->reason), &err))
			th_live_lose(l, &err);
		break;
	case TH_DO_MODEL_CALL:
		th_live_hold(l, fx->kind, s->request_seq, 0);
		th_live_dirty(l);
		break;
	case TH_DO_NOTIFY:
		th_live_hold(l, fx->kind, s->seq, 0);
		th_live_dirty(l);
		break;
	case TH_DO_TOOL_RUN:
		th_live_hold(l, fx->kind, c->intent_seq, c->call_seq);
		th_live_dirty(l);
		break;
	case TH_DO_CORRECT:
		th_live_correct(l);
		break;
	case TH_DO_GUARD:
		guard(l, fx, c);
		break;
	case TH_DO_HAND_OVER:
		th_live_hold(l, fx->kind, s->seq, c->call_seq);
		th_live_dirty(l);
		break;
	case TH_DO_TOOL_USE:
		th_live_hold(l, fx->kind, s->seq, 0);
		th_live_dirty(l);
		break;
	case TH_DO_MODEL_CANCEL:
		th_live_model_cancel(l, true);
		break;
	case TH_DO_TOOL_SETTLE:
		th_live_tool_run(l, c, true);
		break;
	case TH_DO_TOOL_CANCEL:
		th_live_tool_cancel(l, c);
		break;
	case TH_DO_TIMER_SET:
		d->world.ops->timer(d->world.ctx, th_live_ticket(l, s->seq), fx->retry_in_ms);
		break;
	case TH_EFFECT_COUNT:
		assert(false && "no such effect");
	}
}

void th_live_pump(struct th_live *l)
{
	if (l->pumping)
		return;
	l->pumping = true;
	do {
		while (l->queue_at < l->queue_count && !l->lost) {
			struct th_effect fx = l->queue[l->queue_at++];

			perform(l, &fx);
		}
	} while (l->fold.state == TH_STATE_WAITING && th_live_expire(l));
	if (l->queue_at == l->queue_count) {
		free(l->queue);
		l->queue = NULL;
		l->queue_at = l->queue_count = l->queue_cap = 0;
	}
	l->pumping = false;
}

void th_live_release(struct th_driver *d, struct th_handle h)
{
	struct th_live *l = th_driver_find(d, h);
	size_t done = 0;

	while (l && !l->lost && done < l->held_count && l->held[done].seq <= l->durable_seq) {
		struct th_held held = l->held[done++];
		struct th_call *c = held.call_seq ? call_by_seq(l, held.call_seq) : NULL;

		/* Whether one like it is held is asked meanwhile: this one is not any more. */
		l->held[done - 1].kind = TH_EFFECT_COUNT;
		if (done == l->held_count)
			done = l->held_count = 0;
		/* A later request may have taken its place, and is not durable yet. */
		if (held.kind == TH_DO_MODEL_CALL && l->history_due &&
		    l->durable_seq < l->fold.seq) {
			/* It is made of the whole log; held again, it is still of its request. */
			th_live_hold(l, held.kind, l->fold.seq, held.call_seq ?: held.seq);
		} else if (held.kind == TH_DO_MODEL_CALL &&
			   (held.call_seq ?: held.seq) == l->fold.request_seq) {
			th_live_model_call(l);
		} else if (held.kind == TH_DO_REQUEST && request_stands(l, &held)) {
			th_live_request(l);
			l = th_driver_find(d, h);
		} else if (held.kind == TH_DO_TOOL_RUN && c && c->phase == TH_CALL_INTENDED) {
			th_live_tool_run(l, c, false);
		} else if (held.kind == TH_DO_GUARD) {
			th_live_guard(l, &held);
		} else if (held.kind == TH_DO_ASK && c) {
			th_live_decision(l, c);
		} else if (held.kind == TH_DO_HAND_OVER && c) {
			th_live_hand_over(l, c);
		} else if (held.kind == TH_DO_TOOL_USE) {
			th_live_tool_use(l);
		} else if (held.kind == TH_DO_NOTIFY && th_session_rests(&l->fold) &&
			   l->durable_seq < l->fold.seq) {
			th_live_hold(l, held.kind, l->fold.seq,
				     0); /* told when all of it is durable */
		} else if (held.kind == TH_DO_NOTIFY && th_session_rests(&l->fold) &&
			   l->observer.rest) {
			l->observer.rest(l->observer.ctx, h, &l->fold, NULL);
			l = th_driver_find(d, h);
		}
	}
	if (!l)
		return;
	if (done > 0 && l->held_count >= done) {
		memmove(l->held, l->held + done, (l->held_count - done) * sizeof(*l->held));
		l->held_count -= done;
	}
	th_live_pump(l);
}
