/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - events on their way into the store: appended to the fold, written when durable, read
 * again.
 */
#ifndef TH_LIVE_LOG_H
#define TH_LIVE_LOG_H

#include "live/live.h"

/* What the log tells the parts above it; driver.c has the functions. */
struct th_log_ops {
	/* An event is about to be appended: there is a history, or one is due. */
	enum th_code (*before)(struct th_live *l, struct th_err *err);
	/* The fold has taken an event, and asks for these effects. */
	void (*stepped)(struct th_live *l, const struct th_effects *fx);
	/* The event waits to be written.  An error loses the session. */
	enum th_code (*appended)(struct th_live *l, const struct th_parsed *parsed,
				 struct th_err *err);
	/* The event is durable.  The session may be gone afterwards. */
	void (*durable)(struct th_live *l, const struct th_event *ev);
	/* All events of a batch are; what waited for them may happen.  It may be gone afterwards.
	 */
	void (*released)(struct th_driver *d, struct th_handle h);
	/* The session is given up: nothing of it may reach the log any more. */
	void (*lost)(struct th_live *l);
};

/* Gives the session up as if the process had died; the log says what is open.  It may be called
 * from anywhere, so the observer hears of it later. */
void th_live_no_memory(struct th_live *l);
void th_live_dirty(struct th_live *l); /* the next flush looks at it */
/* The first words are the title.  `asked`: the model was, before that event of the log.  False: out
 * of memory. */
TH_NODISCARD bool th_live_title(struct th_live *l, enum th_event_kind kind,
				const struct th_json *data, bool asked);
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
TH_NODISCARD enum th_code th_live_state(struct th_live *l, enum th_state to, struct th_str reason,
					struct th_err *err);
/* BUDGET: `limits` from here on, and of `more` (may be NULL) what is for the task alone. */
TH_NODISCARD enum th_code th_live_budget(struct th_live *l, const struct th_agent_limits *limits,
					 const struct th_more *more, struct th_str by,
					 enum th_source source, struct th_err *err);
/* For events that the driver must write: when one cannot be written, the session is lost. */
void th_live_write_event(struct th_live *l, enum th_event_kind kind, enum th_source source,
			 uint64_t cause, struct th_str call, const void *in);
/* Writes ERROR, which ends the run. */
void th_live_fail(struct th_live *l, const char *class, struct th_str message);
void th_live_lose(struct th_live *l, const struct th_err *err);
/* Durable events, in order, as the store's read gives them; the newest come from memory. */
TH_NODISCARD enum th_code th_live_read(const struct th_live *l, uint64_t from, uint64_t to,
				       th_event_fn *fn, void *ctx, struct th_err *err);
/* Copied into the next transaction. */
TH_NODISCARD enum th_code th_driver_add_blob(struct th_driver *d, const struct th_blob *blob,
					     struct th_err *err);

#endif
