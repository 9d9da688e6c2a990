/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser.h - what replaces a history that has become too long.  One condenser
 * is one file and one row of th_condensers; an agent names it in compact.condenser.
 *
 * A condenser is a pure function of the history: it says which items stay, and
 * what stands for the rest.  The driver writes that as a CONDENSATION event, so
 * a replay never asks again, and a fork from before it has the whole history.
 * One that needs a model's summary has the words to ask with; the driver asks
 * (a side request on the same prefix, so that the provider's cache holds) and
 * hands the answer over.
 *
 * Limits: TH_COMPACT_SUMMARY_MAX, TH_COMPACT_REFERENCES_MAX.
 */
#ifndef TH_CORE_CONDENSER_H
#define TH_CORE_CONDENSER_H

#include "core/agent.h"
#include "core/transcript.h"

struct th_condense {
	const struct th_agent_compact *options;
	const struct th_transcript *transcript;
	/* Of a condenser that asks: what the model answered, and the last event that it had read:
	 * later ones stay.  Empty and 0: nobody was asked. */
	struct th_str summary;
	uint64_t read_seq;
};

struct th_condenser {
	const char *name, *summary;
	/* Writes the marks (core/transcript.h) of what stays into an array that is open in `w`.
	 * Returns how many there are; 0: there is nothing to leave out, and nothing was written.
	 * What stays must be legal: see th_condenser_cut. */
	size_t (*condense)(const struct th_condense *c, struct th_jw *w);
	/* The words that a model is asked with, behind the history.  NULL: none is asked. */
	const char *prompt;
};

extern const struct th_condenser *const th_condensers[]; /* NULL-terminated */

/* TH_EUSAGE: `compact` (may be NULL) names no condenser that there is, or names both or neither of
 * a condenser and a function. */
TH_NODISCARD enum th_code th_condenser_check(const struct th_agent_compact *compact,
					     struct th_err *err);
/* The one that it names; it was checked. */
const struct th_condenser *th_condenser_of(const struct th_agent_compact *compact);

/* Appends the marks of what stays.  False: there is nothing to leave out. */
bool th_condense(const struct th_condenser *condenser, const struct th_condense *c,
		 struct th_buf *marks, size_t *ret_items);
/* The same for a history that its model does not take: about half of it goes, without a model. */
bool th_condense_half(const struct th_transcript *transcript, struct th_buf *marks,
		      size_t *ret_items);

/* ---- for condensers ---- */

/*
 * The last place, not after `at`, where a history can be cut: an answer stays whole, with its
 * reasoning, its calls and their results.  0: there is none.
 */
size_t th_condenser_cut(const struct th_transcript *transcript, size_t at);
/* The session's first message, or what began the task under way: it stays. */
bool th_condenser_pinned(const struct th_transcript *transcript, size_t at);
/* About how many bytes of text the model reads of it. */
size_t th_condenser_size(const struct th_transcript_item *item);
/* One item that stays. */
void th_condenser_mark(const struct th_transcript_item *item, struct th_jw *w);
/* A message of the user that stands for what was left out. */
void th_condenser_note(struct th_str text, struct th_jw *w);

/* The rows. */
extern const struct th_condenser th_condenser_recent, th_condenser_summary;

#endif
