/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - the server as an MCP server, POST /mcp, of both eras: revisions up to
 * 2025-11-25, which begin with `initialize`, and 2026-07-28, in which each
 * request says all.  No sessions of the protocol, no streams: an answer is one
 * JSON object.
 *
 * Its tools begin and lead sessions.  None decides about a call that waits for
 * a person: a model must not approve what another model asks for.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "io/clock.h"
#include "server/internal.h"
#include "wire/jsonrpc.h"

#define MODERN "2026-07-28"
#define META "io.modelcontextprotocol/"
#define WAIT_S_DEFAULT 60
#define WAIT_S_MAX 3600

enum { /* of JSON-RPC, and of MCP */
       PARSE = TH_RPC_EPARSE,
       REQUEST = TH_RPC_EREQUEST,
       METHOD = TH_RPC_EMETHOD,
       PARAMS = TH_RPC_EPARAMS,
       HEADER = -32020,
       VERSION = -32022
};

/* A request: `id` is its JSON text, empty for a notification. */
struct mcp {
	struct th_access *access;
	struct th_json_doc *doc;
	const struct th_json *params;
	struct th_str id, method;
	bool modern;
};

struct tool {
	const char *name, *title, *description;
	const struct th_table *arguments;
	unsigned scope;
	bool reads;
	/* Answers, now or later; m is the caller's, and gone afterwards. */
	void (*call)(struct mcp *m, const void *arguments);
};

// clang-format off
#define TH_FIELDS_mcp_run(F)                                                                     \
	F(mcp_run, str, agent, "agent", TH_NONEMPTY, "name of an agent (list_agents); default: default") \
	F(mcp_run, str, message, "message", TH_REQ | TH_NONEMPTY, "the task")                      \
	F(mcp_run, int, wait_seconds, "wait_seconds", TH_NONEG, "how long the answer is waited for; default 60; 0: it is not")
#define TH_FIELDS_mcp_session(F)                                                                 \
	F(mcp_session, str, session_id, "session_id", TH_REQ | TH_NONEMPTY, "the session")         \
	F(mcp_session, str, message, "message", TH_NONEMPTY, "message_session: what is said to it") \
	F(mcp_session, int, wait_seconds, "wait_seconds", TH_NONEG, "how long it is waited for until it rests; default: message_session 60, else 0")
#define TH_FIELDS_mcp_events(F)                                                                  \
	F(mcp_events, str, session_id, "session_id", TH_REQ | TH_NONEMPTY, "the session")          \
	F(mcp_events, int, from, "from", TH_POSITIVE, "number of the first event; default: 1")     \
	F(mcp_events, int, limit, "limit", TH_POSITIVE, "at most so many; default: 50")
// clang-format on
struct th_mcp_none {
	char unused;
};
TH_STRUCT(mcp_run)
TH_STRUCT(mcp_session)
TH_STRUCT(mcp_events)
static const struct th_table none_table = {
	"mcp_none", "nothing", NULL, 0, sizeof(struct th_mcp_none), false
};
// clang-format off
TH_TABLE(mcp_run, "a run", false)
TH_TABLE(mcp_session, "a session", false)
TH_TABLE(mcp_events, "events", false)
// clang-format on

/* ---- answers ---- */

static void answer(struct mcp *m, struct th_str result)
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
		th_jw_kstr(&w, "resultType", TH_STR("complete"));
		th_jw_kraw(&w, "_meta",
			   TH_STR("{\"" META
				  "serverInfo\":{\"name\":\"thole\",\"version\":\"" TH_VERSION
				  "\"}}"));
	}
	th_jw_object_end(&w);
	th_rpc_print_result(m->id, th_buf_str(&whole), &json);
	th_access_json(m->access, 200, &json);
}

TH_PRINTF(4, 5)
static void fault(struct mcp *m, int status, int code, const char *fmt, ...)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	va_list ap;

	va_start(ap, fmt);
	th_buf_vprintf(&text, fmt, ap);
	va_end(ap);
	th_rpc_print_error(
	    m->id, code, th_buf_str(&text),
	    code == VERSION ? TH_STR("{\"supported\":[\"" MODERN "\"]}") : TH_STR(""), &json);
	th_access_json(m->access, status, &json);
}

/* A tool's result: `json`, an object, as text and as itself. */
static void result(struct mcp *m, struct th_str json, bool is_error)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("content"));
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("text"));
	th_jw_kstr(&w, "text", json);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (!is_error)
		th_jw_kraw(&w, "structuredContent", json);
	th_jw_kbool(&w, "isError", is_error);
	th_jw_object_end(&w);
	answer(m, th_buf_str(&out));
}

static void failed(struct mcp *m, const struct thole_error *err)
{
	result(m, th_str_of(err->text), true);
}

/* ---- a session as a result ---- */

/* Its row, and what it says last. */
static void session_result(struct mcp *m, const char *id)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_hub *h = th_hub_find(m->access->server, id);
	struct th_jw w = th_jw(&out);
	struct thole_error err;
	const char *said = NULL, *why = NULL;
	char *row = NULL;

	if (thole_runtime_session(m->access->server->rt, id, m->access->user, &row, &err) != 0) {
		failed(m, &err);
		return;
	}
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
	result(m, th_buf_str(&out), false);
}

struct wait {
	struct th_listener listener;
	struct mcp m; /* its strings are the request's, which lives as long as its access */
	struct th_timer timer;
	char id[TH_SESSION_ID_MAX + 1];
};

static void wait_free(struct wait *w)
{
	th_timer_stop(&w->timer);
	th_hub_unlisten(&w->listener);
	th_json_free(w->m.doc);
	free(w);
}

static void wait_end(struct wait *w)
{
	w->m.access->gone = NULL;
	th_hub_unlisten(&w->listener);
	session_result(&w->m, w->id);
	wait_free(w);
}

static void wait_gone(struct th_access *a)
{
	wait_free(a->ctx);
}

static void on_time(void *ctx)
{
	wait_end(ctx);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct wait *w = TH_CONTAINER_OF(l, struct wait, listener);

	if (!note || thole_note_kind(note) == THOLE_NOTE_REST)
		wait_end(w);
}

/* Answers when the session rests, or after so many seconds. */
static void wait_for(struct mcp *m, struct th_hub *h, int64_t seconds)
{
	struct wait *w = th_alloc(sizeof(*w));

	*w = (struct wait){ .m = *m };
	m->doc = NULL;
	memcpy(w->id, h->id, sizeof(w->id));
	w->listener.fn = on_note;
	m->access->ctx = w;
	m->access->gone = wait_gone;
	th_timer_init(&w->timer, m->access->server->loop, on_time, w);
	th_timer_start(&w->timer, (uint64_t)TH_MIN(seconds, (int64_t)WAIT_S_MAX) * 1000 + 1, 0);
	th_hub_listen(h, &w->listener);
	th_server_kick(m->access->server);
}

/* ---- tools ---- */

static void call_agents(struct mcp *m, const void *arguments)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	const struct th_served *agents = &m->access->server->agents;
	struct th_jw w = th_jw(&out);

	(void)arguments;
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("agents"));
	th_jw_array(&w);
	for (size_t i = 0; i < agents->count; i++)
		th_jw_str(&w, th_str_of(agents->list[i].name));
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	result(m, th_buf_str(&out), false);
}

/* False: it was answered. */
static bool has_room(struct mcp *m)
{
	struct th_refusal r;

	if (th_quota_has_room(m->access->server, m->access->user, &r))
		return true;
	m->access->server->metrics.refused_quota++;
	result(m, th_str_of(r.why.msg), true);
	return false;
}

static void call_run(struct mcp *m, const void *arguments)
{
	const struct th_mcp_run *r = arguments;
	struct th_server *s = m->access->server;
	const struct th_served_agent *from =
	    th_served_find(&s->agents, r->agent.len ? r->agent : TH_STR("default"));
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_uuid made = th_uuid_now();
	char id[TH_UUID_TEXT_SIZE + 1], *workspace = NULL;
	const char *options[] = { "id", id, "user", m->access->user, NULL };
	struct thole_session *session = NULL;
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code;

	th_arena_init(&memory, TH_SERVE_JSON_MAX);
	if (!has_room(m))
		return;
	if (!from) {
		result(m, TH_STR("there is no agent of that name; list_agents names them"), true);
		return;
	}
	th_uuid_text(&made, id);
	code = th_workspace_make(s, id, &workspace, &err);
	if (!code)
		code = th_served_make(from, workspace, &agent, &err);
	if (!code)
		code = thole_session_new_with(s->rt, agent, options, &session, &err);
	if (!code)
		code =
		    thole_session_message(session, th_arena_cstr(&memory, r->message) ?: "", &err);
	thole_agent_free(agent);
	free(workspace);
	if (code) {
		thole_session_free(session);
		failed(m, &err);
		return;
	}
	s->metrics.sessions_begun++;
	th_hub_adopt(th_hub_get(s, id, m->access->user), session);
	wait_for(m, th_hub_find(s, id),
		 th_json_get(m->params, "arguments") &&
			 th_json_get(th_json_get(m->params, "arguments"), "wait_seconds")
		     ? r->wait_seconds
		     : WAIT_S_DEFAULT);
}

/* The session is the caller's.  False: it was answered. */
static bool is_mine(struct mcp *m, struct th_str name, char id[static TH_SESSION_ID_MAX + 1])
{
	struct thole_error err;
	char *row = NULL;

	if (name.len > TH_SESSION_ID_MAX || memchr(name.ptr, 0, name.len)) {
		result(m, TH_STR("no session has such a name"), true);
		return false;
	}
	memcpy(id, name.ptr, name.len);
	id[name.len] = '\0';
	if (thole_runtime_session(m->access->server->rt, id, m->access->user, &row, &err) != 0) {
		failed(m, &err);
		return false;
	}
	thole_free(row);
	return true;
}

static struct th_hub *open_mine(struct mcp *m, const char *id)
{
	struct th_hub *h = th_hub_get(m->access->server, id, m->access->user);
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code = h->session ? 0 : th_functions_agent_of(m->access->server, id, &agent, &err);

	if (!code)
		code = th_hub_open(h, agent, &err);
	thole_agent_free(agent);
	if (!code)
		return h;
	failed(m, &err);
	return NULL;
}

static void call_get(struct mcp *m, const void *arguments)
{
	const struct th_mcp_session *s = arguments;
	char id[TH_SESSION_ID_MAX + 1];
	struct th_hub *h;

	if (!is_mine(m, s->session_id, id))
		return;
	h = th_hub_find(m->access->server, id);
	if (h && h->session && !h->rested_ms && s->wait_seconds)
		wait_for(m, h, s->wait_seconds);
	else if (open_mine(m, id)) /* what it said last is in its log */
		session_result(m, id);
}

static void call_message(struct mcp *m, const void *arguments)
{
	const struct th_mcp_session *s = arguments;
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	struct th_hub *h;

	th_arena_init(&memory, TH_SERVE_JSON_MAX);
	if (!s->message.len) {
		result(m, TH_STR("message is missing"), true);
		return;
	}
	if (!is_mine(m, s->session_id, id))
		return;
	h = open_mine(m, id);
	if (!h || (!th_hub_runs(h) && !has_room(m)))
		return;
	if (thole_session_message(h->session, th_arena_cstr(&memory, s->message) ?: "", &err)) {
		failed(m, &err);
		return;
	}
	h->rested_ms = 0;
	m->access->server->metrics.messages++;
	wait_for(m, h, s->wait_seconds ? s->wait_seconds : WAIT_S_DEFAULT);
}

static void call_cancel(struct mcp *m, const void *arguments)
{
	const struct th_mcp_session *s = arguments;
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	struct th_hub *h;

	if (!is_mine(m, s->session_id, id))
		return;
	h = open_mine(m, id);
	if (!h)
		return;
	if (thole_session_cancel(h->session, THOLE_NOW, &err) != 0) {
		failed(m, &err);
		return;
	}
	th_server_kick(m->access->server);
	session_result(m, id);
}

static void call_list(struct mcp *m, const void *arguments)
{
	const char *options[] = { "user", m->access->user, "limit", "50", NULL };
	struct thole_error err;
	char *page = NULL;

	(void)arguments;
	if (thole_runtime_page(m->access->server->rt, options, &page, &err) != 0) {
		failed(m, &err);
		return;
	}
	result(m, th_str_of(page), false);
	thole_free(page);
}

static void call_waiting(struct mcp *m, const void *arguments)
{
	struct thole_error err;
	char *list = NULL;

	(void)arguments;
	if (thole_runtime_waiting(m->access->server->rt, m->access->user, NULL, 0, &list, &err)) {
		failed(m, &err);
		return;
	}
	result(m, th_str_of(list), false);
	thole_free(list);
}

struct lines {
	struct th_buf *out;
	int64_t count, limit;
};

static int on_line(void *ctx, const char *line, size_t len)
{
	struct lines *l = ctx;

	if (l->count == l->limit || l->out->len > TH_MIB)
		return 1;
	if (l->count++)
		th_buf_add_char(l->out, ',');
	th_buf_add_mem(l->out, line, len);
	return 0;
}

static void call_events(struct mcp *m, const void *arguments)
{
	const struct th_mcp_events *e = arguments;
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct lines lines = { .out = &out, .limit = e->limit ? e->limit : 50 };
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	int code;

	if (!is_mine(m, e->session_id, id))
		return;
	th_buf_add_cstr(&out, "{\"events\":[");
	code = thole_runtime_log(m->access->server->rt, id, e->from ? (uint64_t)e->from : 1,
				 on_line, &lines, &err);
	th_buf_add_cstr(&out, "]}");
	if (code && code != 1)
		failed(m, &err);
	else
		result(m, th_buf_str(&out), false);
}

static const struct tool tools[] = {
	{ "list_agents", "List agents", "The agents that a session can be run with.", &none_table,
	  TH_SCOPE_READ, true, call_agents },
	{ "run_agent", "Run an agent",
	  "Begins a session with a task, and waits for its answer. When that takes longer, the "
	  "answer says so, and get_session follows it.",
	  &th_mcp_run_table, TH_SCOPE_RUN, false, call_run },
	{ "list_sessions", "List sessions", "Your newest sessions.", &none_table, TH_SCOPE_READ,
	  true, call_list },
	{ "get_session", "Look at a session",
	  "Its state and what it said last. A session in state waiting waits for a person, who "
	  "decides elsewhere.",
	  &th_mcp_session_table, TH_SCOPE_READ, true, call_get },
	{ "message_session", "Say something to a session",
	  "Goes on with it, and waits for its answer.", &th_mcp_session_table, TH_SCOPE_RUN, false,
	  call_message },
	{ "cancel_session", "Stop a session", "Stops its task.", &th_mcp_session_table,
	  TH_SCOPE_RUN, false, call_cancel },
	{ "session_events", "Read events", "What a session did, event by event.",
	  &th_mcp_events_table, TH_SCOPE_READ, true, call_events },
	{ "list_waiting", "List what waits", "Calls that wait for a person's decision.",
	  &none_table, TH_SCOPE_READ, true, call_waiting },
};

static void tools_list(struct mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("tools"));
	th_jw_array(&w);
	for (size_t i = 0; i < TH_COUNT(tools); i++) {
		th_jw_object(&w);
		th_jw_kstr(&w, "name", th_str_of(tools[i].name));
		th_jw_kstr(&w, "title", th_str_of(tools[i].title));
		th_jw_kstr(&w, "description", th_str_of(tools[i].description));
		th_jw_name(&w, TH_STR("inputSchema"));
		th_table_schema(tools[i].arguments, &w);
		th_jw_name(&w, TH_STR("annotations"));
		th_jw_object(&w);
		th_jw_kbool(&w, "readOnlyHint", tools[i].reads);
		th_jw_object_end(&w);
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	if (m->modern) {
		th_jw_kint(&w, "ttlMs", 0);
		th_jw_kstr(&w, "cacheScope", TH_STR("private"));
	}
	th_jw_object_end(&w);
	answer(m, th_buf_str(&out));
}

static void tools_call(struct mcp *m)
{
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_json_doc *empty TH_CLEANUP(th_json_freep) = NULL;
	struct th_str name = th_json_get_str(m->params, "name");
	const struct th_json *given = th_json_get(m->params, "arguments");
	union {
		struct th_mcp_none none;
		struct th_mcp_run run;
		struct th_mcp_session session;
		struct th_mcp_events events;
	} arguments;
	struct th_err err = {};

	th_arena_init(&memory, TH_SERVE_JSON_MAX);
	for (size_t i = 0; i < TH_COUNT(tools); i++) {
		if (!th_str_is(name, tools[i].name))
			continue;
		if (!(m->access->scopes & tools[i].scope)) {
			result(m, TH_STR("this token has not the scope that the tool needs"), true);
			return;
		}
		if (th_json_is_null(given) && th_json_parse(TH_STR("{}"), &empty, &err) == TH_OK)
			given = th_json_root(empty);
		if (th_table_parse(tools[i].arguments, given, &memory, &arguments, &err) != TH_OK)
			result(m, th_str_of(err.msg), true);
		else
			tools[i].call(m, &arguments);
		return;
	}
	fault(m, m->modern ? 400 : 200, PARAMS, "there is no tool of that name");
}

/* ---- methods ---- */

static void initialize(struct mcp *m)
{
	static const char *const known[] = { "2025-11-25", "2025-06-18", "2025-03-26", NULL };
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	int at = th_names_find(known, th_json_get_str(m->params, "protocolVersion"));

	th_buf_printf(&out,
		      "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{\"listChanged\":"
		      "false}},\"serverInfo\":{\"name\":\"thole\",\"version\":\"" TH_VERSION "\"}}",
		      known[at < 0 ? 0 : at]);
	answer(m, th_buf_str(&out));
}

static void discover(struct mcp *m)
{
	answer(m, TH_STR("{\"supportedVersions\":[\"" MODERN "\"],\"capabilities\":{\"tools\":{"
			 "\"listChanged\":false}},\"ttlMs\":0,\"cacheScope\":\"private\"}"));
}

static void ping(struct mcp *m)
{
	answer(m, TH_STR("{}"));
}

static const struct {
	const char *name;
	bool legacy, modern;
	void (*fn)(struct mcp *m);
} methods[] = {
	{ "initialize", true, false, initialize },    { "ping", true, false, ping },
	{ "tools/list", true, true, tools_list },     { "tools/call", true, true, tools_call },
	{ "server/discover", false, true, discover },
};

static void dispatch(struct mcp *m)
{
	for (size_t i = 0; i < TH_COUNT(methods); i++) {
		if (!th_str_is(m->method, methods[i].name) ||
		    !(m->modern ? methods[i].modern : methods[i].legacy))
			continue;
		methods[i].fn(m);
		return;
	}
	fault(m, m->modern ? 404 : 200, METHOD, "there is no such method here");
}

/* ---- a request ---- */

/* What 2026-07-28 wants of each request.  False: it was answered. */
static bool check_modern(struct mcp *m)
{
	const struct th_json *meta = th_json_get(m->params, "_meta");
	struct th_str version = th_json_get_str(meta, META "protocolVersion");
	struct th_str header = th_http_header(m->access->request, "mcp-method");

	if (!version.len || !th_json_is_object(th_json_get(meta, META "clientCapabilities"))) {
		fault(m, 400, PARAMS,
		      "_meta needs " META "protocolVersion and " META "clientCapabilities");
		return false;
	}
	if (!th_str_is(version, MODERN)) {
		fault(m, 400, VERSION, "this revision is not spoken here");
		return false;
	}
	if (!th_str_eq(header, m->method)) {
		fault(m, 400, HEADER, "Mcp-Method is not the method of the body");
		return false;
	}
	return true;
}

static bool takes(struct th_str accept, const char *type)
{
	return th_str_find(accept, th_str_of(type)) >= 0 || th_str_find(accept, TH_STR("*/*")) >= 0;
}

static void handle(struct mcp *m)
{
	const struct th_json *v = th_json_root(m->doc), *meta;
	struct th_str version = th_http_header(m->access->request, "mcp-protocol-version");

	if (!th_str_is(th_json_get_str(v, "jsonrpc"), "2.0")) {
		fault(m, 400, REQUEST, "this is no request of JSON-RPC 2.0");
		return;
	}
	m->method = th_json_get_str(v, "method");
	m->params = th_json_get(v, "params");
	meta = th_json_get(m->params, "_meta");
	m->modern =
	    th_str_is(version, MODERN) || th_json_get_str(meta, META "protocolVersion").len > 0;
	if (!m->id.len || !m->method.len) { /* a notification, or an answer to nothing we asked */
		th_access_empty(m->access, 202);
		return;
	}
	if (m->modern && !check_modern(m))
		return;
	if (!m->modern && version.len && !th_str_starts(version, TH_STR("2024-")) &&
	    !th_str_starts(version, TH_STR("2025-"))) {
		fault(m, 400, VERSION, "this revision is not spoken here");
		return;
	}
	dispatch(m);
}

void th_mcp_post(struct th_access *a)
{
	struct mcp m = { .access = a };
	struct th_str body = th_http_body(a->request);
	struct th_str accept = th_http_header(a->request, "accept");
	struct th_err err = {};

	if (!takes(accept, "application/json") || !takes(accept, "text/event-stream")) {
		th_access_fail(a, 406, NULL,
			       "Accept must have application/json and "
			       "text/event-stream");
		return;
	}
	if (th_json_parse(body, &m.doc, &err) != TH_OK) {
		fault(&m, 400, PARSE, "%s", err.msg);
		return;
	}
	m.id = th_json_raw_get(body, "id");
	if (m.id.len && m.id.ptr[0] != '"' && th_json_raw_is_object(m.id))
		m.id.len = 0;
	handle(&m);
	th_json_free(m.doc);
}
