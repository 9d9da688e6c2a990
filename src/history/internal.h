/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - a history from inside, for the files that make it: of events (history.c) or
 * of a list of items (begin.c); and how they render what the provider reads.
 */
#ifndef TH_HISTORY_INTERNAL_H
#define TH_HISTORY_INTERNAL_H

#include "history/history.h"

/* A call of the last answer that still needs its result, or has it and waits for the others. */
struct th_open_call {
	struct th_str call_id, tool, item; /* in `waiting` */
	bool answered;
	uint8_t native; /* enum th_native */
	enum th_outcome_status status;
	struct th_str output, acknowledged, evidence;
};

struct th_history {
	const struct th_request_options *options;
	uint64_t seq;
	size_t items; /* groups */
	struct th_pieces pieces;
	size_t tail_items;       /* groups up to the last answer */
	struct th_arena waiting; /* calls without result */
	struct th_arena held_memory;
	struct th_open_call *open;
	size_t open_count, open_left;
	bool no_memory;
	bool kept;  /* its answer goes on at the provider, whatever becomes of requests */
	bool asked; /* the model was asked: what is said now it has not read */
	struct th_speaker asks; /* who that was; profile NULL: our model */
	struct th_group *held;  /* in `held_memory` */
	struct th_buf elements; /* marked on the newest picture */
	size_t held_count;
};

/* ---- render.c ---- */

/* Appends what the provider reads of a group. */
TH_NODISCARD enum th_code th_history_render(struct th_history *h, const struct th_group *g,
					    struct th_err *err);
/* An answer's items (a JSON list): of another model than ours, they are adopted. */
TH_NODISCARD enum th_code th_history_render_answer(struct th_history *h, const struct th_group *g,
						   struct th_err *err);
/* Sets *item, a call of the model that h->asks names, to what ours is shown of it: the same when it
 * is ours. */
TH_NODISCARD enum th_code th_history_adopt_call(struct th_history *h, struct th_str *item,
						struct th_err *err);
/* A result as the model is shown it; what is made for it is in `memory`. */
struct th_str th_history_shown(const struct th_history *h, struct th_str output, uint64_t seq,
			       int64_t whole, struct th_arena *memory);
/* What is new since the last answer begins here. */
void th_history_begin_tail(struct th_history *h);

#endif
