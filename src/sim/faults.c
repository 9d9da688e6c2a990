/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - what goes wrong: which process dies, what is lost, which one counts as dead. */
#include "sim/internal.h"

/* One of the faults that are kept for the narrow places, perhaps. */
void th_sim_fault_in(struct th_sim_world *w, unsigned one_in)
{
	if (w->window_faults == 0 || !th_sim_chance(&w->random, one_in))
		return;
	w->window_faults--;
	w->fault_soon = w->step + 1 + th_sim_below(&w->random, 5);
}

void th_sim_exec_kill(struct th_sim_world *w, size_t number, bool lose)
{
	struct th_sim_task *t = &w->tasks[number];

	if (t->exec) {
		th_sim_say(w, "executor %zu is gone%s", number, lose ? ", its journal too" : "");
		w->counts->crashes++;
		t->exec = th_sim_exec_free(t->exec);
		th_sim_check_unresolved(w->check, number);
	}
	if (lose && !t->exec) {
		th_sim_check_unresolved(w->check, number);
		th_sim_journal_lose(w->disk, number);
	}
}

static void journal_rot(struct th_sim_world *w, size_t number)
{
	th_sim_say(w, "executor %zu's journal rots", number);
	th_sim_journal_rot(w->disk, number);
	th_sim_check_unresolved(w->check, number);
}

static void runtimes_kill(struct th_sim_world *w)
{
	for (size_t i = 0; i < TH_SIM_RUNTIMES_MAX; i++)
		if (w->runtimes[i])
			th_sim_runtime_kill(w->runtimes[i]);
}

static void power_cut(struct th_sim_world *w)
{
	th_sim_say(w, "power cut");
	runtimes_kill(w);
	for (size_t i = 0; i < th_sim_count(w); i++) {
		th_sim_exec_kill(w, i, false);
		th_sim_check_unresolved(w->check, i);
	}
	th_sim_disk_power_cut(w->disk);
	th_sim_check_logs(w);
}

/* Another runtime takes over although the owner lives. */
static void usurp(struct th_sim_world *w)
{
	struct th_sim_runtime *r = th_sim_owner(w);
	size_t living = 0;

	for (size_t i = 0; i < TH_SIM_RUNTIMES_MAX; i++)
		living += w->runtimes[i] != NULL;
	if (!r || living == TH_SIM_RUNTIMES_MAX)
		return;
	th_sim_say(w, "runtime %d is taken for dead", r->number);
	r->stale = true;
	/* Which it may well look like: what it sent last comes late. */
	for (size_t i = 0; i < TH_SIM_TASKS_MAX && th_sim_chance(&w->random, 2); i++)
		if (r->sessions[i].client)
			th_sim_client_stall(r->sessions[i].client, th_sim_soon(w, 5000));
	w->restart_ms = w->now_ms;
}

void th_sim_fault_do(struct th_sim_world *w)
{
	static const enum th_sim_fault kinds[] = { TH_SIM_FAULT_FULL, TH_SIM_FAULT_IO,
						   TH_SIM_FAULT_REPORTED };
	struct th_sim_runtime *r = th_sim_owner(w);
	size_t number = th_sim_below(&w->random, w->task_count);

	if (w->child_count > 0 && th_sim_chance(&w->random, 2))
		number = TH_SIM_TASKS_MAX + th_sim_below(&w->random, w->child_count);
	if (w->child_count > 0 && th_sim_chance(&w->random, 8)) {
		th_sim_child_steal(w);
		return;
	}
	switch (th_sim_below(&w->random, 16)) {
	case 0:
	case 1:
	case 2:
		if (r)
			th_sim_runtime_kill(r);
		break;
	case 3:
	case 4:
		th_sim_exec_kill(w, number, false);
		break;
	case 5:
		th_sim_exec_kill(w, number, false);
		if (r)
			th_sim_runtime_kill(r);
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
		th_sim_say(w, "the next commit fails");
		w->commit_fault = kinds[th_sim_below(&w->random, TH_COUNT(kinds))];
		break;
	case 10:
		th_sim_say(w, "a journal's next write fails");
		th_sim_journal_fault(w->disk, th_sim_chance(&w->random, 2) ? TH_ELIMIT : TH_EIO);
		break;
	case 11:
	case 14:
	case 15:
		if (th_sim_chance(&w->random, 2) && r)
			th_sim_runtime_kill(r);
		if (th_sim_chance(&w->random, 2)) {
			th_sim_exec_kill(w, number, true);
		} else {
			th_sim_exec_kill(w, number, false);
			journal_rot(w, number);
		}
		break;
	}
}

bool th_sim_fault_due(struct th_sim_world *w)
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
