/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.h - one call of a server's tool, for tool.c (its start), call.c (what the server says, and
 * its end), task.c (the server does it as a task) and held.c (it waits for a person) alone.
 */
#ifndef TH_MCP_CALL_H
#define TH_MCP_CALL_H

#include "mcp/internal.h"
#include "mcp/question.h"
#include "tools/tool.h"
#include "wire/mcp_read.h"

#define TH_FIELDS_mcp(F)                                                                     \
	F(mcp, str, server, "server", TH_REQ | TH_NONEMPTY, "Name of the server.")           \
	F(mcp, strs, argv, "argv", 0, "Its program and arguments; or")                       \
	F(mcp, str, url, "url", 0, "its address.")                                           \
	F(mcp, strs, headers, "headers", 0, "Name: value, of each request there.")           \
	F(mcp, str, token_env, "token_env", 0, "Variable of the runtime with its token.")    \
	F(mcp, strs, environment, "environment", 0, "NAME=value, beside those of commands.") \
	F(mcp, strs, secrets, "secrets", 0, "Of a command: names of secrets that it gets.")  \
	F(mcp, str, era, "era", 0, "modern or legacy; empty: it is found out.")              \
	F(mcp, int, start_s, "start_s", TH_NONEG, "0: the default.")                         \
	F(mcp, int, timeout_s, "timeout_s", TH_NONEG, "0: the longest there is.")            \
	F(mcp, str, tool, "tool", 0, "Its name at the server; empty: list them.")            \
	F(mcp, raw, arguments, "arguments", 0, "Of the call, an object.")                    \
	F(mcp, strs, params, "params", 0, "Name: value, for the head of the call.")          \
	F(mcp, bool, samples, "samples", 0, "It may ask the session's model.")               \
	F(mcp, bool, reads, "reads", 0, "It only looks.")                                    \
	F(mcp, bool, as_task, "as_task", 0, "The server is asked to do it as a task.")       \
	F(mcp, str, task, "task", 0, "The server does it under that name: it is taken up.")  \
	F(mcp, raw, form, "form", 0, "Its server has asked: what goes on with the answer.")  \
	F(mcp, str, answer, "answer", 0, "The person's answer.")                             \
	F(mcp, bool, declined, "declined", 0, "The person gives none.")

#define TH_MCP_HOLD_SIZE 16

TH_STRUCT(mcp)
extern const struct th_table th_mcp_table;

/* What the server is asked. */
enum th_mcp_call_stage {
	TH_MCP_CALL_CALLS,   /* for the call itself, or a list */
	TH_MCP_CALL_LOOKS,   /* how its task stands */
	TH_MCP_CALL_ANSWERS, /* its task's question is answered */
	TH_MCP_CALL_FETCHES  /* for the result of its task */
};

struct th_mcp_call {
	struct th_mcp_work work; /* the first member: a work is cast to its call */
	struct th_tool_job *job;
	struct th_mcp_process *process;
	struct th_mcp_pages pages;
	struct th_timer timer, poll;
	int64_t timeout_ms;
	enum th_mcp_call_stage stage;
	char task[TH_MCP_TASK_MAX + 1]; /* "": it is none */
	bool as_task, away;             /* away: the server was lost, and is asked again */
	size_t progress;                /* bytes of it that were shown */
	bool sent;
	/* Of the question that the answer is for; raw, in the job's arena. */
	struct th_mcp_form form;
	struct th_buf result; /* that the server gets for it */
	struct th_buf asks;   /* the evidence of a question */
	/* While a person is asked by an older server there is no job, and the server goes on. */
	struct th_str hold; /* a name; "" when nobody is asked */
	char hold_text[2 * TH_MCP_HOLD_SIZE + 3];
	struct th_buf late; /* what it has answered meanwhile; without a word from us it may */
};

static inline const struct th_mcp *th_mcp_call_args(const struct th_mcp_call *c)
{
	return (const struct th_mcp *)c->job->args;
}

/* ---- call.c ---- */

extern const struct th_mcp_work_ops th_mcp_call_ops;
/* Without an answer.  What was sent may have happened.  `reason`: what the server is told, should
 * it still work on it. */
void th_mcp_call_give_up(struct th_mcp_call *c, const char *why, const char *reason,
			 bool timed_out);
void th_mcp_call_on_timeout(void *call);
/* Nobody waits for it any more here, and the server is not told. */
void th_mcp_call_leave(struct th_mcp_call *c);
void th_mcp_call_fail(struct th_mcp_call *c, const struct th_err *err);
/* The result of its tool. */
void th_mcp_call_take(struct th_mcp_call *c, struct th_str result);

/* ---- task.c ---- */

void th_mcp_task_on_poll(void *call);
/* Each: true: it is about its task, and done with. */
bool th_mcp_task_begins(struct th_mcp_call *c);
bool th_mcp_task_answered(struct th_mcp_call *c, struct th_str result);
bool th_mcp_task_failed(struct th_mcp_call *c, const struct th_err *err);
bool th_mcp_task_lost(struct th_mcp_call *c);
void th_mcp_task_cancel(struct th_mcp_call *c); /* the server is told */

/* ---- held.c ---- */

/* With a person's answer: what the server gets for it is in `form` and `result`.  True: the job
 * has ended, or goes on with a call that has waited. */
bool th_mcp_held_resumes(struct th_tool_job *job, struct th_mcp_process *p,
			 struct th_mcp_form *form, struct th_buf *result);

#endif
