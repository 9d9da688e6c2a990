/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.c - Anthropic's Messages API: each request has the whole
 * conversation, and is a session of its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"
#include "server/fleet.h"

static const char *stop_reason(const struct th_reply *r)
{
	if (r->status == TH_REPLY_PARKED)
		return "tool_use";
	return r->status == TH_REPLY_INCOMPLETE ? "max_tokens" : "end_turn";
}

static void put_start(const struct th_response *p, struct th_jw *w)
{
	char id[TH_RESPONSE_NAME_MAX + 16];

	snprintf(id, sizeof(id), "msg_%s", p->name + strlen("resp_"));
	th_jw_kstr(w, "id", th_str_of(id));
	th_jw_kstr(w, "type", TH_STR("message"));
	th_jw_kstr(w, "role", TH_STR("assistant"));
	th_jw_kraw(w, "model", th_json_raw_get(th_str_of(p->echo), "model"));
}

static void put_usage(const struct th_reply *r, struct th_jw *w)
{
	th_jw_name(w, TH_STR("usage"));
	th_jw_object(w);
	th_jw_kint(w, "input_tokens", r->tokens_in - r->tokens_cached);
	th_jw_kint(w, "cache_creation_input_tokens", 0);
	th_jw_kint(w, "cache_read_input_tokens", r->tokens_cached);
	th_jw_kint(w, "output_tokens", r->tokens_out);
	th_jw_object_end(w);
}

/* A call's block; `input`: with its arguments, as an object. */
static void put_call(struct th_jw *w, const struct th_reply_item *item, bool input)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_str json = th_str_of(item->json);
	bool good = th_json_unescape(th_json_raw_get(json, "arguments"), &text) &&
		    th_json_valid(th_buf_str(&text)) && text.ptr[0] == '{';

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("tool_use"));
	th_jw_kraw(w, "id", th_json_raw_get(json, "call_id"));
	th_jw_kraw(w, "name", th_json_raw_get(json, "name"));
	th_jw_kraw(w, "input", input && good ? th_buf_str(&text) : TH_STR("{}"));
	th_jw_object_end(w);
}

static void text_of(const struct th_reply_item *item, struct th_buf *out)
{
	struct th_reply_item copy = *item;
	const struct th_reply one = { .items = &copy, .count = 1 };

	th_reply_text(&one, out);
}

static void print(struct th_response *p, struct th_buf *out)
{
	const struct th_reply *r = &p->reply;
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	put_start(p, &w);
	th_jw_name(&w, TH_STR("content"));
	th_jw_array(&w);
	for (size_t i = 0; i < r->count; i++) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

		if (r->items[i].kind == TH_REPLY_CALL)
			put_call(&w, &r->items[i], true);
		if (r->items[i].kind != TH_REPLY_MESSAGE)
			continue;
		text_of(&r->items[i], &text);
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("text"));
		th_jw_kstr(&w, "text", th_buf_str(&text));
		th_jw_object_end(&w);
	}
	th_jw_array_end(&w);
	th_jw_kstr(&w, "stop_reason", th_str_of(stop_reason(r)));
	th_jw_kraw(&w, "stop_sequence", TH_STR("null"));
	put_usage(r, &w);
	th_jw_object_end(&w);
}

/* ---- the stream ---- */

static struct th_jw frame(struct th_buf *out, const char *type)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	return w;
}

static void send(struct th_response *p, struct th_jw *w, const char *type)
{
	th_jw_object_end(w);
	th_response_send(p, type, th_buf_str(w->out));
	th_buf_deinit(w->out);
}

static void begin(struct th_response *p)
{
	struct th_buf out = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = frame(&out, "message_start");

	th_jw_name(&w, TH_STR("message"));
	th_jw_object(&w);
	put_start(p, &w);
	th_jw_kraw(&w, "content", TH_STR("[]"));
	th_jw_kraw(&w, "stop_reason", TH_STR("null"));
	th_jw_kraw(&w, "stop_sequence", TH_STR("null"));
	put_usage(&p->reply, &w);
	th_jw_object_end(&w);
	send(p, &w, "message_start");
}

static void send_start(struct th_response *p, struct th_str block)
{
	struct th_buf out = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = frame(&out, "content_block_start");

	th_jw_kuint(&w, "index", p->index);
	th_jw_kraw(&w, "content_block", block);
	send(p, &w, "content_block_start");
}

static void send_delta(struct th_response *p, const char *type, const char *member,
		       struct th_str text)
{
	struct th_buf out = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = frame(&out, "content_block_delta");

	th_jw_kuint(&w, "index", p->index);
	th_jw_name(&w, TH_STR("delta"));
	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	th_jw_kstr(&w, member, text);
	th_jw_object_end(&w);
	send(p, &w, "content_block_delta");
}

static void send_stop(struct th_response *p)
{
	struct th_buf out = TH_BUF_INIT(TH_KIB);
	struct th_jw w = frame(&out, "content_block_stop");

	th_jw_kuint(&w, "index", p->index++);
	send(p, &w, "content_block_stop");
}

static void delta(struct th_response *p, const char *kind, struct th_str text)
{
	if (strcmp(kind, "text") != 0)
		return;
	if (!p->message.open)
		send_start(p, TH_STR("{\"type\":\"text\",\"text\":\"\"}"));
	p->message.open = true;
	send_delta(p, "text_delta", "text", text);
}

static void tell_item(struct th_response *p, const struct th_reply_item *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&text);

	if (item->kind == TH_REPLY_MESSAGE) {
		if (!p->message.open) {
			text_of(item, &text);
			delta(p, "text", th_buf_str(&text));
		}
		send_stop(p);
		p->message.open = false;
	} else if (item->kind == TH_REPLY_CALL) {
		struct th_buf arguments TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

		put_call(&w, item, false);
		send_start(p, th_buf_str(&text));
		if (th_json_unescape(th_json_raw_get(th_str_of(item->json), "arguments"),
				     &arguments))
			send_delta(p, "input_json_delta", "partial_json", th_buf_str(&arguments));
		send_stop(p);
	}
}

static void end(struct th_response *p)
{
	struct th_buf out = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w;

	if (p->reply.status == TH_REPLY_FAILED || p->reply.status == TH_REPLY_CANCELLED) {
		th_error_print_messages(p->reply.fault ? p->reply.fault : 500,
					p->reply.why ? p->reply.why : "the run failed", &out);
		th_response_send(p, "error", th_buf_str(&out));
		th_buf_deinit(&out);
		return;
	}
	w = frame(&out, "message_delta");
	th_jw_name(&w, TH_STR("delta"));
	th_jw_object(&w);
	th_jw_kstr(&w, "stop_reason", th_str_of(stop_reason(&p->reply)));
	th_jw_kraw(&w, "stop_sequence", TH_STR("null"));
	th_jw_object_end(&w);
	put_usage(&p->reply, &w);
	send(p, &w, "message_delta");
	w = frame(&out, "message_stop");
	send(p, &w, "message_stop");
}

static void fail(struct th_access *a, int status, const char *code, const char *param,
		 const char *message)
{
	th_access_fault(a, status, code, param, message);
}

const struct th_face th_face_messages = {
	.wire = "messages",
	.type = "text/event-stream",
	.ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n",
	.begin = begin,
	.delta = delta,
	.item = tell_item,
	.end = end,
	.print = print,
	.fail = fail,
};

void th_v1_messages(struct th_access *a)
{
	const struct th_order order = { .face = &th_face_messages,
					.body = th_http_body(a->request) };
	struct th_response_fault fault;

	if (th_quota_begin(a) && !th_response_make(a, &order, NULL, &fault) &&
	    !th_forward_places(a, &fault.lacks))
		fail(a, fault.status, fault.code, fault.param, fault.message);
}
