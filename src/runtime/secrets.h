/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secrets.h - the values of an agent's secrets, for its executor and the egress.
 *
 * A placeholder is the same for a name in a session, whenever it is asked for:
 * the model may have written it down.  It tells nothing of the value.
 */
#ifndef TH_RUNTIME_SECRETS_H
#define TH_RUNTIME_SECRETS_H

#include "base/buf.h"
#include "base/mask.h"
#include "base/secret.h"

struct th_agent;
struct th_runtime_session;

/* Whether each of an agent that begins has its value, but those that are asked for.  TH_EUSAGE: one
 * is not there, or cannot be masked. */
TH_NODISCARD enum th_code th_secrets_here(const struct th_agent *agent, struct th_err *err);

/* *ret: a list of exec_secret as JSON; NULL: the session's agent has none.  One that is asked for
 * (runtime/lookups.h) and has not come is empty.  TH_EUSAGE: another is not there, or is too short
 * to be masked. */
TH_NODISCARD enum th_code th_runtime_secrets(const struct th_runtime_session *of,
					     struct th_secret **ret, struct th_err *err);
/* What masks their values, for what this process itself is told: *ret; NULL: it has none. */
TH_NODISCARD enum th_code th_runtime_secrets_mask(const struct th_runtime_session *of,
						  struct th_mask **ret, struct th_err *err);
#endif
