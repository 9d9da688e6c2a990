/* SPDX-License-Identifier: Apache-2.0 */
/* tools.c - the tools of thole's MCP server, and its kit. */
#include <stdlib.h>

#include "io/clock.h"
#include "mcp_server/kit.h"

#define WAIT_S_DEFAULT 60

// clang-format off
#define TH_FIELDS_mcp_run(F)                                                                     \
	F(mcp_run, str, agent, "agent", TH_NONEMPTY, "name of an agent (list_agents); default: default") \
	F(mcp_run, str, message, "message", TH_REQ | TH_NONEMPTY, "the task")                      \
	F(mcp_run, int, wait_seconds, "wait_seconds", TH_NONEG, "how long the answer is waited for; default 60; 0: it is not")
#define TH_FIELDS_mcp_named(F)                                                                 \
	F(mcp_named, str, session_id, "session_id", TH_REQ | TH_NONEMPTY, "the session")         \
	F(mcp_named, str, message, "message", TH_NONEMPTY, "message_session: what is said to it") \
	F(mcp_named, int, wait_seconds, "wait_seconds", TH_NONEG, "how long it is waited for until it rests; default: message_session 60, else 0")
#define TH_FIELDS_mcp_events(F)                                                                  \
	F(mcp_events, str, session_id, "session_id", TH_REQ | TH_NONEMPTY, "the session")          \
	F(mcp_events, int, from, "from", TH_POSITIVE, "number of the first event; default: 1")     \
	F(mcp_events, int, limit, "limit", TH_POSITIVE, "at most so many; default: 50")
// clang-format on
struct th_mcp_none {
	char unused;
};
TH_STRUCT(mcp_run)
TH_STRUCT(mcp_named)
TH_STRUCT(mcp_events)
static const struct th_table none_table = {
	"mcp_none", "nothing", NULL, 0, sizeof(struct th_mcp_none), false
};
// clang-format off
TH_TABLE(mcp_run, "a run", false)
TH_TABLE(mcp_named, "a session", false)
TH_TABLE(mcp_events, "events", false)
// clang-format on

static void call_agents(struct th_mcp *m, const void *arguments)
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
	th_mcp_json(m, th_buf_str(&out));
}

/* False: it was answered, or the tool is called again. */
static bool has_room(struct th_mcp *m)
{
	struct th_refusal r;
	enum th_room room = th_quota_room(&m->needs, m->access->user, m->access->priority, &r);

	if (room == TH_ROOM_NO)
		th_mcp_text(m, th_str_of(r.why.msg), true);
	return room == TH_ROOM_YES;
}

/* A session's name.  False: it was answered. */
static bool is_name(struct th_mcp *m, struct th_str name, char id[static TH_SESSION_ID_MAX + 1])
{
	if (!th_session_name(name, id)) {
		th_mcp_text(m, TH_STR("no session has such a name"), true);
		return false;
	}
	return true;
}

/* The session is the caller's.  False: it was answered, or the tool is called again. */
static bool is_mine(struct th_mcp *m, struct th_str name, char id[static TH_SESSION_ID_MAX + 1])
{
	const struct th_found *row;

	if (!is_name(m, name, id))
		return false;
	row = th_need_session(&m->needs, id, m->access->user);
	if (!row)
		return false;
	if (row->err) {
		th_mcp_error(m, row->err);
		return false;
	}
	return true;
}

/* And it is open here.  NULL: the same. */
static struct th_hub *open_mine(struct th_mcp *m, struct th_str name,
				char id[static TH_SESSION_ID_MAX + 1])
{
	const struct th_found *open;

	if (!is_name(m, name, id))
		return NULL;
	open = th_need_open(&m->needs, id, m->access->user, true);
	if (!open)
		return NULL;
	if (open->err) {
		th_mcp_error(m, open->err);
		return NULL;
	}
	return th_hub_find(m->access->server, id);
}

/* The second time that a call is made: with a person's words about what waits.  False: it is the
 * first. */
static bool goes_on(struct th_mcp *m)
{
	struct th_str state = th_str_of(th_mcp_state(m));
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	struct th_hub *h;

	if (!state.len)
		return false;
	h = open_mine(m, state, id);
	if (!h)
		return true;
	if (!th_mcp_decide(m, h, &err)) {
		th_mcp_error(m, &err);
		return true;
	}
	h->rested_ms = 0;
	th_server_kick(h->server);
	if (thole_session_state(h->session) != THOLE_RUNNING)
		th_mcp_session_answer(m, id); /* he has not decided */
	else
		th_mcp_wait(m, h, WAIT_S_DEFAULT, false);
	return true;
}

static void call_run(struct th_mcp *m, const void *arguments)
{
	const struct th_mcp_run *r = arguments;
	struct th_server *s = m->access->server;
	const struct th_served_agent *from =
	    th_served_find(&s->agents, r->agent.len ? r->agent : TH_STR("default"));
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	struct th_uuid made = th_uuid_now();
	char id[TH_UUID_TEXT_SIZE + 1], *workspace = NULL;
	const char *options[] = { "id",    id,    "user",     m->access->user,
				  "fresh", "yes", "priority", th_priority_name(m->access->priority),
				  NULL };
	struct thole_session *session = NULL;
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code;

	if (goes_on(m))
		return;
	th_arena_init(&memory, TH_SERVE_JSON_MAX);
	if (!has_room(m))
		return;
	if (!from) {
		th_mcp_text(m, TH_STR("there is no agent of that name; list_agents names them"),
			    true);
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
		th_mcp_error(m, &err);
		return;
	}
	s->metrics.sessions_begun++;
	th_hub_adopt(th_hub_get(s, id, m->access->user), session);
	th_quota_begins(&m->needs, th_hub_find(s, id));
	th_mcp_wait(m, th_hub_find(s, id),
		    th_json_get(m->params, "arguments") &&
			    th_json_get(th_json_get(m->params, "arguments"), "wait_seconds")
			? r->wait_seconds
			: WAIT_S_DEFAULT,
		    true);
}

static void call_get(struct th_mcp *m, const void *arguments)
{
	const struct th_mcp_named *s = arguments;
	char id[TH_SESSION_ID_MAX + 1];
	struct th_hub *h;

	if (goes_on(m))
		return;
	h = open_mine(m, s->session_id, id); /* what it said last is in its log */
	if (!h)
		return;
	if (thole_session_state(h->session) == THOLE_WAITING && th_mcp_can_decide(m))
		th_mcp_ask_decisions(m, id);
	else if (!h->rested_ms && s->wait_seconds && th_hub_runs(h))
		th_mcp_wait(m, h, s->wait_seconds, false);
	else
		th_mcp_session_answer(m, id);
}

static void call_message(struct th_mcp *m, const void *arguments)
{
	const struct th_mcp_named *s = arguments;
	struct th_arena memory TH_CLEANUP(th_arena_deinit) = {};
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	struct th_hub *h;

	if (goes_on(m))
		return;
	th_arena_init(&memory, TH_SERVE_JSON_MAX);
	if (!s->message.len) {
		th_mcp_text(m, TH_STR("message is missing"), true);
		return;
	}
	h = open_mine(m, s->session_id, id);
	if (!h || (!th_hub_runs(h) && !has_room(m)))
		return;
	if (thole_session_message(h->session, th_arena_cstr(&memory, s->message) ?: "", &err)) {
		th_mcp_error(m, &err);
		return;
	}
	h->rested_ms = 0;
	th_quota_begins(&m->needs, h);
	m->access->server->metrics.messages++;
	th_mcp_wait(m, h, s->wait_seconds ? s->wait_seconds : WAIT_S_DEFAULT, false);
}

static void call_cancel(struct th_mcp *m, const void *arguments)
{
	const struct th_mcp_named *s = arguments;
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	struct th_hub *h;

	h = open_mine(m, s->session_id, id);
	if (!h)
		return;
	if (thole_session_cancel(h->session, THOLE_NOW, &err) != 0) {
		th_mcp_error(m, &err);
		return;
	}
	th_server_kick(m->access->server);
	th_mcp_session_answer(m, id);
}

static void answer_found(struct th_mcp *m, const struct th_found *found)
{
	if (found && found->err)
		th_mcp_error(m, found->err);
	else if (found)
		th_mcp_json(m, found->text);
}

static void call_list(struct th_mcp *m, const void *arguments)
{
	const char *options[] = { "user", m->access->user, "limit", "50", NULL };

	(void)arguments;
	answer_found(m, th_need_page(&m->needs, options));
}

static void call_waiting(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	answer_found(m, th_need_waiting(&m->needs, m->access->user, NULL, 0));
}

static void call_events(struct th_mcp *m, const void *arguments)
{
	const struct th_mcp_events *e = arguments;
	char id[TH_SESSION_ID_MAX + 1];

	if (is_mine(m, e->session_id, id))
		th_mcp_answer_events(m, id, (uint64_t)e->from, (size_t)e->limit);
}

// clang-format off
static const struct th_mcp_tool tools[] = {
	{ "list_agents", "List agents", "The agents that a session can be run with.",
	  &none_table, NULL, TH_SCOPE_READ, true, false, NULL, call_agents },
	{ "run_agent", "Run an agent", "Begins a session with a task, and waits for its answer. When that takes longer, the answer says so, and get_session follows it.",
	  &th_mcp_run_table, NULL, TH_SCOPE_RUN, false, true, NULL, call_run },
	{ "list_sessions", "List sessions", "Your newest sessions.",
	  &none_table, NULL, TH_SCOPE_READ, true, false, NULL, call_list },
	{ "get_session", "Look at a session", "Its state and what it said last. A session in state waiting waits for a person: who uses this client is asked in a form, where it has forms; else he decides elsewhere.",
	  &th_mcp_named_table, NULL, TH_SCOPE_READ, true, false, NULL, call_get },
	{ "message_session", "Say something to a session", "Goes on with it, and waits for its answer.",
	  &th_mcp_named_table, NULL, TH_SCOPE_RUN, false, true, NULL, call_message },
	{ "cancel_session", "Stop a session", "Stops its task.",
	  &th_mcp_named_table, NULL, TH_SCOPE_RUN, false, false, NULL, call_cancel },
	{ "session_events", "Read events", "What a session did, event by event.",
	  &th_mcp_events_table, NULL, TH_SCOPE_READ, true, false, NULL, call_events },
	{ "list_waiting", "List what waits", "Calls that wait for a person's decision.",
	  &none_table, NULL, TH_SCOPE_READ, true, false, NULL, call_waiting },
	{ "see_computer", "Look at your computer", "A picture of a desktop that is yours alone on the server. It starts with the first call, and ends when it was not used for ten minutes.",
	  &th_mcp_see_table, NULL, TH_SCOPE_RUN, true, false, th_mcp_computers_offered, th_mcp_call_see },
	{ "act_on_computer", "Act on your computer", "Does mouse and keyboard actions on that desktop, one after the other, and answers with a picture of it afterwards. Coordinates are pixels of the picture.",
	  &th_mcp_act_table, NULL, TH_SCOPE_RUN, false, false, th_mcp_computers_offered, th_mcp_call_act },
	{ NULL, NULL, NULL, NULL, NULL, 0, false, false, NULL, NULL },
};
// clang-format on

static const struct th_mcp_kit kit = {
	.name = "thole",
	.tools = tools,
	.resources = th_mcp_kit_resources,
	.templates = th_mcp_kit_templates,
	.read = th_mcp_kit_read,
	.watch = th_mcp_kit_watch,
	.known = th_mcp_kit_known,
	.task = th_mcp_kit_task,
	.task_cancel = th_mcp_kit_task_cancel,
	.task_input = th_mcp_kit_task_input,
};

void th_mcp_request(struct th_access *a)
{
	th_mcp_serve(a, &kit);
}
