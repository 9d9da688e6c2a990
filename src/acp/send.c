/* SPDX-License-Identifier: Apache-2.0 */
/* send.c - a message to the editor. */
#include <unistd.h>

#include "acp/acp.h"
#include "console/console.h"

void th_acp_send(struct acp *a, const struct th_buf *line)
{
	if (a->mute)
		return;
	a->mute = line->failed || !th_cli_write(STDOUT_FILENO, th_buf_str(line)) ||
		  !th_cli_write(STDOUT_FILENO, TH_STR("\n"));
}

void th_acp_result(struct acp *a, struct th_str id, struct th_str result)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);

	th_rpc_print_result(id, result, &line);
	th_acp_send(a, &line);
}

void th_acp_error(struct acp *a, struct th_str id, int code, const char *text)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ACP_MESSAGE_MAX);

	th_rpc_print_error(id, code, th_str_of(text), TH_STR(""), &line);
	th_acp_send(a, &line);
}
