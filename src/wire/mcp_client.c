/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/mcp_client.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/field.h"
#include "base/text.h"
#include "wire/jsonrpc.h"
#include "wire/mcp_offer.h"

#define META "io.modelcontextprotocol/"
#define UNSUPPORTED_VERSION (-32022)
#define LIST_CHANGED "notifications/tools/list_changed"

static const char *const legacy[] = { TH_MCP_REVISION_LEGACY, "2025-06-18", "2025-03-26",
				      "2024-11-05", NULL };

/* A path as a URI: what is no letter, digit or one of "-._~/" is escaped. */
static void put_uri(struct th_buf *out, struct th_str path)
{
	static const char hex[] = "0123456789ABCDEF";

	th_buf_add_cstr(out, "file://");
	for (size_t i = 0; i < path.len; i++) {
		unsigned char c = (unsigned char)path.ptr[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    (c && strchr("-._~/", c))) {
			th_buf_add_char(out, (char)c);
			continue;
		}
		th_buf_add_char(out, '%');
		th_buf_add_char(out, hex[c >> 4]);
		th_buf_add_char(out, hex[c & 15]);
	}
}

void th_mcp_client_init(struct th_mcp_client *c, const struct th_mcp_client_ops *ops, void *ctx,
			enum th_mcp_era era, struct th_str root)
{
	*c = (struct th_mcp_client){ .ops = ops, .ctx = ctx, .era = era };
	th_buf_init(&c->root_uri, 4 * TH_PATH_LEN_MAX);
	if (root.len)
		put_uri(&c->root_uri, root);
}

static void request_free(struct th_mcp_client *c, struct th_mcp_request *r)
{
	free(r->params);
	*r = (struct th_mcp_request){ 0 };
	c->request_count--;
}

void th_mcp_client_reset(struct th_mcp_client *c)
{
	for (size_t i = 0; i < TH_COUNT(c->requests); i++)
		if (c->requests[i].id)
			request_free(c, &c->requests[i]);
	c->discover_id = c->initialize_id = c->listen_id = 0;
	c->noise = 0;
	c->open = false;
}

void th_mcp_client_deinit(struct th_mcp_client *c)
{
	th_mcp_client_reset(c);
	th_buf_deinit(&c->root_uri);
}

/* ---- what is said ------------------------------------------------------------------------- */

static void send_call(struct th_mcp_client *c, uint64_t id, const char *method,
		      struct th_str params)
{
	struct th_buf out = TH_BUF_INIT(TH_MCP_LINE_MAX);
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	th_rpc_print_call(id ? th_str_of(number) : TH_STR(""), method, params, &out);
	if (!th_buf_check(&out, "the message", NULL))
		c->ops->send(c->ctx, th_buf_str(&out));
	th_buf_deinit(&out);
}

static void put_self(struct th_jw *w, const char *name)
{
	th_jw_name(w, th_str_of(name));
	th_jw_object(w);
	th_jw_kstr(w, "name", TH_STR("thole"));
	th_jw_kstr(w, "version", TH_STR(TH_VERSION));
	th_jw_object_end(w);
}

/* What we can be asked for. */
static void put_capabilities(const struct th_mcp_client *c, struct th_jw *w, const char *name)
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
		th_jw_kstr(&w, META "protocolVersion", TH_STR(TH_MCP_REVISION_MODERN));
		put_capabilities(c, &w, META "clientCapabilities");
		put_self(&w, META "clientInfo");
	}
	if (progress)
		th_jw_kuint(&w, "progressToken", progress);
	th_jw_object_end(&w);
	th_buf_add_char(out, '}');
}

static void say(struct th_mcp_client *c, uint64_t id, const char *method, struct th_str params,
		uint64_t progress, bool modern)
{
	struct th_buf out = TH_BUF_INIT(TH_MCP_LINE_MAX);

	if (modern || progress)
		put_params(c, params, progress, modern, &out);
	else
		th_buf_add(&out, params);
	send_call(c, id, method, th_buf_str(&out));
	th_buf_deinit(&out);
}

static void discover(struct th_mcp_client *c)
{
	c->discover_id = ++c->ids;
	say(c, c->discover_id, "server/discover", TH_STR("{}"), 0, true);
}

static void initialize(struct th_mcp_client *c)
{
	struct th_buf params = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&params);

	c->initialize_id = ++c->ids;
	th_jw_object(&w);
	th_jw_kstr(&w, "protocolVersion", TH_STR(TH_MCP_REVISION_LEGACY));
	put_capabilities(c, &w, "capabilities");
	put_self(&w, "clientInfo");
	th_jw_object_end(&w);
	say(c, c->initialize_id, "initialize", th_buf_str(&params), 0, false);
	th_buf_deinit(&params);
}

/* Tells us when its list changes: a request of its own, which never ends. */
static void listen_to(struct th_mcp_client *c)
{
	c->listen_id = ++c->ids;
	say(c, c->listen_id, "subscriptions/listen",
	    TH_STR("{\"notifications\":{\"toolsListChanged\":true}}"), 0, true);
}

static void open_modern(struct th_mcp_client *c)
{
	c->era = TH_MCP_ERA_MODERN;
	c->discover_id = c->initialize_id = 0;
	c->open = true;
	snprintf(c->revision, sizeof(c->revision), "%s", TH_MCP_REVISION_MODERN);
	if (c->tells_changes)
		listen_to(c);
	c->ops->opened(c->ctx);
}

void th_mcp_client_begin(struct th_mcp_client *c)
{
	assert(!c->open);
	if (c->era == TH_MCP_ERA_MODERN)
		open_modern(c);
	else if (c->era == TH_MCP_ERA_LEGACY)
		initialize(c);
	else
		discover(c);
}

bool th_mcp_client_silent(struct th_mcp_client *c)
{
	if (c->open || c->initialize_id)
		return false;
	initialize(c);
	return true;
}

static struct th_mcp_request *find(struct th_mcp_client *c, uint64_t id, const void *user)
{
	for (size_t i = 0; i < TH_COUNT(c->requests); i++)
		if (c->requests[i].id &&
		    (id ? c->requests[i].id == id : c->requests[i].user == user))
			return &c->requests[i];
	return NULL;
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
	say(c, r->id, method, params, r->id, c->era == TH_MCP_ERA_MODERN);
	return TH_OK;
}

uint64_t th_mcp_client_cancel(struct th_mcp_client *c, const void *user, const char *reason)
{
	struct th_mcp_request *r = find(c, 0, user);
	struct th_buf params = TH_BUF_INIT(TH_KIB);
	struct th_jw w = th_jw(&params);

	uint64_t id = r ? r->id : 0;

	if (!r)
		return 0;
	th_jw_object(&w);
	th_jw_kuint(&w, "requestId", id);
	th_jw_kstr(&w, "reason", th_str_of(reason));
	th_jw_object_end(&w);
	request_free(c, r);
	send_call(c, 0, "notifications/cancelled", th_buf_str(&params));
	th_buf_deinit(&params);
	return id;
}

void *th_mcp_client_forget(struct th_mcp_client *c, uint64_t id)
{
	struct th_mcp_request *r = id ? find(c, id, NULL) : NULL;
	void *user = r ? r->user : NULL;

	if (r)
		request_free(c, r);
	return user;
}

/* ---- the first answers -------------------------------------------------------------------- */

static void note_software(struct th_mcp_client *c, const struct th_json *info)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB);
	struct th_str name = th_utf8_cut(th_json_get_str(info, "name"), 80);
	struct th_str version = th_utf8_cut(th_json_get_str(info, "version"), 40);

	if (name.len) {
		th_text_line(&text, name, 80);
		th_buf_add_cstr(&text, version.len ? " " : "");
		th_text_line(&text, version, 40);
		snprintf(c->software, sizeof(c->software), "%.*s",
			 TH_FMT(th_utf8_cut(th_buf_str(&text), sizeof(c->software) - 1)));
	}
	th_buf_deinit(&text);
}

static void note_abilities(struct th_mcp_client *c, const struct th_json *capabilities)
{
	const struct th_json *tools = th_json_get(capabilities, "tools");

	c->tells_changes = th_json_bool(th_json_get(tools, "listChanged"), false);
	c->abilities = 0;
	if (th_json_is_object(th_json_get(capabilities, "resources")))
		c->abilities |= TH_MCP_RESOURCES;
	if (th_json_is_object(th_json_get(capabilities, "prompts")))
		c->abilities |= TH_MCP_PROMPTS;
}

static enum th_code on_discovered(struct th_mcp_client *c, const struct th_json *result)
{
	struct th_json_iter it = th_json_iter(th_json_get(result, "supportedVersions"));
	bool ours = false;

	while (th_json_is_array(it.parent) && th_json_next(&it))
		ours |= th_str_is(th_json_str(it.val), TH_MCP_REVISION_MODERN);
	if (!ours) {
		(void)th_mcp_client_silent(c);
		return TH_OK;
	}
	note_abilities(c, th_json_get(result, "capabilities"));
	note_software(c, th_json_get(th_json_get(result, "_meta"), META "serverInfo"));
	open_modern(c);
	return TH_OK;
}

static enum th_code on_initialized(struct th_mcp_client *c, const struct th_json *result,
				   struct th_err *err)
{
	struct th_str revision = th_json_get_str(result, "protocolVersion");

	if (th_names_find(legacy, revision) < 0)
		return th_fail(err, TH_EPROTO,
			       "the server speaks revision \"%.*s\" of MCP, which is none "
			       "of " TH_MCP_REVISION_MODERN
			       " and 2024-11-05 to " TH_MCP_REVISION_LEGACY,
			       TH_FMT(th_utf8_cut(revision, 40)));
	c->era = TH_MCP_ERA_LEGACY;
	c->discover_id = c->initialize_id = 0;
	c->open = true;
	snprintf(c->revision, sizeof(c->revision), "%.*s", TH_FMT(revision));
	note_abilities(c, th_json_get(result, "capabilities"));
	note_software(c, th_json_get(result, "serverInfo"));
	send_call(c, 0, "notifications/initialized", TH_STR(""));
	c->ops->opened(c->ctx);
	return TH_OK;
}

/* ---- what the server asks ------------------------------------------------------------------ */

static void put_roots(const struct th_mcp_client *c, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_name(w, TH_STR("roots"));
	th_jw_array(w);
	th_jw_object(w);
	th_jw_kstr(w, "uri", th_buf_str(&c->root_uri));
	th_jw_kstr(w, "name", TH_STR("workspace"));
	th_jw_object_end(w);
	th_jw_array_end(w);
	th_jw_object_end(w);
}

/* Who is asked: whoever waits for the answer in whose course the question came, else the newest
 * call.  NULL: nobody. */
static struct th_mcp_request *asker(struct th_mcp_client *c)
{
	struct th_mcp_request *r = c->heard_for ? find(c, c->heard_for, NULL) : NULL;

	for (size_t i = 0; !c->heard_for && i < TH_COUNT(c->requests); i++)
		if (c->requests[i].id && !strcmp(c->requests[i].method, "tools/call") &&
		    (!r || c->requests[i].id > r->id))
			r = &c->requests[i];
	return r;
}

void th_mcp_client_reply(struct th_mcp_client *c, struct th_str id, struct th_str result)
{
	struct th_buf out = TH_BUF_INIT(2 * TH_MCP_ANSWER_MAX);

	th_rpc_print_result(id, result, &out);
	if (!th_buf_check(&out, "the answer", NULL))
		c->ops->send(c->ctx, th_buf_str(&out));
	th_buf_deinit(&out);
}

static void on_request(struct th_mcp_client *c, const struct th_rpc *m)
{
	struct th_buf out = TH_BUF_INIT(16 * TH_KIB), result = TH_BUF_INIT(16 * TH_KIB);
	struct th_mcp_request *r = c->ops->asked ? asker(c) : NULL;
	struct th_jw w = th_jw(&result);

	if (m->id.len > 256)
		return;
	if (r && th_str_is(m->method, "elicitation/create")) {
		c->ops->asked(c->ctx, r->user,
			      &(struct th_mcp_question){ .params = m->params, .id = m->id });
		th_buf_deinit(&out);
		th_buf_deinit(&result);
		return;
	}
	if (th_str_is(m->method, "ping")) {
		th_rpc_print_result(m->id, TH_STR("{}"), &out);
	} else if (th_str_is(m->method, "roots/list") && c->root_uri.len) {
		put_roots(c, &w);
		th_rpc_print_result(m->id, th_buf_str(&result), &out);
	} else {
		th_rpc_print_error(m->id, TH_RPC_EMETHOD, TH_STR("this client has no such method"),
				   TH_STR(""), &out);
	}
	c->ops->send(c->ctx, th_buf_str(&out));
	th_buf_deinit(&out);
	th_buf_deinit(&result);
}

/* The answers to a modern server's questions, as members of the request that is made again.  Not
 * TH_OK: it asks for what we did not say that we have. */
static enum th_code put_inputs(const struct th_mcp_client *c, const struct th_json *result,
			       struct th_buf *out, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(result, "inputRequests"));
	const struct th_json *state = th_json_get(result, "requestState");
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	if (th_json_is_object(it.parent)) {
		th_jw_name(&w, TH_STR("inputResponses"));
		th_jw_object(&w);
		while (th_json_next(&it)) {
			struct th_str method = th_json_get_str(it.val, "method");

			if (!th_str_is(method, "roots/list") || !c->root_uri.len)
				return th_fail(
				    err, TH_EUNSUPPORTED,
				    "the server asks for %.*s, which is not offered to it",
				    TH_FMT(th_utf8_cut(method, 60)));
			th_jw_key(&w, it.key);
			put_roots(c, &w);
		}
		th_jw_object_end(&w);
	}
	if (state) {
		th_jw_name(&w, TH_STR("requestState"));
		th_jw_json(&w, state);
	}
	th_jw_object_end(&w);
	return TH_OK;
}

/* Asks once more, with the answers: the same user, another id. */
static enum th_code ask_again(struct th_mcp_client *c, struct th_mcp_request *r,
			      const struct th_json *result, struct th_err *err)
{
	struct th_buf inputs = TH_BUF_INIT(TH_MIB), params = TH_BUF_INIT(TH_MCP_LINE_MAX);
	struct th_str own = th_str_n(r->params, r->params_len);
	enum th_code code;

	if (++r->rounds > TH_MCP_ROUNDS_MAX)
		code = th_fail(err, TH_ELIMIT, "the server asked %d times before an answer",
			       TH_MCP_ROUNDS_MAX);
	else
		code = put_inputs(c, result, &inputs, err);
	if (!code)
		code = th_buf_check(&inputs, "the answers to the server's questions", err);
	if (!code) {
		own = th_str_sub(own, 0, own.len - 1);
		th_buf_add(&params, own);
		th_buf_add_cstr(&params, inputs.len > 2 && own.len > 1 ? "," : "");
		th_buf_add(&params, th_str_sub(th_buf_str(&inputs), 1, inputs.len - 1));
		r->id = ++c->ids;
		say(c, r->id, r->method, th_buf_str(&params), r->id, true);
	}
	th_buf_deinit(&inputs);
	th_buf_deinit(&params);
	return code;
}

/* The first of its questions that a person must answer; roots go along with it.  False: there is
 * none. */
static bool ask_person(struct th_mcp_client *c, struct th_mcp_request *r, struct th_str value)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(value, "inputRequests"));
	struct th_mcp_question q = { .state = th_json_raw_get(value, "requestState") };
	struct th_buf inputs = TH_BUF_INIT(64 * TH_KIB), key = TH_BUF_INIT(4 * TH_KIB);
	struct th_jw w = th_jw(&inputs);
	void *user = r->user;
	bool found = false;

	th_jw_object(&w);
	while (c->ops->asked && th_json_raw_next(&it)) {
		struct th_str method = th_json_raw_inside(th_json_raw_get(it.val, "method"));

		if (th_str_is(method, "roots/list") && c->root_uri.len) {
			th_jw_name(&w, it.key); /* escaped already */
			put_roots(c, &w);
		} else if (!found && th_str_is(method, "elicitation/create")) {
			q.params = th_json_raw_get(it.val, "params");
			th_buf_printf(&key, "\"%.*s\"", TH_FMT(it.key));
			found = true;
		}
	}
	th_jw_object_end(&w);
	q.key = th_buf_str(&key);
	q.inputs = th_buf_str(&inputs);
	found = found && !inputs.failed && !key.failed;
	if (found) {
		request_free(c, r);
		c->ops->asked(c->ctx, user, &q);
	}
	th_buf_deinit(&inputs);
	th_buf_deinit(&key);
	return found;
}

/* ---- answers -------------------------------------------------------------------------------- */

static void fail(struct th_mcp_client *c, struct th_mcp_request *r, const struct th_err *err)
{
	void *user = r->user;

	request_free(c, r);
	c->ops->failed(c->ctx, user, err);
}

static void on_answer(struct th_mcp_client *c, struct th_mcp_request *r, struct th_str value)
{
	struct th_str type = th_json_raw_inside(th_json_raw_get(value, "resultType"));
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_err err = { 0 };
	void *user = r->user;

	if (!th_json_raw_is_object(value)) {
		th_fail(&err, TH_EPROTO, "the server's answer is not an object");
		fail(c, r, &err);
		return;
	}
	if (c->era != TH_MCP_ERA_MODERN || !type.len || th_str_is(type, "complete")) {
		request_free(c, r);
		c->ops->answered(c->ctx, user, value);
		return;
	}
	if (th_str_is(type, "input_required") && ask_person(c, r, value))
		return;
	if (!th_str_is(type, "input_required"))
		th_fail(&err, TH_EUNSUPPORTED, "the server answers with a result of the type %.*s",
			TH_FMT(th_utf8_cut(type, 60)));
	else if (!th_json_parse(value, &doc, &err))
		(void)!ask_again(c, r, th_json_root(doc), &err);
	if (err.code)
		fail(c, r, &err);
}

static void on_error(struct th_mcp_client *c, struct th_mcp_request *r, struct th_str value)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_buf text = TH_BUF_INIT(TH_ERR_MSG_MAX);
	struct th_err err = { 0 };

	if (th_json_parse(value, &doc, NULL) == TH_OK)
		th_text_line(&text, th_utf8_cut(th_json_get_str(th_json_root(doc), "message"), 400),
			     400);
	th_fail(&err, TH_EPROTO, "the server refused it: %s (error %lld)",
		text.len ? text.ptr : "it does not say why",
		(long long)th_json_get_int(th_json_root(doc), "code", 0));
	th_buf_deinit(&text);
	fail(c, r, &err);
}

/* A modern server, which refuses the revision that we said; perhaps only for now. */
static enum th_code on_unsupported(struct th_mcp_client *c, const struct th_json *data,
				   struct th_err *err)
{
	struct th_json_iter it = th_json_iter(th_json_get(data, "supported"));
	bool modern = false, older = false;

	while (th_json_is_array(it.parent) && th_json_next(&it)) {
		modern |= th_str_is(th_json_str(it.val), TH_MCP_REVISION_MODERN);
		older |= th_names_find(legacy, th_json_str(it.val)) >= 0;
	}
	if (modern && !c->refused) {
		c->refused = true;
		discover(c);
		return TH_OK;
	}
	if (older) {
		(void)th_mcp_client_silent(c);
		return TH_OK;
	}
	return th_fail(
	    err, TH_EPROTO,
	    "the server speaks no revision of MCP that is known here: " TH_MCP_REVISION_MODERN
	    ", or 2024-11-05 to " TH_MCP_REVISION_LEGACY);
}

/* To the first word.  Anything but a modern answer to `server/discover` is an older server's. */
static enum th_code on_first(struct th_mcp_client *c, uint64_t id, const struct th_rpc *m,
			     struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str why;

	if (th_json_parse(m->value, &doc, err))
		return th_prefix(err, TH_EPROTO, "the server's first answer");
	if (id == c->discover_id) {
		c->discover_id = 0;
		if (m->kind == TH_RPC_RESULT)
			return on_discovered(c, th_json_root(doc));
		if (th_json_get_int(th_json_root(doc), "code", 0) == UNSUPPORTED_VERSION)
			return on_unsupported(c, th_json_get(th_json_root(doc), "data"), err);
		(void)th_mcp_client_silent(c);
		return TH_OK;
	}
	if (m->kind == TH_RPC_RESULT)
		return on_initialized(c, th_json_root(doc), err);
	c->initialize_id = 0;
	why = th_utf8_cut(th_json_get_str(th_json_root(doc), "message"), 300);
	return th_fail(err, TH_EPROTO, "the server refused to begin: %.*s", TH_FMT(why));
}

static void on_progress(struct th_mcp_client *c, const struct th_json *params)
{
	struct th_mcp_request *r =
	    find(c, (uint64_t)th_json_get_int(params, "progressToken", 0) ?: UINT64_MAX, NULL);
	double done = th_json_num(th_json_get(params, "progress"), -1);
	double total = th_json_num(th_json_get(params, "total"), -1);
	struct th_buf text = TH_BUF_INIT(2 * TH_KIB);

	if (!r)
		return;
	if (done >= 0 && total > 0)
		th_buf_printf(&text, "%.6g of %.6g", done, total);
	else if (done >= 0)
		th_buf_printf(&text, "%.6g", done);
	if (th_json_get_str(params, "message").len) {
		th_buf_add_cstr(&text, text.len ? ": " : "");
		th_text_line(&text, th_utf8_cut(th_json_get_str(params, "message"), 500), 500);
	}
	if (text.len)
		c->ops->progress(c->ctx, r->user, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void on_notification(struct th_mcp_client *c, const struct th_rpc *m)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (th_str_is(m->method, LIST_CHANGED))
		c->ops->tools_changed(c->ctx);
	else if (th_str_is(m->method, "notifications/progress") &&
		 th_json_parse(m->params, &doc, NULL) == TH_OK)
		on_progress(c, th_json_root(doc));
}

static enum th_code noise(struct th_mcp_client *c, struct th_err *err)
{
	if (++c->noise <= TH_MCP_NOISE_MAX)
		return TH_OK;
	return th_fail(err, TH_EPROTO, "the server sent more than %d messages that answer nothing",
		       TH_MCP_NOISE_MAX);
}

/* Not what a program prints: whoever waits for it would wait in vain. */
static bool looks_like_one(struct th_str message)
{
	return message.ptr[0] == '{' &&
	       th_str_find(th_str_sub(message, 0, TH_KIB), TH_STR("\"jsonrpc\"")) > 0;
}

enum th_code th_mcp_client_take(struct th_mcp_client *c, struct th_str message, struct th_err *err)
{
	struct th_mcp_request *r;
	struct th_rpc m;
	int64_t id = 0;

	message = th_str_trim(message);
	if (!message.len)
		return TH_OK;
	th_rpc_read(message, &m);
	if (m.kind == TH_RPC_REQUEST)
		on_request(c, &m);
	else if (m.kind == TH_RPC_NOTIFICATION)
		on_notification(c, &m);
	if (m.kind == TH_RPC_BROKEN && looks_like_one(message))
		return th_fail(
		    err, TH_EPROTO,
		    "the server sent a message that cannot be read: it is no JSON, or more "
		    "than %d values deep",
		    TH_JSON_DEPTH_MAX);
	if (m.kind != TH_RPC_RESULT && m.kind != TH_RPC_ERROR)
		return noise(c, err); /* what a program prints beside the protocol, too */
	if (!th_str_i64(m.id, &id) || id <= 0)
		return noise(c, err);
	if (!c->open && ((uint64_t)id == c->discover_id || (uint64_t)id == c->initialize_id))
		return on_first(c, (uint64_t)id, &m, err);
	if ((uint64_t)id == c->listen_id) {
		c->listen_id = 0; /* it will not tell, or no longer */
		return TH_OK;
	}
	r = find(c, (uint64_t)id, NULL);
	if (!r)
		return noise(c, err);
	c->noise = 0;
	if (m.kind == TH_RPC_RESULT)
		on_answer(c, r, m.value);
	else
		on_error(c, r, m.value);
	return TH_OK;
}
