/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_internal.h - what the fold's two files share: session.c has the
 * events of turns and calls, session_team.c the ladder, guardrails, handoffs.
 */
#ifndef TH_CORE_SESSION_INTERNAL_H
#define TH_CORE_SESSION_INTERNAL_H

#include "core/plan.h"
#include "core/session.h"

/* One step's inputs and outputs, so that handlers take one argument. */
struct th_step {
	struct th_session *s;
	const struct th_event *ev;
	const struct th_json *data;
	struct th_arena *scratch;
	struct th_effects *out;
	struct th_err *err;
};

void th_step_emit(struct th_effects *out, struct th_effect effect);
void th_step_reason(struct th_session *s, struct th_str text);
enum th_code th_step_state(struct th_step *st, enum th_state to);
enum th_code th_step_parse(struct th_step *st, void *out);
void th_step_phase(struct th_session *s, enum th_turn_phase phase);
void th_call_phase_set(struct th_call *c, enum th_call_phase phase);
/* All calls have their result, and nothing looks at it any more. */
bool th_calls_settled(const struct th_session *s);
struct th_call *th_step_call(struct th_step *st, unsigned phases);
/* Emits FINISH or FAIL for the final output. */
void th_step_finish(const struct th_session *s, struct th_effects *out);

enum th_code th_step_begin(struct th_step *st); /* a task begins, where none is under way */

/* session_team.c */
void th_ladder_task(struct th_session *s); /* a task begins */
void th_ladder_answer(struct th_step *st,
		      const struct th_next *next); /* after the calls were set */
void th_ladder_final(struct th_session *s);        /* there is a final text: checks follow */
void th_ladder_settled(struct th_session *s);      /* all calls have their result */
void th_ladder_outcome(struct th_step *st, struct th_call *c, const struct th_json *output);
void th_ladder_due(struct th_session *s, struct th_effects *out);    /* how the run ends */
void th_ladder_guards(struct th_session *s, struct th_effects *out); /* who is to be asked */
void th_ladder_trip(struct th_session *s, struct th_effects *out, const char *class,
		    struct th_str why);
void th_ladder_untrip(struct th_session *s); /* the run that it ended goes on */
bool th_ladder_limit(struct th_session *s);  /* true: something is said instead */
enum th_code th_on_guardrail(struct th_step *st);
enum th_code th_on_handoff(struct th_step *st);
enum th_code th_on_code(struct th_step *st);
enum th_code th_on_items_added(struct th_step *st);
enum th_code th_on_items_removed(struct th_step *st);
void th_ladder_print(const struct th_session *s, struct th_jw *w);
void th_sticky_set(struct th_step *st, const struct th_call *c, bool approve,
		   struct th_str message);

#endif
