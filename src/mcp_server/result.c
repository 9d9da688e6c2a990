/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - a session as the result of an MCP tool. */
#include "mcp_server/kit.h"

void th_mcp_session_print(struct th_server *s, const char *id, struct th_str row,
			  struct th_buf *out)
{
	struct th_hub *h = th_hub_find(s, id);
	struct th_jw w = th_jw(out);
	const char *said = NULL, *why = NULL;

	if (h && h->session) {
		said = thole_session_output(h->session);
		why = said ? NULL : thole_session_reason(h->session);
	}
	th_jw_object(&w);
	th_jw_kraw(&w, "session", row);
	if (said)
		th_jw_kstr(&w, "output", th_str_of(said));
	if (why)
		th_jw_kstr(&w, "reason", th_str_of(why));
	th_jw_object_end(&w);
}

static void answer(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	const struct th_found *row = th_need_session(&m->needs, m->about, m->access->user);

	if (!row)
		return;
	if (row->err) {
		th_mcp_error(m, row->err);
		return;
	}
	th_mcp_session_print(m->access->server, m->about, row->text, &out);
	th_mcp_json(m, th_buf_str(&out));
}

void th_mcp_session_answer(struct th_mcp *m, const char *id)
{
	th_mcp_about(m, id, answer);
}
