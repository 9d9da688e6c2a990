/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bash_session.h - a bash that lives on between calls: on a terminal of its
 * own, with job control, variables and a folder that it keeps.
 *
 * The end of a command is an event.  A command comes over a pipe that only the
 * shell itself reads, with a random word; when it has ended, the shell says that
 * word with the exit status on another pipe, and on the terminal, so that all
 * output before it has been read by then.  Neither pipe is open in what commands
 * start, and the word is in no environment: output cannot forge an end, and
 * nothing is guessed from a prompt.
 *
 * Each command is a process group of its own (job control).  All that the shell
 * started ends with it, whatever it did to get away (io/child.h).
 */
#ifndef TH_TOOLS_BASH_SESSION_H
#define TH_TOOLS_BASH_SESSION_H

#include "io/child.h"
#include "tools/terminal.h"
#include "tools/tool.h"

struct th_shell_session;

/* What lives on.  It gets commands on descriptor 3 as "WORD\0COMMAND\0", says their end on 4 as
 * "WORD STATUS REST\0", and on the terminal as ESC ] 7770 ; WORD BEL. */
struct th_shell_kind {
	const char *const *argv;
	const char *const *environment; /* more than commands have; NULL: nothing */
	const char *set_up, *trigger;   /* typed once, and for each command; NULL: nothing */
	size_t report_max;              /* of REST */
	bool exports;                   /* secrets that a command names are exported before it */
};
extern const struct th_shell_kind th_shell_bash; /* REST: its folder */

struct th_shell_events {
	void (*output)(void *ctx, struct th_str bytes);
	void (*ended)(void *ctx, int status, struct th_str rest);  /* the command */
	void (*died)(void *ctx, const struct th_child_exit *exit); /* the shell: it is gone */
	void *ctx;
};

/* TH_ENOENT: there is no such program. */
TH_NODISCARD enum th_code th_shell_session_new(struct th_tool_env *env,
					       const struct th_shell_kind *kind,
					       const struct th_shell_events *events,
					       struct th_shell_session **ret, struct th_err *err);
/* Ends it with all that it started; no event any more.  Takes NULL, returns NULL. */
struct th_shell_session *th_shell_session_free(struct th_shell_session *s);

/* Only while none runs. */
TH_NODISCARD enum th_code th_shell_session_run(struct th_shell_session *s, struct th_str command,
					       struct th_err *err);
bool th_shell_session_busy(const struct th_shell_session *s);
/* Bytes, as if typed. */
TH_NODISCARD enum th_code th_shell_session_type(struct th_shell_session *s, struct th_str bytes,
						struct th_err *err);
/* To what runs in the foreground.  False: nothing does but the shell itself. */
bool th_shell_session_signal(struct th_shell_session *s, int signum);
/* Nobody asks for its output: a flood has to wait. */
void th_shell_session_pause(struct th_shell_session *s, bool paused);
struct th_terminal *th_shell_session_terminal(struct th_shell_session *s);

#endif
