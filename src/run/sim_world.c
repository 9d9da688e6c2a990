/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sim_world.h"

#include <stdlib.h>

#include "run/driver.h"
#include "run/sim_client.h"
#include "run/sim_provider.h"

#define RUNTIMES_MAX 3
#define COMMITS_MAX 32
#define TIMERS_MAX 64
#define CHOICES_MAX 256
#define STEPS_MAX 20000
#define FAULTS_MAX 8
#define DEADLINE_MS 300000 /* of a silent provider */

/* ---- what there is ----------------------------------------------------------------------- */

struct world;
struct runtime;

struct later {
	struct th_ticket ticket;
	int64_t due_ms;
};

struct commit {
	struct th_batch *batch;
	th_commit_fn *done;
	void *done_ctx;
};

struct model_call {
	struct model_call *next;
	struct th_ticket ticket;
	struct th_sim_answer answer;
	size_t at; /* of the body */
	int64_t due_ms;
};

enum place { ABSENT, GREETING, OPEN };

/* A session in a runtime. */
struct resident {
	enum place place;
	struct th_handle handle;
	struct th_sim_client *client;
	int64_t epoch, due_ms;
	bool create, gone; /* gone: lost, to be closed */
};

struct runtime {
	struct world *w;
	int number;
	struct th_driver *d;
	bool stale, dying, dead, flush;
	struct commit commits[COMMITS_MAX];
	size_t commit_count;
	struct model_call *calls;
	struct later timers[TIMERS_MAX], locals[TIMERS_MAX];
	size_t timer_count, local_count;
	struct th_ticket old; /* of something that is over */
	struct resident sessions[TH_SIM_SESSIONS_MAX];
};

/* A session as its owner thinks of it. */
struct task {
	char id[8];
	bool wanted;
	struct th_agent agent;
	struct th_agent_limits limits;
	struct th_agent_model_settings settings;
	struct th_str approve[2];
	struct th_outfit outfit;
	struct th_tool_row rows[8];
	struct th_choice choices[2]; /* the second one is in its agent's fallback list, or not */
	struct th_str fallback;
	struct th_request_options options[2]; /* of each, for the checker */
	struct th_tool_spec specs[8];
	size_t parent; /* of a fork */
	uint64_t parent_seq;
	bool fork;
	unsigned messages_left, meddling_left;
	int64_t due_ms;
	char ignored[64]; /* the call nobody decides about */
	struct th_sim_exec *exec;
};

struct world {
	struct th_sim_random random;
	enum th_sim_variant variant;
	FILE *trace;
	struct th_sim_counts *counts;
	struct th_sim_disk *disk;
	struct th_sim_check *check;
	int64_t now_ms;
	uint64_t step, numbers;
	struct runtime *runtimes[RUNTIMES_MAX];
	int runtime_numbers;
	int64_t restart_ms;
	struct task tasks[TH_SIM_SESSIONS_MAX];
	size_t task_count;
	uint64_t fault_steps[FAULTS_MAX];
	size_t fault_count;
	unsigned window_faults; /* more of them, right after an effect or its dispatch */
	uint64_t fault_soon;
	enum th_sim_fault commit_fault;
	unsigned final_in, slow, ignore;
};

#define X(id, name, doc) { name, doc },
static const struct {
	const char *name, *doc;
} variants[] = { TH_SIM_VARIANTS(X) };
#undef X

const char *th_sim_variant_name(enum th_sim_variant v)
{
	assert(v < TH_SIM_VARIANT_COUNT);
	return variants[v].name;
}

const char *th_sim_variant_doc(enum th_sim_variant v)
{
	assert(v < TH_SIM_VARIANT_COUNT);
	return variants[v].doc;
}

int th_sim_variant_find(struct th_str name)
{
	for (int i = 0; i < TH_SIM_VARIANT_COUNT; i++)
		if (th_str_is(name, variants[i].name))
			return i;
	return -1;
}

void th_sim_counts_print(const struct th_sim_counts *c, double cpu_s, struct th_buf *out)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "seeds", c->seeds },
		{ "seeds that failed", c->failed_seeds },
		{ "steps", c->steps },
		{ "steps per CPU second", cpu_s > 0 ? (uint64_t)((double)c->steps / cpu_s) : 0 },
		{ "events", c->events },
		{ "model requests", c->requests },
		{ "effects", c->effects },
		{ "points tried (crashes)", c->crashes },
		{ "duplicated", c->duplicated },
		{ "lost", c->lost },
		{ "diverged", c->diverged },
		{ "false claims", c->false_claims },
		{ "unknown", c->unknown },
		{ "  of which happened", c->unknown_happened },
	};

	for (size_t i = 0; i < TH_COUNT(rows); i++)
		th_buf_printf(out, "%-22s %12llu\n", rows[i].name,
			      (unsigned long long)rows[i].value);
}

TH_PRINTF(2, 3) static void say(void *ctx, const char *fmt, ...)
{
	struct world *w = ctx;
	va_list ap;

	if (!w->trace)
		return;
	fprintf(w->trace, "%5llu %8lld ms  ", (unsigned long long)w->step,
		(long long)w->now_ms % 100000000);
	va_start(ap, fmt);
	vfprintf(w->trace, fmt, ap);
	va_end(ap);
	fputc('\n', w->trace);
}

static struct runtime *owner(struct world *w)
{
	for (size_t i = 0; i < RUNTIMES_MAX; i++)
		if (w->runtimes[i] && !w->runtimes[i]->stale)
			return w->runtimes[i];
	return NULL;
}

static size_t task_of(const struct world *w, struct th_str id)
{
	for (size_t i = 0; i < w->task_count; i++)
		if (th_str_is(id, w->tasks[i].id))
			return i;
	return TH_SIM_SESSIONS_MAX;
}

static size_t task_of_ticket(const struct runtime *r, struct th_ticket t)
{
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++)
		if (r->sessions[i].place == OPEN && r->sessions[i].handle.index == t.index &&
		    r->sessions[i].handle.generation == t.generation)
			return i;
	return TH_SIM_SESSIONS_MAX;
}

static int64_t soon(struct world *w, int64_t most_ms)
{
	return w->now_ms + (int64_t)th_sim_below(&w->random, (uint64_t)most_ms);
}

/* One of the faults that are kept for the narrow places, perhaps. */
static void fault_in(struct world *w, unsigned one_in)
{
	if (w->window_faults == 0 || !th_sim_chance(&w->random, one_in))
		return;
	w->window_faults--;
	w->fault_soon = w->step + 1 + th_sim_below(&w->random, 5);
}

/* ---- the driver's world ------------------------------------------------------------------ */

static int64_t now(void *ctx)
{
	return ((struct runtime *)ctx)->w->now_ms;
}

static int64_t world_now(void *ctx)
{
	return ((struct world *)ctx)->now_ms;
}

static void draw(void *ctx, void *ptr, size_t len)
{
	struct runtime *r = ctx;
	uint8_t *bytes = ptr;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)th_sim_draw(&r->w->random);
}

static void flush_soon(void *ctx)
{
	((struct runtime *)ctx)->flush = true;
}

static void timer(void *ctx, struct th_ticket t, int64_t delay_ms)
{
	struct runtime *r = ctx;

	if (r->dead)
		return;
	assert(r->timer_count < TIMERS_MAX);
	r->timers[r->timer_count++] = (struct later){ t, r->w->now_ms + delay_ms };
}

/* The variant: effects whose intents are only on their way to the log. */
static void dispatch_early(struct runtime *r, const struct th_append *a)
{
	size_t number = task_of(r->w, a->row->session_id);
	struct resident *s = number < TH_SIM_SESSIONS_MAX ? &r->sessions[number] : NULL;
	const struct th_session *fold = s ? th_driver_session(r->d, s->handle) : NULL;

	for (size_t i = 0; fold && i < fold->call_count && s->client; i++) {
		const struct th_call *c = &fold->calls[i];
		struct th_ticket t = { s->handle.index, s->handle.generation, c->intent_seq };
		struct th_tool_call call = {
			.session_id = a->row->session_id,
			.epoch = s->epoch,
			.effect_id = c->effect_id,
			.tool = c->tool,
			.arguments = c->arguments,
			.digest = th_str_of(c->digest),
			.journal = c->journal,
			.class = c->class,
			.agent = &r->w->tasks[number].agent,
		};

		if (c->phase == TH_CALL_INTENDED && c->intent_seq > a->seq_before &&
		    c->class != TH_CLASS_L && !th_str_is(c->tool, "peek") &&
		    !th_sim_client_has(s->client, t))
			th_sim_client_run(s->client, t, &call, false);
	}
}

static void commit(void *ctx, struct th_batch *batch, th_commit_fn *done, void *done_ctx)
{
	struct runtime *r = ctx;

	assert(r->commit_count < COMMITS_MAX);
	r->commits[r->commit_count++] = (struct commit){ batch, done, done_ctx };
	for (size_t i = 0; r->w->variant == TH_SIM_NO_INTENT && !r->dead && i < batch->append_count;
	     i++)
		dispatch_early(r, &batch->appends[i]);
}

static enum th_code read_blob(void *ctx, const struct th_digest *hash, struct th_buf *out,
			      struct th_err *err)
{
	return th_sim_store_blob(((struct runtime *)ctx)->w->disk, hash, out, err);
}

static enum th_code read_log(void *ctx, struct th_str id, uint64_t from, uint64_t to,
			     th_event_fn *fn, void *fn_ctx, struct th_err *err)
{
	return th_sim_store_read(((struct runtime *)ctx)->w->disk, id, from, to, fn, fn_ctx, err);
}

static enum th_code model_call(void *ctx, struct th_ticket t, const struct th_model_call *call,
			       struct th_err *err)
{
	struct runtime *r = ctx;
	struct world *w = r->w;
	size_t number = task_of_ticket(r, t);
	struct model_call *m;

	assert(number < TH_SIM_SESSIONS_MAX);
	if (r->dead)
		return th_fail(err, TH_ECONN, "dead");
	if (th_str_ends(call->path, TH_STR("/cancel")))
		return th_fail(err, TH_ECONN, "nobody hears it");
	if (!r->stale && !call->get)
		th_sim_check_request(w->check, number, t.seq,
				     &w->tasks[number].options[call->model_at], call->body,
				     call->body_count);
	say(w, "runtime %d asks the model for %s at event %llu", r->number, w->tasks[number].id,
	    (unsigned long long)t.seq);
	if (th_sim_chance(&w->random, 50))
		return th_fail(err, TH_ECONN, "connection refused");
	m = th_alloc(sizeof(*m));
	m->ticket = t;
	m->due_ms = soon(w, 500);
	th_sim_answer_draw(&w->random, &w->numbers, w->final_in, &m->answer);
	if (w->tasks[number].settings.background && th_sim_chance(&w->random, call->get ? 3 : 2))
		th_sim_answer_not_yet(&w->numbers, &m->answer);
	m->next = r->calls;
	r->calls = m;
	return TH_OK;
}

static void model_alive(void *ctx, struct th_ticket t)
{
	(void)ctx, (void)t;
}

static void model_drop(struct runtime *r, struct model_call *m)
{
	struct model_call **at = &r->calls;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	r->old = m->ticket;
	th_buf_deinit(&m->answer.body);
	free(m);
}

static void model_cancel(void *ctx, struct th_ticket t)
{
	struct runtime *r = ctx;

	for (struct model_call *m = r->calls; m; m = m->next)
		if (m->ticket.index == t.index && m->ticket.generation == t.generation) {
			model_drop(r, m);
			return;
		}
}

/* A session is opened when its client was greeted, so there is always one. */
static bool tool_ready(void *ctx, struct th_ticket t, struct th_str *ret_journal)
{
	struct runtime *r = ctx;
	size_t number = task_of_ticket(r, t);

	assert(number < TH_SIM_SESSIONS_MAX);
	*ret_journal = th_sim_client_journal(r->sessions[number].client);
	return true;
}

static void tool_run(void *ctx, struct th_ticket t, const struct th_tool_call *call, bool settle)
{
	struct runtime *r = ctx;
	size_t number = task_of_ticket(r, t);
	struct resident *s;

	assert(number < TH_SIM_SESSIONS_MAX);
	s = &r->sessions[number];
	if (r->dead || (r->w->variant == TH_SIM_NO_INTENT && th_sim_client_has(s->client, t)))
		return;
	say(r->w, "runtime %d %s %.*s %.8s class %s for %s", r->number, settle ? "settles" : "runs",
	    TH_FMT(call->tool), call->effect_id.ptr, th_class_name(call->class),
	    r->w->tasks[number].id);
	fault_in(r->w, 6);
	if (th_sim_client_cut(s->client)) /* sent into the void: who knows how far it came? */
		th_sim_check_doubt(r->w->check, number);
	th_sim_client_run(s->client, t, call, settle);
}

static void tool_cancel(void *ctx, struct th_ticket t)
{
	struct runtime *r = ctx;
	size_t number = task_of_ticket(r, t);

	if (!r->dead && number < TH_SIM_SESSIONS_MAX)
		th_sim_client_cancel(r->sessions[number].client, t);
}

static void tool_forget(void *ctx, struct th_str id, const struct th_str *effect_ids, size_t count)
{
	struct runtime *r = ctx;
	size_t number = task_of(r->w, id);

	if (!r->dead && number < TH_SIM_SESSIONS_MAX && r->sessions[number].client)
		th_sim_client_forget(r->sessions[number].client, effect_ids, count);
}

static void fatal(void *ctx, const struct th_err *err)
{
	struct runtime *r = ctx;

	if (!r->dead)
		say(r->w, "runtime %d must stop: %s", r->number, err->msg);
	r->dying = true;
}

static const struct th_world_ops ops = {
	.now_ms = now,
	.random = draw,
	.flush_soon = flush_soon,
	.timer = timer,
	.commit = commit,
	.blob = read_blob,
	.read = read_log,
	.model_call = model_call,
	.model_alive = model_alive,
	.model_cancel = model_cancel,
	.tool_ready = tool_ready,
	.tool_run = tool_run,
	.tool_cancel = tool_cancel,
	.tool_forget = tool_forget,
	.fatal = fatal,
};

/* ---- functions of the runtime ------------------------------------------------------------ */

static void local_answer(struct runtime *r, struct th_ticket t)
{
	struct th_tool_result result = { .status = TH_OUTCOME_DONE, .output = TH_STR("\"noted\"") };

	th_driver_tool_done(r->d, t, &result);
}

static void local(void *ctx, struct th_driver *d, const struct th_local_call *call)
{
	struct world *w = ctx;

	for (size_t i = 0; i < RUNTIMES_MAX; i++) {
		struct runtime *r = w->runtimes[i];

		if (!r || r->d != d || r->dead)
			continue;
		if (r->local_count < TIMERS_MAX && th_sim_chance(&w->random, 2))
			r->locals[r->local_count++] = (struct later){ call->ticket, soon(w, 100) };
		else
			local_answer(r, call->ticket);
	}
}

/* ---- the disk ---------------------------------------------------------------------------- */

static void check_logs(struct world *w)
{
	for (size_t i = 0; i < w->task_count; i++) {
		th_sim_check_log(w->check, i);
	}
}

static void trace_batch(struct world *w, const struct runtime *r, const struct th_batch *batch)
{
	if (!w->trace)
		return;
	for (size_t i = 0; i < batch->append_count; i++) {
		const struct th_append *a = &batch->appends[i];

		for (size_t j = 0; j < a->event_count; j++)
			say(w, "log of %.*s: %llu %s %.*s%s", TH_FMT(a->row->session_id),
			    (unsigned long long)a->events[j].seq, th_event_name(a->events[j].kind),
			    TH_FMT(th_str_sub(a->events[j].data, 0, 160)),
			    a->result ? " (refused)" : "");
	}
	(void)r;
}

static void write_batch(struct runtime *r, struct th_batch *batch, enum th_sim_fault fault,
			enum th_code *ret, struct th_err *err)
{
	struct world *w = r->w;
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
			th_sim_check_append(w->check, task_of(w, batch->appends[i].row->session_id),
					    batch->appends[i].row->epoch, epochs[i]);
	check_logs(w);
}

static void commit_step(struct runtime *r)
{
	struct commit c = r->commits[0];
	struct th_err err = { 0 };
	enum th_code code;

	memmove(r->commits, r->commits + 1, --r->commit_count * sizeof(r->commits[0]));
	write_batch(r, c.batch, r->w->commit_fault, &code, &err);
	r->w->commit_fault = TH_SIM_FAULT_NONE;
	c.done(c.done_ctx, c.batch, code, code ? &err : NULL);
}

/* ---- runtimes begin and end -------------------------------------------------------------- */

static void runtime_kill(struct runtime *r)
{
	struct world *w = r->w;
	struct th_err err = { 0 };
	enum th_code code;
	bool write = true;

	say(w, "runtime %d is gone", r->number);
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
	/* From here on nothing happens any more: only memory is given back. */
	th_driver_flush(r->d);
	(void)th_fail(&err, TH_EIO, "dead");
	for (size_t i = 0; i < r->commit_count; i++)
		r->commits[i].done(r->commits[i].done_ctx, r->commits[i].batch, TH_EIO, &err);
	r->commit_count = 0;
	th_driver_free(r->d);
	while (r->calls)
		model_drop(r, r->calls);
	for (size_t i = 0; i < RUNTIMES_MAX; i++)
		if (w->runtimes[i] == r)
			w->runtimes[i] = NULL;
	free(r);
	if (!owner(w))
		w->restart_ms = soon(w, 1000);
}

static struct runtime *runtime_new(struct world *w)
{
	struct runtime *r = th_alloc(sizeof(*r));
	struct th_world world = { &ops, r };
	size_t slot = 0;

	while (w->runtimes[slot])
		slot++;
	assert(slot < RUNTIMES_MAX);
	w->runtimes[slot] = r;
	r->w = w;
	r->number = ++w->runtime_numbers;
	r->d = th_driver_new(&world, TH_STR("sim"));
	say(w, "runtime %d begins", r->number);
	return r;
}

static struct resident *resident_of(struct runtime *r, struct th_handle h)
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
	struct runtime *r = ctx;
	struct resident *s = resident_of(r, h);
	struct world *w = r->w;

	if (r->dead || !s)
		return;
	if (err) {
		say(w, "runtime %d lost %s: %s", r->number, w->tasks[s - r->sessions].id, err->msg);
		s->gone = true;
		if (!r->stale && !r->dying && err->code != TH_EEXIST)
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
	struct world *w = ctx;

	say(w, "outside: %.8s of session %zu happens", effect_id.ptr, number);
	th_sim_check_act(w->check, number, effect_id, class);
	fault_in(w, 4);
}

static bool acted(void *ctx, struct th_str effect_id)
{
	return th_sim_check_acted(((struct world *)ctx)->check, effect_id);
}

static struct th_sim_conn *client_connect(void *ctx, size_t number)
{
	struct runtime *r = ctx;
	struct world *w = r->w;
	struct task *t = &w->tasks[number];
	struct th_sim_exec_world exec = {
		.now_ms = world_now,
		.act = act,
		.acted = acted,
		.say = say,
		.random = &w->random,
		.outcome_first = w->variant == TH_SIM_OUTCOME_FIRST,
		.forgetful = w->variant == TH_SIM_NO_REFUSAL,
		.slow = w->slow,
		.ctx = w,
	};

	if (!t->exec) {
		t->exec = th_sim_exec_new(&exec, number, th_str_of(t->id));
		if (t->exec)
			say(w, "executor %zu begins", number);
	}
	return t->exec ? th_sim_conn_new(t->exec) : NULL;
}

static void client_done(void *ctx, size_t number, struct th_ticket t,
			const struct th_tool_result *result)
{
	struct runtime *r = ctx;

	say(r->w, "session %zu: event %llu ended %s", number, (unsigned long long)t.seq,
	    th_outcome_name(result->status));
	th_driver_tool_done(r->d, t, result);
	if (th_sim_chance(&r->w->random, 8))
		th_driver_tool_done(r->d, t, result);
	r->old = t;
}

static struct th_observer observer_of(struct runtime *r)
{
	return (struct th_observer){ .rest = on_rest, .ctx = r };
}

static enum th_code task_create(struct runtime *r, size_t number, struct th_err *err)
{
	struct task *t = &r->w->tasks[number];
	struct resident *s = &r->sessions[number];
	struct th_observer see = observer_of(r);
	struct th_ev_session_created created = { .model = TH_STR("gpt-5.4") };
	struct th_session_row row;
	enum th_code code;

	if (!t->fork)
		return th_driver_create(r->d, th_str_of(t->id), &t->outfit, &created, &see,
					&s->handle, err);
	code = th_sim_store_get(r->w->disk, th_str_of(r->w->tasks[t->parent].id), &row, err);
	if (code)
		return code;
	row.parent = row.session_id;
	row.session_id = th_str_of(t->id);
	row.parent_seq = row.head_seq = t->parent_seq;
	row.epoch = 1;
	return th_driver_fork(r->d, &row, &t->outfit, &see, &s->handle, err);
}

static enum th_code task_open(struct runtime *r, size_t number, struct th_err *err)
{
	struct task *t = &r->w->tasks[number];
	struct resident *s = &r->sessions[number];
	struct th_observer see = observer_of(r);
	struct th_session_row row;
	enum th_code code = th_sim_store_get(r->w->disk, th_str_of(t->id), &row, err);

	row.epoch = s->epoch;
	if (!code)
		code = th_driver_open(r->d, &row, &t->outfit, &see, &s->handle, err);
	if (!code && !r->stale)
		th_sim_check_live(r->w->check, number, th_driver_session(r->d, s->handle));
	return code;
}

/* The executor knows our epoch: now the session may begin, or go on. */
static void client_ready(void *ctx, size_t number, bool fenced)
{
	struct runtime *r = ctx;
	struct world *w = r->w;
	struct resident *s = &r->sessions[number];
	struct th_err err = { 0 };
	enum th_code code;

	if (fenced) {
		s->gone = true;
		return;
	}
	code = s->create ? task_create(r, number, &err) : task_open(r, number, &err);
	if (code) {
		th_sim_check_blame(w->check, "session %zu cannot be taken up: %s", number, err.msg);
		s->gone = true;
		return;
	}
	s->place = OPEN;
	say(w, "runtime %d has %s at event %llu, epoch %lld", r->number, w->tasks[number].id,
	    (unsigned long long)th_driver_session(r->d, s->handle)->seq, (long long)s->epoch);
	code = th_driver_resume(r->d, s->handle, &err);
	if (code)
		th_sim_check_blame(w->check, "session %zu cannot be resumed: %s", number, err.msg);
}

static void resident_begin(struct runtime *r, size_t number)
{
	struct world *w = r->w;
	struct resident *s = &r->sessions[number];
	struct th_sim_client_world client = {
		.connect = client_connect,
		.ready = client_ready,
		.done = client_done,
		.now_ms = now,
		.repeat = w->variant == TH_SIM_REPEAT,
		.guest = w->variant == TH_SIM_NO_FENCING,
		.ageless = w->variant == TH_SIM_NO_REFUSAL,
		.any_journal = w->variant == TH_SIM_ANY_JOURNAL,
		.ctx = r,
	};
	struct th_session_row row;
	struct th_err err;

	*s = (struct resident){ .place = GREETING, .epoch = 1 };
	s->create = th_sim_store_lease(w->disk, th_str_of(w->tasks[number].id), &row, &err) != 0;
	if (!s->create)
		s->epoch = row.epoch;
	s->client = th_sim_client_new(&client, number, th_str_of(w->tasks[number].id), s->epoch);
}

static void resident_end(struct runtime *r, size_t number)
{
	struct resident *s = &r->sessions[number];

	if (s->place == OPEN)
		th_driver_close(r->d, s->handle);
	th_sim_client_free(s->client);
	*s = (struct resident){ .due_ms = soon(r->w, 200) };
}

/* ---- faults ------------------------------------------------------------------------------ */

static void exec_kill(struct world *w, size_t number, bool lose)
{
	struct task *t = &w->tasks[number];

	if (t->exec) {
		say(w, "executor %zu is gone%s", number, lose ? ", its journal too" : "");
		w->counts->crashes++;
		t->exec = th_sim_exec_free(t->exec);
		th_sim_check_doubt(w->check, number);
	}
	if (lose && !t->exec) {
		th_sim_check_doubt(w->check, number);
		th_sim_journal_lose(w->disk, number);
	}
}

static void journal_rot(struct world *w, size_t number)
{
	say(w, "executor %zu's journal rots", number);
	th_sim_journal_rot(w->disk, number);
	th_sim_check_doubt(w->check, number);
}

static void runtimes_kill(struct world *w)
{
	for (size_t i = 0; i < RUNTIMES_MAX; i++)
		if (w->runtimes[i])
			runtime_kill(w->runtimes[i]);
}

static void power_cut(struct world *w)
{
	say(w, "power cut");
	runtimes_kill(w);
	for (size_t i = 0; i < w->task_count; i++) {
		exec_kill(w, i, false);
		th_sim_check_doubt(w->check, i);
	}
	th_sim_disk_power_cut(w->disk);
	check_logs(w);
}

/* Another runtime takes over although the owner lives. */
static void usurp(struct world *w)
{
	struct runtime *r = owner(w);
	size_t living = 0;

	for (size_t i = 0; i < RUNTIMES_MAX; i++)
		living += w->runtimes[i] != NULL;
	if (!r || living == RUNTIMES_MAX)
		return;
	say(w, "runtime %d is taken for dead", r->number);
	r->stale = true;
	/* Which it may well look like: what it sent last comes late. */
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX && th_sim_chance(&w->random, 2); i++)
		if (r->sessions[i].client)
			th_sim_client_stall(r->sessions[i].client, soon(w, 5000));
	w->restart_ms = w->now_ms;
}

static void fault(struct world *w)
{
	static const enum th_sim_fault kinds[] = { TH_SIM_FAULT_FULL, TH_SIM_FAULT_IO,
						   TH_SIM_FAULT_REPORTED };
	struct runtime *r = owner(w);
	size_t number = th_sim_below(&w->random, w->task_count);

	switch (th_sim_below(&w->random, 16)) {
	case 0:
	case 1:
	case 2:
		if (r)
			runtime_kill(r);
		break;
	case 3:
	case 4:
		exec_kill(w, number, false);
		break;
	case 5:
		exec_kill(w, number, false);
		if (r)
			runtime_kill(r);
		break;
	case 6:
	case 7:
		power_cut(w);
		break;
	case 8:
	case 12:
	case 13:
		usurp(w);
		break;
	case 9:
		say(w, "the next commit fails");
		w->commit_fault = kinds[th_sim_below(&w->random, TH_COUNT(kinds))];
		break;
	case 10:
		say(w, "a journal's next write fails");
		th_sim_journal_fault(w->disk, th_sim_chance(&w->random, 2) ? TH_ELIMIT : TH_EIO);
		break;
	case 11:
	case 14:
	case 15:
		if (th_sim_chance(&w->random, 2) && r)
			runtime_kill(r);
		if (th_sim_chance(&w->random, 2)) {
			exec_kill(w, number, true);
		} else {
			exec_kill(w, number, false);
			journal_rot(w, number);
		}
		break;
	}
}

static bool fault_due(struct world *w)
{
	if (w->fault_soon && w->fault_soon <= w->step) {
		w->fault_soon = 0;
		return true;
	}
	for (size_t i = 0; i < w->fault_count; i++)
		if (w->fault_steps[i] <= w->step) {
			w->fault_steps[i] = w->fault_steps[--w->fault_count];
			return true;
		}
	return false;
}

/* ---- people ------------------------------------------------------------------------------ */

static const struct th_call *call_asked(const struct th_session *s)
{
	for (size_t i = 0; i < s->call_count; i++)
		if (s->calls[i].phase == TH_CALL_ASKED)
			return &s->calls[i];
	return NULL;
}

static bool wants_something(const struct world *w, size_t number, const struct th_session *s)
{
	const struct task *t = &w->tasks[number];
	const struct th_call *c = call_asked(s);

	switch (s->state) {
	case TH_STATE_IDLE:
		return true;
	case TH_STATE_WAITING:
		return t->meddling_left > 0 || (c && !th_str_is(c->call_id, t->ignored));
	case TH_STATE_RUNNING:
		return t->meddling_left > 0;
	case TH_STATE_PAUSED:
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
static void fork_task(struct world *w, size_t number)
{
	struct th_session_row row;
	size_t new = w->task_count;

	if (new == TH_SIM_SESSIONS_MAX ||
	    th_sim_store_get(w->disk, th_str_of(w->tasks[number].id), &row, NULL) ||
	    row.head_seq <= row.parent_seq)
		return;
	w->tasks[new].fork = w->tasks[new].wanted = true;
	w->tasks[new].parent = number;
	w->tasks[new].parent_seq =
	    row.parent_seq + 1 + th_sim_below(&w->random, row.head_seq - row.parent_seq);
	w->task_count++;
	say(w, "session %zu is forked as %zu at event %llu", number, new,
	    (unsigned long long)w->tasks[new].parent_seq);
}

static void meddle(struct runtime *r, size_t number, struct th_handle h)
{
	struct world *w = r->w;
	struct task *t = &w->tasks[number];
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

static void decide(struct runtime *r, size_t number, struct th_handle h, const struct th_call *c)
{
	struct world *w = r->w;
	struct task *t = &w->tasks[number];
	struct th_err err;

	if (th_str_is(c->call_id, t->ignored))
		return;
	if (th_sim_chance(&w->random, w->ignore)) {
		snprintf(t->ignored, sizeof(t->ignored), "%.*s", TH_FMT(c->call_id));
		return;
	}
	(void)!th_driver_decide(r->d, h, c->call_id, !th_sim_chance(&w->random, 4),
				TH_STR("someone"), TH_STR("no"), &err);
}

static void person(struct runtime *r, size_t number)
{
	struct world *w = r->w;
	struct task *t = &w->tasks[number];
	struct th_handle h = r->sessions[number].handle;
	const struct th_session *s = th_driver_session(r->d, h);
	const struct th_call *c = call_asked(s);
	struct th_err err;

	say(w, "a person looks at session %zu: %s", number, th_state_name(s->state));
	t->due_ms = w->now_ms + 1 + (int64_t)th_sim_below(&w->random, 2000);
	switch (s->state) {
	case TH_STATE_WAITING:
		if (c && !th_str_is(c->call_id, t->ignored) && !th_sim_chance(&w->random, 8))
			decide(r, number, h, c);
		else if (t->meddling_left > 0)
			meddle(r, number, h);
		break;
	case TH_STATE_RUNNING:
		meddle(r, number, h);
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
		else
			(void)!th_driver_message(r->d, h, TH_STR("do it"), &err);
		break;
	case TH_STATE_LOADING:
	case TH_STATE_COUNT:
		break;
	}
}

/* ---- one step ---------------------------------------------------------------------------- */

enum choice_kind {
	RESTART,
	FLUSH,
	COMMIT,
	MODEL,
	TIMER,
	LOCAL,
	CLIENT,
	BEGIN,
	END,
	PERSON,
	EXECUTOR,
	SYNC,
	KILL_STALE,
};

struct choice {
	enum choice_kind kind;
	struct runtime *r;
	size_t index;
	struct model_call *model;
};

struct choices {
	struct choice list[CHOICES_MAX];
	size_t count;
	int64_t due_ms; /* when there will be more */
};

static void offer(struct choices *c, struct choice choice)
{
	if (c->count < CHOICES_MAX)
		c->list[c->count++] = choice;
}

static bool ripe(struct choices *c, int64_t now_ms, int64_t due_ms)
{
	if (due_ms <= now_ms)
		return true;
	c->due_ms = TH_MIN(c->due_ms, due_ms);
	return false;
}

static void offer_resident(struct choices *c, struct runtime *r, size_t i)
{
	struct world *w = r->w;
	struct resident *s = &r->sessions[i];
	struct task *t = &w->tasks[i];
	const struct th_session *fold;

	if (s->gone) {
		offer(c, (struct choice){ END, r, i, NULL });
		return;
	}
	if (s->place == ABSENT) {
		if (t->wanted && !r->stale && ripe(c, w->now_ms, s->due_ms))
			offer(c, (struct choice){ BEGIN, r, i, NULL });
		return;
	}
	if (th_sim_client_ready(s->client, &c->due_ms))
		offer(c, (struct choice){ CLIENT, r, i, NULL });
	if (s->place != OPEN)
		return;
	fold = th_driver_session(r->d, s->handle);
	if (fold && wants_something(w, i, fold) && (!r->stale || th_sim_chance(&w->random, 8)) &&
	    ripe(c, w->now_ms, t->due_ms))
		offer(c, (struct choice){ PERSON, r, i, NULL });
}

static void offer_runtime(struct choices *c, struct runtime *r)
{
	int64_t now_ms = r->w->now_ms;

	if (r->flush)
		offer(c, (struct choice){ FLUSH, r, 0, NULL });
	if (r->commit_count > 0)
		offer(c, (struct choice){ COMMIT, r, 0, NULL });
	for (struct model_call *m = r->calls; m; m = m->next)
		if (ripe(c, now_ms, m->due_ms))
			offer(c, (struct choice){ MODEL, r, 0, m });
	for (size_t i = 0; i < r->timer_count; i++)
		if (ripe(c, now_ms, r->timers[i].due_ms))
			offer(c, (struct choice){ TIMER, r, i, NULL });
	for (size_t i = 0; i < r->local_count; i++)
		if (ripe(c, now_ms, r->locals[i].due_ms))
			offer(c, (struct choice){ LOCAL, r, i, NULL });
	for (size_t i = 0; i < r->w->task_count; i++)
		offer_resident(c, r, i);
	if (r->stale && (r->w->fault_count == 0 || th_sim_chance(&r->w->random, 100)))
		offer(c, (struct choice){ KILL_STALE, r, 0, NULL });
}

static void offer_all(struct world *w, struct choices *c)
{
	c->count = 0;
	c->due_ms = INT64_MAX;
	for (size_t i = 0; i < RUNTIMES_MAX; i++)
		if (w->runtimes[i])
			offer_runtime(c, w->runtimes[i]);
	if (!owner(w) && ripe(c, w->now_ms, w->restart_ms))
		offer(c, (struct choice){ RESTART, NULL, 0, NULL });
	for (size_t i = 0; i < w->task_count; i++)
		if (w->tasks[i].exec && th_sim_exec_ready(w->tasks[i].exec, &c->due_ms) > 0)
			offer(c, (struct choice){ EXECUTOR, NULL, i, NULL });
	if (th_sim_disk_unsynced(w->disk) && th_sim_chance(&w->random, 8))
		offer(c, (struct choice){ SYNC, NULL, 0, NULL });
}

/* A piece of an answer, or its end. */
static void model_step(struct runtime *r, struct model_call *m)
{
	struct world *w = r->w;
	struct th_str body = th_buf_str(&m->answer.body);
	struct th_ticket t = m->ticket;
	struct th_model_end end = m->answer.end;

	if (m->at < body.len) {
		size_t len = th_sim_chance(&w->random, 3)
				 ? 1 + th_sim_below(&w->random, body.len - m->at)
				 : body.len - m->at;
		struct th_str piece = th_str_sub(body, m->at, len);

		m->at += len;
		m->due_ms = soon(w, 50);
		if (!th_driver_model_data(r->d, t, piece)) {
			end = (struct th_model_end){ .http_status = 200,
						     .failure = TH_FAILURE_CANCELLED,
						     .hints = { -1, -1 } };
			model_drop(r, m);
			th_driver_model_done(r->d, t, &end);
			return;
		}
		if (m->answer.endless && m->at == body.len)
			m->due_ms = w->now_ms + DEADLINE_MS;
		return;
	}
	if (m->answer.endless && m->due_ms < w->now_ms && body.len == 0)
		m->answer.endless = false;
	model_drop(r, m);
	th_driver_model_done(r->d, t, &end);
	if (th_sim_chance(&w->random, 8)) {
		(void)!th_driver_model_data(r->d, t, TH_STR("{}"));
		th_driver_model_done(r->d, t, &end);
	}
}

static void exec_step(struct world *w, size_t number)
{
	struct task *t = &w->tasks[number];
	int64_t due = INT64_MAX;

	th_sim_exec_step(t->exec, th_sim_below(&w->random, th_sim_exec_ready(t->exec, &due)));
	if (th_sim_exec_stumbled(t->exec))
		th_sim_check_doubt(w->check, number);
	if (th_sim_exec_dead(t->exec))
		exec_kill(w, number, false);
}

static void take_later(struct later *list, size_t *count, size_t index, struct later *ret)
{
	*ret = list[index];
	list[index] = list[--*count];
}

static void perform(struct world *w, const struct choice *c)
{
	struct runtime *r = c->r;
	struct later later;

	switch (c->kind) {
	case RESTART:
		(void)runtime_new(w);
		break;
	case FLUSH:
		r->flush = false;
		th_driver_flush(r->d);
		break;
	case COMMIT:
		commit_step(r);
		break;
	case MODEL:
		model_step(r, c->model);
		break;
	case TIMER:
		take_later(r->timers, &r->timer_count, c->index, &later);
		th_driver_timer(r->d, later.ticket);
		break;
	case LOCAL:
		take_later(r->locals, &r->local_count, c->index, &later);
		local_answer(r, later.ticket);
		break;
	case CLIENT:
		th_sim_client_step(r->sessions[c->index].client);
		break;
	case BEGIN:
		resident_begin(r, c->index);
		break;
	case END:
		resident_end(r, c->index);
		break;
	case PERSON:
		person(r, c->index);
		break;
	case EXECUTOR:
		exec_step(w, c->index);
		break;
	case SYNC:
		th_sim_disk_sync(w->disk);
		check_logs(w);
		break;
	case KILL_STALE:
		runtime_kill(r);
		break;
	}
	if (r && c->kind != KILL_STALE && r->dying)
		runtime_kill(r);
}

/* False: nothing will ever move again. */
static bool step(struct world *w)
{
	struct choices c;

	if (fault_due(w)) {
		fault(w);
		return true;
	}
	offer_all(w, &c);
	if (c.count == 0 && c.due_ms == INT64_MAX)
		return false;
	if (c.count == 0)
		w->now_ms = c.due_ms;
	else
		perform(w, &c.list[th_sim_below(&w->random, c.count)]);
	w->now_ms += (int64_t)th_sim_below(&w->random, 3);
	return true;
}

/* ---- the whole --------------------------------------------------------------------------- */

/* Two of the Responses wire, which is what the simulator's provider speaks; the history is not the
 * same for both. */
static void choices_init(struct th_choice *list)
{
	struct th_err err;

	if (th_model_resolve(TH_STR("gpt-5.4"), &list[0].profile, &list[0].model, &err) ||
	    th_model_resolve(TH_STR("responses:other"), &list[1].profile, &list[1].model, &err))
		assert(false && "the simulator's models are known");
}

static void who_answered(const void *ctx, struct th_str agent, size_t choice,
			 struct th_speaker *ret)
{
	const struct task *t = ctx;

	(void)agent;
	assert(choice < TH_COUNT(t->choices));
	*ret = (struct th_speaker){ t->choices[choice].profile, t->choices[choice].model };
}

static void task_init(struct world *w, size_t number, bool falls_back, bool chains, bool background)
{
	struct task *t = &w->tasks[number];
	struct th_sim_random *r = &w->random;
	size_t rows = 0;

	snprintf(t->id, sizeof(t->id), "s%zu", number);
	th_sim_check_session(w->check, number, th_str_of(t->id));
	t->settings = (struct th_agent_model_settings){ TH_SETTINGS_UNSET };
	t->settings.stream = th_sim_chance(r, 2);
	t->settings.background = background;
	t->settings.history = chains ? TH_HISTORY_PREVIOUS : TH_HISTORY_FULL;
	/* One draw a statement: the order inside an initialiser is the compiler's. */
	t->limits.turns = 3 + (int64_t)th_sim_below(r, 10);
	if (th_sim_chance(r, 3))
		t->limits.tokens = 100 + (int64_t)th_sim_below(r, 500);
	if (th_sim_chance(r, 4))
		t->limits.seconds = 1 + (int64_t)th_sim_below(r, 1000);
	t->limits.model_attempts = 1 + (int64_t)th_sim_below(r, 4);
	t->agent = (struct th_agent){
		.name = TH_STR("sim"),
		.instructions = TH_STR("Be quick."),
		.limits = &t->limits,
		.settings = &t->settings,
		.approve = { t->approve, 0 },
	};
	choices_init(t->choices);
	t->fallback = TH_STR("responses:other");
	if (falls_back)
		t->agent.fallback = (struct th_strs){ &t->fallback, 1 };
	if (th_sim_chance(r, 3))
		t->approve[t->agent.approve.count++] = TH_STR("shell");
	t->rows[rows++] =
	    (struct th_tool_row){ .spec = { .name = TH_STR_INIT("note"), .class = TH_CLASS_L },
				  .local = local,
				  .ctx = w };
	t->rows[rows++] =
	    (struct th_tool_row){ .spec = { .name = TH_STR_INIT("peek"), .class = TH_CLASS_R },
				  .local = local,
				  .ctx = w };
	for (size_t i = 0; th_sim_tools[i].name; i++)
		t->rows[rows++].spec =
		    (struct th_tool_spec){ .name = th_str_of(th_sim_tools[i].name),
					   .class = th_sim_tools[i].class };
	for (size_t i = 0; i < rows; i++) {
		t->rows[i].spec.schema = TH_STR("{\"type\":\"object\"}");
		t->specs[i] = t->rows[i].spec;
	}
	t->outfit = (struct th_outfit){
		.agent = &t->agent,
		.first = t->choices[0],
		.fallback = &t->choices[1],
		.tools = t->rows,
		.tool_count = rows,
		.has_computer = !th_sim_chance(r, 4),
		.screen = { 1024, 768 },
	};
	for (size_t i = 0; i < TH_COUNT(t->options); i++)
		t->options[i] = (struct th_request_options){
			.profile = t->choices[i].profile,
			.who = who_answered,
			.who_ctx = t,
			.model = t->choices[i].model,
			.agent = &t->agent,
			.tools = t->specs,
			.tool_count = rows,
			.has_computer = t->outfit.has_computer,
			.screen = t->outfit.screen,
			.stream = t->settings.stream,
		};
	t->messages_left = (unsigned)th_sim_below(r, 3);
	t->meddling_left = (unsigned)th_sim_below(r, 4);
}

static void world_init(struct world *w, const struct th_sim_options *o,
		       struct th_sim_counts *counts)
{
	struct th_sim_random *r = &w->random;

	w->random.state = o->seed * 0x2545f4914f6cdd1du + 1;
	w->variant = o->variant;
	w->trace = o->trace;
	w->counts = counts;
	w->disk = th_sim_disk_new(r);
	w->check = th_sim_check_new(w->disk, counts);
	w->now_ms = 1700000000000;
	if (o->variant == TH_SIM_NO_FENCING)
		th_sim_disk_no_fencing(w->disk);
	if (o->variant == TH_SIM_NO_SYNC)
		th_sim_disk_no_sync(w->disk);
	if (o->variant == TH_SIM_NO_JOURNAL)
		th_sim_disk_no_journal(w->disk);
	if (o->variant == TH_SIM_BLIND)
		th_sim_disk_blind(w->disk);
	if (o->variant == TH_SIM_UNSYNCED)
		th_sim_disk_unsynced_journals(w->disk);
	if (th_sim_chance(r, 4))
		th_sim_disk_tidy_often(w->disk);
	w->final_in = 2 + (unsigned)th_sim_below(r, 6);
	w->slow = th_sim_chance(r, 2) ? 10 : 0;
	w->ignore = th_sim_chance(r, 2) ? 4 : 0;
	for (size_t i = 0; i < TH_SIM_SESSIONS_MAX; i++)
		task_init(w, i, o->seed % 3 == 0, o->seed % 4 == 1, o->seed % 5 == 2);
	w->task_count = 1 + (th_sim_chance(r, 3) ? th_sim_below(r, 3) : 0);
	for (size_t i = 0; i < w->task_count; i++)
		w->tasks[i].wanted = true;
	w->fault_count = th_sim_below(r, 6);
	for (size_t i = 0; i < w->fault_count; i++)
		w->fault_steps[i] = 1 + th_sim_below(r, th_sim_chance(r, 2) ? 100 : 400);
	w->window_faults = (unsigned)th_sim_below(r, 4);
}

static void world_end(struct world *w)
{
	for (size_t i = 0; i < RUNTIMES_MAX; i++)
		if (w->runtimes[i])
			runtime_kill(w->runtimes[i]);
	for (size_t i = 0; i < w->task_count; i++)
		w->tasks[i].exec = th_sim_exec_free(w->tasks[i].exec);
	w->check = th_sim_check_free(w->check);
	w->disk = th_sim_disk_free(w->disk);
}

bool th_sim_run(const struct th_sim_options *o, struct th_sim_counts *counts,
		char failure[static TH_ERR_MSG_MAX])
{
	struct world *w = th_alloc(sizeof(*w));
	uint64_t crashes;
	bool good, moves = true;

	world_init(w, o, counts);
	counts->seeds++;
	while (moves && !th_sim_check_failure(w->check)) {
		w->step++;
		counts->steps++;
		moves = step(w);
		if (w->step == STEPS_MAX)
			th_sim_check_blame(w->check, "it does not end in %d steps", STEPS_MAX);
	}
	if (!moves)
		th_sim_check_end(w->check);
	good = !th_sim_check_failure(w->check);
	snprintf(failure, TH_ERR_MSG_MAX, "%s", good ? "" : th_sim_check_failure(w->check));
	if (!good) {
		counts->failed_seeds++;
		say(w, "wrong: %s", failure);
	}
	w->trace = NULL;
	crashes = counts->crashes;
	world_end(w);
	counts->crashes = crashes;
	free(w);
	return good;
}
