/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - a call of the answer under way, from the item that asks for it to its one result.
 *
 * plan.h makes it of an item; the fold (core/session.h) moves it on, event by event.
 */
#ifndef TH_TRANSCRIPT_CALL_H
#define TH_TRANSCRIPT_CALL_H

#include "agents/stuck.h"
#include "base/hash.h"
#include "events/effect.h"
#include "events/event.h"
#include "rules/risk.h"

/* id, name: how far a call has come */
#define TH_CALL_PHASES(X)                                                        \
	X(SEEN, "seen")         /* in the answer */                              \
	X(RECORDED, "recorded") /* CALL is in the log */                         \
	X(ASKED, "asked")       /* waits for a person */                         \
	X(CLEARED, "cleared")   /* may run */                                    \
	X(DENIED, "denied")     /* must be refused */                            \
	X(INTENDED, "intended") /* INTENT is in the log: it may have happened */ \
	X(PARKED, "parked")     /* nobody knows; waits for a person's word */    \
	X(JUDGED, "judged")     /* that word is in the log */                    \
	X(SETTLED, "settled")   /* has its one result */
#define X(id, name) TH_CALL_##id,
enum th_call_phase { TH_CALL_PHASES(X) TH_CALL_PHASE_COUNT };
#undef X

/* The session that works on a call (an agent that is a tool). */
enum th_call_child {
	TH_CALL_CHILD_NONE,
	TH_CALL_CHILD_WORKS,
	TH_CALL_CHILD_WAITS,
	TH_CALL_CHILD_OVER
};

/* A host that a call under way wants to reach, and that its agent's net does not list. */
enum th_host_phase { TH_HOST_NONE, TH_HOST_ASKED, TH_HOST_ALLOWED, TH_HOST_REFUSED };

struct th_call_host {
	enum th_host_phase phase;
	struct th_str name;
	uint16_t port;
	uint64_t seq; /* of the APPROVAL_REQUESTED */
};

/* What a session had used when it began to work on a call, and counts already: one that goes on
 * with what it did for an earlier call. */
struct th_child_before {
	struct th_str child;
	int64_t turns, tokens_in, tokens_out, tokens_cached, tokens_reasoning, cost_nano;
	int64_t tokens_held, cost_held_nano;
};

enum th_policy { TH_POLICY_RUN, TH_POLICY_ASK, TH_POLICY_REFUSE, TH_POLICY_COUNT };

/* A call of the current answer.  Strings live until the answer is settled. */
struct th_call {
	enum th_call_phase phase;
	bool computer;      /* a computer_call item */
	bool grounded;      /* its elements were found by another model */
	bool incomplete;    /* the answer was cut inside it */
	uint8_t native;     /* enum th_native: of the API's own items */
	struct th_str item; /* the output item, verbatim */
	struct th_str call_id, tool;
	struct th_str arguments;     /* before RECORDED: as the model wrote them; then JSON */
	struct th_str safety_checks; /* that a person sees with it; JSON list, or empty */
	enum th_class class;
	enum th_policy policy;
	struct th_str reason;    /* of policy or of the person; approved question: the answer */
	struct th_str effect_id; /* hex, from the INTENT; whose owner wrote that, and for which */
	int64_t epoch;           /* executor's journal */
	struct th_str journal;
	char digest[TH_SHA256_HEX_SIZE + 1];
	uint64_t call_seq, intent_seq, outcome_seq;
	uint64_t approval_seq; /* of the APPROVAL_DECIDED that let it run; the INTENT names it */
	enum th_outcome_status status; /* SETTLED; JUDGED: what it will be */
	bool emitted;                  /* the effect of this phase was given out */
	bool approved;                 /* by a person */
	bool cancelled;                /* SEEN: the run was stopped, and it is not to begin */
	bool was_asked;                /* a person was asked about it */
	bool again;        /* ASKED, PARKED: its id does not tell it from another that somebody was
			      asked about */
	bool unknown_tool; /* there is none of that name */
	bool question;     /* the answer of a person is its result, or goes back with `form` */
	bool each;         /* a rule asks that looks into such calls */
	bool verbatim;     /* DENIED: the model reads `reason` and nothing else */
	enum th_call_child child;             /* INTENDED: of the session that works on it */
	const struct th_child_before *before; /* that goes on; NULL: it began with this call */
	struct th_call_host host;             /* INTENDED: the last that it asked for */
	size_t handoff; /* index + 1 of the agent's handoff that it asks for; 0: none */
	uint32_t guards_in, guards_out; /* its guardrails that have not answered */
	bool guard_given;               /* one of them is being asked */
	uint64_t hook_seq;              /* that is a program, which was started; 0: none */
	uint32_t analysed;              /* SEEN: bit i: external analyser i has answered */
	enum th_risk risk;              /* the highest that they see */
	struct th_str risk_reason;      /* of that one */
	struct th_effect_scope scope;   /* once recorded: what it acts on */
	struct th_str output;           /* SETTLED: as text, where the next step may need it */
	struct th_move move;            /* SETTLED: for an agent that has `stuck` */
	bool word_by_person; /* JUDGED: by `by`, with `reason`; else the run was stopped */
	struct th_str by;
	/* Its server has asked in the middle of it: what takes the answer back to it, and its own
	 * arguments meanwhile.  Then `reason` is the answer, and `approved` that there is one. */
	struct th_str form, own_arguments;
	/* What it asks for is a model's answer: that, once there is one, and how often it has. */
	struct th_str sampled;
	int samples;
	bool sample, sample_over;
	struct th_str task; /* its server's name of what it does for it, which outlives us; or "" */
	struct th_str told, evidence, observation; /* PARKED, JUDGED: for the OUTCOME */
	union {
		int64_t elapsed_ms; /* the same */
		int64_t
		    expires_ms; /* ASKED, or its host is: from then on it is refused; 0: never */
	};
};

#endif
