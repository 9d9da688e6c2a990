/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - a session's history as its provider wants to read it: rendered
 * once, event by event, and kept as immutable pieces, so that a request costs
 * the new items and not the old ones.
 *
 * Pictures are named by their blobs, which are not kept here; which of them are
 * sent is decided when a request is built.
 * Messages that come while calls are open are held back until the calls have
 * their results, because every wire wants results right after their calls; and
 * those that come while the model is asked, until it has answered: so a request
 * is what the log says up to its event, however late it is sent, and an answer
 * never stands behind what it has not read.
 */
#ifndef TH_HISTORY_HISTORY_H
#define TH_HISTORY_HISTORY_H

#include "events/event.h"
#include "history/pieces.h"
#include "models/model.h"
#include "transcript/parsed.h"
#include "transcript/transcript.h"

struct th_history;

/* NULL: out of memory.  The options are borrowed. */
TH_NODISCARD struct th_history *th_history_new(const struct th_request_options *options);
struct th_history *th_history_free(struct th_history *h);

/* Takes the next event of the log, in order; events that show nothing to the model are skipped.
 * TH_ENOMEM: of no use any more, to be made anew. */
TH_NODISCARD enum th_code th_history_add(struct th_history *h, const struct th_event *ev,
					 struct th_err *err);
/* The same of an event that is parsed already. */
TH_NODISCARD enum th_code th_history_add_parsed(struct th_history *h, const struct th_parsed *p,
						struct th_err *err);
/* The same, as the store's readers take it (store->read); ctx: the history. */
TH_NODISCARD enum th_code th_history_fill(void *ctx, const struct th_event *ev,
					  const struct th_digest *digest, struct th_err *err);
/* Begins with these items instead of with events up to `seq`; `asked`: that is a request. */
TH_NODISCARD enum th_code th_history_begin(struct th_history *h,
					   const struct th_transcript *transcript, uint64_t seq,
					   bool asked, struct th_err *err);
size_t th_history_items(const struct th_history *h); /* groups in the next request */
size_t th_history_tail(const struct th_history *h);  /* of these, behind the last answer */
size_t th_history_images(const struct th_history *h);
bool th_history_last_image(const struct th_history *h, struct th_digest *ret); /* false: none */
/* The elements that are marked on the newest picture that has marks, as actions/mark.h prints them;
 * empty: none has.  Borrowed until the next event. */
struct th_str th_history_elements(const struct th_history *h);
bool th_history_full(const struct th_history *h); /* no further message can be held back */

/*
 * What a request sends of it: slices in order.  Bytes stay until the history is freed, so a
 * request in flight may point at them; *ret is the caller's, for free.
 *
 * At most `images_keep` pictures are sent, the newest; 0: all.  Older ones are
 * left out in steps of half as many, so that most requests begin with the bytes
 * of the one before and the provider's cache holds.  A picture that is the same
 * as the one before it is not sent again where the wire has a word for that.
 */
size_t th_history_slices(const struct th_history *h, size_t images_keep, struct th_slice **ret);
/* The same for what follows the last answer, for a request that continues from it. */
size_t th_history_tail_slices(const struct th_history *h, size_t images_keep,
			      struct th_slice **ret);

#endif
