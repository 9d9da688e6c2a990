/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log_feed.h - the log of a session, read in pieces beside the loop and given to who
 * makes something of it, a few events in a pass: other sessions have their turns in
 * between.
 */
#ifndef TH_RUNTIME_LOG_FEED_H
#define TH_RUNTIME_LOG_FEED_H

#include "io/loop.h"
#include "stores/reader.h"

/* Who takes it.  All are called on the loop, with the ctx of th_log_feed_begin. */
struct th_log_taker {
	/* False: it is complete.  from > to: nothing is to be read before `next`. */
	bool (*wants)(void *ctx, uint64_t *ret_from, uint64_t *ret_to);
	enum th_code (*take)(void *ctx, const struct th_event *ev, const struct th_digest *digest,
			     struct th_err *err);
	enum th_code (*next)(void *ctx, struct th_err *err); /* all that it wanted was taken */
	/* Once, and the feed is gone; `err` NULL: it is complete. */
	void (*over)(void *ctx, const struct th_err *err);
};

struct th_log_feed;

/* The taker is borrowed, and must want something.  `over` never comes before this returns. */
TH_NODISCARD enum th_code th_log_feed_begin(struct th_loop *loop, struct th_reader *reader,
					    struct th_str session_id,
					    const struct th_log_taker *taker, void *ctx,
					    struct th_log_feed **ret, struct th_err *err);
/* Nothing of the taker is called any more.  Takes NULL, returns NULL. */
struct th_log_feed *th_log_feed_drop(struct th_log_feed *f);

#endif
