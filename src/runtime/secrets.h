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

/* `raw`: the agent's secrets (agents/agent_secret.h).  *ret: a list of exec_secret as JSON; NULL:
 * it has none.  TH_EUSAGE: a value is not there, or is too short to be masked. */
TH_NODISCARD enum th_code th_runtime_secrets(struct th_str raw, struct th_str scope,
					     struct th_str session, struct th_secret **ret,
					     struct th_err *err);
/* What masks their values, for what this process itself is told: *ret; NULL: it has none. */
TH_NODISCARD enum th_code th_runtime_secrets_mask(struct th_str raw, struct th_mask **ret,
						  struct th_err *err);

#endif
