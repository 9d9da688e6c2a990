/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show.h - a run in the foreground as it is told: each event in the form that was asked for, the
 * question about a call that waits, and at the end how it went and what to type next.  The same for
 * a session of this process and for one of a server.
 */
#ifndef TH_CONSOLE_SHOW_H
#define TH_CONSOLE_SHOW_H

#include "console/view.h"

enum th_output { TH_OUTPUT_VIEW, TH_OUTPUT_JSON, TH_OUTPUT_QUIET };

struct th_common;

struct th_show {
	enum th_output output;
	const struct th_common *common; /* options that the next command needs too; NULL: none */
	struct th_view *view;
	struct th_buf out;
	bool refused;    /* the model's server said that the request is wrong, when asked last */
	bool unwritable; /* what it prints reaches nobody */
	int errnum;      /* why, but for a closed pipe */
};

/* `as_terminal`: colours and streaming text into a pipe too. */
void th_show_init(struct th_show *s, enum th_output output, bool as_terminal,
		  const struct th_common *common);
void th_show_deinit(struct th_show *s);
/* Writes what was made; false: this time it could not, for the first time. */
TH_NODISCARD bool th_show_flush(struct th_show *s);

/* Each makes text; th_show_flush writes it.  `own`: of the session itself, not of one that works
 * for it. */
void th_show_session(struct th_show *s, struct th_str session_id);
void th_show_event(struct th_show *s, struct th_str session_id, bool own,
		   const struct th_event *ev);
void th_show_delta(struct th_show *s, enum th_delta_kind kind, struct th_str text);
void th_show_progress(struct th_show *s, struct th_str tool, struct th_str bytes);

/* The exact action that an approval would be bound to, and the question about it. */
void th_show_question(struct th_show *s, struct th_str name, const struct th_call *c);
bool th_show_lasts(const struct th_call *c); /* "always" is an answer to it */
enum th_word { TH_WORD_YES, TH_WORD_ALWAYS, TH_WORD_NO, TH_WORD_KEEP, TH_WORD_NONE };
/* NONE: a slip is no decision. */
enum th_word th_show_word(struct th_str answer, bool lasts);
/* What is meant with a line: the option of that number, or the line itself. */
struct th_str th_show_answer(const struct th_json *options, struct th_str line);

/* How it went, and what waits; `each` tells of the calls that do, `kept`: its log is. */
typedef void th_show_call_fn(void *ctx, const struct th_call *c);
typedef void th_show_each_fn(void *ctx, th_show_call_fn *fn, void *fn_ctx);
void th_show_status(struct th_show *s, const struct th_session *session, struct th_str session_id,
		    bool kept, th_show_each_fn *each, void *ctx);

#endif
