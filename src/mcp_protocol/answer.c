/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - what an MCP request is answered with, and what is told before. */
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "mcp_protocol/mcp.h"
#include "server/fleet.h"
#include "wire/jsonrpc.h"

void th_mcp_free(struct th_mcp *m)
{
	struct th_mcp_session *s = m->session;

	if (s) {
		struct th_mcp **at = &s->requests;

		while (*at != m)
			at = &(*at)->next;
		*at = m->next;
	}
	for (size_t i = 0; i < m->input_count; i++) {
		free(m->inputs[i].key);
		th_json_free(m->inputs[i].doc);
	}
	if (s && s->guest_over && !s->requests)
		s->guest_over(m->needs.server, s);
	th_needs_forget(&m->needs);
	th_arena_deinit(&m->memory);
	th_json_free(m->doc);
	free(m->arguments);
	free(m->state);
	free(m->id);
	free(m);
}

void th_mcp_again(struct th_mcp *m)
{
	if (m->prompt)
		m->prompt->get(m);
	else
		m->tool->call(m, m->arguments);
}

/* ---- the stream ---- */

bool th_mcp_begin_stream(struct th_mcp *m)
{
	if (m->streams)
		return true;
	if (!m->access)
		return false;
	m->streams = true;
	th_http_begin(m->access->request, 200, "text/event-stream",
		      TH_STR("Cache-Control: no-store\r\nX-Accel-Buffering: no\r\n"));
	return true;
}

void th_mcp_send(struct th_mcp *m, struct th_str message)
{
	struct th_buf frame TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);

	if (!th_mcp_begin_stream(m))
		return;
	th_buf_add_cstr(&frame, "event: message\ndata: ");
	th_buf_add(&frame, message);
	th_buf_add_cstr(&frame, "\n\n");
	/* A reader that does not read loses what is only told; its answer ends the stream. */
	(void)!th_http_write(m->access->request, th_buf_str(&frame));
}

/* Whole, as JSON or as the last message of its stream. */
static void finish(struct th_mcp *m, int status, const struct th_buf *json)
{
	struct th_access *a = m->access; /* it is gone when the last message finds nobody */
	struct th_http_request *r = a->request;
	bool streams = m->streams;

	a->gone = NULL;
	a->ctx = NULL;
	a->reads = false;
	if (streams)
		th_mcp_send(m, th_buf_str(json));
	th_mcp_free(m);
	if (streams)
		th_http_end(r);
	else
		th_access_json(a, status, json);
}

/* ---- results ---- */

static struct th_str id_of(const struct th_mcp *m)
{
	return m->id ? th_str_of(m->id) : TH_STR("");
}

void th_mcp_answer(struct th_mcp *m, struct th_str result)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf whole TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&whole);
	struct th_json_raw_iter it = th_json_raw_iter(result);

	th_jw_object(&w);
	while (th_json_raw_next(&it)) {
		th_jw_name(&w, it.key);
		th_jw_raw(&w, it.val);
	}
	if (m->modern) {
		if (!th_json_raw_get(result, "resultType").len)
			th_jw_kstr(&w, "resultType", TH_STR("complete"));
		th_jw_kraw(&w, "_meta",
			   TH_STR("{\"" TH_MCP_META
				  "serverInfo\":{\"name\":\"thole\",\"version\":\"" TH_VERSION
				  "\"}}"));
	}
	th_jw_object_end(&w);
	th_rpc_print_result(id_of(m), th_buf_str(&whole), &json);
	finish(m, 200, &json);
}

void th_mcp_fault(struct th_mcp *m, int status, int code, struct th_str data, const char *fmt, ...)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	th_rpc_print_error(id_of(m), code, th_buf_str(&text), data, &json);
	finish(m, status, &json);
}

void th_mcp_put_text(struct th_jw *w, struct th_str text, bool is_error)
{
	th_jw_name(w, TH_STR("content"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("text"));
	th_jw_kstr(w, "text", text);
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_kbool(w, "isError", is_error);
}

void th_mcp_put_json(struct th_jw *w, struct th_str json)
{
	th_mcp_put_text(w, json, false);
	th_jw_kraw(w, "structuredContent", json);
}

void th_mcp_text(struct th_mcp *m, struct th_str text, bool is_error)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_mcp_put_text(&w, text, is_error);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

void th_mcp_json(struct th_mcp *m, struct th_str json)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_mcp_put_json(&w, json);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

void th_mcp_error(struct th_mcp *m, const struct thole_error *err)
{
	struct th_access *a = m->access;

	/* Another node begins it, with the request as it came. */
	if (err->code == THOLE_EPLACE && a && !m->streams && th_forward_places(a, err)) {
		th_mcp_free(m);
		return;
	}
	struct thole_error space;

	th_mcp_text(m, th_str_of((a ? th_error_public(a->server, err, &space) : err)->text), true);
}

/* ---- tasks ---- */

void th_mcp_task_deinit(struct th_mcp_task *t)
{
	th_buf_deinit(&t->result);
	th_buf_deinit(&t->requests);
}

static void put_time(struct th_jw *w, const char *name, int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	char text[32];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	th_jw_kstr(w, name, th_str_of(text));
}

/* Its members; those of a result of a task are left to the caller. */
void th_mcp_put_task(const struct th_mcp_task *t, bool modern, struct th_jw *w)
{
	th_jw_kstr(w, "taskId", th_str_of(t->id));
	th_jw_kstr(w, "status", th_str_of(t->status));
	if (t->message[0])
		th_jw_kstr(w, "statusMessage", th_str_of(t->message));
	put_time(w, "createdAt", t->created_ms);
	put_time(w, "lastUpdatedAt", t->updated_ms);
	th_jw_kraw(w, modern ? "ttlMs" : "ttl", TH_STR("null")); /* it is kept */
	th_jw_kint(w, modern ? "pollIntervalMs" : "pollInterval", 1000);
}

/* ---- meanwhile ---- */

static void notify(struct th_mcp *m, const char *method, struct th_str params)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	th_rpc_print_call(TH_STR(""), method, params, &json);
	th_mcp_send(m, th_buf_str(&json));
}

void th_mcp_progress(struct th_mcp *m, double done, double total, const char *message)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&json);

	/* It must rise. */
	if (!m->progress.len || (done <= m->progressed && m->progressed > 0))
		return;
	m->progressed = done;
	th_jw_object(&w);
	th_jw_kraw(&w, "progressToken", m->progress);
	th_jw_kreal(&w, "progress", done);
	if (total > 0)
		th_jw_kreal(&w, "total", total);
	if (message)
		th_jw_kstr(&w, "message", th_str_of(message));
	th_jw_object_end(&w);
	notify(m, "notifications/progress", th_buf_str(&json));
}

static int level_of(struct th_str name)
{
	static const char *const names[] = { "debug",    "info",  "notice",    "warning", "error",
					     "critical", "alert", "emergency", NULL };

	return th_names_find(names, name);
}

void th_mcp_log(struct th_mcp *m, const char *level, struct th_str text)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&json);
	/* In the one era each request says whether it wants a log, in the other the session. */
	int from =
	    m->modern
		? level_of(th_json_get_str(th_json_get(m->params, "_meta"), TH_MCP_META "logLevel"))
	    : m->session ? m->session->level
			 : 0;

	if (from < 0 || level_of(th_str_of(level)) < from)
		return;
	th_jw_object(&w);
	th_jw_kstr(&w, "level", th_str_of(level));
	th_jw_kstr(&w, "data", text);
	th_jw_object_end(&w);
	notify(m, "notifications/message", th_buf_str(&json));
}
