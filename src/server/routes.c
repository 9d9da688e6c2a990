/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - the table of what the server answers. */
#include <stdio.h>

#include "server/internal.h"
#include "server/response.h"

#define SMALL TH_SERVE_SMALL_MAX
#define BIG TH_SERVE_JSON_MAX

// clang-format off
const struct th_route th_routes[] = {
	{ "GET", "/", 0, th_page_index, 0, NULL, "the page for people: docs/PAGE.md", NULL },
	{ "GET", "/web/{file}", 0, th_page_get, 0, NULL, "its files", NULL },
	{ "GET", "/healthz", 0, th_api_health, 0, NULL, "the process answers", NULL },
	{ "GET", "/readyz", 0, th_api_ready, 0, NULL, "it takes requests, and its store takes events", NULL },
	{ "POST", "/api/login", 0, th_api_login, SMALL, NULL, "a browser's cookie for the code of a link, or for a token", &th_login_table },
	{ "POST", "/api/logout", TH_SCOPE_ALL, th_api_logout, SMALL, NULL, "ends the login of the cookie", NULL },
	{ "GET", "/api/me", TH_SCOPE_ALL, th_api_me, 0, NULL, "who asks: user, scopes, and of a cookie expires_ms", NULL },
	{ "GET", "/metrics", TH_SCOPE_ADMIN, th_api_metrics, 0, NULL, "figures for Prometheus", NULL },
	{ "GET", "/api/openapi.json", TH_SCOPE_READ, th_api_openapi, 0, NULL, "this table and its bodies as an OpenAPI 3.1 document", NULL },
	{ "GET", "/api/agents", TH_SCOPE_READ, th_api_agents, 0, NULL, "the agents that sessions can be begun with", NULL },
	{ "GET", "/api/sessions", TH_SCOPE_READ, th_api_sessions_list, 0, NULL, "a page of sessions, newest first: state, title, text, metadata, order, limit, after", NULL },
	{ "POST", "/api/sessions", TH_SCOPE_RUN, th_api_sessions_create, BIG, NULL, "begins a session: agent, message, id, metadata, limits; Idempotency-Key", &th_session_create_table },
	{ "POST", "/api/sessions/import", TH_SCOPE_ADMIN, th_api_import, TH_HTTP1_BODY_MAX, "application/x-ndjson", "takes in what export gave", NULL },
	{ "GET", "/api/sessions/{id}", TH_SCOPE_READ, th_api_session_get, 0, NULL, "one session", NULL },
	{ "PATCH", "/api/sessions/{id}", TH_SCOPE_RUN, th_api_session_change, BIG, NULL, "another title or other metadata", &th_session_change_table },
	{ "DELETE", "/api/sessions/{id}", TH_SCOPE_RUN, th_api_session_delete, 0, NULL, "deletes it for good, with those that work for it, and its folder; what it used stays", NULL },
	{ "GET", "/api/sessions/{id}/events", TH_SCOPE_READ, th_api_session_events, 0, NULL, "its events: a page, or with Accept: text/event-stream a stream; from, limit, deltas, until", NULL },
	{ "GET", "/api/sessions/{id}/items", TH_SCOPE_READ, th_api_session_items, 0, NULL, "its history as items; first, count", NULL },
	{ "GET", "/api/sessions/{id}/blobs/{hash}", TH_SCOPE_READ, th_api_session_blob, 0, NULL, "a picture that one of its events names", NULL },
	{ "GET", "/api/sessions/{id}/export", TH_SCOPE_READ, th_api_session_export, 0, NULL, "the session with its log and pictures, as lines", NULL },
	{ "GET", "/api/sessions/{id}/files", TH_SCOPE_READ, th_api_session_files, 0, NULL, "what it changed in its folder: files added, changed and removed", NULL },
	{ "GET", "/api/sessions/{id}/files/diff", TH_SCOPE_READ, th_api_session_files_diff, 0, NULL, "one of them as a unified diff: path", NULL },
	{ "GET", "/api/sessions/{id}/files/content", TH_SCOPE_READ, th_api_session_files_get, 0, NULL, "a file of the folder, to be saved: path", NULL },
	{ "GET", "/api/sessions/{id}/screen", TH_SCOPE_READ, th_api_session_screen, 0, NULL, "its desktop as it is drawn, over a WebSocket: format, quality, rate", NULL },
	{ "POST", "/api/sessions/{id}/messages", TH_SCOPE_RUN, th_api_session_message, BIG, NULL, "says something to it: text", &th_session_message_table },
	{ "POST", "/api/sessions/{id}/pause", TH_SCOPE_RUN, th_api_session_pause, SMALL, NULL, "holds it: reason", &th_session_pause_table },
	{ "POST", "/api/sessions/{id}/resume", TH_SCOPE_RUN, th_api_session_resume, SMALL, NULL, "lets it go on", NULL },
	{ "POST", "/api/sessions/{id}/cancel", TH_SCOPE_RUN, th_api_session_cancel, SMALL, NULL, "stops its task: when, now or after_turn", &th_session_cancel_table },
	{ "POST", "/api/sessions/{id}/fork", TH_SCOPE_RUN, th_api_session_fork, SMALL, NULL, "begins a session that shares its events: seq, id", &th_session_fork_table },
	{ "POST", "/api/sessions/{id}/approve", TH_SCOPE_APPROVE, th_api_session_approve, SMALL, NULL, "a call may run: call_id, always", &th_session_decision_table },
	{ "POST", "/api/sessions/{id}/reject", TH_SCOPE_APPROVE, th_api_session_reject, SMALL, NULL, "a call may not: call_id, message, always", &th_session_decision_table },
	{ "POST", "/api/sessions/{id}/settle", TH_SCOPE_APPROVE, th_api_session_settle, SMALL, NULL, "what became of a call: call_id, outcome, message", &th_session_decision_table },
	{ "GET", "/api/waiting", TH_SCOPE_READ, th_api_waiting, 0, NULL, "what waits for a person, in all sessions: limit, after", NULL },
	{ "GET", "/api/usage", TH_SCOPE_READ, th_api_usage, 0, NULL, "tokens and cost: by (day, user, agent, model, session), from, to, limit, after; user (scope admin; * is all)", NULL },
	{ "POST", "/mcp", TH_SCOPE_READ, th_mcp_request, TH_SERVE_JSON_MAX, NULL, "the same as an MCP server: tools to run agents and to follow them", NULL },
	{ "GET", "/mcp", TH_SCOPE_READ, th_mcp_request, 0, NULL, "of a session of MCP: what the server says unasked", NULL },
	{ "DELETE", "/mcp", TH_SCOPE_READ, th_mcp_request, 0, NULL, "ends a session of MCP", NULL },
	{ "GET", "/.well-known/agent-card.json", 0, th_a2a_card, 0, NULL, "what A2A clients read first: the agent default", NULL },
	{ "GET", "/a2a/{agent}/.well-known/agent-card.json", TH_SCOPE_READ, th_a2a_agent_card, 0, NULL, "the same of another agent", NULL },
	{ "POST", "/a2a/{agent}", TH_SCOPE_READ, th_a2a_post, TH_SERVE_JSON_MAX, NULL, "an agent for other agents: A2A 1.0 and 0.3, docs/A2A.md", NULL },
	{ "GET", "/v1/models", TH_SCOPE_READ, th_v1_models, 0, NULL, "the agents, and the models that may be named", NULL },
	{ "GET", "/v1/models/{id}", TH_SCOPE_READ, th_v1_model, 0, NULL, "one of them", NULL },
	{ "POST", "/v1/responses", TH_SCOPE_RUN, th_v1_responses_create, TH_HTTP1_BODY_MAX, NULL, "OpenAI's Responses API: runs an agent", NULL },
	{ "GET", "/v1/responses", TH_SCOPE_RUN, th_v1_responses_socket, 0, NULL, "the same over a WebSocket", NULL },
	{ "POST", "/v1/responses/input_tokens", TH_SCOPE_READ, th_v1_responses_tokens, TH_HTTP1_BODY_MAX, NULL, "about how many tokens a request has", NULL },
	{ "POST", "/v1/responses/compact", TH_SCOPE_RUN, th_v1_responses_compact, TH_HTTP1_BODY_MAX, NULL, "a conversation as one item, to begin another with", NULL },
	{ "GET", "/v1/responses/{id}", TH_SCOPE_READ, th_v1_responses_get, 0, NULL, "a response; stream, starting_after", NULL },
	{ "DELETE", "/v1/responses/{id}", TH_SCOPE_RUN, th_v1_responses_delete, 0, NULL, "deletes it, and its session where it is all of that", NULL },
	{ "POST", "/v1/responses/{id}/cancel", TH_SCOPE_RUN, th_v1_responses_cancel, SMALL, NULL, "stops one that runs in the background", NULL },
	{ "GET", "/v1/responses/{id}/input_items", TH_SCOPE_READ, th_v1_responses_items, 0, NULL, "what it was asked with: limit, order, after", NULL },
	{ "POST", "/v1/conversations", TH_SCOPE_RUN, th_v1_conversations_create, TH_HTTP1_BODY_MAX, NULL, "begins a conversation: items, metadata", NULL },
	{ "GET", "/v1/conversations/{id}", TH_SCOPE_READ, th_v1_conversation_get, 0, NULL, "one conversation", NULL },
	{ "POST", "/v1/conversations/{id}", TH_SCOPE_RUN, th_v1_conversation_update, SMALL, NULL, "gives it other metadata", NULL },
	{ "DELETE", "/v1/conversations/{id}", TH_SCOPE_RUN, th_v1_conversation_delete, 0, NULL, "deletes it, and all of its sessions", NULL },
	{ "GET", "/v1/conversations/{id}/items", TH_SCOPE_READ, th_v1_conversation_items, 0, NULL, "what was said in it: limit, order, after", NULL },
	{ "POST", "/v1/conversations/{id}/items", TH_SCOPE_RUN, th_v1_conversation_items_add, TH_HTTP1_BODY_MAX, NULL, "puts items at its end, and asks nothing: items", NULL },
	{ "GET", "/v1/conversations/{id}/items/{item}", TH_SCOPE_READ, th_v1_conversation_item, 0, NULL, "one item", NULL },
	{ "DELETE", "/v1/conversations/{id}/items/{item}", TH_SCOPE_RUN, th_v1_conversation_item_delete, 0, NULL, "takes one item out of what is gone on from", NULL },
	{ "POST", "/v1/chat/completions", TH_SCOPE_RUN, th_v1_chat, TH_HTTP1_BODY_MAX, NULL, "OpenAI's Chat Completions API, each request for itself", NULL },
	{ "POST", "/v1/messages/count_tokens", TH_SCOPE_READ, th_v1_messages_tokens, TH_HTTP1_BODY_MAX, NULL, "about how many tokens a request has", NULL },
	{ "POST", "/v1/messages", TH_SCOPE_RUN, th_v1_messages, TH_HTTP1_BODY_MAX, NULL, "Anthropic's Messages API, each request for itself", NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

/* One word of the path beside one of the route; an argument is decoded into `to`. */
static bool word_fits(struct th_str pattern, struct th_str word, char *to, size_t size)
{
	struct th_buf plain TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(4 * TH_KIB);

	if (!pattern.len || pattern.ptr[0] != '{')
		return th_str_eq(pattern, word);
	if (!word.len || !th_percent_decode(word, &plain) || plain.len >= size)
		return false;
	memcpy(to, plain.ptr, plain.len + 1);
	return true;
}

static bool fits(const struct th_route *route, struct th_str path, struct th_access *a)
{
	struct th_str pattern = th_str_of(route->path);
	size_t count = 0;

	while (pattern.len && path.len) {
		struct th_str want = th_str_split(&pattern, '/');
		bool argument = want.len > 0 && want.ptr[0] == '{';

		if (!word_fits(want, th_str_split(&path, '/'), a->args[count],
			       sizeof(a->args[count])))
			return false;
		count += argument;
	}
	return !pattern.len && !path.len;
}

bool th_route_find(struct th_access *a)
{
	struct th_str path = th_http_path(a->request), method = th_http_method(a->request);
	const struct th_route *near = NULL;

	if (path.len > 1 && path.ptr[path.len - 1] == '/')
		path.len = 0; /* no route ends so */
	for (const struct th_route *r = th_routes; r->path; r++) {
		bool same = th_str_is(method, r->method) ||
			    (th_str_is(method, "HEAD") && strcmp(r->method, "GET") == 0);

		/* A word of a path goes before an argument: the table has it first. */
		if ((near && !same) || !fits(r, path, a))
			continue;
		near = r;
		if (same) {
			a->route = r;
			return true;
		}
	}
	/* Who has no token learns nothing of what is there. */
	if (!th_guard_caller(a))
		return false;
	if (near)
		th_access_fail(a, 405, NULL, "%s takes %s", near->path, near->method);
	else
		th_access_fail(a, 404, NULL, "there is no such path; docs/HTTP.md lists them");
	return false;
}
