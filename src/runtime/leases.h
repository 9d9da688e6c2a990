/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leases.h - sessions of the store taken and given back beside the loop.
 *
 * One job at a time is with the writer (th_reader of the loop's own handle).
 * What is asked for meanwhile goes into the next one, all of it in two
 * transactions: first what is given back, then what is taken.
 */
#ifndef TH_RUNTIME_LEASES_H
#define TH_RUNTIME_LEASES_H

#include "stores/reader.h"

struct th_leases;
struct th_lease;

/* On the loop.  `row` as store->lease gives it, as long as this call; NULL: `err` says why not. */
typedef void th_leased_fn(void *ctx, const struct th_session_row *row, const struct th_err *err);

/* `writer` outlives it. */
struct th_leases *th_leases_new(struct th_loop *loop, struct th_store *store,
				struct th_reader *writer);
/* What is to be given back is, before this returns; who waits for a lease is not told, and has
 * none.  Takes NULL, returns NULL. */
struct th_leases *th_leases_free(struct th_leases *l);

/* The ask lives until `done`, or th_lease_drop. */
struct th_lease *th_lease_take(struct th_leases *l, struct th_str id, th_leased_fn *done,
			       void *ctx);
/* For who cannot wait: `done` is called before this returns.  Not to be called from a `done`: the
 * job whose end it waits for is the one that tells it. */
void th_lease_take_now(struct th_lease *ask);
/* `done` is not called; what was taken meanwhile is given back. */
void th_lease_drop(struct th_lease *ask);

/* One that is not held any more is passed over.  A database that cannot be reached is asked again,
 * TH_LEASE_GIVE_TRIES times; after that the session is free when this process ends. */
void th_lease_give(struct th_leases *l, const struct th_held *held);

/* Is this session still to be given back?  Until it was, its name is not used for another one,
 * whose first epoch may be the same. */
bool th_lease_gives(const struct th_leases *l, struct th_str id);
void th_lease_give_now(struct th_leases *l, struct th_str id); /* for who cannot wait */

/* Is any to be given back still?  `fn` is called, from the loop, when none is any more. */
bool th_leases_give(const struct th_leases *l);
void th_leases_when_given(struct th_leases *l, void (*fn)(void *ctx), void *ctx);

#endif
