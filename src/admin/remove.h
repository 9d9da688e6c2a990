/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remove.h - a session deleted for good, with those that work for it.
 */
#ifndef TH_ADMIN_REMOVE_H
#define TH_ADMIN_REMOVE_H

#include "base/arena.h"
#include "store/store.h"

/* Names; the first is the session's.  Where the log says that the executor of each is (may be
 * empty), and an epoch after its last owner's, which such an executor asks for. */
struct th_family {
	struct th_arena memory;
	struct th_str ids[TH_REMOVE_SESSIONS_MAX], places[TH_REMOVE_SESSIONS_MAX];
	int64_t epochs[TH_REMOVE_SESSIONS_MAX];
	size_t count;
};
struct th_family *th_family_free(struct th_family *f); /* takes NULL, returns NULL */

/*
 * On any thread (see store.h): `reads` is a handle of that thread's, and may be `store`.
 *
 * Removes the session and those that work for it from the store, all or none; what they used stays
 * in its sums.  *ret: who is gone, whose executors the caller may end.  ENOENT; EBUSY, in a
 * sentence: it works for another, shares its events with a fork, or another runtime has one of
 * them.  What is left behind goes by store->sweep.
 */
TH_NODISCARD enum th_code th_session_remove(struct th_store *reads, struct th_store *store,
					    struct th_str session_id, struct th_family **ret,
					    struct th_err *err);

#endif
