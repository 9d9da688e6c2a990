/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reservations.h - room for sessions that are about to run, reserved and given back beside the
 * loop (store.h, reserve_many).
 *
 * One job at a time is with the writer.  What is asked for meanwhile goes into the next one, all of
 * it in two transactions: first what is given back, then what is reserved.  Where another runtime
 * counts the same user's, it is asked for again in a moment, and what was asked for later waits
 * behind it.
 */
#ifndef TH_RUNTIME_RESERVATIONS_H
#define TH_RUNTIME_RESERVATIONS_H

#include "stores/reader.h"

struct th_reservations;
struct th_reserve;

/* On the loop, once; `err` NULL: it is reserved.  TH_ELIMIT: there is no room. */
typedef void th_reserved_fn(void *ctx, const struct th_err *err);

/* `writer` outlives it. */
struct th_reservations *th_reservations_new(struct th_loop *loop, struct th_store *store,
					    struct th_reader *writer);
/* Nobody is told; what is reserved ends with the store.  Takes NULL, returns NULL. */
struct th_reservations *th_reservations_free(struct th_reservations *l);

/* `r` is copied.  The ask lives until `done`, or th_reserve_drop. */
struct th_reserve *th_reserve(struct th_reservations *l, const struct th_session_room *r,
			      th_reserved_fn *done, void *ctx);
/* `done` is not called; what was reserved meanwhile is given back. */
void th_reserve_drop(struct th_reserve *ask);

/* What is not there any more is passed over.  A database that cannot be reached is asked again,
 * TH_LEASE_GIVE_TRIES times; after that it ends with this process. */
void th_unreserve(struct th_reservations *l, struct th_str name);

#endif
