/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime.c - runtimes that begin, work and are killed.  The world as their
 * drivers see it is in runtime_world.c.
 */
#include <stdlib.h>

#include "core/fork.h"
#include "sim/internal.h"

struct th_sim_runtime *th_sim_owner(struct th_sim_world *w)
{
	for (size_t i = 0; i < TH_SIM_RUNTIMES_MAX; i++)
		if (w->runtimes[i] && !w->runtimes[i]->stale)
			return w->runtimes[i];
	return NULL;
}

size_t th_sim_task_of(const struct th_sim_world *w, struct th_str id)
{
	for (size_t i = 0; i < th_sim_count(w); i++)
		if (th_str_is(id, w->tasks[i].id))
			return i;
	return TH_SIM_SESSIONS_MAX;
}

size_t th_sim_task_of_ticket(const struct th_sim_runtime *r, struct th_ticket t)
{
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++)
		if (r->sessions[i].place == OPEN && r->sessions[i].handle.index == t.index &&
		    r->sessions[i].handle.generation == t.generation)
			return i;
	return TH_SIM_SESSIONS_MAX;
}

/* ---- functions of the runtime ------------------------------------------------------------ */

void th_sim_local_answer(struct th_sim_runtime *r, struct th_ticket t)
{
	struct th_effect_result result = { .status = TH_OUTCOME_DONE,
					   .output = TH_STR("\"noted\"") };

	th_driver_tool_done(r->d, t, &result);
}

void th_sim_local(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct th_sim_world *w = ctx;

	for (size_t i = 0; i < TH_SIM_RUNTIMES_MAX; i++) {
		struct th_sim_runtime *r = w->runtimes[i];

		if (!r || r->d != d || r->dead)
			continue;
		if (r->local_count < TH_SIM_TIMERS_MAX && th_sim_chance(&w->random, 2))
			r->locals[r->local_count++] =
			    (struct th_sim_later){ call->ticket, th_sim_soon(w, 100) };
		else
			th_sim_local_answer(r, call->ticket);
	}
}

/* ---- the disk ---------------------------------------------------------------------------- */

void th_sim_check_logs(struct th_sim_world *w)
{
	for (size_t i = 0; i < th_sim_count(w); i++)
		th_sim_check_log(w->check, i);
}

static void trace_batch(struct th_sim_world *w, const struct th_sim_runtime *r,
			const struct th_batch *batch)
{
	if (!w->trace)
		return;
	for (size_t i = 0; i < batch->append_count; i++) {
		const struct th_append *a = &batch->appends[i];

		for (size_t j = 0; j < a->event_count; j++)
			th_sim_say(w, "log of %.*s: %llu %s %.*s%s", TH_FMT(a->row->session_id),
				   (unsigned long long)a->events[j].seq,
				   th_event_name(a->events[j].kind),
				   TH_FMT(th_str_sub(a->events[j].data, 0, 160)),
				   a->result ? " (refused)" : "");
	}
	(void)r;
}

static void write_batch(struct th_sim_runtime *r, struct th_batch *batch, enum th_sim_fault fault,
			enum th_code *ret, struct th_err *err)
{
	struct th_sim_world *w = r->w;
	int64_t epochs[TH_SIM_SESSIONS_MAX];
	struct th_session_row row;
	bool written;

	for (size_t i = 0; i < batch->append_count; i++)
		epochs[i] = th_sim_store_get(w->disk, batch->appends[i].row->session_id, &row, NULL)
				? batch->appends[i].row->epoch
				: row.epoch;
	*ret = th_sim_store_commit(w->disk, batch, fault, &written, err);
	if (!written)
		return;
	trace_batch(w, r, batch);
	for (size_t i = 0; i < batch->append_count; i++)
		if (batch->appends[i].result == TH_OK)
			th_sim_check_append(w->check,
					    th_sim_task_of(w, batch->appends[i].row->session_id),
					    batch->appends[i].row->epoch, epochs[i]);
	th_sim_check_logs(w);
}

void th_sim_runtime_commit(struct th_sim_runtime *r)
{
	struct th_sim_commit c = r->commits[0];
	struct th_err err = { 0 };
	enum th_code code;

	memmove(r->commits, r->commits + 1, --r->commit_count * sizeof(r->commits[0]));
	write_batch(r, c.batch, r->w->commit_fault, &code, &err);
	r->w->commit_fault = TH_SIM_FAULT_NONE;
	c.done(c.done_ctx, c.batch, code, code ? &err : NULL);
}

/* ---- runtimes begin and end -------------------------------------------------------------- */

void th_sim_runtime_kill(struct th_sim_runtime *r)
{
	struct th_sim_world *w = r->w;
	struct th_err err = { 0 };
	enum th_code code;
	bool write = true;

	th_sim_say(w, "runtime %d is gone", r->number);
	w->counts->crashes++;
	r->dead = true;
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++)
		r->sessions[i].client = th_sim_client_free(r->sessions[i].client);
	/* What the worker had in its hands may still reach the disk, in order. */
	for (size_t i = 0; i < r->commit_count; i++) {
		write = write && !r->dying && th_sim_chance(&w->random, 2);
		if (write)
			write_batch(r, r->commits[i].batch, TH_SIM_FAULT_NONE, &code, &err);
	}
	/* From here on nothing happens any more: only memory is given back.  What waited for a
	 * flush may write once more, until its session is lost with the commit. */
	(void)th_fail(&err, TH_EIO, "dead");
	do {
		th_driver_flush(r->d);
		for (size_t i = 0; i < r->commit_count; i++)
			r->commits[i].done(r->commits[i].done_ctx, r->commits[i].batch, TH_EIO,
					   &err);
		r->commit_count = 0;
	} while (!th_driver_idle(r->d));
	th_driver_free(r->d);
	th_sim_team_forget(r);
	while (r->calls)
		th_sim_model_drop(r, r->calls);
	for (size_t i = 0; i < TH_SIM_RUNTIMES_MAX; i++)
		if (w->runtimes[i] == r)
			w->runtimes[i] = NULL;
	free(r);
	if (!th_sim_owner(w))
		w->restart_ms = th_sim_soon(w, 1000);
}

struct th_sim_runtime *th_sim_runtime_new(struct th_sim_world *w)
{
	struct th_sim_runtime *r = th_alloc(sizeof(*r));
	struct th_world world = { &th_sim_world_ops, r };
	size_t slot = 0;

	while (w->runtimes[slot])
		slot++;
	assert(slot < TH_SIM_RUNTIMES_MAX);
	w->runtimes[slot] = r;
	r->w = w;
	r->number = ++w->runtime_numbers;
	r->d = th_driver_new(&world, TH_STR("sim"));
	th_driver_log_short(r->d, th_sim_below(&w->random, 30));
	th_sim_say(w, "runtime %d begins", r->number);
	return r;
}

static struct th_sim_resident *resident_of(struct th_sim_runtime *r, struct th_handle h)
{
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++)
		if (r->sessions[i].place == OPEN && r->sessions[i].handle.index == h.index &&
		    r->sessions[i].handle.generation == h.generation)
			return &r->sessions[i];
	return NULL;
}

static void on_rest(void *ctx, struct th_handle h, const struct th_session *fold,
		    const struct th_err *err)
{
	struct th_sim_runtime *r = ctx;
	struct th_sim_resident *s = resident_of(r, h);
	struct th_sim_world *w = r->w;

	if (r->dead || !s)
		return;
	if (err) {
		th_sim_say(w, "runtime %d lost %s: %s", r->number, w->tasks[s - r->sessions].id,
			   err->msg);
		s->gone = true;
		/* What works on one of its calls may be another's for the moment. */
		if (!r->stale && !r->dying && err->code != TH_EEXIST && err->code != TH_EBUSY)
			th_sim_check_blame(w->check,
					   "runtime %d lost session %zu for no reason: %s",
					   r->number, (size_t)(s - r->sessions), err->msg);
		return;
	}
	if (!th_driver_durable(r->d, h))
		th_sim_check_blame(w->check, "session %zu was said to rest before it was durable",
				   (size_t)(s - r->sessions));
	else if (!r->stale && w->variant != TH_SIM_NO_SYNC)
		th_sim_check_live(w->check, (size_t)(s - r->sessions), fold);
}

/* Outside. */
static void act(void *ctx, size_t number, struct th_str effect_id, enum th_class class)
{
	struct th_sim_world *w = ctx;

	th_sim_say(w, "outside: %.8s of session %zu happens", effect_id.ptr, number);
	th_sim_check_act(w->check, number, effect_id, class);
	th_sim_fault_in(w, 4);
}

static bool acted(void *ctx, struct th_str effect_id)
{
	return th_sim_check_acted(((struct th_sim_world *)ctx)->check, effect_id);
}

static int64_t world_now(void *ctx)
{
	return ((struct th_sim_world *)ctx)->now_ms;
}

static struct th_sim_conn *client_connect(void *ctx, size_t number)
{
	struct th_sim_runtime *r = ctx;
	struct th_sim_world *w = r->w;
	struct th_sim_task *t = &w->tasks[number];
	struct th_sim_exec_world exec = {
		.now_ms = world_now,
		.act = act,
		.acted = acted,
		.say = th_sim_say,
		.random = &w->random,
		.outcome_first = w->variant == TH_SIM_OUTCOME_FIRST,
		.forgetful = w->variant == TH_SIM_NO_REFUSAL,
		.slow = w->slow,
		.ctx = w,
	};

	if (!t->exec) {
		t->exec = th_sim_exec_new(&exec, number, th_str_of(t->id));
		if (t->exec)
			th_sim_say(w, "executor %zu begins", number);
	}
	return t->exec ? th_sim_conn_new(t->exec) : NULL;
}

static void client_done(void *ctx, size_t number, struct th_ticket t,
			const struct th_effect_result *result)
{
	struct th_sim_runtime *r = ctx;

	th_sim_say(r->w, "session %zu: event %llu ended %s", number, (unsigned long long)t.seq,
		   th_outcome_name(result->status));
	th_driver_tool_done(r->d, t, result);
	if (th_sim_chance(&r->w->random, 8))
		th_driver_tool_done(r->d, t, result);
	r->old = t;
}

static struct th_observer observer_of(struct th_sim_runtime *r)
{
	return (struct th_observer){ .rest = on_rest, .ctx = r };
}

static enum th_code task_open(struct th_sim_runtime *r, size_t number, struct th_err *err)
{
	struct th_sim_task *t = &r->w->tasks[number];
	struct th_sim_resident *s = &r->sessions[number];
	struct th_observer see = observer_of(r);
	struct th_session_row row;
	enum th_code code = th_sim_store_get(r->w->disk, th_str_of(t->id), &row, err);

	row.epoch = s->epoch;
	if (!code)
		code = th_driver_open(r->d, &row, &s->session_config, &see, &s->handle, err);
	if (!code && !r->stale)
		th_sim_check_live(r->w->check, number, th_driver_session(r->d, s->handle));
	return code;
}

/* As th_edit_fork does it, and durable at once; then it is opened. */
static enum th_code task_fork(struct th_sim_runtime *r, size_t number, struct th_err *err)
{
	struct th_sim_world *w = r->w;
	struct th_sim_task *t = &w->tasks[number];
	struct th_str from = th_str_of(w->tasks[t->parent].id);
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_session_row row;
	uint8_t random[10];
	struct th_event ev = { .ts_ms = r->w->now_ms, .build = TH_STR("sim") };
	struct th_append a = { .create = true, .row = &row, .events = &ev, .event_count = 1 };
	struct th_batch batch = { .appends = &a, .append_count = 1 };
	struct th_fork f;
	enum th_code code;

	th_sim_world_ops.random(r, random, sizeof(random));
	ev.id = th_uuid7((uint64_t)ev.ts_ms, random);
	th_fork_init(&f);
	code = th_sim_store_get(w->disk, from, &row, err);
	if (!code)
		code = th_sim_store_read(w->disk, from, 1, t->parent_seq, th_fork_take, &f, err);
	a.seq_before = f.session.seq;
	a.head_before = f.head;
	a.digests = &f.head;
	if (!code)
		code = th_fork_begin(&f, &row, th_str_of(t->id), &ev, &data, err);
	if (!code)
		write_batch(r, &batch, TH_SIM_FAULT_NONE, &code, err);
	if (!code)
		code = a.result; /* EEXIST: another runtime was first */
	th_fork_deinit(&f);
	return code ? code : task_open(r, number, err);
}

static enum th_code task_create(struct th_sim_runtime *r, size_t number, struct th_err *err)
{
	struct th_sim_task *t = &r->w->tasks[number];
	struct th_sim_resident *s = &r->sessions[number];
	struct th_observer see = observer_of(r);
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };

	if (t->fork)
		return task_fork(r, number, err);
	return th_driver_create(r->d, th_str_of(t->id), &s->session_config, &created, &see,
				&s->handle, err);
}

/* The executor knows our epoch: now the session may begin, or go on. */
static void client_ready(void *ctx, size_t number, bool fenced)
{
	struct th_sim_runtime *r = ctx;
	struct th_sim_world *w = r->w;
	struct th_sim_resident *s = &r->sessions[number];
	struct th_err err = { 0 };
	enum th_code code;

	if (s->child) {
		s->unavailable = fenced;
		th_driver_tool_ready(r->d,
				     (struct th_ticket){ .index = s->handle.index,
							 .generation = s->handle.generation });
		return;
	}
	if (fenced) {
		s->gone = true;
		return;
	}
	code = s->create ? task_create(r, number, &err) : task_open(r, number, &err);
	if (code == TH_EEXIST) {
		s->gone = true;
		return;
	}
	if (code) {
		th_sim_check_blame(w->check, "session %zu cannot be taken up: %s", number, err.msg);
		s->gone = true;
		return;
	}
	s->place = OPEN;
	th_sim_say(w, "runtime %d has %s at event %llu, epoch %lld", r->number, w->tasks[number].id,
		   (unsigned long long)th_driver_session(r->d, s->handle)->seq,
		   (long long)s->epoch);
	code = th_driver_resume(r->d, s->handle, &err);
	if (code)
		th_sim_check_blame(w->check, "session %zu cannot be resumed: %s", number, err.msg);
}

struct th_sim_client *th_sim_client_of(struct th_sim_runtime *r, size_t number)
{
	struct th_sim_world *w = r->w;
	struct th_sim_resident *s = &r->sessions[number];
	struct th_sim_client_world client = {
		.connect = client_connect,
		.ready = client_ready,
		.done = client_done,
		.now_ms = th_sim_world_ops.now_ms,
		.repeat = w->variant == TH_SIM_REPEAT,
		.guest = w->variant == TH_SIM_NO_FENCING,
		.ageless = w->variant == TH_SIM_NO_REFUSAL,
		.any_journal = w->variant == TH_SIM_ANY_JOURNAL,
		.ctx = r,
	};

	if (!s->client)
		s->client =
		    th_sim_client_new(&client, number, th_str_of(w->tasks[number].id), s->epoch);
	return s->client;
}

void th_sim_resident_begin(struct th_sim_runtime *r, size_t number)
{
	struct th_sim_world *w = r->w;
	struct th_sim_resident *s = &r->sessions[number];
	struct th_session_row row;
	struct th_err err;

	*s = (struct th_sim_resident){ .place = GREETING, .epoch = 1 };
	th_sim_team_config(r, number);
	s->create = th_sim_store_lease(w->disk, th_str_of(w->tasks[number].id), &row, &err) != 0;
	if (!s->create)
		s->epoch = row.epoch;
	(void)th_sim_client_of(r, number);
}

void th_sim_resident_end(struct th_sim_runtime *r, size_t number)
{
	struct th_sim_resident *s = &r->sessions[number];

	for (size_t i = TH_SIM_TASKS_MAX; i < th_sim_count(r->w); i++)
		if (r->sessions[i].child && r->sessions[i].parent == number)
			th_sim_resident_end(r, i);
	if (s->place == OPEN)
		th_driver_close(r->d, s->handle);
	th_sim_client_free(s->client);
	*s = (struct th_sim_resident){ .due_ms = th_sim_soon(r->w, 200) };
}
