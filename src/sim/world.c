/* SPDX-License-Identifier: Apache-2.0 */
/* world.c - draws what happens next, step by step, until nothing moves. */
#include <stdlib.h>

#include "sim/internal.h"

#define RESOLVED_MODELS_MAX 256
#define STEPS_MAX 20000
#define ASKS_MAX 24 /* a fork may ask again what its answer asked */

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

void th_sim_say(void *ctx, const char *fmt, ...)
{
	struct th_sim_world *w = ctx;
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

int64_t th_sim_soon(struct th_sim_world *w, int64_t most_ms)
{
	return w->now_ms + (int64_t)th_sim_below(&w->random, (uint64_t)most_ms);
}

size_t th_sim_count(const struct th_sim_world *w)
{
	return w->child_count > 0 ? TH_SIM_TASKS_MAX + w->child_count : w->task_count;
}

/* ---- one step ---------------------------------------------------------------------------- */

enum choice_kind {
	RESTART,
	FLUSH,
	COMMIT,
	MODEL,
	TIMER,
	LOCAL,
	LOG,
	CODE,
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
	struct th_sim_runtime *r;
	size_t index;
	struct th_sim_model_call *model;
};

struct choices {
	struct choice list[RESOLVED_MODELS_MAX];
	size_t count;
	int64_t due_ms; /* when there will be more */
};

static void offer(struct choices *c, struct choice choice)
{
	if (c->count < RESOLVED_MODELS_MAX)
		c->list[c->count++] = choice;
}

static bool ripe(struct choices *c, int64_t now_ms, int64_t due_ms)
{
	if (due_ms <= now_ms)
		return true;
	c->due_ms = TH_MIN(c->due_ms, due_ms);
	return false;
}

static void offer_resident(struct choices *c, struct th_sim_runtime *r, size_t i)
{
	struct th_sim_world *w = r->w;
	struct th_sim_resident *s = &r->sessions[i];
	struct th_sim_task *t = &w->tasks[i];
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
	if (s->client && th_sim_client_ready(s->client, &c->due_ms))
		offer(c, (struct choice){ CLIENT, r, i, NULL });
	if (s->place != OPEN || s->child) /* people speak with the one that asked */
		return;
	fold = th_driver_session(r->d, s->handle);
	if (fold && th_sim_person_wants(r, i, fold) &&
	    (!r->stale || th_sim_chance(&w->random, 8)) && ripe(c, w->now_ms, t->due_ms))
		offer(c, (struct choice){ PERSON, r, i, NULL });
}

static void offer_runtime(struct choices *c, struct th_sim_runtime *r)
{
	int64_t now_ms = r->w->now_ms;

	if (r->flush)
		offer(c, (struct choice){ FLUSH, r, 0, NULL });
	if (r->commit_count > 0)
		offer(c, (struct choice){ COMMIT, r, 0, NULL });
	for (struct th_sim_model_call *m = r->calls; m; m = m->next)
		if (ripe(c, now_ms, m->due_ms))
			offer(c, (struct choice){ MODEL, r, 0, m });
	for (size_t i = 0; i < r->timer_count; i++)
		if (ripe(c, now_ms, r->timers[i].due_ms))
			offer(c, (struct choice){ TIMER, r, i, NULL });
	for (size_t i = 0; i < r->local_count; i++)
		if (ripe(c, now_ms, r->locals[i].due_ms))
			offer(c, (struct choice){ LOCAL, r, i, NULL });
	for (size_t i = 0; i < r->log_count; i++)
		if (ripe(c, now_ms, r->logs[i].due_ms))
			offer(c, (struct choice){ LOG, r, i, NULL });
	for (size_t i = 0; i < r->ask_count; i++)
		if (ripe(c, now_ms, r->asks[i].due_ms))
			offer(c, (struct choice){ CODE, r, i, NULL });
	for (size_t i = 0; i < th_sim_count(r->w); i++)
		offer_resident(c, r, i);
	if (r->stale && (r->w->fault_count == 0 || th_sim_chance(&r->w->random, 100)))
		offer(c, (struct choice){ KILL_STALE, r, 0, NULL });
}

static void offer_all(struct th_sim_world *w, struct choices *c)
{
	c->count = 0;
	c->due_ms = INT64_MAX;
	for (size_t i = 0; i < TH_SIM_RUNTIMES_MAX; i++)
		if (w->runtimes[i])
			offer_runtime(c, w->runtimes[i]);
	if (!th_sim_owner(w) && ripe(c, w->now_ms, w->restart_ms))
		offer(c, (struct choice){ RESTART, NULL, 0, NULL });
	for (size_t i = 0; i < th_sim_count(w); i++)
		if (w->tasks[i].exec && th_sim_exec_ready(w->tasks[i].exec, &c->due_ms) > 0)
			offer(c, (struct choice){ EXECUTOR, NULL, i, NULL });
	if (th_sim_disk_unsynced(w->disk) && th_sim_chance(&w->random, 8))
		offer(c, (struct choice){ SYNC, NULL, 0, NULL });
}

static void exec_step(struct th_sim_world *w, size_t number)
{
	struct th_sim_task *t = &w->tasks[number];
	int64_t due = INT64_MAX;

	th_sim_exec_step(t->exec, th_sim_below(&w->random, th_sim_exec_ready(t->exec, &due)));
	if (th_sim_exec_stumbled(t->exec))
		th_sim_check_unresolved(w->check, number);
	if (th_sim_exec_dead(t->exec))
		th_sim_exec_kill(w, number, false);
}

static void take_later(struct th_sim_later *list, size_t *count, size_t index,
		       struct th_sim_later *ret)
{
	*ret = list[index];
	list[index] = list[--*count];
}

static void perform(struct th_sim_world *w, const struct choice *c)
{
	struct th_sim_runtime *r = c->r;
	struct th_sim_later later;

	switch (c->kind) {
	case RESTART:
		(void)th_sim_runtime_new(w);
		break;
	case FLUSH:
		r->flush = false;
		th_driver_flush(r->d);
		break;
	case COMMIT:
		th_sim_runtime_commit(r);
		break;
	case MODEL:
		th_sim_model_step(r, c->model);
		break;
	case TIMER:
		take_later(r->timers, &r->timer_count, c->index, &later);
		th_driver_timer(r->d, later.ticket);
		break;
	case LOCAL:
		take_later(r->locals, &r->local_count, c->index, &later);
		th_sim_local_answer(r, later.ticket);
		break;
	case LOG:
		th_sim_log_step(r, c->index);
		break;
	case CODE:
		th_sim_team_answer(r, c->index);
		break;
	case CLIENT:
		th_sim_client_step(r->sessions[c->index].client);
		break;
	case BEGIN:
		th_sim_resident_begin(r, c->index);
		break;
	case END:
		th_sim_resident_end(r, c->index);
		break;
	case PERSON:
		th_sim_person(r, c->index);
		break;
	case EXECUTOR:
		exec_step(w, c->index);
		break;
	case SYNC:
		th_sim_disk_sync(w->disk);
		th_sim_check_logs(w);
		break;
	case KILL_STALE:
		th_sim_runtime_kill(r);
		break;
	}
	if (r && c->kind != KILL_STALE && r->dying)
		th_sim_runtime_kill(r);
}

/* False: nothing will ever move again. */
static bool step(struct th_sim_world *w)
{
	struct choices c;

	if (th_sim_fault_due(w)) {
		th_sim_fault_do(w);
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

static void world_init(struct th_sim_world *w, const struct th_sim_options *o,
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
	w->wary = o->seed % 2 == 0;
	w->asks_left = ASKS_MAX;
	for (size_t i = 0; i < TH_SIM_TASKS_MAX; i++)
		th_sim_task_init(w, i, o->seed % 3 == 0, o->seed % 4 == 1, o->seed % 5 == 2,
				 o->seed % 6 == 4, o->seed % 6 == 1 || o->seed % 12 == 4,
				 o->seed % 7 == 1 ? 1 : 0);
	w->task_count = 1 + (th_sim_chance(r, 3) ? th_sim_below(r, 3) : 0);
	for (size_t i = 0; i < w->task_count; i++)
		w->tasks[i].wanted = true;
	w->fault_count = th_sim_below(r, 6);
	for (size_t i = 0; i < w->fault_count; i++)
		w->fault_steps[i] = 1 + th_sim_below(r, th_sim_chance(r, 2) ? 100 : 400);
	w->window_faults = (unsigned)th_sim_below(r, 4);
}

static void world_end(struct th_sim_world *w)
{
	for (size_t i = 0; i < TH_SIM_RUNTIMES_MAX; i++)
		if (w->runtimes[i])
			th_sim_runtime_kill(w->runtimes[i]);
	for (size_t i = 0; i < th_sim_count(w); i++)
		w->tasks[i].exec = th_sim_exec_free(w->tasks[i].exec);
	w->check = th_sim_check_free(w->check);
	w->disk = th_sim_disk_free(w->disk);
}

bool th_sim_run(const struct th_sim_options *o, struct th_sim_counts *counts,
		char failure[static TH_ERR_MSG_MAX])
{
	struct th_sim_world *w = th_alloc(sizeof(*w));
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
		th_sim_say(w, "wrong: %s", failure);
	}
	w->trace = NULL;
	crashes = counts->crashes;
	world_end(w);
	counts->crashes = crashes;
	free(w);
	return good;
}
