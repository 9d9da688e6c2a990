/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h - the result of a tool of a server as an outcome: texts that a model
 * may be shown, with the middle of what is too long left out, and pictures.
 */
#ifndef TH_MCP_RESULT_H
#define TH_MCP_RESULT_H

#include "tools/tool.h"

/* Of what a server says, for those who watch and for the spool: without the session's secrets. */
void th_mcp_result_show(struct th_tool_job *job, struct th_str text);
/* Pictures go to the job.  `output` gets the outcome's, JSON; *ret_error: the tool says that it
 * failed.  A long text goes whole to the job's output.  TH_EPROTO: it is no result. */
TH_NODISCARD enum th_code th_mcp_result_put(struct th_tool_job *job, struct th_str result,
					    struct th_buf *output, bool *ret_error,
					    struct th_err *err);

#endif
