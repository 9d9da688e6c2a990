/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.c - Anthropic's Messages API: each request has the whole
 * conversation, and is a session of its own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "model_api/response_internal.h"
#include "model_wire/seal.h"
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

/* A block of thinking. */
static void put_thinking(struct th_jw *w, const struct th_reply_item *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v;

	if (th_json_parse(th_str_of(item->json), &doc, NULL) != TH_OK)
		return;
	v = th_json_root(doc);
	th_seal_text(v, &text);
	th_seal_put_block(w, th_buf_str(&text), th_json_get_str(v, "encrypted_content"));
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
		if (r->items[i].kind == TH_REPLY_REASONING && r->sealed)
			put_thinking(&w, &r->items[i]);
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

/*
 * Blocks follow each other, so one ends where another begins.  What was told in pieces is not told
 * again when its item is whole: `part` counts the blocks that were, of each kind.
 */
static void close_text(struct th_response *p)
{
	if (!p->message.open)
		return;
	send_stop(p);
	p->message.open = false;
	p->message.part++;
}

/* `sealed`: what only its provider can read of it; empty: nothing. */
static void close_thinking(struct th_response *p, struct th_str sealed)
{
	struct th_buf signature TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	if (!p->reasoning.open)
		return;
	if (th_seal_signature(sealed, &signature))
		send_delta(p, "signature_delta", "signature", th_buf_str(&signature));
	send_stop(p);
	p->reasoning.open = false;
	p->reasoning.part++;
}

static void open_thinking(struct th_response *p)
{
	close_text(p);
	send_start(p, TH_STR("{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}"));
	p->reasoning.open = true;
}

/* Thinking of which there is no text. */
static void tell_sealed(struct th_response *p, struct th_str sealed)
{
	struct th_buf block TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf signature TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&block);

	if (th_seal_signature(sealed, &signature)) {
		open_thinking(p);
		close_thinking(p, sealed);
		return;
	}
	close_text(p);
	th_seal_put_block(&w, TH_STR(""), sealed);
	send_start(p, th_buf_str(&block));
	send_stop(p);
	p->reasoning.part++;
}

static void delta(struct th_response *p, const char *kind, struct th_str text)
{
	if (strcmp(kind, "text") == 0) {
		close_thinking(p, TH_STR(""));
		if (!p->message.open)
			send_start(p, TH_STR("{\"type\":\"text\",\"text\":\"\"}"));
		p->message.open = true;
		send_delta(p, "text_delta", "text", text);
	} else if (strcmp(kind, "reasoning") == 0 && p->reply.sealed) {
		if (!p->reasoning.open)
			open_thinking(p);
		send_delta(p, "thinking_delta", "thinking", text);
	} else if (strcmp(kind, "sealed") == 0 && p->reply.sealed) {
		if (p->reasoning.open)
			close_thinking(p, text);
		else
			tell_sealed(p, text);
	}
}

/* Whether it was told in pieces. */
static bool was_told(struct th_response_part *part)
{
	if (!part->part)
		return false;
	part->part--;
	return true;
}

static void tell_thinking(struct th_response *p, const struct th_reply_item *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str sealed;

	if (!p->reply.sealed || th_json_parse(th_str_of(item->json), &doc, NULL) != TH_OK)
		return;
	sealed = th_json_get_str(th_json_root(doc), "encrypted_content");
	close_thinking(p, sealed);
	if (was_told(&p->reasoning))
		return;
	th_seal_text(th_json_root(doc), &text);
	if (text.len)
		delta(p, "reasoning", th_buf_str(&text));
	if (p->reasoning.open || sealed.len)
		delta(p, "sealed", sealed);
	(void)was_told(&p->reasoning);
}

static void tell_text(struct th_response *p, const struct th_reply_item *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

	if (was_told(&p->message))
		return;
	text_of(item, &text);
	if (text.len)
		delta(p, "text", th_buf_str(&text));
	close_text(p);
	(void)was_told(&p->message);
}

static void tell_call(struct th_response *p, const struct th_reply_item *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf arguments TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&text);

	put_call(&w, item, false);
	send_start(p, th_buf_str(&text));
	if (th_json_unescape(th_json_raw_get(th_str_of(item->json), "arguments"), &arguments))
		send_delta(p, "input_json_delta", "partial_json", th_buf_str(&arguments));
	send_stop(p);
}

static void tell_item(struct th_response *p, const struct th_reply_item *item)
{
	if (item->kind != TH_REPLY_REASONING)
		close_thinking(p, TH_STR(""));
	close_text(p);
	if (item->kind == TH_REPLY_REASONING)
		tell_thinking(p, item);
	else if (item->kind == TH_REPLY_MESSAGE)
		tell_text(p, item);
	else if (item->kind == TH_REPLY_CALL)
		tell_call(p, item);
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

/* A thought that was cut stays without a signature, and is not taken back. */
static void again(struct th_response *p)
{
	close_thinking(p, TH_STR(""));
	p->reasoning.part = p->shown.again; /* behind a text it would come too late */
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
	.again = again,
};

void th_v1_messages(struct th_access *a)
{
	const struct th_order order = { .face = &th_face_messages,
					.body = th_http_body(a->request) };
	struct th_response_fault fault;

	if (th_quota_begin(a) && !th_response_make(a, &order, NULL, &fault) && !fault.pending &&
	    !th_forward_places(a, &fault.lacks))
		th_access_fault(a, fault.status, fault.code, fault.param, fault.message);
}
