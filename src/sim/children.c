/* SPDX-License-Identifier: Apache-2.0 */
/*
 * children.c - sessions that work on a call of another (driver/delegate.h), as the driver's
 * world has them: found again, opened, over; and taken by somebody else.
 */
#include <stdio.h>

#include "sim/internal.h"

/* The number of that session, which is new where nobody had it before. */
static size_t number_of(struct th_sim_world *w, size_t parent, struct th_str id)
{
	size_t number = th_sim_task_of(w, id);
	struct th_sim_task *t;

	if (number < TH_SIM_SESSIONS_MAX)
		return number;
	assert(w->child_count < TH_SIM_CHILDREN_MAX);
	number = TH_SIM_TASKS_MAX + w->child_count++;
	t = &w->tasks[number];
	*t = w->tasks[parent];
	snprintf(t->id, sizeof(t->id), "%.*s", TH_FMT(id));
	t->wanted = t->fork = false;
	t->exec = NULL;
	/* It has no screen. */
	for (size_t i = 0; i < TH_SIM_AGENTS_MAX; i++)
		for (size_t j = 0; j < TH_COUNT(t->options[i]); j++)
			t->options[i][j].has_computer = false;
	th_sim_check_session(w->check, number, id);
	return number;
}

static bool is_told(const struct th_sim_runtime *r, struct th_handle h)
{
	return !r->dead && !r->dying && !r->stale && r->w->variant != TH_SIM_NO_SYNC &&
	       th_driver_durable(r->d, h);
}

/* Nor a child of a session that another owner took: it was refused with its parent. */
static bool is_taken(const struct th_sim_runtime *r, size_t number)
{
	while (r->sessions[number].child && !th_sim_check_is_taken(r->w->check, number))
		number = r->sessions[number].parent;
	return r->sessions[number].child;
}

/* The variant: another session for the same call, begun like the one that is there. */
struct copy {
	struct th_event ev;
	struct th_digest digest;
};

static enum th_code take_first(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			       struct th_err *err)
{
	(void)digest, (void)err;
	((struct copy *)ctx)->ev = *ev;
	return TH_OK;
}

static enum th_code begin_again(struct th_sim_world *w, struct th_session_row *row,
				struct th_err *err)
{
	char id[TH_SESSION_ID_MAX + 1];
	struct copy first = { 0 };
	struct th_append a = { .create = true, .row = row, .event_count = 1 };
	struct th_batch batch = { .appends = &a, .append_count = 1 };
	bool written;
	enum th_code code =
	    th_sim_store_read(w->disk, row->session_id, 1, 1, take_first, &first, err);

	if (code || w->child_count == TH_SIM_CHILDREN_MAX)
		return code;
	snprintf(id, sizeof(id), "%.*s-%zu", TH_FMT(row->session_id), w->child_count);
	row->session_id = th_str_of(id);
	row->epoch = 1;
	first.digest = th_event_digest(&a.head_before, row->session_id, &first.ev);
	a.events = &first.ev;
	a.digests = &first.digest;
	code = th_sim_store_commit(w->disk, &batch, TH_SIM_FAULT_NONE, &written, err);
	return code ?: th_sim_store_lease(w->disk, th_str_of(id), row, err);
}

enum th_code th_sim_child_lease(void *ctx, struct th_str id, struct th_arena *a,
				struct th_session_row *ret, struct th_err *err)
{
	struct th_sim_runtime *r = ctx;
	struct th_sim_world *w = r->w;
	size_t number = th_sim_task_of(w, id);
	enum th_code code = th_sim_store_get(w->disk, id, ret, err);

	(void)a; /* the row is the store's, which keeps it long enough */
	if (w->variant == TH_SIM_CHILD_UNSEEN)
		code = th_fail(err, TH_ENOENT, "nobody looks");
	if (code)
		return code;
	if (w->variant == TH_SIM_CHILD_UNBOUND)
		return begin_again(w, ret, err);
	if (th_sim_chance(&w->random, 20))
		return th_fail(err, TH_EBUSY, "somebody else looks at %.*s", TH_FMT(id));
	/* The store tells the former owner that it has lost the session. */
	if (r->stale)
		th_sim_check_taken(w->check, number);
	return th_sim_store_lease(w->disk, id, ret, err);
}

void th_sim_child_opened(void *ctx, struct th_ticket parent, struct th_ticket child,
			 struct th_str id, int64_t epoch)
{
	struct th_sim_runtime *r = ctx;
	struct th_sim_world *w = r->w;
	size_t asked = th_sim_task_of_ticket(r, parent), number;
	struct th_handle h = { child.index, child.generation };

	assert(asked < TH_SIM_SESSIONS_MAX);
	number = number_of(w, asked, id);
	assert(r->sessions[number].place == ABSENT);
	r->sessions[number] = (struct th_sim_resident){
		.place = OPEN, .handle = h, .epoch = epoch, .r = r, .child = true, .parent = asked
	};
	th_sim_say(w, "runtime %d has %s at event %llu, epoch %lld, for event %llu of %s",
		   r->number, w->tasks[number].id,
		   (unsigned long long)th_driver_session(r->d, h)->seq, (long long)epoch,
		   (unsigned long long)parent.seq, w->tasks[asked].id);
	if (!is_told(r, h))
		return; /* it is new */
	th_sim_check_log(w->check, number);
	th_sim_check_live(w->check, number, th_driver_session(r->d, h));
}

void th_sim_child_over(void *ctx, struct th_ticket child)
{
	struct th_sim_runtime *r = ctx;
	size_t number = th_sim_task_of_ticket(r, child);
	struct th_sim_resident *s;

	assert(number < TH_SIM_SESSIONS_MAX);
	s = &r->sessions[number];
	s->gone = true;
	if (is_told(r, s->handle) && !is_taken(r, number))
		th_sim_check_live(r->w->check, number, th_driver_session(r->d, s->handle));
}

void th_sim_child_steal(struct th_sim_world *w)
{
	size_t number = TH_SIM_TASKS_MAX + th_sim_below(&w->random, w->child_count);
	struct th_session_row row;
	struct th_err err;

	if (th_sim_store_lease(w->disk, th_str_of(w->tasks[number].id), &row, &err))
		return;
	th_sim_say(w, "somebody takes session %s", w->tasks[number].id);
	th_sim_check_taken(w->check, number);
}
