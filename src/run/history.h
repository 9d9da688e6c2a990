/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - a session's history as its provider wants to read it: rendered
 * once, event by event, and kept as immutable pieces, so that a request costs
 * the new items and not the old ones.
 *
 * Holes stand where a blob's base64 belongs; the blobs are not kept here.
 * Messages that come while calls are open are held back until the calls have
 * their results, because every wire wants results right after their calls; and
 * those that come while the model is asked, until it has answered: so a request
 * is what the log says up to its event, however late it is sent, and an answer
 * never stands behind what it has not read.
 */
#ifndef TH_RUN_HISTORY_H
#define TH_RUN_HISTORY_H

#include "core/event.h"
#include "models/model.h"

struct th_history;

struct th_history *th_history_new(const struct th_request_options *options); /* borrowed */
struct th_history *th_history_free(struct th_history *h);

/* Takes the next event of the log, in order; events that show nothing to the model are skipped. */
TH_NODISCARD enum th_code th_history_add(struct th_history *h, const struct th_event *ev,
					 struct th_err *err);
uint64_t th_history_seq(const struct th_history *h); /* of the last event taken */
size_t th_history_items(const struct th_history *h); /* in the next request */
bool th_history_full(const struct th_history *h);    /* no further message can be held back */
size_t th_history_size(const struct th_history *h);  /* bytes in memory */

/*
 * The pieces in order: bytes, or a hole (bytes.ptr == NULL) for `blob`.  They
 * stay until the history is freed, so a request in flight may point at them.
 */
struct th_piece {
	struct th_str bytes;
	struct th_digest blob;
};
size_t th_history_piece_count(const struct th_history *h);
struct th_piece th_history_piece(const struct th_history *h, size_t index);

#endif
