/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known.c - what was written to sessions last by this process, so that
 * the next append to them need not be preceded by a look.
 *
 * It is only a guess: the statement that writes the rows compares owner, epoch
 * and number of the last event, and fails when one differs.  Then all of it is
 * forgotten, and the transaction is made again with a look.
 */
#include <stdlib.h>

#include "postgres/postgres.h"

#define CAP_MIN 256
#define CAP_MAX 16384
#define PROBES 8
#define TEXT_MAX 64 /* of user, agent, model; longer ones are looked up each time */

struct known {
	uint64_t hash, number; /* of the id; number 0: free */
	uint64_t seq, rest;    /* rest: th_session_row_rest */
	int64_t epoch;
	struct th_digest head;
	int64_t counts[6];
	uint8_t lens[3];
	char texts[3][TEXT_MAX];
};

struct th_pg_known {
	struct known *list;
	size_t cap, count;
};

struct th_pg_known *th_pg_known_new(void)
{
	struct th_pg_known *k = th_try_alloc(sizeof(*k));

	if (!k)
		return NULL;
	k->cap = CAP_MIN;
	k->list = th_try_alloc(k->cap * sizeof(*k->list));
	return k->list ? k : th_pg_known_free(k);
}

struct th_pg_known *th_pg_known_free(struct th_pg_known *k)
{
	if (k)
		free(k->list);
	free(k);
	return NULL;
}

void th_pg_known_clear(struct th_pg_known *k)
{
	if (!k)
		return;
	memset(k->list, 0, k->cap * sizeof(*k->list));
	k->count = 0;
}

/* Where it is, or a free place, or that of another, which is looked up when it is wanted. */
static struct known *slot(struct known *list, size_t cap, uint64_t hash, uint64_t number)
{
	struct known *to = &list[hash & (cap - 1)];

	for (size_t i = PROBES; i-- > 0;) {
		struct known *k = &list[(hash + i) & (cap - 1)];

		if (k->number == number)
			return k;
		if (k->number == 0)
			to = k;
	}
	return to;
}

/* Twice as large, if there is memory. */
static void grow(struct th_pg_known *k)
{
	struct known *list = th_try_alloc(k->cap * 2 * sizeof(*list));

	if (!list)
		return;
	for (size_t i = 0; i < k->cap; i++)
		if (k->list[i].number > 0)
			*slot(list, k->cap * 2, k->list[i].hash, k->list[i].number) = k->list[i];
	free(k->list);
	k->list = list;
	k->cap *= 2;
}

bool th_pg_known_find(const struct th_pg_known *k, const struct th_append *a, uint64_t *ret_number,
		      uint64_t *ret_rest, struct th_session_row *ret)
{
	struct th_str id = a->row->session_id;
	uint64_t hash = th_hash64(id.ptr, id.len);

	for (size_t i = 0; i < PROBES; i++) {
		const struct known *e = &k->list[(hash + i) & (k->cap - 1)];

		/* The head is a digest of the id, too: it cannot be another session. */
		if (e->number == 0 || e->hash != hash || e->seq != a->seq_before ||
		    e->epoch != a->row->epoch || !th_digest_eq(&e->head, &a->head_before))
			continue;
		*ret_number = e->number;
		*ret_rest = e->rest;
		*ret = (struct th_session_row){
			.session_id = id,
			.user = { e->texts[0], e->lens[0] },
			.agent = { e->texts[1], e->lens[1] },
			.model = { e->texts[2], e->lens[2] },
			.head_seq = e->seq,
			.head = e->head,
			.epoch = e->epoch,
			.iteration = e->counts[0],
			.calls = e->counts[1],
			.tokens_in = e->counts[2],
			.tokens_cached = e->counts[3],
			.tokens_out = e->counts[4],
			.cost_nano = e->counts[5],
		};
		return true;
	}
	return false;
}

void th_pg_known_note(struct th_pg_known *k, uint64_t number, const struct th_session_row *row)
{
	const struct th_str texts[] = { row->user, row->agent, row->model };
	uint64_t hash = th_hash64(row->session_id.ptr, row->session_id.len);
	struct known *to;

	if (k->count * 2 >= k->cap && k->cap < CAP_MAX)
		grow(k);
	to = slot(k->list, k->cap, hash, number);
	for (size_t i = 0; i < TH_COUNT(texts); i++)
		if (texts[i].len > TEXT_MAX) {
			if (to->number == number)
				*to = (struct known){ 0 };
			return;
		}
	k->count += to->number == 0;
	*to = (struct known){
		.hash = hash,
		.number = number,
		.seq = row->head_seq,
		.rest = th_session_row_rest(row),
		.epoch = row->epoch,
		.head = row->head,
		.counts = { row->iteration, row->calls, row->tokens_in, row->tokens_cached,
			    row->tokens_out, row->cost_nano },
	};
	for (size_t i = 0; i < TH_COUNT(texts); i++) {
		to->lens[i] = (uint8_t)texts[i].len;
		if (texts[i].len > 0)
			memcpy(to->texts[i], texts[i].ptr, texts[i].len);
	}
}
