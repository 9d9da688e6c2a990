/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_parts.h - the parts of view.h, for its own files alone: view.c (what is shown of which
 * event, and streaming), the view_*.c with a function for each kind of event, and view_line.c
 * (lines).
 */
#ifndef TH_CONSOLE_VIEW_PARTS_H
#define TH_CONSOLE_VIEW_PARTS_H

#include "console/view.h"

#define TH_VIEW_INDENT 20        /* columns before the text: time and label */
#define TH_VIEW_COLUMNS_MAX 4000 /* of a line that comes from outside */

struct th_view {
	struct th_view_options options;
	int64_t first_ms, last_ms; /* of the events so far */
	int64_t turn;
	enum th_delta_kind streaming; /* of the open line */
	bool line_open;               /* streaming stands inside a line */
	bool streamed_text, streamed_thought;
	bool many; /* the answer has several calls: results name theirs */
	/* What an answer without calls says, until it is known whether it is the final one. */
	struct th_buf held;
	int64_t held_ms;
	struct th_arena scratch;
};

/* ---- view_line.c ---- */

enum th_view_style {
	TH_VIEW_PLAIN,
	TH_VIEW_BOLD,
	TH_VIEW_DIM,
	TH_VIEW_RED,
	TH_VIEW_GREEN,
	TH_VIEW_YELLOW,
	TH_VIEW_CYAN
};

void th_view_style(const struct th_view *v, enum th_view_style s, struct th_buf *out);
void th_view_unstyle(const struct th_view *v, enum th_view_style s, struct th_buf *out);
/* "   1:02  says      ".  `ev` NULL: without the time. */
void th_view_begin(struct th_view *v, const struct th_event *ev, const char *label,
		   enum th_view_style s, struct th_buf *out);
size_t th_view_room(const struct th_view *v); /* columns of the text */
/* Text of several lines, each on its own under the label. */
void th_view_lines(struct th_view *v, struct th_str text, enum th_view_style s, size_t lines_max,
		   struct th_buf *out);
/* Label and text: all its lines, or as much as one line holds. */
void th_view_whole(struct th_view *v, const struct th_event *ev, const char *label,
		   enum th_view_style s, struct th_str text, struct th_buf *out);
void th_view_line(struct th_view *v, const struct th_event *ev, const char *label,
		  enum th_view_style s, struct th_str text, struct th_buf *out);

/* ---- kinds of events ---- */

typedef void th_view_show_fn(struct th_view *v, const struct th_event *ev,
			     const struct th_json *data, struct th_buf *out);

/* view_call.c */
th_view_show_fn th_view_show_call, th_view_show_outcome;
/* view_answer.c */
th_view_show_fn th_view_show_message, th_view_show_answer, th_view_show_model_failed,
    th_view_show_final;
/* view_decide.c */
th_view_show_fn th_view_show_approval, th_view_show_question, th_view_show_parked,
    th_view_show_person, th_view_show_guardrail, th_view_show_hook, th_view_show_analysis,
    th_view_show_code;
/* view_session.c */
th_view_show_fn th_view_show_created, th_view_show_state, th_view_show_delegation,
    th_view_show_history, th_view_show_handoff, th_view_show_forked, th_view_show_limits,
    th_view_show_verdict, th_view_show_asked, th_view_show_sampled, th_view_show_changed,
    th_view_show_mcp_tools;

#endif
