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

/*
 * The words of the task that an event gives its session, appended to `out`: those of a message, or
 * of the first message of a user among items that come before the model was asked (`asked` is
 * false).  The first event that has some gives the session its title.  False: it has none.
 */
bool th_event_task(enum th_event_kind kind, const struct th_json *data, bool asked,
		   struct th_buf *out);

#endif
