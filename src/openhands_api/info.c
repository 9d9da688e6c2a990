/* SPDX-License-Identifier: Apache-2.0 */
/* info.c - what a conversation is: a session's row in the words of OpenHands. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/text.h"
#include "openhands_api/internal.h"

/* ---- whose it is ---- */

bool th_oh_mine(struct th_access *a, struct th_json_doc **ret_doc)
{
	const struct th_found *row;
	const struct th_hub *h;
	struct th_uuid id;

	if (!th_uuid_parse(th_str_of(a->args[0]), &id)) {
		th_access_fail(a, 422, NULL, "the id of a conversation is a UUID");
		return false;
	}
	th_uuid_text(&id, a->args[0]);
	h = th_hub_find(a->server, a->args[0]);
	if (!ret_doc && h && h->session && strcmp(h->user, a->user) == 0)
		return true;
	row = th_need_session(&a->needs, a->args[0], a->user);
	if (!row)
		return false;
	if (row->err) {
		if (row->err->code == THOLE_ENOENT)
			th_access_fail(a, 404, NULL, "there is no such conversation");
		else
			th_access_error(a, row->err);
		return false;
	}
	if (ret_doc && th_json_parse(row->text, ret_doc, NULL) != TH_OK) {
		th_access_fail(a, 500, NULL, "the session's row is no JSON");
		return false;
	}
	return true;
}

/* ---- its state ---- */

static const struct {
	const char *state, *status;
} statuses[] = {
	{ "loading", "running" },   { "idle", "idle" },
	{ "running", "running" },   { "waiting", "waiting_for_confirmation" },
	{ "paused", "paused" },     { "scheduled", "paused" },
	{ "stopped", "paused" }, /* and goes on when it is run */
	{ "finished", "finished" }, { "failed", "error" },
	{ "limit", "error" },       { "stuck", "stuck" },
	{ "lost", "error" },
};

const char *th_oh_status(const struct th_hub *h, const struct th_json *row)
{
	struct th_str state = th_json_get_str(row, "state");

	if (h && h->session) {
		const char *reason = thole_session_reason(h->session);
		int now = thole_session_state(h->session);

		/* That it rests is not written yet, or not read: whoever is told of it finds why
		 * among the events. */
		if (now != THOLE_LOST && !th_str_is(state, thole_state_name(now)))
			return "running";
		state = th_str_of(thole_state_name(now));
		if (now == THOLE_PAUSED && reason && strcmp(reason, TH_HELD_REASON) == 0)
			return "idle";
	}
	for (size_t i = 0; i < TH_COUNT(statuses); i++)
		if (th_str_is(state, statuses[i].state))
			return statuses[i].status;
	return "error";
}

void th_oh_put_time(int64_t ms, bool zone, struct th_jw *w)
{
	time_t seconds = (time_t)(ms / 1000);
	char text[64], whole[96];
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		text[0] = '\0';
	snprintf(whole, sizeof(whole), "%s.%03d%s", text, (int)(ms % 1000), zone ? "Z" : "");
	th_jw_str(w, th_str_of(whole));
}

static void put_time(struct th_jw *w, const char *name, int64_t ms)
{
	th_jw_name(w, th_str_of(name));
	th_oh_put_time(ms, true, w);
}

static void put_uuid_or_null(struct th_jw *w, const char *name, struct th_str text)
{
	struct th_uuid id;

	if (th_uuid_parse(text, &id))
		th_jw_kstr(w, name, text);
	else
		th_jw_kraw(w, name, TH_STR("null"));
}

static void put_agent(const struct th_json *row, struct th_jw *w)
{
	th_jw_name(w, TH_STR("agent"));
	th_jw_object(w);
	th_jw_kstr(w, "kind", TH_STR("Agent"));
	th_jw_name(w, TH_STR("llm"));
	th_jw_object(w);
	th_jw_kstr(w, "model", th_json_get_str(row, "model"));
	th_jw_kstr(w, "usage_id", TH_STR("agent"));
	th_jw_object_end(w);
	th_jw_kraw(w, "tools", TH_STR("[]"));
	th_jw_kraw(w, "include_default_tools", TH_STR("[]"));
	th_jw_object_end(w);
}

static void put_stats(const struct th_json *row, struct th_jw *w)
{
	int64_t nano = th_json_get_int(row, "cost_nano", 0);

	th_jw_name(w, TH_STR("stats"));
	th_jw_object(w);
	th_jw_name(w, TH_STR("usage_to_metrics"));
	th_jw_object(w);
	th_jw_name(w, TH_STR("agent"));
	th_jw_object(w);
	th_jw_kstr(w, "model_name", th_json_get_str(row, "model"));
	th_jw_name(w, TH_STR("accumulated_cost"));
	th_buf_printf(w->out, "%lld.%09lld", (long long)(nano / 1000000000),
		      (long long)(nano % 1000000000));
	w->comma = true;
	th_jw_name(w, TH_STR("accumulated_token_usage"));
	th_jw_object(w);
	th_jw_kstr(w, "model", th_json_get_str(row, "model"));
	th_jw_kint(w, "prompt_tokens", th_json_get_int(row, "tokens_in", 0));
	th_jw_kint(w, "completion_tokens", th_json_get_int(row, "tokens_out", 0));
	th_jw_kint(w, "cache_read_tokens", th_json_get_int(row, "tokens_cached", 0));
	th_jw_object_end(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

/* What this server has nothing of, as a client expects it. */
static const struct {
	const char *name, *json;
} fixed[] = {
	{ "persistence_dir", "\"\"" },
	{ "stuck_detection", "true" },
	{ "security_analyzer", "null" },
	{ "activated_knowledge_skills", "[]" },
	{ "invoked_skills", "[]" },
	{ "blocked_actions", "{}" },
	{ "blocked_messages", "{}" },
	{ "last_user_message_id", "null" },
	{ "leaf_event_id", "null" },
	{ "forked_from_event_id", "null" },
	{ "secret_registry", "{\"secret_sources\":{}}" },
	{ "agent_state", "{}" },
	{ "hook_config", "null" },
	{ "metrics", "null" },
	{ "sub_conversation_ids", "[]" },
	{ "tool_module_qualnames", "{}" },
};

static void put_or(struct th_jw *w, const char *name, const struct th_json *v,
		   const char *otherwise)
{
	th_jw_name(w, th_str_of(name));
	if (th_json_is_null(v))
		th_jw_raw(w, th_str_of(otherwise));
	else
		th_jw_json(w, v);
}

void th_oh_print_info(const struct th_server *s, const struct th_json *row, struct th_jw *w)
{
	const struct th_json *own = th_json_get(th_json_get(row, "metadata"), TH_OPENHANDS_MEMBER);
	struct th_str title = th_json_get_str(row, "title");
	char id[TH_SESSION_ID_MAX + 1], *workspace;
	struct th_hub *h;

	snprintf(id, sizeof(id), "%.*s", TH_FMT(th_json_get_str(row, "session_id")));
	h = th_hub_find((struct th_server *)(uintptr_t)s, id);
	workspace = th_workspace_path(s, id);
	th_jw_object(w);
	th_jw_kstr(w, "id", th_str_of(id));
	put_agent(row, w);
	th_jw_name(w, TH_STR("workspace"));
	th_jw_object(w);
	th_jw_kstr(w, "kind", TH_STR("LocalWorkspace"));
	th_jw_kstr(w, "working_dir", th_str_of(workspace ? workspace : "workspace"));
	th_jw_object_end(w);
	free(workspace);
	th_jw_kstr(w, "execution_status", th_str_of(th_oh_status(h, row)));
	put_or(w, "max_iterations", th_json_get(own, "max_iterations"), "500");
	put_or(w, "confirmation_policy", th_json_get(own, "policy"), "{\"kind\":\"NeverConfirm\"}");
	put_or(w, "tags", th_json_get(own, "tags"), "{}");
	put_or(w, "client_tools", th_json_get(own, TH_OPENHANDS_TOOLS), "[]");
	put_stats(row, w);
	if (title.len)
		th_jw_kstr(w, "title", title);
	else
		th_jw_kraw(w, "title", TH_STR("null"));
	put_time(w, "created_at", th_json_get_int(row, "created_ms", 0));
	put_time(w, "updated_at", th_json_get_int(row, "updated_ms", 0));
	put_uuid_or_null(w, "forked_from_conversation_id", th_json_get_str(row, "parent"));
	for (size_t i = 0; i < TH_COUNT(fixed); i++)
		th_jw_kraw(w, fixed[i].name, th_str_of(fixed[i].json));
	th_jw_object_end(w);
}

static void answer_info(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_SERVE_OPENHANDS_STATE_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_jw w = th_jw(&json);

	if (!th_oh_mine(a, &doc))
		return;
	th_oh_print_info(a->server, th_json_root(doc), &w);
	th_access_json(a, a->status, &json);
}

void th_oh_answer_info(struct th_access *a, const char *session, int status)
{
	if (a->args[0] != session)
		snprintf(a->args[0], sizeof(a->args[0]), "%s", session);
	a->status = status;
	th_needs_forget(&a->needs); /* it may have changed since */
	a->again = answer_info;
	answer_info(a);
}

/* A conversation runs here, or at another node that takes it over. */
void th_oh_runtime(struct th_access *a)
{
	if (th_oh_mine(a, NULL))
		th_access_text(a, 200, "application/json",
			       TH_STR("{\"runtime_status\":\"available\",\"can_resume\":true,"
				      "\"runtime_error\":null}"));
}

/* ---- some that are named ---- */

/* The ids of the query, each in its usual form.  False: it was answered. */
static bool read_ids(struct th_access *a,
		     char ret[static TH_SERVE_OPENHANDS_BATCH_MAX][TH_UUID_TEXT_SIZE + 1],
		     size_t *ret_count)
{
	struct th_str query = th_http_query(a->request);
	bool good = true;
	size_t count = 0;

	while (query.len && good) {
		struct th_str value = th_str_split(&query, '&');
		struct th_str key = th_str_split(&value, '=');
		struct th_uuid id;

		if (!th_str_is(key, "ids"))
			continue;
		good = count < TH_SERVE_OPENHANDS_BATCH_MAX && th_uuid_parse(value, &id);
		if (good)
			th_uuid_text(&id, ret[count++]);
	}
	*ret_count = count;
	if (!good || !count)
		th_access_fail(a, 422, NULL, "ids are 1 to %d UUIDs: ?ids=UUID&ids=UUID",
			       TH_SERVE_OPENHANDS_BATCH_MAX);
	return good && count;
}

static void print_found(const struct th_server *s, const struct th_found *row, struct th_jw *w)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (row->err || th_json_parse(row->text, &doc, NULL) != TH_OK)
		th_jw_raw(w, TH_STR("null"));
	else
		th_oh_print_info(s, th_json_root(doc), w);
}

void th_oh_batch(struct th_access *a)
{
	char ids[TH_SERVE_OPENHANDS_BATCH_MAX][TH_UUID_TEXT_SIZE + 1];
	const struct th_found *rows[TH_SERVE_OPENHANDS_BATCH_MAX];
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_jw w = th_jw(&json);
	size_t count;

	if (!read_ids(a, ids, &count))
		return;
	for (size_t i = 0; i < count; i++) { /* one after the other: others read, too */
		rows[i] = th_need_session(&a->needs, ids[i], a->user);
		if (!rows[i])
			return;
		if (rows[i]->err && rows[i]->err->code != THOLE_ENOENT) {
			th_access_error(a, rows[i]->err);
			return;
		}
	}
	th_jw_array(&w);
	for (size_t i = 0; i < count; i++)
		print_found(a->server, rows[i], &w);
	th_jw_array_end(&w);
	th_access_json(a, 200, &json);
}

/* ---- all of a user's ---- */

static bool is_uuid(const struct th_json *row)
{
	struct th_uuid id;

	return th_uuid_parse(th_json_get_str(row, "session_id"), &id);
}

/* A page of the store; NULL: it was answered, or the handler is called again. */
static struct th_json_doc *page_of(struct th_access *a, const char *order, const char *limit,
				   const char *after)
{
	const char *options[] = {
		"user", a->user, "order", order, "limit", limit, after && after[0] ? "after" : NULL,
		after,  NULL
	};
	const struct th_found *page = th_need_page(&a->needs, options);
	struct th_json_doc *doc = NULL;

	if (page && page->err)
		th_access_error(a, page->err);
	else if (page && th_json_parse(page->text, &doc, NULL) != TH_OK)
		th_access_fail(a, 500, NULL, "the page is no JSON");
	return doc;
}

static bool wanted(struct th_server *s, const struct th_json *row, struct th_str status)
{
	char id[TH_SESSION_ID_MAX + 1];

	snprintf(id, sizeof(id), "%.*s", TH_FMT(th_json_get_str(row, "session_id")));
	return is_uuid(row) &&
	       (!status.len || th_str_is(status, th_oh_status(th_hub_find(s, id), row)));
}

void th_oh_search(struct th_access *a)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_buf after TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(8 * TH_KIB);
	struct th_buf status TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_buf order TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	int64_t limit = TH_SERVE_OPENHANDS_PAGE_MAX;
	struct th_jw w = th_jw(&json);
	struct th_json_iter it;
	struct th_str next;
	char count[24];

	if (!th_access_query_int(a, "limit", &limit))
		return;
	if (limit < 1 || limit > TH_SERVE_OPENHANDS_PAGE_MAX) {
		th_access_fail(a, 422, NULL, "limit is 1 to %d", TH_SERVE_OPENHANDS_PAGE_MAX);
		return;
	}
	snprintf(count, sizeof(count), "%lld", (long long)limit);
	(void)th_access_query(a, "page_id", &after);
	(void)th_access_query(a, "status", &status);
	if (th_access_query(a, "sort_order", &order) &&
	    !th_str_ends(th_buf_str(&order), TH_STR("_DESC"))) {
		th_access_fail(a, 501, NULL, "conversations come newest first");
		return;
	}
	doc = page_of(a, th_str_is(th_buf_str(&order), "UPDATED_AT_DESC") ? "updated" : "created",
		      count, after.ptr);
	if (!doc)
		return;
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("items"));
	th_jw_array(&w);
	it = th_json_iter(th_json_get(th_json_root(doc), "sessions"));
	while (th_json_next(&it))
		if (wanted(a->server, it.val, th_buf_str(&status)))
			th_oh_print_info(a->server, it.val, &w);
	th_jw_array_end(&w);
	next = th_json_get_str(th_json_root(doc), "next");
	if (next.len)
		th_jw_kstr(&w, "next_page_id", next);
	else
		th_jw_kraw(&w, "next_page_id", TH_STR("null"));
	th_jw_object_end(&w);
	th_access_json(a, 200, &json);
}

void th_oh_with_open(struct th_access *a, th_after_fn *fn)
{
	const struct th_found *open;

	if (!th_oh_mine(a, NULL))
		return;
	open = th_need_open(&a->needs, a->args[0], a->user, true);
	if (open && open->err)
		th_access_error(a, open->err);
	else if (open)
		fn(a, a->args[0], 0);
}
