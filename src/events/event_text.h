/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_text.h - what an event says, as words: for a search, and to be read
 * again.  Pictures and what only programs read are left out.
 */
#ifndef TH_EVENTS_EVENT_TEXT_H
#define TH_EVENTS_EVENT_TEXT_H

#include "events/event.h"

/* Appends who says it ("user", "assistant", "result of CALL_ID") and the words.  False: it says
 * nothing, or cannot be read; nothing was appended. */
bool th_event_text(const struct th_event *ev, struct th_buf *label, struct th_buf *text);

#endif
