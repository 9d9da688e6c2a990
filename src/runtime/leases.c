/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/leases.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"

/* One session: to be taken, or given back. */
struct th_lease {
	struct th_lease *next;
	struct th_leases *all;
	th_leased_fn *done; /* NULL: it is given back */
	void *ctx;
	bool dropped;
	int64_t epoch; /* held */
	bool hand_over;
	int tries;
	/* The job's: */
	struct th_session_row row;
	struct th_err err;
	size_t id_len;
	char id[TH_SESSION_ID_MAX];
};

struct queue {
	struct th_lease *first, *last;
};

struct th_leases {
	struct th_store *store;
	struct th_reader *writer;
	struct queue give, take;        /* asked for since the job began */
	struct queue again;             /* could not be given back just now */
	struct th_timer timer;          /* for these */
	const struct th_lease *awaited; /* by th_lease_take_now */
	bool ending, telling;           /* telling: who waited for the job that is over */
	void (*all_given)(void *ctx);   /* NULL: nobody is told */
	void *given_ctx;
	/* The thread's while `asked`. */
	struct th_read job;
	bool asked;
	struct queue giving, taking;
	struct th_arena memory;
};

static void queue_add(struct queue *q, struct th_lease *ask)
{
	ask->next = NULL;
	if (q->first)
		q->last->next = ask;
	else
		q->first = ask;
	q->last = ask;
}

static struct th_lease *queue_take(struct queue *q)
{
	struct th_lease *ask = q->first;

	if (ask)
		q->first = ask->next;
	return ask;
}

/* False: it is not in there. */
static bool queue_remove(struct queue *q, const struct th_lease *ask)
{
	struct th_lease **at = &q->first, *before = NULL;

	while (*at && *at != ask) {
		before = *at;
		at = &before->next;
	}
	if (!*at)
		return false;
	*at = ask->next;
	if (q->last == ask)
		q->last = before;
	return true;
}

static void queue_move(struct queue *from, struct queue *to, size_t max)
{
	for (size_t i = 0; i < max && from->first; i++)
		queue_add(to, queue_take(from));
}

static struct th_str id_of(const struct th_lease *ask)
{
	return th_str_n(ask->id, ask->id_len);
}

/* ---- on the thread ---- */

static size_t count_of(const struct queue *q)
{
	size_t count = 0;

	for (const struct th_lease *ask = q->first; ask; ask = ask->next)
		count++;
	return count;
}

static void give_all(struct th_leases *l)
{
	size_t count = count_of(&l->giving), i = 0;
	struct th_held *list = count > 0 ? th_alloc(count * sizeof(*list)) : NULL;
	struct th_err *errs = count > 0 ? th_alloc(count * sizeof(*errs)) : NULL;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	for (struct th_lease *ask = l->giving.first; ask; ask = ask->next)
		list[i++] = (struct th_held){ id_of(ask), ask->epoch, ask->hand_over };
	if (count > 0)
		code = l->store->kind->release_many(l->store, list, count, errs, &err);
	i = 0;
	for (struct th_lease *ask = l->giving.first; ask; ask = ask->next, i++) {
		ask->err = code != TH_OK ? err : errs[i];
		ask->err.code = code != TH_OK ? code : errs[i].code;
	}
	free(list);
	free(errs);
}

static void take_all(struct th_leases *l)
{
	size_t count = count_of(&l->taking), i = 0;
	struct th_str *ids = count > 0 ? th_alloc(count * sizeof(*ids)) : NULL;
	struct th_session_row *rows = count > 0 ? th_alloc(count * sizeof(*rows)) : NULL;
	struct th_err *errs = count > 0 ? th_alloc(count * sizeof(*errs)) : NULL;
	struct th_err err = { 0 };
	enum th_code code = TH_OK;

	for (struct th_lease *ask = l->taking.first; ask; ask = ask->next)
		ids[i++] = id_of(ask);
	if (count > 0)
		code = l->store->kind->lease_many(l->store, ids, count, false, &l->memory, rows,
						  errs, &err);
	i = 0;
	for (struct th_lease *ask = l->taking.first; ask; ask = ask->next, i++) {
		ask->err = code != TH_OK ? err : errs[i];
		ask->err.code = code != TH_OK ? code : errs[i].code;
		ask->row = rows[i];
	}
	free(ids);
	free(rows);
	free(errs);
}

static enum th_code run(struct th_read *job, struct th_store *store, struct th_err *err)
{
	struct th_leases *l = TH_CONTAINER_OF(job, struct th_leases, job);

	(void)store, (void)err; /* the same; each ask has its own */
	give_all(l);
	take_all(l);
	return TH_OK;
}

/* ---- on the loop ---- */

static void begin(struct th_leases *l);

static void ask_free(struct th_lease *ask)
{
	if (ask->all->awaited == ask)
		ask->all->awaited = NULL;
	free(ask);
}

/* The database may be there again in a moment. */
static bool may_pass(enum th_code code)
{
	return code == TH_ECONN || code == TH_EBUSY || code == TH_ELIMIT;
}

static void given(struct th_leases *l, struct th_lease *ask)
{
	if (!may_pass(ask->err.code) || l->ending || ++ask->tries >= TH_LEASE_GIVE_TRIES) {
		ask_free(ask);
		return;
	}
	queue_add(&l->again, ask);
	if (!th_timer_running(&l->timer))
		th_timer_start(&l->timer, TH_RETRY_FIRST_MS << (ask->tries - 1), 0);
}

static void taken(struct th_leases *l, struct th_lease *ask)
{
	bool good = ask->err.code == TH_OK;

	if (ask->dropped && good)
		th_lease_give(l, &(struct th_held){ id_of(ask), ask->row.epoch, false });
	else if (!ask->dropped)
		ask->done(ask->ctx, good ? &ask->row : NULL, good ? NULL : &ask->err);
	ask_free(ask);
}

/* Rows are the job's: all who wait are told before the next one begins. */
static void on_done(struct th_read *job, enum th_code code, const struct th_err *err)
{
	struct th_leases *l = TH_CONTAINER_OF(job, struct th_leases, job);
	struct th_lease *ask;
	bool gave = l->giving.first != NULL;

	(void)code, (void)err;
	l->telling = true;
	while ((ask = queue_take(&l->giving)))
		given(l, ask);
	while ((ask = queue_take(&l->taking)))
		taken(l, ask);
	l->telling = false;
	l->asked = false;
	th_arena_reset(&l->memory);
	begin(l);
	if (gave && !th_leases_give(l) && l->all_given && !l->ending)
		l->all_given(l->given_ctx);
}

/* With the reader, which th_leases_free comes before. */
static void on_drop(struct th_read *job)
{
	(void)job;
}

static void run_here(struct th_leases *l)
{
	struct th_err ignored = { 0 };
	enum th_code code = run(&l->job, l->store, &ignored);

	on_done(&l->job, code, &ignored);
}

static void begin(struct th_leases *l)
{
	enum th_code code;

	if (l->asked || (!l->give.first && !l->take.first))
		return;
	queue_move(&l->give, &l->giving, TH_LEASES_MAX);
	queue_move(&l->take, &l->taking, TH_LEASES_MAX);
	l->asked = true;
	if (l->ending) {
		run_here(l);
		return;
	}
	code = th_reader_ask(l->writer, &l->job, NULL);
	assert(code == TH_OK && "few have jobs for the writer, one each");
	(void)code;
}

static void on_timer(void *ctx)
{
	struct th_leases *l = ctx;

	queue_move(&l->again, &l->give, SIZE_MAX);
	begin(l);
}

static struct th_lease *ask_new(struct th_leases *l, struct th_str id)
{
	struct th_lease *ask = th_alloc(sizeof(*ask));

	assert(id.len <= sizeof(ask->id));
	ask->all = l;
	ask->id_len = id.len;
	memcpy(ask->id, id.ptr, id.len);
	return ask;
}

struct th_lease *th_lease_take(struct th_leases *l, struct th_str id, th_leased_fn *done, void *ctx)
{
	struct th_lease *ask = ask_new(l, id);

	ask->done = done;
	ask->ctx = ctx;
	queue_add(&l->take, ask);
	begin(l);
	return ask;
}

void th_lease_take_now(struct th_lease *ask)
{
	struct th_leases *l = ask->all;

	assert(!l->telling);
	l->awaited = ask;
	while (l->awaited)
		th_reader_finish(&l->job); /* and the next one begins */
}

void th_lease_drop(struct th_lease *ask)
{
	/* One that is not under way yet is not taken at all: should the session be asked for again
	 * at once, a transaction would have it twice. */
	if (queue_remove(&ask->all->take, ask))
		ask_free(ask);
	else
		ask->dropped = true;
}

void th_lease_give(struct th_leases *l, const struct th_held *held)
{
	struct th_lease *ask = ask_new(l, held->session_id);

	ask->epoch = held->epoch;
	ask->hand_over = held->hand_over;
	queue_add(&l->give, ask);
	begin(l);
}

static bool has(const struct queue *q, struct th_str id)
{
	for (const struct th_lease *ask = q->first; ask; ask = ask->next)
		if (th_str_eq(id_of(ask), id))
			return true;
	return false;
}

bool th_lease_gives(const struct th_leases *l, struct th_str id)
{
	return has(&l->give, id) || has(&l->giving, id) || has(&l->again, id);
}

bool th_leases_give(const struct th_leases *l)
{
	return l->give.first || l->giving.first || l->again.first;
}

void th_leases_when_given(struct th_leases *l, void (*fn)(void *ctx), void *ctx)
{
	l->all_given = fn;
	l->given_ctx = ctx;
}

void th_lease_give_now(struct th_leases *l, struct th_str id)
{
	while (th_lease_gives(l, id)) {
		if (!l->asked)
			on_timer(l); /* it could not be given back, and is tried again */
		th_reader_finish(&l->job);
	}
}

/* ---- life ---- */

struct th_leases *th_leases_new(struct th_loop *loop, struct th_store *store,
				struct th_reader *writer)
{
	struct th_leases *l = th_alloc(sizeof(*l));

	l->store = store;
	l->writer = writer;
	l->job = (struct th_read){ .run = run, .done = on_done, .drop = on_drop };
	th_arena_init_try(&l->memory, TH_BATCH_MEMORY_MAX);
	th_timer_init(&l->timer, loop, on_timer, l);
	return l;
}

struct th_leases *th_leases_free(struct th_leases *l)
{
	struct th_lease *ask;

	if (!l)
		return NULL;
	th_timer_stop(&l->timer);
	l->ending = true;
	while ((ask = queue_take(&l->take)))
		ask_free(ask);
	for (ask = l->taking.first; ask; ask = ask->next)
		ask->dropped = true;
	queue_move(&l->again, &l->give, SIZE_MAX);
	if (l->asked)
		th_reader_finish(&l->job);
	begin(l);
	th_arena_deinit(&l->memory);
	free(l);
	return NULL;
}
