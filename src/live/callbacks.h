/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callbacks.h - the seam by which code from outside answers: an agent file's
 * scripts, or a program that embeds us.
 *
 * The driver asks a function by name with one JSON value and gets one JSON
 * value back, at once or later.  An answer is an event as soon as it decides
 * anything, so a replay never asks again; a question whose answer was not yet
 * durable is asked anew after a crash.  A question is asked only when what led
 * to it is durable.  Code that fails ends the run, or stands for "no": it never
 * lets something happen.
 *
 * Bodies of tools do not come through here: they are rows of tools with a
 * function of this process (driver.h, th_tool_row.local).
 */
#ifndef TH_LIVE_CALLBACKS_H
#define TH_LIVE_CALLBACKS_H

#include "base/buf.h"
#include "core/session.h"
#include "live/world.h"

/*
 * id, name, what it is given -> what it answers.
 * Every input has "agent" and "session" beside what is named here.
 * AT ONCE: an answer that comes later is none.
 */
// clang-format off
#define TH_ASKS(X)                                                                                  \
	X(INSTRUCTIONS, "instructions", "{turn} -> a string")                                       \
	X(GUARDRAIL, "guardrail",                                                                   \
	  "{stage, input: what began the task or was said since the last look, a string or a list " \
	  "of items | output: the final text | tool, call_id, arguments[, output]} -> true (stops " \
	  "the run), false or null, or {tripped, message, info}; of a tool's, a message without "   \
	  "tripped is told to the model instead of a run, or of the result")                        \
	X(FILTER, "filter",                                                                         \
	  "{from, to, items: […]} -> the list of items that the next agent sees; items that are "   \
	  "given back unchanged are named in the log, others are written there")                    \
	X(SESSION_INPUT, "session_input",                                                           \
	  "{history: […], input: […]}, before a task's first request -> the list of items that "    \
	  "this task goes on from")                                                                 \
	X(COMPACT, "compact",                                                                       \
	  "{items: […], bytes}, before a request when that is too much -> the list of items that "  \
	  "stands for them from now on, or null: not now")                                          \
	X(TOOL_USE, "tool_use",                                                                     \
	  "{results: [{tool, call_id, output}]} -> {final: true, output: …}, or anything else: the " \
	  "model is asked again")                                                                   \
	X(APPROVAL, "approval",                                                                     \
	  "{tool, call_id, arguments, class} -> true or a string (why): a person is asked; AT ONCE") \
	X(DECISION, "decision",                                                                     \
	  "{tool, call_id, arguments, class, reason}: a call that would wait for a person -> "      \
	  "{approve, message}, or null: a person is asked")                                         \
	X(HOOK, "hook",                                                                             \
	  "{hook, seq, …}: something happened, and is durable (guards/hooks.c) -> text that is "   \
	  "noted in the log, or null")                                                              \
	X(TEXT, "text",                                                                             \
	  "{kind: rejected | unknown_tool | refused | agent_failed (with agent and class), tool, "   \
	  "call_id, message: why, text: what would be told; or kind: withheld, guardrail, text: "    \
	  "what would stand for refused results} -> a string: what the model reads instead; "        \
	  "AT ONCE; the function is \"\"")
// clang-format on
#define X(id, name, doc) TH_ASK_##id,
enum th_ask_kind { TH_ASKS(X) TH_ASK_COUNT };
#undef X
const char *th_ask_name(enum th_ask_kind k);

/* The input of a hook, for callers that need no more. */
struct th_hook_info {
	enum th_hook hook;
	struct th_str agent, call_id; /* call_id: of a tool's, and of HANDOFF */
	uint64_t seq;
};

struct th_code_ask {
	struct th_ticket ticket; /* for th_driver_code_done; of AT ONCE all 0 */
	enum th_ask_kind kind;
	struct th_str session_id, agent, function;
	struct th_str input;      /* JSON object; all borrowed until the function returns */
	struct th_hook_info told; /* HOOK */
};

enum th_asked {
	TH_ASKED_ANSWERED, /* the JSON value is in `answer` */
	TH_ASKED_LATER,    /* th_driver_code_done will be called, once */
	TH_ASKED_FAILED,   /* err says why */
	TH_ASKED_NOTHING   /* there is no such function: of TEXT, what would be told is */
};

struct th_callbacks_ops {
	/* Must not call the driver back before it returns. */
	enum th_asked (*ask)(void *ctx, const struct th_code_ask *ask, struct th_buf *answer,
			     struct th_err *err);
	/* No answer is wanted any more, and none may come.  NULL where all come at once. */
	void (*cancel)(void *ctx, struct th_ticket t);
	/* For agent files: is there a function of this name?  NULL: it is not known before. */
	bool (*has)(void *ctx, enum th_ask_kind kind, struct th_str function);
};

/* Of a session_config (driver.h); borrowed, lives as long as the session is open. */
struct th_callbacks {
	const struct th_callbacks_ops *ops;
	void *ctx;
};

struct th_driver;
/* The answer to an ask that was LATER: JSON, or with `failed` a sentence.  A ticket that is over is
 * a miss. */
void th_driver_code_done(struct th_driver *d, struct th_ticket t, bool failed,
			 struct th_str answer);

#endif
