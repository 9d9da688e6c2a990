/* SPDX-License-Identifier: Apache-2.0 */
/* end.c - a session is given back to the log. */
#include <stdlib.h>

#include "acp/acp.h"

void th_acp_session_free(struct acp_session *s)
{
	struct acp_session **at = &s->acp->sessions;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->acp->session_count--;
	th_acp_forget(s);
	thole_reading_free(s->reading);
	if (s->loading)
		th_acp_error(s->acp, th_str_of(s->loading), TH_RPC_EREQUEST,
			     "the session is closed");
	free(s->loading);
	thole_session_free(s->session);
	free(s->prompt);
	free(s->later);
	free(s->closing);
	free(s->cwd);
	free(s);
}
