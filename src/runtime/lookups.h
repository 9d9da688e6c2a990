/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookups.h - values of secrets that are asked for while a session goes on: those of its agent
 * file, of a server or a program (`from`, agents/agent_secret.h), and clients', of a server
 * (given_source.h).
 *
 * They are asked for when the session's executor is first needed, and again when they are older
 * than the file allows, or a client's than TH_SECRET_REFRESH_S; calls wait for that, and without a
 * value none begins.  Where asking again fails, the former value is used, and TH_SECRET_RETRY_MS
 * pass before the next time.
 *
 * A value is here, in the session's executor and in its egress, and nowhere else; what a server or
 * a program says is in no error and no log.
 */
#ifndef TH_RUNTIME_LOOKUPS_H
#define TH_RUNTIME_LOOKUPS_H

#include "agents/agent_secret.h"
#include "base/mask.h"
#include "base/secret.h"

struct th_runtime_session;
struct th_runtime_lookups;

/* As th_executor_options.fresh.  After TH_EBUSY `over` is called once, when all that were asked
 * have ended. */
typedef void th_lookups_over_fn(struct th_runtime_session *s);
TH_NODISCARD enum th_code th_runtime_lookups_fresh(struct th_runtime_session *s,
						   th_lookups_over_fn *over, struct th_err *err);
/* What is known of that name now; NULL: nothing yet. */
const struct th_secret *th_runtime_lookups_value(const struct th_runtime_session *s,
						 struct th_str name);
/* All that are known, as elements of a list of exec_given. */
void th_runtime_lookups_put(const struct th_runtime_session *s, struct th_jw *list);
TH_NODISCARD enum th_code th_runtime_lookups_mask(const struct th_runtime_session *s,
						  struct th_mask *mask, struct th_err *err);
void th_runtime_lookups_free(struct th_runtime_session *s);

#endif
