/* SPDX-License-Identifier: Apache-2.0 */
/* service.c - /v1: agents by the APIs of model providers. */
#include "model_api/conversation.h"
#include "model_api/raw_agents.h"
#include "model_api/response.h"
#include "model_api/response_internal.h"

#define SMALL TH_SERVE_SMALL_MAX

// clang-format off
static const struct th_route routes[] = {
	{ "GET", "/v1/models", TH_SCOPE_READ, th_v1_models, 0, NULL, "the agents, and the models that may be named", NULL },
	{ "GET", "/v1/models/{id}", TH_SCOPE_READ, th_v1_model, 0, NULL, "one of them", NULL },
	{ "POST", "/v1/responses", TH_SCOPE_RUN, th_v1_responses_create, TH_HTTP1_BODY_MAX, NULL, "OpenAI's Responses API: runs an agent", NULL },
	{ "GET", "/v1/responses", TH_SCOPE_RUN, th_v1_responses_socket, 0, NULL, "the same over a WebSocket", NULL },
	{ "POST", "/v1/responses/input_tokens", TH_SCOPE_READ, th_v1_responses_tokens, TH_HTTP1_BODY_MAX, NULL, "about how many tokens a request has", NULL },
	{ "POST", "/v1/responses/compact", TH_SCOPE_RUN, th_v1_responses_compact, TH_HTTP1_BODY_MAX, NULL, "a conversation made shorter by its model, to go on from", NULL },
	{ "GET", "/v1/responses/{id}", TH_SCOPE_READ, th_v1_responses_get, 0, NULL, "a response; stream, starting_after", NULL },
	{ "DELETE", "/v1/responses/{id}", TH_SCOPE_RUN, th_v1_responses_delete, 0, NULL, "deletes it, and its session where it is all of that", NULL },
	{ "POST", "/v1/responses/{id}/cancel", TH_SCOPE_RUN, th_v1_responses_cancel, SMALL, NULL, "stops one that runs in the background", NULL },
	{ "POST", "/v1/responses/{id}/steer", TH_SCOPE_RUN, th_v1_responses_steer, TH_HTTP1_BODY_MAX, NULL, "says something to one that is under way and is no WebSocket's: input", NULL },
	{ "GET", "/v1/responses/{id}/input_items", TH_SCOPE_READ, th_v1_responses_items, 0, NULL, "what it was asked with: limit, order, after", NULL },
	{ "POST", "/v1/conversations", TH_SCOPE_RUN, th_v1_conversations_create, TH_HTTP1_BODY_MAX, NULL, "begins a conversation: items, metadata", NULL },
	{ "GET", "/v1/conversations/{id}", TH_SCOPE_READ, th_v1_conversation_get, 0, NULL, "one conversation", NULL },
	{ "POST", "/v1/conversations/{id}", TH_SCOPE_RUN, th_v1_conversation_update, SMALL, NULL, "gives it other metadata", NULL },
	{ "DELETE", "/v1/conversations/{id}", TH_SCOPE_RUN, th_v1_conversation_delete, 0, NULL, "deletes it, and all of its sessions", NULL },
	{ "GET", "/v1/conversations/{id}/items", TH_SCOPE_READ, th_v1_conversation_items, 0, NULL, "what was said in it: limit, order, after", NULL },
	{ "POST", "/v1/conversations/{id}/items", TH_SCOPE_RUN, th_v1_conversation_items_add, TH_HTTP1_BODY_MAX, NULL, "puts items at its end, and asks nothing: items", NULL },
	{ "GET", "/v1/conversations/{id}/items/{item}", TH_SCOPE_READ, th_v1_conversation_item, 0, NULL, "one item", NULL },
	{ "DELETE", "/v1/conversations/{id}/items/{item}", TH_SCOPE_RUN, th_v1_conversation_item_delete, 0, NULL, "takes one item out of what is gone on from", NULL },
	{ "POST", "/v1/chat/completions", TH_SCOPE_RUN, th_v1_chat, TH_HTTP1_BODY_MAX, NULL, "OpenAI's Chat Completions API, each request for itself", NULL },
	{ "POST", "/v1/messages/count_tokens", TH_SCOPE_READ, th_v1_messages_tokens, TH_HTTP1_BODY_MAX, NULL, "about how many tokens a request has", NULL },
	{ "POST", "/v1/messages", TH_SCOPE_RUN, th_v1_messages, TH_HTTP1_BODY_MAX, NULL, "Anthropic's Messages API, each request for itself", NULL },
	{ NULL, NULL, 0, NULL, 0, NULL, NULL, NULL },
};
// clang-format on

/* The newest session of a conversation, where it goes on; its metadata are in the first. */
static bool conversation_of(struct th_access *a, struct th_str name, bool first,
			    char ret[static TH_SESSION_ID_MAX + 1])
{
	struct th_conversation p;

	return th_conversation_find(&a->needs, a->user, name, &p) == TH_STORED_FOUND &&
	       th_session_name(th_str_of(first ? p.first : p.head), ret);
}

static bool session_of(struct th_access *a, char ret[static TH_SESSION_ID_MAX + 1])
{
	struct th_str path = th_str_of(a->route->path), name = th_str_of(a->args[0]);
	bool one = th_str_is(path, "/v1/conversations/{id}");
	bool first = strcmp(a->route->method, one ? "POST" : "DELETE") == 0;

	if (th_str_starts(path, TH_STR("/v1/responses/{id}")))
		return th_response_session_of(name, ret);
	if (th_str_is(path, "/v1/responses"))
		return th_response_place(&a->needs, a->user, th_http_body(a->request), ret) ==
		       TH_STORED_FOUND;
	if (one && strcmp(a->route->method, "GET") == 0)
		return false; /* it is read out of the store */
	return th_str_starts(path, TH_STR("/v1/conversations/{id}")) &&
	       conversation_of(a, name, first, ret);
}

const struct th_service th_service_models = {
	.name = "models",
	.routes = routes,
	.doc = th_models_doc,
	.session_of = session_of,
	.finish = th_v1_sockets_finish,
	.free = th_raw_agents_free,
};
