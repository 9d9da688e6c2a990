/* SPDX-License-Identifier: Apache-2.0 */
/* computer.h - a computer without a session, in the hands of an executor of its own. */
#ifndef TH_RUNTIME_COMPUTER_H
#define TH_RUNTIME_COMPUTER_H

#include "exec_client/client.h"
#include "runtime/runtime.h"

/* `o`: session (its name), workspace, computer and what belongs to that; the rest is the runtime's.
 */
TH_NODISCARD enum th_code th_runtime_computer(struct th_runtime *rt, struct th_executor_options *o,
					      struct th_executor_client **ret, struct th_err *err);

#endif
