/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - the executor's side of the display process: starts it when
 * it is wanted, hands it one request at a time, and tells what became of a
 * request when it dies.
 *
 * It knows no journal and no runtime.  The process and everything on a private
 * desktop end with the link.
 */
#ifndef TH_DISPLAY_LINK_H
#define TH_DISPLAY_LINK_H

#include "events/event.h"
#include "io/loop.h"
#include "wire/exec.h"

#define TH_PICTURES_MAX 8 /* in one answer */

/* Shared and immutable. */
struct th_picture {
	unsigned refs;
	char hex[TH_SHA256_HEX_SIZE + 1];
	char media_type[64];
	size_t size;
	char bytes[];
};
struct th_picture *th_picture_new(struct th_str bytes, struct th_str hex, struct th_str media_type);
struct th_picture *th_picture_ref(struct th_picture *p);
struct th_picture *th_picture_unref(struct th_picture *p); /* takes NULL, returns NULL */

struct th_display;

struct th_display_options {
	struct th_loop *loop;
	/* The thole program; it must say that it is one before anything is sent to it. */
	const char *program;
	struct th_str computer;  /* exec_computer_start, JSON */
	struct th_str state_dir; /* private folder for it; made and removed here */
	struct th_str workspace;
	struct th_str trust; /* file of roots that its programs trust; empty: the system's */
	bool net_host;
	bool net_space; /* else that of these descriptors (io/net_space.h); user_fd may be -1 */
	int net_fd, user_fd; /* the caller's, and outlive the display */
	uint32_t uid, gid;   /* as root: whom a desktop runs as; 0: nobody */
	/* The screen is not ours and outlives a process that is killed, with what that held down:
	 * the next one, which lets go of it, is then started at once and not when it is asked for.
	 */
	bool outlives;
	bool goes_on; /* what one that was killed has left to stay beside state_dir is this one's */
	bool release; /* that has happened: an executor before us died in the middle of something */
	/* How long it may take; 0: TH_ROLE_MS, TH_DISPLAY_START_MS and so on. */
	uint64_t role_ms, start_ms, call_ms, interrupt_ms, close_ms;
};

/* All is copied. */
struct th_display *th_display_new(const struct th_display_options *options);
/* Kills it; no callback any more.  Takes NULL, returns NULL. */
struct th_display *th_display_free(struct th_display *d);

/* Lets it close the computer in order; `done` is called when the process is gone. */
void th_display_close(struct th_display *d, void (*done)(void *ctx), void *ctx);

/* The screen, starting the process when there is none.  Strings of `screen` live as long as the
 * process does. */
typedef void th_display_open_fn(void *ctx, const struct th_exec_screen *screen,
				const struct th_err *err);
void th_display_open(struct th_display *d, th_display_open_fn *fn, void *ctx);
/* Those who wait with this ctx are not called any more. */
void th_display_open_cancel(struct th_display *d, const void *ctx);

/* NULL: not open now. */
const struct th_exec_screen *th_display_screen(const struct th_display *d);
/* As th_tool_env.desktop_prefix wants it: NULL while no desktop is open. */
const char *const *th_display_prefix(void *display);

/* Called at every start of the computer but the first as well, before anything is done on it. */
void th_display_on_start(struct th_display *d, void (*fn)(void *ctx, bool again), void *ctx);

/* One request: the caller's memory, until on_done. */
struct th_display_call {
	struct th_str arguments;                  /* exec_computer, JSON; the caller's */
	int64_t timeout_ms;                       /* 0: the display's call_ms */
	void (*on_step)(void *ctx, int64_t done); /* so many of its actions have been done */
	void (*on_done)(void *ctx, enum th_outcome_status status, struct th_str output,
			struct th_str evidence, struct th_picture *const *pictures, size_t count);
	void *ctx;
	/* private */
	struct th_display_call *next;
	int64_t id;
	bool cancelled;
	int64_t steps;
};

/* Requests are done in this order.  on_done comes from the loop, never from inside. */
void th_display_run(struct th_display *d, struct th_display_call *call);
void th_display_cancel(struct th_display *d,
		       struct th_display_call *call); /* on_done still comes */

/* ---- live views ---- */

/* One who watches: the caller's memory, until th_display_unwatch. */
struct th_display_watch {
	const char *format; /* as of exec_watch; static text */
	int64_t quality, interval_ms;
	/* A frame; after it no other before th_display_watch_next.  Of width 0: no computer is open
	 * any more, and the next one begins by itself.  `bytes`: the pictures of its tiles. */
	void (*on_frame)(void *ctx, const struct th_exec_frame *frame, struct th_str bytes);
	void *ctx;
	/* private */
	struct th_display_watch *next;
	int64_t id;
};

/* Frames come while the computer is open, and it is not opened for them. */
void th_display_watch(struct th_display *d, struct th_display_watch *w);
void th_display_watch_next(struct th_display *d, struct th_display_watch *w);
void th_display_unwatch(struct th_display *d, struct th_display_watch *w);

#endif
