/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_client.c - a conversation with a server (MCP): its answers, and what it tells. */
#include "wire/mcp_talk.h"

#include <stdlib.h>

#include "base/text.h"

#define LIST_CHANGED "notifications/tools/list_changed"

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
	th_buf_init(&c->instructions, TH_MCP_INSTRUCTIONS_MAX);
	th_buf_init(&c->root_uri, 4 * TH_PATH_LEN_MAX);
	if (root.len)
		put_uri(&c->root_uri, root);
}

void th_mcp_client_reset(struct th_mcp_client *c)
{
	for (size_t i = 0; i < TH_COUNT(c->requests); i++)
		if (c->requests[i].id)
			th_mcp_request_free(c, &c->requests[i]);
	c->discover_id = c->initialize_id = c->listen_id = 0;
	c->noise = 0;
	c->open = false;
}

void th_mcp_client_deinit(struct th_mcp_client *c)
{
	th_mcp_client_reset(c);
	th_buf_deinit(&c->instructions);
	th_buf_deinit(&c->root_uri);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void fail(struct th_mcp_client *c, struct th_mcp_request *r, const struct th_err *err)
{
	void *user = r->user;

	th_mcp_request_free(c, r);
	c->ops->failed(c->ctx, user, err);
}

/* A task of 2026-07-28 that waits: its questions stand in what is said of it. */
static bool asks_in_a_task(const struct th_mcp_client *c, const struct th_mcp_request *r,
			   struct th_str value)
{
	return c->era == TH_MCP_ERA_MODERN && !strcmp(r->method, "tasks/get") &&
	       th_str_is(th_json_raw_inside(th_json_raw_get(value, "status")), "input_required");
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
	if (asks_in_a_task(c, r, value) && th_mcp_asked_person(c, r, value))
		return;
	if (c->era != TH_MCP_ERA_MODERN || !type.len || th_str_is(type, "complete") ||
	    (th_str_is(type, "task") && !strcmp(r->method, "tools/call"))) {
		th_mcp_request_free(c, r);
		c->ops->answered(c->ctx, user, value);
		return;
	}
	if (th_str_is(type, "input_required") && th_mcp_asked_person(c, r, value))
		return;
	if (!th_str_is(type, "input_required"))
		th_fail(&err, TH_EUNSUPPORTED, "the server answers with a result of the type %.*s",
			TH_FMT(th_utf8_cut(type, 60)));
	else if (!th_json_parse(value, &doc, &err))
		(void)!th_mcp_asked_again(c, r, th_json_root(doc), &err);
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

/* True: a request that waits has come further, as the protocol says that each of them tells. */
static bool on_progress(struct th_mcp_client *c, const struct th_json *params)
{
	struct th_mcp_request *r = th_mcp_request_find(
	    c, (uint64_t)th_json_get_int(params, "progressToken", 0) ?: UINT64_MAX, NULL);
	double done = th_json_num(th_json_get(params, "progress"), -1);
	double total = th_json_num(th_json_get(params, "total"), -1);
	struct th_buf text = TH_BUF_INIT(2 * TH_KIB);
	bool further;

	if (!r)
		return false;
	further = done > r->progress;
	if (further)
		r->progress = done;
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
	return further;
}

/* A line of a server's log is shown as progress of the call in whose course it came. */
static void on_log(struct th_mcp_client *c, const struct th_json *params)
{
	struct th_mcp_request *r = th_mcp_asker(c);
	const struct th_json *data = th_json_get(params, "data");
	struct th_buf text = TH_BUF_INIT(TH_KIB), json = TH_BUF_INIT(64 * TH_KIB);

	if (r && data) {
		th_text_line(&text, th_utf8_cut(th_json_get_str(params, "level"), 20), 20);
		th_buf_add_cstr(&text, ": ");
		if (!th_json_str(data).ptr)
			th_json_print(data, &json);
		th_text_line(
		    &text, th_utf8_cut(json.len ? th_buf_str(&json) : th_json_str(data), 500), 500);
		c->ops->progress(c->ctx, r->user, th_buf_str(&text));
	}
	th_buf_deinit(&text);
	th_buf_deinit(&json);
}

/* True: it tells something that is waited for. */
static bool on_notification(struct th_mcp_client *c, const struct th_rpc *m)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (th_str_is(m->method, LIST_CHANGED))
		c->ops->tools_changed(c->ctx);
	else if (th_str_is(m->method, "notifications/progress") &&
		 th_json_parse(m->params, &doc, NULL) == TH_OK)
		return on_progress(c, th_json_root(doc));
	else if (th_str_is(m->method, "notifications/message") &&
		 th_json_parse(m->params, &doc, NULL) == TH_OK)
		on_log(c, th_json_root(doc));
	return false;
}

static enum th_code noise(struct th_mcp_client *c, struct th_err *err)
{
	if (++c->noise <= TH_MCP_NOISE_MAX)
		return TH_OK;
	return th_fail(err, TH_EPROTO, "the server sent more than %d messages that answer nothing",
		       TH_MCP_NOISE_MAX);
}

void th_mcp_client_calm(struct th_mcp_client *c)
{
	c->noise = 0;
}

/* Not what a program prints: whoever waits for it would wait in vain. */
static bool looks_like_one(struct th_str message)
{
	return message.ptr[0] == '{' &&
	       th_str_find(th_str_sub(message, 0, TH_KIB), TH_STR("\"jsonrpc\"")) > 0;
}

enum th_code th_mcp_client_take(struct th_mcp_client *c, struct th_str message, struct th_err *err)
{
	struct th_buf mended TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(message.len + 1);
	struct th_mcp_request *r;
	struct th_rpc m;
	int64_t id = 0;

	message = th_str_trim(message);
	if (!message.len)
		return TH_OK;
	if (th_rpc_mend(message, &mended))
		message = th_buf_str(&mended);
	th_rpc_read(message, &m);
	if (m.kind == TH_RPC_REQUEST)
		th_mcp_asked_take(c, &m);
	else if (m.kind == TH_RPC_NOTIFICATION && on_notification(c, &m))
		return TH_OK;
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
		return th_mcp_begin_take(c, (uint64_t)id, &m, err);
	if ((uint64_t)id == c->listen_id) {
		c->listen_id = 0; /* it will not tell, or no longer */
		return TH_OK;
	}
	r = th_mcp_request_find(c, (uint64_t)id, NULL);
	if (!r)
		return noise(c, err);
	c->noise = 0;
	if (m.kind == TH_RPC_RESULT)
		on_answer(c, r, m.value);
	else
		on_error(c, r, m.value);
	return TH_OK;
}
