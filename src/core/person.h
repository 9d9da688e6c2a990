/* SPDX-License-Identifier: Apache-2.0 */
/*
 * person.h - what a person says about a call, as events of the log.
 *
 * The driver (an open session) and admin/ (a stored one) both write these
 * events; what is in them and which calls they reach is decided here.
 */
#ifndef TH_CORE_PERSON_H
#define TH_CORE_PERSON_H

#include "core/session.h"

/* Appends one event of the source user, and steps the session with it. */
typedef enum th_code th_person_append_fn(void *ctx, enum th_event_kind kind, uint64_t cause,
					 struct th_str call, const void *data, struct th_err *err);

/*
 * Approves or rejects `c`, which waits for a decision.  Of `word` approve, always, by and message
 * are read; with an approval a message is the answer to a question (TH_EUSAGE: `c` is none).  With
 * `always` the waiting calls of its tool that such a word reaches (see th_session_also) are decided
 * too, each by an event of its own.
 */
TH_NODISCARD enum th_code th_person_decides(const struct th_session *s, const struct th_call *c,
					    const struct th_ev_approval_decided *word,
					    th_person_append_fn *append, void *ctx,
					    struct th_err *err);
/* Says how `c`, which is parked, ended. */
TH_NODISCARD enum th_code th_person_settles(const struct th_call *c, enum th_outcome_status status,
					    struct th_str by, struct th_str message,
					    th_person_append_fn *append, void *ctx,
					    struct th_err *err);

#endif
