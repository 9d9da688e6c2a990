/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversation.c - /v1/conversations: what is said in several responses, under
 * one name.
 *
 * A conversation begins as a session that nobody runs: it has the items that it
 * was begun with and what is said of it (its metadata).  Responses go on in the
 * newest session that has its name in the metadata, or in one of their own with
 * the same past when they are asked for otherwise; that one is the newest then.
 * One response at a time: a second one is refused meanwhile.
 */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "server/listing.h"
#include "server/response_making.h"

#define PREFIX "conv_"
#define HEX 32

/* A conversation of the caller's. */
struct place {
	char name[TH_RESPONSE_NAME_MAX];
	char first[TH_UUID_TEXT_SIZE + 1]; /* the session that it began as */
	char head[TH_SESSION_ID_MAX + 1];  /* the newest of its sessions */
	int64_t created_ms;
};

/* ---- names ---- */

static void name_of(const char *session, char ret[static TH_RESPONSE_NAME_MAX])
{
	char response[TH_RESPONSE_NAME_MAX];

	th_response_name(session, 0, response);
	snprintf(ret, TH_RESPONSE_NAME_MAX, PREFIX "%.*s", HEX, response + strlen("resp_"));
}

static bool session_of(struct th_str name, char ret[static TH_UUID_TEXT_SIZE + 1])
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	struct th_str hex = th_str_sub(name, strlen(PREFIX), name.len);
	size_t at = 0, from = 0;

	if (!th_str_starts(name, TH_STR(PREFIX)) || hex.len != HEX)
		return false;
	for (size_t g = 0; g < TH_COUNT(groups); g++) {
		if (g)
			ret[at++] = '-';
		for (size_t i = 0; i < groups[g]; i++)
			ret[at++] = hex.ptr[from++];
	}
	ret[at] = '\0';
	return true;
}

static bool find_head(struct th_server *s, const char *user, struct place *p)
{
	char filter[TH_RESPONSE_NAME_MAX + 32];
	const char *options[] = { "user",    user,    "metadata", filter, "order",
				  "created", "limit", "1",        NULL };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	char *page = NULL;
	struct th_str id;

	snprintf(filter, sizeof(filter), TH_CONVERSATION_MEMBER "=%s", p->name);
	if (thole_runtime_page(s->rt, options, &page, &err) != 0)
		return false;
	if (th_json_parse(th_str_of(page), &doc, NULL) != TH_OK) {
		thole_free(page);
		return false;
	}
	thole_free(page);
	id = th_json_get_str(th_json_at(th_json_get(th_json_root(doc), "sessions"), 0),
			     "session_id");
	snprintf(p->head, sizeof(p->head), "%.*s", TH_FMT(id));
	return id.len > 0;
}

static bool find(struct th_server *s, const char *user, struct th_str name, struct place *p)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	const struct th_json *metadata;
	char *row = NULL;

	*p = (struct place){ 0 };
	if (!session_of(name, p->first) ||
	    thole_runtime_session(s->rt, p->first, user, &row, &err) != 0)
		return false;
	if (th_json_parse(th_str_of(row), &doc, NULL) != TH_OK) {
		thole_free(row);
		return false;
	}
	thole_free(row);
	metadata = th_json_get(th_json_root(doc), "metadata");
	if (!th_str_eq(th_json_get_str(metadata, TH_CONVERSATION_MEMBER), name))
		return false;
	snprintf(p->name, sizeof(p->name), "%.*s", TH_FMT(name));
	p->created_ms = th_json_get_int(th_json_root(doc), "created_ms", 0);
	return find_head(s, user, p);
}

/* The one of the first argument.  False: it was answered. */
static bool mine(struct th_access *a, struct place *p)
{
	if (find(a->server, a->user, th_str_of(a->args[0]), p))
		return true;
	th_access_fail(a, 404, "conversation_not_found", "Conversation with id '%.*s' not found.",
		       (int)TH_MIN(strlen(a->args[0]), (size_t)80), a->args[0]);
	return false;
}

static bool is_talking(const struct th_server *s, const char *name)
{
	for (const struct th_response *p = s->talks; p; p = p->next_talk)
		if (strcmp(p->conversation, name) == 0)
			return true;
	return false;
}

/* Its newest session, open here and between two tasks.  NULL: it was answered. */
static struct th_hub *open_head(struct th_access *a, const struct place *p, bool writes)
{
	struct th_hub *h = th_hub_get(a->server, p->head, a->user);
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code = 0;

	if (writes && is_talking(a->server, p->name)) {
		th_access_fail(a, 409, "conversation_locked",
			       "a response of the conversation is under way");
		return NULL;
	}
	if (!h->session) {
		code = th_functions_agent_of(a->server, p->head, &agent, &err);
		if (!code)
			code = th_hub_open(h, agent, &err);
		thole_agent_free(agent);
		if (!code)
			h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	}
	if (!code)
		return h;
	th_access_error(a, &err);
	return NULL;
}

/* ---- what it says of itself ---- */

static int on_metadata(void *ctx, const char *line, size_t len)
{
	struct th_str text = th_str_n(line, len);
	struct th_json_raw_iter it;

	if (!th_str_is(th_json_raw_get(text, "kind"), "\"items_added\""))
		return 0;
	it = th_json_raw_iter(th_json_raw_get(th_json_raw_get(text, "data"), "items"));
	while (th_json_raw_next(&it)) {
		struct th_str metadata = th_json_raw_get(it.val, "metadata");

		if (!th_str_is(th_json_raw_get(it.val, "type"), "\"conversation\"") ||
		    !metadata.len)
			continue;
		th_buf_clear(ctx);
		th_buf_add(ctx, metadata);
	}
	return 0;
}

static void answer_object(struct th_access *a, const char *name, int status)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_buf metadata TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_METADATA_MAX);
	struct th_jw w = th_jw(&json);
	struct thole_error err;
	struct place p;

	if (!find(a->server, a->user, th_str_of(name), &p)) {
		th_access_fail(a, 404, "conversation_not_found", "it is not there any more");
		return;
	}
	(void)thole_runtime_log(a->server->rt, p.first, 1, on_metadata, &metadata, &err);
	th_jw_object(&w);
	th_jw_kstr(&w, "id", th_str_of(p.name));
	th_jw_kstr(&w, "object", TH_STR("conversation"));
	th_jw_kint(&w, "created_at", p.created_ms / 1000);
	th_jw_kraw(&w, "metadata", metadata.len ? th_buf_str(&metadata) : TH_STR("{}"));
	th_jw_object_end(&w);
	th_access_json(a, status, &json);
}

/* A list of items: a note with the metadata, if there is any, then what was given.  False: it was
 * answered. */
static bool put_given(struct th_access *a, const struct th_json *body, struct th_buf *out)
{
	const struct th_json *metadata = th_json_get(body, "metadata");
	const struct th_json *items = th_json_get(body, "items");
	struct th_json_iter it = th_json_iter(metadata);
	struct th_jw w = th_jw(out);
	bool good = th_json_count(metadata) <= TH_SERVE_PAIRS_MAX &&
		    (th_json_is_null(metadata) || th_json_is_object(metadata));

	while (good && th_json_next(&it))
		good = th_json_type(it.val) == TH_JSON_STR && it.key.len <= TH_SERVE_PAIR_KEY_MAX &&
		       th_json_str(it.val).len <= TH_SERVE_PAIR_VALUE_MAX;
	if (!good || (!th_json_is_null(items) && !th_json_is_array(items)) ||
	    th_json_count(items) > TH_SERVE_GIVEN_ITEMS_MAX) {
		th_access_fault(a, 400, "invalid_value", good ? "items" : "metadata",
				good ? "items is a list of at most 20"
				     : "metadata is an object of at most 16 texts");
		return false;
	}
	th_jw_array(&w);
	if (th_json_is_object(metadata)) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("conversation"));
		th_jw_name(&w, TH_STR("metadata"));
		th_jw_json(&w, metadata);
		th_jw_object_end(&w);
	}
	it = th_json_iter(items);
	while (th_json_next(&it)) {
		struct th_json_iter member = th_json_iter(it.val);

		if (th_conversation_note(it.val))
			continue;
		th_jw_object(&w);
		if (!th_json_get_str(it.val, "type").len)
			th_jw_kstr(&w, "type", TH_STR("message"));
		while (th_json_next(&member)) {
			th_jw_key(&w, member.key);
			th_jw_json(&w, member.val);
		}
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	return true;
}

/* ---- answers that wait until something is written ---- */

struct wait {
	struct th_listener listener;
	struct th_access *access;
	void (*answer)(struct th_access *a, const struct wait *w);
	char name[TH_RESPONSE_NAME_MAX];
	const char *kind; /* of the event */
	size_t count;     /* items that were given */
};

static void wait_gone(struct th_access *a)
{
	struct wait *w = a->ctx;

	th_hub_unlisten(&w->listener);
	free(w);
}

static void on_note(struct th_listener *l, const struct thole_note *note)
{
	struct wait *w = TH_CONTAINER_OF(l, struct wait, listener);
	struct th_access *a = w->access;

	if (note && (thole_note_kind(note) != THOLE_NOTE_EVENT ||
		     strcmp(thole_note_name(note), w->kind) != 0))
		return;
	th_hub_unlisten(l);
	a->gone = NULL;
	a->ctx = NULL;
	if (note)
		w->answer(a, w);
	else
		th_access_fail(a, 503, "lost", "the session is not this server's any more");
	free(w);
}

static void answer_after(struct th_access *a, struct th_hub *h, const struct wait *how)
{
	struct wait *w = th_alloc(sizeof(*w));

	*w = *how;
	w->access = a;
	w->listener.fn = on_note;
	a->ctx = w;
	a->gone = wait_gone;
	th_hub_listen(h, &w->listener);
	th_server_kick(a->server);
}

static void answer_conversation(struct th_access *a, const struct wait *w)
{
	answer_object(a, w->name, 200);
}

/* ---- one conversation ---- */

static int begin(struct th_access *a, const char *id, const char *name, const char *items,
		 struct th_hub **ret, struct thole_error *err)
{
	char metadata[TH_RESPONSE_NAME_MAX + 64];
	const char *options[] = { "id", id, "user", a->user, "metadata", metadata, NULL };
	const struct th_served_agent *from = th_served_find(&a->server->agents, TH_STR("default"));
	struct thole_session *session = NULL;
	struct thole_agent *agent = NULL;
	int code = th_served_make(from, NULL, &agent, err);

	snprintf(metadata, sizeof(metadata), "{\"" TH_CONVERSATION_MEMBER "\":\"%s\"}", name);
	if (!code)
		code = thole_session_new_with(a->server->rt, agent, options, &session, err);
	thole_agent_free(agent);
	if (!code && strcmp(items, "[]") != 0)
		code = thole_session_items_add(session, items, false, err);
	if (code) {
		thole_session_free(session);
		return code;
	}
	*ret = th_hub_get(a->server, id, a->user);
	th_hub_adopt(*ret, session);
	(*ret)->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	return 0;
}

void th_v1_conversations_create(struct th_access *a)
{
	struct th_buf items TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *empty TH_CLEANUP(th_json_freep) = NULL;
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_uuid made = th_uuid_now();
	struct wait how = { .answer = answer_conversation };
	char id[TH_UUID_TEXT_SIZE + 1];
	struct thole_error err;
	struct th_hub *h;

	if (th_http_body(a->request).len) {
		doc = th_access_body(a);
		if (!doc)
			return;
	} else if (th_json_parse(TH_STR("{}"), &empty, NULL) != TH_OK) {
		return;
	}
	if (!put_given(a, th_json_root(doc ?: empty), &items))
		return;
	th_uuid_text(&made, id);
	name_of(id, how.name);
	if (begin(a, id, how.name, items.ptr, &h, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	how.kind = items.len > 2 ? "items_added" : "session_created";
	answer_after(a, h, &how);
}

void th_v1_conversation_get(struct th_access *a)
{
	struct place p;

	if (mine(a, &p))
		answer_object(a, p.name, 200);
}

/* The metadata is a note in the session that the conversation began as. */
void th_v1_conversation_update(struct th_access *a)
{
	struct th_buf items TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct wait how = { .answer = answer_conversation, .kind = "items_added" };
	struct thole_error err;
	struct place p, first;
	struct th_hub *h;

	if (!mine(a, &p))
		return;
	doc = th_access_body(a);
	if (!doc)
		return;
	if (!th_json_is_object(th_json_get(th_json_root(doc), "metadata"))) {
		th_access_fault(a, 400, "missing_required_parameter", "metadata",
				"metadata is missing");
		return;
	}
	if (!put_given(a, th_json_root(doc), &items))
		return;
	first = p;
	snprintf(first.head, sizeof(first.head), "%s", p.first);
	h = open_head(a, &first, true);
	if (!h)
		return;
	if (thole_session_items_add(h->session, items.ptr, false, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	snprintf(how.name, sizeof(how.name), "%s", p.name);
	answer_after(a, h, &how);
}

/* ---- items ---- */

/* False: it was answered. */
static bool list_items(struct th_access *a, const struct place *p, struct th_hub *h,
		       struct th_listing *list)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	struct th_json_iter it;
	char prefix[TH_LISTING_ID_MAX], *items = NULL;

	if (thole_session_items(h->session, 0, 0, &items, &err) != 0) {
		th_access_error(a, &err);
		return false;
	}
	snprintf(prefix, sizeof(prefix), "item_%s", p->name + strlen(PREFIX));
	if (th_json_parse(th_str_of(items), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_root(doc));
		while (th_json_next(&it))
			if (!th_conversation_note(it.val))
				th_listing_add(list, it.val, prefix, true);
	}
	thole_free(items);
	return true;
}

void th_v1_conversation_items(struct th_access *a)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct place p;
	struct th_hub *h;

	if (!mine(a, &p))
		return;
	h = open_head(a, &p, false);
	if (h && list_items(a, &p, h, &list))
		th_listing_answer(&list, a);
}

void th_v1_conversation_item(struct th_access *a)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct place p;
	struct th_hub *h;
	size_t at;

	if (!mine(a, &p))
		return;
	h = open_head(a, &p, false);
	if (!h || !list_items(a, &p, h, &list))
		return;
	at = th_listing_find(&list, th_str_of(a->args[1]));
	if (at < list.count)
		th_access_text(a, 200, "application/json", th_listing_get(&list, at));
	else
		th_access_fail(a, 404, "item_not_found", "the conversation has no such item");
}

static void answer_added(struct th_access *a, const struct wait *w)
{
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw out = th_jw(&json);
	struct place p;
	struct th_hub *h;

	if (!mine(a, &p))
		return;
	h = open_head(a, &p, false);
	if (!h || !list_items(a, &p, h, &list))
		return;
	th_listing_print(&list, list.count - TH_MIN(w->count, list.count), list.count, &out);
	th_access_json(a, 200, &json);
}

void th_v1_conversation_items_add(struct th_access *a)
{
	struct th_buf items TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct wait how = { .answer = answer_added, .kind = "items_added" };
	struct thole_error err;
	struct place p;
	struct th_hub *h;

	if (!mine(a, &p))
		return;
	doc = th_access_body(a);
	if (!doc)
		return;
	how.count = th_json_count(th_json_get(th_json_root(doc), "items"));
	if (!put_given(a, th_json_root(doc), &items))
		return;
	if (!how.count) {
		th_access_fault(a, 400, "missing_required_parameter", "items", "items is missing");
		return;
	}
	h = open_head(a, &p, true);
	if (!h)
		return;
	if (thole_session_items_add(h->session, items.ptr, false, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	answer_after(a, h, &how);
}

/* The history of its newest session without one item; the log keeps it. */
void th_v1_conversation_item_delete(struct th_access *a)
{
	struct th_buf rest TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_listing list TH_CLEANUP(th_listing_deinit) = TH_LISTING_INIT;
	struct wait how = { .answer = answer_conversation, .kind = "items_removed" };
	struct th_jw w = th_jw(&rest);
	struct thole_error err;
	struct th_json_iter it;
	struct place p;
	struct th_hub *h;
	char *items = NULL;
	size_t at, i = 0;
	int code;

	if (!mine(a, &p))
		return;
	h = open_head(a, &p, true);
	if (!h || !list_items(a, &p, h, &list))
		return;
	at = th_listing_find(&list, th_str_of(a->args[1]));
	if (at == list.count) {
		th_access_fail(a, 404, "item_not_found", "the conversation has no such item");
		return;
	}
	code = thole_session_items(h->session, 0, 0, &items, &err);
	if (!code && th_json_parse(th_str_of(items), &doc, NULL) == TH_OK) {
		it = th_json_iter(th_json_root(doc));
		th_jw_array(&w);
		while (th_json_next(&it))
			if (th_conversation_note(it.val) || i++ != at)
				th_jw_json(&w, it.val);
		th_jw_array_end(&w);
	}
	thole_free(items);
	if (!code && rest.len > TH_MESSAGE_MAX) {
		th_access_fail(a, 413, "limit", "what would be left is too long to be put again");
		return;
	}
	if (!code)
		code = thole_session_items_clear(h->session, &err);
	if (!code && rest.len > 2)
		code = thole_session_items_add(h->session, rest.ptr, false, &err);
	if (code) {
		th_access_error(a, &err);
		return;
	}
	h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	how.kind = rest.len > 2 ? "items_added" : "items_removed";
	snprintf(how.name, sizeof(how.name), "%s", p.name);
	answer_after(a, h, &how);
}

/* ---- a response of it ---- */

bool th_conversation_begin(struct th_making *m, struct th_str name)
{
	struct th_response *p = m->p;
	struct th_stored d;
	struct place place;
	bool good;

	m->fault->param = "conversation";
	if (!find(m->server, m->access->user, name, &place))
		return th_response_fault(m->fault, 404, "conversation_not_found",
					 "Conversation with id '%.*s' not found.",
					 (int)TH_MIN(name.len, (size_t)80), name.ptr);
	if (is_talking(m->server, place.name))
		return th_response_fault(m->fault, 409, "conversation_locked",
					 "a response of the conversation is under way");
	if (!m->store)
		return th_response_fault(m->fault, 400, "invalid_value",
					 "a conversation needs store to be true");
	if (!th_stored_load_last(m->server, m->access->user, place.head, &d))
		return th_response_fault(m->fault, 404, "conversation_not_found",
					 "the conversation is not there any more");
	m->fault->param = NULL;
	snprintf(m->conversation, sizeof(m->conversation), "%s", place.name);
	snprintf(p->conversation, sizeof(p->conversation), "%s", place.name);
	p->next_talk = m->server->talks;
	m->server->talks = p;
	if (strcmp(place.head, place.first) == 0)
		d.reply.status = TH_REPLY_COMPLETED; /* nothing was asked in it */
	good = th_making_go_on(m, &d);
	th_stored_deinit(&d);
	return good;
}
