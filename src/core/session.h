/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - one session as a pure fold of its log, and what is to be done
 * next.
 *
 * th_session_step takes the next event of the log and answers with effects.
 * Some say "write this event now" (it goes into the same transaction and is
 * stepped at once); the others act in the world and may start only when the
 * event that caused them is durable.  Live, replayed and simulated runs use
 * this one function; after a replay th_session_resume says what is open.
 *
 * The session keeps numbers and the open calls of the current answer, not the
 * history: that stays in the log (and, rendered for a provider, in
 * history/history.c).  No I/O, clock or randomness: times come with the events.
 */
#ifndef TH_CORE_SESSION_H
#define TH_CORE_SESSION_H

#include "agents/agent.h"
#include "agents/origin.h"
#include "agents/stuck.h"
#include "agents/team.h"
#include "core/restated.h"
#include "core/side.h"
#include "core/unknown.h"
#include "events/event.h"
#include "events/used.h"
#include "rules/net_rule.h"
#include "transcript/call.h"

/* id, name, exit code of `thole run`, one line */
#define TH_STATES(X)                                                       \
	X(LOADING, "loading", 1, "no event yet")                           \
	X(IDLE, "idle", 0, "no task yet")                                  \
	X(RUNNING, "running", 1, "a model request or calls are under way") \
	X(WAITING, "waiting", 3, "a person must decide or answer")         \
	X(PAUSED, "paused", 3, "held by an operator")                      \
	X(SCHEDULED, "scheduled", 3, "its task begins later")              \
	X(STOPPED, "stopped", 130, "cancelled by an operator")             \
	X(FINISHED, "finished", 0, "the task is done")                     \
	X(FAILED, "failed", 1, "the run failed")                           \
	X(STUCK, "stuck", 5, "the agent repeats itself")                   \
	X(LIMIT, "limit", 4, "a limit was reached")

#define X(id, name, exit_code, doc) TH_STATE_##id,
enum th_state { TH_STATES(X) TH_STATE_COUNT };
#undef X

const char *th_state_name(enum th_state s);
int th_state_find(struct th_str name); /* or -1 */
int th_state_exit(enum th_state s);
/* Held: what is said is only written down, until it is let go on. */
static inline bool th_state_holds(enum th_state s)
{
	return s == TH_STATE_PAUSED || s == TH_STATE_SCHEDULED;
}
bool th_state_allows(enum th_state from, enum th_state to); /* the legal transitions, a table */

/* What to do, in this order.  RECORD … FAIL write an event; the rest act. */
enum th_effect_kind {
	TH_DO_RECORD,     /* call: append CALL with policy's word */
	TH_DO_ASK,        /* call: append APPROVAL_REQUESTED */
	TH_DO_REFUSE,     /* call: append OUTCOME refused */
	TH_DO_INTEND,     /* call: append INTENT */
	TH_DO_CONCLUDE,   /* call: append OUTCOME without any effect */
	TH_DO_CORRECT,    /* append MESSAGE: why the answer cannot be taken, or what is missing */
	TH_DO_REQUEST,    /* append MODEL_REQUESTED */
	TH_DO_FINISH,     /* append FINAL */
	TH_DO_LIMIT,      /* append STATE_CHANGED to limit */
	TH_DO_STUCK,      /* append STATE_CHANGED to stuck */
	TH_DO_STUCK_TELL, /* append MESSAGE: that the agent repeats itself */
	TH_DO_STUCK_ASK,  /* append STATE_CHANGED to paused: a person is asked */
	TH_DO_FAIL,       /* append ERROR */
	TH_DO_MODEL_CALL, /* send the request */
	TH_DO_MODEL_CANCEL,
	TH_DO_TOOL_RUN,     /* call: dispatch */
	TH_DO_TOOL_SETTLE,  /* call: after a crash, ask the executor how it ended */
	TH_DO_TOOL_CANCEL,  /* call: running, and no longer wanted */
	TH_DO_BACKGROUND,   /* tasks in the background: taken up, let go on, held or stopped */
	TH_DO_HOST,         /* call: say what a person said of the host that it asked for */
	TH_DO_GUARD,        /* guard, or call and guard: ask it, append GUARDRAIL */
	TH_DO_HOOK,         /* a hook's program, whose event is durable: start it */
	TH_DO_HAND_OVER,    /* call: append HANDOFF and the call's OUTCOME */
	TH_DO_TOOL_USE,     /* ask the agent's code what follows; append CODE */
	TH_DO_JUDGE,        /* ask the model whether the task is done; append VERDICT */
	TH_DO_INPUT,        /* a person's, whose event is durable: do it */
	TH_DO_INPUT_SETTLE, /* the same of an earlier runtime: find out */
	TH_DO_TIMER_SET,    /* wait retry_in_ms, then th_session_wake */
	TH_DO_NOTIFY,       /* the state changed to one that rests */
	TH_EFFECT_COUNT
};

struct th_effect {
	enum th_effect_kind kind : 8;
	enum th_guard_stage stage : 8; /* GUARD without call: input or output */
	uint16_t guard;                /* GUARD: index among the guardrails of its agent */
	uint32_t call;                 /* index into the session's calls, where it is about one */
	int64_t retry_in_ms;           /* TIMER_SET */
	const char *reason;            /* LIMIT, FAIL: static text */
	const char *class;             /* FAIL: static text; NULL: model */
};

/* A call may have one of its own, and each guardrail of an agent. */
#define TH_EFFECTS_MAX (2 * TH_CALLS_MAX + 2 * TH_GUARDRAILS_MAX + 12)

struct th_effects {
	size_t count;
	struct th_effect list[TH_EFFECTS_MAX];
};

const char *th_policy_name(enum th_policy p);

struct th_totals {
	int64_t turns;      /* model turns answered */
	int64_t task_turns; /* of these, since the last message that began a task */
	int64_t attempts;   /* requests of the turn under way */
	int64_t calls, calls_unknown;
	int64_t tokens_in, tokens_cached, tokens_out, tokens_reasoning;
	int64_t cost_nano;
	bool cost_unknown;  /* at least one turn had no price */
	bool unmetered;     /* an answer does not say what a limit would count */
	int64_t unanswered; /* requests that were sent and never answered */
	/* Reserved for those: they may have been paid for, so they count as spent. */
	int64_t tokens_held, cost_held_nano;
	/* Of the tokens and costs above, what side requests took, by enum th_side_kind; in the
	 * session's `memory`; NULL: none was made. */
	struct th_side_usage *side;
};

/* What one request may cost at most, as far as it can be known before. */
struct th_reservation {
	int64_t tokens, cost_nano;
};

/* What the current task waits for. */
/* CHECK: there is a final output, and guardrails look at it. */
enum th_turn_phase {
	TH_TURN_REST,
	TH_TURN_DUE,
	TH_TURN_REQUESTED,
	TH_TURN_BACKOFF,
	TH_TURN_CALLS,
	TH_TURN_CHECK,
	TH_TURN_PHASE_COUNT
};

/* A model asks for a condensation by a call of this tool. */
#define TH_CONDENSE_TOOL "request_condensation"

/* Why a call is refused where a person did not say. */
#define TH_REJECTED "a person rejected it"
#define TH_CODE_REJECTED "the agent's code rejected it"
#define TH_CALL_CANCELLED_WHY "the run was cancelled before this call began"

/* Whether code has said what a task begins with: never, of an earlier one, of this one. */
enum th_joined { TH_JOINED_NEVER, TH_JOINED_BEFORE, TH_JOINED };

/* A tool that a person approved or refused for good. */
struct th_sticky {
	struct th_str tool, message;
	bool approve;
};

/* What a person said of a host. */
struct th_said_host {
	char name[TH_NET_HOST_MAX + 1];
	uint16_t port;
	bool allow;
	bool always; /* else it holds for this task */
};

/* Where what the model has read comes from. */
struct th_session_origins {
	struct th_untrusted policy;
	unsigned all;         /* bits: of all outcomes */
	uint64_t seq;         /* of the first outcome that the policy does not trust; 0: none */
	enum th_origin first; /* its origin */
	struct th_said_host *hosts; /* reached up to then; in `memory`; NULL: none, or not wanted */
	size_t host_count;
};

/* Of an agent that has `stuck`. */
struct th_session_stuck {
	const struct th_stuck_rules *rules;
	enum th_on_stuck then;
	bool told;           /* since the last word from outside */
	size_t hinted;       /* how many moves there were when it was told of them; 0: it was not */
	uint64_t answer_seq; /* whose calls were added last */
	struct th_stuck moves;
};

/* Of an agent that has `judge`; see session_judge.c. */
struct th_session_judge {
	double threshold;
	struct {
		bool judges; /* the agent file says so */
		int64_t rounds;
		bool finishes; /* when no round is left, the answer counts as it is */
	} own;
	/* What it was given to reach; while `on` that is judged, in the place of what the file
	 * says. */
	struct {
		struct th_buf text; /* empty: there was none */
		int64_t rounds, given;
		bool on, over; /* over: it was reached, or no round was left */
	} goal;
	int64_t
	    given; /* verdicts of the file's judge in this task, or since a person let it go on */
	bool satisfied; /* with the last answer, or it counts as it is */
	bool tells;     /* the model is told what is missing */
	bool over;      /* no round is left */
	struct th_buf missing;
};

/* A person at the computer; see session_control.c.  Most sessions never have one. */
struct th_session_control {
	bool taken, from_run; /* from_run: the agent was at work then */
	struct th_buf by;
	uint64_t input_seq;     /* of the input whose end is not known; 0: none */
	struct th_buf input;    /* its data */
	int64_t inputs, doubts; /* since it was taken; of these, of unknown outcome */
};

/* A task in the background: its call has a result already, and a session still works on it.  See
 * session_background.c. */
struct th_background {
	struct th_background *next;
	struct th_arena memory; /* of the strings of */
	struct th_call call;    /* INTENDED, whatever the answer's own is */
	struct th_child_before before;
	bool stopped;      /* with the run */
	uint64_t over_seq; /* of a result: its DELEGATION_FINISHED */
};

struct th_said_skill {
	struct th_str name;
	uint64_t seq; /* of its message */
};

struct th_session {
	enum th_state state;
	enum th_turn_phase phase;
	uint64_t seq;                            /* of the last event */
	struct th_digest head;                   /* kept by the caller, not by step */
	int64_t created_ms, updated_ms, task_ms; /* ts of the first, last, and task's first event */
	struct th_totals totals;
	struct th_used used, used_said;    /* in all; as a store is told it */
	int64_t used_said_ms;              /* ts of when it was said */
	int64_t asked_ms;                  /* ts of when it began to wait for a person */
	uint64_t items, bytes;             /* history entries so far, and their events' size */
	uint64_t items_then;               /* those that the last condensation left */
	uint64_t bytes_then;               /* when the last answer came, it included */
	uint64_t answer_seq;               /* of the last MODEL_ANSWERED */
	uint64_t request_seq, message_seq; /* of the last of them */
	uint64_t task_seq;                 /* what began the task: a message, or items */
	/* What the input guardrails look at, or looked at last: what was said after one event, up
	 * to another.  First that is what began the task, with what came before it and was not
	 * looked at to the end; then, whenever a request is next, what was said since.  One look
	 * ends before another begins, and a request that would send what nobody has looked at
	 * waits. */
	uint64_t guard_from, guard_to;
	uint64_t task_after; /* look_after of what began the task */
	uint64_t said_seq;   /* the last that was said while a task was under way */
	int64_t retry_in_ms;
	struct th_reservation reserved; /* by the request under way */
	int64_t answer_tokens; /* input and output of the last answer: the next sends it again */
	int64_t output_max;    /* of one answer, as the agent file says; 0: not said */
	int64_t waiting_ms;    /* ts of when it began to wait for a person, or was paused */
	struct th_unresolved_effects unresolved;
	bool no_memory; /* ran out of it in a step: takes no more events */

	struct th_call *calls; /* of the current answer */
	size_t call_count;
	struct th_arena turn; /* their memory */
	struct th_buf final;  /* text of the last answer without calls */
	struct th_buf reason; /* why it rests: limit, error */
	bool final_refusal, final_failure, answer_incomplete, answer_empty;
	int64_t unread;   /* answers in a row of which nothing could be used */
	bool turn_failed; /* the last request ended without an answer, for good */
	bool notified;
	bool record; /* stopped for good: only what imported forks share with it */

	int64_t calls_max;     /* under way at once; 0: any number */
	int64_t delegates_max; /* agents that are tools, at work at once */
	int64_t turns_max, attempts_max, tokens_max, seconds_max, cost_nano_max; /* 0: none */
	/* What a person gave the task beyond these; see session_budget.c. */
	int64_t turns_more;
	bool turns_given, seconds_given; /* since it rested at a limit */
	int64_t given_ms;                /* ts of that */
	bool plan;                       /* only calls that look are made */
	struct th_agent_confirm confirm; /* asked of it beside the agent file's */
	struct th_session_judge *judge;  /* in `memory`; NULL: nobody judges */
	struct th_session_price {
		int64_t input, output;            /* per token; 0: unknown; of live runs only */
	} price;                                  /* of the first model */
	struct th_session_price *fallback_prices; /* of the others; in `memory`; NULL: unknown */
	struct th_str agent_name, model, workspace, parent; /* in `kept` */

	/* The team; see session_team.c. */
	const struct th_team *team;     /* in `kept`, or th_team_plain */
	size_t agent;                   /* who speaks: index of the team */
	size_t task_agent;              /* who began the task */
	size_t guard_agent;             /* whose input guardrails look: who spoke then */
	uint32_t guards_in, guards_out; /* that have not answered */
	uint32_t guards_in_given, guards_out_given; /* being asked */
	uint64_t *hook_seqs; /* in `memory`: of those of input, then of output; NULL: none yet */
	bool hooks_began;    /* those of the session's begin have been asked */
	int64_t sent_back;   /* times in this task that the agent was, from a final output */
	bool goes_back;      /* it is now: the next message says why */
	bool turn_given;     /* the effect of this phase was given out */
	bool tripped;        /* a guardrail, or a tool, ends the run; see `trip` */
	bool held_back;      /* no turn and no call begins: it is handed over to another runtime */
	const char *trip_class; /* static text */
	struct th_buf trip;
	struct th_background *background; /* oldest first; NULL: none */
	struct th_background *results;    /* of those that are over and wait to be read; so, too */
	bool awaits, awaits_given;    /* CHECK: the answer counts when these are over; given out */
	bool handed;                  /* the answer's handoff took place */
	bool correct;                 /* the answer does not fit; `reason` says why */
	bool use_given, use_answered; /* TH_USE_CODE: asked, and has spoken of this answer */
	int instead;                  /* enum th_instead of the final output, or -1 */
	int64_t corrections;
	uint64_t agents_used; /* bit i: agent i used a tool in this task */
	/* The last event after which the history is not simply the log from its beginning (see
	 * transcript/transcript.h); 0: it is. */
	uint64_t rewritten_seq;
	struct th_sticky *sticky; /* in `kept`; NULL: none */
	size_t sticky_count;
	struct th_said_host *hosts; /* in `memory`; NULL: none */
	size_t host_count;
	struct th_session_origins origins;
	struct th_said_skill *skills; /* that were said, and are in the history; NULL: none */
	size_t skill_count;
	struct th_buf asked_ids; /* 64 bits of each call_id that a person was asked about */
	/* Of the fallback list of who speaks. */
	size_t model_at; /* asked now, or by the open calls' answer: 0: its own, n: the n-th of the
			    list */
	struct th_buf started; /* response id of the answer that the provider works on by itself; */
	int64_t started_next;  /* of MODEL_STARTED */
	uint64_t
	    asked_seq; /* of the request that it was asked with: what came later it has not read */
	struct th_buf chain; /* response id of the last answer, that a request may go on from */
	uint64_t chain_seq;  /* of the request that it answered */
	bool model_anew;     /* a task began with calls open: after them the first model is asked */
	uint8_t chain_agent, chain_at; /* `agent` and `model_at` that gave that answer */
	uint8_t joined;                /* enum th_joined */
	bool compacted;                /* the history was replaced since the last answer */
	bool condense_asked;           /* somebody asks for it, and no request was made since */
	bool too_long;     /* the model said so: it is shortened before the next request */
	uint8_t shortened; /* how often that was said since the last answer */
	struct th_session_stuck *stuck; /* in `memory`; NULL: nobody looks */
	struct th_arena memory;
	struct th_session_control *control; /* in `memory`; th_session_control reads it */
	struct th_restated restated;        /* shown again with each condensation */
};

void th_session_init(struct th_session *s);
void th_session_deinit(struct th_session *s);

/* Prices of the model `at` (see model_at) in 1e-9 US dollars per token, for reservations of live
 * runs. */
void th_session_prices(struct th_session *s, size_t at, int64_t input, int64_t output);
/* The model after the one that is asked, which a MODEL_FAILED names as `next`; empty: none is left.
 * Each task begins with the first. */
struct th_str th_session_next_model(const struct th_session *s);
/* What the next request has to reserve: the last answer and what was sent for it are sent again,
 * and an answer may have settings.max_output_tokens. */
struct th_reservation th_session_reservation(const struct th_session *s);
/* What is left of the running time of the task, at `now_ms`; -1: no limit. */
int64_t th_session_time_left_ms(const struct th_session *s, int64_t now_ms);

/*
 * Applies the next event.  TH_EPROTO when it does not fit (wrong seq, unknown
 * shape, a result without its call, a state that does not accept it);
 * TH_EDIVERGED when the log has another step than this code would take (kind,
 * tool or arguments), with both in the sentence: the session is then as
 * before.  TH_ELIMIT for the maxima.  TH_ENOMEM: of no use any more, to be
 * folded anew from the log.
 */
TH_NODISCARD enum th_code th_session_step(struct th_session *s, const struct th_event *ev,
					  struct th_effects *ret, struct th_err *err);
/* The same of an event that is parsed already (parsed.h); takes over the memory of its plan. */
struct th_parsed;
TH_NODISCARD enum th_code th_session_step_parsed(struct th_session *s, struct th_parsed *parsed,
						 struct th_effects *ret, struct th_err *err);

/* After a replay: everything that is open, as effects (TOOL_SETTLE for calls with an intent). */
void th_session_resume(struct th_session *s, struct th_effects *ret);
/* The retry timer rang. */
void th_session_wake(struct th_session *s, struct th_effects *ret);

/* Of a team: the agent that speaks, and what is said of a tool for good (NULL: nothing). */
const struct th_member *th_session_member(const struct th_session *s);
const struct th_sticky *th_session_sticky(const struct th_session *s, struct th_str tool);
/* May what is said for good of its tool decide about it?  th_policy_sticks says when; and an action
 * of unknown outcome is repeated only by a word about this call. */
bool th_session_sticks(const struct th_session *s, const struct th_call *c, bool approve);
/* The first call of the tool that waits for a decision and that such a word decides, or NULL. */
const struct th_call *th_session_also(const struct th_session *s, struct th_str tool, bool approve);
/* The request's tool choice is the agent's (else the model is free to choose). */
bool th_session_tool_choice(const struct th_session *s);

bool th_session_rests(
    const struct th_session *s); /* nothing will happen without somebody from outside */
/*
 * A call has a name that people say: its call_id, or CALL_ID#SEQ with the event of its CALL.
 * Models use an id again, and a word that comes late is about the call it was said of: where a
 * person was asked about another call of that id (or an id looks like such a name) only the second
 * is its name.
 */
bool th_call_is_named(const struct th_call *c, struct th_str name); /* either; empty: any call */
void th_call_name(const struct th_call *c, struct th_buf *out);     /* that is only its own */
/* TH_EUSAGE: `name` is one that a late word might mean another call by; says its own. */
TH_NODISCARD enum th_code th_call_word(const struct th_call *c, struct th_str name,
				       struct th_err *err);
/* The first call that waits for a decision (TH_CALL_ASKED) or a word (TH_CALL_PARKED), so named;
 * or NULL. */
const struct th_call *th_session_waits(const struct th_session *s, enum th_call_phase phase,
				       struct th_str name);

/* It waits for a decision: before it runs, or about a host while it runs. */
static inline bool th_call_asks(const struct th_call *c)
{
	return c->phase == TH_CALL_ASKED ||
	       (c->phase == TH_CALL_INTENDED && c->host.phase == TH_HOST_ASKED);
}

/* It waits for a decision (TH_CALL_ASKED) or for a person's word (TH_CALL_PARKED). */
static inline bool th_call_waits(const struct th_call *c, enum th_call_phase phase)
{
	return phase == TH_CALL_ASKED ? th_call_asks(c) : c->phase == phase;
}

/* What a person said of a host; NULL: nothing that holds. */
const struct th_said_host *th_session_host(const struct th_session *s, struct th_str name,
					   uint16_t port);
/* All that holds, and what was reached before untrusted bytes came (`listed`: that holds for what
 * net lists alone): a JSON list of {host, port, allow, listed}. */
void th_session_hosts_print(const struct th_session *s, struct th_buf *out);
/* What is decided about: SHA-256 of net and both, as of a call. */
void th_host_digest(struct th_str name, uint16_t port, char out[static TH_SHA256_HEX_SIZE + 1]);

bool th_call_delegates(const struct th_session *s, const struct th_call *c); /* to an agent */
/* The calls on which a session works, of the answer and in the background: NULL ends them. */
const struct th_call *th_session_delegated(const struct th_session *s, size_t index);
/* The task in the background that this INTENT began; or NULL. */
const struct th_background *th_session_background(const struct th_session *s, uint64_t intent_seq);
/* Its result says that it hands over, and HANDOFF is the next event. */
bool th_call_hands_over(const struct th_call *c);

bool th_session_waits_any(const struct th_session *s); /* for a decision or a word */

/*
 * What a function call's text asks for, as it is written into the log: an object printed by our own
 * writer, so that blanks and spellings make no difference; anything else as a string.  False: it is
 * no JSON object, and `err` says why.
 */
bool th_call_arguments(struct th_str text, struct th_buf *out, struct th_err *err);
/* Something was said that no input guardrail of the agent that speaks has begun to look at.  A
 * request of a process that died would send it: it is given up (MODEL_FAILED, cancelled) and made
 * again when they have looked. */
bool th_session_unseen(const struct th_session *s);
/* The next request waits for a guardrail that blocks, or for one look to end and another to begin.
 */
bool th_session_request_waits(const struct th_session *s);
/* The HOOK_STARTED of that guardrail's program, whose answer is awaited; 0: it was not started. */
uint64_t th_session_hook(const struct th_session *s, const struct th_call *c,
			 enum th_guard_stage stage, size_t guard);
/* What a person gives a session beyond its limits; 0: none of it. */
struct th_more {
	int64_t turns, tokens, seconds;
	double cost_usd;
};
/* The numbers of an agent file's limits.  TH_EUSAGE: another one is there. */
TH_NODISCARD enum th_code th_more_of(const struct th_agent_limits *numbers, struct th_more *ret,
				     struct th_err *err);
/* The BUDGET that gives it: limits that hold from then on.  TH_EUSAGE: it has no such limit, or
 * nothing is given. */
TH_NODISCARD enum th_code th_session_more(const struct th_session *s, const struct th_more *more,
					  struct th_agent_limits *ret, struct th_err *err);
/* Why no further model request may be made, static text; NULL: it may. */
const char *th_session_limit(const struct th_session *s);
/* The same where side requests (core/side.h) may still take this much. */
const char *th_session_limit_with(const struct th_session *s, struct th_reservation side);
/* The agent repeats itself, as its `stuck` has it: *ret says how. */
bool th_session_stuck(const struct th_session *s, struct th_stuck_finding *ret);
/* It does not yet, and the model is to be told what it begins to do. */
bool th_session_stuck_hint(const struct th_session *s, struct th_stuck_finding *ret);
/* That is so for good: no task and no resume begins what is used up anew. */
bool th_session_used_up(const struct th_session *s);

/* Digest of what approvals and intents are bound to, over th_call_arguments' form. */
void th_call_digest(struct th_str tool, struct th_str arguments,
		    char out[static TH_SHA256_HEX_SIZE + 1]);

/* Who has taken over; nobody: all of it is 0. */
const struct th_session_control *th_session_control(const struct th_session *s);
/* No call is under way: a person who has taken over may act. */
bool th_session_at_rest(const struct th_session *s);

/* Two folds of one log are equal; names the first difference. */
TH_NODISCARD bool th_session_equal(const struct th_session *a, const struct th_session *b,
				   struct th_err *err);
/* The state as a JSON object, for `plumb fold --state` and `sessions --json`. */
void th_session_print(const struct th_session *s, struct th_jw *w);

/* Was the skill said in this session? */
/* How many verdicts what is judged now has had; there is a judge. */
int64_t th_judge_given(const struct th_session *s);
bool th_session_skill_said(const struct th_session *s, struct th_str name);

#endif
