/* SPDX-License-Identifier: Apache-2.0 */
#include "server/reply.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/field.h"
#include "base/limits.h"
#include "model_wire/seal.h"

static char *copy(struct th_str s)
{
	char *text = th_alloc(s.len + 1);

	memcpy(text, s.ptr, s.len);
	text[s.len] = '\0';
	return text;
}

/* ---- items ---- */

static void add_item(struct th_reply *r, enum th_reply_kind kind, const struct th_buf *json)
{
	if (json->failed || r->count == TH_ANSWER_ITEMS_MAX * 16)
		return;
	r->items = th_realloc(r->items, (r->count + 1) * sizeof(*r->items));
	r->items[r->count++] = (struct th_reply_item){ kind, copy(th_buf_str(json)) };
}

/*
 * Items are named by their response and their place in it, whatever the provider called them: so a
 * stream can tell the name before the item is whole, and who has only the name can find the item.
 */
static void put_id(const struct th_reply *r, struct th_jw *w, const char *prefix)
{
	char made[TH_REPLY_NAME_MAX + 32];

	snprintf(made, sizeof(made), "%s_%s_%zu", prefix, r->name, r->count);
	th_jw_kstr(w, "id", th_str_of(made));
}

static void put_part(struct th_jw *w, const struct th_json *part)
{
	struct th_str type = th_json_get_str(part, "type");

	th_jw_object(w);
	if (th_str_is(type, "refusal")) {
		th_jw_kstr(w, "type", type);
		th_jw_kstr(w, "refusal", th_json_get_str(part, "refusal"));
	} else {
		const struct th_json *notes = th_json_get(part, "annotations");

		th_jw_kstr(w, "type", TH_STR("output_text"));
		th_jw_kstr(w, "text", th_json_get_str(part, "text"));
		th_jw_name(w, TH_STR("annotations"));
		if (th_json_is_array(notes))
			th_jw_json(w, notes);
		else
			th_jw_raw(w, TH_STR("[]"));
		th_jw_kraw(w, "logprobs", TH_STR("[]"));
	}
	th_jw_object_end(w);
}

static void add_message(struct th_reply *r, const struct th_json *item)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&json);
	const struct th_json *content = th_json_get(item, "content");
	struct th_json_iter it = th_json_iter(content);
	struct th_str phase = th_json_get_str(item, "phase");

	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("message"));
	put_id(r, &w, "msg");
	th_jw_kstr(&w, "status", TH_STR("completed"));
	th_jw_kstr(&w, "role", TH_STR("assistant"));
	th_jw_name(&w, TH_STR("content"));
	th_jw_array(&w);
	if (th_json_type(content) == TH_JSON_STR) {
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("output_text"));
		th_jw_kstr(&w, "text", th_json_str(content));
		th_jw_kraw(&w, "annotations", TH_STR("[]"));
		th_jw_kraw(&w, "logprobs", TH_STR("[]"));
		th_jw_object_end(&w);
	}
	while (th_json_next(&it))
		put_part(&w, it.val);
	th_jw_array_end(&w);
	if (phase.len)
		th_jw_kstr(&w, "phase", phase);
	th_jw_object_end(&w);
	add_item(r, TH_REPLY_MESSAGE, &json);
}

/* `raw`: the provider's own form of the answer, in which it is the nth. */
static void add_reasoning(struct th_reply *r, const struct th_json *item, const struct th_json *raw,
			  size_t nth)
{
	struct th_buf seal TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&json);
	const struct th_json *summary = th_json_get(item, "summary");
	struct th_str sealed = th_json_get_str(item, "encrypted_content");

	if (r->sealed && !sealed.len) {
		th_seal_of_answer(raw, nth, &seal);
		sealed = th_buf_str(&seal);
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR("reasoning"));
	put_id(r, &w, "rs");
	th_jw_name(&w, TH_STR("summary"));
	if (th_json_is_array(summary))
		th_jw_json(&w, summary);
	else
		th_jw_raw(&w, TH_STR("[]"));
	if (sealed.len && r->sealed)
		th_jw_kstr(&w, "encrypted_content", sealed);
	th_jw_object_end(&w);
	add_item(r, TH_REPLY_REASONING, &json);
}

/* ---- calls ---- */

/* The client's function that a model knows by this name; NULL: it is none of the client's. */
static const struct th_function_name *find_function(const struct th_reply *r, struct th_str name)
{
	for (size_t i = 0; i < r->function_count; i++)
		if (th_str_is(name, r->functions[i].full))
			return &r->functions[i];
	return NULL;
}

static struct th_reply_open *open_call(struct th_reply *r, struct th_str call_id,
				       struct th_str name, struct th_str arguments)
{
	r->open = th_realloc(r->open, (r->open_count + 1) * sizeof(*r->open));
	r->open[r->open_count] = (struct th_reply_open){ .call_id = copy(call_id),
							 .name = copy(name),
							 .arguments = copy(arguments) };
	return &r->open[r->open_count++];
}

static void close_at(struct th_reply *r, size_t i)
{
	free(r->open[i].call_id);
	free(r->open[i].name);
	free(r->open[i].arguments);
	free(r->open[i].approval);
	r->open[i] = r->open[--r->open_count];
}

static struct th_reply_open *find_open(struct th_reply *r, struct th_str call_id)
{
	for (size_t i = 0; i < r->open_count; i++)
		if (th_str_is(call_id, r->open[i].call_id))
			return &r->open[i];
	return NULL;
}

/* What it asks for, as text: arguments of a function, input of a custom tool, actions. */
static struct th_str asked_for(const struct th_json *item, struct th_buf *text)
{
	struct th_str arguments = th_json_get_str(item, "arguments");
	const struct th_json *what = th_json_get(item, "action");

	if (arguments.ptr)
		return arguments;
	if (!what)
		what = th_json_get(item, "actions");
	if (!what)
		return th_json_get_str(item, "input");
	th_json_print(what, text);
	return th_buf_str(text);
}

/* A search for tools, which has an item of its own. */
static void add_search(struct th_reply *r, struct th_str call_id, struct th_str arguments)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_jw w = th_jw(&json);

	th_jw_object(&w);
	th_jw_kstr(&w, "type", TH_STR(TH_TOOL_SEARCH "_call"));
	put_id(r, &w, "tsc");
	th_jw_kstr(&w, "call_id", call_id);
	th_jw_kstr(&w, "execution", TH_STR("client"));
	th_jw_kraw(&w, "arguments", th_json_valid(arguments) ? arguments : TH_STR("{}"));
	th_jw_kstr(&w, "status", TH_STR("completed"));
	th_jw_object_end(&w);
	add_item(r, TH_REPLY_OTHER, &json);
}

/* A call of an answer: the client's is an item at once, ours once it has its result. */
static void add_call(struct th_reply *r, const struct th_json *item, struct th_str type)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_str name = th_json_get_str(item, "name");
	struct th_str call_id = th_json_get_str(item, "call_id");
	struct th_str arguments = asked_for(item, &text);
	bool custom = th_str_is(type, "custom_tool_call");
	const struct th_function_name *function = NULL;
	struct th_reply_open *o;
	struct th_jw w = th_jw(&json);

	if (!call_id.len)
		call_id = th_json_get_str(item, "id");
	if (!name.len) /* "computer_call" */
		name = th_str_sub(type, 0, type.len - strlen("_call"));
	o = open_call(r, call_id, name, arguments);
	if (custom || th_str_is(type, "function_call"))
		function = find_function(r, name);
	o->client = function != NULL;
	if (!function)
		return;
	if (function->search) {
		add_search(r, call_id, arguments);
		return;
	}
	th_jw_object(&w);
	th_jw_kstr(&w, "type", type);
	put_id(r, &w, custom ? "ctc" : "fc");
	th_jw_kstr(&w, "call_id", call_id);
	if (function->space)
		th_jw_kstr(&w, "namespace", th_str_of(function->space));
	th_jw_kstr(&w, "name", th_str_of(function->name));
	th_jw_kstr(&w, custom ? "input" : "arguments", arguments);
	th_jw_kstr(&w, "status", TH_STR("completed"));
	th_jw_object_end(&w);
	add_item(r, TH_REPLY_CALL, &json);
}

/* The text of a result: itself, or its parts' texts. */
static void output_text(const struct th_json *output, struct th_buf *out)
{
	struct th_json_iter it = th_json_iter(output);

	if (th_json_type(output) == TH_JSON_STR) {
		th_buf_add(out, th_json_str(output));
		return;
	}
	while (th_json_next(&it)) {
		struct th_str text = th_json_get_str(it.val, "text");

		if (text.len && out->len)
			th_buf_add_char(out, '\n');
		th_buf_add(out, text);
	}
}

static void on_outcome(struct th_reply *r, const struct th_json *data, struct th_str call_id)
{
	struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	struct th_reply_open *o = find_open(r, call_id);
	bool done = th_str_is(th_json_get_str(data, "status"), "done");
	struct th_jw w = th_jw(&json);

	if (!o) {
		r->missed = true;
		return;
	}
	if (!o->client) {
		output_text(th_json_get(data, "output"), &text);
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("mcp_call"));
		put_id(r, &w, "mcp");
		th_jw_kstr(&w, "server_label", TH_STR(TH_REPLY_LABEL));
		th_jw_kstr(&w, "name", th_str_of(o->name));
		th_jw_kstr(&w, "arguments", th_str_of(o->arguments));
		th_jw_kstr(&w, "status", done ? TH_STR("completed") : TH_STR("failed"));
		th_jw_kstr(&w, done ? "output" : "error", th_buf_str(&text));
		th_jw_kraw(&w, done ? "error" : "output", TH_STR("null"));
		th_jw_object_end(&w);
		add_item(r, TH_REPLY_OTHER, &json);
	}
	close_at(r, (size_t)(o - r->open));
}

/* ---- decisions ---- */

/* The calls of a session that works for this one, about which a person is asked. */
static void on_delegation_waits(struct th_reply *r, const struct th_json *data)
{
	struct th_json_iter it = th_json_iter(th_json_get(data, "waits"));

	for (size_t i = r->open_count; i-- > 0;)
		if (r->open[i].delegated)
			close_at(r, i);
	while (th_json_next(&it)) {
		struct th_buf id TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_reply_open *o;

		th_buf_printf(&id, "%.*s/%.*s", TH_FMT(th_json_get_str(it.val, "session")),
			      TH_FMT(th_json_get_str(it.val, "call_id")));
		th_json_print(th_json_get(it.val, "arguments"), &text);
		o = open_call(r, th_buf_str(&id), th_json_get_str(it.val, "tool"),
			      th_buf_str(&text));
		o->asked = o->delegated = true;
	}
}

bool th_reply_asks(const struct th_reply *r)
{
	bool asks = false, delegates = false;

	for (size_t i = 0; i < r->open_count; i++)
		delegates |= r->open[i].delegated;
	for (size_t i = 0; i < r->open_count; i++) {
		const struct th_reply_open *o = &r->open[i];

		asks |= o->asked;
		if (o->started && !o->client && !delegates)
			return false;
	}
	return asks;
}

void th_reply_wait(struct th_reply *r)
{
	for (size_t i = 0; i < r->open_count; i++) {
		struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_reply_open *o = &r->open[i];
		struct th_jw w = th_jw(&json);

		if (!o->asked || o->approval)
			continue;
		th_jw_object(&w);
		th_jw_kstr(&w, "type", TH_STR("mcp_approval_request"));
		put_id(r, &w, "mcpr");
		th_jw_kstr(&w, "server_label", TH_STR(TH_REPLY_LABEL));
		th_jw_kstr(&w, "name", th_str_of(o->name));
		th_jw_kstr(&w, "arguments", th_str_of(o->arguments));
		th_jw_object_end(&w);
		o->approval = copy(th_json_raw_inside(th_json_raw_get(th_buf_str(&json), "id")));
		add_item(r, TH_REPLY_OTHER, &json);
	}
	r->status = TH_REPLY_WAITING;
}

void th_reply_seed(struct th_reply *r, const struct th_reply_open *open)
{
	struct th_reply_open *o = open_call(r, th_str_of(open->call_id), th_str_of(open->name),
					    th_str_of(open->arguments));

	o->client = open->client;
	o->started = open->started;
}

/* ---- events ---- */

static void on_answer(struct th_reply *r, const struct th_json *data)
{
	struct th_json_iter it = th_json_iter(th_json_get(data, "items"));
	const struct th_json *usage = th_json_get(data, "usage");
	size_t reasonings = 0;

	r->tokens_in += th_json_get_int(usage, "input", 0);
	r->tokens_cached += th_json_get_int(usage, "cached", 0);
	r->tokens_out += th_json_get_int(usage, "output", 0);
	r->tokens_reasoning += th_json_get_int(usage, "reasoning", 0);
	r->too_long = th_str_is(th_json_get_str(data, "status"), "incomplete");
	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");

		if (th_str_is(type, "message")) {
			add_message(r, it.val);
		} else if (th_str_is(type, "reasoning")) {
			add_reasoning(r, it.val, th_json_get(data, "raw"), reasonings++);
		} else if (th_str_is(type, "mcp_call") || th_str_is(type, "web_search_call") ||
			   th_str_is(type, "file_search_call") ||
			   th_str_is(type, "code_interpreter_call") ||
			   th_str_is(type, "image_generation_call") ||
			   !th_str_ends(type, TH_STR("_call"))) {
			struct th_buf json TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);

			th_json_print(it.val, &json); /* of the provider's own tools */
			add_item(r, TH_REPLY_OTHER, &json);
		} else {
			add_call(r, it.val, type);
		}
	}
}

static void set_why(struct th_reply *r, struct th_str why)
{
	free(r->why);
	r->why = why.len ? copy(why) : NULL;
}

int th_reply_fault(struct th_str class)
{
	static const struct {
		const char *class;
		int status;
	} faults[] = { { "rejected", 400 },     { "context_length", 400 }, { "limit", 400 },
		       { "rate_limited", 429 }, { "quota", 429 },          { "overloaded", 503 },
		       { "connect", 502 },      { "timeout", 504 } };

	for (size_t i = 0; i < TH_COUNT(faults); i++)
		if (th_str_is(class, faults[i].class))
			return faults[i].status;
	return 500;
}

static void on_state(struct th_reply *r, const struct th_json *data)
{
	struct th_str to = th_json_get_str(data, "to");

	if (th_str_is(to, "stopped"))
		r->status = TH_REPLY_CANCELLED;
	else if (th_str_is(to, "limit"))
		r->status = TH_REPLY_INCOMPLETE;
	else if (th_str_is(to, "stuck"))
		r->status = TH_REPLY_FAILED;
	else
		return;
	set_why(r, th_json_get_str(data, "reason"));
}

/* Whether all that is left is for the client to answer. */
static void look_parked(struct th_reply *r)
{
	size_t started = 0;

	for (size_t i = 0; i < r->open_count; i++) {
		if (!r->open[i].client)
			return;
		started += r->open[i].started;
		if (r->open[i].asked)
			return;
	}
	if (r->status == TH_REPLY_RUNNING && r->open_count > 0 && started == r->open_count)
		r->status = TH_REPLY_PARKED;
}

static void take(struct th_reply *r, uint64_t seq, int64_t ts_ms, struct th_str kind,
		 struct th_str call, const struct th_json *data)
{
	r->last_seq = seq;
	r->ended_ms = ts_ms;
	if (!r->began_ms)
		r->began_ms = r->ended_ms;
	if (th_str_is(kind, "model_answered")) {
		r->fault = 0;
		on_answer(r, data);
	} else if (th_str_is(kind, "model_failed")) {
		r->fault = th_reply_fault(th_json_get_str(data, "class"));
	} else if (th_str_is(kind, "intent")) {
		struct th_reply_open *o = find_open(r, call);

		if (o)
			o->started = true;
	} else if (th_str_is(kind, "outcome")) {
		on_outcome(r, data, call);
	} else if (th_str_is(kind, "approval_requested") || th_str_is(kind, "approval_decided")) {
		struct th_reply_open *o = find_open(r, call);

		if (o)
			o->asked = th_str_is(kind, "approval_requested");
	} else if (th_str_is(kind, "delegation_waits")) {
		on_delegation_waits(r, data);
	} else if (th_str_is(kind, "items_added")) {
		/* Only put there: there is nothing to answer. */
		if (!th_json_bool(th_json_get(data, "begins"), false) && !r->count &&
		    !r->open_count && r->status == TH_REPLY_RUNNING && !r->asked_model)
			r->status = TH_REPLY_COMPLETED;
	} else if (th_str_is(kind, "model_requested")) {
		r->asked_model = true;
	} else if (th_str_is(kind, "final")) {
		r->status = r->too_long ? TH_REPLY_INCOMPLETE : TH_REPLY_COMPLETED;
	} else if (th_str_is(kind, "error")) {
		r->status = TH_REPLY_FAILED;
		/* "model": as its last request failed. */
		if (!r->fault || !th_str_is(th_json_get_str(data, "class"), "model"))
			r->fault = th_reply_fault(th_json_get_str(data, "class"));
		set_why(r, th_json_get_str(data, "message"));
	} else if (th_str_is(kind, "state_changed")) {
		on_state(r, data);
	}
	look_parked(r);
}

void th_reply_event(struct th_reply *r, struct th_str event)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	const struct th_json *v;

	if (th_json_parse(event, &doc, NULL) != TH_OK)
		return;
	v = th_json_root(doc);
	take(r, (uint64_t)th_json_get_int(v, "seq", 0), th_json_get_int(v, "ts_ms", 0),
	     th_json_get_str(v, "kind"), th_json_get_str(v, "call"), th_json_get(v, "data"));
}

/* Of other kinds it is enough that they were. */
static bool has_more(struct th_str kind)
{
	static const char *const names[] = { "model_answered", "model_failed",
					     "outcome",        "delegation_waits",
					     "items_added",    "error",
					     "state_changed",  NULL };

	return th_names_find(names, kind) >= 0;
}

void th_reply_event_parts(struct th_reply *r, const struct th_reply_parts *event)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;

	if (!has_more(event->kind) || th_json_parse(event->data, &doc, NULL) == TH_OK)
		take(r, event->seq, event->ts_ms, event->kind, event->call, th_json_root(doc));
}

void th_reply_before(struct th_reply *r, struct th_str event)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_str kind = th_json_raw_inside(th_json_raw_get(event, "kind")), call;
	const struct th_json *v, *data;
	struct th_reply_open *o;

	if ((!th_str_is(kind, "call") && !th_str_is(kind, "outcome") &&
	     !th_str_is(kind, "intent")) ||
	    th_json_parse(event, &doc, NULL) != TH_OK)
		return;
	v = th_json_root(doc);
	data = th_json_get(v, "data");
	call = th_json_get_str(v, "call");
	o = find_open(r, call);
	if (th_str_is(kind, "call")) {
		struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
		struct th_str tool = th_json_get_str(data, "tool");

		th_json_print(th_json_get(data, "arguments"), &text);
		o = open_call(r, call, tool, th_buf_str(&text));
		o->client = find_function(r, tool) != NULL;
	} else if (o && th_str_is(kind, "outcome")) {
		close_at(r, (size_t)(o - r->open));
	} else if (o) {
		o->started = true;
	}
}

void th_reply_deinit(struct th_reply *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->items[i].json);
	while (r->open_count)
		close_at(r, r->open_count - 1);
	free(r->items);
	free(r->open);
	free(r->why);
	*r = (struct th_reply){ 0 };
}

/* ---- as JSON ---- */

void th_reply_print(const struct th_reply *r, struct th_jw *w)
{
	th_jw_array(w);
	for (size_t i = 0; i < r->count; i++)
		th_jw_raw(w, th_str_of(r->items[i].json));
	th_jw_array_end(w);
}

void th_reply_usage(const struct th_reply *r, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kint(w, "input_tokens", r->tokens_in);
	th_jw_name(w, TH_STR("input_tokens_details"));
	th_jw_object(w);
	th_jw_kint(w, "cached_tokens", r->tokens_cached);
	th_jw_object_end(w);
	th_jw_kint(w, "output_tokens", r->tokens_out);
	th_jw_name(w, TH_STR("output_tokens_details"));
	th_jw_object(w);
	th_jw_kint(w, "reasoning_tokens", r->tokens_reasoning);
	th_jw_object_end(w);
	th_jw_kint(w, "total_tokens", r->tokens_in + r->tokens_out);
	th_jw_object_end(w);
}

const char *th_reply_status_name(enum th_reply_status s)
{
	switch (s) {
	case TH_REPLY_RUNNING:
		return "in_progress";
	case TH_REPLY_COMPLETED:
	case TH_REPLY_PARKED:
	case TH_REPLY_WAITING:
		return "completed";
	case TH_REPLY_INCOMPLETE:
		return "incomplete";
	case TH_REPLY_FAILED:
		return "failed";
	case TH_REPLY_CANCELLED:
		return "cancelled";
	}
	return "failed";
}

void th_reply_text(const struct th_reply *r, struct th_buf *out)
{
	for (size_t i = 0; i < r->count; i++) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		struct th_json_iter it;

		if (r->items[i].kind != TH_REPLY_MESSAGE ||
		    th_json_parse(th_str_of(r->items[i].json), &doc, NULL) != TH_OK)
			continue;
		it = th_json_iter(th_json_get(th_json_root(doc), "content"));
		while (th_json_next(&it))
			th_buf_add(out, th_json_get_str(it.val, "text"));
	}
}
