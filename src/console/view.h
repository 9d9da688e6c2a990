/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - a session as people read it, from its events: the same for a live
 * run and for `thole log`.
 *
 * One line per step: when, what sort, what.  All text from outside goes
 * through th_text_line, so no terminal escape gets out.  On a terminal, what
 * the model says can also be shown while it streams; the event that follows
 * then does not say it again.
 */
#ifndef TH_CONSOLE_VIEW_H
#define TH_CONSOLE_VIEW_H

#include "core/session.h"
#include "models/model.h"

struct th_view;

struct th_view_options {
	bool colour;
	bool stream;    /* deltas are given */
	size_t columns; /* of a line; 0: 160 */
};

struct th_view *th_view_new(const struct th_view_options *options);
struct th_view *th_view_free(struct th_view *v); /* takes NULL, returns NULL */
void th_view_freep(struct th_view **v);
bool th_view_streams(const struct th_view *v); /* deltas are shown */

/* Each appends lines to `out`. */
void th_view_event(struct th_view *v, const struct th_event *ev, struct th_buf *out);
/* What a tool writes while it runs, a line of ours for each of its lines. */
void th_view_progress(struct th_view *v, struct th_str tool, struct th_str bytes,
		      struct th_buf *out);
void th_view_delta(struct th_view *v, enum th_delta_kind kind, struct th_str text,
		   struct th_buf *out);
/* A line of ours: label and text. */
void th_view_note(struct th_view *v, const char *label, struct th_str text, struct th_buf *out);
/* Ends a line that streaming left open. */
void th_view_break(struct th_view *v, struct th_buf *out);

/* "finished: 3 turns, 5 calls, 12.3k tokens in, 456 out, $0.0123, 4.5 s" */
void th_view_summary(const struct th_session *s, struct th_buf *out);
/* What a call does, one line: "shell: ls -l", "computer: click left at (10, 20)".  false: the line
 * leaves something out, a file's content or what has no room. */
bool th_view_call(struct th_str tool, struct th_str arguments, size_t columns, struct th_buf *out);

#endif
