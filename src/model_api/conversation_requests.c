/* SPDX-License-Identifier: Apache-2.0 */
/* conversation_requests.c - /v1/conversations: begun, looked at, changed, deleted. */
#include <stdio.h>
#include <stdlib.h>

#include "io/clock.h"
#include "model_api/conversation.h"
#include "server/fleet.h"

static int raw_agent(struct th_str model, struct thole_agent **ret, struct thole_error *err)
{
	char name[TH_MODEL_NAME_MAX + 1];

	*ret = NULL;
	snprintf(name, sizeof(name), "%.*s", TH_FMT(model));
	return thole_agent_new("model", ret, err) ?: thole_agent_set(*ret, "model", name, err);
}

static int begin(struct th_access *a, const char *id, const char *name, const char *items,
		 struct th_hub **ret, struct thole_error *err)
{
	char metadata[TH_RESPONSE_NAME_MAX + 64];
	const char *options[] = {
		"id",  id,         "user",   a->user,    "fresh",
		"yes", "metadata", metadata, "priority", th_priority_name(a->priority),
		NULL
	};
	const struct th_served_agent *from = th_served_find(&a->server->agents, TH_STR("default"));
	const struct th_strs *models = &a->server->settings.s.models;
	struct thole_session *session = NULL;
	struct thole_agent *agent = NULL;
	int code = th_served_make(from, NULL, &agent, err);

	snprintf(metadata, sizeof(metadata), "{\"" TH_CONVERSATION_MEMBER "\":\"%s\"}", name);
	if (!code)
		code = thole_session_new_with(a->server->rt, agent, options, &session, err);
	if (code == THOLE_EUSAGE && models->count) { /* the default agent has no model */
		thole_agent_free(agent);
		code = raw_agent(models->list[0], &agent, err)
			   ?: thole_session_new_with(a->server->rt, agent, options, &session, err);
	}
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
	struct th_conversation_wait how = { .answer = th_conversation_answer_waited };
	char id[TH_UUID_TEXT_SIZE + 1];
	struct thole_error err;
	struct th_hub *h;

	if (!th_quota_begin(a))
		return;
	if (th_http_body(a->request).len) {
		doc = th_access_body(a);
		if (!doc)
			return;
	} else if (th_json_parse(TH_STR("{}"), &empty, NULL) != TH_OK) {
		return;
	}
	if (!th_conversation_given(a, th_json_root(doc ?: empty), &items))
		return;
	th_uuid_text(&made, id);
	th_conversation_name(id, how.name);
	if (begin(a, id, how.name, items.ptr, &h, &err) != 0) {
		th_conversation_refuse(a, &err);
		return;
	}
	how.kind = items.len > 2 ? "items_added" : "session_created";
	th_conversation_answer_after(a, h, &how);
}

void th_v1_conversation_get(struct th_access *a)
{
	char name[TH_SESSION_ID_MAX + 1];
	struct th_conversation p;

	if (!th_conversation_mine(a, &p))
		return;
	snprintf(name, sizeof(name), "%s", p.name);
	th_conversation_answer(a, name, 200);
}

/* The metadata is a note in the session that the conversation began as. */
void th_v1_conversation_update(struct th_access *a)
{
	struct th_buf items TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_conversation_wait how = { .answer = th_conversation_answer_waited,
					    .kind = "items_added" };
	struct thole_error err;
	struct th_conversation p, first;
	struct th_hub *h;

	if (!th_conversation_mine(a, &p))
		return;
	doc = th_access_body(a);
	if (!doc)
		return;
	if (!th_json_is_object(th_json_get(th_json_root(doc), "metadata"))) {
		th_access_fault(a, 400, "missing_required_parameter", "metadata",
				"metadata is missing");
		return;
	}
	if (!th_conversation_given(a, th_json_root(doc), &items))
		return;
	first = p;
	snprintf(first.head, sizeof(first.head), "%s", p.first);
	h = th_conversation_open(a, &first);
	if (!h)
		return;
	if (thole_session_items_add(h->session, items.ptr, false, &err) != 0) {
		th_access_error(a, &err);
		return;
	}
	snprintf(how.name, sizeof(how.name), "%s", p.name);
	th_conversation_answer_after(a, h, &how);
}

/* Its sessions one by one, the newest first.  The one that it began as goes last: it is what the
 * name says.  One that cannot be deleted now stays, and so does the conversation. */
static void on_discarded(struct th_access *a, const char *session, const struct thole_error *err);

static void delete_newest(struct th_access *a, bool forwards)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	struct th_conversation p;
	enum th_stored_result look =
	    th_conversation_find(&a->needs, a->user, th_str_of(a->args[0]), &p);

	if (look == TH_STORED_PENDING)
		return;
	if (look == TH_STORED_FAILED && p.err.code) { /* it is not known to be gone */
		th_access_error(a, &p.err);
		return;
	}
	if (look == TH_STORED_FOUND && forwards &&
	    th_forward_session(a, p.head, th_v1_conversation_delete))
		return;
	if (look == TH_STORED_FOUND && th_conversation_talks(a->server, p.name)) {
		th_access_fail(a, 409, "conversation_locked",
			       "a response of the conversation is under way");
		return;
	}
	if (look == TH_STORED_FOUND) {
		th_access_discard(a, p.head, on_discarded);
		return;
	}
	th_buf_printf(&json, "{\"id\":\"%s\",\"object\":\"conversation.deleted\",\"deleted\":true}",
		      a->args[0]);
	th_access_json(a, 200, &json);
}

/* The next one may be at another node. */
static void delete_next(struct th_access *a)
{
	delete_newest(a, true);
}

static void delete_first(struct th_access *a)
{
	delete_newest(a, false);
}

static void on_discarded(struct th_access *a, const char *session, const struct thole_error *err)
{
	(void)session;
	if (err) {
		th_access_error(a, err);
		return;
	}
	th_needs_forget(&a->needs);
	a->again = delete_next;
	delete_next(a);
}

void th_v1_conversation_delete(struct th_access *a)
{
	struct th_conversation p;

	if (!th_conversation_mine(a, &p))
		return;
	a->again = delete_first;
	delete_first(a);
}
