/* SPDX-License-Identifier: Apache-2.0 */
/* wait.c - an MCP call that waits until a session rests. */
#include <stdio.h>
#include <stdlib.h>

#include "mcp_server/kit.h"

#define WAIT_S_MAX 3600

struct waiting {
	struct th_listener listener;
	struct th_mcp *m;
	struct th_timer timer;
	bool unwritten; /* nobody can read of it yet: it is answered when it is written */
	bool late;      /* and at once then */
	char id[TH_SESSION_ID_MAX + 1];
};

/* ---- as a task ---- */

static void answer_task(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_mcp_task t = { .result = TH_BUF_INIT(TH_HTTP_REPLY_MAX),
				 .requests = TH_BUF_INIT(TH_SERVE_JSON_MAX) };
	struct th_jw w = th_jw(&out);
	bool found = th_mcp_kit_task(m, th_str_of(m->about), &t);

	if (th_needs_wait(&m->needs)) {
		th_mcp_task_deinit(&t);
		return;
	}
	th_jw_object(&w);
	if (m->modern)
		th_jw_kstr(&w, "resultType", TH_STR("task"));
	else
		th_jw_name(&w, TH_STR("task"));
	if (!m->modern)
		th_jw_object(&w);
	if (found)
		th_mcp_put_task(&t, m->modern, &w);
	if (!m->modern)
		th_jw_object_end(&w);
	th_jw_object_end(&w);
	th_mcp_task_deinit(&t);
	if (found)
		th_mcp_answer(m, th_buf_str(&out));
	else
		th_mcp_text(m, TH_STR("the session is not there any more"), true);
}

/* ---- waiting ---- */

/* The call is not waited with any more; it is still to be answered. */
static struct th_mcp *let_go(struct waiting *w)
{
	struct th_mcp *m = w->m;

	m->gone = NULL;
	m->ctx = NULL;
	th_timer_stop(&w->timer);
	th_hub_unlisten(&w->listener);
	free(w);
	return m;
}

static void on_gone(struct th_mcp *m)
{
	(void)let_go(m->ctx);
}

static void finish(struct waiting *w)
{
	char id[TH_SESSION_ID_MAX + 1];
	struct th_mcp *m;

	memcpy(id, w->id, sizeof(id));
	m = let_go(w);
	if (m->wants_task)
		th_mcp_about(m, id, answer_task);
	else
		th_mcp_session_answer(m, id);
}

static void ask_decisions(struct th_mcp *m)
{
	struct th_buf questions TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw out = th_jw(&questions);
	bool asks;

	th_jw_object(&out);
	asks = th_mcp_put_decisions(m, m->about, &out);
	th_jw_object_end(&out);
	if (th_needs_wait(&m->needs))
		return;
	m->again = NULL; /* with the words, the tool is called */
	if (asks)
		th_mcp_ask(m, th_buf_str(&questions), m->about);
	else
		th_mcp_session_answer(m, m->about);
}

void th_mcp_ask_decisions(struct th_mcp *m, const char *id)
{
	th_mcp_about(m, id, ask_decisions);
}

/* A person must decide: the client's user is asked, if he can be. */
static void ask(struct waiting *w)
{
	char id[TH_SESSION_ID_MAX + 1];

	memcpy(id, w->id, sizeof(id));
	th_mcp_ask_decisions(let_go(w), id);
}

static void on_time(void *ctx)
{
	struct waiting *w = ctx;

	if (w->unwritten)
		w->late = true;
	else
		finish(w);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct waiting *w = TH_CONTAINER_OF(l, struct waiting, listener);

	if (!note) {
		finish(w);
		return;
	}
	if (thole_note_kind(note) == THOLE_NOTE_EVENT) {
		w->unwritten = false;
		if (w->m->wants_task || w->late)
			finish(w);
		else
			th_mcp_progress(w->m, (double)thole_note_seq(note), 0,
					thole_note_name(note));
		return;
	}
	if (thole_note_kind(note) != THOLE_NOTE_REST)
		return;
	if (thole_session_state(w->listener.hub->session) == THOLE_WAITING &&
	    th_mcp_can_decide(w->m))
		ask(w);
	else
		finish(w);
}

void th_mcp_wait(struct th_mcp *m, struct th_hub *h, int64_t seconds, bool is_new)
{
	struct waiting *w = th_alloc(sizeof(*w));

	*w = (struct waiting){ .m = m, .unwritten = is_new };
	memcpy(w->id, h->id, sizeof(w->id));
	w->listener.fn = on_note;
	m->ctx = w;
	m->gone = on_gone;
	th_timer_init(&w->timer, m->access->server->loop, on_time, w);
	th_timer_start(&w->timer, (uint64_t)TH_MIN(seconds, (int64_t)WAIT_S_MAX) * 1000 + 1, 0);
	th_hub_listen(h, &w->listener);
	th_server_kick(m->access->server);
}
