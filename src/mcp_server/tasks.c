/* SPDX-License-Identifier: Apache-2.0 */
/* tasks.c - sessions as tasks of MCP: a task's name is its session's. */
#include <stdio.h>
#include <stdlib.h>

#include "mcp_server/kit.h"

static const char *status_of(struct th_str state)
{
	static const struct {
		const char *state, *status;
	} rows[] = {
		{ "loading", "working" },   { "idle", "working" },
		{ "running", "working" },   { "paused", "working" },
		{ "scheduled", "working" }, { "waiting", "input_required" },
		{ "stopped", "cancelled" },
	};

	for (size_t i = 0; i < TH_COUNT(rows); i++)
		if (th_str_is(state, rows[i].state))
			return rows[i].status;
	return "completed"; /* one that failed has a result that says so */
}

/* Its session, open here: what it said last is in its log.  NULL: it cannot be, or m waits. */
static struct th_hub *open(struct th_mcp *m, const char *id)
{
	const struct th_found *there = th_need_open(&m->needs, id, m->access->user, true);

	return there && !there->err ? th_hub_find(m->access->server, id) : NULL;
}

static void put_result(struct th_mcp *m, struct th_mcp_task *t, struct th_str row, bool failed)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&t->result);

	(void)open(m, t->id);
	if (th_needs_wait(&m->needs))
		return;
	th_mcp_session_print(m->access->server, t->id, row, &json);
	th_jw_object(&w);
	if (failed)
		th_mcp_put_text(&w, th_buf_str(&json), true);
	else
		th_mcp_put_json(&w, th_buf_str(&json));
	th_jw_object_end(&w);
}

bool th_mcp_kit_task(struct th_mcp *m, struct th_str id, struct th_mcp_task *ret)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_found *row;
	const struct th_json *v;
	struct th_str state;

	if (!th_session_name(id, ret->id))
		return false;
	row = th_need_session(&m->needs, ret->id, m->access->user);
	if (!row || row->err || th_json_parse(row->text, &doc, NULL) != TH_OK)
		return false;
	v = th_json_root(doc);
	state = th_json_get_str(v, "state");
	ret->status = status_of(state);
	ret->created_ms = th_json_get_int(v, "created_ms", 0);
	ret->updated_ms = th_json_get_int(v, "updated_ms", 0);
	snprintf(ret->message, sizeof(ret->message), "%.*s", TH_FMT(state));
	if (strcmp(ret->status, "completed") == 0)
		put_result(m, ret, row->text, !th_str_is(state, "finished"));
	if (strcmp(ret->status, "input_required") == 0) {
		struct th_jw w = th_jw(&ret->requests);

		th_jw_object(&w);
		if (th_mcp_can_decide(m))
			(void)th_mcp_put_decisions(m, ret->id, &w);
		th_jw_object_end(&w);
	}
	return !th_needs_wait(&m->needs);
}

void th_mcp_kit_task_cancel(struct th_mcp *m, struct th_str id)
{
	struct th_hub *h;
	struct thole_error err;

	if (!(m->access->scopes & TH_SCOPE_RUN))
		return;
	h = open(m, th_arena_cstr(&m->memory, id) ?: "");
	if (h)
		(void)thole_session_cancel(h->session, THOLE_NOW, &err);
	th_server_kick(m->access->server);
}

void th_mcp_kit_task_input(struct th_mcp *m, struct th_str id)
{
	struct th_hub *h = open(m, th_arena_cstr(&m->memory, id) ?: "");
	struct thole_error err;

	if (!h || !th_mcp_decide(m, h, &err))
		return;
	h->rested_ms = 0;
	th_server_kick(m->access->server);
}
