/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trajectory.h - what was said and done in a session, in forms that other programs read: to
 * look at it, to judge it, to train with it.
 *
 * A session is read event by event into steps: who said something, with which calls, and
 * what came of them.  A form is one file and one row: it writes the steps.  What a
 * condensation hid from the model is there all the same; only its summary is a step of its own.
 *
 * Pure: bytes of pictures come through a function of the caller.
 */
#ifndef TH_FORMS_TRAJECTORY_H
#define TH_FORMS_TRAJECTORY_H

#include "events/event.h"

enum th_step_source { TH_STEP_SYSTEM, TH_STEP_USER, TH_STEP_AGENT };

struct th_step_call {
	struct th_str id, tool, arguments; /* arguments: JSON object */
	struct th_str output;              /* JSON: a text or parts; absent: it has no result */
	struct th_str status;              /* name of the outcome */
};

struct th_trajectory_step {
	enum th_step_source source;
	int64_t ts_ms;
	struct th_str content;      /* JSON: a text or parts; absent: nothing was said */
	struct th_str reasoning;    /* text */
	struct th_str model, usage; /* usage: JSON */
	int64_t cost_nano;          /* -1: not known */
	bool asked;                 /* a model was */
	struct th_step_call *calls;
	size_t call_count, call_cap;
};

struct th_trajectory {
	struct th_arena memory;
	struct th_str session, agent, model, instructions;
	struct th_trajectory_step *list;
	size_t count, cap;
};

void th_trajectory_init(struct th_trajectory *t, struct th_str session);
void th_trajectory_deinit(struct th_trajectory *t);
/* The next event.  TH_ELIMIT: the session is too large to be held. */
TH_NODISCARD enum th_code th_trajectory_add(struct th_trajectory *t, const struct th_event *ev,
					    struct th_err *err);

/* Where a form is written to. */
struct th_trajectory_out {
	void *ctx;
	/* The next bytes of the file; NULL: who writes events one by one (th_openhands_write) has
	 * none. */
	enum th_code (*put)(void *ctx, struct th_str text, struct th_err *err);
	/* Appends the bytes of a picture as base64. */
	enum th_code (*picture)(void *ctx, const struct th_digest *hash, struct th_buf *out,
				struct th_err *err);
};

struct th_trajectory_form {
	const char *name;
	enum th_code (*write)(const struct th_trajectory *t, const struct th_trajectory_out *out,
			      struct th_err *err);
};

extern const struct th_trajectory_form th_trajectory_atif, th_trajectory_openai,
    th_trajectory_anthropic, th_trajectory_sharegpt;

/* ---- for forms ---- */

/* One part of a content: a text, or a picture (of a type, as base64 or at a URL). */
struct th_step_part {
	struct th_str text;
	struct th_str media_type, base64, url;
};
/* Each part of a content, in order; `fn` may stop with an error.  The strings live until it
 * returns. */
TH_NODISCARD enum th_code
th_step_parts(struct th_str content, const struct th_trajectory_out *out,
	      enum th_code (*fn)(void *ctx, const struct th_step_part *part, struct th_err *err),
	      void *ctx, struct th_err *err);
/* All texts of a content, one below the other. */
void th_step_text(struct th_str content, struct th_buf *out);
/* Hands over what is in `text` and empties it. */
TH_NODISCARD enum th_code th_step_flush(const struct th_trajectory_out *out, struct th_buf *text,
					struct th_err *err);
/* 2026-11-25T18:00:00.000Z */
void th_step_time(int64_t ts_ms, struct th_buf *out);

#endif
