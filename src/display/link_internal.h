/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link_internal.h - what the parts of the link to a display process share.
 */
#ifndef TH_DISPLAY_LINK_INTERNAL_H
#define TH_DISPLAY_LINK_INTERNAL_H

#include "display/link.h"
#include "io/child.h"
#include "io/sock.h"

#define OPENERS_MAX (2 * TH_EXEC_CLIENTS_MAX)

enum state {
	STATE_NONE,
	STATE_STARTING,
	STATE_OPEN,
	STATE_LOST, /* the process said so, and ends */
	STATE_CLOSING,
};

struct opener {
	th_display_open_fn *fn;
	void *ctx;
};

struct th_display {
	struct th_loop *loop;
	struct th_arena arena; /* options */
	struct th_display_options options;
	char *state_dir;
	char *inside, *stayed; /* what stays of an ended process: where it is in that, and beside */
	const char *program;
	bool proved; /* the process said that it is a display process */
	enum state state;
	struct th_child *child;
	struct th_sock *sock;
	int interrupt_fd;     /* a number in it: end that request */
	struct th_err fault;  /* why it ended, when it said so */
	int64_t fault_id;     /* the last request it had taken then; -1: it did not say */
	struct th_arena life; /* of one process: the screen and its lists */
	struct th_exec_screen screen;
	const char **prefix;
	unsigned lives;    /* processes that came as far as a screen */
	bool release;      /* the next call starts a new process */
	bool tell_restart; /* the next answer says that the desktop is a new one */
	struct opener openers[OPENERS_MAX];
	size_t opener_count;
	struct th_display_call *first, *running; /* waiting, in order; given to the process */
	struct th_display_call **last;
	int64_t next_id;
	struct th_timer watch;    /* of the running call, or of starting or closing */
	bool interrupted;         /* the process was asked to end the call */
	struct th_picture *shown; /* the last one that came */
	struct th_deferred step;
	struct th_display_watch *watches;
	int64_t next_watch;
	void (*on_start)(void *ctx, bool again);
	void *start_ctx;
	void (*closed)(void *ctx);
	void *closed_ctx;
};

/* One that watches, to a process that has a screen now. */
void th_display_watch_send(struct th_display *d, const struct th_display_watch *w);
/* A frame came. */
void th_display_watched(struct th_display *d, const struct th_exec_frame *m, struct th_str bytes);
/* The process is gone. */
void th_display_watches_end(struct th_display *d, const struct th_err *why);
/* An answer to the running call came; `bytes`: its pictures. */
TH_NODISCARD enum th_code th_display_finished(struct th_display *d,
					      const struct th_exec_finished *m, struct th_str bytes,
					      struct th_err *err);

#endif
