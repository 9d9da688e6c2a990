/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - thole log --trace: the spans of a session as a tree, with times and costs. */
#ifndef TH_CLI_TRACE_H
#define TH_CLI_TRACE_H

#include "store/store.h"

/* Exit code.  `json`: as the body of an OTLP export. */
int th_cli_trace(struct th_store *store, struct th_str session_id, bool json);

#endif
