/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provider_state.h - a session whose history the provider has: it begins from a response
 * that is there (settings.previous_response_id), or lives in a conversation
 * (settings.conversation).
 *
 * Both are the whole session's: the agent that begins names them, for its
 * team.  What is in such a history cannot be taken out again, and of what was
 * before the session the log knows nothing; so what would show a model less
 * than that, or something else, cannot be combined with them.
 */
#ifndef TH_AGENTS_PROVIDER_STATE_H
#define TH_AGENTS_PROVIDER_STATE_H

#include "agents/agent.h"

/* What of an agent's definition cannot be combined with them: TH_EUSAGE, one sentence. */
TH_NODISCARD enum th_code th_provider_state_check(const struct th_json *definition,
						  struct th_err *err);

#endif
