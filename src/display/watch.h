/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - live views of the computer, in the display process.
 *
 * The screen is taken once for all watches.  What was drawn on and looks
 * different since is encoded for each watch in its own format, as tiles; a watch
 * that has not taken its last frame gets none, and everything at once later.
 * While nothing is drawn nothing is asked and nothing is sent.
 */
#ifndef TH_DISPLAY_WATCH_H
#define TH_DISPLAY_WATCH_H

#include "base/buf.h"
#include "computer/computer.h"
#include "wire/exec.h"

struct th_pipe;
struct th_png;

struct th_watch {
	int64_t id;
	enum th_image_format format;
	int quality;
	int64_t interval_ms;
	bool ready;    /* it has taken its last frame */
	bool begun;    /* it had one */
	uint64_t seen; /* version of the screen that it has */
	struct th_point at;
	uint64_t due_ms; /* not before */
	struct th_png *png;
};

struct th_watches {
	struct th_computer *computer;
	struct th_pipe *pipe;
	struct th_watch list[TH_LIVE_WATCHES_MAX];
	size_t count;
	/* The screen as it was looked at last; size 0x0: it was not. */
	struct th_size size;
	uint64_t *hash;    /* per tile, of its pixels; 0: not known */
	uint8_t *streak;   /* per tile: how often in a row it was drawn on and looked different */
	uint64_t *version; /* per tile: when it last looked different */
	uint64_t newest;
	bool has_at;
	struct th_point at;
	struct th_buf picture, tiles, bytes;
};

void th_watches_init(struct th_watches *w, struct th_computer *c, struct th_pipe *pipe);
void th_watches_deinit(struct th_watches *w);

/* watch, next or unwatch; others are TH_EPROTO. */
TH_NODISCARD enum th_code th_watches_order(struct th_watches *w, enum th_exec_op op,
					   const struct th_json *v, struct th_err *err);

/* An action has moved the pointer. */
void th_watches_pointer(struct th_watches *w, struct th_point at);

/* Sends what is due.  *ret_ms: when it is to be asked again; -1: not before something is drawn or
 * ordered. */
TH_NODISCARD enum th_code th_watches_pass(struct th_watches *w, int64_t *ret_ms,
					  struct th_err *err);

#endif
