/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - /api: sessions for programs and people, and the page that shows them. */
#include "server/files.h"
#include "sessions_api/internal.h"

#define SMALL TH_SERVE_SMALL_MAX
#define BIG TH_SERVE_JSON_MAX

// clang-format off
static const struct th_route routes[] = {
	{ "GET", "/", 0, th_page_index, 0, NULL, "the page for people: docs/PAGE.md", NULL },
	{ "GET", "/web/{file}", 0, th_page_get, 0, NULL, "its files", NULL },
	{ "GET", "/api/sessions", TH_SCOPE_READ, th_api_sessions_list, 0, NULL, "a page of sessions, newest first: state, agent, title, text, metadata, order, limit, after; user (scope admin; * is all)", NULL },
	{ "POST", "/api/sessions", TH_SCOPE_RUN, th_api_sessions_create, BIG, NULL, "begins a session: agent, message, goal, start_at, id, metadata, limits; Idempotency-Key", &th_session_create_table },
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
	{ "GET", "/api/sessions/{id}/terminal", TH_SCOPE_READ, th_api_session_terminal, 0, NULL, "the terminal of its shell, over a WebSocket: rate", NULL },
	{ "POST", "/api/sessions/{id}/messages", TH_SCOPE_RUN, th_api_session_message, BIG, NULL, "says something to it: text, plan, goal, rounds", &th_session_message_table },
	{ "POST", "/api/sessions/{id}/act", TH_SCOPE_RUN, th_api_session_act, BIG, NULL, "ends plan mode, and the agent does what it planned: note", &th_session_act_table },
	{ "POST", "/api/sessions/{id}/goal/end", TH_SCOPE_RUN, th_api_session_goal_end, SMALL, NULL, "ends its goal; what is under way goes on without it", NULL },
	{ "POST", "/api/sessions/{id}/goal/resume", TH_SCOPE_RUN, th_api_session_goal_resume, SMALL, NULL, "goes on with the goal that was ended before it was reached", NULL },
	{ "POST", "/api/sessions/{id}/condense", TH_SCOPE_RUN, th_api_session_condense, SMALL, NULL, "its history is condensed before the next turn", NULL },
	{ "POST", "/api/sessions/{id}/pause", TH_SCOPE_RUN, th_api_session_pause, SMALL, NULL, "holds it: reason", &th_session_pause_table },
	{ "POST", "/api/sessions/{id}/resume", TH_SCOPE_RUN, th_api_session_resume, SMALL, NULL, "lets it go on: more, beyond its limits", &th_session_resume_table },
	{ "POST", "/api/sessions/{id}/cancel", TH_SCOPE_RUN, th_api_session_cancel, SMALL, NULL, "stops its task: when, now or after_turn", &th_session_cancel_table },
	{ "POST", "/api/sessions/{id}/fork", TH_SCOPE_RUN, th_api_session_fork, SMALL, NULL, "begins a session that shares its events: seq, id", &th_session_fork_table },
	{ "POST", "/api/sessions/{id}/approve", TH_SCOPE_APPROVE, th_api_session_approve, SMALL, NULL, "a call may run: call_id, always", &th_session_decision_table },
	{ "POST", "/api/sessions/{id}/answer", TH_SCOPE_APPROVE, th_api_session_answer, BIG, NULL, "answers a question of the agent: call_id, answer", &th_session_answer_table },
	{ "POST", "/api/sessions/{id}/reject", TH_SCOPE_APPROVE, th_api_session_reject, SMALL, NULL, "a call may not: call_id, message, always", &th_session_decision_table },
	{ "POST", "/api/sessions/{id}/settle", TH_SCOPE_APPROVE, th_api_session_settle, SMALL, NULL, "what became of a call: call_id, outcome, message", &th_session_decision_table },
	{ "GET", "/api/waiting", TH_SCOPE_READ, th_api_waiting, 0, NULL, "what waits for a person, in all sessions: limit, after", NULL },
	{ "GET", "/api/usage", TH_SCOPE_READ, th_api_usage, 0, NULL, "tokens, cost and time: by (day, user, agent, model, session), from, to, limit, after; user (scope admin; * is all)", NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

static bool session_of(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1])
{
	if (!th_str_starts(th_str_of(a->route->path), TH_STR("/api/sessions/{id}")))
		return false;
	memcpy(ret, a->args[0], sizeof(a->args[0]));
	return true;
}

static void end(struct th_server *s)
{
	th_viewers_free(s);
	th_holds_free(s);
	th_files_jobs_drop(s);
}

const struct th_service th_service_sessions = {
	.name = "sessions",
	.routes = routes,
	.doc = th_sessions_doc,
	.session_of = session_of,
	.sweep = th_holds_sweep,
	.finish = th_viewers_finish,
	.free = end,
};
