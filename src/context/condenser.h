/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condenser.h - what replaces a history that has become too long.  One condenser
 * is one file and one row of th_condensers; an agent names it in
 * compact.condenser, or several in a pipeline.
 *
 * A condenser is a pure function of the history: of each item it says whether it
 * stays, goes, or is masked (a result whose text goes).  What is the same for
 * all is in condenser_plan.c: an answer, its calls and their results live or go
 * together; what is pinned stays; a note stands for what went.  The driver
 * writes the outcome as a CONDENSATION event, so a replay never asks again, and
 * a fork from before it has the whole history.
 *
 * One that needs a model has the words to ask with; the driver asks (a side
 * request, on the session's own prefix where the condenser reads the history as
 * it is, so that the provider's cache holds) and hands the answer over.
 *
 * Applied to what it left, a condenser that asks nobody leaves all of it.
 *
 * Limits: TH_COMPACT_SUMMARY_MAX, TH_COMPACT_REFERENCES_MAX, TH_COMPACT_STATE_MAX,
 * TH_CONDENSERS_MAX, TH_COMPACT_LISTED_MAX, TH_COMPACT_PINS_MAX, TH_COMPACT_TASK_PERCENT.
 */
#ifndef TH_CONTEXT_CONDENSER_H
#define TH_CONTEXT_CONDENSER_H

#include "agents/agent.h"
#include "transcript/transcript.h"

/* Why it is looked at; bits. */
enum th_condense_reason {
	TH_CONDENSE_ITEMS = 1 << 0,  /* a limit of items or bytes is passed */
	TH_CONDENSE_TOKENS = 1 << 1, /* of tokens, or the provider says that it is too long */
	TH_CONDENSE_ASKED = 1 << 2,  /* somebody asks for it */
};
#define TH_CONDENSE_LIMIT (TH_CONDENSE_ITEMS | TH_CONDENSE_TOKENS)

struct th_condense {
	const struct th_agent_compact *options;
	const struct th_transcript *transcript;
	unsigned reasons;
	uint64_t fresh; /* items since the last condensation */
	/* Tokens of the history, and how many it may have; 0: not known. */
	int64_t tokens, tokens_max;
	/* Bytes of the user's messages that are pinned. */
	size_t pins;
	/* What is said again with each note: open tasks, decisions for good, notes; may be empty.
	 */
	struct th_str state;
	/* Of a condenser that asks: what the model answered, as `read` left it, and the last event
	 * that it had read: later ones stay.  Empty and 0: nobody was asked. */
	struct th_str summary;
	uint64_t read_seq;
};

/* What becomes of an item.  PINNED: the condenser left it out, and it stays. */
enum th_condense_fate {
	TH_FATE_STAYS,
	TH_FATE_GOES,
	TH_FATE_MASKED,
	TH_FATE_PINNED,
};

struct th_condense_plan {
	const struct th_condense *c;
	const struct th_transcript *t;
	struct th_agent_condenser own; /* its numbers, all of them filled in */
	struct th_arena memory;
	uint8_t *fates;       /* enum th_condense_fate of each item */
	bool *legal;          /* may it be cut before this item?  One more than there are items */
	size_t *group;        /* where the answer begins that the item belongs to, or itself */
	struct th_str *masks; /* text of the masked */
	struct th_buf note;   /* beside how many went; empty: nothing else is said */
	bool spares;          /* an answer of which one item stays, stays */
	size_t masked;
};

struct th_condenser {
	const char *name, *summary;
	const char *numbers[5];        /* those that it has, NULL-terminated */
	struct th_agent_condenser own; /* as they are where nothing is said */
	unsigned reasons;              /* that it acts on, beside its own numbers */
	/* By its own numbers, with `items` in the history, `fresh` of them since the last
	 * condensation.  NULL: never. */
	bool (*due)(const struct th_agent_condenser *own, uint64_t items, uint64_t fresh);
	/* Sets fates, and appends to the note.  Nothing set: there is nothing to leave out. */
	void (*plan)(struct th_condense_plan *p);
	/* The words that a model is asked with, once it is known what would go.  NULL: none is
	 * asked.  Where max_event_length is set they have the items, and the history is not sent.
	 */
	void (*ask)(const struct th_condense_plan *p, struct th_buf *text);
	/* What the answer says, for `plan`.  NULL: the text, as it is. */
	enum th_code (*read)(struct th_str text, struct th_buf *out, struct th_err *err);
};

extern const struct th_condenser *const th_condensers[]; /* NULL-terminated */

/* TH_EUSAGE: `compact` (may be NULL) names no condenser that there is, names both or neither of a
 * condenser and a function, or gives a number that does not fit. */
TH_NODISCARD enum th_code th_condenser_check(const struct th_agent_compact *compact,
					     struct th_err *err);
/* The one that it names; it was checked.  NULL: a function. */
const struct th_condenser *th_condenser_of(const struct th_agent_compact *compact);
const struct th_condenser *th_condenser_find(struct th_str name); /* or NULL */
/* Its numbers: those given, else its own. */
struct th_agent_condenser th_condenser_own(const struct th_condenser *condenser,
					   const struct th_agent_condenser *given);

/* Would one of them act on these reasons, or by its own numbers? */
bool th_condenser_due(const struct th_agent_compact *compact, unsigned reasons, uint64_t items,
		      uint64_t fresh);
/* Has one of them numbers of its own that say when it acts, or is there a limit of tokens that one
 * of them asks a model for? */
bool th_condenser_sizes(const struct th_agent_compact *compact, bool tokens);
/* Does one of them ever ask a model? */
bool th_condenser_asks(const struct th_agent_compact *compact);

struct th_condensed {
	const struct th_condenser *by;  /* the one that left something out, or masked it */
	const struct th_condenser *ask; /* set: a model is to be asked first, with its words */
	struct th_agent_condenser own;  /* of that one */
	size_t items, gone, masked;
	uint64_t left_out;            /* items, with those of earlier condensations */
	uint64_t first_seq, last_seq; /* events of what went or was masked */
	struct th_str summary; /* that the note has: the model's, or that of an earlier note */
};

/*
 * Appends the marks (transcript/transcript.h) of what stays; with ret->ask, the words to ask with.
 * False: there is nothing to leave out, and nothing was written.
 */
bool th_condense(const struct th_condense *c, struct th_buf *out, struct th_condensed *ret);
/* The marks, for a history that its model does not take: about half of it goes, without a model. */
bool th_condense_half(const struct th_condense *c, struct th_buf *marks, struct th_condensed *ret);

/* ---- for condensers (condenser_plan.c, condenser_cut.c) ---- */

/* `loose`: loops with reasoning may be cut, where nothing else helps. */
void th_condense_plan_init(struct th_condense_plan *p, const struct th_condense *c, bool loose);
void th_condense_plan_deinit(struct th_condense_plan *p);
/* What this condenser says of it. */
void th_condense_plan_by(struct th_condense_plan *p, const struct th_condenser *condenser,
			 const struct th_agent_condenser *given);
/* Makes it legal, and pins.  Returns how many items go; notes of earlier times are not counted. */
size_t th_condense_plan_settle(struct th_condense_plan *p);
size_t th_plan_gone_size(const struct th_condense_plan *p); /* bytes of these */
/* The marks of what stays, and what they are. */
void th_condense_plan_print(const struct th_condense_plan *p, struct th_buf *marks,
			    struct th_condensed *ret);

/*
 * The last place, not after `at`, where a history can be cut, and the first, not before it: an
 * answer stays whole, with its reasoning, its calls and their results; and so does a loop of calls
 * in which only earlier answers have reasoning, as their provider wants it.
 */
size_t th_plan_cut_before(const struct th_condense_plan *p, size_t at);
size_t th_plan_cut_after(const struct th_condense_plan *p, size_t at);
/* Where the newest items begin: at least one stays, and what the model had not read. */
size_t th_plan_tail(const struct th_condense_plan *p, size_t keep);
void th_plan_drop(struct th_condense_plan *p, size_t from, size_t to);
void th_plan_mask(struct th_condense_plan *p, size_t at, struct th_str text);
/* A result whose text may go. */
bool th_plan_may_mask(const struct th_condense_plan *p, size_t at);
/* Nothing is left out after all. */
void th_plan_keep_all(struct th_condense_plan *p);
/* The note says what the model answered. */
void th_plan_note_summary(struct th_condense_plan *p);

/* The session's first message, or what began the task under way: it stays. */
bool th_condenser_pinned(const struct th_transcript *transcript, size_t at);
/* What a provider made of the items before it; the newest is pinned. */
bool th_condenser_is_compaction(const struct th_transcript_item *item);
size_t th_condenser_pinned_size(const struct th_transcript *transcript); /* bytes of both */
/* One that somebody said. */
bool th_condenser_said(const struct th_transcript_item *item);
/* About how many bytes of text the model reads of it. */
size_t th_condenser_size(const struct th_transcript_item *item);
/* <EVENT id=…> blocks of the items from..to, each of at most `each` bytes. */
void th_condenser_list(const struct th_transcript *transcript, size_t from, size_t to, size_t each,
		       struct th_buf *out);

/* Has enough come since the last condensation, of a history that has so many items?  What is pinned
 * may be more than a limit lets in, and then each turn would be condensed. */
bool th_condenser_is_fresh(uint64_t items, uint64_t fresh);

/* ---- for those that ask a model ---- */

bool th_condenser_max_size(const struct th_agent_condenser *own, uint64_t items, uint64_t fresh);
/* The middle goes, so that half of max_size stay, with the summary. */
void th_plan_drop_middle(struct th_condense_plan *p);
/* The words, behind the items where max_event_length is set. */
void th_plan_ask(const struct th_condense_plan *p, const char *words, struct th_buf *text);
/* The JSON object that an answer is, or has within it. */
TH_NODISCARD enum th_code th_condenser_json(struct th_str text, struct th_json_doc **ret,
					    struct th_err *err);

/* The rows. */
extern const struct th_condenser th_condenser_noop, th_condenser_recent, th_condenser_observation,
    th_condenser_browser, th_condenser_amortized, th_condenser_llm, th_condenser_attention,
    th_condenser_structured, th_condenser_window, th_condenser_pipeline, th_condenser_summarizing,
    th_condenser_summary, th_condenser_provider;

#endif
