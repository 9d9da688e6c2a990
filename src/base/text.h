/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - UTF-8, and text made fit for people and models.
 */
#ifndef TH_BASE_TEXT_H
#define TH_BASE_TEXT_H

#include "base/buf.h"
#include "base/str.h"

/* Why a session is paused whose message came without the word that it is to be run: who tells its
 * log to OpenHands, where every message comes so, tells of no pause. */
#define TH_HELD_REASON "it waits to be run"

/* Member of a session's metadata with what its client of OpenHands said of it; and in that, the
 * tools which that client has itself. */
#define TH_OPENHANDS_MEMBER "thole_openhands"
#define TH_OPENHANDS_TOOLS "client_tools"

/* Length of the longest valid prefix (RFC 3629: no surrogates, no overlong forms). */
size_t th_utf8_valid(struct th_str s);
/* Takes one character off *s; bad bytes come one at a time as U+FFFD.  False at the end. */
bool th_utf8_next(struct th_str *s, uint32_t *ret);
void th_utf8_add(struct th_buf *out, uint32_t codepoint);
/* Appends `s` with bad bytes replaced by U+FFFD. */
void th_utf8_clean(struct th_buf *out, struct th_str s);
/* `s` cut to at most `size_max` bytes at a character boundary. */
struct th_str th_utf8_cut(struct th_str s, size_t size_max);
size_t th_utf8_count(struct th_str s); /* characters */

bool th_text_is_bidi(uint32_t cp); /* turns the text around it */

/* One line for a terminal: control characters (C0, C1, DEL, bidi, tags) shown as \n, \x1b or
 * U+FFFD, at most `columns_max` characters, "…" when cut. */
void th_text_line(struct th_buf *out, struct th_str s, size_t columns_max);

/* Head and tail of a long text with "… N bytes left out …" between, at most about size_max bytes.
 */
void th_text_clip(struct th_buf *out, struct th_str s, size_t size_max);
/* Appends a text that stands in the label `name`: nothing in it ends that ("</name"). */
void th_text_inside(struct th_buf *out, struct th_str text, const char *name);

#endif
