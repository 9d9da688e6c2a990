/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_internal.h - what the fold's files share.  session.c has the step,
 * session_events.c the session's own events, session_turn.c those of models, session_call.c
 * those of calls, session_team.c the next step, session_guard.c guardrails,
 * session_items.c handoffs and what changes the history; session_due.c says what
 * is due after each.
 */
#ifndef TH_CORE_SESSION_INTERNAL_H
#define TH_CORE_SESSION_INTERNAL_H

#include "core/session.h"
#include "transcript/parsed.h"

/* One step's inputs and outputs, so that handlers take one argument. */
struct th_step {
	struct th_session *s;
	const struct th_event *ev;
	const struct th_json *data;
	struct th_parsed *parsed; /* of `ev` */
	struct th_arena *scratch;
	struct th_effects *out;
	struct th_err *err;
};

void th_step_emit(struct th_effects *out, struct th_effect effect);
void th_step_reason(struct th_session *s, struct th_str text);
enum th_code th_step_state(struct th_step *st, enum th_state to);
enum th_code th_step_parse(struct th_step *st, void *out);
/* Where raw members are not looked at, or read from the document. */
enum th_code th_step_parse_plain(struct th_step *st, void *out);
/* All calls have their result: the model goes on. */
void th_step_turn_over(struct th_session *s);
void th_step_phase(struct th_session *s, enum th_turn_phase phase);
void th_call_phase_set(struct th_call *c, enum th_call_phase phase);
/* All calls have their result, and nothing looks at it any more. */
bool th_calls_settled(const struct th_session *s);
struct th_call *th_step_call(struct th_step *st, unsigned phases);
/* An error: no call fits the event. */
enum th_code th_step_no_call(struct th_step *st);
/* Emits FINISH or FAIL for the final output. */
void th_step_finish(const struct th_session *s, struct th_effects *out);

/* Counts never wrap: what is too large is the largest. */
static inline int64_t th_add_up(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* session_events.c */
/* A task begins, where none is under way. */
enum th_code th_step_begin(struct th_step *st);
/* What is under way is given up (`for_good`), or held. */
void th_step_cancel(struct th_step *st, bool for_good);
/* Only a fork can begin between the two events of a handoff. */
void th_step_hand_over(const struct th_session *s, struct th_effects *out);
enum th_code th_session_full(struct th_step *st); /* says so */
enum th_code th_on_session_created(struct th_step *st);
enum th_code th_on_session_forked(struct th_step *st);
enum th_code th_on_message(struct th_step *st);
enum th_code th_on_state_changed(struct th_step *st);
enum th_code th_on_session_changed(struct th_step *st);
enum th_code th_on_asked(struct th_step *st);
enum th_code th_on_mcp_tools(struct th_step *st);
enum th_code th_on_condensation_requested(struct th_step *st);
enum th_code th_on_error(struct th_step *st);
enum th_code th_on_final(struct th_step *st);

/* session_due.c: adds what the state asks for and was not yet given out. */
void th_step_due(struct th_session *s, struct th_effects *out);
void th_step_due_turn(struct th_session *s, struct th_effects *out);

/* session_turn.c */
/* The request under way was sent, and nobody will ever know what it cost. */
void th_step_hold_reservation(struct th_session *s);
/* What a side request took, as its event says it. */
void th_step_side(struct th_session *s, enum th_side_kind kind, const struct th_json *usage);
bool th_step_breaks_chain(enum th_event_kind kind);
enum th_code th_on_model_requested(struct th_step *st);
enum th_code th_on_model_started(struct th_step *st);
enum th_code th_on_model_answered(struct th_step *st);
enum th_code th_on_model_failed(struct th_step *st);

/* session_control.c */
void th_control_deinit(struct th_session *s);
enum th_code th_on_control(struct th_step *st);
enum th_code th_on_input(struct th_step *st);
enum th_code th_on_input_done(struct th_step *st);
void th_control_print(const struct th_session *s, struct th_jw *w);

/* session_analysis.c */
enum th_code th_on_analysis(struct th_step *st);

/* session_hook.c */
enum th_code th_on_hook_started(struct th_step *st);
void th_hook_over(struct th_session *s, struct th_call *c, enum th_guard_stage stage, size_t guard);
/* Those of input, or of output, look at something else now: what was started before is not about
 * that. */
void th_hooks_anew(struct th_session *s, enum th_guard_stage stage);
/* A hook gave the call other arguments, which policy lets run. */
void th_hook_changes(struct th_session *s, struct th_call *c, struct th_str arguments,
		     enum th_class class);

/* session_budget.c */
void th_step_limits(struct th_session *s, const struct th_agent_limits *l); /* NULL: defaults */
/* The model turns of the task are used up. */
bool th_step_turns_used(const struct th_session *s);
/* What began the task, or a person's word, is the event: its turns and its time are counted anew,
 * but for what that person gave (`resumed`). */
void th_step_count_anew(struct th_step *st, bool resumed);
enum th_code th_on_budget(struct th_step *st);
enum th_code th_on_plan(struct th_step *st);

/* session_judge.c */
enum th_code th_judge_init(struct th_step *st, const struct th_agent_judge *options);
void th_judge_deinit(struct th_session *s);
void th_judge_said(struct th_session *s);     /* what is missing */
void th_judge_again(struct th_session *s);    /* an operator lets it go on: with new rounds */
void th_judge_anew(struct th_session *s);     /* a task begins, or a person lets it go on */
void th_judge_answered(struct th_session *s); /* the model has: what is told is told */
/* The final output waits for a verdict. */
bool th_judge_due(const struct th_session *s);
enum th_code th_on_verdict(struct th_step *st);
enum th_code th_on_goal(struct th_step *st);
void th_judge_finished(struct th_session *s); /* FINAL: a goal that is on was not reached */
void th_judge_print(const struct th_session *s, struct th_jw *w);

/* session_delegate.c */
enum th_code th_on_delegation_started(struct th_step *st);
enum th_code th_on_delegation_waits(struct th_step *st);
enum th_code th_on_delegation_finished(struct th_step *st);

/* session_background.c */
/* The session works on that call, and nobody waits for it. */
enum th_code th_background_begin(struct th_step *st, struct th_call *c,
				 const struct th_ev_delegation_started *d);
/* The call of the one that the event is about, or NULL. */
struct th_call *th_background_of(struct th_step *st);
/* That one is over; `result`: what came of it is in this event, to be read; 0: it was told. */
void th_background_end(struct th_session *s, const struct th_call *c, uint64_t result);
void th_background_stop(struct th_session *s);   /* the run was stopped */
void th_background_free(struct th_session *s);   /* all that work */
void th_background_deinit(struct th_session *s); /* and their results */
int64_t th_background_count(const struct th_session *s);
bool th_background_waits(const struct th_session *s); /* one of them, for a person */
/* The final output waits until none is left: true, and its checks begin anew when it does. */
bool th_background_holds(struct th_session *s, struct th_effects *out);
/* Emits what is to be done with them. */
void th_background_due(const struct th_session *s, struct th_effects *out);
void th_background_print(const struct th_session *s, struct th_jw *w);

/* session_call.c */
const char *th_call_phase_name(enum th_call_phase phase);
enum th_code th_on_call(struct th_step *st);
enum th_code th_on_approval_requested(struct th_step *st);
enum th_code th_on_approval_decided(struct th_step *st);
/* session_host.c */
/* `c`: NULL, where no call runs. */
enum th_code th_host_asked(struct th_step *st, struct th_call *c,
			   const struct th_ev_approval_requested *d);
enum th_code th_host_decided(struct th_step *st, struct th_call *c,
			     const struct th_ev_approval_decided *d);
void th_hosts_begin_task(struct th_session *s); /* what was said for the task before is over */
void th_hosts_print(const struct th_session *s, struct th_jw *w);

/* session_origin.c */
void th_origins_init(struct th_session *s, const struct th_agent *agent);
void th_origins_take(struct th_step *st, const struct th_strs *origins);
void th_origins_print(const struct th_session *s, struct th_jw *w);

/* session_call.c */
enum th_code th_on_intent(struct th_step *st);
enum th_code th_on_outcome(struct th_step *st);
enum th_code th_on_parked(struct th_step *st);
enum th_code th_on_settled(struct th_step *st);

/* session_server.c */
/* Its server waits for an answer: what it has done already, nobody knows. */
bool th_call_is_halfway(const struct th_call *c);
enum th_code th_on_question(struct th_step *st);
enum th_code th_on_sampled(struct th_step *st);
enum th_code th_on_server_task(struct th_step *st);

/* session_stuck.c; all do nothing for an agent without `stuck`. */
void th_stuck_init(struct th_step *st, const struct th_agent_stuck *options);
void th_stuck_outcome(const struct th_step *st, struct th_call *c); /* its result is `st` */
void th_stuck_settled(struct th_session *s); /* all calls of the answer have theirs */
void th_stuck_condensed(struct th_session *s);
/* Something was said: by the runtime, or from outside, which begins a new count. */
void th_stuck_said(struct th_session *s, bool by_runtime);
/* What is to be done now; only where th_session_stuck. */
enum th_on_stuck th_session_on_stuck(const struct th_session *s);

/* session_team.c */
void th_next_step_task(struct th_session *s, uint64_t seq); /* that event begins a task */
void th_next_step_answer(struct th_step *st,
			 const struct th_next *next); /* after the calls were set */
void th_next_step_final(struct th_session *s);        /* there is a final text: checks follow */
void th_next_step_check_final(struct th_session *s);  /* the guardrails of the final output begin */
void th_next_step_settled(struct th_session *s);      /* all calls have their result */
bool th_next_step_handoff_waits(const struct th_session *s);
/* The log has an event about the final output of that answer.  Earlier builds made one of the
 * sentence of a tool that did not take its call, where this one asks the model again. */
void th_next_step_turned_down(struct th_session *s, uint64_t answer_seq);
void th_next_step_ask_again(struct th_session *s); /* the model, with what came meanwhile */
void th_next_step_outcome(struct th_step *st, struct th_call *c, const struct th_json *output);
bool th_next_step_limit(struct th_session *s); /* true: something is said instead */
void th_next_step_print(const struct th_session *s, struct th_jw *w);
void th_sticky_set(struct th_step *st, const struct th_call *c, bool approve,
		   struct th_str message);

/* session_guard.c */
/* They look at what was said after event `after`, up to `seq`. */
void th_next_step_guard_begin(struct th_session *s, size_t agent, uint64_t after, uint64_t seq);
void th_next_step_look(struct th_session *s); /* a look begins, where one is due */
void th_next_step_due(struct th_session *s, struct th_effects *out); /* how the run ends */
bool th_next_step_refused(const struct th_session *s); /* a guardrail has refused what was said */
/* Emits the guardrails to call. */
void th_next_step_guards(struct th_session *s, struct th_effects *out);
void th_next_step_trip(struct th_session *s, struct th_effects *out, const char *class,
		       struct th_str why);
void th_next_step_untrip(struct th_session *s); /* the run that it ended goes on */
enum th_code th_on_guardrail(struct th_step *st);
/* What follows an answer of a guardrail, or of a hook that nobody waits for. */
enum th_code th_next_step_guarded(struct th_step *st, const struct th_ev_guardrail *d);
/* Index of the guardrail whose answer is awaited, of the call that the event is about; -1: none. */
int th_next_step_open(struct th_step *st, struct th_str stage, struct th_str name,
		      struct th_call **ret_call);

/* session_items.c */
enum th_code th_on_handoff(struct th_step *st);
enum th_code th_on_code(struct th_step *st);
enum th_code th_on_items_added(struct th_step *st);
enum th_code th_on_items_removed(struct th_step *st);
enum th_code th_on_condensation(struct th_step *st);

#endif
