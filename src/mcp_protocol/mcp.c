/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - a request of the Model Context Protocol as it comes in: its form, its
 * era, its session; GET and DELETE of the older one.
 */
#include "mcp_protocol/mcp.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/jsonrpc.h"

static const struct th_str none;

static char *copy(struct th_str s)
{
	char *text = th_alloc(s.len + 1);

	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

/* ---- headers of 2026-07-28 ---- */

/* A header's value; =?base64?…?= is of other characters than a header can have. */
static bool header_is(const struct th_mcp *m, const char *name, struct th_str value)
{
	struct th_buf plain TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_str given = th_http_header(m->access->request, name);

	if (th_str_starts(given, TH_STR("=?base64?")) && th_str_ends(given, TH_STR("?="))) {
		if (!th_base64_decode(&plain, th_str_sub(given, 9, given.len - 11)))
			return false;
		given = th_buf_str(&plain);
	}
	return given.ptr && th_str_eq(given, value);
}

/* What Mcp-Name must say; .ptr NULL: nothing. */
static struct th_str name_of(const struct th_mcp *m)
{
	if (th_str_is(m->method, "tools/call") || th_str_is(m->method, "prompts/get"))
		return th_json_get_str(m->params, "name");
	if (th_str_is(m->method, "resources/read"))
		return th_json_get_str(m->params, "uri");
	if (th_str_starts(m->method, TH_STR("tasks/")))
		return th_json_get_str(m->params, "taskId");
	return none;
}

/* What 2026-07-28 wants of each request.  False: it was answered. */
static bool check_modern(struct th_mcp *m)
{
	struct th_buf data TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	const struct th_json *meta = th_json_get(m->params, "_meta");
	struct th_str version = th_json_get_str(meta, TH_MCP_META "protocolVersion");
	struct th_str name = name_of(m);
	struct th_jw w = th_jw(&data);

	m->capabilities = th_json_get(meta, TH_MCP_META "clientCapabilities");
	if (!version.len || !th_json_is_object(m->capabilities)) {
		th_mcp_fault(m, 400, TH_MCP_PARAMS, none,
			     "_meta needs " TH_MCP_META "protocolVersion and " TH_MCP_META
			     "clientCapabilities");
		return false;
	}
	if (!header_is(m, "mcp-protocol-version", version) ||
	    !header_is(m, "mcp-method", m->method) ||
	    (name.ptr && !header_is(m, "mcp-name", name))) {
		th_mcp_fault(m, 400, TH_MCP_HEADER, none,
			     "MCP-Protocol-Version, Mcp-Method and Mcp-Name must say what the "
			     "body says");
		return false;
	}
	if (th_str_is(version, TH_MCP_MODERN))
		return true;
	th_jw_object(&w);
	th_jw_kraw(&w, "supported", TH_STR("[\"" TH_MCP_MODERN "\"]"));
	th_jw_kstr(&w, "requested", version);
	th_jw_object_end(&w);
	th_mcp_fault(m, 400, TH_MCP_VERSION, th_buf_str(&data), "this revision is not spoken here");
	return false;
}

/* ---- a message ---- */

static void on_gone(struct th_access *a)
{
	struct th_mcp *m = a->ctx;

	m->access = NULL;
	if (m->gone)
		m->gone(m);
	th_mcp_free(m);
}

static bool check_legacy(struct th_mcp *m)
{
	struct th_str version = th_http_header(m->access->request, "mcp-protocol-version");

	if (version.len && !th_str_starts(version, TH_STR("2024-")) &&
	    !th_str_starts(version, TH_STR("2025-"))) {
		th_mcp_fault(m, 400, TH_MCP_VERSION,
			     TH_STR("{\"supported\":[\"" TH_MCP_MODERN "\",\"2025-11-25\"]}"),
			     "this revision is not spoken here");
		return false;
	}
	if (m->session)
		m->capabilities =
		    th_json_get(th_json_root(m->session->initialized), "capabilities");
	return true;
}

static void handle(struct th_mcp *m)
{
	const struct th_json *meta = th_json_get(m->params, "_meta"), *token;
	struct th_str version = th_http_header(m->access->request, "mcp-protocol-version");

	token = th_json_get(meta, "progressToken");
	if (token)
		m->progress = th_json_text(token, &m->memory);
	if (m->progress.len > TH_RPC_ID_MAX) /* it is told nothing, which is allowed */
		m->progress = none;
	m->modern = th_str_is(version, TH_MCP_MODERN) ||
		    th_json_get_str(meta, TH_MCP_META "protocolVersion").len > 0;
	if (!(m->modern ? check_modern(m) : check_legacy(m)))
		return;
	if (m->modern) {
		if (!th_mcp_read_inputs(m))
			return;
	}
	th_mcp_dispatch(m);
}

static void again(void *ctx)
{
	struct th_mcp *m = ctx;

	if (m->again)
		m->again(m);
	else if (m->tool || m->prompt)
		th_mcp_again(m);
	else
		th_mcp_dispatch(m);
}

void th_mcp_about(struct th_mcp *m, const char *session, void (*fn)(struct th_mcp *m))
{
	if (session != m->about)
		snprintf(m->about, sizeof(m->about), "%s", session);
	th_needs_forget(&m->needs);
	m->again = fn;
	fn(m);
}

/* By its header alone, as sessions are looked for. */
static bool is_modern(const struct th_access *a)
{
	return th_str_is(th_http_header(a->request, "mcp-protocol-version"), TH_MCP_MODERN);
}

static bool is_id(struct th_str raw)
{
	return raw.len > 0 && raw.ptr[0] != '{' && raw.ptr[0] != '[' && !th_str_is(raw, "null");
}

/* A notification, or an answer to what we asked. */
static void take_note(struct th_access *a, struct th_mcp_session *s, const struct th_json *v)
{
	th_access_empty(a, 202);
	if (s && !th_json_get_str(v, "method").len)
		(void)th_mcp_answered(s, v);
}

static_assert(TH_RPC_ID_MAX == 1024, "the sentence says so");

/* Not even its id is known. */
static void refuse(struct th_access *a, int code, const char *why)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

	th_rpc_print_error(none, code, th_str_of(why), none, &json);
	th_access_json(a, 400, &json);
}

static void take_message(struct th_access *a, const struct th_mcp_kit *kit,
			 struct th_mcp_session *session, struct th_json_doc *doc)
{
	struct th_str id = th_json_raw_get(th_http_body(a->request), "id");
	const struct th_json *v = th_json_root(doc);
	struct th_mcp *m;

	if (th_str_is(th_json_get_str(v, "jsonrpc"), "2.0") &&
	    (!is_id(id) || !th_json_get_str(v, "method").len)) {
		take_note(a, session, v);
		th_json_free(doc);
		return;
	}
	if (id.len > TH_RPC_ID_MAX) { /* each answer and notice would say it again */
		refuse(a, TH_MCP_REQUEST, "an id has at most 1024 bytes");
		th_json_free(doc);
		return;
	}
	m = th_alloc(sizeof(*m));
	*m = (struct th_mcp){ .access = a,
			      .kit = kit,
			      .session = session,
			      .doc = doc,
			      .params = th_json_get(v, "params"),
			      .method = th_json_get_str(v, "method"),
			      .id = is_id(id) ? copy(id) : NULL };
	m->needs = (struct th_needs){ .server = a->server, .again = again, .ctx = m };
	th_arena_init(&m->memory, TH_SERVE_JSON_MAX);
	if (!session && !is_modern(a))
		m->session = session = th_mcp_session_guest(a, kit);
	if (session) {
		m->next = session->requests;
		session->requests = m;
	}
	a->ctx = m;
	a->gone = on_gone;
	a->reads = true;
	if (!th_str_is(th_json_get_str(v, "jsonrpc"), "2.0"))
		th_mcp_fault(m, 400, TH_MCP_REQUEST, none, "this is no request of JSON-RPC 2.0");
	else
		handle(m);
}

static bool takes(struct th_str accept, const char *type)
{
	return th_str_find(accept, th_str_of(type)) >= 0 || th_str_find(accept, TH_STR("*/*")) >= 0;
}

static void post(struct th_access *a, const struct th_mcp_kit *kit, struct th_mcp_session *session)
{
	struct th_str accept = th_http_header(a->request, "accept");
	struct th_json_doc *doc = NULL;
	struct th_err err = {};

	if (!kit->any_accept &&
	    (!takes(accept, "application/json") || !takes(accept, "text/event-stream"))) {
		th_access_fail(a, 406, NULL,
			       "Accept must have application/json and "
			       "text/event-stream");
		return;
	}
	if (th_json_parse(th_http_body(a->request), &doc, &err) != TH_OK) {
		refuse(a, TH_MCP_PARSE, err.msg);
		return;
	}
	take_message(a, kit, session, doc);
}

void th_mcp_serve(struct th_access *a, const struct th_mcp_kit *kit)
{
	struct th_str method = th_http_method(a->request);
	struct th_mcp_session *session;

	/* 2026-07-28 has no sessions. */
	if (is_modern(a))
		session = NULL;
	else if (!th_mcp_session_find(a, kit, &session))
		return;
	if (th_str_is(method, "POST")) {
		post(a, kit, session);
	} else if (!session) {
		th_access_fail_method(a, "POST",
				      "/mcp takes POST; %.*s is for a session that has begun",
				      TH_FMT(method));
	} else if (th_str_is(method, "DELETE")) {
		th_mcp_session_end(a->server, session);
		th_access_empty(a, 200);
	} else {
		th_mcp_session_listen(a, session);
	}
}
