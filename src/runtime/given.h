/* SPDX-License-Identifier: Apache-2.0 */
/*
 * given.h - secrets that a client gives a session while it goes on, for its commands that name
 * them.
 *
 * The values are here and in the session's executor, and nowhere else: a process that begins anew
 * has none.  They outlive the session's being open, up to those of TH_SECRETS_SESSIONS_MAX
 * sessions. What was given once is masked for good, also when its name got another value.
 */
#ifndef TH_RUNTIME_GIVEN_H
#define TH_RUNTIME_GIVEN_H

#include "base/mask.h"

struct th_given_source;
struct th_json;
struct th_runtime;
struct th_runtime_given;
struct th_runtime_session;

/* A JSON object of names and values, or of where these are looked up (given_source.h); null takes
 * one away.  TH_EUSAGE, TH_ELIMIT: nothing of it was
 * done.  The executor is told. */
TH_NODISCARD enum th_code th_runtime_given_add(struct th_runtime_session *s,
					       const struct th_json *secrets, struct th_err *err);
/* To the executor that it has now; before its first effect. */
void th_runtime_given_say(struct th_runtime_session *s);
/* All its values, for what this process itself is told. */
TH_NODISCARD enum th_code th_runtime_given_mask(const struct th_runtime_session *s,
						struct th_mask *mask, struct th_err *err);
/* Those that are looked up, one after the other; NULL: there are no more, or none of that number
 * any more. */
struct th_given_source *th_runtime_given_source(const struct th_runtime_session *s, size_t at);
struct th_given_source *th_runtime_given_source_of(const struct th_runtime_session *s,
						   uint64_t number);
/* One has that value from now on, without its end of line.  TH_EUSAGE: it is no good one.
 * TH_ELIMIT: it could not be masked, or is one too many.  The executor is not told. */
TH_NODISCARD enum th_code th_runtime_given_have(struct th_runtime_session *s,
						struct th_given_source *source, struct th_str value,
						struct th_err *err);
void th_runtime_given_drop(struct th_runtime *rt, struct th_str session_id); /* it is deleted */
void th_runtime_given_free(struct th_runtime *rt);

#endif
