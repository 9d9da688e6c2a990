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

static bool find_head(struct th_server *s, const char *user, struct th_conversation *p)
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

bool th_conversation_find(struct th_server *s, const char *user, struct th_str name,
			  struct th_conversation *p)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct thole_error err;
	const struct th_json *metadata;
	char *row = NULL;

	*p = (struct th_conversation){ 0 };
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

bool th_conversation_mine(struct th_access *a, struct th_conversation *p)
{
	if (th_conversation_find(a->server, a->user, th_str_of(a->args[0]), p))
		return true;
	th_access_fail(a, 404, "conversation_not_found", "Conversation with id '%.*s' not found.",
		       (int)TH_MIN(strlen(a->args[0]), (size_t)80), a->args[0]);
	return false;
}

bool th_conversation_talks(const struct th_server *s, const char *name)
{
	for (const struct th_response *p = s->talks; p; p = p->next_talk)
		if (strcmp(p->conversation, name) == 0)
			return true;
	return false;
}

struct th_hub *th_conversation_open(struct th_access *a, const struct th_conversation *p,
				    bool writes)
{
	struct th_hub *h = th_hub_get(a->server, p->head, a->user);
	struct thole_agent *agent = NULL;
	struct thole_error err;
	int code = 0;

	if (writes && th_conversation_talks(a->server, p->name)) {
		th_access_fail(a, 409, "conversation_locked",
			       "a response of the conversation is under way");
		return NULL;
	}
	if (!h->session) {
		code = th_functions_agent_of(a->server, p->head, &agent, &err);
		if (!code)
			code = th_hub_open_start(h, agent, &err);
		thole_agent_free(agent);
		if (!code)
			h->rested_ms = th_loop_now_ms(a->server->loop) ?: 1;
	}
	if (!code)
		return h;
	th_access_error(a, &err);
	return NULL;
}

/* ---- a response of it ---- */

bool th_conversation_begin(struct th_making *m, struct th_str name)
{
	struct th_response *p = m->p;
	struct th_stored d;
	struct th_conversation place;
	struct thole_error err;
	bool good;

	m->fault->param = "conversation";
	if (!th_conversation_find(m->server, m->access->user, name, &place))
		return th_response_fault(m->fault, 404, "conversation_not_found",
					 "Conversation with id '%.*s' not found.",
					 (int)TH_MIN(name.len, (size_t)80), name.ptr);
	if (th_conversation_talks(m->server, place.name))
		return th_response_fault(m->fault, 409, "conversation_locked",
					 "a response of the conversation is under way");
	if (!m->store)
		return th_response_fault(m->fault, 400, "invalid_value",
					 "a conversation needs store to be true");
	if (th_stored_load_last(m->server, m->access->user, place.head, &d, &err) != 0)
		return err.code != THOLE_ENOENT
			   ? th_making_fault_api(m, &err)
			   : th_response_fault(m->fault, 404, "conversation_not_found",
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
