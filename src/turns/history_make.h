/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history_make.h - the history of a session as its current agent sees it, made of
 * the log, whose events are all durable.
 *
 * It takes the log's events one by one, so that whoever reads them decides how many
 * it takes at once.  A history that was rewritten (compacted, limited, filtered) is
 * made of the list of items that is left, and what came after.
 */
#ifndef TH_TURNS_HISTORY_MAKE_H
#define TH_TURNS_HISTORY_MAKE_H

#include "live/live.h"

/* The history is something other than the log from its beginning. */
bool th_live_history_rewritten(const struct th_live *l);
/* The last event whose items it needs, where it is made of items, of the events up to `seq`. */
uint64_t th_history_making_items(const struct th_live *l, uint64_t seq);
/* What the current agent sees of the log up to `upto`, all durable, and of `next`, an event that
 * follows (NULL: none). */
TH_NODISCARD enum th_code th_live_transcript(struct th_live *l, uint64_t upto,
					     const struct th_event *next,
					     struct th_transcript *transcript, struct th_err *err);

struct th_history_making {
	struct th_live *live;
	struct th_history *history;
	struct th_transcript transcript; /* while items are collected */
	enum {
		TH_MAKING_ITEMS, /* up to the request whose filter counts, or all */
		TH_MAKING_MARKS, /* that request: its filter's marks, and what follows */
		TH_MAKING_REST   /* events that are rendered as they come */
	} phase;
	bool asked;                    /* a request is open: it sees nothing later */
	uint64_t from, to;             /* the events that come next; from > to: none */
	uint64_t upto, marks_seq, seq; /* ends of the three phases */
};

/* Of the events up to `seq`.  th_history_making_end must follow. */
TH_NODISCARD enum th_code th_history_making_begin(struct th_live *l, uint64_t seq,
						  struct th_history_making *m, struct th_err *err);
/* False: it is complete.  Else the events from..to are to be taken, and then th_.._next called. */
bool th_history_making_wants(const struct th_history_making *m, uint64_t *ret_from,
			     uint64_t *ret_to);
enum th_code th_history_making_take(void *ctx, const struct th_event *ev,
				    const struct th_digest *digest,
				    struct th_err *err); /* ctx: `m` */
TH_NODISCARD enum th_code th_history_making_next(struct th_history_making *m, struct th_err *err);
/* One that is complete goes on with the events up to `seq`, which were written since. */
void th_history_making_more(struct th_history_making *m, uint64_t seq);
/* The caller's.  NULL: it was not complete. */
struct th_history *th_history_making_end(struct th_history_making *m);

#endif
