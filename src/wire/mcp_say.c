/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_say.c - what is said to a server (MCP), and the requests under way. */
#include "wire/mcp_talk.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire/mcp_offer.h"

void th_mcp_say_call(struct th_mcp_client *c, uint64_t id, const char *method, struct th_str params)
{
	struct th_buf out = TH_BUF_INIT(TH_MCP_LINE_MAX);
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	th_rpc_print_call(id ? th_str_of(number) : TH_STR(""), method, params, &out);
	if (!th_buf_check(&out, "the message", NULL))
		c->ops->send(c->ctx, th_buf_str(&out));
	th_buf_deinit(&out);
}

void th_mcp_say_self(struct th_jw *w, const char *name)
{
	th_jw_name(w, th_str_of(name));
	th_jw_object(w);
	th_jw_kstr(w, "name", TH_STR("thole"));
	th_jw_kstr(w, "version", TH_STR(TH_VERSION));
	th_jw_object_end(w);
}

void th_mcp_say_capabilities(const struct th_mcp_client *c, struct th_jw *w, const char *name,
			     bool modern)
{
	th_jw_name(w, th_str_of(name));
	th_jw_object(w);
	if (c->root_uri.len) {
		th_jw_name(w, TH_STR("roots"));
		th_jw_object(w);
		th_jw_object_end(w);
	}
	if (c->ops->asked)
		th_jw_kraw(w, "elicitation", TH_STR("{\"form\":{},\"url\":{}}"));
	if (c->ops->asked && c->samples)
		th_jw_kraw(w, "sampling", TH_STR("{}"));
	if (modern)
		th_jw_kraw(w, "extensions", TH_STR("{\"" TH_MCP_META "tasks\":{}}"));
	th_jw_object_end(w);
}

/* `params` with the _meta of its era; of a modern request `progress` is its id. */
static void put_params(const struct th_mcp_client *c, struct th_str params, uint64_t progress,
		       bool modern, struct th_buf *out)
{
	struct th_jw w = th_jw(out);
	struct th_str inside = th_str_trim(th_str_sub(params, 1, params.len - 2));

	assert(params.len >= 2 && params.ptr[0] == '{');
	th_buf_add_char(out, '{');
	th_buf_add(out, inside);
	th_buf_add_cstr(out, inside.len ? ",\"_meta\":" : "\"_meta\":");
	th_jw_object(&w);
	if (modern) {
		th_jw_kstr(&w, TH_MCP_META "protocolVersion", TH_STR(TH_MCP_REVISION_MODERN));
		th_mcp_say_capabilities(c, &w, TH_MCP_META "clientCapabilities", true);
		th_mcp_say_self(&w, TH_MCP_META "clientInfo");
	}
	if (modern && progress && (c->abilities & TH_MCP_LOGGING))
		th_jw_kstr(&w, TH_MCP_META "logLevel", TH_STR("info"));
	if (progress)
		th_jw_kuint(&w, "progressToken", progress);
	th_jw_object_end(&w);
	th_buf_add_char(out, '}');
}

void th_mcp_say(struct th_mcp_client *c, uint64_t id, const char *method, struct th_str params,
		uint64_t progress, bool modern)
{
	struct th_buf out = TH_BUF_INIT(TH_MCP_LINE_MAX);

	if (modern || progress)
		put_params(c, params, progress, modern, &out);
	else
		th_buf_add(&out, params);
	th_mcp_say_call(c, id, method, th_buf_str(&out));
	th_buf_deinit(&out);
}

/* ---- requests ------------------------------------------------------------------------------- */

struct th_mcp_request *th_mcp_request_find(struct th_mcp_client *c, uint64_t id, const void *user)
{
	for (size_t i = 0; i < TH_COUNT(c->requests); i++)
		if (c->requests[i].id &&
		    (id ? c->requests[i].id == id : c->requests[i].user == user))
			return &c->requests[i];
	return NULL;
}

void th_mcp_request_free(struct th_mcp_client *c, struct th_mcp_request *r)
{
	free(r->params);
	*r = (struct th_mcp_request){ 0 };
	c->request_count--;
}

enum th_code th_mcp_client_request(struct th_mcp_client *c, const char *method,
				   struct th_str params, void *user, struct th_err *err)
{
	struct th_mcp_request *r = c->requests;

	assert(c->open);
	if (c->request_count == TH_MCP_PENDING_MAX)
		return th_fail(err, TH_ELIMIT,
			       "%d requests to the server are under way, the maximum",
			       TH_MCP_PENDING_MAX);
	while (r->id)
		r++;
	c->request_count++;
	*r = (struct th_mcp_request){ .id = ++c->ids, .user = user, .method = method };
	if (c->era == TH_MCP_ERA_MODERN) {
		r->params = (char *)th_alloc(params.len + 1);
		memcpy(r->params, params.ptr, params.len);
		r->params_len = params.len;
	}
	th_mcp_say(c, r->id, method, params, r->id, c->era == TH_MCP_ERA_MODERN);
	return TH_OK;
}

uint64_t th_mcp_client_cancel(struct th_mcp_client *c, const void *user, const char *reason)
{
	struct th_mcp_request *r = th_mcp_request_find(c, 0, user);
	struct th_buf params = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&params);

	uint64_t id = r ? r->id : 0;

	if (!r)
		return 0;
	th_jw_object(&w);
	th_jw_kuint(&w, "requestId", id);
	th_jw_kstr(&w, "reason", th_str_of(reason));
	th_jw_object_end(&w);
	th_mcp_request_free(c, r);
	th_mcp_say_call(c, 0, "notifications/cancelled", th_buf_str(&params));
	th_buf_deinit(&params);
	return id;
}

void *th_mcp_client_forget(struct th_mcp_client *c, uint64_t id)
{
	struct th_mcp_request *r = id ? th_mcp_request_find(c, id, NULL) : NULL;
	void *user = r ? r->user : NULL;

	if (r)
		th_mcp_request_free(c, r);
	return user;
}
