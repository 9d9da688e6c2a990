/* SPDX-License-Identifier: Apache-2.0 */
/* people.c - people: they ask, decide, interrupt, and sometimes do nothing. */
#include <stdio.h>

#include "sim/internal.h"

struct looking {
	const struct th_sim_task *task;
	const struct th_call *call;
};

/* Of sessions that work on calls, and of what they were asked, any that is looked at at all. */
static void on_waiting(void *ctx, const struct th_call *c)
{
	struct looking *k = ctx;

	if (!k->call && c->phase == TH_CALL_ASKED &&
	    !(k->task->asks && th_str_is(c->call_id, k->task->ignored)))
		k->call = c;
}

static const struct th_call *call_asked(struct th_sim_runtime *r, size_t number)
{
	struct looking k = { &r->w->tasks[number], NULL };

	th_driver_waiting(r->d, r->sessions[number].handle, on_waiting, &k);
	return k.call;
}

bool th_sim_person_wants(struct th_sim_runtime *r, size_t number, const struct th_session *s)
{
	const struct th_sim_task *t = &r->w->tasks[number];
	const struct th_call *c = call_asked(r, number);

	switch (s->state) {
	case TH_STATE_IDLE:
		return true;
	case TH_STATE_WAITING:
		return t->meddling_left > 0 || (c && !th_str_is(c->call_id, t->ignored));
	case TH_STATE_RUNNING:
		return t->meddling_left > 0 || (c && t->asks);
	case TH_STATE_PAUSED:
	case TH_STATE_SCHEDULED:
		return true;
	case TH_STATE_STOPPED:
	case TH_STATE_FINISHED:
	case TH_STATE_FAILED:
	case TH_STATE_STUCK:
	case TH_STATE_LIMIT:
		return t->messages_left > 0;
	case TH_STATE_LOADING:
	case TH_STATE_COUNT:
		break;
	}
	return false;
}

/* A copy of what is so far, as a session of its own. */
static void fork_task(struct th_sim_world *w, size_t number)
{
	struct th_session_row row;
	size_t new = w->task_count;

	if (new == TH_SIM_TASKS_MAX ||
	    th_sim_store_get(w->disk, th_str_of(w->tasks[number].id), &row, NULL) ||
	    row.head_seq <= row.parent_seq)
		return;
	w->tasks[new].fork = w->tasks[new].wanted = true;
	w->tasks[new].parent = number;
	w->tasks[new].parent_seq =
	    row.parent_seq + 1 + th_sim_below(&w->random, row.head_seq - row.parent_seq);
	w->task_count++;
	th_sim_say(w, "session %zu is forked as %zu at event %llu", number, new,
		   (unsigned long long)w->tasks[new].parent_seq);
}

static void meddle(struct th_sim_runtime *r, size_t number, struct th_handle h)
{
	struct th_sim_world *w = r->w;
	struct th_sim_task *t = &w->tasks[number];
	struct th_err err;

	t->meddling_left--;
	switch (th_sim_below(&w->random, 5)) {
	case 0:
		(void)!th_driver_message(r->d, h, TH_STR("and one more thing"), &err);
		break;
	case 1:
		(void)!th_driver_set_state(r->d, h, TH_STATE_STOPPED, TH_STR("enough"), &err);
		break;
	case 2:
		fork_task(w, number);
		break;
	default:
		(void)!th_driver_set_state(r->d, h, TH_STATE_PAUSED, TH_STR("wait"), &err);
		break;
	}
}

static void decide(struct th_sim_runtime *r, size_t number, struct th_handle h,
		   const struct th_call *c)
{
	struct th_sim_world *w = r->w;
	struct th_sim_task *t = &w->tasks[number];
	struct th_buf name = TH_BUF_INIT(TH_KIB);
	bool always;
	struct th_err err;

	if (th_str_is(c->call_id, t->ignored))
		return;
	if (th_sim_chance(&w->random, w->ignore)) {
		snprintf(t->ignored, sizeof(t->ignored), "%.*s", TH_FMT(c->call_id));
		return;
	}
	always = t->asks && th_sim_chance(&w->random, 4);
	if (t->asks && th_sim_chance(&w->random, 2))
		(void)th_driver_waits(r->d, h, TH_CALL_ASKED, c->call_id, &name);
	else
		th_call_name(c, &name);
	(void)!th_driver_decide_as(r->d, h, th_buf_str(&name), !th_sim_chance(&w->random, 4),
				   always, TH_STR("someone"), TH_STR("no"), &err);
	th_buf_deinit(&name);
}

void th_sim_person(struct th_sim_runtime *r, size_t number)
{
	struct th_sim_world *w = r->w;
	struct th_sim_task *t = &w->tasks[number];
	struct th_handle h = r->sessions[number].handle;
	const struct th_session *s = th_driver_session(r->d, h);
	const struct th_call *c = call_asked(r, number);
	struct th_err err;

	th_sim_say(w, "a person looks at session %zu: %s", number, th_state_name(s->state));
	t->due_ms = w->now_ms + 1 + (int64_t)th_sim_below(&w->random, 2000);
	switch (s->state) {
	case TH_STATE_WAITING:
		if (c && !th_str_is(c->call_id, t->ignored) && !th_sim_chance(&w->random, 8))
			decide(r, number, h, c);
		else if (t->meddling_left > 0)
			meddle(r, number, h);
		break;
	case TH_STATE_RUNNING:
		if (t->asks && c && (!t->meddling_left || th_sim_chance(&w->random, 2)))
			decide(r, number, h, c);
		else
			meddle(r, number, h);
		break;
	case TH_STATE_SCHEDULED:
		if (!s->task_seq) {
			(void)!th_driver_message(r->d, h, TH_STR("do it later"), &err);
			break;
		}
		(void)!th_driver_set_state(
		    r->d, h, th_sim_chance(&w->random, 8) ? TH_STATE_STOPPED : TH_STATE_RUNNING,
		    TH_STR("now"), &err);
		break;
	case TH_STATE_PAUSED:
		if (!th_sim_chance(&w->random, 8))
			(void)!th_driver_resume(r->d, h, &err);
		else
			(void)!th_driver_set_state(r->d, h, TH_STATE_STOPPED, TH_STR("no"), &err);
		break;
	case TH_STATE_IDLE:
	case TH_STATE_STOPPED:
	case TH_STATE_FINISHED:
	case TH_STATE_FAILED:
	case TH_STATE_STUCK:
	case TH_STATE_LIMIT:
		if (s->state != TH_STATE_IDLE)
			t->messages_left--;
		if (th_sim_chance(&w->random, 6) && s->state != TH_STATE_IDLE &&
		    s->state != TH_STATE_FINISHED)
			(void)!th_driver_set_state(r->d, h, TH_STATE_RUNNING, TH_STR("go on"),
						   &err);
		else if (s->state == TH_STATE_IDLE && th_sim_chance(&w->random, 6))
			(void)!th_driver_set_state(r->d, h, TH_STATE_SCHEDULED, TH_STR("later"),
						   &err);
		else
			(void)!th_driver_message(r->d, h, TH_STR("do it"), &err);
		break;
	case TH_STATE_LOADING:
	case TH_STATE_COUNT:
		break;
	}
}
