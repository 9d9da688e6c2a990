/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chat.c - OpenAI's Chat Completions API: each request has the whole
 * conversation, and is a session of its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"
#include "model_wire/seal.h"
#include "server/fleet.h"

static const char *finish_reason(const struct th_reply *r)
{
	if (r->status == TH_REPLY_PARKED)
		return "tool_calls";
	return r->status == TH_REPLY_INCOMPLETE ? "length" : "stop";
}

static void put_usage(const struct th_reply *r, struct th_jw *w)
{
	th_jw_name(w, TH_STR("usage"));
	th_jw_object(w);
	th_jw_kint(w, "prompt_tokens", r->tokens_in);
	th_jw_kint(w, "completion_tokens", r->tokens_out);
	th_jw_kint(w, "total_tokens", r->tokens_in + r->tokens_out);
	th_jw_name(w, TH_STR("prompt_tokens_details"));
	th_jw_object(w);
	th_jw_kint(w, "cached_tokens", r->tokens_cached);
	th_jw_object_end(w);
	th_jw_name(w, TH_STR("completion_tokens_details"));
	th_jw_object(w);
	th_jw_kint(w, "reasoning_tokens", r->tokens_reasoning);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static void put_start(const struct th_response *p, struct th_jw *w, const char *object)
{
	struct th_str model = th_json_raw_get(th_str_of(p->echo), "model");
	char id[TH_RESPONSE_NAME_MAX + 16];

	snprintf(id, sizeof(id), "chatcmpl-%s", p->name + strlen("resp_"));
	th_jw_object(w);
	th_jw_kstr(w, "id", th_str_of(id));
	th_jw_kstr(w, "object", th_str_of(object));
	th_jw_kint(w, "created", p->created_ms / 1000);
	th_jw_kraw(w, "model", model);
	th_jw_kraw(w, "system_fingerprint", TH_STR("null"));
}

static void put_call(struct th_jw *w, const struct th_reply_item *item, int64_t index)
{
	struct th_str json = th_str_of(item->json);
	bool custom = th_str_is(th_json_raw_get(json, "type"), "\"custom_tool_call\"");

	th_jw_object(w);
	if (index >= 0)
		th_jw_kint(w, "index", index);
	th_jw_kraw(w, "id", th_json_raw_get(json, "call_id"));
	th_jw_kstr(w, "type", custom ? TH_STR("custom") : TH_STR("function"));
	th_jw_name(w, custom ? TH_STR("custom") : TH_STR("function"));
	th_jw_object(w);
	th_jw_kraw(w, "name", th_json_raw_get(json, "name"));
	th_jw_kraw(w, custom ? "input" : "arguments",
		   th_json_raw_get(json, custom ? "input" : "arguments"));
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static size_t calls(const struct th_reply *r)
{
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++)
		count += r->items[i].kind == TH_REPLY_CALL;
	return count;
}

/* As servers of open models have it, whole and in streams. */
static void put_reasoning(const struct th_reply *r, struct th_jw *w)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	for (size_t i = 0; i < r->count; i++) {
		struct th_buf one TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

		if (r->items[i].kind == TH_REPLY_REASONING &&
		    th_json_parse(th_str_of(r->items[i].json), &doc, NULL) == TH_OK)
			th_seal_text(th_json_root(doc), &one);
		th_buf_add(&text, th_buf_str(&one));
	}
	if (text.len)
		th_jw_kstr(w, "reasoning_content", th_buf_str(&text));
}

static void print(struct th_response *p, struct th_buf *out)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	const struct th_reply *r = &p->reply;
	struct th_jw w = th_jw(out);

	th_reply_text(r, &text);
	put_start(p, &w, "chat.completion");
	th_jw_name(&w, TH_STR("choices"));
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kint(&w, "index", 0);
	th_jw_name(&w, TH_STR("message"));
	th_jw_object(&w);
	th_jw_kstr(&w, "role", TH_STR("assistant"));
	if (text.len || !calls(r))
		th_jw_kstr(&w, "content", th_buf_str(&text));
	else
		th_jw_kraw(&w, "content", TH_STR("null"));
	th_jw_kraw(&w, "refusal", TH_STR("null"));
	put_reasoning(r, &w);
	if (calls(r)) {
		th_jw_name(&w, TH_STR("tool_calls"));
		th_jw_array(&w);
		for (size_t i = 0; i < r->count; i++)
			if (r->items[i].kind == TH_REPLY_CALL)
				put_call(&w, &r->items[i], -1);
		th_jw_array_end(&w);
	}
	th_jw_object_end(&w);
	th_jw_kraw(&w, "logprobs", TH_STR("null"));
	th_jw_kstr(&w, "finish_reason", th_str_of(finish_reason(r)));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	put_usage(r, &w);
	th_jw_object_end(&w);
}

/* ---- the stream ---- */

/* A chunk: `delta` is a JSON object; `finish` NULL: null. */
static void send_chunk(struct th_response *p, struct th_str change, const char *finish)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = th_jw(&out);

	put_start(p, &w, "chat.completion.chunk");
	th_jw_name(&w, TH_STR("choices"));
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kint(&w, "index", 0);
	th_jw_kraw(&w, "delta", change);
	th_jw_kraw(&w, "logprobs", TH_STR("null"));
	if (finish)
		th_jw_kstr(&w, "finish_reason", th_str_of(finish));
	else
		th_jw_kraw(&w, "finish_reason", TH_STR("null"));
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	th_response_send(p, NULL, th_buf_str(&out));
}

static void begin(struct th_response *p)
{
	send_chunk(p, TH_STR("{\"role\":\"assistant\",\"content\":\"\"}"), NULL);
}

static void send_text(struct th_response *p, const char *member, struct th_str text)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_kstr(&w, member, text);
	th_jw_object_end(&w);
	send_chunk(p, th_buf_str(&out), NULL);
}

static void delta(struct th_response *p, const char *kind, struct th_str text)
{
	if (strcmp(kind, "text") == 0) {
		p->message.open = true;
		send_text(p, "content", text);
	} else if (strcmp(kind, "reasoning") == 0) {
		send_text(p, "reasoning_content", text);
	}
}

static void send_message(struct th_response *p, const struct th_reply_item *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_reply_item copy = *item;
	const struct th_reply one = { .items = &copy, .count = 1 };

	if (!p->message.open) {
		th_reply_text(&one, &text);
		send_text(p, "content", th_buf_str(&text));
	}
	p->message.open = false;
}

static void tell_item(struct th_response *p, const struct th_reply_item *item)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&out);

	if (item->kind == TH_REPLY_MESSAGE)
		send_message(p, item);
	if (item->kind != TH_REPLY_CALL)
		return;
	th_jw_object(&w);
	th_jw_name(&w, TH_STR("tool_calls"));
	th_jw_array(&w);
	put_call(&w, item, (int64_t)p->index++);
	th_jw_array_end(&w);
	th_jw_object_end(&w);
	send_chunk(p, th_buf_str(&out), NULL);
}

static void end(struct th_response *p)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&out);

	if (p->reply.status == TH_REPLY_FAILED || p->reply.status == TH_REPLY_CANCELLED) {
		th_error_print(p->reply.fault ? p->reply.fault : 500, NULL,
			       p->reply.why ? p->reply.why : "the run failed", &out);
		th_response_send(p, NULL, th_buf_str(&out));
		return;
	}
	send_chunk(p, TH_STR("{}"), finish_reason(&p->reply));
	if (p->usage_wanted) {
		put_start(p, &w, "chat.completion.chunk");
		th_jw_kraw(&w, "choices", TH_STR("[]"));
		put_usage(&p->reply, &w);
		th_jw_object_end(&w);
		th_response_send(p, NULL, th_buf_str(&out));
	}
	th_response_send(p, NULL, TH_STR("[DONE]"));
}

const struct th_face th_face_chat = {
	.wire = "chat",
	.type = "text/event-stream",
	.ping = ": still here\n\n",
	.begin = begin,
	.delta = delta,
	.item = tell_item,
	.end = end,
	.print = print,
};

void th_v1_chat(struct th_access *a)
{
	const struct th_order order = { .face = &th_face_chat, .body = th_http_body(a->request) };
	struct th_response_fault fault;

	th_response_tier(a, order.body);
	if (th_quota_begin(a) && !th_response_make(a, &order, NULL, &fault) && !fault.pending &&
	    !th_forward_places(a, &fault.lacks))
		th_access_fault(a, fault.status, fault.code, fault.param, fault.message);
}
