/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bash_shell.h - a shell of the tool `bash` and the calls that wait for it, for its own files
 * alone: bash.c (the tool), bash_shell.c (what runs in the shell) and bash_answer.c (what a call is
 * told).
 */
#ifndef TH_TOOLS_BASH_SHELL_H
#define TH_TOOLS_BASH_SHELL_H

#include "tools/bash_session.h"

#define TH_FIELDS_bash(F)                                                                         \
	F(bash, str, command, "command", 0,                                                       \
	  "Commands to run, any number of lines; empty: wait for more output of what runs.")      \
	F(bash, bool, input, "input", 0,                                                          \
	  "The command is typed into what runs: a text, or a key such as C-c, C-d, C-z, UP.")     \
	F(bash, num, timeout_s, "timeout_s", TH_POSITIVE,                                         \
	  "Return after so many seconds; the command runs on. Default: 30 without new output.")   \
	F(bash, str, session, "session", TH_NONEMPTY, "Another shell than the first, by a name.") \
	F(bash, bool, restart, "restart", 0, "End the shell and all it started; begin anew.")     \
	F(bash, bool, typed, "typed", TH_HIDDEN,                                                  \
	  "a person's: typed, or begun, and not waited for")                                      \
	F(bash, raw, is_input, "is_input", TH_HIDDEN, "input, as other tools call it")            \
	F(bash, num, timeout, "timeout", TH_HIDDEN, "timeout_s, as other tools call it")          \
	F(bash, bool, reset, "reset", TH_HIDDEN, "restart, as other tools call it")               \
	F(bash, str, security_risk, "security_risk", TH_HIDDEN, "not looked at")                  \
	F(bash, str, summary, "summary", TH_HIDDEN, "not looked at")                              \
	F(bash, str, description, "description", TH_HIDDEN, "not looked at")

TH_STRUCT(bash)
extern const struct th_table th_bash_table;

#define TH_BASH_FIRST "main" /* the shell of calls that name none */

struct th_bash_call {
	struct th_bash_call *next;
	struct th_tool_job *job;
	const struct th_bash *args;
	struct th_bash_shell *shell;
	uint64_t started_ms, deadline_ms; /* deadline 0: until it is idle */
	double timeout_s;
	bool continued, cancelled;
};

struct th_bash_shell {
	struct th_bash_shell *next;
	struct th_tool_env *env;
	char name[TH_BASH_NAME_MAX + 1];
	struct th_shell_session *session;  /* NULL: none lives */
	struct th_bash_call *first, *last; /* the first one waits, if `waiting` */
	bool waiting;
	struct th_timer soft, hard;
	unsigned stage; /* of ending the command */
	bool overdue;   /* it ran too long */
	uint64_t output_ms;
	char control; /* the last control key that was sent */
	bool ended_untold;
	int status;               /* of the last command */
	struct th_buf last_words; /* of a shell that died while nobody waited; empty: none */
	char folder[TH_PATH_LEN_MAX], told_folder[TH_PATH_LEN_MAX];
};

/* ---- bash_shell.c ---- */

/* In env's list; no bash runs in it yet. */
struct th_bash_shell *th_bash_shell_new(struct th_tool_env *env, struct th_str name);
/* Begins its first call, unless that waits already; each call that ends begins the next. */
void th_bash_shell_run(struct th_bash_shell *sh);
/* Ends its command: asked first, then by force. */
void th_bash_shell_interrupt(struct th_bash_shell *sh);

/* ---- bash_answer.c ---- */

bool th_bash_shell_busy(const struct th_bash_shell *sh); /* a command runs in it */
void th_bash_put_evidence(struct th_buf *out, const struct th_bash_shell *sh, bool ended,
			  uint64_t size, uint64_t left_out);
void th_bash_put_last_words(struct th_bash_shell *sh, struct th_buf *out);
void th_bash_put_death(struct th_buf *out, const struct th_child_exit *e);
/* More of what an earlier call left running, which has ended since: told before what is new. */
void th_bash_put_ended(struct th_bash_shell *sh, struct th_buf *out);
/* Of the first call: what is new on the terminal, and `ending` behind it. */
void th_bash_put_answer(struct th_bash_shell *sh, enum th_outcome_status status, bool ended,
			struct th_str ending, struct th_buf *text, struct th_buf *evidence);

#endif
