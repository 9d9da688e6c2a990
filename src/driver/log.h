/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - events on their way into the store: appended to the fold, written when durable, read
 * again.
 */
#ifndef TH_DRIVER_LOG_H
#define TH_DRIVER_LOG_H

#include "driver/live.h"

/* Sets *ret; nothing for an empty text.  False: out of memory. */
bool th_copy_text(struct th_str s, char **ret);
/* Room for `more` elements in a list that doubles.  False: out of memory. */
bool th_list_room(void *list, size_t count, size_t *cap, size_t more, size_t size);
/* Gives the session up as if the process had died; the log says what is open.  It may be called
 * from anywhere, so the observer hears of it later. */
void th_live_no_memory(struct th_live *l);
void th_live_dirty(struct th_live *l); /* the next flush looks at it */
/*
 * Steps the fold with a new event.  If the fold accepts it, the event goes into
 * the transaction that is being filled and its effects are queued.  `data` is
 * copied.  A failure changes nothing.
 */
TH_NODISCARD enum th_code th_live_append(struct th_live *l, enum th_event_kind kind,
					 enum th_source source, uint64_t cause, struct th_str call,
					 struct th_str data, struct th_err *err);
/* The same with the struct that the kind's table describes: `in` of TH_EV_CALL is a struct
 * th_ev_call. */
TH_NODISCARD enum th_code th_live_append_event(struct th_live *l, enum th_event_kind kind,
					       enum th_source source, uint64_t cause,
					       struct th_str call, const void *in,
					       struct th_err *err);
/* A message of the role user that is plain text. */
TH_NODISCARD enum th_code th_live_append_message(struct th_live *l, enum th_source source,
						 uint64_t cause, struct th_str text,
						 struct th_err *err);
/* For events that the driver must write: when one cannot be written, the session is lost. */
void th_live_write_event(struct th_live *l, enum th_event_kind kind, enum th_source source,
			 uint64_t cause, struct th_str call, const void *in);
/* Makes the rendered history up to the last event, by reading the store if there is none yet. */
TH_NODISCARD enum th_code th_live_history(struct th_live *l, struct th_err *err);
void th_live_lose(struct th_live *l, const struct th_err *err);
/* Durable events, in order, as the store's read gives them; the newest come from memory. */
TH_NODISCARD enum th_code th_live_read(const struct th_live *l, uint64_t from, uint64_t to,
				       th_event_fn *fn, void *ctx, struct th_err *err);
/* Copied into the next transaction. */
TH_NODISCARD enum th_code th_driver_add_blob(struct th_driver *d, const struct th_blob *blob,
					     struct th_err *err);

#endif
