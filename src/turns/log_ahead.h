/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_ahead.h - a long log is read beside the loop before something needs it.
 *
 * A request, a handoff or a verdict may need what was said before: the history, made
 * anew, or the items that the model sees.  Both are folds of the log.  Where the log is
 * short, it is read on the loop, by whoever needs it.  Where it is longer than
 * th_driver.log_short, the world reads it in pieces (world.h: log_ask), and the effect
 * that needs it is held until the fold is there; what became durable meanwhile is then
 * read on the loop.  A session has one such fold at a time.
 */
#ifndef TH_TURNS_LOG_AHEAD_H
#define TH_TURNS_LOG_AHEAD_H

#include "live/live.h"

/*
 * Whether what th_live_transcript reads of the log up to `upto`, all durable, is short.  False:
 * it is read beside the loop; the effect (REQUEST, MODEL_CALL, HAND_OVER, JUDGE; `call_seq` as in
 * struct th_held) is held until then, and asks again.
 */
bool th_live_items_here(struct th_live *l, uint64_t upto, enum th_effect_kind effect,
			uint64_t call_seq);
/* The same for the history that a request needs; it is there, or short to make, where this is true.
 */
bool th_live_history_here(struct th_live *l, enum th_effect_kind effect, uint64_t call_seq);

/* All of its log is more than is read on the loop. */
bool th_live_log_is_long(const struct th_live *l);
/* A request of which nothing is left to ask: what it needed of the log may go. */
void th_live_items_used(struct th_live *l);
/* The history is another one from now on (agent, model, what is left of it): it is due, and made
 * when a request needs it. */
void th_live_history_retire(struct th_live *l);
/* Nothing is made any more, and nothing is held for it: the session ends. */
void th_live_ahead_free(struct th_live *l);

#endif
