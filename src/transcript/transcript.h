/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript.h - what was said and done so far, as a list of items in the Responses
 * API's form: for those who look at a history (filters, exports), and for
 * histories that are not simply the log from its beginning.
 *
 * A fold of its own: events that take something back (a tripped guardrail,
 * items removed) do so here.  An item is named by its event and its index
 * there, so that a narrowed history is a list of names ("marks").
 */
#ifndef TH_TRANSCRIPT_TRANSCRIPT_H
#define TH_TRANSCRIPT_TRANSCRIPT_H

#include "base/arena.h"
#include "events/event.h"
#include "events/native.h"

/* What stands for a result that an output guardrail refused, where its event says nothing else. */
#define TH_OUTPUT_WITHHELD "Output withheld by an output guardrail."

enum th_transcript_kind {
	TH_TRANSCRIPT_MESSAGE, /* role and content */
	TH_TRANSCRIPT_OUTPUT,  /* the model's: a message, reasoning, a call */
	TH_TRANSCRIPT_RESULT   /* of a call */
};

/* Who answered: as the request's event says it. */
struct th_transcript_who {
	bool model; /* one did */
	struct th_str agent;
	size_t choice;
};

struct th_transcript_item {
	uint64_t seq; /* event, and which of its items; {0, 0}: of no event */
	size_t index;
	uint64_t number; /* no other item of this transcript ever has it */
	enum th_transcript_kind kind;
	struct th_str role, content;  /* MESSAGE: content is JSON */
	struct th_str item;           /* OUTPUT: verbatim; RESULT: the call's item, or empty */
	struct th_str raw;            /* OUTPUT 0 of an answer: the provider's own form of it */
	size_t of;                    /* OUTPUT: how many items its answer has */
	bool bare;                    /* OUTPUT: the reasoning right before it is gone */
	bool made;                    /* a condensation put it there, in place of others */
	struct th_transcript_who who; /* OUTPUT, and RESULT: of its call */
	struct th_str call_id, tool;  /* RESULT, and OUTPUT that is a call */
	struct th_str output;         /* RESULT: as the log has it (a string or parts), JSON */
	struct th_str acknowledged;
	enum th_outcome_status status; /* RESULT: of an item of the API's own, as is evidence */
	struct th_str evidence;
	int64_t whole; /* RESULT: bytes of all of it, which a blob has; 0: `output` is all */
};

struct th_transcript {
	struct th_arena memory;
	struct th_transcript_item *list;
	size_t count, cap;
	uint64_t numbers;      /* how many items there ever were */
	uint64_t task_seq;     /* what began the task under way, */
	size_t task_at;        /* and the items before it; see th_transcript_limit */
	size_t run_at;         /* where what the task brought begins; SIZE_MAX: nothing yet */
	uint64_t answer_seq;   /* of the last answer, */
	size_t answer_at;      /* where its items begin, */
	size_t results_at;     /* and those of its results */
	size_t tail_at;        /* where what is new since that begins; 0: all is */
	struct th_str summary; /* of the last condensation; empty: it has none */
	uint64_t left_out;     /* items, by all condensations */
	struct th_transcript_who asked; /* of the last request */
	size_t asked_at; /* where its answer belongs: before what was said meanwhile; or SIZE_MAX */
	bool kept;       /* the provider goes on with it: the next request fetches the answer */
	/* Before a task's code changed it, while that task is under way, and where it goes on. */
	struct th_transcript_item *aside;
	size_t aside_count, joined_at;
	/* What was said after the first event, up to the second, a guardrail has refused; 0, 0:
	 * nothing.  It goes when another task begins; who lets this one go on has it looked at
	 * anew. */
	uint64_t refused_after, refused_upto;
	bool waited;  /* the last answer's calls waited for a person */
	bool over;    /* no task is under way */
	bool refused; /* a guardrail refused what the task began with */
	bool narrow;  /* the history of the agent that speaks, not the whole session's */
	bool no_memory;
};

/* `narrow`: handoffs that narrow the history do so here. */
void th_transcript_init(struct th_transcript *p, bool narrow);
void th_transcript_deinit(struct th_transcript *p);
/* The same list, to be cut or filtered; its strings are those of `of`, which stays as it is until
 * this one is freed.  False: out of memory. */
TH_NODISCARD bool th_transcript_copy(struct th_transcript *ret, const struct th_transcript *of);
/* The next event of the log, in order.  TH_ELIMIT: it is too large to be held. */
TH_NODISCARD enum th_code th_transcript_add(struct th_transcript *p, const struct th_event *ev,
					    struct th_err *err);

/* Of what was before the task only the newest `max` items stay. */
void th_transcript_limit(struct th_transcript *p, size_t max);
/* Calls without result, results without call and second results go, and the reasoning right before
 * such a call. */
void th_transcript_prune(struct th_transcript *p);

/* As a handoff sees it there are three parts: what the run began with, up to the first of these;
 * what it brought before the turn under way, up to the second; and the turn.  A turn that waited
 * for a person begins anew behind its answer when it goes on, as it does in the Agents SDK. */
size_t th_transcript_run_at(const struct th_transcript *p);
size_t th_transcript_turn_at(const struct th_transcript *p);

/*
 * Marks: the JSON list of what stays, in order: [event, item] names one of ours,
 * anything else is an item itself.  th_transcript_mark turns a list of items that
 * somebody gave back into marks: those that are as they were are named.
 */
TH_NODISCARD enum th_code th_transcript_keep(struct th_transcript *p, uint64_t seq,
					     const struct th_json *marks, struct th_err *err);
TH_NODISCARD enum th_code th_transcript_mark(const struct th_transcript *p,
					     const struct th_json *items, struct th_buf *marks,
					     struct th_err *err);

/* The kind of call whose result is an item of the API's own, not an output alone; else none. */
enum th_native th_transcript_native(const struct th_transcript_item *item);

/* One item, in the Responses API's form. */
void th_transcript_print(const struct th_transcript_item *item, struct th_jw *w);

/* Nothing but messages, of somebody else than the model? */
bool th_items_are_messages(const struct th_json *items);
/* Is this a list that items_added may hold? */
TH_NODISCARD enum th_code th_items_check(const struct th_json *items, struct th_err *err);

#endif
