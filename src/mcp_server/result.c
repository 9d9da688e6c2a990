/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - a session as the result of an MCP tool. */
#include "mcp_server/kit.h"

bool th_mcp_session_print(struct th_server *s, const char *user, const char *id, struct th_buf *out,
			  struct thole_error *err)
{
	struct th_hub *h = th_hub_find(s, id);
	struct th_jw w = th_jw(out);
	const char *said = NULL, *why = NULL;
	char *row = NULL;

	if (thole_runtime_session(s->rt, id, user, &row, err) != 0)
		return false;
	if (h && h->session) {
		said = thole_session_output(h->session);
		why = said ? NULL : thole_session_reason(h->session);
	}
	th_jw_object(&w);
	th_jw_kraw(&w, "session", th_str_of(row));
	if (said)
		th_jw_kstr(&w, "output", th_str_of(said));
	if (why)
		th_jw_kstr(&w, "reason", th_str_of(why));
	th_jw_object_end(&w);
	thole_free(row);
	return true;
}

void th_mcp_session_answer(struct th_mcp *m, const char *id)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct thole_error err;

	if (th_mcp_session_print(m->access->server, m->access->user, id, &out, &err))
		th_mcp_json(m, th_buf_str(&out));
	else
		th_mcp_error(m, &err);
}
