/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rates.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/limits.h"

#define SLOTS 4096

struct th_rate {
	struct th_rate *next;
	double left, per_second;
	uint64_t at_ms;
	size_t len;
	char name[];
};

static void fill(struct th_rate *b, double per_second, uint64_t now_ms)
{
	double most = per_second > 1 ? per_second : 1;

	b->left += (double)(now_ms - b->at_ms) * per_second / 1000;
	if (b->left > most)
		b->left = most;
	b->per_second = per_second;
	b->at_ms = now_ms;
}

/* A full bucket says nothing that a new one would not; when none is, all begin anew. */
static void forget(struct th_rates *r, uint64_t now_ms, bool all)
{
	for (size_t i = 0; i < SLOTS; i++) {
		struct th_rate **at = &r->table[i];

		while (*at) {
			struct th_rate *b = *at;

			fill(b, b->per_second, now_ms);
			if (!all && b->left < b->per_second) {
				at = &b->next;
				continue;
			}
			*at = b->next;
			free(b);
			r->count--;
		}
	}
}

static struct th_rate *get(struct th_rates *r, struct th_str name, double per_second,
			   uint64_t now_ms)
{
	struct th_rate **at, *b;

	if (!r->table) {
		r->table = th_alloc(SLOTS * sizeof(struct th_rate *));
		memset(r->table, 0, SLOTS * sizeof(struct th_rate *));
	}
	at = &r->table[th_hash64(name.ptr, name.len) % SLOTS];
	for (b = *at; b; b = b->next)
		if (th_str_eq(th_str_n(b->name, b->len), name))
			return b;
	if (r->count >= TH_SERVE_RATE_USERS_MAX)
		forget(r, now_ms, false);
	if (r->count >= TH_SERVE_RATE_USERS_MAX)
		forget(r, now_ms, true);
	b = th_alloc(sizeof(*b) + name.len);
	*b = (struct th_rate){ .next = *at, .left = per_second, .at_ms = now_ms, .len = name.len };
	if (b->left < 1)
		b->left = 1;
	memcpy(b->name, name.ptr, name.len);
	*at = b;
	r->count++;
	return b;
}

uint64_t th_rates_take(struct th_rates *r, struct th_str name, double per_second, uint64_t now_ms)
{
	struct th_rate *b;

	if (per_second <= 0)
		return 0;
	b = get(r, name, per_second, now_ms);
	fill(b, per_second, now_ms);
	if (b->left < 1)
		return (uint64_t)((1 - b->left) * 1000 / per_second) + 1;
	b->left -= 1;
	return 0;
}

void th_rates_deinit(struct th_rates *r)
{
	if (r->table)
		forget(r, UINT64_MAX, true);
	free(r->table);
	*r = (struct th_rates){ 0 };
}
