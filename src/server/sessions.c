/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c - /api: sessions, begun and led by programs and people. */
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "io/clock.h"
#include "server/internal.h"

/* ---- bodies ---- */

// clang-format off
#define TH_FIELDS_session_create(F)                                                              \
	F(session_create, str, agent, "agent", TH_NONEMPTY, "name of an agent; default: default")  \
	F(session_create, str, message, "message", TH_NONEMPTY, "what begins the task; without, it waits for one") \
	F(session_create, str, id, "id", TH_NONEMPTY, "its name; default: a new UUID")             \
	F(session_create, raw, metadata, "metadata", 0, "an object of the caller's")               \
	F(session_create, raw, limits, "limits", 0, "as an agent file's; the lower of both holds")
#define TH_FIELDS_session_message(F) \
	F(session_message, str, text, "text", TH_REQ | TH_NONEMPTY, "what is said")
#define TH_FIELDS_session_pause(F) \
	F(session_pause, str, reason, "reason", TH_NONEMPTY, "why; default: paused by the user")
#define TH_FIELDS_session_cancel(F) \
	F(session_cancel, str, when, "when", TH_NONEMPTY, "now (default), or after_turn")
#define TH_FIELDS_session_fork(F)                                                                \
	F(session_fork, int, seq, "seq", TH_POSITIVE, "the last event that it shares; default: all") \
	F(session_fork, str, id, "id", TH_NONEMPTY, "the new session's name; default: a new UUID")
#define TH_FIELDS_session_change(F)                                                              \
	F(session_change, str, title, "title", TH_NONEMPTY, "one line, at most 80 characters") \
	F(session_change, raw, metadata, "metadata", 0, "all of it, an object; its members thole_… stay")
#define TH_FIELDS_session_decision(F)                                                            \
	F(session_decision, str, call_id, "call_id", TH_NONEMPTY, "the call; default: the first that waits") \
	F(session_decision, bool, always, "always", 0, "and so with every later call of this tool") \
	F(session_decision, str, message, "message", 0, "told to the model when rejected or settled") \
	F(session_decision, str, outcome, "outcome", TH_NONEMPTY, "settle: done, not_started or unknown")
// clang-format on
TH_STRUCT(session_create)
TH_STRUCT(session_message)
TH_STRUCT(session_pause)
TH_STRUCT(session_cancel)
TH_STRUCT(session_fork)
TH_STRUCT(session_change)
TH_STRUCT(session_decision)
// clang-format off
TH_TABLE(session_create, "a new session", false)
TH_TABLE(session_message, "a message", false)
TH_TABLE(session_pause, "a pause", false)
TH_TABLE(session_cancel, "a stop", false)
TH_TABLE(session_fork, "a fork", false)
TH_TABLE(session_change, "a change of a session", false)
TH_TABLE(session_decision, "a person's word", false)
// clang-format on

struct body {
	struct th_json_doc *doc;
	struct th_arena memory;
};

static void body_deinit(struct body *b)
{
	th_json_free(b->doc);
	th_arena_deinit(&b->memory);
}

/* The request's body by its table; no body is an empty object.  False: it was answered. */
static bool body_read(struct th_access *a, const struct th_table *t, struct body *b, void *out)
{
	struct th_str text = th_http_body(a->request);
	struct th_err err = {};
	enum th_code code;

	th_arena_init(&b->memory, 2 * TH_SERVE_JSON_MAX);
	b->doc = NULL;
	if (!text.len)
		code = th_json_parse(TH_STR("{}"), &b->doc, &err);
	else
		code = th_json_parse(text, &b->doc, &err);
	if (!code)
		code = th_table_parse(t, th_json_root(b->doc), &b->memory, out, &err);
	if (code)
		th_access_fail(a, 400, "invalid_body", "%s", err.msg);
	return !code;
}

static const char *text_of(struct body *b, struct th_str s)
{
	return s.len ? th_arena_cstr(&b->memory, s) : NULL;
}

/* ---- whose it is ---- */

bool th_session_mine(struct th_access *a, char **ret_row)
{
	struct thole_error err;
	char *row = NULL;

	if (thole_runtime_session(a->server->rt, a->args[0], a->user, &row, &err) != 0) {
		struct th_hub *h = th_hub_find(a->server, a->args[0]);

		/* One that was begun just now is not in the store yet. */
		if (err.code == THOLE_ENOENT && h && h->session && !ret_row &&
		    strcmp(h->user, a->user) == 0)
			return true;
		th_access_error(a, &err);
		return false;
	}
	if (ret_row)
		*ret_row = row;
	else
		thole_free(row);
	return true;
}

bool th_session_have_open(struct th_access *a, struct th_hub *h, struct thole_error *err)
{
	struct thole_agent *agent = NULL;
	int code = 0;

	if (h->session)
		return true;
	code = th_functions_agent_of(a->server, a->args[0], &agent, err);
	if (!code)
		code = th_hub_open(h, agent, err);
	thole_agent_free(agent);
	return !code;
}

/* The session of the first argument, open here.  NULL: it was answered. */
static struct th_hub *mine_open(struct th_access *a)
{
	struct thole_error err;
	struct th_hub *h;

	if (!th_session_mine(a, NULL))
		return NULL;
	h = th_hub_get(a->server, a->args[0], a->user);
	if (th_session_have_open(a, h, &err))
		return h;
	th_access_error(a, &err);
	return NULL;
}

/* ---- answers that wait for the log ---- */

struct wait {
	struct th_listener listener;
	struct th_access *access;
	int status;
	const char *kinds;
};

static void wait_end(struct wait *w)
{
	th_hub_unlisten(&w->listener);
	free(w);
}

static void wait_gone(struct th_access *a)
{
	wait_end(a->ctx);
}

static bool is_among(const char *names, const char *name)
{
	struct th_str list = th_str_of(names);

	while (list.len)
		if (th_str_is(th_str_split(&list, ' '), name))
			return true;
	return names[0] == '\0';
}

static void answer_row(struct th_access *a, const char *id, int status)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct thole_error err;
	char *row = NULL;

	if (thole_runtime_session(a->server->rt, id, a->user, &row, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_buf_add_cstr(&json, row);
	thole_free(row);
	th_access_json(a, status, &json);
}

static void on_waited(struct th_listener *l, const struct thole_note *note)
{
	struct wait *w = TH_CONTAINER_OF(l, struct wait, listener);
	struct th_access *a = w->access;
	char id[TH_SESSION_ID_MAX + 1];
	int status = w->status;

	if (note && (thole_note_kind(note) != THOLE_NOTE_EVENT ||
		     !is_among(w->kinds, thole_note_name(note))))
		return;
	snprintf(id, sizeof(id), "%s", l->hub->id);
	a->gone = NULL;
	if (note) {
		wait_end(w);
		answer_row(a, id, status);
	} else {
		const char *why = l->hub->session ? thole_session_reason(l->hub->session) : NULL;

		th_access_fail(a, 503, "lost", "the session is not this server's any more: %s",
			       why ? why : "the server ends");
		wait_end(w);
	}
}

/* Answers with the session's object once an event of one of these kinds is durable; `kinds`: names
 * with spaces between; "": the next one. */
static void answer_after(struct th_access *a, struct th_hub *h, int status, const char *kinds)
{
	struct wait *w = th_alloc(sizeof(*w));

	*w = (struct wait){ .access = a, .status = status, .kinds = kinds };
	w->listener.fn = on_waited;
	a->ctx = w;
	a->gone = wait_gone;
	th_hub_listen(h, &w->listener);
	th_server_kick(a->server);
}

/* ---- begin ---- */

static void id_of_key(const char *user, struct th_str key, char ret[static TH_UUID_TEXT_SIZE + 1])
{
	struct th_sha256 hash;
	struct th_digest digest;
	struct th_uuid id;

	th_sha256_init(&hash);
	th_sha256_add(&hash, "idempotency", 12);
	th_sha256_add(&hash, user, strlen(user) + 1);
	th_sha256_add(&hash, key.ptr, key.len);
	digest = th_sha256_end(&hash);
	memcpy(id.bytes, digest.bytes, sizeof(id.bytes));
	id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x80); /* version 8: its maker's own form */
	id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80);
	th_uuid_text(&id, ret);
	ret[TH_UUID_TEXT_SIZE] = '\0';
}

static int begin(struct th_access *a, const char *id, const struct th_served_agent *from,
		 const char *metadata, const char *limits, struct thole_session **ret,
		 struct thole_error *err)
{
	const char *options[7] = { "id", id, "user", a->user };
	struct thole_agent *agent = NULL;
	char *workspace = NULL;
	int code = th_workspace_make(a->server, id, &workspace, err);

	if (metadata) {
		options[4] = "metadata";
		options[5] = metadata;
	}
	if (!code)
		code = th_served_make(from, workspace, &agent, err);
	if (!code && limits)
		code = thole_agent_lower(agent, limits, err);
	if (!code)
		code = thole_session_new_with(a->server->rt, agent, options, ret, err);
	thole_agent_free(agent);
	free(workspace);
	return code;
}

/* Begun before, under the same key: it is told as it is now. */
static bool is_repeated(struct th_access *a, const char *id)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_hub *h = th_hub_find(a->server, id);
	struct thole_error err;
	char *row = NULL;

	if (thole_runtime_session(a->server->rt, id, a->user, &row, &err) == 0) {
		th_buf_add_cstr(&json, row);
		thole_free(row);
		th_http_reply(a->request, 200, "application/json",
			      TH_STR("Idempotent-Replayed: true\r\n"), th_buf_str(&json));
		return true;
	}
	if (!h || !h->session)
		return false;
	answer_after(a, h, 200, "");
	return true;
}

void th_api_sessions_create(struct th_access *a)
{
	struct th_str key = th_http_header(a->request, "idempotency-key");
	struct th_session_create c;
	const struct th_served_agent *from;
	struct thole_session *session = NULL;
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};
	int code = 0;

	if (!body_read(a, &th_session_create_table, &b, &c))
		return;
	if (key.ptr && (key.len < 1 || key.len > 255)) {
		th_access_fail(a, 400, NULL, "Idempotency-Key has 1 to 255 bytes");
		return;
	}
	from = th_served_find(&a->server->agents, c.agent.len ? c.agent : TH_STR("default"));
	if (!from) {
		th_access_fail(a, 404, "agent", "there is no agent of that name; GET /api/agents");
		return;
	}
	if (c.id.len > TH_SESSION_ID_MAX) {
		th_access_fail(a, 400, NULL, "id has at most %d bytes", TH_SESSION_ID_MAX);
		return;
	}
	if (c.id.len)
		snprintf(id, sizeof(id), "%.*s", TH_FMT(c.id));
	else if (key.ptr)
		id_of_key(a->user, key, id);
	else {
		struct th_uuid made = th_uuid_now();

		th_uuid_text(&made, id);
	}
	if (key.ptr && is_repeated(a, id))
		return;
	if (!th_quota_begin(a))
		return;
	code = begin(a, id, from, text_of(&b, c.metadata), text_of(&b, c.limits), &session, &err);
	if (!code && c.message.len) {
		code = thole_session_message(session, text_of(&b, c.message) ?: "", &err);
		if (code)
			thole_session_free(session);
	}
	if (code) {
		th_access_error(a, &err);
		return;
	}
	a->server->metrics.sessions_begun++;
	{
		struct th_hub *h = th_hub_get(a->server, id, a->user);

		th_hub_adopt(h, session);
		answer_after(a, h, 201, c.message.len ? "message" : "");
	}
}

/* ---- look ---- */

void th_api_agents(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("agents"));
	th_jw_array(&w);
	for (size_t i = 0; i < a->server->agents.count; i++) {
		th_jw_object(&w);
		th_jw_kstr(&w, "name", th_str_of(a->server->agents.list[i].name));
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

void th_api_sessions_list(struct th_access *a)
{
	static const char *const names[] = { "state",  "title", "text",  "metadata",
					     "prefix", "order", "limit", "after" };
	struct th_buf values[TH_COUNT(names)];
	const char *options[2 * TH_COUNT(names) + 3] = { "user", a->user };
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct thole_error err;
	size_t at = 2;
	char *page = NULL;
	int code;

	for (size_t i = 0; i < TH_COUNT(names); i++) {
		th_buf_init(&values[i], 8 * TH_KIB);
		if (!th_access_query(a, names[i], &values[i]))
			continue;
		options[at++] = names[i];
		options[at++] = values[i].ptr;
	}
	code = thole_runtime_page(a->server->rt, options, &page, &err);
	for (size_t i = 0; i < TH_COUNT(names); i++)
		th_buf_deinit(&values[i]);
	if (code) {
		th_access_error(a, &err);
		return;
	}
	th_buf_add_cstr(&json, page);
	thole_free(page);
	th_access_json(a, 200, &json);
}

void th_api_session_get(struct th_access *a)
{
	if (th_session_mine(a, NULL))
		answer_row(a, a->args[0], 200);
}

void th_api_session_items(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct thole_error err;
	int64_t first = 0, count = 0;
	struct th_hub *h;
	char *items = NULL;

	if (!th_access_query_int(a, "first", &first) || !th_access_query_int(a, "count", &count))
		return;
	h = mine_open(a);
	if (!h)
		return;
	if (!h->rested_ms)
		h->rested_ms = thole_session_state(h->session) == THOLE_RUNNING
				   ? 0
				   : th_loop_now_ms(a->server->loop);
	if (thole_session_items(h->session, first, (size_t)count, &items, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_buf_printf(&json, "{\"items\":%s}", items);
	thole_free(items);
	th_access_json(a, 200, &json);
}

void th_api_waiting(struct th_access *a)
{
	struct th_buf after TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	bool goes_on = th_access_query(a, "after", &after);
	struct thole_error err;
	int64_t limit = 0;
	char *list = NULL;

	if (!th_access_query_int(a, "limit", &limit))
		return;
	if (thole_runtime_waiting(a->server->rt, a->user, goes_on ? after.ptr : NULL, (size_t)limit,
				  &list, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_buf_add_cstr(&json, list);
	thole_free(list);
	th_access_json(a, 200, &json);
}

/* ---- lead ---- */

void th_api_session_message(struct th_access *a)
{
	struct th_session_message m;
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};
	struct th_hub *h;
	const char *text;

	if (!body_read(a, &th_session_message_table, &b, &m))
		return;
	h = mine_open(a);
	if (!h)
		return;
	if (!th_hub_runs(h) && !th_quota_begin(a))
		return;
	text = text_of(&b, m.text);
	if (!text) {
		th_access_fail(a, 400, NULL, "text has a zero in it");
		return;
	}
	if (thole_session_message(h->session, text, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	a->server->metrics.messages++;
	answer_after(a, h, 202, "message");
}

void th_api_session_pause(struct th_access *a)
{
	struct th_session_pause p;
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};
	struct th_hub *h;

	if (!body_read(a, &th_session_pause_table, &b, &p))
		return;
	h = mine_open(a);
	if (!h)
		return;
	if (thole_session_pause(h->session, text_of(&b, p.reason) ?: "paused by the user", &err) !=
	    0) {
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
	answer_row(a, a->args[0], 202);
}

void th_api_session_resume(struct th_access *a)
{
	struct thole_error err;
	struct th_hub *h = mine_open(a);

	if (!h)
		return;
	if (!th_hub_runs(h) && !th_quota_begin(a))
		return;
	if (thole_session_resume(h->session, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = 0;
	th_server_kick(a->server);
	answer_row(a, a->args[0], 202);
}

void th_api_session_cancel(struct th_access *a)
{
	struct th_session_cancel c;
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};
	struct th_hub *h;

	if (!body_read(a, &th_session_cancel_table, &b, &c))
		return;
	if (c.when.len && !th_str_is(c.when, "now") && !th_str_is(c.when, "after_turn")) {
		th_access_fail(a, 400, NULL, "when is now or after_turn");
		return;
	}
	h = mine_open(a);
	if (!h)
		return;
	if (thole_session_cancel(h->session,
				 th_str_is(c.when, "after_turn") ? THOLE_AFTER_TURN : THOLE_NOW,
				 &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	th_server_kick(a->server);
	answer_row(a, a->args[0], 202);
}

void th_api_session_fork(struct th_access *a)
{
	struct th_session_fork f;
	struct thole_session *session = NULL;
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};
	struct th_hub *h;

	if (!body_read(a, &th_session_fork_table, &b, &f) || !th_session_mine(a, NULL))
		return;
	if (thole_session_fork(a->server->rt, NULL, a->args[0], (uint64_t)f.seq, text_of(&b, f.id),
			       &session, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	a->server->metrics.sessions_begun++;
	h = th_hub_get(a->server, thole_session_id(session), a->user);
	th_hub_adopt(h, session);
	h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	answer_row(a, h->id, 201);
}

/* ---- change ---- */

/* The metadata as the caller wants it, with the members that are the server's. */
static bool put_metadata(struct th_access *a, const char *row, struct th_str wanted,
			 struct th_buf *out)
{
	struct th_json_doc *old TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *new TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(out);
	struct th_json_iter it;

	if (th_json_parse(wanted, &new, NULL) != TH_OK || !th_json_is_object(th_json_root(new)) ||
	    th_json_parse(th_str_of(row), &old, NULL) != TH_OK) {
		th_access_fail(a, 400, "invalid_body", "metadata is an object");
		return false;
	}
	th_jw_object(&w);
	it = th_json_iter(th_json_root(new));
	while (th_json_next(&it)) {
		if (th_str_starts(it.key, TH_STR("thole_"))) {
			th_access_fail(
			    a, 400, "invalid_body",
			    "members of metadata that begin with thole_ are the server's");
			return false;
		}
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	it = th_json_iter(th_json_get(th_json_root(old), "metadata"));
	while (th_json_next(&it)) {
		if (!th_str_starts(it.key, TH_STR("thole_")))
			continue;
		th_jw_key(&w, it.key);
		th_jw_json(&w, it.val);
	}
	th_jw_object_end(&w);
	return true;
}

void th_api_session_change(struct th_access *a)
{
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(2 * TH_METADATA_MAX);
	struct th_session_change c;
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};
	struct th_hub *h;
	char *row = NULL;
	bool good;

	if (!body_read(a, &th_session_change_table, &b, &c) || !th_session_mine(a, &row))
		return;
	good = !c.metadata.len || put_metadata(a, row, c.metadata, &metadata);
	thole_free(row);
	if (!good)
		return;
	if (thole_runtime_describe(a->server->rt, a->args[0], a->user, text_of(&b, c.title),
				   c.metadata.len ? metadata.ptr : NULL, a->user, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h = th_hub_find(a->server, a->args[0]);
	if (h && h->session)
		answer_after(a, h, 200, "session_changed");
	else
		answer_row(a, a->args[0], 200);
}

/* ---- delete ---- */

void th_api_session_delete(struct th_access *a)
{
	struct thole_error err;

	if (!th_session_mine(a, NULL))
		return;
	if (th_session_discard(a->server, a->args[0], a->user, &err) != 0)
		th_access_error(a, &err);
	else
		th_access_empty(a, 204);
}

/* ---- what was used ---- */

void th_api_usage(struct th_access *a)
{
	static const char *const names[] = { "by", "from", "to", "limit", "after" };
	struct th_buf values[TH_COUNT(names)];
	const char *options[2 * TH_COUNT(names) + 3];
	struct th_buf user TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	bool named = th_access_query(a, "user", &user);
	struct thole_error err;
	char *list = NULL;
	size_t at = 0;
	int code;

	if (named && strcmp(user.ptr, a->user) != 0 && !(a->scopes & TH_SCOPE_ADMIN)) {
		th_access_fail(a, 403, "scope", "another user's usage needs the scope admin");
		return;
	}
	if (!named || strcmp(user.ptr, "*") != 0) {
		options[at++] = "user";
		options[at++] = named ? user.ptr : a->user;
	}
	for (size_t i = 0; i < TH_COUNT(names); i++) {
		th_buf_init(&values[i], 8 * TH_KIB);
		if (!th_access_query(a, names[i], &values[i]))
			continue;
		options[at++] = names[i];
		options[at++] = values[i].ptr;
	}
	options[at] = NULL;
	code = thole_runtime_usage(a->server->rt, options, &list, &err);
	for (size_t i = 0; i < TH_COUNT(names); i++)
		th_buf_deinit(&values[i]);
	if (code) {
		th_access_error(a, &err);
		return;
	}
	th_buf_add_cstr(&json, list);
	thole_free(list);
	th_access_json(a, 200, &json);
}

/* ---- decide ---- */

static bool decision_read(struct th_access *a, struct body *b, struct th_session_decision *d)
{
	return body_read(a, &th_session_decision_table, b, d) && th_session_mine(a, NULL);
}

/* After a word about a session that rested: whoever has it lets it go on. */
static void decided(struct th_access *a, const char *kinds)
{
	struct th_hub *h = th_hub_find(a->server, a->args[0]);
	struct thole_error err;

	a->server->metrics.decisions++;
	if (h && h->session) {
		h->rested_ms = 0;
		answer_after(a, h, 200, kinds);
		return;
	}
	h = mine_open(a);
	if (!h)
		return;
	if (thole_session_resume(h->session, &err) == 0)
		h->rested_ms = 0;
	th_server_kick(a->server);
	answer_row(a, a->args[0], 200);
}

void th_api_session_approve(struct th_access *a)
{
	struct th_session_decision d;
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};

	if (!decision_read(a, &b, &d))
		return;
	if (thole_runtime_approve(a->server->rt, a->args[0], text_of(&b, d.call_id), a->user,
				  d.always, &err) != 0)
		th_access_error(a, &err);
	else
		decided(a, "approval_decided");
}

void th_api_session_reject(struct th_access *a)
{
	struct th_session_decision d;
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};

	if (!decision_read(a, &b, &d))
		return;
	if (thole_runtime_reject(a->server->rt, a->args[0], text_of(&b, d.call_id), a->user,
				 text_of(&b, d.message), d.always, &err) != 0)
		th_access_error(a, &err);
	else
		decided(a, "approval_decided");
}

void th_api_session_settle(struct th_access *a)
{
	static const char *const names[] = { "done", "not_started", "unknown", NULL };
	struct th_session_decision d;
	struct thole_error err;
	struct body b TH_CLEANUP(body_deinit) = {};
	int outcome;

	if (!decision_read(a, &b, &d))
		return;
	outcome = th_names_find(names, d.outcome);
	if (outcome < 0) {
		th_access_fail(a, 400, NULL, "outcome is done, not_started or unknown");
		return;
	}
	if (thole_runtime_settle(a->server->rt, a->args[0], text_of(&b, d.call_id),
				 (enum thole_outcome)outcome, a->user, text_of(&b, d.message),
				 &err) != 0)
		th_access_error(a, &err);
	else
		decided(a, "settled");
}
