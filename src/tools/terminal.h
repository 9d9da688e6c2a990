/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h - what a program writes to a terminal, as text.
 *
 * Escape sequences are obeyed by libvterm: what a progress bar overwrites is
 * gone, what a program clears is gone, colours are nothing.  Lines that the
 * terminal wrapped are one line again, tabs stay tabs where nothing overwrote
 * them.  A full-screen program is shown as the screen is.
 *
 * Memory is bounded whatever comes: of what scrolled off, the first and the
 * last bytes are kept (clip.h).
 */
#ifndef TH_TOOLS_TERMINAL_H
#define TH_TOOLS_TERMINAL_H

#include "base/limits.h"
#include "tools/clip.h"

struct th_terminal;

/* `reply`: what the terminal answers to a program that asks it something. */
struct th_terminal *th_terminal_new(void (*reply)(void *ctx, struct th_str bytes), void *ctx);
struct th_terminal *th_terminal_free(struct th_terminal *t); /* takes NULL, returns NULL */

void th_terminal_feed(struct th_terminal *t, struct th_str bytes);
/* For tests: plain lines take no shorter way. */
void th_terminal_exact(struct th_terminal *t);
/* Forgets modes that a program left behind; a full screen, or one that is garbled, becomes an empty
 * one. */
void th_terminal_calm(struct th_terminal *t);

/* Bytes that came since the last take. */
uint64_t th_terminal_fresh(const struct th_terminal *t);
/* Appends what is new since the last take, without blanks at its end; returns how many bytes of it
 * were left out. */
uint64_t th_terminal_take(struct th_terminal *t, struct th_buf *out);

/* What one of its rows shows now, without blanks at its end; at most TH_TERMINAL_ROW_MAX bytes. */
#define TH_TERMINAL_ROW_MAX (TH_TERMINAL_COLUMNS * 6 * 4 + 2)
void th_terminal_row(struct th_terminal *t, int row, struct th_buf *out);
void th_terminal_cursor(struct th_terminal *t, int32_t *ret_x, int32_t *ret_y);

#endif
