/* SPDX-License-Identifier: Apache-2.0 */
#include "forms/openhands_items.h"

#include <stdlib.h>

#include "base/limits.h"
#include "forms/redact.h"

#define NOT_KNOWN                                                                     \
	TH_ERROR_WORD                                                                 \
	"the conversation came from OpenHands without a result of this call; it may " \
	"or may not have happened, and was not repeated"
#define TH_ERROR_WORD "error: "

/* What is written of one event. */
struct maker {
	struct th_openhands_view *view;
	struct th_buf text;
	struct th_jw w;
};

void th_openhands_view_init(struct th_openhands_view *view, enum th_openhands version)
{
	*view = (struct th_openhands_view){ .version = version };
	th_arena_init(&view->memory, TH_EXPORT_SIZE_MAX);
}

void th_openhands_view_deinit(struct th_openhands_view *view)
{
	th_arena_deinit(&view->memory);
	free(view->list);
	free(view->open);
	*view = (struct th_openhands_view){ 0 };
}

/* ---- items ---- */

static void put_part(struct maker *m, const char *type, const char *name, struct th_str text)
{
	th_jw_object(&m->w);
	th_jw_kstr(&m->w, "type", th_str_of(type));
	th_jw_kstr(&m->w, name, text);
	th_jw_object_end(&m->w);
}

static bool is_picture(struct th_str url)
{
	return th_str_starts(url, TH_STR("data:image/")) ||
	       th_str_starts(url, TH_STR("https://")) || th_str_starts(url, TH_STR("http://"));
}

static void put_pictures(struct maker *m, const struct th_json *urls)
{
	for (struct th_json_iter it = th_json_iter(urls); th_json_next(&it);)
		if (is_picture(th_json_str(it.val)))
			put_part(m, "input_image", "image_url", th_json_str(it.val));
}

/* Parts of V1: texts and pictures. */
static void put_content(struct maker *m, const struct th_json *content, const char *type)
{
	for (struct th_json_iter it = th_json_iter(content); th_json_next(&it);) {
		if (th_json_get_str(it.val, "text").ptr)
			put_part(m, type, "text", th_json_get_str(it.val, "text"));
		else if (strcmp(type, "input_text") == 0)
			put_pictures(m, th_json_get(it.val, "image_urls"));
	}
}

static void begin_message(struct maker *m, bool assistant)
{
	th_jw_object(&m->w);
	th_jw_kstr(&m->w, "type", TH_STR("message"));
	th_jw_kstr(&m->w, "role", assistant ? TH_STR("assistant") : TH_STR("user"));
	th_jw_name(&m->w, TH_STR("content"));
	th_jw_array(&m->w);
}

static void end_message(struct maker *m)
{
	th_jw_array_end(&m->w);
	th_jw_object_end(&m->w);
}

static void put_message(struct maker *m, bool assistant, struct th_str text)
{
	if (!text.len)
		return;
	begin_message(m, assistant);
	put_part(m, assistant ? "output_text" : "input_text", "text", text);
	end_message(m);
}

static void note_call(struct maker *m, struct th_str call_id, struct th_str tool)
{
	struct th_openhands_view *v = m->view;

	if (v->open_count == v->open_cap) {
		v->open_cap = TH_MAX(2 * v->open_cap, (size_t)16);
		v->open = th_realloc(v->open, v->open_cap * sizeof(*v->open));
	}
	v->open[v->open_count++] = (struct th_openhands_open){ th_arena_str(&v->memory, call_id),
							       th_arena_str(&v->memory, tool) };
}

/* Was it open?  It is no more. */
static bool answer_call(struct maker *m, struct th_str call_id)
{
	struct th_openhands_view *v = m->view;

	for (size_t i = v->open_count; i-- > 0;)
		if (th_str_eq(v->open[i].call_id, call_id)) {
			memmove(&v->open[i], &v->open[i + 1],
				(--v->open_count - i) * sizeof(*v->open));
			return true;
		}
	return false;
}

static void put_call(struct maker *m, struct th_str call_id, struct th_str tool,
		     struct th_str arguments)
{
	th_jw_object(&m->w);
	th_jw_kstr(&m->w, "type", TH_STR("function_call"));
	th_jw_kstr(&m->w, "call_id", call_id);
	th_jw_kstr(&m->w, "name", tool);
	th_jw_kstr(&m->w, "arguments", arguments);
	th_jw_object_end(&m->w);
	note_call(m, call_id, tool);
}

static void begin_result(struct maker *m, struct th_str call_id)
{
	th_jw_object(&m->w);
	th_jw_kstr(&m->w, "type", TH_STR("function_call_output"));
	th_jw_kstr(&m->w, "call_id", call_id);
	th_jw_name(&m->w, TH_STR("output"));
}

/* A result without its call is told as a message. */
static void put_result(struct maker *m, struct th_str call_id, struct th_str text)
{
	if (!answer_call(m, call_id)) {
		put_message(m, false, text);
		return;
	}
	begin_result(m, call_id);
	th_jw_str(&m->w, text);
	th_jw_object_end(&m->w);
}

/* ---- the second generation ---- */

static void put_v1_message(struct maker *m, const struct th_json *event)
{
	const struct th_json *message = th_json_get(event, "llm_message");
	bool assistant = th_str_is(th_json_get_str(message, "role"), "assistant");
	const struct th_json *content = th_json_get(message, "content");

	if (!th_json_count(content) && !th_json_count(th_json_get(event, "extended_content")))
		return;
	begin_message(m, assistant);
	put_content(m, content, assistant ? "output_text" : "input_text");
	put_content(m, th_json_get(event, "extended_content"),
		    assistant ? "output_text" : "input_text");
	end_message(m);
}

static void put_v1_action(struct maker *m, const struct th_json *event)
{
	const struct th_json *call = th_json_get(event, "tool_call"),
			     *thought = th_json_get(event, "thought");

	if (th_json_count(thought)) {
		begin_message(m, true);
		put_content(m, thought, "output_text");
		end_message(m);
	}
	put_call(m, th_json_get_str(event, "tool_call_id"), th_json_get_str(event, "tool_name"),
		 th_json_get_str(call, "arguments"));
}

/* Texts without the shell's own lines. */
static void put_v1_parts(struct maker *m, const struct th_json *content)
{
	struct th_buf clean TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	for (struct th_json_iter it = th_json_iter(content); th_json_next(&it);) {
		th_buf_clear(&clean);
		th_ps1_strip(th_json_get_str(it.val, "text"), &clean);
		if (th_json_get_str(it.val, "text").ptr)
			put_part(m, "input_text", "text", th_buf_str(&clean));
		else
			put_pictures(m, th_json_get(it.val, "image_urls"));
	}
}

static void put_v1_observation(struct maker *m, const struct th_json *event)
{
	const struct th_json *seen = th_json_get(event, "observation"),
			     *content = th_json_get(seen, "content");
	struct th_str call_id = th_json_get_str(event, "tool_call_id");

	if (!th_json_is_array(content)) { /* kinds that have texts of their own */
		struct th_str text = th_json_get_str(seen, "output");

		put_result(m, call_id, text.ptr ? text : th_json_str(content));
		return;
	}
	if (!answer_call(m, call_id))
		return;
	begin_result(m, call_id);
	th_jw_array(&m->w);
	if (th_json_bool(th_json_get(seen, "is_error"), false))
		put_part(m, "input_text", "text", TH_STR(TH_ERROR_WORD));
	put_v1_parts(m, content);
	put_content(m, th_json_get(event, "extended_content"), "input_text");
	th_jw_array_end(&m->w);
	th_jw_object_end(&m->w);
}

static void put_v1(struct maker *m, const struct th_json *event)
{
	struct th_str kind = th_json_get_str(event, "kind"),
		      call_id = th_json_get_str(event, "tool_call_id");
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);

	if (th_str_is(kind, "MessageEvent")) {
		put_v1_message(m, event);
	} else if (th_str_is(kind, "ActionEvent")) {
		put_v1_action(m, event);
	} else if (th_str_is(kind, "ObservationEvent")) {
		put_v1_observation(m, event);
	} else if (th_str_is(kind, "UserRejectObservation")) {
		th_buf_add_cstr(&text, "Action rejected: ");
		th_buf_add(&text, th_json_get_str(event, "rejection_reason"));
		put_result(m, call_id, th_buf_str(&text));
	} else if (th_str_is(kind, "AgentErrorEvent")) {
		th_buf_add_cstr(&text, TH_ERROR_WORD);
		th_buf_add(&text, th_json_get_str(event, "error"));
		put_result(m, call_id, th_buf_str(&text));
	} else if (th_str_is(kind, "CondensationSummaryEvent")) {
		put_message(m, false, th_json_get_str(event, "summary"));
	}
}

/* ---- the first generation ---- */

/* The id of a call: the provider's, or made of the number of its event. */
static struct th_str v0_call_id(struct maker *m, const struct th_json *event, int64_t number)
{
	struct th_str id =
	    th_json_get_str(th_json_get(event, "tool_call_metadata"), "tool_call_id");

	return id.len ? id : th_arena_printf(&m->view->memory, "event_%lld", (long long)number);
}

/* The call as the model wrote it, in the answer that is kept with the event. */
static const struct th_json *v0_message(const struct th_json *event)
{
	const struct th_json *answer =
	    th_json_get(th_json_get(event, "tool_call_metadata"), "model_response");

	return th_json_get(th_json_at(th_json_get(answer, "choices"), 0), "message");
}

static struct th_str v0_arguments(struct maker *m, const struct th_json *event,
				  struct th_str call_id)
{
	struct th_json_iter it = th_json_iter(th_json_get(v0_message(event), "tool_calls"));

	while (th_json_next(&it))
		if (th_str_eq(th_json_get_str(it.val, "id"), call_id))
			return th_json_get_str(th_json_get(it.val, "function"), "arguments");
	return th_json_text(th_json_get(event, "args"), &m->view->memory);
}

static void put_v0_call(struct maker *m, uint64_t number, const struct th_json *event)
{
	const struct th_json *first = th_json_at(th_json_get(v0_message(event), "tool_calls"), 0);
	struct th_str call_id = v0_call_id(m, event, (int64_t)number), said, tool;

	tool = th_json_get_str(th_json_get(event, "tool_call_metadata"), "function_name");
	said = th_json_get_str(
	    th_openhands_v0_get(event, "thought") ? th_json_get(event, "args") : NULL, "thought");
	/* An answer of several calls says what it says once. */
	if (!first || th_str_eq(th_json_get_str(first, "id"), call_id))
		put_message(m, true, said);
	put_call(m, call_id, tool.len ? tool : th_json_get_str(event, "action"),
		 v0_arguments(m, event, call_id));
}

static void put_v0_message(struct maker *m, const struct th_json *event)
{
	struct th_str text = th_json_str(th_openhands_v0_get(event, "content"));
	const struct th_json *pictures = th_openhands_v0_get(event, "image_urls");
	bool assistant = th_str_is(th_json_get_str(event, "source"), "agent");

	if (assistant || !th_json_count(pictures)) {
		put_message(m, assistant, text);
		return;
	}
	begin_message(m, false);
	put_part(m, "input_text", "text", text);
	put_pictures(m, pictures);
	end_message(m);
}

static void put_v0_action(struct maker *m, uint64_t number, const struct th_json *event)
{
	static const char *const silent[] = { "system",
					      "recall",
					      "condensation",
					      "condensation_request",
					      "change_agent_state",
					      "loop_recovery",
					      "null",
					      "reject" };
	struct th_str name = th_json_get_str(event, "action"), text;

	for (size_t i = 0; i < TH_COUNT(silent); i++)
		if (th_str_is(name, silent[i]))
			return;
	if (th_str_is(name, "message")) {
		put_v0_message(m, event);
	} else if (th_str_is(name, "finish")) {
		text = th_json_str(th_openhands_v0_get(event, "final_thought"));
		put_message(m, true,
			    text.len ? text : th_json_str(th_openhands_v0_get(event, "thought")));
	} else {
		put_v0_call(m, number, event);
	}
}

/* What was recalled: pieces of knowledge, or the repository's own instructions. */
static void put_v0_recall(struct maker *m, const struct th_json *event)
{
	struct th_json_iter it = th_json_iter(th_openhands_v0_get(event, "microagent_knowledge"));

	put_message(m, false, th_json_str(th_openhands_v0_get(event, "repo_instructions")));
	while (th_json_next(&it))
		put_message(m, false, th_json_get_str(it.val, "content"));
}

static void put_v0_seen(struct maker *m, const struct th_json *event)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_JSON_SIZE_MAX);
	struct th_str name = th_json_get_str(event, "observation"), picture, call_id;
	const struct th_json *metadata = th_openhands_v0_get(event, "metadata");

	if (th_str_is(name, "agent_state_changed") || th_str_is(name, "null") ||
	    th_str_is(name, "loop_detection"))
		return;
	if (th_str_is(name, "recall")) {
		put_v0_recall(m, event);
		return;
	}
	if (th_str_is(name, "error"))
		th_buf_add_cstr(&text, TH_ERROR_WORD);
	th_buf_add(&text, th_json_get_str(metadata, "prefix"));
	th_ps1_strip(th_json_get_str(event, "content"), &text);
	th_buf_add(&text, th_json_get_str(metadata, "suffix"));
	call_id = v0_call_id(m, event, th_json_get_int(event, "cause", -1));
	picture = th_json_str(th_openhands_v0_get(event, "screenshot"));
	if (!is_picture(picture) || !answer_call(m, call_id)) {
		put_result(m, call_id, th_buf_str(&text));
		return;
	}
	begin_result(m, call_id);
	th_jw_array(&m->w);
	put_part(m, "input_text", "text", th_buf_str(&text));
	put_part(m, "input_image", "image_url", picture);
	th_jw_array_end(&m->w);
	th_jw_object_end(&m->w);
}

/* ---- condensations ---- */

static bool is_condensation(const struct th_openhands_view *v, const struct th_json *event)
{
	return v->version == TH_OPENHANDS_V1
		   ? th_str_is(th_json_get_str(event, "kind"), "Condensation")
		   : th_str_is(th_json_get_str(event, "action"), "condensation");
}

static bool is_forgotten(const struct th_openhands_view *v, const struct th_json *event,
			 struct th_str id)
{
	const struct th_json *list = v->version == TH_OPENHANDS_V1
					 ? th_json_get(event, "forgotten_event_ids")
					 : th_openhands_v0_get(event, "forgotten_event_ids");
	struct th_json_iter it = th_json_iter(list);
	int64_t number = -1, from, to;

	while (th_json_next(&it))
		if (th_json_type(it.val) == TH_JSON_STR
			? th_str_eq(th_json_str(it.val), id)
			: th_str_i64(id, &number) && th_json_int(it.val, -2) == number)
			return true;
	if (v->version == TH_OPENHANDS_V1 || th_json_is_array(list))
		return false;
	from = th_json_int(th_openhands_v0_get(event, "forgotten_events_start_id"), 0);
	to = th_json_int(th_openhands_v0_get(event, "forgotten_events_end_id"), -1);
	return th_str_i64(id, &number) && number >= from && number <= to;
}

static enum th_code push(struct th_openhands_view *v, size_t at, struct th_str id,
			 struct th_str items, struct th_err *err)
{
	if (v->count == TH_EXPORT_EVENTS_MAX || v->memory.no_memory)
		return th_fail(err, TH_ELIMIT, "the conversation is too large");
	if (v->count == v->cap) {
		v->cap = TH_MAX(2 * v->cap, (size_t)64);
		v->list = th_realloc(v->list, v->cap * sizeof(*v->list));
	}
	memmove(&v->list[at + 1], &v->list[at], (v->count - at) * sizeof(*v->list));
	v->list[at] = (struct th_openhands_seen){ id, items };
	v->count++;
	return TH_OK;
}

static enum th_code finish(struct maker *m, struct th_str *ret, struct th_err *err)
{
	enum th_code code = th_buf_check(&m->text, "the items of an event", err);

	if (!code)
		*ret = th_arena_str(&m->view->memory, th_buf_str(&m->text));
	if (!code && !ret->ptr)
		code = th_fail(err, TH_ELIMIT, "the conversation is too large");
	th_buf_deinit(&m->text);
	return code;
}

static void begin(struct maker *m, struct th_openhands_view *view)
{
	m->view = view;
	th_buf_init(&m->text, TH_EVENT_DATA_MAX);
	m->w = th_jw(&m->text);
	th_jw_array(&m->w);
}

/* The summary stands where the event says, among those that stay. */
static enum th_code condense(struct th_openhands_view *v, const struct th_json *event,
			     struct th_str *ret_items, struct th_err *err)
{
	bool v1 = v->version == TH_OPENHANDS_V1;
	const struct th_json *place = v1 ? th_json_get(event, "summary_offset")
					 : th_openhands_v0_get(event, "summary_offset");
	struct th_str summary =
	    th_json_str(v1 ? th_json_get(event, "summary") : th_openhands_v0_get(event, "summary"));
	struct th_str items = TH_STR("[]");
	struct maker m;
	size_t kept = 0;
	enum th_code code = TH_OK;

	for (size_t i = 0; i < v->count; i++)
		if (!is_forgotten(v, event, v->list[i].id))
			v->list[kept++] = v->list[i];
	v->count = kept;
	if (summary.len) {
		begin(&m, v);
		put_message(&m, false, summary);
		th_jw_array_end(&m.w);
		code = finish(&m, &items, err);
		kept = TH_MIN((size_t)th_json_uint(place, 0), kept);
		if (!code)
			code = push(v, kept, TH_STR(""), items, err);
	}
	begin(&m, v);
	for (size_t i = 0; !code && i < v->count; i++) {
		struct th_json_raw_iter it = th_json_raw_iter(v->list[i].items);

		while (th_json_raw_next(&it))
			th_jw_raw(&m.w, it.val);
	}
	th_jw_array_end(&m.w);
	return code ?: finish(&m, ret_items, err);
}

/* Those that count where a place in the history is meant. */
static bool is_seen(const struct th_openhands_view *v, const struct th_json *event)
{
	static const char *const seen[] = {
		"SystemPromptEvent",       "MessageEvent",          "ActionEvent",
		"ObservationEvent",        "UserRejectObservation", "AgentErrorEvent",
		"CondensationSummaryEvent"
	};

	for (size_t i = 0; v->version == TH_OPENHANDS_V1 && i < TH_COUNT(seen); i++)
		if (th_str_is(th_json_get_str(event, "kind"), seen[i]))
			return true;
	return v->version == TH_OPENHANDS_V0;
}

enum th_code th_openhands_view_add(struct th_openhands_view *view, uint64_t number,
				   const struct th_json *event, struct th_str *ret_items,
				   bool *ret_anew, struct th_err *err)
{
	struct th_str id;
	struct maker m;
	enum th_code code;

	*ret_anew = is_condensation(view, event);
	if (*ret_anew)
		return condense(view, event, ret_items, err);
	id = view->version == TH_OPENHANDS_V1
		 ? th_arena_str(&view->memory, th_json_get_str(event, "id"))
		 : th_arena_printf(&view->memory, "%llu", (unsigned long long)number);
	begin(&m, view);
	if (view->version == TH_OPENHANDS_V1)
		put_v1(&m, event);
	else if (th_json_get(event, "action"))
		put_v0_action(&m, number, event);
	else
		put_v0_seen(&m, event);
	th_jw_array_end(&m.w);
	code = finish(&m, ret_items, err);
	return code ?: is_seen(view, event) ? push(view, view->count, id, *ret_items, err) : TH_OK;
}

enum th_code th_openhands_view_close(struct th_openhands_view *view, struct th_str *ret_items,
				     struct th_err *err)
{
	struct maker m;

	begin(&m, view);
	while (view->open_count)
		put_result(&m, view->open[0].call_id, TH_STR(NOT_KNOWN));
	th_jw_array_end(&m.w);
	return finish(&m, ret_items, err);
}
