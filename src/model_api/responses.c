/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responses.c - the Responses API, in the shape of Open Responses
 * (specification of 2026-04-24): its object and its stream.
 */
#include <stdio.h>

#include "model_api/response_internal.h"
#include "model_wire/seal.h"

/* ---- the object ---- */

/* The members that are repeated, in one pass over what was kept of the request. */
static void put_echo(const struct th_response *p, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_str_of(p->echo));

	while (th_json_raw_next(&it)) {
		th_jw_name(w, it.key);
		th_jw_raw(w, it.val);
	}
}

/* The API's own words. */
static const char *fault_code(const struct th_response *p)
{
	return p->reply.fault == 400   ? "invalid_prompt"
	       : p->reply.fault == 429 ? "rate_limit_exceeded"
				       : "server_error";
}

static void put_fault(const struct th_response *p, struct th_jw *w)
{
	th_jw_name(w, TH_STR("error"));
	if (p->reply.status != TH_REPLY_FAILED) {
		th_jw_null(w);
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "code", th_str_of(fault_code(p)));
	th_jw_kstr(w, "message", th_str_of(p->reply.why ? p->reply.why : "the run failed"));
	th_jw_object_end(w);
}

void th_response_print(const struct th_response *p, struct th_jw *w, bool output)
{
	const struct th_reply *r = &p->reply;
	bool queued = p->background && r->status == TH_REPLY_RUNNING && !r->last_seq;
	bool over = r->status == TH_REPLY_COMPLETED || r->status == TH_REPLY_PARKED ||
		    r->status == TH_REPLY_WAITING;

	th_jw_object(w);
	th_jw_kstr(w, "id", th_str_of(p->name));
	th_jw_kstr(w, "object", TH_STR("response"));
	th_jw_kint(w, "created_at", p->created_ms / 1000);
	th_jw_name(w, TH_STR("completed_at"));
	if (over)
		th_jw_int(w, r->ended_ms / 1000);
	else
		th_jw_null(w);
	th_jw_kstr(w, "status", th_str_of(queued ? "queued" : th_reply_status_name(r->status)));
	th_jw_kbool(w, "background", p->background);
	th_jw_kbool(w, "store", p->store);
	put_fault(p, w);
	th_jw_name(w, TH_STR("incomplete_details"));
	if (r->status == TH_REPLY_INCOMPLETE) {
		th_jw_object(w);
		th_jw_kstr(w, "reason", TH_STR("max_output_tokens"));
		th_jw_object_end(w);
	} else {
		th_jw_null(w);
	}
	th_jw_name(w, TH_STR("previous_response_id"));
	if (p->previous[0])
		th_jw_str(w, th_str_of(p->previous));
	else
		th_jw_null(w);
	if (p->conversation[0]) {
		th_jw_name(w, TH_STR("conversation"));
		th_jw_object(w);
		th_jw_kstr(w, "id", th_str_of(p->conversation));
		th_jw_object_end(w);
	}
	put_echo(p, w);
	th_jw_name(w, TH_STR("output"));
	if (output)
		th_reply_print(r, w);
	else
		th_jw_raw(w, TH_STR("[]"));
	th_jw_name(w, TH_STR("usage"));
	if (r->status == TH_REPLY_RUNNING)
		th_jw_null(w);
	else
		th_reply_usage(r, w);
	th_jw_object_end(w);
}

static void print(struct th_response *p, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_response_print(p, &w, true);
}

/* ---- the stream ---- */

/* The start of a frame; `end` sends it. */
static struct th_jw frame(struct th_response *p, struct th_buf *out, const char *type)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", th_str_of(type));
	th_jw_kint(&w, "sequence_number", p->sequence);
	if (p->stream_id && p->stream_id[0])
		th_jw_kstr(&w, "stream_id", th_str_of(p->stream_id));
	return w;
}

static void send(struct th_response *p, struct th_jw *w, const char *type)
{
	th_jw_object_end(w);
	if (p->sequence > p->skip)
		th_response_send(p, type, th_buf_str(w->out));
	p->sequence++;
	th_buf_deinit(w->out);
}

static void send_whole(struct th_response *p, const char *type)
{
	struct th_buf out = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = frame(p, &out, type);

	th_jw_name(&w, TH_STR("response"));
	th_response_print(p, &w, true);
	send(p, &w, type);
}

static void begin(struct th_response *p)
{
	send_whole(p, "response.created");
	if (p->background)
		send_whole(p, "response.queued");
	send_whole(p, "response.in_progress");
}

static void send_item(struct th_response *p, const char *type, size_t index, struct th_str item)
{
	struct th_buf out = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = frame(p, &out, type);

	th_jw_kuint(&w, "output_index", index);
	th_jw_kraw(&w, "item", item);
	send(p, &w, type);
}

/* A frame about a part of an item: {item_id, output_index, NAME_index: 0, member: value}. */
static void send_part(struct th_response *p, const char *type, const struct th_response_part *part,
		      const char *counter, const char *member, struct th_str raw, bool logprobs)
{
	struct th_buf out = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_jw w = frame(p, &out, type);

	th_jw_kstr(&w, "item_id", th_str_of(part->id));
	th_jw_kuint(&w, "output_index", part->index);
	if (counter)
		th_jw_kint(&w, counter, part->part);
	th_jw_kraw(&w, member, raw);
	if (logprobs)
		th_jw_kraw(&w, "logprobs", TH_STR("[]"));
	send(p, &w, type);
}

static struct th_str quoted(struct th_buf *out, struct th_str text)
{
	struct th_jw w = th_jw(out);

	th_buf_clear(out);
	th_jw_str(&w, text);
	return th_buf_str(out);
}

static void open_message(struct th_response *p, const char *id)
{
	struct th_response_part *part = &p->message;
	char item[256];

	part->open = true;
	part->index = p->index++;
	part->part = 0;
	snprintf(part->id, sizeof(part->id), "%s", id);
	snprintf(item, sizeof(item),
		 "{\"type\":\"message\",\"id\":\"%s\",\"status\":\"in_progress\","
		 "\"role\":\"assistant\",\"content\":[]}",
		 part->id);
	send_item(p, "response.output_item.added", part->index, th_str_of(item));
}

static void open_text(struct th_response *p)
{
	send_part(p, "response.content_part.added", &p->message, "content_index", "part",
		  TH_STR("{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[],"
			 "\"logprobs\":[]}"),
		  false);
}

static void open_reasoning(struct th_response *p, const char *id)
{
	struct th_response_part *part = &p->reasoning;
	char item[256];

	part->open = true;
	part->index = p->index++;
	part->part = 0;
	snprintf(part->id, sizeof(part->id), "%s", id);
	snprintf(item, sizeof(item), "{\"type\":\"reasoning\",\"id\":\"%s\",\"summary\":[]}",
		 part->id);
	send_item(p, "response.output_item.added", part->index, th_str_of(item));
	send_part(p, "response.reasoning_summary_part.added", part, "summary_index", "part",
		  TH_STR("{\"type\":\"summary_text\",\"text\":\"\"}"), false);
}

static void delta(struct th_response *p, const char *kind, struct th_str text)
{
	struct th_buf q TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	char id[80];

	snprintf(id, sizeof(id), "%s_%s_%zu", kind[0] == 't' ? "msg" : "rs", p->name + 5, p->index);
	if (strcmp(kind, "text") == 0) {
		if (!p->message.open) {
			open_message(p, id);
			open_text(p);
		}
		send_part(p, "response.output_text.delta", &p->message, "content_index", "delta",
			  quoted(&q, text), true);
	} else if (strcmp(kind, "reasoning") == 0 && !p->message.open) {
		if (!p->reasoning.open)
			open_reasoning(p, id);
		send_part(p, "response.reasoning_summary_text.delta", &p->reasoning,
			  "summary_index", "delta", quoted(&q, text), false);
	}
}

/* The item's id is that of its first frame. */
static void rename_item(const struct th_reply_item *item, const char *id, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_str_of(item->json));
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	while (th_json_raw_next(&it)) {
		th_jw_name(&w, it.key);
		if (th_str_is(it.key, "id"))
			th_jw_str(&w, th_str_of(id));
		else
			th_jw_raw(&w, it.val);
	}
	th_jw_object_end(&w);
}

static void end_part(struct th_response *p, const struct th_json *part)
{
	struct th_buf q TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf raw TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	bool refusal = th_str_is(th_json_get_str(part, "type"), "refusal");
	struct th_str text = th_json_get_str(part, refusal ? "refusal" : "text");

	if (refusal)
		send_part(p, "response.refusal.done", &p->message, "content_index", "refusal",
			  quoted(&q, text), false);
	else
		send_part(p, "response.output_text.done", &p->message, "content_index", "text",
			  quoted(&q, text), true);
	th_json_print(part, &raw);
	send_part(p, "response.content_part.done", &p->message, "content_index", "part",
		  th_buf_str(&raw), false);
}

static void tell_message(struct th_response *p, const struct th_reply_item *item,
			 const struct th_json *v)
{
	struct th_json_iter it = th_json_iter(th_json_get(v, "content"));
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	bool begun = p->message.open;
	char id[80];

	snprintf(id, sizeof(id), "%.*s", TH_FMT(th_json_get_str(v, "id")));
	if (!begun)
		open_message(p, id);
	while (th_json_next(&it)) {
		struct th_buf q TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_str text = th_json_get_str(it.val, "text");

		p->message.part = (int)it.index;
		if (!begun || it.index > 0) {
			open_text(p);
			if (text.len)
				send_part(p, "response.output_text.delta", &p->message,
					  "content_index", "delta", quoted(&q, text), true);
		}
		end_part(p, it.val);
	}
	rename_item(item, p->message.id, &json);
	send_item(p, "response.output_item.done", p->message.index, th_buf_str(&json));
	p->message.open = false;
}

static void tell_reasoning(struct th_response *p, const struct th_reply_item *item,
			   const struct th_json *v)
{
	struct th_buf q TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf part TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	char id[80];

	if (!p->reasoning.open) {
		snprintf(id, sizeof(id), "%.*s", TH_FMT(th_json_get_str(v, "id")));
		snprintf(p->reasoning.id, sizeof(p->reasoning.id), "%s", id);
		p->reasoning.index = p->index++;
		send_item(p, "response.output_item.added", p->reasoning.index,
			  th_str_of(item->json));
	} else {
		struct th_buf whole TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_str text;

		th_seal_text(v, &whole);
		text = quoted(&q, th_buf_str(&whole));
		send_part(p, "response.reasoning_summary_text.done", &p->reasoning, "summary_index",
			  "text", text, false);
		th_buf_printf(&part, "{\"type\":\"summary_text\",\"text\":%.*s}", TH_FMT(text));
		send_part(p, "response.reasoning_summary_part.done", &p->reasoning, "summary_index",
			  "part", th_buf_str(&part), false);
	}
	rename_item(item, p->reasoning.id, &json);
	send_item(p, "response.output_item.done", p->reasoning.index, th_buf_str(&json));
	p->reasoning.open = false;
}

static void tell_call(struct th_response *p, const struct th_reply_item *item,
		      const struct th_json *v)
{
	struct th_buf q TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	bool custom = th_str_is(th_json_get_str(v, "type"), "custom_tool_call");
	const char *member = custom ? "input" : "arguments";
	struct th_response_part part = { .index = p->index++ };
	struct th_json_raw_iter it = th_json_raw_iter(th_str_of(item->json));
	struct th_jw w = th_jw(&json);
	struct th_str given = quoted(&q, th_json_get_str(v, member));

	snprintf(part.id, sizeof(part.id), "%.*s", TH_FMT(th_json_get_str(v, "id")));
	th_jw_object(&w);
	while (th_json_raw_next(&it)) {
		th_jw_name(&w, it.key);
		th_jw_raw(&w, th_str_is(it.key, member)     ? TH_STR("\"\"")
			      : th_str_is(it.key, "status") ? TH_STR("\"in_progress\"")
							    : it.val);
	}
	th_jw_object_end(&w);
	send_item(p, "response.output_item.added", part.index, th_buf_str(&json));
	send_part(p,
		  custom ? "response.custom_tool_call_input.delta"
			 : "response.function_call_arguments.delta",
		  &part, NULL, "delta", given, false);
	send_part(p,
		  custom ? "response.custom_tool_call_input.done"
			 : "response.function_call_arguments.done",
		  &part, NULL, member, given, false);
	send_item(p, "response.output_item.done", part.index, th_str_of(item->json));
}

static void tell_item(struct th_response *p, const struct th_reply_item *item)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	size_t index;

	if (th_json_parse(th_str_of(item->json), &doc, NULL) != TH_OK)
		return;
	switch (item->kind) {
	case TH_REPLY_MESSAGE:
		tell_message(p, item, th_json_root(doc));
		break;
	case TH_REPLY_REASONING:
		tell_reasoning(p, item, th_json_root(doc));
		break;
	case TH_REPLY_CALL:
		tell_call(p, item, th_json_root(doc));
		break;
	case TH_REPLY_OTHER:
		index = p->index++;
		send_item(p, "response.output_item.added", index, th_str_of(item->json));
		send_item(p, "response.output_item.done", index, th_str_of(item->json));
		break;
	}
}

/* In both shapes: that of OpenAI's clients, and that of Open Responses. */
static void send_error(struct th_response *p)
{
	struct th_buf out = TH_BUF_INIT(TH_HTTP_REPLY_MAX);
	struct th_buf error TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = frame(p, &out, "error");
	const char *why = p->reply.why ? p->reply.why : "the run failed";

	th_jw_kstr(&w, "code", th_str_of(fault_code(p)));
	th_jw_kstr(&w, "message", th_str_of(why));
	th_jw_kraw(&w, "param", TH_STR("null"));
	th_error_print(p->reply.fault ? p->reply.fault : 500, fault_code(p), why, &error);
	th_jw_kraw(&w, "error", th_json_raw_get(th_buf_str(&error), "error"));
	send(p, &w, "error");
}

static void end(struct th_response *p)
{
	switch (p->reply.status) {
	case TH_REPLY_FAILED:
		send_error(p);
		send_whole(p, "response.failed");
		break;
	case TH_REPLY_INCOMPLETE:
	case TH_REPLY_CANCELLED:
		send_whole(p, "response.incomplete");
		break;
	case TH_REPLY_RUNNING:
	case TH_REPLY_COMPLETED:
	case TH_REPLY_PARKED:
	case TH_REPLY_WAITING:
		send_whole(p, "response.completed");
		break;
	}
	if (!p->socket)
		th_response_send(p, NULL, TH_STR("[DONE]"));
}

const struct th_face th_face_responses = {
	.wire = "responses",
	.type = "text/event-stream",
	.ping = ": still here\n\n",
	.begin = begin,
	.delta = delta,
	.item = tell_item,
	.end = end,
	.print = print,
	.tells_failure = true,
	.tells_whole = true,
	.tells_waiting = true,
};
