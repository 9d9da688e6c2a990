/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/reservations.h"

#include <stdlib.h>

#include "base/limits.h"

#define AGAIN_MS 10 /* another runtime counts: its transaction is short */

/* One: to be reserved, or given back. */
struct th_reserve {
	struct th_reserve *next;
	struct th_reservations *all;
	th_reserved_fn *done; /* NULL: it is given back */
	void *ctx;
	bool dropped;
	int tries;
	uint64_t until_ms; /* so long it is asked for again */
	struct th_session_room what;
	struct th_err err; /* the job's */
};

struct queue {
	struct th_reserve *first, *last;
};

struct th_reservations {
	struct th_loop *loop;
	struct th_store *store;
	struct th_reader *writer;
	struct queue give, take;             /* asked for since the job began */
	struct queue give_again, take_again; /* could not be done just now */
	struct th_timer give_timer, take_timer;
	struct th_read job; /* the thread's while `asked` */
	struct queue giving, taking;
	bool asked, ending;
};

static void queue_add(struct queue *q, struct th_reserve *ask)
{
	ask->next = NULL;
	*(q->first ? &q->last->next : &q->first) = ask;
	q->last = ask;
}

static struct th_reserve *queue_take(struct queue *q)
{
	struct th_reserve *ask = q->first;

	if (ask)
		q->first = ask->next;
	return ask;
}

/* So many as one transaction takes. */
static void queue_move(struct queue *from, struct queue *to)
{
	for (size_t i = 0; i < TH_LEASES_MAX && from->first;) {
		struct th_reserve *ask = queue_take(from);

		if (ask->dropped) {
			free(ask);
			continue;
		}
		queue_add(to, ask);
		i++;
	}
}

static void queue_append(struct queue *from, struct queue *to)
{
	struct th_reserve *ask;

	while ((ask = queue_take(from)))
		queue_add(to, ask);
}

/* ---- on the thread ---- */

static void outcome(struct th_reserve *ask, enum th_code code, const struct th_err *err)
{
	ask->err = *err;
	ask->err.code = code;
}

static void give_all(struct th_reservations *l)
{
	struct th_str names[TH_LEASES_MAX];
	struct th_err err = { 0 };
	size_t count = 0;
	enum th_code code;

	for (struct th_reserve *ask = l->giving.first; ask; ask = ask->next)
		names[count++] = ask->what.name;
	if (count == 0)
		return;
	code = l->store->kind->unreserve_many(l->store, names, count, &err);
	for (struct th_reserve *ask = l->giving.first; ask; ask = ask->next)
		outcome(ask, code, &err);
}

static void take_all(struct th_reservations *l)
{
	struct th_session_room list[TH_LEASES_MAX];
	struct th_err err = { 0 }, *errs;
	size_t count = 0, i = 0;
	enum th_code code;

	for (struct th_reserve *ask = l->taking.first; ask; ask = ask->next)
		list[count++] = ask->what;
	if (count == 0)
		return;
	errs = th_alloc(count * sizeof(*errs));
	code = l->store->kind->reserve_many(l->store, list, count, errs, &err);
	for (struct th_reserve *ask = l->taking.first; ask; ask = ask->next, i++)
		outcome(ask, code ?: errs[i].code, code ? &err : &errs[i]);
	free(errs);
}

static enum th_code run(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct th_reservations *l = TH_CONTAINER_OF(job, struct th_reservations, job);

	(void)store, (void)err; /* the same; each ask has its own */
	give_all(l);
	take_all(l);
	return TH_OK;
}

/* ---- on the loop ---- */

static void begin(struct th_reservations *l);

static bool may_pass(enum th_code code)
{
	return code == TH_ECONN || code == TH_EBUSY;
}

static void wait(struct queue *again, struct th_timer *timer, struct th_reserve *ask, uint64_t ms)
{
	queue_add(again, ask);
	if (!th_timer_running(timer))
		th_timer_start(timer, ms, 0);
}

static void given(struct th_reservations *l, struct th_reserve *ask)
{
	if (may_pass(ask->err.code) && !l->ending && ++ask->tries < TH_LEASE_GIVE_TRIES)
		wait(&l->give_again, &l->give_timer, ask, TH_RETRY_FIRST_MS << (ask->tries - 1));
	else
		free(ask);
}

static void taken(struct th_reservations *l, struct th_reserve *ask)
{
	bool good = ask->err.code == TH_OK;

	if (!ask->dropped && ask->err.code == TH_EBUSY && th_loop_now_ms(l->loop) < ask->until_ms) {
		wait(&l->take_again, &l->take_timer, ask, AGAIN_MS);
		return;
	}
	if (!ask->dropped)
		ask->done(ask->ctx, good ? NULL : &ask->err);
	else if (good)
		th_unreserve(l, ask->what.name);
	free(ask);
}

static void on_done(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct th_reservations *l = TH_CONTAINER_OF(job, struct th_reservations, job);
	struct th_reserve *ask;

	(void)code, (void)err;
	while ((ask = queue_take(&l->giving)))
		given(l, ask);
	while ((ask = queue_take(&l->taking)))
		taken(l, ask);
	if (l->take_again.first) /* nobody is counted before who asked before him */
		queue_append(&l->take, &l->take_again);
	l->asked = false;
	begin(l);
}

/* With the reader, which th_reservations_free comes before. */
static void on_drop(struct th_read *job)
{
	(void)job;
}

static void begin(struct th_reservations *l)
{
	enum th_code code;

	if (l->asked || l->ending || (!l->give.first && !l->take.first))
		return;
	queue_move(&l->give, &l->giving);
	queue_move(&l->take, &l->taking);
	l->asked = true;
	code = th_reader_ask(l->writer, &l->job, NULL);
	assert(code == TH_OK && "few have jobs for the writer, one each");
	(void)code;
}

static void on_give_timer(void *ctx)
{
	struct th_reservations *l = ctx;

	queue_append(&l->give_again, &l->give);
	begin(l);
}

static void on_take_timer(void *ctx)
{
	struct th_reservations *l = ctx;

	queue_append(&l->take_again, &l->take);
	begin(l);
}

static struct th_str put(char **at, struct th_str s)
{
	struct th_str copy = th_str_n(*at, s.len);

	if (s.len > 0)
		memcpy(*at, s.ptr, s.len);
	*at += s.len;
	return copy;
}

/* With its texts behind it. */
static struct th_reserve *ask_new(struct th_reservations *l, const struct th_session_room *r)
{
	size_t size = r->name.len + r->user.len + r->resting_count * sizeof(*r->resting);
	struct th_reserve *ask;
	struct th_str *list;
	char *at;

	for (size_t i = 0; i < r->resting_count; i++)
		size += r->resting[i].len;
	ask = th_alloc(sizeof(*ask) + size);
	ask->all = l;
	ask->what = *r;
	list = (struct th_str *)(ask + 1);
	at = (char *)(list + r->resting_count);
	ask->what.resting = list;
	ask->what.name = put(&at, r->name);
	ask->what.user = put(&at, r->user);
	for (size_t i = 0; i < r->resting_count; i++)
		list[i] = put(&at, r->resting[i]);
	return ask;
}

struct th_reserve *th_reserve(struct th_reservations *l, const struct th_session_room *r,
			      th_reserved_fn *done, void *ctx)
{
	struct th_reserve *ask = ask_new(l, r);

	ask->done = done;
	ask->ctx = ctx;
	ask->until_ms = th_loop_now_ms(l->loop) + TH_STORE_BUSY_MS;
	queue_add(l->take_again.first ? &l->take_again : &l->take, ask);
	begin(l);
	return ask;
}

void th_reserve_drop(struct th_reserve *ask)
{
	ask->dropped = true;
}

void th_unreserve(struct th_reservations *l, struct th_str name)
{
	if (!l->store->kind->reservation_is(l->store, name))
		return;
	queue_add(&l->give, ask_new(l, &(struct th_session_room){ .name = name }));
	begin(l);
}

/* ---- life ---- */

struct th_reservations *th_reservations_new(struct th_loop *loop, struct th_store *store,
					    struct th_reader *writer)
{
	struct th_reservations *l = th_alloc(sizeof(*l));

	l->loop = loop;
	l->store = store;
	l->writer = writer;
	l->job = (struct th_read){ .run = run, .done = on_done, .drop = on_drop };
	th_timer_init(&l->give_timer, loop, on_give_timer, l);
	th_timer_init(&l->take_timer, loop, on_take_timer, l);
	return l;
}

struct th_reservations *th_reservations_free(struct th_reservations *l)
{
	struct th_reserve *ask;

	if (!l)
		return NULL;
	struct queue *const queues[] = { &l->give, &l->take, &l->give_again, &l->take_again };

	th_timer_stop(&l->give_timer);
	th_timer_stop(&l->take_timer);
	l->ending = true;
	for (ask = l->taking.first; ask; ask = ask->next)
		ask->dropped = true;
	if (l->asked)
		th_reader_finish(&l->job);
	for (size_t i = 0; i < TH_COUNT(queues); i++)
		while ((ask = queue_take(queues[i])))
			free(ask);
	free(l);
	return NULL;
}
