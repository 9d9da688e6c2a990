/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - what the files of the display role share: display.c is its life and
 * its loop, request.c one request from its bytes to its answer, act.c the actions,
 * answer.c what is said and shown.
 */
#ifndef TH_DISPLAY_INTERNAL_H
#define TH_DISPLAY_INTERNAL_H

#include "base/limits.h"
#include "computer/computer.h"
#include "computer/marked.h"
#include "display/link.h"
#include "display/watch.h"
#include "io/sock.h"
#include "wire/exec.h"

#define TH_DISPLAY_SEND_MS 30000

struct th_display {
	struct th_pipe pipe;
	int interrupt_fd;
	struct th_computer *computer;
	struct th_watches watches;          /* live views */
	struct th_pulse pulse;              /* by which these go on while a call waits */
	struct th_err broken;               /* what that found; no more requests */
	struct th_marked *marked;           /* NULL until marks are wanted */
	int64_t windows_due;                /* that the first request waits for; 0: none any more */
	int64_t windows_ms;                 /* how long at most */
	char *parser;                       /* URL; NULL: none */
	char *ocr;                          /* program; NULL: tesseract */
	char shown[TH_SHA256_HEX_SIZE + 1]; /* the last picture that was sent */

	/* of one request */
	struct th_arena arena;
	int64_t id;
	struct th_exec_computer args;
	struct th_action *actions;
	struct th_browse browse;
	struct th_browse_step *steps; /* instead of actions; NULL: none */
	size_t count, done;
	struct th_buf said; /* by the steps */
	struct th_buf parts, evidence, attachment, blobs;
	struct th_jw parts_w, evidence_w, blobs_w;
	size_t part_count, picture_count;
	size_t clipboard_count, told; /* that are asked for, and bytes that were said of them */
	struct th_act_result last;
	bool settled_known, settled, changed;
	bool unchanged;
	uint64_t frame_id;
};

/* answer.c */
TH_NODISCARD enum th_code th_display_send(struct th_display *d, const struct th_table *t,
					  const void *m, struct th_str attachment,
					  struct th_err *err);
void th_display_send_error(struct th_display *d, const struct th_err *e);
/* Parts of the answer that is being made. */
void th_display_add_text(struct th_display *d, struct th_str text);
/* A picture of the screen, or of a region of it. */
TH_NODISCARD enum th_code th_display_take(struct th_display *d, const struct th_rect *region,
					  struct th_err *err);
/* The elements on the screen, without a picture. */
TH_NODISCARD enum th_code th_display_tell_tree(struct th_display *d, struct th_err *err);
/* Programs put into a clipboard what they like: all clipboards of a call are clipped to what is
 * shown of one output. */
TH_NODISCARD enum th_code th_display_tell_clipboard(struct th_display *d, struct th_str text,
						    struct th_err *err);
/* The answer is complete, and is sent. */
TH_NODISCARD enum th_code th_display_finish(struct th_display *d, enum th_outcome_status status,
					    const struct th_err *failure, struct th_err *err);

/* act.c */
extern const struct th_settle_options th_display_settle_whole, th_display_settle_gliding;
enum th_code th_display_settle(struct th_display *d, const struct th_settle_options *options,
			       struct th_err *err);
/* The actions, until one fails. */
TH_NODISCARD enum th_code th_display_act_all(struct th_display *d, bool *ret_started,
					     struct th_err *failure, struct th_err *err);
/* The same for steps on the structure of pages. */
TH_NODISCARD enum th_code th_display_browse_all(struct th_display *d, bool *ret_started,
						struct th_err *failure, struct th_err *err);
/* What the steps said, why they ended, and what they changed. */
void th_display_tell_steps(struct th_display *d, bool alive, struct th_err *failure);
void th_display_add_failure(struct th_display *d, const struct th_err *failure);
/* What became of the request, by what stopped it. */
enum th_outcome_status th_display_status(const struct th_display *d, enum th_code code,
					 bool started);

/* request.c */
TH_NODISCARD enum th_code th_display_request(struct th_display *d, const struct th_frame *frame,
					     struct th_err *err);

#endif
