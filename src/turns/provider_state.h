/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provider_state.h - what the next request continues from at the provider.
 */
#ifndef TH_TURNS_PROVIDER_STATE_H
#define TH_TURNS_PROVIDER_STATE_H

#include "live/live.h"

/* Finds what the next request continues from: sets
 * options.previous and `tail`.  False: the log says it, and is read when all of it is durable. */
bool th_live_provider_ready(struct th_live *l);
void th_live_provider_begin(struct th_live *l);
/* The request continues from an answer.  If the provider has lost it, the log still has it all. */
bool th_live_provider_is_answer(const struct th_live *l);
/* After this failure it is unknown whether the conversation at the provider has the request. */
bool th_live_provider_unsure(const struct th_live *l, enum th_failure failure, int http_status);
void th_live_provider_say(const struct th_live *l, struct th_str message, struct th_buf *out);
/* The same of a request of an earlier process. */
bool th_live_provider_lost(const struct th_live *l);
/* Checks the session's settings; TH_EUSAGE: one of its models cannot do it. */
TH_NODISCARD enum th_code th_live_provider_fit(struct th_live *l, struct th_err *err);
/* TH_EUSAGE if the session uses a conversation at the provider; `what` completes the sentence. */
TH_NODISCARD enum th_code th_live_provider_only(const struct th_live *l, const char *what,
						struct th_err *err);

#endif
