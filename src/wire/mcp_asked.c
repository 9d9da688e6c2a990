/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_asked.c - what a server asks (MCP): by a request of its own, or by an answer that wants the
 * request made again.
 */
#include "wire/mcp_talk.h"

#include "base/text.h"

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

struct th_mcp_request *th_mcp_asker(struct th_mcp_client *c)
{
	struct th_mcp_request *r = c->heard_for ? th_mcp_request_find(c, c->heard_for, NULL) : NULL;

	for (size_t i = 0; !c->heard_for && i < TH_COUNT(c->requests); i++)
		if (c->requests[i].id &&
		    (!strcmp(c->requests[i].method, "tools/call") ||
		     !strcmp(c->requests[i].method, "tasks/result")) &&
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

void th_mcp_client_refuse(struct th_mcp_client *c, struct th_str id, struct th_str why)
{
	struct th_buf out = TH_BUF_INIT(16 * TH_KIB);

	th_rpc_print_error(id, -1, why, TH_STR(""), &out);
	if (!th_buf_check(&out, "the answer", NULL))
		c->ops->send(c->ctx, th_buf_str(&out));
	th_buf_deinit(&out);
}

/* Somebody else than we answers that. */
static bool is_question(const struct th_mcp_client *c, struct th_str method, bool *ret_sample)
{
	*ret_sample = c->samples && th_str_is(method, "sampling/createMessage");
	return *ret_sample || th_str_is(method, "elicitation/create");
}

void th_mcp_asked_take(struct th_mcp_client *c, const struct th_rpc *m)
{
	struct th_buf out = TH_BUF_INIT(16 * TH_KIB), result = TH_BUF_INIT(16 * TH_KIB);
	struct th_mcp_request *r = c->ops->asked ? th_mcp_asker(c) : NULL;
	struct th_jw w = th_jw(&result);
	bool sample;

	if (m->id.len > 256)
		return;
	if (r && is_question(c, m->method, &sample)) {
		c->ops->asked(c->ctx, r->user,
			      &(struct th_mcp_question){
				  .params = m->params, .id = m->id, .sample = sample });
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

enum th_code th_mcp_asked_again(struct th_mcp_client *c, struct th_mcp_request *r,
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
		r->progress = 0;
		th_mcp_say(c, r->id, r->method, th_buf_str(&params), r->id, true);
	}
	th_buf_deinit(&inputs);
	th_buf_deinit(&params);
	return code;
}

bool th_mcp_asked_person(struct th_mcp_client *c, struct th_mcp_request *r, struct th_str value)
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
		} else if (!found && is_question(c, method, &q.sample)) {
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
		th_mcp_request_free(c, r);
		c->ops->asked(c->ctx, user, &q);
	}
	th_buf_deinit(&inputs);
	th_buf_deinit(&key);
	return found;
}
