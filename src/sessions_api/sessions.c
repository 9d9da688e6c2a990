/* SPDX-License-Identifier: Apache-2.0 */
/* sessions.c - /api: sessions are begun, listed, changed, deleted and paid for. */
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/text.h"
#include "io/clock.h"
#include "sessions_api/internal.h"

/* ---- bodies ---- */

// clang-format off
#define TH_FIELDS_session_create(F)                                                              \
	F(session_create, str, agent, "agent", TH_NONEMPTY, "name of an agent; default: default")  \
	F(session_create, str, message, "message", TH_NONEMPTY, "what begins the task; without, it waits for one") \
	F(session_create, bool, plan, "plan", 0, "with message: in plan mode, which changes nothing") \
	F(session_create, bool, goal, "goal", 0, "the message is a goal: the task is over when it is reached, as a judge says") \
	F(session_create, int, rounds, "rounds", TH_POSITIVE, "with goal: at most so many verdicts, up to 100; default: 10") \
	F(session_create, raw, start_at, "start_at", 0, "with message: when the task begins, a time such as \"2026-11-27T08:30:00Z\" or a number of seconds from now on; until then it is scheduled") \
	F(session_create, str, priority, "priority", TH_NONEMPTY, "low, normal (the default) or high: which of the sessions that wait for a node goes on first, and which comes to a full one") \
	F(session_create, str, id, "id", TH_NONEMPTY, "its name, without blanks, @ and / and with no dash first; default: a new UUID")             \
	F(session_create, raw, metadata, "metadata", 0, "an object of the caller's, without members thole_…")               \
	F(session_create, str, computer, "computer", TH_NONEMPTY, "a kind of computer instead of the agent's, or none; GET /api/agents says which") \
	F(session_create, raw, limits, "limits", 0, "as an agent file's; the lower of both holds")
#define TH_FIELDS_session_change(F)                                                              \
	F(session_change, str, title, "title", TH_NONEMPTY, "one line, at most 80 characters") \
	F(session_change, raw, metadata, "metadata", 0, "all of it, an object; its members thole_… stay")
// clang-format on
TH_STRUCT(session_create)
TH_STRUCT(session_change)
// clang-format off
TH_TABLE(session_create, "a new session", false)
TH_TABLE(session_change, "a change of a session", false)
// clang-format on

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

/* Instead of the agent's own. */
static int choose_computer(struct thole_agent *agent, struct th_str kind, struct thole_error *err)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_jw w = th_jw(&json);

	if (!kind.len)
		return 0;
	if (th_str_is(kind, "none"))
		return thole_agent_set_json(agent, "computer", "null", err);
	th_jw_object(&w);
	th_jw_kstr(&w, "kind", kind);
	th_jw_object_end(&w);
	return thole_agent_set_json(agent, "computer", json.ptr, err);
}

/* No member is the server's own (or it is no object, which is found later).  False: it was
 * answered.
 */
static bool is_callers(struct th_access *a, const struct th_json *metadata)
{
	struct th_json_iter it = th_json_iter(metadata);

	while (th_json_is_object(metadata) && th_json_next(&it)) {
		if (!th_str_starts(it.key, TH_STR("thole_")))
			continue;
		th_access_fail(a, 400, "invalid_body",
			       "members of metadata that begin with thole_ are the server's");
		return false;
	}
	return true;
}

static int begin(struct th_access *a, const char *id, const struct th_served_agent *from,
		 const struct th_session_create *c, struct th_api_body *b,
		 struct thole_session **ret, struct thole_error *err)
{
	const char *metadata = th_api_body_text(b, c->metadata);
	const char *limits = th_api_body_text(b, c->limits);
	const char *options[13] = { "id",    id,    "user",     a->user,
				    "fresh", "yes", "priority", th_priority_name(a->priority) };
	struct th_buf when TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	size_t at = 8;
	struct thole_agent *agent = NULL;
	char *workspace = NULL;
	int code = th_workspace_make(a->server, id, &workspace, err);

	if (metadata) {
		options[at++] = "metadata";
		options[at++] = metadata;
	}
	if (c->start_at.len) {
		if (!th_json_unescape(c->start_at, &when))
			th_buf_add(&when, c->start_at); /* a number */
		options[at++] = "start_at";
		options[at++] = when.failed || memchr(when.ptr, 0, when.len) ? "?" : when.ptr;
	}
	if (!code)
		code = th_served_make(from, workspace, &agent, err);
	if (!code)
		code = choose_computer(agent, c->computer, err);
	if (!code && limits)
		code = thole_agent_lower(agent, limits, err);
	if (!code)
		code = thole_session_new_with(a->server->rt, agent, options, ret, err);
	thole_agent_free(agent);
	free(workspace);
	return code;
}

/* The name is nobody's: one that was chosen is looked up.  False: it was answered, or the handler
 * is called again. */
static bool is_new(struct th_access *a, const char *id, bool by_key)
{
	struct th_hub *h = th_hub_find(a->server, id);
	const struct th_found *row = th_need_session(&a->needs, id, by_key ? a->user : NULL);

	if (!row)
		return false;
	if (row->err && row->err->code != THOLE_ENOENT) {
		th_access_error(a, row->err);
		return false;
	}
	if (row->err && !(h && h->session))
		return true;
	if (!by_key)
		th_access_fail(a, 409, NULL, "session %s exists already", id);
	else if (row->err) /* it is not written yet */
		th_session_answer_after(a, h, 200, "");
	else /* begun before, under the same key: it is told as it is now */
		th_http_reply(a->request, 200, "application/json",
			      TH_STR("Idempotent-Replayed: true\r\n"), row->text);
	return false;
}

static bool is_listed(const struct th_json *sessions, const char *id)
{
	struct th_json_iter it = th_json_iter(sessions);

	while (th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "session_id"), id))
			return true;
	return false;
}

/* Those of the user that wait for their time: a page of them, and what is not in the store yet. */
static size_t count_waiting(const struct th_access *a, const struct th_json *sessions)
{
	size_t count = th_json_count(sessions);

	for (const struct th_hub *h = a->server->hubs.first; h; h = h->next)
		count += h->session && strcmp(h->user, a->user) == 0 &&
			 thole_session_state(h->session) == THOLE_SCHEDULED &&
			 !is_listed(sessions, h->id);
	return count;
}

/* So many as may run at once wait for their time, beside those that run.  False: it was answered,
 * or the handler is called again. */
static bool may_wait(struct th_access *a)
{
	int64_t max = th_settings_quota(&a->server->settings, a->user).sessions;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	char limit[24];
	const char *options[] = { "user",    a->user, "state", "scheduled", "order",
				  "created", "limit", limit,   NULL };
	const struct th_found *page;
	size_t count = 0;

	max = max > 0 ? TH_MIN(max, (int64_t)TH_SERVE_SCHEDULED_MAX) : TH_SERVE_SCHEDULED_MAX;
	snprintf(limit, sizeof(limit), "%lld", (long long)max);
	page = th_need_page(&a->needs, options);
	if (!page)
		return false;
	if (page->err) {
		th_access_error(a, page->err);
		return false;
	}
	if (th_json_parse(page->text, &doc, NULL) == TH_OK)
		count = count_waiting(a, th_json_get(th_json_root(doc), "sessions"));
	if (count < (size_t)max)
		return true;
	a->server->metrics.refused_quota++;
	th_access_wait(a, 429, 60000, "scheduled",
		       "%lld sessions of yours wait for their time already", (long long)max);
	return false;
}

/* What the request says of itself.  NULL: it was answered. */
static const struct th_served_agent *checked(struct th_access *a, const struct th_session_create *c,
					     const struct th_api_body *b, struct th_str key)
{
	const struct th_served_agent *from;

	if (key.ptr && (key.len < 1 || key.len > 255)) {
		th_access_fail(a, 400, NULL, "Idempotency-Key has 1 to 255 bytes");
		return NULL;
	}
	from = th_served_find(&a->server->agents, c->agent.len ? c->agent : TH_STR("default"));
	if (!from) {
		struct th_buf known TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

		for (size_t i = 0; i < a->server->agents.count; i++)
			th_buf_printf(&known, "%s%s", i ? ", " : "",
				      a->server->agents.list[i].name);
		th_access_fail(a, 404, "agent",
			       "there is no agent of that name; the server has: %.*s",
			       TH_FMT(th_utf8_cut(th_buf_str(&known), 300)));
		return NULL;
	}
	if (c->computer.len && !th_settings_computer(&a->server->settings, c->computer)) {
		th_access_fail(a, 403, "computer",
			       "that computer is not among those that may be chosen; "
			       "GET /api/agents");
		return NULL;
	}
	if (!is_callers(a, th_json_get(th_json_root(b->doc), "metadata")))
		return NULL;
	return th_api_is_name(a, c->id) ? from : NULL;
}

void th_api_sessions_create(struct th_access *a)
{
	struct th_str key = th_http_header(a->request, "idempotency-key");
	struct th_session_create c;
	const struct th_served_agent *from;
	struct thole_session *session = NULL;
	struct th_hub *h;
	char id[TH_SESSION_ID_MAX + 1];
	struct thole_error err;
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_session_task task;
	int code = 0;

	if (!th_api_body_read(a, &th_session_create_table, &b, &c))
		return;
	task = (struct th_session_task){ .text = th_api_body_text(&b, c.message),
					 .plan = c.plan,
					 .goal = c.goal,
					 .rounds = c.rounds };
	from = checked(a, &c, &b, key);
	if (!from)
		return;
	if (c.id.len)
		snprintf(id, sizeof(id), "%.*s", TH_FMT(c.id));
	else if (key.ptr)
		id_of_key(a->user, key, id);
	else {
		struct th_uuid made = th_uuid_now();

		th_uuid_text(&made, id);
	}
	if ((key.ptr || c.id.len) && !is_new(a, id, key.ptr != NULL))
		return;
	if (c.start_at.len && !c.message.len) {
		th_access_fault(a, 400, "invalid_value", "start_at",
				"what begins later is a message");
		return;
	}
	if (!th_session_task_checked(a, &task) || !th_quota_priority(a, c.priority))
		return;
	if (!th_quota_begin(a) || (c.start_at.len && !may_wait(a)))
		return;
	code = begin(a, id, from, &c, &b, &session, &err);
	if (!code && c.message.len) {
		code = th_session_say(session, &task, a->user, &err);
		if (code)
			thole_session_free(session);
	}
	if (code) {
		th_access_error(a, &err);
		return;
	}
	a->server->metrics.sessions_begun++;
	h = th_hub_get(a->server, id, a->user);
	th_hub_adopt(h, session);
	th_quota_begins(&a->needs, h);
	th_session_answer_after(a, h, 201, c.message.len ? "message" : "");
}

/* ---- look ---- */

void th_api_session_get(struct th_access *a)
{
	th_access_session(a, a->args[0], 200);
}

void th_api_session_items(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	const struct th_found *items;
	int64_t first = 0, count = 0;

	if (!th_access_query_int(a, "first", &first) || !th_access_query_int(a, "count", &count))
		return;
	if (!th_session_mine(a, NULL))
		return;
	items = th_need_items(&a->needs, a->args[0], first, (size_t)count, 0);
	if (!items)
		return;
	if (items->err) {
		th_access_error(a, items->err);
		return;
	}
	th_buf_printf(&json, "{\"items\":%.*s}", TH_FMT(items->text));
	th_access_json(a, 200, &json);
}

void th_api_waiting(struct th_access *a)
{
	struct th_buf after TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	bool goes_on = th_access_query(a, "after", &after);
	const struct th_found *list;
	int64_t limit = 0;

	if (!th_access_query_int(a, "limit", &limit))
		return;
	list = th_need_waiting(&a->needs, a->user, goes_on ? after.ptr : NULL, (size_t)limit);
	if (list)
		th_access_answer(a, 200, list);
}

/* ---- change ---- */

/* The metadata as the caller wants it, with the members that are the server's. */
static bool put_metadata(struct th_access *a, struct th_str row, struct th_str wanted,
			 struct th_buf *out)
{
	struct th_json_doc *old TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *new TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(out);
	struct th_json_iter it;

	if (th_json_parse(wanted, &new, NULL) != TH_OK || !th_json_is_object(th_json_root(new)) ||
	    th_json_parse(row, &old, NULL) != TH_OK) {
		th_access_fail(a, 400, "invalid_body", "metadata is an object");
		return false;
	}
	if (!is_callers(a, th_json_root(new)))
		return false;
	th_jw_object(&w);
	it = th_json_iter(th_json_root(new));
	while (th_json_next(&it)) {
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
	struct th_api_body b TH_CLEANUP(th_api_body_deinit) = {};
	struct th_str row;

	if (!th_api_body_read(a, &th_session_change_table, &b, &c) || !th_session_mine(a, &row))
		return;
	if (!c.metadata.len || put_metadata(a, row, c.metadata, &metadata))
		th_access_describe(a, a->args[0], th_api_body_text(&b, c.title),
				   c.metadata.len ? metadata.ptr : NULL, th_access_session);
}

/* ---- delete ---- */

static void answer_discarded(struct th_access *a, const char *session,
			     const struct thole_error *err)
{
	(void)session;
	if (err)
		th_access_error(a, err);
	else
		th_access_empty(a, 204);
}

void th_api_session_delete(struct th_access *a)
{
	th_access_discard(a, a->args[0], answer_discarded);
}

/* ---- what was used ---- */

void th_api_usage(struct th_access *a)
{
	static const char *const names[] = { "by", "from", "to", "limit", "after", NULL };
	struct th_api_options o;
	const struct th_found *list = NULL;

	if (th_api_options_read(a, names, "usage", &o))
		list = th_need_usage(&a->needs, o.list);
	th_api_options_deinit(&o);
	if (list)
		th_access_answer(a, 200, list);
}
