/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stuck.h - does an agent repeat itself?  Rules over its last moves, as data.
 *
 * A move is one call with its result, one message of the agent, or one
 * condensation; of it only digests are kept, so what a session costs does not
 * grow.  The session's fold adds moves as their events come, and looks before
 * each request; so a replay finds what the live run found.
 *
 * Rule sets of other programs are here as they are there (docs/DEVIATIONS.md
 * says where not): who moves over can keep the one that he knows.
 */
#ifndef TH_AGENTS_STUCK_H
#define TH_AGENTS_STUCK_H

#include "base/buf.h"
#include "base/limits.h"

enum th_move_kind {
	TH_MOVE_CALL,     /* a call and its result */
	TH_MOVE_MESSAGE,  /* the agent said something, and asked for nothing */
	TH_MOVE_CONDENSED /* the history was condensed */
};

/* Digests are th_hash64 of what they name; equal ones mean the same. */
struct th_move {
	enum th_move_kind kind : 8;
	bool failed;      /* its result says so */
	uint64_t action;  /* tool and arguments; of a message: its text */
	uint64_t result;  /* all that came back */
	uint64_t code;    /* how it ended, whatever it printed: the exit code of a command */
	uint64_t picture; /* the screen that came back; 0: none */
};

enum th_stuck_shape {
	TH_STUCK_CYCLE,    /* the same calls come again, with the same results */
	TH_STUCK_ERRORS,   /* the same call fails again, whatever it says */
	TH_STUCK_MESSAGES, /* messages without a call between */
	TH_STUCK_CONDENSED,
	TH_STUCK_SCREEN,     /* calls that show the screen, and it stays the same */
	TH_STUCK_NOTHING_NEW /* no call with a result that was not there before */
};

/* What of a result must be the same in a cycle. */
enum th_stuck_compare { TH_STUCK_BY_RESULT, TH_STUCK_BY_CODE, TH_STUCK_BY_ACTION };

struct th_stuck_rule {
	const char *name; /* in the event, and to the model */
	enum th_stuck_shape shape;
	enum th_stuck_compare compare;
	uint8_t period_from, period_to; /* CYCLE: calls of one round */
	uint8_t times;                  /* rounds, or moves in a row */
	uint8_t hint; /* moves in a row at which the model is told, once; 0: it is not */
};

struct th_stuck_rules {
	const char *name, *summary;
	const struct th_stuck_rule *list; /* the first that fits is named */
	size_t count;
	/* Of the last events that are looked at, two for a call; 0: of all moves that are kept. */
	size_t window;
	bool words_between;   /* calls are the same whatever the agent said between them */
	bool cuts_between;    /* calls are the same also where the history was condensed */
	bool calls_are_after; /* messages that were the same stay so when something is done then */
};

extern const struct th_stuck_rules th_stuck_rules[]; /* TH_STUCK_RULES_COUNT of them */
enum th_stuck_rules_id {
	TH_STUCK_RULES_THOLE,
	TH_STUCK_RULES_OPENHANDS_V0,
	TH_STUCK_RULES_OPENHANDS_V1,
	TH_STUCK_RULES_COUNT
};

/* The newest moves since a person said something; all zero: none. */
struct th_stuck {
	size_t count; /* also of those that are no longer kept */
	struct th_move ring[TH_STUCK_MOVES_MAX];
};

struct th_stuck_finding {
	const struct th_stuck_rule *rule;
	size_t period; /* moves of one round */
	size_t times;  /* rounds */
	size_t first;  /* the move with which it begins, counted from 0 since the last clear */
};

void th_stuck_clear(struct th_stuck *s);
void th_stuck_add(struct th_stuck *s, const struct th_move *move);
/* Whether the newest moves are a loop by one of the rules. */
bool th_stuck_look(const struct th_stuck *s, const struct th_stuck_rules *rules,
		   struct th_stuck_finding *ret);
/* Whether the newest moves are just so many that the model is to be told. */
bool th_stuck_hint(const struct th_stuck *s, const struct th_stuck_rules *rules,
		   struct th_stuck_finding *ret);
/* What was found, as the rest of a sentence: "the last 4 calls were the same, with the same
 * results". */
void th_stuck_print(const struct th_stuck_finding *f, struct th_buf *out);

#endif
