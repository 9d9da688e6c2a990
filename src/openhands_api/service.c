/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - the API of OpenHands' agent-server: its listener, its routes, and what is not there.
 */
#include <stdlib.h>

#include "openhands_api/internal.h"

/* ---- the server itself ---- */

static void get_health(struct th_access *a)
{
	th_access_text(a, 200, "application/json", TH_STR("{\"status\":\"ok\"}"));
}

static void get_ready(struct th_access *a)
{
	th_access_text(a, 200, "application/json", TH_STR("{\"status\":\"ready\"}"));
}

static void get_server_info(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_kstr(&w, "title", TH_STR("thole"));
	th_jw_kstr(&w, "version", th_str_of(thole_version()));
	th_jw_kint(&w, "uptime",
		   (int64_t)((th_loop_now_ms(a->server->loop) - a->server->started_ms) / 1000));
	th_jw_kint(&w, "idle_time", 0);
	th_jw_kraw(&w, "usable_tools", TH_STR("[]"));
	th_jw_kstr(&w, "conversation_runtime", TH_STR("local"));
	th_jw_kraw(&w, "capabilities", TH_STR("[\"idempotent_conversation_create_v1\"]"));
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

/* ---- what is not there ---- */

#define RUNTIME "a conversation's runtime is this server, which stays"

/* Of OpenHands' routes; the first that fits. */
static const struct {
	const char *within, *why;
} missing[] = {
	{ "/navigate", "a log goes on and never back; a fork can begin at an event" },
	{ "/conversations/count", "conversations are listed, and not counted" },
	{ "/switch_", "the model of a conversation stays" },
	{ "/load_plugin", "plugins are not loaded" },
	{ "/sockets/bash-events", "there is no WebSocket of commands: their events are asked for" },
	{ "/sockets/session", "a conversation's events are at /sockets/events/{id}" },
	{ "/bash", "commands are begun, waited for, listed and stopped, and that is all" },
	{ "/file", "files are uploaded and downloaded, one at a time" },
	{ "/git", "changes of a repository and of a file are shown, and that is all" },
	{ "/settings", "there are no settings of a client: agents are files of this server" },
	{ "profiles", "profiles are this server's agents, which are files" },
	{ "/workspace/", "a file of a conversation's folder is given by …/file/download" },
	{ "/workspace", "each conversation has a folder of its own" },
	{ "/hooks", "hooks stand in the agent file (docs/HOOKS.md)" },
	{ "/skills", "skills stand in the agent file (docs/SKILLS.md)" },
	{ "/plugins", "plugins are not loaded" },
	{ "/mcp", "MCP servers stand in the agent file (docs/MCP.md)" },
	{ "/tools", "tools stand in the agent file (docs/TOOLS.md)" },
	{ "/llm", "models stand in the models file (docs/MODELS.md)" },
	{ "/vscode", "there is no editor in this server" },
	{ "/children", "a conversation has no parent here; sub-agents stand in the agent file" },
	{ "/runtime/credentials", "a token of `thole token` is the key of all conversations" },
	{ "/runtime", RUNTIME },
	{ "/credential-bindings", "secrets are given to a conversation: POST …/secrets" },
	{ "/acp", "an agent of another program stands in the agent file (docs/ACP.md)" },
	{ "/canvas-extensions", "there are no extensions" },
	{ "/app-backends", "there are no extensions" },
	{ "/sub-agents", "sub-agents stand in the agent file (docs/AGENTS.md)" },
	{ "/init", "this server has begun when it listens" },
	{ "/prepare-for-sandbox-pause", "there is no sandbox around this server" },
	{ "/auth", "each request has a token; there is no cookie" },
	{ "/events", "events are asked for in pages (…/events/search), or one by its id" },
};

static void other(struct th_access *a)
{
	struct th_str path = th_http_path(a->request);

	if (th_str_starts(path, TH_STR("/api/")) || th_str_starts(path, TH_STR("/sockets/")) ||
	    th_str_starts(path, TH_STR("/app-backends/")))
		for (size_t i = 0; i < TH_COUNT(missing); i++)
			if (th_str_find(path, th_str_of(missing[i].within)) >= 0) {
				th_access_fail(a, 501, NULL, "%s", missing[i].why);
				return;
			}
	if (th_str_starts(path, TH_STR("/v1/"))) {
		th_access_fail(
		    a, 501, NULL,
		    "that API is at thole's own address (docs/HTTP.md), not at this one");
		return;
	}
	th_access_fail(a, 404, NULL, "there is no such path; docs/OPENHANDS.md lists them");
}

/* To a client there was none to be released. */
static void no_runtime(struct th_access *a)
{
	th_access_fail(a, 404, NULL, "%s", RUNTIME);
}

/* ---- routes ---- */

#define ONE TH_OH_ONE
#define BODY TH_SERVE_JSON_MAX
#define SMALL TH_SERVE_SMALL_MAX
#define UPLOAD (TH_SERVE_OPENHANDS_UPLOAD_MAX + 64 * TH_KIB)
#define FORM "multipart/form-data"

// clang-format off
static const struct th_route door_routes[] = {
	{ "GET", "/", 0, get_server_info, 0, NULL, NULL, NULL },
	{ "GET", "/health", 0, get_health, 0, NULL, NULL, NULL },
	{ "GET", "/alive", 0, get_health, 0, NULL, NULL, NULL },
	{ "GET", "/ready", 0, get_ready, 0, NULL, NULL, NULL },
	{ "GET", "/server_info", 0, get_server_info, 0, NULL, NULL, NULL },
	{ "POST", "/api/conversations", TH_SCOPE_RUN, th_oh_begin, BODY, NULL, NULL, NULL },
	{ "GET", "/api/conversations/search", TH_SCOPE_READ, th_oh_search, 0, NULL, NULL, NULL },
	{ "GET", "/api/conversations", TH_SCOPE_READ, th_oh_batch, 0, NULL, NULL, NULL },
	{ "GET", "/api/conversations/count", TH_SCOPE_READ, other, 0, NULL, NULL, NULL },
	{ "POST", "/api/conversations/prepare-for-sandbox-pause", TH_SCOPE_RUN, other, SMALL, NULL, NULL, NULL },
	{ "GET", ONE, TH_SCOPE_READ, th_oh_get, 0, NULL, NULL, NULL },
	{ "PATCH", ONE, TH_SCOPE_RUN, th_oh_change, SMALL, NULL, NULL, NULL },
	{ "DELETE", ONE, TH_SCOPE_RUN, th_oh_delete, 0, NULL, NULL, NULL },
	{ "GET", ONE "/events/search", TH_SCOPE_READ, th_oh_events, 0, NULL, NULL, NULL },
	{ "GET", ONE "/events/count", TH_SCOPE_READ, th_oh_events_count, 0, NULL, NULL, NULL },
	{ "GET", ONE "/events/{event}", TH_SCOPE_READ, th_oh_event, 0, NULL, NULL, NULL },
	{ "GET", ONE "/events", TH_SCOPE_READ, other, 0, NULL, NULL, NULL },
	{ "POST", ONE "/events", TH_SCOPE_RUN, th_oh_message, BODY, NULL, NULL, NULL },
	{ "POST", ONE "/events/respond_to_confirmation", TH_SCOPE_APPROVE, th_oh_respond, SMALL, NULL, NULL, NULL },
	{ "GET", ONE "/agent_final_response", TH_SCOPE_READ, th_oh_final, 0, NULL, NULL, NULL },
	{ "POST", ONE "/run", TH_SCOPE_RUN, th_oh_post_run, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/pause", TH_SCOPE_RUN, th_oh_pause, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/interrupt", TH_SCOPE_RUN, th_oh_interrupt, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/confirmation_policy", TH_SCOPE_APPROVE, th_oh_policy, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/security_analyzer", TH_SCOPE_APPROVE, th_oh_analyzer, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/goal", TH_SCOPE_RUN, th_oh_goal, 4 * SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/goal/stop", TH_SCOPE_RUN, th_oh_goal_stop, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/goal/resume", TH_SCOPE_RUN, th_oh_goal_resume, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/condense", TH_SCOPE_RUN, th_oh_condense, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/ask_agent", TH_SCOPE_RUN, th_oh_ask, 4 * SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/secrets", TH_SCOPE_RUN, th_oh_secrets, BODY, NULL, NULL, NULL },
	{ "POST", ONE "/fork", TH_SCOPE_RUN, th_oh_fork, SMALL, NULL, NULL, NULL },
	{ "GET", ONE "/runtime", TH_SCOPE_READ, th_oh_runtime, 0, NULL, NULL, NULL },
	{ "DELETE", ONE "/runtime", TH_SCOPE_RUN, no_runtime, 0, NULL, NULL, NULL },
	{ "POST", ONE "/runtime/reprovision", TH_SCOPE_RUN, th_oh_runtime, SMALL, NULL, NULL, NULL },
	{ "GET", "/api/settings", TH_SCOPE_READ, th_oh_settings, 0, NULL, NULL, NULL },
	{ "PATCH", "/api/settings", TH_SCOPE_RUN, other, BODY, NULL, NULL, NULL },
	{ "GET", "/api/settings/secrets", TH_SCOPE_READ, th_oh_no_secrets, 0, NULL, NULL, NULL },
	{ "PUT", "/api/settings/secrets", TH_SCOPE_RUN, other, SMALL, NULL, NULL, NULL },
	{ "GET", "/api/settings/secrets/{name}", TH_SCOPE_READ, th_oh_no_secret, 0, NULL, NULL, NULL },
	{ "DELETE", "/api/settings/secrets/{name}", TH_SCOPE_RUN, th_oh_no_secret, 0, NULL, NULL, NULL },
	{ "GET", "/api/profiles", TH_SCOPE_READ, th_oh_profiles, 0, NULL, NULL, NULL },
	{ "GET", "/api/profiles/{name}", TH_SCOPE_READ, th_oh_profile, 0, NULL, NULL, NULL },
	{ "POST", "/api/profiles/{name}", TH_SCOPE_RUN, other, BODY, NULL, NULL, NULL },
	{ "DELETE", "/api/profiles/{name}", TH_SCOPE_RUN, other, 0, NULL, NULL, NULL },
	{ "GET", "/sockets/events/{id}", 0, th_oh_socket, 0, NULL, NULL, NULL },
	{ "POST", "/api/bash/start_bash_command", TH_SCOPE_RUN, th_oh_bash_start, 4 * SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/bash/start_bash_command", TH_SCOPE_RUN, th_oh_bash_start, 4 * SMALL, NULL, NULL, NULL },
	{ "POST", "/api/bash/execute_bash_command", TH_SCOPE_RUN, th_oh_bash_execute, 4 * SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/bash/execute_bash_command", TH_SCOPE_RUN, th_oh_bash_execute, 4 * SMALL, NULL, NULL, NULL },
	{ "GET", "/api/bash/bash_events/search", TH_SCOPE_READ, th_oh_bash_search, 0, NULL, NULL, NULL },
	{ "GET", ONE "/bash/bash_events/search", TH_SCOPE_READ, th_oh_bash_search, 0, NULL, NULL, NULL },
	{ "GET", "/api/bash/bash_events/{event}", TH_SCOPE_READ, th_oh_bash_event, 0, NULL, NULL, NULL },
	{ "GET", ONE "/bash/bash_events/{event}", TH_SCOPE_READ, th_oh_bash_event, 0, NULL, NULL, NULL },
	{ "POST", "/api/bash/bash_commands/{command}/stop", TH_SCOPE_RUN, th_oh_bash_stop, SMALL, NULL, NULL, NULL },
	{ "POST", ONE "/bash/bash_commands/{command}/stop", TH_SCOPE_RUN, th_oh_bash_stop, SMALL, NULL, NULL, NULL },
	{ "POST", "/api/file/upload", TH_SCOPE_RUN, th_oh_upload, UPLOAD, FORM, NULL, NULL },
	{ "POST", ONE "/file/upload", TH_SCOPE_RUN, th_oh_upload, UPLOAD, FORM, NULL, NULL },
	{ "GET", "/api/file/download", TH_SCOPE_READ, th_oh_download, 0, NULL, NULL, NULL },
	{ "GET", ONE "/file/download", TH_SCOPE_READ, th_oh_download, 0, NULL, NULL, NULL },
	{ "GET", "/api/git/changes", TH_SCOPE_RUN, th_oh_git_changes, 0, NULL, NULL, NULL },
	{ "GET", ONE "/git/changes", TH_SCOPE_RUN, th_oh_git_changes, 0, NULL, NULL, NULL },
	{ "GET", "/api/git/diff", TH_SCOPE_RUN, th_oh_git_diff, 0, NULL, NULL, NULL },
	{ "GET", ONE "/git/diff", TH_SCOPE_RUN, th_oh_git_diff, 0, NULL, NULL, NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

/* In the conversation's folder, which is where its session runs. */
static bool is_work(struct th_str path)
{
	path = th_str_sub(path, sizeof(ONE) - 1, path.len);
	return th_str_starts(path, TH_STR("/bash/")) || th_str_starts(path, TH_STR("/file/")) ||
	       th_str_starts(path, TH_STR("/git/"));
}

/* What is only read is read out of the store, at any node. */
static bool session_of(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1])
{
	struct th_str path = th_str_of(a->route->path);
	struct th_uuid id;

	if (!th_str_starts(path, TH_STR(ONE)) ||
	    (strcmp(a->route->method, "GET") == 0 && !is_work(path)) ||
	    !th_uuid_parse(th_str_of(a->args[0]), &id))
		return false;
	th_uuid_text(&id, ret);
	return true;
}

static struct th_door *door(const struct th_server *s)
{
	return s->openhands ? &s->openhands->door : NULL;
}

/* ---- life ---- */

static enum th_code begin(struct th_server *s, struct th_err *err)
{
	struct th_oh *o;

	if (!s->o.openhands.len)
		return TH_OK;
	o = th_alloc(sizeof(*o));
	*o = (struct th_oh){ .server = s,
			     .door = { .server = s,
				       .service = &th_service_openhands,
				       .routes = door_routes,
				       .other = other } };
	s->openhands = o;
	return th_door_begin(&o->door, s->o.openhands, "--openhands", err);
}

static void print_place(const struct th_server *s, struct th_buf *out)
{
	if (!s->openhands)
		return;
	th_buf_add_cstr(out, "OpenHands' agent-server at ");
	th_door_print(&s->openhands->door, out);
	th_buf_add_char(out, '\n');
}

static void sweep(struct th_server *s)
{
	if (s->openhands)
		th_oh_held_sweep(s->openhands);
}

static void finish(struct th_server *s)
{
	if (!s->openhands)
		return;
	th_oh_sockets_finish(s->openhands);
	th_door_finish(&s->openhands->door);
}

static bool is_idle(const struct th_server *s)
{
	return !s->openhands || th_door_idle(&s->openhands->door);
}

static void end(struct th_server *s)
{
	struct th_oh *o = s->openhands;

	if (!o)
		return;
	th_oh_sockets_free(o);
	th_oh_acts_free(o);
	th_oh_questions_free(o);
	th_oh_commands_free(o);
	th_door_end(&o->door);
	th_oh_held_free(o);
	free(o);
	s->openhands = NULL;
}

const struct th_service th_service_openhands = {
	.name = "openhands",
	.doc = th_oh_doc,
	.session_of = session_of,
	.tools = th_oh_tools_again,
	.door = door,
	.begin = begin,
	.sweep = sweep,
	.finish = finish,
	.idle = is_idle,
	.free = end,
	.print_place = print_place,
};
