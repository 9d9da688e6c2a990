/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/barrier.h"
#include "sim/check_internal.h"

struct th_sim_check *th_sim_check_new(struct th_sim_disk *disk, struct th_sim_counts *counts)
{
	struct th_sim_check *c = th_alloc(sizeof(*c));

	c->disk = disk;
	c->counts = counts;
	return c;
}

struct th_sim_check *th_sim_check_free(struct th_sim_check *c)
{
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++) {
		free(c->sessions[i].id);
		if (!c->sessions[i].there)
			continue;
		th_session_deinit(&c->sessions[i].fold);
		th_sim_barrier_deinit(&c->sessions[i].barrier);
	}
	free(c->effects);
	free(c);
	return NULL;
}

const char *th_sim_check_failure(const struct th_sim_check *c)
{
	return c->failure[0] ? c->failure : NULL;
}

void th_sim_check_blame(struct th_sim_check *c, const char *fmt, ...)
{
	va_list ap;

	if (c->failure[0])
		return;
	va_start(ap, fmt);
	vsnprintf(c->failure, sizeof(c->failure), fmt, ap);
	va_end(ap);
}

/* ---- effects ---- */

static struct effect *effect_find(const struct th_sim_check *c, struct th_str id)
{
	id = th_str_sub(id, 0, EFFECT_ID_SIZE);
	for (size_t i = c->effect_count; i-- > 0;)
		if (th_str_is(id, c->effects[i].id))
			return &c->effects[i];
	return NULL;
}

static struct effect *effect_need(struct th_sim_check *c, size_t number, struct th_str id)
{
	struct effect *e = effect_find(c, id);

	if (e)
		return e;
	if (c->effect_count == c->effect_cap) {
		c->effect_cap = c->effect_cap ? c->effect_cap * 2 : 32;
		c->effects = th_realloc(c->effects, c->effect_cap * sizeof(*c->effects));
	}
	e = &c->effects[c->effect_count++];
	*e = (struct effect){ .session = number, .outcome = -1 };
	memcpy(e->id, id.ptr, TH_MIN(id.len, (size_t)EFFECT_ID_SIZE));
	return e;
}

static bool once(enum th_class class)
{
	return class == TH_CLASS_W || class == TH_CLASS_X || class == TH_CLASS_V;
}

static void false_claim(struct th_sim_check *c, const struct effect *e, const char *but)
{
	c->counts->false_claims++;
	th_sim_check_blame(
	    c, "false claim: effect %.8s (class %s) of session %zu was said to be %s, %s", e->id,
	    th_class_name(e->class), e->session,
	    th_outcome_name((enum th_outcome_status)e->outcome), but);
}

void th_sim_check_act(struct th_sim_check *c, size_t number, struct th_str effect_id,
		      enum th_class class)
{
	struct effect *e = effect_need(c, number, effect_id);

	if (!e->intended)
		e->class = class;
	if (++e->acts == 1)
		c->counts->effects++;
	if (!e->durable)
		th_sim_check_blame(c,
				   "effect %.8s (class %s) of session %zu happened before its "
				   "intent was durable",
				   e->id, th_class_name(class), number);
	if (e->acts > 1 && once(e->class)) {
		c->counts->duplicated++;
		th_sim_check_blame(c, "effect %.8s (class %s) of session %zu happened %u times",
				   e->id, th_class_name(e->class), number, e->acts);
	}
	if (e->outcome == TH_OUTCOME_NOT_STARTED || e->outcome == TH_OUTCOME_REFUSED)
		false_claim(c, e, "and then it happened");
}

bool th_sim_check_acted(const struct th_sim_check *c, struct th_str effect_id)
{
	const struct effect *e = effect_find(c, effect_id);

	return e && e->acts > 0;
}

void th_sim_check_unresolved(struct th_sim_check *c, size_t number)
{
	for (size_t i = 0; i < c->effect_count; i++)
		if (c->effects[i].session == number && c->effects[i].outcome < 0)
			c->effects[i].unresolved = true;
}

/* ---- the log ---- */

struct reading {
	struct th_sim_check *check;
	size_t number;
};

void th_sim_check_taken(struct th_sim_check *c, size_t number)
{
	c->sessions[number].taken = true;
}

bool th_sim_check_is_taken(const struct th_sim_check *c, size_t number)
{
	return c->sessions[number].taken;
}

static void on_intent(struct th_sim_check *c, size_t number, const struct th_json *data)
{
	struct th_str id = th_json_get_str(data, "effect_id");
	struct effect *e = effect_need(c, number, id);
	int class = th_class_find(th_json_get_str(data, "class"));

	if (id.len != EFFECT_ID_SIZE || class < 0)
		th_sim_check_blame(c, "an intent of session %zu is not well formed", number);
	if (e->intended && e->session != number)
		th_sim_check_blame(c, "effect %.8s is intended by two sessions", e->id);
	if (e->intended && e->session == number)
		th_sim_check_blame(c, "effect %.8s is intended twice", e->id);
	e->intended = e->durable = true;
	/* Its journal is gone already: nobody can tell how far it comes. */
	e->unresolved |= !th_sim_journal_is(c->disk, number, th_json_get_str(data, "journal"));
	e->class = (enum th_class) class;
	e->asks = th_str_starts(th_json_get_str(data, "tool"), TH_STR("ask_"));
}

/* ---- sessions that work on calls ---- */

static void on_created(struct th_sim_check *c, size_t number, const struct th_json *data)
{
	const struct th_json *by = th_json_get(th_json_get(data, "metadata"), "delegated_by");
	struct effect *e = by ? effect_find(c, th_json_get_str(by, "effect_id")) : NULL;

	if (number < TH_SIM_TASKS_MAX)
		return;
	if (!e || !e->intended || !e->asks ||
	    !th_str_is(th_json_get_str(by, "session"), c->sessions[e->session].id)) {
		th_sim_check_blame(c, "session %s works on a call that nobody intended",
				   c->sessions[number].id);
		return;
	}
	if (e->child) {
		c->counts->duplicated++;
		th_sim_check_blame(c, "sessions %s and %s work on the same call",
				   c->sessions[e->child].id, c->sessions[number].id);
	}
	e->child = number;
	c->sessions[number].asked = e->session;
	if (e->outcome >= 0)
		false_claim(c, e, "and then a session began to work on it");
}

/* Its first event and this one are of one transaction. */
static void on_begun(struct th_sim_check *c, size_t number, const struct th_json *data)
{
	struct th_str id = th_json_get_str(data, "child");

	if (!th_sim_store_durable(c->disk, id))
		th_sim_check_blame(c, "session %zu says that %.*s was begun, which is not there",
				   number, TH_FMT(id));
}

static const struct shadow *shadow_find(const struct th_sim_check *c, struct th_str id)
{
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++)
		if (c->sessions[i].there && th_str_is(id, c->sessions[i].id))
			return &c->sessions[i];
	return NULL;
}

/* What the session that worked on a call took is counted once, and all of it. */
static void on_over(struct th_sim_check *c, size_t number, const struct th_json *data)
{
	const struct shadow *s = shadow_find(c, th_json_get_str(data, "child"));
	const struct th_totals *t = s ? &s->fold.totals : NULL;
	const struct th_json *usage = th_json_get(data, "usage");

	if (!s || !th_session_rests(&s->fold) ||
	    !th_str_is(th_json_get_str(data, "state"), th_state_name(s->fold.state)))
		th_sim_check_blame(c, "session %zu says that one is over, which is not", number);
	else if (th_json_get_int(usage, "input", 0) != t->tokens_in ||
		 th_json_get_int(usage, "output", 0) != t->tokens_out ||
		 th_json_get_int(data, "turns", 0) != t->turns ||
		 th_json_get_int(data, "tokens_held", 0) != t->tokens_held)
		th_sim_check_blame(c, "session %zu counts for %s what it did not take", number,
				   s->id);
}

static bool is_over(enum th_state s)
{
	return s == TH_STATE_FINISHED || s == TH_STATE_FAILED || s == TH_STATE_STOPPED ||
	       s == TH_STATE_STUCK || s == TH_STATE_LIMIT;
}

/* The outcome of a call that a session works on is what that ended with. */
static void check_answer(struct th_sim_check *c, const struct effect *e, const struct th_json *data)
{
	const struct shadow *s = e->child ? &c->sessions[e->child] : NULL;
	const struct th_session *f = s ? &s->fold : NULL;
	struct th_str told = th_json_get_str(data, "output");
	bool answered = f && f->state == TH_STATE_FINISHED && !f->final_refusal;

	switch ((enum th_outcome_status)e->outcome) {
	case TH_OUTCOME_DONE:
		if (!answered)
			false_claim(c, e, "but the session that works on it gave no answer");
		else if (f->final.len > 0 && !th_str_eq(told, th_buf_str(&f->final)))
			false_claim(c, e, "but the session that works on it said something else");
		break;
	case TH_OUTCOME_FAILED:
		if (!f || !is_over(f->state) || answered)
			false_claim(c, e, "but the session that works on it did not fail");
		break;
	case TH_OUTCOME_NOT_STARTED:
	case TH_OUTCOME_REFUSED:
		if (f)
			false_claim(c, e, "but a session works on it");
		break;
	case TH_OUTCOME_UNKNOWN:
		c->counts->unknown++;
		c->counts->unknown_happened += f && f->totals.calls > 0;
		if (!s || !s->taken)
			th_sim_check_blame(c,
					   "effect %.8s of session %zu is unknown, but nobody took "
					   "the session that works on it",
					   e->id, e->session);
		break;
	case TH_OUTCOME_COUNT:
	default:
		break;
	}
}

static bool hands_over(const struct th_session *fold, struct th_str call_id)
{
	for (size_t i = 0; i < fold->call_count; i++)
		if (th_str_eq(fold->calls[i].call_id, call_id) && fold->calls[i].handoff)
			return true;
	return false;
}

static void on_outcome(struct th_sim_check *c, size_t number, const struct th_json *data)
{
	struct th_str id = th_json_get_str(data, "effect_id");
	int status = th_outcome_find(th_json_get_str(data, "status"));
	struct effect *e = id.len > 0 ? effect_find(c, id) : NULL;

	if (id.len == 0) {
		if (status != TH_OUTCOME_REFUSED && status != TH_OUTCOME_NOT_STARTED &&
		    !hands_over(&c->sessions[number].fold, th_json_get_str(data, "call_id")))
			th_sim_check_blame(c, "an outcome %s without an effect",
					   th_outcome_name((enum th_outcome_status)status));
		return;
	}
	if (!e || !e->intended) {
		th_sim_check_blame(c, "an outcome of session %zu without its intent", number);
		return;
	}
	if (e->outcome >= 0)
		th_sim_check_blame(c, "effect %.8s has two outcomes", e->id);
	e->outcome = status;
	if (e->asks) {
		check_answer(c, e, data);
		return;
	}
	/* What a function of the runtime does leaves no trace outside. */
	if (status == TH_OUTCOME_DONE && e->acts == 0 && e->class != TH_CLASS_R &&
	    e->class != TH_CLASS_L)
		false_claim(c, e, "but it did not happen");
	if ((status == TH_OUTCOME_NOT_STARTED || status == TH_OUTCOME_REFUSED) && e->acts > 0)
		false_claim(c, e, "but it had happened");
	if (status == TH_OUTCOME_UNKNOWN) {
		c->counts->unknown++;
		c->counts->unknown_happened += e->acts > 0;
		if (!e->unresolved)
			th_sim_check_blame(c,
					   "effect %.8s (class %s) of session %zu is unknown, "
					   "but its executor never died",
					   e->id, th_class_name(e->class), number);
	}
}

/* A request that a crash cut off was no try: the next one is sent in its place. */
static void count_budget(struct th_sim_check *c, struct shadow *s, const struct th_event *ev,
			 const struct th_json *data, enum th_turn_phase before)
{
	const struct th_session *f = &s->fold;

	if (ev->kind == TH_EV_MODEL_ANSWERED) {
		s->task_turns++;
		if (s->task_turns > f->turns_max)
			th_sim_check_blame(c, "%lld turns of one task, the limit is %lld",
					   (long long)s->task_turns, (long long)f->turns_max);
	}
	if (ev->kind == TH_EV_MODEL_REQUESTED) {
		if (f->tokens_max && s->tokens >= f->tokens_max)
			th_sim_check_blame(c, "asked with %lld tokens used, the limit is %lld",
					   (long long)s->tokens, (long long)f->tokens_max);
		s->tries = f->totals.attempts == 1 ? 1 : s->tries + (before != TH_TURN_REQUESTED);
		if (s->tries > f->attempts_max)
			th_sim_check_blame(c, "try %lld of a turn, the limit is %lld",
					   (long long)s->tries, (long long)f->attempts_max);
	}
	if (ev->kind == TH_EV_MODEL_ANSWERED || ev->kind == TH_EV_MODEL_FAILED) {
		const struct th_json *u = th_json_get(data, "usage");

		s->tokens += th_json_get_int(u, "input", 0) + th_json_get_int(u, "output", 0);
	}
	if (ev->kind == TH_EV_DELEGATION_FINISHED) {
		const struct th_json *u = th_json_get(data, "usage");

		s->tokens += th_json_get_int(u, "input", 0) + th_json_get_int(u, "output", 0);
	}
	if (ev->kind == TH_EV_MODEL_FAILED && th_json_bool(th_json_get(data, "whole"), false))
		s->tries--;
	if (ev->kind == TH_EV_MODEL_FAILED && f->phase == TH_TURN_REST &&
	    th_session_next_model(f).len > 0)
		th_sim_check_blame(c, "a turn was given up with a model left to ask");
}

static enum th_code log_event(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			      struct th_err *err)
{
	struct reading *r = ctx;
	struct th_sim_check *c = r->check;
	struct shadow *s = &c->sessions[r->number];
	struct th_json_doc *doc = NULL;
	const struct th_json *data;
	struct th_effects fx;
	enum th_state before = s->fold.state;
	enum th_turn_phase phase = s->fold.phase;
	const char *wrong;
	enum th_code code;

	(void)digest;
	c->counts->events++;
	if (th_json_parse(ev->data, &doc, NULL))
		th_sim_check_blame(c, "event %llu is not JSON", (unsigned long long)ev->seq);
	data = th_json_root(doc);
	code = th_session_step(&s->fold, ev, &fx, err);
	if (code) {
		th_sim_check_blame(c, "the log of session %zu does not fold: %s", r->number,
				   err->msg);
		th_json_free(doc);
		return code;
	}
	wrong = th_sim_barrier_event(&s->barrier, &s->fold, ev, data);
	if (wrong)
		th_sim_check_blame(c, "event %llu of session %zu: %s", (unsigned long long)ev->seq,
				   r->number, wrong);
	/* Effects of a fork's prefix are the parent's. */
	if (ev->kind == TH_EV_INTENT && s->there)
		on_intent(c, r->number, data);
	if (ev->kind == TH_EV_OUTCOME && s->there)
		on_outcome(c, r->number, data);
	if (ev->kind == TH_EV_SESSION_CREATED && s->there)
		on_created(c, r->number, data);
	if (ev->kind == TH_EV_DELEGATION_STARTED && s->there)
		on_begun(c, r->number, data);
	if (ev->kind == TH_EV_DELEGATION_FINISHED && s->there)
		on_over(c, r->number, data);
	if ((ev->kind == TH_EV_STATE_CHANGED &&
	     th_str_is(th_json_get_str(data, "to"), "running")) ||
	    (ev->kind == TH_EV_MESSAGE && before != TH_STATE_RUNNING &&
	     before != TH_STATE_WAITING && !th_state_holds(before)))
		s->task_turns = 0;
	count_budget(c, s, ev, data, phase);
	th_json_free(doc);
	return TH_OK;
}

void th_sim_check_session(struct th_sim_check *c, size_t number, struct th_str id)
{
	struct shadow *s = &c->sessions[number];

	free(s->id);
	s->id = th_alloc(id.len + 1);
	memcpy(s->id, id.ptr, id.len);
}

static void shadow_begin(struct th_sim_check *c, size_t number)
{
	struct shadow *s = &c->sessions[number];
	struct reading r = { c, number };
	struct th_session_row row;
	struct th_err err = { 0 };

	th_session_init(&s->fold);
	th_sim_barrier_init(&s->barrier);
	s->task_turns = s->tokens = 0;
	/* The prefix first, while `there` is false: it was checked as the parent's. */
	if (!th_sim_store_get(c->disk, th_str_of(s->id), &row, &err) && row.parent_seq > 0)
		(void)!th_sim_store_read(c->disk, row.session_id, 1, row.parent_seq, log_event, &r,
					 &err);
	s->there = true;
}

void th_sim_check_log(struct th_sim_check *c, size_t number)
{
	struct shadow *s = &c->sessions[number];
	struct reading r = { c, number };
	struct th_session_row row;
	struct th_err err = { 0 };
	uint64_t durable;

	if (!s->id || th_sim_store_get(c->disk, th_str_of(s->id), &row, &err)) {
		if (s->there) {
			c->counts->lost++;
			th_sim_check_blame(c, "session %zu is lost", number);
		}
		return;
	}
	if (!s->there)
		shadow_begin(c, number);
	durable = th_sim_store_durable(c->disk, row.session_id);
	if (durable < s->fold.seq) {
		c->counts->lost += s->fold.seq - durable;
		th_sim_check_blame(c, "session %zu had %llu durable events and has %llu", number,
				   (unsigned long long)s->fold.seq, (unsigned long long)durable);
		return;
	}
	if (durable > s->fold.seq)
		(void)!th_sim_store_read(c->disk, row.session_id, s->fold.seq + 1, durable,
					 log_event, &r, &err);
	if (s->fold.seq > EVENTS_MAX)
		th_sim_check_blame(c, "session %zu has %llu events", number,
				   (unsigned long long)s->fold.seq);
	if (s->fold.turn.used + s->fold.memory.used > FOLD_MEMORY_MAX)
		th_sim_check_blame(c, "the fold of session %zu takes %zu bytes", number,
				   s->fold.turn.used + s->fold.memory.used);
}

void th_sim_check_live(struct th_sim_check *c, size_t number, const struct th_session *live)
{
	struct shadow *s = &c->sessions[number];
	struct th_err err = { 0 };

	if (!s->there || live->seq != s->fold.seq) {
		c->counts->diverged++;
		th_sim_check_blame(c, "session %zu: the runtime is at event %llu, the log at %llu",
				   number, (unsigned long long)live->seq,
				   (unsigned long long)s->fold.seq);
	} else if (!th_session_equal(live, &s->fold, &err)) {
		c->counts->diverged++;
		th_sim_check_blame(c, "session %zu: runtime and log differ: %s", number, err.msg);
	}
}

void th_sim_check_append(struct th_sim_check *c, size_t number, int64_t epoch, int64_t current)
{
	if (epoch != current)
		th_sim_check_blame(c, "session %zu: a runtime of epoch %lld appended under %lld",
				   number, (long long)epoch, (long long)current);
}

/* ---- the end ---- */

/* Somebody took it, or one that it works for: nobody is there who would go on with it. */
static bool is_left(const struct th_sim_check *c, size_t number)
{
	while (number >= TH_SIM_TASKS_MAX && !c->sessions[number].taken)
		number = c->sessions[number].asked;
	return number >= TH_SIM_TASKS_MAX;
}

void th_sim_check_end(struct th_sim_check *c)
{
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++) {
		const struct th_session *f = &c->sessions[i].fold;

		if (!c->sessions[i].there || is_left(c, i))
			continue;
		if (!th_session_rests(f))
			th_sim_check_blame(c, "session %zu neither ends nor waits: %s, %zu calls",
					   i, th_state_name(f->state), f->call_count);
		for (size_t j = 0; j < f->call_count; j++)
			if (f->state == TH_STATE_WAITING && f->calls[j].phase == TH_CALL_ASKED &&
			    f->calls[j].expires_ms)
				th_sim_check_blame(c, "session %zu: call %.*s waits for ever", i,
						   TH_FMT(f->calls[j].call_id));
		for (size_t j = 0; j < f->call_count; j++)
			/* What waits for a person, in another session, is no loss. */
			if (f->calls[j].phase == TH_CALL_INTENDED &&
			    !(f->state == TH_STATE_WAITING &&
			      f->calls[j].child == TH_CALL_CHILD_WAITS)) {
				c->counts->lost++;
				th_sim_check_blame(c, "session %zu: call %.*s never got its result",
						   i, TH_FMT(f->calls[j].call_id));
			}
	}
}
