/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - where `thole token` keeps the tokens of `thole serve`.
 */
#ifndef TH_CLI_TOKEN_H
#define TH_CLI_TOKEN_H

#include "base/arena.h"
#include "base/buf.h"

/* tokens.jsonl in the state directory. */
TH_NODISCARD enum th_code th_token_store(struct th_arena *a, struct th_str *ret,
					 struct th_err *err);
/* "URL/#code=CODE": who opens it first is logged in as this user.  The code's digest is kept there.
 */
TH_NODISCARD enum th_code th_token_link(struct th_str store, struct th_str url, struct th_str user,
					struct th_str scopes, struct th_buf *ret_text,
					struct th_err *err);

#endif
