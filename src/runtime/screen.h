/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - live views of sessions' computers.
 *
 * All who watch one computer in one way share one feed: it holds the newest
 * picture of each tile, and each of them the version that it has.  So whoever
 * comes second, or is slow, costs no picture of his own, and the feed asks for
 * the next frame when the first of them has taken the last.
 *
 * Watching opens no session, starts no executor and no computer, and keeps none:
 * while there is none the feed looks for one about twice a second.
 */
#ifndef TH_RUNTIME_SCREEN_H
#define TH_RUNTIME_SCREEN_H

#include "base/geom.h"
#include "runtime/runtime.h"

struct th_screen;

/* Not the screen but the terminal of the session's shell: its size is in characters, and each of
 * its rows is a tile of text. */
#define TH_SCREEN_TERMINAL "terminal"

struct th_screen_options {
	struct th_str session;
	const char *format; /* "jpeg", "webp", "png" or TH_SCREEN_TERMINAL; static text */
	int quality, rate;  /* 1 to 100; frames in a second */
};

/* `fn`, from the loop: something is new, or there is a screen now, or none; once, until it was
 * taken. */
TH_NODISCARD enum th_code th_screen_new(struct th_runtime *rt, const struct th_screen_options *o,
					void (*fn)(void *ctx), void *ctx, struct th_screen **ret,
					struct th_err *err);
/* Also in its own function.  Takes NULL, returns NULL. */
struct th_screen *th_screen_free(struct th_screen *s);

struct th_size th_screen_size(const struct th_screen *s);                /* 0x0: there is none */
struct th_str th_screen_reason(const struct th_screen *s);               /* why */
bool th_screen_pointer(const struct th_screen *s, struct th_point *ret); /* false: not known */

/* The tiles that are new to it, each once; they count as taken.  `fn` may free nothing. */
typedef void th_screen_tile_fn(void *ctx, struct th_rect at, struct th_str picture);
void th_screen_take(struct th_screen *s, th_screen_tile_fn *fn, void *ctx);

/* The runtime ends, and all of them with it. */
void th_screens_end(struct th_runtime *rt);

#endif
