/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.h - the history of a stored session as items, for programs that read
 * it.
 */
#ifndef TH_ADMIN_ITEMS_H
#define TH_ADMIN_ITEMS_H

#include "store/store.h"

/*
 * Appends the JSON list of the items that the store has, oldest first, of events
 * up to `to_seq` (0: all).
 * `first`: from which on; negative: from the end.  `count`: at most; 0: all.
 * TH_ELIMIT: they do not fit into `out`, or into memory.
 */
TH_NODISCARD enum th_code th_items_read(struct th_store *store, struct th_str session_id,
					uint64_t to_seq, int64_t first, size_t count,
					struct th_buf *out, struct th_err *err);
/* The same of all, each as {"number", "item"}, in {"next", "items"}: no other item of the session
 * ever has that number, whatever becomes of its history, and `next` is above all of them. */
TH_NODISCARD enum th_code th_items_read_numbered(struct th_store *store, struct th_str session_id,
						 uint64_t to_seq, struct th_buf *out,
						 struct th_err *err);

#endif
