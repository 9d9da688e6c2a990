/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waiting.h - which calls of a stored session wait for a person, without a fold of its log.
 *
 * Calls that wait are of the last answer of the model: only what was written since is read.
 */
#ifndef TH_ADMIN_WAITING_H
#define TH_ADMIN_WAITING_H

#include "base/json.h"
#include "store/store.h"

/*
 * Prints one object for each: session_id, user, title, call_id (as th_edit_decide takes it), word
 * ("approve" or "settle"), question (true: of one), tool, arguments, and of those that wait for an
 * approval reason, asked_ms, and expires_ms where they have a time.  A session that works for this
 * one has a row of its own.
 */
TH_NODISCARD enum th_code th_waiting_print(struct th_store *store, const struct th_session_row *row,
					   struct th_jw *w, struct th_err *err);

#endif
