/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - the memory store as the simulator uses it: opened without a loop,
 * a commit happens when the simulator says so, and a process may die first.
 *
 * "memory:" is the opener's own; stores opened as "memory:NAME" share their
 * data in this process for as long as one of them is open.  Nothing in it is
 * random, and it reads no clock.
 */
#ifndef TH_STORE_MEMORY_H
#define TH_STORE_MEMORY_H

#include "store/store.h"

extern const struct th_store_kind th_store_memory;

/* Batches given to `commit` whose callback has not come. */
size_t th_memory_pending(const struct th_store *s);
/* Carries out the oldest of them and calls back; false when there is none. */
bool th_memory_step(struct th_store *s);
/* The process dies: of its pending batches the first `written` are in the store all the same, no
 * callback comes, its leases are free to take.  The store is closed. */
void th_memory_crash(struct th_store *s, size_t written);
/* From now on every commit fails with this code, TH_EIO for good; TH_OK ends the trouble. */
void th_memory_fail(struct th_store *s, enum th_code code);

#endif
