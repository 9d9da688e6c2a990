/* SPDX-License-Identifier: Apache-2.0 */
/* log.h - what other commands take from thole log. */
#ifndef TH_CLI_LOG_H
#define TH_CLI_LOG_H

#include "store/store.h"

/* Writes every picture that the session's log names into `dir`, which is made: SEQ-N.png. */
TH_NODISCARD enum th_code th_cli_extract(struct th_store *store, struct th_str session_id,
					 const char *dir, int64_t *ret_count, struct th_err *err);

#endif
