/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_task.h - a call that a server does as a task: how it stands, in both eras.
 *
 * Until 2025-11-25 the client asks for a task and gets its result by a request of its
 * own; in 2026-07-28 the server decides, and the result stands in its answer.  Pure, and
 * total.
 */
#ifndef TH_WIRE_MCP_TASK_H
#define TH_WIRE_MCP_TASK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

enum th_mcp_task_state {
	TH_MCP_TASK_WORKING,
	TH_MCP_TASK_INPUT, /* it waits for an answer */
	TH_MCP_TASK_COMPLETED,
	TH_MCP_TASK_FAILED,
	TH_MCP_TASK_CANCELLED
};

struct th_mcp_task {
	char id[TH_MCP_TASK_MAX + 1];
	enum th_mcp_task_state state;
	int64_t poll_ms;             /* until it is asked about again: within our limits */
	struct th_str result, error; /* JSON, or empty: 2026-07-28; borrowed */
	struct th_str message;       /* raw JSON, or empty */
};

/* Is that result of a call a task, and none of a tool? */
bool th_mcp_task_is(struct th_str result);
/* Of such a result, or of tasks/get.  TH_EPROTO: it is none. */
TH_NODISCARD enum th_code th_mcp_task_read(struct th_str result, struct th_mcp_task *ret,
					   struct th_err *err);
/* {"taskId": …}, with the answers to its questions (raw members, or empty). */
void th_mcp_task_params(const char *id, struct th_str more, struct th_buf *out);

#endif
