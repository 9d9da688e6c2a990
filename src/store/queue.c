/* SPDX-License-Identifier: Apache-2.0 */
#include "store/queue.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "core/session.h"

struct entry {
	uint64_t user; /* its hash */
	bool nobody;   /* it has no user */
	enum th_priority level;
	int64_t since_ms, place; /* place: of the user's, 1 is the first if none runs */
	size_t id_len;
	char id[TH_SESSION_ID_MAX];
};

struct th_queue {
	size_t max, count, at;
	bool sorted;
	struct entry list[]; /* one more than max */
};

static uint64_t hash_of(struct th_str user)
{
	return th_hash64(user.ptr, user.len);
}

/* By their time, and where that is the same by their name: nothing is left to chance. */
static int by_wait(const struct entry *a, const struct entry *b)
{
	if (a->since_ms != b->since_ms)
		return a->since_ms < b->since_ms ? -1 : 1;
	return th_str_cmp(th_str_n(a->id, a->id_len), th_str_n(b->id, b->id_len));
}

static int in_order(const void *one, const void *two)
{
	const struct entry *a = one, *b = two;

	if (a->nobody != b->nobody)
		return a->nobody ? 1 : -1;
	if (a->level != b->level)
		return a->level > b->level ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return by_wait(a, b);
}

struct th_queue *th_queue_new(size_t max)
{
	struct th_queue *q = th_alloc(sizeof(*q) + (max + 1) * sizeof(struct entry));

	*q = (struct th_queue){ .max = max };
	return q;
}

struct th_queue *th_queue_free(struct th_queue *q)
{
	free(q);
	return NULL;
}

/* Its place among the user's, and theirs behind it. */
static void place_in(struct th_queue *q, struct entry *e)
{
	for (size_t i = 0; i < q->count; i++) {
		struct entry *other = &q->list[i];
		bool before;

		if (other->user != e->user)
			continue;
		before = other->level != e->level ? other->level > e->level : by_wait(other, e) < 0;
		e->place += before;
		other->place += !before;
	}
}

void th_queue_add(struct th_queue *q, const struct th_queued *one)
{
	struct entry *e = &q->list[q->count], *last = e;

	assert(!q->sorted && one->id.len <= sizeof(e->id));
	e->user = hash_of(one->user);
	e->nobody = one->user.len == 0;
	e->level = one->level;
	e->since_ms = one->since_ms;
	e->place = one->running + 1;
	e->id_len = one->id.len;
	memcpy(e->id, one->id.ptr, one->id.len);
	place_in(q, e);
	if (q->count < q->max) {
		q->count++;
		return;
	}
	/* The last of all is its user's last: no other place depends on it. */
	for (size_t i = 0; i < q->count; i++)
		if (in_order(&q->list[i], last) > 0)
			last = &q->list[i];
	if (last != e)
		*last = *e;
}

struct th_str th_queue_next(struct th_queue *q)
{
	const struct entry *e;

	if (!q->sorted && q->count > 0)
		qsort(q->list, q->count, sizeof(*q->list), in_order);
	q->sorted = true;
	if (q->at == q->count)
		return (struct th_str){ 0 };
	e = &q->list[q->at++];
	return th_str_n(e->id, e->id_len);
}

/* ---- those whose time has come ---- */

struct due {
	struct th_queue *queue;
	uint64_t *users; /* of sessions that run, in order: one for each */
	size_t count, cap;
	int64_t now_ms, next_ms;
	th_queue_skip_fn *skip;
	void *ctx;
};

static enum th_code note_running(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct due *d = ctx;

	(void)err;
	if (th_delegated_by(row->metadata).len)
		return TH_OK; /* it is part of another one */
	if (d->count == d->cap) {
		d->cap = TH_MAX(2 * d->cap, (size_t)64);
		d->users = th_realloc(d->users, d->cap * sizeof(*d->users));
	}
	d->users[d->count++] = hash_of(row->user);
	return TH_OK;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* How many are less than that, or (`too`) not more. */
static size_t below(const struct due *d, uint64_t user, bool too)
{
	size_t low = 0, high = d->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->users[middle] < user || (too && d->users[middle] == user))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static enum th_code note_due(void *ctx, const struct th_session_row *row, struct th_err *err)
{
	struct due *d = ctx;
	int64_t start_ms = th_start_of(row->metadata);
	uint64_t user = hash_of(row->user);
	struct th_queued one = { .id = row->session_id, .user = row->user, .since_ms = start_ms };

	(void)err;
	if (start_ms > d->now_ms) {
		if (!d->next_ms || start_ms < d->next_ms)
			d->next_ms = start_ms;
		return TH_OK;
	}
	if (th_delegated_by(row->metadata).len || (d->skip && d->skip(d->ctx, row->session_id)))
		return TH_OK;
	one.level = th_priority_after(th_priority_of(row->metadata), d->now_ms - start_ms);
	one.running = (int64_t)(below(d, user, true) - below(d, user, false));
	th_queue_add(d->queue, &one);
	return TH_OK;
}

static enum th_code give(const struct due *d, struct th_store *s, th_session_fn *fn,
			 struct th_err *err)
{
	struct th_arena memory;
	struct th_str id;
	enum th_code code = TH_OK;

	th_arena_init_try(&memory, TH_BATCH_MEMORY_MAX);
	while (code == TH_OK && (id = th_queue_next(d->queue)).len > 0) {
		struct th_session_row row;

		th_arena_reset(&memory);
		code = s->kind->get(s, id, &memory, &row, err);
		if (code == TH_ENOENT)
			code = TH_OK; /* removed meanwhile */
		else if (code == TH_OK && th_str_is(row.state, th_state_name(TH_STATE_SCHEDULED)))
			code = fn(d->ctx, &row, err);
	}
	th_arena_deinit(&memory);
	return code;
}

enum th_code th_queue_due(struct th_store *s, int64_t now_ms, th_queue_skip_fn *skip,
			  th_session_fn *fn, void *ctx, int64_t *ret_next_ms, struct th_err *err)
{
	struct th_session_filter filter = { .state = th_str_of(th_state_name(TH_STATE_RUNNING)),
					    .order = TH_LIST_CREATED };
	struct due d = { .queue = th_queue_new(TH_FLEET_CLAIM_MAX),
			 .now_ms = now_ms,
			 .skip = skip,
			 .ctx = ctx };
	enum th_code code = s->kind->list(s, &filter, note_running, &d, err);

	if (d.count > 0)
		qsort(d.users, d.count, sizeof(*d.users), by_number);
	filter.state = th_str_of(th_state_name(TH_STATE_SCHEDULED));
	if (code == TH_OK)
		code = s->kind->list(s, &filter, note_due, &d, err);
	*ret_next_ms = d.next_ms;
	if (code == TH_OK)
		code = give(&d, s, fn, err);
	free(d.users);
	th_queue_free(d.queue);
	return code;
}
