/* SPDX-License-Identifier: Apache-2.0 */
/* methods.c - the methods of the protocol, over what a kit offers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "mcp_protocol/mcp.h"

static const struct th_str none;

static void empty(struct th_mcp *m)
{
	th_mcp_answer(m, TH_STR("{}"));
}

/* What lists and contents end with: how long they may be kept, and by whom. */
static void put_caching(const struct th_mcp *m, struct th_jw *w)
{
	if (!m->modern)
		return;
	th_jw_kint(w, "ttlMs", 0);
	th_jw_kstr(w, "cacheScope", TH_STR("private"));
}

/* ---- begin ---- */

static void put_capabilities(const struct th_mcp *m, struct th_jw *w)
{
	const struct th_mcp_kit *kit = m->kit;

	th_jw_name(w, TH_STR("capabilities"));
	th_jw_object(w);
	th_jw_kraw(w, "tools", TH_STR("{\"listChanged\":false}"));
	if (kit->prompts)
		th_jw_kraw(w, "prompts", TH_STR("{\"listChanged\":false}"));
	if (kit->resources)
		th_jw_kraw(w, "resources",
			   kit->watch ? TH_STR("{\"subscribe\":true,\"listChanged\":false}")
				      : TH_STR("{\"listChanged\":false}"));
	if (kit->complete)
		th_jw_kraw(w, "completions", TH_STR("{}"));
	if (kit->logs && !m->modern)
		th_jw_kraw(w, "logging", TH_STR("{}"));
	if (kit->task && m->modern)
		th_jw_kraw(w, "extensions", TH_STR("{\"" TH_MCP_META "tasks\":{}}"));
	else if (kit->task)
		th_jw_kraw(w, "tasks",
			   TH_STR("{\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"));
	th_jw_object_end(w);
}

static void initialize(struct th_mcp *m)
{
	static const char *const known[] = { "2025-11-25", "2025-06-18", "2025-03-26", NULL };
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(16 * TH_KIB);
	struct th_buf header TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&out);
	int at = th_names_find(known, th_json_get_str(m->params, "protocolVersion"));
	struct th_mcp_session *s = th_mcp_session_new(m);
	struct th_access *a = m->access;

	th_jw_object(&w);
	th_jw_kstr(&w, "jsonrpc", TH_STR("2.0"));
	th_jw_kraw(&w, "id", th_str_of(m->id));
	th_jw_name(&w, TH_STR("result"));
	th_jw_object(&w);
	th_jw_kstr(&w, "protocolVersion", th_str_of(known[at < 0 ? 0 : at]));
	put_capabilities(m, &w);
	th_jw_name(&w, TH_STR("serverInfo"));
	th_jw_object(&w);
	th_jw_kstr(&w, "name", th_str_of(m->kit->name));
	th_jw_kstr(&w, "version", TH_STR(TH_VERSION));
	th_jw_object_end(&w);
	if (m->kit->instructions)
		th_jw_kstr(&w, "instructions", th_str_of(m->kit->instructions));
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	th_buf_printf(&header, "Mcp-Session-Id: %s\r\nCache-Control: no-store\r\n", s->id);
	a->gone = NULL;
	a->ctx = NULL;
	th_mcp_free(m);
	th_http_reply(a->request, 200, "application/json", th_buf_str(&header), th_buf_str(&out));
}

static void discover(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_kraw(&w, "supportedVersions", TH_STR("[\"" TH_MCP_MODERN "\"]"));
	put_capabilities(m, &w);
	put_caching(m, &w);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

static void set_level(struct th_mcp *m)
{
	static const char *const names[] = { "debug",    "info",  "notice",    "warning", "error",
					     "critical", "alert", "emergency", NULL };
	int level = th_names_find(names, th_json_get_str(m->params, "level"));

	if (level < 0 || !m->kit->logs) {
		th_mcp_fault(m, 200, TH_MCP_PARAMS, none, "there is no such level");
		return;
	}
	if (m->session)
		m->session->level = level;
	empty(m);
}

/* ---- tools ---- */

static bool is_offered(const struct th_mcp *m, const struct th_mcp_tool *t)
{
	return !t->offered || t->offered(m->access->server);
}

static void put_tool(const struct th_mcp *m, const struct th_mcp_tool *t, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "name", th_str_of(t->name));
	if (t->title)
		th_jw_kstr(w, "title", th_str_of(t->title));
	th_jw_kstr(w, "description", th_str_of(t->description));
	th_jw_name(w, TH_STR("inputSchema"));
	if (t->arguments)
		th_table_schema(t->arguments, w);
	else
		th_jw_raw(w, th_str_of(t->schema));
	th_jw_name(w, TH_STR("annotations"));
	th_jw_object(w);
	th_jw_kbool(w, "readOnlyHint", t->reads);
	th_jw_object_end(w);
	if (t->task && m->kit->task && !m->modern)
		th_jw_kraw(w, "execution", TH_STR("{\"taskSupport\":\"optional\"}"));
	th_jw_object_end(w);
}

static void tools_list(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("tools"));
	th_jw_array(&w);
	for (const struct th_mcp_tool *t = m->kit->tools; t->name; t++)
		if (is_offered(m, t))
			put_tool(m, t, &w);
	th_jw_array_end(&w);
	put_caching(m, &w);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

/* The client would rather be told of a long run's name at once. */
static bool wants_task(const struct th_mcp *m, const struct th_mcp_tool *t)
{
	if (!t->task || !m->kit->task)
		return false;
	if (!m->modern)
		return th_json_is_object(th_json_get(m->params, "task"));
	return th_json_is_object(
	    th_json_get(th_json_get(m->capabilities, "extensions"), TH_MCP_META "tasks"));
}

static void tools_call(struct th_mcp *m)
{
	struct th_json_doc *nothing TH_CLEANUP(th_json_freep) = NULL;
	struct th_str name = th_json_get_str(m->params, "name");
	const struct th_json *given = th_json_get(m->params, "arguments");
	const struct th_mcp_tool *t = m->kit->tools;
	struct th_err err = {};

	while (t->name && !(th_str_is(name, t->name) && is_offered(m, t)))
		t++;
	if (!t->name) {
		th_mcp_fault(m, m->modern ? 400 : 200, TH_MCP_PARAMS, none,
			     "there is no tool of that name");
		return;
	}
	if ((m->access->scopes & t->scope) != t->scope) {
		th_mcp_text(m, TH_STR("this token does not have the scope that the tool needs"),
			    true);
		return;
	}
	if (th_json_is_null(given) && th_json_parse(TH_STR("{}"), &nothing, &err) == TH_OK)
		given = th_json_root(nothing);
	if (t->arguments) {
		m->arguments = th_alloc(t->arguments->size);
		if (th_table_parse(t->arguments, given, &m->memory, m->arguments, &err) != TH_OK) {
			th_mcp_text(m, th_str_of(err.msg), true);
			return;
		}
	}
	m->tool = t;
	m->wants_task = wants_task(m, t);
	t->call(m, m->arguments);
}

/* ---- resources ---- */

static void resources_list(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("resources"));
	th_jw_array(&w);
	m->kit->resources(m, &w);
	if (th_needs_wait(&m->needs))
		return;
	th_jw_array_end(&w);
	put_caching(m, &w);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

static void resources_templates(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_JSON_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_kraw(&w, "resourceTemplates",
		   m->kit->templates ? th_str_of(m->kit->templates) : TH_STR("[]"));
	put_caching(m, &w);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

void th_mcp_no_resource(struct th_mcp *m, struct th_str uri)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&data);

	th_jw_object(&w);
	th_jw_kstr(&w, "uri", th_utf8_cut(uri, TH_PATH_LEN_MAX));
	th_jw_object_end(&w);
	th_mcp_fault(m, 200, m->modern ? TH_MCP_PARAMS : -32002, th_buf_str(&data),
		     "there is no such resource");
}

static void resources_read(struct th_mcp *m)
{
	struct th_str uri = th_json_get_str(m->params, "uri");

	if (!uri.len || (!m->kit->read(m, uri) && !th_needs_wait(&m->needs)))
		th_mcp_no_resource(m, uri);
}

static void resources_subscribe(struct th_mcp *m)
{
	struct th_str uri = th_json_get_str(m->params, "uri");

	if (!m->session) {
		th_mcp_fault(m, 200, TH_MCP_REQUEST, none, "that needs a session of the protocol");
	} else if (!uri.len || !th_mcp_known(m, uri) ||
		   !th_mcp_watch(&m->session->channel, m, uri)) {
		if (!th_needs_wait(&m->needs))
			th_mcp_no_resource(m, uri);
	} else {
		empty(m);
	}
}

static void resources_unsubscribe(struct th_mcp *m)
{
	if (m->session)
		th_mcp_unwatch(&m->session->channel, th_json_get_str(m->params, "uri"));
	empty(m);
}

/* ---- prompts ---- */

static void prompts_list(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("prompts"));
	th_jw_array(&w);
	for (const struct th_mcp_prompt *p = m->kit->prompts; p->name; p++) {
		th_jw_object(&w);
		th_jw_kstr(&w, "name", th_str_of(p->name));
		th_jw_kstr(&w, "title", th_str_of(p->title));
		th_jw_kstr(&w, "description", th_str_of(p->description));
		th_jw_kraw(&w, "arguments", th_str_of(p->arguments));
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	put_caching(m, &w);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

static void prompts_get(struct th_mcp *m)
{
	struct th_str name = th_json_get_str(m->params, "name");

	for (const struct th_mcp_prompt *p = m->kit->prompts; p->name; p++) {
		if (!th_str_is(name, p->name))
			continue;
		m->prompt = p;
		p->get(m);
		return;
	}
	th_mcp_fault(m, m->modern ? 400 : 200, TH_MCP_PARAMS, none,
		     "there is no prompt of that name");
}

static void complete(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("completion"));
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("values"));
	th_jw_array(&w);
	m->kit->complete(m, &w);
	th_jw_array_end(&w);
	th_jw_kbool(&w, "hasMore", false);
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

/* ---- tasks ---- */

/* The task that is named.  False: it was answered, or the method is done again. */
static bool find_task(struct th_mcp *m, struct th_mcp_task *t)
{
	struct th_str id = th_json_get_str(m->params, "taskId");

	*t = (struct th_mcp_task){ .result = TH_BUF_INIT(TH_HTTP_REPLY_MAX),
				   .requests = TH_BUF_INIT(TH_SERVE_JSON_MAX) };
	if (id.len && m->kit->task(m, id, t))
		return true;
	th_mcp_task_deinit(t);
	if (!th_needs_wait(&m->needs))
		th_mcp_fault(m, m->modern ? 400 : 200, TH_MCP_PARAMS, none,
			     "there is no such task");
	return false;
}

static void tasks_get(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);
	struct th_mcp_task t;

	if (!find_task(m, &t))
		return;
	th_jw_object(&w);
	th_mcp_put_task(&t, m->modern, &w);
	if (m->modern && t.result.len)
		th_jw_kraw(&w, "result", th_buf_str(&t.result));
	if (m->modern && t.requests.len)
		th_jw_kraw(&w, "inputRequests", th_buf_str(&t.requests));
	th_jw_object_end(&w);
	th_mcp_task_deinit(&t);
	th_mcp_answer(m, th_buf_str(&out));
}

/* Of the older era, for one that is over: who asks before looks at it with tasks/get. */
static void tasks_result(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_mcp_task t;

	if (!find_task(m, &t))
		return;
	th_buf_add(&out, th_buf_str(&t.result));
	th_mcp_task_deinit(&t);
	if (out.len)
		th_mcp_answer(m, th_buf_str(&out));
	else
		th_mcp_fault(m, 200, TH_MCP_PARAMS, none,
			     "the task has no result yet; tasks/get says how far it is");
}

static void tasks_cancel(struct th_mcp *m)
{
	struct th_str id = th_json_get_str(m->params, "taskId");
	struct th_mcp_task t;

	if (!find_task(m, &t))
		return;
	th_mcp_task_deinit(&t);
	m->kit->task_cancel(m, id);
	if (th_needs_wait(&m->needs))
		return;
	th_needs_forget(&m->needs);
	m->again = tasks_get;
	if (m->modern)
		empty(m);
	else
		tasks_get(m);
}

static void tasks_update(struct th_mcp *m)
{
	struct th_str id = th_json_get_str(m->params, "taskId");
	struct th_mcp_task t;

	if (!find_task(m, &t))
		return;
	th_mcp_task_deinit(&t);
	m->kit->task_input(m, id);
	if (!th_needs_wait(&m->needs))
		empty(m);
}

/* ---- the table ---- */

enum { WITH_ALL, WITH_PROMPTS, WITH_RESOURCES, WITH_WATCH, WITH_COMPLETE, WITH_TASKS, WITH_LOGS };

static const struct {
	const char *name;
	bool legacy, modern;
	int with; /* what the kit must have */
	void (*fn)(struct th_mcp *m);
} methods[] = {
	{ "initialize", true, false, WITH_ALL, initialize },
	{ "ping", true, false, WITH_ALL, empty },
	{ "server/discover", false, true, WITH_ALL, discover },
	{ "logging/setLevel", true, false, WITH_LOGS, set_level },
	{ "tools/list", true, true, WITH_ALL, tools_list },
	{ "tools/call", true, true, WITH_ALL, tools_call },
	{ "resources/list", true, true, WITH_RESOURCES, resources_list },
	{ "resources/templates/list", true, true, WITH_RESOURCES, resources_templates },
	{ "resources/read", true, true, WITH_RESOURCES, resources_read },
	{ "resources/subscribe", true, false, WITH_WATCH, resources_subscribe },
	{ "resources/unsubscribe", true, false, WITH_WATCH, resources_unsubscribe },
	{ "subscriptions/listen", false, true, WITH_WATCH, th_mcp_listen },
	{ "prompts/list", true, true, WITH_PROMPTS, prompts_list },
	{ "prompts/get", true, true, WITH_PROMPTS, prompts_get },
	{ "completion/complete", true, true, WITH_COMPLETE, complete },
	{ "tasks/get", true, true, WITH_TASKS, tasks_get },
	{ "tasks/result", true, false, WITH_TASKS, tasks_result },
	{ "tasks/cancel", true, true, WITH_TASKS, tasks_cancel },
	{ "tasks/update", false, true, WITH_TASKS, tasks_update },
};

static bool has(const struct th_mcp_kit *kit, int with)
{
	switch (with) {
	case WITH_PROMPTS:
		return kit->prompts != NULL;
	case WITH_RESOURCES:
		return kit->resources != NULL;
	case WITH_WATCH:
		return kit->watch != NULL;
	case WITH_COMPLETE:
		return kit->complete != NULL;
	case WITH_TASKS:
		return kit->task != NULL;
	case WITH_LOGS:
		return kit->logs;
	default:
		return true;
	}
}

void th_mcp_dispatch(struct th_mcp *m)
{
	for (size_t i = 0; i < TH_COUNT(methods); i++) {
		if (!th_str_is(m->method, methods[i].name) || !has(m->kit, methods[i].with) ||
		    !(m->modern ? methods[i].modern : methods[i].legacy))
			continue;
		methods[i].fn(m);
		return;
	}
	th_mcp_fault(m, m->modern ? 404 : 200, TH_MCP_METHOD, none, "there is no such method here");
}
