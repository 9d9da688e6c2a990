/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tabs.h - shared by the files about tabs and frames: tabs.c has them, sessions.c sets them up,
 * events.c handles their events.
 */
#ifndef TH_BROWSER_TABS_H
#define TH_BROWSER_TABS_H

#include "browser/browser.h"

/* ---- tabs.c ---- */

/* NULL: none of ours. */
struct th_browser_session *th_browser_session_find(struct th_browser *b, struct th_str id);
/* Asks for a new tab at this address; it comes as an event. */
TH_NODISCARD enum th_code th_browser_target_open(struct th_browser *b, struct th_str url,
						 struct th_err *err);
TH_NODISCARD enum th_code th_browser_target_close(struct th_browser *b, struct th_str target,
						  struct th_err *err);
/* Posts a command with one parameter; `member` NULL: without. */
TH_NODISCARD enum th_code th_browser_post_flag(struct th_browser *b, const char *session,
					       const char *method, const char *member, bool value,
					       struct th_err *err);

/* ---- sessions.c ---- */

/* New tabs ("page"), or frames ("iframe") of a session, are attached from now on, paused. */
TH_NODISCARD enum th_code th_browser_attach(struct th_browser *b, const char *session,
					    const char *type, struct th_err *err);
/* A tab or a frame has come, or has gone. */
TH_NODISCARD enum th_code th_browser_attached(struct th_browser *b, const struct th_cdp_message *m,
					      struct th_err *err);
TH_NODISCARD enum th_code th_browser_detached(struct th_browser *b, struct th_str id,
					      struct th_err *err);
/* Copies an id; false: no browser has such an id. */
bool th_browser_keep_id(char to[static TH_BROWSER_ID_SIZE], struct th_str id);
/* Copies a text of a page, cut at a character. */
void th_browser_keep_text(char *to, size_t size_max, struct th_str text);

#endif
