/* SPDX-License-Identifier: Apache-2.0 */
/* conversation.c - a conversation by its name, its newest session, and a response of it. */
#include "model_api/conversation.h"

#include <stdio.h>
#include <stdlib.h>

#define HEX 32

/* ---- names ---- */

void th_conversation_name(const char *session, char ret[static TH_RESPONSE_NAME_MAX])
{
	char response[TH_RESPONSE_NAME_MAX];

	th_response_name(session, 0, response);
	snprintf(ret, TH_RESPONSE_NAME_MAX, TH_CONVERSATION_PREFIX "%.*s", HEX,
		 response + strlen("resp_"));
}

static bool session_of(struct th_str name, char ret[static TH_UUID_TEXT_SIZE + 1])
{
	static const size_t groups[] = { 8, 4, 4, 4, 12 };
	struct th_str hex = th_str_sub(name, strlen(TH_CONVERSATION_PREFIX), name.len);
	size_t at = 0, from = 0;

	if (!th_str_starts(name, TH_STR(TH_CONVERSATION_PREFIX)) || hex.len != HEX)
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

static enum th_stored_result find_head(struct th_needs *n, const char *user,
				       struct th_conversation *p)
{
	char filter[TH_RESPONSE_NAME_MAX + 32];
	const char *options[] = { "user",    user,    "metadata", filter, "order",
				  "created", "limit", "1",        NULL };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_found *page;
	struct th_str id;

	snprintf(filter, sizeof(filter), TH_CONVERSATION_MEMBER "=%s", p->name);
	page = th_need_page(n, options);
	if (!page)
		return TH_STORED_PENDING;
	if (page->err)
		p->err = *page->err;
	if (page->err || th_json_parse(page->text, &doc, NULL) != TH_OK)
		return TH_STORED_FAILED;
	id = th_json_get_str(th_json_at(th_json_get(th_json_root(doc), "sessions"), 0),
			     "session_id");
	snprintf(p->head, sizeof(p->head), "%.*s", TH_FMT(id));
	return id.len > 0 ? TH_STORED_FOUND : TH_STORED_FAILED;
}

enum th_stored_result th_conversation_find(struct th_needs *n, const char *user, struct th_str name,
					   struct th_conversation *p)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *metadata;
	const struct th_found *row;

	*p = (struct th_conversation){ 0 };
	if (!session_of(name, p->first))
		return TH_STORED_FAILED;
	row = th_need_session(n, p->first, user);
	if (!row)
		return TH_STORED_PENDING;
	if (row->err && row->err->code != THOLE_ENOENT)
		p->err = *row->err;
	if (row->err || th_json_parse(row->text, &doc, NULL) != TH_OK)
		return TH_STORED_FAILED;
	metadata = th_json_get(th_json_root(doc), "metadata");
	if (!th_str_eq(th_json_get_str(metadata, TH_CONVERSATION_MEMBER), name))
		return TH_STORED_FAILED;
	snprintf(p->name, sizeof(p->name), "%.*s", TH_FMT(name));
	p->created_ms = th_json_get_int(th_json_root(doc), "created_ms", 0);
	return find_head(n, user, p);
}

bool th_conversation_mine(struct th_access *a, struct th_conversation *p)
{
	enum th_stored_result look =
	    th_conversation_find(&a->needs, a->user, th_str_of(a->args[0]), p);

	if (look == TH_STORED_FAILED && p->err.code)
		th_access_error(a, &p->err);
	else if (look == TH_STORED_FAILED)
		th_access_fail(a, 404, "conversation_not_found",
			       "Conversation with id '%.*s' not found.",
			       (int)TH_MIN(strlen(a->args[0]), (size_t)80), a->args[0]);
	return look == TH_STORED_FOUND;
}

bool th_conversation_talks(const struct th_server *s, const char *name)
{
	for (const struct th_response *p = s->talks; p; p = p->next_talk)
		if (strcmp(p->conversation, name) == 0)
			return true;
	return false;
}

struct th_hub *th_conversation_open(struct th_access *a, const struct th_conversation *p)
{
	const struct th_found *open = th_need_open(&a->needs, p->head, a->user, true);
	struct th_hub *h;

	if (!open)
		return NULL;
	if (open->err) {
		th_access_error(a, open->err);
		return NULL;
	}
	if (th_conversation_talks(a->server, p->name)) {
		th_access_fail(a, 409, "conversation_locked",
			       "a response of the conversation is under way");
		return NULL;
	}
	h = th_hub_find(a->server, p->head);
	if (!h->rested_ms && thole_session_state(h->session) != THOLE_RUNNING)
		h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	return h;
}

/* ---- a response of it ---- */

bool th_conversation_begin(struct th_making *m, struct th_str name)
{
	struct th_response *p = m->p;
	struct th_stored d;
	struct th_conversation place;
	struct th_conversation_items places;
	struct thole_error err;
	enum th_stored_result look;
	bool good;

	m->fault->param = "conversation";
	look = th_conversation_find(&m->access->needs, m->access->user, name, &place);
	if (look == TH_STORED_PENDING)
		return th_making_pending(m);
	if (look == TH_STORED_FAILED && place.err.code)
		return th_making_fault_api(m, &place.err);
	if (look == TH_STORED_FAILED)
		return th_response_fault(m->fault, 404, "conversation_not_found",
					 "Conversation with id '%.*s' not found.",
					 (int)TH_MIN(name.len, (size_t)80), name.ptr);
	if (th_conversation_talks(m->server, place.name))
		return th_response_fault(m->fault, 409, "conversation_locked",
					 "a response of the conversation is under way");
	if (!m->store)
		return th_response_fault(m->fault, 400, "invalid_value",
					 "a conversation needs store to be true");
	look = th_stored_get_last(&m->access->needs, m->access->user, place.head, &d, &err);
	if (look == TH_STORED_FOUND) {
		look = th_conversation_removed(&m->access->needs, m->access->user, &place, &places,
					       &err);
		if (look != TH_STORED_FOUND)
			th_stored_deinit(&d);
	}
	if (look == TH_STORED_PENDING)
		return th_making_pending(m);
	if (look == TH_STORED_FAILED)
		return err.code != THOLE_ENOENT
			   ? th_making_fault_api(m, &err)
			   : th_response_fault(m->fault, 404, "conversation_not_found",
					       "the conversation is not there any more");
	m->places = &places;
	m->fault->param = NULL;
	snprintf(m->conversation, sizeof(m->conversation), "%s", place.name);
	snprintf(p->conversation, sizeof(p->conversation), "%s", place.name);
	p->next_talk = m->server->talks;
	m->server->talks = p;
	if (strcmp(place.head, place.first) == 0)
		d.reply.status = TH_REPLY_COMPLETED; /* nothing was asked in it */
	good = th_making_go_on(m, &d);
	m->places = NULL;
	th_conversation_items_deinit(&places);
	th_stored_deinit(&d);
	return good;
}
