/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - the vocabulary of the log.
 *
 * A session is a totally ordered, append-only, hash-chained list of events;
 * its state is a pure fold of them (session.h).  `data` is a JSON object whose
 * shape the table of its kind declares; it is stored verbatim, and members
 * that no table knows survive.  docs/EVENTS.md is generated from here.
 */
#ifndef TH_EVENTS_EVENT_H
#define TH_EVENTS_EVENT_H

#include "base/codec.h"
#include "base/field.h"
#include "base/hash.h"
#include "base/limits.h"

/* id, name, one line */
#define TH_EVENTS(X)                                                                             \
	X(SESSION_CREATED, "session_created", "The session begins: its agent, model and place.") \
	X(SESSION_FORKED, "session_forked", "The session begins as a copy of another's prefix.") \
	X(MESSAGE, "message", "A message to the agent.")                                         \
	X(MODEL_REQUESTED, "model_requested",                                                    \
	  "A model request is about to be sent; budget is reserved.")                            \
	X(MODEL_STARTED, "model_started", "The provider makes the answer in the background.")    \
	X(MODEL_ANSWERED, "model_answered", "A complete answer of the model, verbatim.")         \
	X(MODEL_FAILED, "model_failed", "A request ended without a usable answer.")              \
	X(CALL, "call", "One call of an answer, with its class and the policy's verdict.")       \
	X(APPROVAL_REQUESTED, "approval_requested", "A person must decide about a call.")        \
	X(APPROVAL_DECIDED, "approval_decided", "A person, or policy, decided.")                 \
	X(INTENT, "intent", "An effect is about to start; durable before it does.")              \
	X(QUESTION, "question", "A call's server asks the person; an intent goes on with it.")   \
	X(SAMPLED, "sampled", "The model answered what a call's server asked of it.")            \
	X(SERVER_TASK, "server_task",                                                            \
	  "A call's server does it as a task, by whose name it is taken up.")                    \
	X(OUTCOME, "outcome", "The one result of a call.")                                       \
	X(PARKED, "parked",                                                                      \
	  "An effect of unknown outcome waits until a person says how it ended.")                \
	X(SETTLED, "settled", "A person said how such an effect ended.")                         \
	X(HOOK_STARTED, "hook_started",                                                          \
	  "A program that is a hook is about to start; durable before it does.")                 \
	X(GUARDRAIL, "guardrail", "A guardrail checked input, output or a call.")                \
	X(ANALYSIS, "analysis", "An external analyser said how risky a call is.")                \
	X(HANDOFF, "handoff", "Another agent takes over.")                                       \
	X(DELEGATION_STARTED, "delegation_started", "Another session works on a call.")          \
	X(DELEGATION_WAITS, "delegation_waits",                                                  \
	  "That session waits for a person, or no longer does.")                                 \
	X(DELEGATION_FINISHED, "delegation_finished",                                            \
	  "That session has ended; its usage counts here too.")                                  \
	X(CODE, "code", "A function of the agent's code answered.")                              \
	X(MCP_TOOLS, "mcp_tools",                                                                \
	  "The tools of a server (MCP), as an agent has them from here on.")                     \
	X(ITEMS_ADDED, "items_added", "Items were added to the history from outside.")           \
	X(ITEMS_REMOVED, "items_removed", "The newest items were removed from the history.")     \
	X(CONDENSATION, "condensation",                                                          \
	  "Older items were replaced in the history that the model sees.")                       \
	X(CONDENSATION_REQUESTED, "condensation_requested",                                      \
	  "Somebody asks for that before the next request.")                                     \
	X(CONTROL, "control", "A person takes over from the agent, or gives back.")              \
	X(INPUT, "input", "A person is about to do something; durable before it is done.")       \
	X(INPUT_DONE, "input_done", "What became of that.")                                      \
	X(STATE_CHANGED, "state_changed", "Paused, resumed, stopped, stuck or at a limit.")      \
	X(BUDGET, "budget", "A limit of the session was changed.")                               \
	X(PLAN, "plan", "Plan mode begins, in which nothing is changed; or a person ends it.")   \
	X(GOAL, "goal", "The session is given a goal, or it ends.")                              \
	X(VERDICT, "verdict", "Whether the task is done, as the model judges it.")               \
	X(ASKED, "asked", "Somebody asked the model something beside the task.")                 \
	X(SESSION_CHANGED, "session_changed",                                                    \
	  "Its title, metadata, confirmations or secrets were changed.")                         \
	X(ERROR, "error", "The run failed.")                                                     \
	X(FINAL, "final", "The agent's final output.")

#define X(id, name, doc) TH_EV_##id,
enum th_event_kind { TH_EVENTS(X) TH_EVENT_COUNT };
#undef X

#define TH_SOURCES(X) \
	X(USER, "user") X(AGENT, "agent") X(ENVIRONMENT, "environment") X(OPERATOR, "operator")
#define X(id, name) TH_SOURCE_##id,
enum th_source { TH_SOURCES(X) TH_SOURCE_COUNT };
#undef X

/* Its strings are borrowed: the maker of the event says how long they live. */
struct th_event {
	uint64_t seq;  /* from 1 */
	int64_t ts_ms; /* Unix time */
	struct th_uuid id;
	enum th_source source;
	enum th_event_kind kind;
	uint64_t cause;      /* seq of the event that led here; 0: none */
	struct th_str call;  /* call_id where the event is about a call, else empty */
	struct th_str data;  /* JSON object */
	struct th_str build; /* version of the program that wrote it */
};

const char *th_event_name(enum th_event_kind kind);
int th_event_find(struct th_str name); /* kind or -1 */
const char *th_event_doc(enum th_event_kind kind);
const char *th_source_name(enum th_source source);
int th_source_find(struct th_str name);

/*
 * The chain: SHA-256 over a version byte 1, the digest before it (32 zero
 * bytes for the first), then each column: seq, ts_ms, cause as u64 little
 * endian; id 16 bytes; session id, source, kind, call, data, build as u32
 * little endian length and bytes.
 */
struct th_digest th_event_digest(const struct th_digest *before, struct th_str session_id,
				 const struct th_event *ev);

/* One event as a JSON object on one line, as `thole log --json` and `run --json` print it. */
void th_event_print(struct th_str session_id, const struct th_event *ev, struct th_jw *w);
/* The inverse, for `thole plumb fold`; strings in the arena.  The digest is not part of it. */
TH_NODISCARD enum th_code th_event_parse(const struct th_json *v, struct th_arena *a,
					 struct th_event *ret, struct th_err *err);

/* Effect classes of DESIGN.md section 4.  Unknown is W. */
#define TH_CLASSES(X)                                                       \
	X(L, "L", "local: exactly once, in the transaction of its outcome") \
	X(R, "R", "read: may repeat")                                       \
	X(K, "K", "keyed: resent with the same effect_id")                  \
	X(V, "V", "verifiable: decided by a probe")                         \
	X(W, "W", "unverifiable: at most once")                             \
	X(X, "X", "irreversible: at most once, after approval of exactly this")
#define X(id, name, doc) TH_CLASS_##id,
enum th_class { TH_CLASSES(X) TH_CLASS_COUNT };
#undef X
const char *th_class_name(enum th_class c);
int th_class_find(struct th_str name);
/* For a name that a tool declares: what is unknown is W. */
enum th_class th_class_of(struct th_str name);

/* What a tool says of itself over a protocol (MCP annotations); -1: it does not say. */
struct th_hints {
	int read_only, destructive, idempotent; /* 0, 1 or -1 */
};
/*
 * Hints are not trusted: they can only make a class stricter.  A tool of which
 * nobody else declared anything (declared: W) cannot become looser by saying so.
 */
enum th_class th_class_with_hints(enum th_class declared, const struct th_hints *hints);
/* The stricter of two, in the order L R K V W X. */
enum th_class th_class_stricter(enum th_class a, enum th_class b);

/* How a call ended.  UNKNOWN: it may or may not have happened; it was not repeated. */
#define TH_OUTCOMES(X)      \
	X(DONE, "done")     \
	X(FAILED, "failed") \
	X(NOT_STARTED, "not_started") X(UNKNOWN, "unknown") X(REFUSED, "refused")
#define X(id, name) TH_OUTCOME_##id,
enum th_outcome_status { TH_OUTCOMES(X) TH_OUTCOME_COUNT };
#undef X
const char *th_outcome_name(enum th_outcome_status s);
int th_outcome_find(struct th_str name); /* status or -1 */

/* A model reads by this that a call failed; everybody else reads the status. */
#define TH_ERROR_MARK "error: "
/* The text of an outcome for a person, who is shown the status: without the mark, if it begins with
 * it. */
struct th_str th_outcome_sentence(struct th_str text);

/*
 * The tables.  Raw values are JSON text.
 *
 * Where a value is large it is a blob: { "blob": "<sha256 hex>", "media_type":
 * "image/png", "size": 123, … }.
 */
#define TH_FIELDS_ev_session_created(F)                                                       \
	F(ev_session_created, raw, agent, "agent", TH_REQ,                                    \
	  "the agent's definition, defaults filled in")                                       \
	F(ev_session_created, str, model, "model", TH_REQ, "model name as given")             \
	F(ev_session_created, str, workspace, "workspace", 0, "folder the tools may work in") \
	F(ev_session_created, str, begins, "begins", 0,                                       \
	  "teams: the agent that begins; absent: the first")                                  \
	F(ev_session_created, str, user, "user", 0, "tenant or user the session belongs to")  \
	F(ev_session_created, raw, metadata, "metadata", 0, "object that the caller gave")    \
	F(ev_session_created, raw, sandbox, "sandbox", 0, "what is enforced on this machine")

#define TH_FIELDS_ev_session_forked(F)                                                        \
	F(ev_session_forked, str, parent, "parent", TH_REQ, "session whose prefix it shares") \
	F(ev_session_forked, int, seq, "seq", TH_REQ, "last event of the prefix")

#define TH_FIELDS_ev_message(F)                                                                \
	F(ev_message, str, role, "role", TH_REQ, "user, developer or system")                  \
	F(ev_message, raw, content, "content", TH_REQ, "a string, or a list of content parts") \
	F(ev_message, str, name, "name", 0, "who speaks")                                      \
	F(ev_message, str, skill, "skill", 0, "the skill whose text it is")

#define TH_FIELDS_ev_model_requested(F)                                                           \
	F(ev_model_requested, str, model, "model", TH_REQ, "name of the model")                   \
	F(ev_model_requested, int, choice, "choice", TH_NONEG,                                    \
	  "index of the model: 0 the agent's own, n the n-th of its fallback list")               \
	F(ev_model_requested, int, turn, "turn", TH_REQ, "number of the turn, from 1")            \
	F(ev_model_requested, int, attempt, "attempt", TH_REQ, "1 for the first try of the turn") \
	F(ev_model_requested, str, agent, "agent", 0, "teams: the agent that makes the request")  \
	F(ev_model_requested, str, instructions, "instructions", 0,                               \
	  "instructions that the agent's code returned, when they changed")                       \
	F(ev_model_requested, raw, history, "history", 0,                                         \
	  "input_filter: the history that this request sends; form as in handoff")                \
	F(ev_model_requested, int, items, "items", 0, "history items sent")                       \
	F(ev_model_requested, str, previous, "previous", 0,                                       \
	  "id of the stored response that the items continue")                                    \
	F(ev_model_requested, str, conversation, "conversation", 0,                               \
	  "id of the provider's conversation that the items are added to")                        \
	F(ev_model_requested, int, reserved_tokens, "reserved_tokens", TH_NONEG,                  \
	  "tokens reserved in the budget, input and output")                                      \
	F(ev_model_requested, int, reserved_cost_nano, "reserved_cost_nano", TH_NONEG,            \
	  "price reserved in the budget, in 1e-9 US dollars")

#define TH_FIELDS_ev_model_started(F)                                \
	F(ev_model_started, str, response_id, "response_id", TH_REQ, \
	  "id by which the answer is fetched, also after a crash")   \
	F(ev_model_started, int, next_event, "next_event", TH_NONEG, \
	  "number of the stream's event to continue from; absent: the answer is not streamed")

/* The reason of an answer that the provider paused: the model goes on when it is sent back. */
#define TH_ANSWER_PAUSED "pause_turn"

#define TH_FIELDS_ev_model_answered(F)                                                   \
	F(ev_model_answered, str, response_id, "response_id", 0,                         \
	  "the provider's id of the answer")                                             \
	F(ev_model_answered, str, model, "model", 0, "model that answered")              \
	F(ev_model_answered, str, status, "status", TH_REQ, "completed or incomplete")   \
	F(ev_model_answered, str, reason, "reason", 0,                                   \
	  "why it is incomplete; pause_turn: the model goes on")                         \
	F(ev_model_answered, raw, items, "items", TH_REQ,                                \
	  "output items, verbatim where the wire has items")                             \
	F(ev_model_answered, raw, raw, "raw", 0,                                         \
	  "the turn in the provider's own format, sent back unchanged")                  \
	F(ev_model_answered, raw, usage, "usage", 0,                                     \
	  "tokens: input, output, cached, written, reasoning, total")                    \
	F(ev_model_answered, int, cost_nano, "cost_nano", 0,                             \
	  "price of the turn in 1e-9 US dollars")                                        \
	F(ev_model_answered, bool, unmetered, "unmetered", 0,                            \
	  "a limit of tokens or cost is set, and the usage of this answer is not known") \
	F(ev_model_answered, int, elapsed_ms, "elapsed_ms", 0, "from request to the last byte")

#define TH_FIELDS_ev_model_failed(F)                                                               \
	F(ev_model_failed, str, class, "class", TH_REQ,                                            \
	  "connect, timeout, cut, rejected, overloaded, rate_limited, malformed, refused, limit, " \
	  "context_length, cancelled")                                                             \
	F(ev_model_failed, str, message, "message", TH_REQ, "what happened, one sentence")         \
	F(ev_model_failed, int, http_status, "http_status", 0,                                     \
	  "status code of HTTP, if there was an answer")                                           \
	F(ev_model_failed, bool, retry, "retry", 0, "whether the request is tried again")          \
	F(ev_model_failed, int, retry_in_ms, "retry_in_ms", 0, "wait before the next attempt")     \
	F(ev_model_failed, bool, kept, "kept", 0,                                                  \
	  "the provider continues to make the answer (model_started): the next request fetches "   \
	  "it")                                                                                    \
	F(ev_model_failed, bool, whole, "whole", 0,                                                \
	  "the provider no longer has the response to continue from: the whole history is sent "   \
	  "at once")                                                                               \
	F(ev_model_failed, bool, too_long, "too_long", 0,                                          \
	  "the history is longer than the model accepts: it is shortened, and the request sent "   \
	  "again")                                                                                 \
	F(ev_model_failed, str, next, "next", 0,                                                   \
	  "not tried again: the model of the fallback list that the turn continues with")          \
	F(ev_model_failed, raw, usage, "usage", 0, "tokens that were used nevertheless")           \
	F(ev_model_failed, raw, body, "body", 0, "blob or text: the start of the response")

#define TH_FIELDS_ev_call(F)                                                                  \
	F(ev_call, str, call_id, "call_id", TH_REQ, "the provider's id of the call")          \
	F(ev_call, str, tool, "tool", TH_REQ, "name of the tool, or computer")                \
	F(ev_call, raw, arguments, "arguments", TH_REQ,                                       \
	  "object: the arguments; computer: {actions:[…]}")                                   \
	F(ev_call, str, class, "class", TH_REQ, "effect class: L R K V W X")                  \
	F(ev_call, str, target, "target", 0,                                                  \
	  "what the tool acts on: screen, files or other; absent in older logs")              \
	F(ev_call, str, shows, "shows", 0,                                                    \
	  "what the call shows, if more than one file: folder or any")                        \
	F(ev_call, str, digest, "digest", TH_REQ,                                             \
	  "SHA-256 of tool and arguments; approvals and intents name it")                     \
	F(ev_call, str, policy, "policy", TH_REQ, "run, ask or refuse")                       \
	F(ev_call, str, reason, "reason", 0, "why policy asks or refuses")                    \
	F(ev_call, str, risk, "risk", 0, "confirm: low, medium or high, as analysers see it") \
	F(ev_call, bool, each, "each", 0,                                                     \
	  "a rule with arguments, path or domain asks for approval: each call is decided "    \
	  "separately")                                                                       \
	F(ev_call, bool, question, "question", 0, "a person's answer is its result")          \
	F(ev_call, bool, unknown, "unknown", 0, "there is no tool of that name")              \
	F(ev_call, raw, safety_checks, "safety_checks", 0,                                    \
	  "the provider's pending checks; always ask")                                        \
	F(ev_call, raw, grounding, "grounding", 0,                                            \
	  "composed models: model, places of the described elements, requests, tokens, cost_nano")

#define TH_FIELDS_ev_approval_requested(F)                                                        \
	F(ev_approval_requested, str, call_id, "call_id", TH_REQ, "the call")                     \
	F(ev_approval_requested, str, digest, "digest", TH_REQ, "the exact action that is meant") \
	F(ev_approval_requested, str, reason, "reason", TH_REQ, "why a person is asked")          \
	F(ev_approval_requested, str, host, "host", 0,                                            \
	  "net_ask: the call runs, and a program of it wants to reach this; digest is of both")   \
	F(ev_approval_requested, int, port, "port", TH_NONEG, "net_ask: and this port of it")     \
	F(ev_approval_requested, int, expires_ms, "expires_ms", TH_NONEG,                         \
	  "Unix time at which it is refused; absent: never")

#define TH_FIELDS_ev_approval_decided(F)                                                        \
	F(ev_approval_decided, str, call_id, "call_id", TH_REQ, "the call")                     \
	F(ev_approval_decided, str, digest, "digest", TH_REQ, "the exact action that is meant") \
	F(ev_approval_decided, bool, approve, "approve", TH_REQ | TH_EMIT, "run it, once")      \
	F(ev_approval_decided, bool, always, "always", 0,                                       \
	  "the same for every later call of this tool in this session; of a host: in every "    \
	  "later task of the session, not in this one alone")                                   \
	F(ev_approval_decided, bool, expired, "expired", 0, "nobody decided in time")           \
	F(ev_approval_decided, bool, withdrawn, "withdrawn", 0,                                 \
	  "with expired, of a host: what asked for it has hung up; it may ask again")           \
	F(ev_approval_decided, str, host, "host", 0,                                            \
	  "net_ask: whether the session may reach it, as it was asked about")                   \
	F(ev_approval_decided, int, port, "port", TH_NONEG, "net_ask: and this port of it")     \
	F(ev_approval_decided, str, by, "by", 0, "who decided")                                 \
	F(ev_approval_decided, str, message, "message", 0,                                      \
	  "told to the model when rejected; of a question: the answer")

#define TH_FIELDS_ev_intent(F)                                                                    \
	F(ev_intent, str, call_id, "call_id", TH_REQ, "the call")                                 \
	F(ev_intent, str, effect_id, "effect_id", TH_REQ,                                         \
	  "random; the executor refuses an id that it has seen")                                  \
	F(ev_intent, int, epoch, "epoch", TH_REQ | TH_EMIT,                                       \
	  "fencing number of the session's owner")                                                \
	F(ev_intent, str, class, "class", TH_REQ, "effect class")                                 \
	F(ev_intent, str, tool, "tool", TH_REQ, "name of the tool, or computer")                  \
	F(ev_intent, str, digest, "digest", TH_REQ, "SHA-256 of tool and arguments")              \
	F(ev_intent, int, timeout_ms, "timeout_ms", 0, "time limit of the call")                  \
	F(ev_intent, str, journal, "journal", 0,                                                  \
	  "name of the executor's journal that records it; another journal proves nothing about " \
	  "it")                                                                                   \
	F(ev_intent, str, executor, "executor", 0,                                                \
	  "HOST:PORT at which other nodes of a fleet reach that executor (docs/FLEET.md)")        \
	F(ev_intent, int, approval, "approval", TH_NONEG, "event of the approval that it uses")

#define TH_FIELDS_ev_question(F)                                                         \
	F(ev_question, str, call_id, "call_id", TH_REQ, "the call")                      \
	F(ev_question, str, effect_id, "effect_id", TH_REQ,                              \
	  "the intent's, which is over: it has no outcome")                              \
	F(ev_question, raw, arguments, "arguments", TH_REQ,                              \
	  "what the person sees: question, and options to choose from; as those of ask") \
	F(ev_question, raw, form, "form", TH_REQ, "what the tool needs to go on with the answer")

#define TH_FIELDS_ev_sampled(F)                                                           \
	F(ev_sampled, str, call_id, "call_id", TH_REQ, "the call")                        \
	F(ev_sampled, raw, answer, "answer", 0,                                           \
	  "what its server gets: role, content, model and stopReason; absent: it failed") \
	F(ev_sampled, str, failed, "failed", 0, "why there is no answer")                 \
	F(ev_sampled, raw, usage, "usage", 0, "what it cost: requests, input, output, cost_nano")

#define TH_FIELDS_ev_server_task(F)                                            \
	F(ev_server_task, str, call_id, "call_id", TH_REQ, "the call")         \
	F(ev_server_task, str, effect_id, "effect_id", TH_REQ, "the intent's") \
	F(ev_server_task, str, task, "task", TH_REQ | TH_NONEMPTY, "the server's name of the task")

#define TH_FIELDS_ev_outcome(F)                                                                   \
	F(ev_outcome, str, call_id, "call_id", TH_REQ, "the call")                                \
	F(ev_outcome, str, effect_id, "effect_id", 0,                                             \
	  "the intent's; absent when nothing was started")                                        \
	F(ev_outcome, str, status, "status", TH_REQ,                                              \
	  "done, failed, not_started, unknown or refused")                                        \
	F(ev_outcome, raw, output, "output", TH_REQ,                                              \
	  "the result that the model gets: a string, or a list of parts")                         \
	F(ev_outcome, raw, evidence, "evidence", 0,                                               \
	  "what changed: exit code, pointer, settled, frame id …")                                \
	F(ev_outcome, raw, acknowledged, "acknowledged_safety_checks", 0,                         \
	  "checks a person accepted")                                                             \
	F(ev_outcome, strs, origins, "origins", 0,                                                \
	  "where its bytes come from: web, mcp, tool, workspace, person")                         \
	F(ev_outcome, raw, quarantine, "quarantine", 0,                                           \
	  "the result as it came, which the model is not shown, as output; full_output; usage "   \
	  "of the request that read it; failed, when none did")                                   \
	F(ev_outcome, int, elapsed_ms, "elapsed_ms", 0, "from dispatch to result")                \
	F(ev_outcome, str, fails, "fails", 0, "why the run ends with this failure")               \
	F(ev_outcome, raw, observation, "observation", 0,                                         \
	  "unknown: the observation made afterwards: tool, arguments, status; its content is in " \
	  "output")

#define TH_FIELDS_ev_parked(F)                                                                   \
	F(ev_parked, str, call_id, "call_id", TH_REQ, "the call")                                \
	F(ev_parked, str, effect_id, "effect_id", TH_REQ, "the intent's")                        \
	F(ev_parked, raw, output, "output", TH_REQ, "as in outcome: what is known and was seen") \
	F(ev_parked, raw, evidence, "evidence", 0, "as in outcome")                              \
	F(ev_parked, raw, observation, "observation", 0, "as in outcome")                        \
	F(ev_parked, int, elapsed_ms, "elapsed_ms", 0, "from dispatch to result")

#define TH_FIELDS_ev_settled(F)                                                        \
	F(ev_settled, str, call_id, "call_id", TH_REQ, "the call")                     \
	F(ev_settled, str, effect_id, "effect_id", TH_REQ, "the effect that is meant") \
	F(ev_settled, str, status, "status", TH_REQ, "done, not_started or unknown")   \
	F(ev_settled, str, by, "by", 0, "who said it")                                 \
	F(ev_settled, str, message, "message", 0, "told to the model")

#define TH_FIELDS_ev_guardrail(F)                                                                \
	F(ev_guardrail, str, name, "name", TH_REQ, "the guardrail")                              \
	F(ev_guardrail, str, stage, "stage", TH_REQ, "input, output, tool_input or tool_output") \
	F(ev_guardrail, bool, tripped, "tripped", TH_REQ | TH_EMIT, "whether it stops the run")  \
	F(ev_guardrail, str, agent, "agent", 0, "the agent that has the guardrail")              \
	F(ev_guardrail, str, call_id, "call_id", 0, "the call that it checked")                  \
	F(ev_guardrail, int, after, "after", TH_NONEG,                                           \
	  "input: it checked the messages after this event, up to the cause; absent: only the "  \
	  "cause, which began the task")                                                         \
	F(ev_guardrail, str, message, "message", 0,                                              \
	  "tripped: the reason; tool guardrails: what the model gets instead of the result")     \
	F(ev_guardrail, bool, again, "again", 0,                                                 \
	  "output: the agent is sent back; what it is told is the next message")                 \
	F(ev_guardrail, raw, arguments, "arguments", 0,                                          \
	  "tool_input: what the call runs with instead of the model's own")                      \
	F(ev_guardrail, str, class, "class", 0, "the effect class of the call with these")       \
	F(ev_guardrail, str, effect_id, "effect_id", 0, "a hook's, as in hook_started")          \
	F(ev_guardrail, raw, info, "info", 0, "details of the guardrail's result")               \
	F(ev_guardrail, raw, usage, "usage", 0, "a hook's that asks a model: what that took")    \
	F(ev_guardrail, str, withheld, "withheld", 0,                                            \
	  "output, tripped: text that replaces the withheld results; absent: a sentence that "   \
	  "says so")

#define TH_FIELDS_ev_hook_started(F)                                                             \
	F(ev_hook_started, str, name, "name", TH_REQ, "the hook: its event and its number")      \
	F(ev_hook_started, str, event, "event", TH_REQ,                                          \
	  "pre_tool_use, post_tool_use, user_prompt_submit, session_start, session_end or stop") \
	F(ev_hook_started, str, stage, "stage", 0,                                               \
	  "as of its guardrail, which has the answer; absent: nobody waits for one")             \
	F(ev_hook_started, str, agent, "agent", 0, "the agent that it is asked about")           \
	F(ev_hook_started, str, call_id, "call_id", 0, "the call that it is asked about")        \
	F(ev_hook_started, str, type, "type", 0,                                                 \
	  "prompt: a model is asked; agent: one that may look first; absent: a program")         \
	F(ev_hook_started, str, command, "command", TH_REQ,                                      \
	  "its command line, or the policy that the model is asked by")                          \
	F(ev_hook_started, bool, async, "async", 0,                                              \
	  "nobody waits for it; how it ended is in an event of the kind code")                   \
	F(ev_hook_started, str, effect_id, "effect_id", TH_REQ, "as of an intent")               \
	F(ev_hook_started, int, epoch, "epoch", TH_REQ | TH_EMIT,                                \
	  "fencing number of the session's owner")                                               \
	F(ev_hook_started, str, journal, "journal", 0, "as of an intent")                        \
	F(ev_hook_started, int, timeout_ms, "timeout_ms", TH_NONEG, "when it is ended")

#define TH_FIELDS_ev_analysis(F)                                                       \
	F(ev_analysis, str, name, "name", TH_REQ, "the analyser")                      \
	F(ev_analysis, int, index, "index", TH_REQ | TH_NONEG | TH_EMIT,               \
	  "its place among the agent's external analysers")                            \
	F(ev_analysis, str, call_id, "call_id", TH_REQ, "the call")                    \
	F(ev_analysis, str, risk, "risk", TH_REQ, "unknown, low, medium or high")      \
	F(ev_analysis, str, reason, "reason", 0, "what it says of the call")           \
	F(ev_analysis, str, failed, "failed", 0,                                       \
	  "why it gave no answer; the risk is then what the agent file says for that") \
	F(ev_analysis, int, elapsed_ms, "elapsed_ms", TH_NONEG, "from the question to the answer")

#define TH_FIELDS_ev_handoff(F)                                                                 \
	F(ev_handoff, str, from, "from", TH_REQ, "agent that hands over")                       \
	F(ev_handoff, str, to, "to", TH_REQ, "agent that takes over")                           \
	F(ev_handoff, str, call_id, "call_id", 0, "the call that asked for it")                 \
	F(ev_handoff, raw, arguments, "arguments", 0,                                           \
	  "arguments of the call, where the handoff has parameters")                            \
	F(ev_handoff, raw, history, "history", 0,                                               \
	  "the history that the new agent sees: a list of [event, item] and of items; absent: " \
	  "all")                                                                                \
	F(ev_handoff, int, run_items, "run_items", TH_NONEG,                                    \
	  "how many items at the end of `history` belong to this run")

#define TH_FIELDS_ev_code(F)                                                                  \
	F(ev_code, str, use, "use", TH_REQ,                                                   \
	  "purpose: tool_use, session_input, or the hook's name")                             \
	F(ev_code, str, name, "name", TH_REQ, "the function")                                 \
	F(ev_code, str, agent, "agent", 0, "the agent that has the code")                     \
	F(ev_code, raw, answer, "answer", 0, "its answer, if any; see live/callbacks.h")      \
	F(ev_code, str, failed, "failed", 0, "hooks: why it failed")                          \
	F(ev_code, bool, fails, "fails", 0, "a hook that failed: the run ends because of it") \
	F(ev_code, str, effect_id, "effect_id", 0, "a program's, as in hook_started")         \
	F(ev_code, raw, usage, "usage", 0, "a hook's that asks a model: what that took")

#define TH_FIELDS_ev_mcp_tools(F)                                                               \
	F(ev_mcp_tools, str, server, "server", TH_REQ, "name of the server in the agent file")  \
	F(ev_mcp_tools, str, agent, "agent", 0, "teams: the agent that has it")                 \
	F(ev_mcp_tools, raw, tools, "tools", TH_REQ,                                            \
	  "list of {name, tool: the server's name of it, description, parameters, class, ask}") \
	F(ev_mcp_tools, str, revision, "revision", 0, "revision of MCP that is spoken with it") \
	F(ev_mcp_tools, str, software, "software", 0, "what the server calls itself")           \
	F(ev_mcp_tools, str, instructions, "instructions", 0,                                   \
	  "what the server says of its use, as the model is told it")                           \
	F(ev_mcp_tools, raw, left_out, "left_out", 0,                                           \
	  "tools that the agent does not get, and why: a list of {tool, why}")                  \
	F(ev_mcp_tools, int, more, "more", TH_NONEG, "how many more are left out")              \
	F(ev_mcp_tools, str, failed, "failed", 0,                                               \
	  "why there is no list; the run goes on without it, as its agent file says")

#define TH_FIELDS_ev_items_added(F)                                             \
	F(ev_items_added, raw, items, "items", TH_REQ,                          \
	  "messages, calls, results, in the Responses API's form, in order")    \
	F(ev_items_added, bool, begins, "begins", 0, "a task begins with them") \
	F(ev_items_added, raw, origin, "origin", 0,                             \
	  "imported: {form, event as it came}; or {form, view: true}: what stands for all before")

#define TH_FIELDS_ev_items_removed(F)                                         \
	F(ev_items_removed, int, count, "count", TH_NONEG | TH_EMIT | TH_REQ, \
	  "number of items, the newest; 0: all")

#define TH_FIELDS_ev_delegation_started(F)                                                    \
	F(ev_delegation_started, str, child, "child", TH_REQ, "the other session")            \
	F(ev_delegation_started, str, call_id, "call_id", TH_REQ, "the call that it answers") \
	F(ev_delegation_started, str, agent, "agent", TH_REQ, "the agent that begins there")  \
	F(ev_delegation_started, bool, background, "background", 0,                           \
	  "the call is answered at once, and a message says what became of it")               \
	F(ev_delegation_started, raw, before, "before", 0,                                    \
	  "the session worked on an earlier call and goes on: what it had used until then, "  \
	  "as in delegation_finished, and counts there")

#define TH_FIELDS_ev_delegation_waits(F)                                                         \
	F(ev_delegation_waits, str, child, "child", TH_REQ, "the other session")                 \
	F(ev_delegation_waits, str, call_id, "call_id", TH_REQ, "the call that it answers")      \
	F(ev_delegation_waits, raw, waits, "waits", TH_REQ,                                      \
	  "what it waits for: a list of {session, call_id, tool, arguments, reason}; empty: it " \
	  "continues")                                                                           \
	F(ev_delegation_waits, int, more, "more", TH_NONEG,                                      \
	  "how many more calls wait; the list has no room for them")

#define TH_FIELDS_ev_delegation_finished(F)                                                        \
	F(ev_delegation_finished, str, child, "child", TH_REQ, "the other session")                \
	F(ev_delegation_finished, str, call_id, "call_id", TH_REQ, "the call that it answers")     \
	F(ev_delegation_finished, str, state, "state", TH_REQ,                                     \
	  "how it ended: finished, failed, …")                                                     \
	F(ev_delegation_finished, int, turns, "turns", TH_NONEG, "its model turns")                \
	F(ev_delegation_finished, raw, usage, "usage", 0,                                          \
	  "tokens: input, output, cached, reasoning; includes sessions that worked for it")        \
	F(ev_delegation_finished, int, cost_nano, "cost_nano", TH_NONEG,                           \
	  "price in 1e-9 US dollars")                                                              \
	F(ev_delegation_finished, bool, cost_unknown, "cost_unknown", 0,                           \
	  "some of its cost is not known")                                                         \
	F(ev_delegation_finished, bool, unmetered, "unmetered", 0,                                 \
	  "the usage of an answer is not known, though a limit is set")                            \
	F(ev_delegation_finished, int, tokens_held, "tokens_held", TH_NONEG,                       \
	  "tokens reserved for requests without an answer")                                        \
	F(ev_delegation_finished, int, cost_held_nano, "cost_held_nano", TH_NONEG, "their price")  \
	F(ev_delegation_finished, strs, origins, "origins", 0,                                     \
	  "of a task in the background: where what it says comes from, as in outcome")             \
	F(ev_delegation_finished, str, result, "result", 0,                                        \
	  "of one whose tool's results are looked at: what came of it, which the tool background " \
	  "reads")

#define TH_FIELDS_ev_condensation(F)                                                            \
	F(ev_condensation, int, first_seq, "first_seq", TH_REQ, "first event left out")         \
	F(ev_condensation, int, last_seq, "last_seq", TH_REQ, "last event left out")            \
	F(ev_condensation, str, summary, "summary", 0, "text that replaces them")               \
	F(ev_condensation, str, name, "name", 0, "the condenser, or the function")              \
	F(ev_condensation, str, fallback, "fallback", 0,                                        \
	  "why no model summarized: a condenser without a model was used")                      \
	F(ev_condensation, raw, usage, "usage", 0, "usage of the model's summary")              \
	F(ev_condensation, str, agent, "agent", 0, "the agent that sees this history")          \
	F(ev_condensation, raw, history, "history", 0,                                          \
	  "the history from before this event, as it is seen from here on; form as in handoff") \
	F(ev_condensation, int, items, "items", TH_NONEG, "number of items in history")         \
	F(ev_condensation, int, bytes, "bytes", TH_NONEG, "size of history in bytes")           \
	F(ev_condensation, int, left_out, "left_out", TH_NONEG,                                 \
	  "items that the history no longer has, of this and all earlier condensations")

#define TH_FIELDS_ev_condensation_requested(F) \
	F(ev_condensation_requested, str, by, "by", 0, "who asks")

#define TH_FIELDS_ev_control(F)                                                                    \
	F(ev_control, bool, taken, "taken", TH_REQ | TH_EMIT, "taken over, or given back")         \
	F(ev_control, str, by, "by", 0, "who")                                                     \
	F(ev_control, str, note, "note", 0, "given back: what the person says, told to the model") \
	F(ev_control, str, reason, "reason", 0, "given back: why, where the person did not say it")

#define TH_FIELDS_ev_input(F)                                                                     \
	F(ev_input, str, by, "by", 0, "who")                                                      \
	F(ev_input, str, tool, "tool", TH_REQ | TH_NONEMPTY, "computer, or another tool")         \
	F(ev_input, raw, arguments, "arguments", TH_REQ, "as of a call; computer: {actions:[…]}") \
	F(ev_input, str, class, "class", TH_REQ, "effect class")                                  \
	F(ev_input, str, effect_id, "effect_id", TH_REQ, "as of an intent")                       \
	F(ev_input, int, epoch, "epoch", TH_REQ | TH_EMIT,                                        \
	  "fencing number of the session's owner")                                                \
	F(ev_input, str, digest, "digest", TH_REQ, "SHA-256 of tool and arguments")               \
	F(ev_input, str, journal, "journal", 0, "as of an intent")                                \
	F(ev_input, int, timeout_ms, "timeout_ms", TH_NONEG,                                      \
	  "when it is ended; absent: the tool's own")

#define TH_FIELDS_ev_input_done(F)                                           \
	F(ev_input_done, str, effect_id, "effect_id", TH_REQ, "the input's") \
	F(ev_input_done, str, status, "status", TH_REQ,                      \
	  "done, failed, not_started, unknown or refused")                   \
	F(ev_input_done, str, why, "why", 0, "not done: what it said")       \
	F(ev_input_done, int, elapsed_ms, "elapsed_ms", TH_NONEG, "from dispatch to result")

#define TH_FIELDS_ev_state_changed(F)                               \
	F(ev_state_changed, str, to, "to", TH_REQ, "the new state") \
	F(ev_state_changed, str, reason, "reason", 0, "why")        \
	F(ev_state_changed, bool, record, "record", 0,              \
	  "stopped for good: a record that imported forks share; it can be forked, not resumed")

#define TH_FIELDS_ev_session_changed(F)                                                           \
	F(ev_session_changed, str, title, "title", 0, "the title from here on; empty: as before") \
	F(ev_session_changed, raw, metadata, "metadata", 0,                                       \
	  "the whole metadata from here on; without, as before")                                  \
	F(ev_session_changed, raw, confirm, "confirm", 0,                                         \
	  "asked beside the agent file's confirm from here on: when, threshold, unknown")         \
	F(ev_session_changed, strs, secrets, "secrets", 0,                                        \
	  "names of secrets that its commands were given or not any more; values are nowhere")    \
	F(ev_session_changed, str, by, "by", 0, "who changed it")

#define TH_FIELDS_ev_budget(F)                                                  \
	F(ev_budget, raw, limits, "limits", TH_REQ, "the limits from here on")  \
	F(ev_budget, str, by, "by", 0, "who changed them")                      \
	F(ev_budget, int, turns, "turns", TH_NONEG,                             \
	  "model turns that this task may make beyond the limit, from here on") \
	F(ev_budget, int, seconds, "seconds", TH_NONEG,                         \
	  "running time that this task may take beyond the limit, from here on")

#define TH_FIELDS_ev_plan(F)                                                      \
	F(ev_plan, bool, on, "on", TH_REQ | TH_EMIT, "plan mode begins, or ends") \
	F(ev_plan, str, by, "by", 0, "who says so")

#define TH_FIELDS_ev_goal(F)                                                                    \
	F(ev_goal, str, goal, "goal", 0,                                                        \
	  "what is to be reached: final outputs are judged by it from here on; empty: it ends") \
	F(ev_goal, int, rounds, "rounds", TH_NONEG,                                             \
	  "verdicts at most; then the final output counts as it is")                            \
	F(ev_goal, int, given, "given", TH_NONEG, "of these already, where it goes on")         \
	F(ev_goal, str, by, "by", 0, "who says so")

#define TH_FIELDS_ev_asked(F)                                               \
	F(ev_asked, str, by, "by", 0, "who asked")                          \
	F(ev_asked, str, question, "question", TH_REQ, "what was asked")    \
	F(ev_asked, str, answer, "answer", 0, "what the model said")        \
	F(ev_asked, str, failed, "failed", 0, "why there is no answer")     \
	F(ev_asked, str, class, "class", 0, "class of the model's failure") \
	F(ev_asked, raw, usage, "usage", 0, "usage of the request")

#define TH_FIELDS_ev_verdict(F)                                                                  \
	F(ev_verdict, int, round, "round", TH_REQ, "number of the verdict in this task")         \
	F(ev_verdict, bool, complete, "complete", TH_EMIT, "whether the task is done")           \
	F(ev_verdict, num, score, "score", TH_NONEG | TH_EMIT,                                   \
	  "how likely it is that it is done, 0 to 1")                                            \
	F(ev_verdict, raw, missing, "missing", 0, "what is missing: a list of sentences")        \
	F(ev_verdict, str, failed, "failed", 0, "why there is no verdict")                       \
	F(ev_verdict, str, model, "model", 0, "who judged, where it is another model")           \
	F(ev_verdict, raw, labels, "labels", 0, "a critic's: its labels and how likely each is") \
	F(ev_verdict, raw, usage, "usage", 0, "usage of the request")

#define TH_FIELDS_ev_error(F)                                            \
	F(ev_error, str, class, "class", TH_REQ, "class of the failure") \
	F(ev_error, str, message, "message", TH_REQ, "one sentence")

#define TH_FIELDS_ev_final(F)                                                                     \
	F(ev_final, str, output, "output", TH_REQ, "the final text; with an output_schema: JSON") \
	F(ev_final, str, status, "status", 0, "finished or refused")                              \
	F(ev_final, str, instead_of, "instead_of", 0,                                             \
	  "output of the agent file, not of the model: max_turns, refusal, invalid_output")       \
	F(ev_final, bool, in_history, "in_history", 0, "later turns see it as the model's message")

TH_STRUCT(ev_session_created)
TH_STRUCT(ev_session_forked)
TH_STRUCT(ev_message)
TH_STRUCT(ev_model_requested)
TH_STRUCT(ev_model_started)
TH_STRUCT(ev_model_answered)
TH_STRUCT(ev_model_failed)
TH_STRUCT(ev_call)
TH_STRUCT(ev_approval_requested)
TH_STRUCT(ev_approval_decided)
TH_STRUCT(ev_intent)
TH_STRUCT(ev_outcome)
TH_STRUCT(ev_question)
TH_STRUCT(ev_sampled)
TH_STRUCT(ev_server_task)
TH_STRUCT(ev_parked)
TH_STRUCT(ev_settled)
TH_STRUCT(ev_guardrail)
TH_STRUCT(ev_hook_started)
TH_STRUCT(ev_analysis)
TH_STRUCT(ev_handoff)
TH_STRUCT(ev_delegation_started)
TH_STRUCT(ev_delegation_waits)
TH_STRUCT(ev_delegation_finished)
TH_STRUCT(ev_code)
TH_STRUCT(ev_mcp_tools)
TH_STRUCT(ev_items_added)
TH_STRUCT(ev_items_removed)
TH_STRUCT(ev_condensation)
TH_STRUCT(ev_condensation_requested)
TH_STRUCT(ev_control)
TH_STRUCT(ev_input)
TH_STRUCT(ev_input_done)
TH_STRUCT(ev_state_changed)
TH_STRUCT(ev_budget)
TH_STRUCT(ev_plan)
TH_STRUCT(ev_goal)
TH_STRUCT(ev_asked)
TH_STRUCT(ev_verdict)
TH_STRUCT(ev_session_changed)
TH_STRUCT(ev_error)
TH_STRUCT(ev_final)

/* The table of a kind's data. */
const struct th_table *th_event_table(enum th_event_kind kind);
extern const struct th_table th_ev_session_created_table, th_ev_session_forked_table,
    th_ev_message_table, th_ev_model_requested_table, th_ev_model_started_table,
    th_ev_model_answered_table, th_ev_model_failed_table, th_ev_call_table,
    th_ev_approval_requested_table, th_ev_approval_decided_table, th_ev_intent_table,
    th_ev_outcome_table, th_ev_question_table, th_ev_sampled_table, th_ev_server_task_table,
    th_ev_parked_table, th_ev_settled_table, th_ev_guardrail_table, th_ev_hook_started_table,
    th_ev_analysis_table, th_ev_handoff_table, th_ev_delegation_started_table,
    th_ev_delegation_waits_table, th_ev_delegation_finished_table, th_ev_code_table,
    th_ev_items_added_table, th_ev_items_removed_table, th_ev_condensation_table,
    th_ev_condensation_requested_table, th_ev_state_changed_table, th_ev_budget_table,
    th_ev_plan_table, th_ev_goal_table, th_ev_verdict_table, th_ev_asked_table,
    th_ev_session_changed_table, th_ev_error_table, th_ev_final_table;

#endif
