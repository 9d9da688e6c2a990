/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript_form.c - the items of a transcript as others see them, and theirs found among ours.
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "transcript/transcript.h"

/* What it is as others see it, parsed once; NULL: it cannot be. */
static const struct th_json *as_seen(const struct th_transcript *p, size_t i,
				     struct th_json_doc **docs)
{
	struct th_buf text;
	struct th_jw w;

	if (!docs[i]) {
		th_buf_init(&text, TH_EVENT_DATA_MAX);
		w = th_jw(&text);
		th_transcript_print(&p->list[i], &w);
		if (th_json_parse(th_buf_str(&text), &docs[i], NULL))
			docs[i] = NULL;
		th_buf_deinit(&text);
	}
	return th_json_root(docs[i]);
}

/* Its place among ours, or `count`.  Mostly they come in the order in which they were. */
static size_t find_same(const struct th_transcript *p, size_t next, const struct th_json *item,
			struct th_json_doc **docs)
{
	for (size_t k = 0; k < p->count; k++) {
		size_t i = (next + k) % p->count;
		const struct th_json *ours = as_seen(p, i, docs);

		if (ours && th_json_equal(ours, item))
			return i;
	}
	return p->count;
}

enum th_code th_transcript_mark(const struct th_transcript *p, const struct th_json *items,
				struct th_buf *marks, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(items);
	struct th_jw w = th_jw(marks);
	struct th_json_doc **docs;
	size_t next = 0;

	if (th_items_check(items, err))
		return TH_EPROTO;
	docs = th_try_alloc((p->count + 1) * sizeof(struct th_json_doc *));
	if (!docs)
		return th_fail_memory(err);
	th_jw_array(&w);
	while (th_json_next(&it)) {
		size_t i = find_same(p, next, it.val, docs);

		if (i == p->count) {
			th_jw_json(&w, it.val);
			continue;
		}
		next = i + 1;
		th_jw_array(&w);
		th_jw_uint(&w, p->list[i].seq);
		th_jw_uint(&w, p->list[i].index);
		th_jw_array_end(&w);
	}
	th_jw_array_end(&w);
	for (size_t i = 0; i < p->count; i++)
		th_json_free(docs[i]);
	free(docs);
	return th_buf_check(marks, "a narrowed history", err);
}

enum th_native th_transcript_native(const struct th_transcript_item *item)
{
	struct th_str type = th_json_raw_get(item->item, "type");
	enum th_native kind = th_native_of_type(th_str_sub(type, 1, type.len ? type.len - 2 : 0));

	return kind == TH_NATIVE_CUSTOM ? TH_NATIVE_NONE : kind;
}

/* Our parts are the Responses API's under other names; a picture stays named by its blob. */
static void print_output(struct th_str output, struct th_jw *w)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	if (!output.len || output.ptr[0] != '[') {
		th_jw_raw(w, output.len ? output : TH_STR("\"\""));
		return;
	}
	th_jw_array(w);
	while (th_json_raw_next(&it)) {
		struct th_str type = th_json_raw_get(it.val, "type");

		if (th_str_is(type, "\"text\"")) {
			th_jw_object(w);
			th_jw_kstr(w, "type", TH_STR("input_text"));
			th_jw_kraw(w, "text", th_json_raw_get(it.val, "text"));
			th_jw_object_end(w);
		} else {
			th_jw_raw(w, it.val);
		}
	}
	th_jw_array_end(w);
}

void th_transcript_print(const struct th_transcript_item *item, struct th_jw *w)
{
	struct th_str type = th_json_raw_get(item->item, "type");
	enum th_native native =
	    item->kind == TH_TRANSCRIPT_RESULT ? th_transcript_native(item) : TH_NATIVE_NONE;

	if (item->kind == TH_TRANSCRIPT_OUTPUT) {
		th_jw_raw(w, item->item);
		return;
	}
	if (native) {
		struct th_native_result r = { item->item, item->call_id, item->status, item->output,
					      item->evidence };

		th_native_put_result(native, &r, w);
		return;
	}
	th_jw_object(w);
	if (item->kind == TH_TRANSCRIPT_MESSAGE) {
		th_jw_kstr(w, "role", item->role);
		th_jw_kraw(w, "content", item->content.len ? item->content : TH_STR("\"\""));
	} else {
		bool known = type.len > 2;
		struct th_buf name = TH_BUF_INIT(256);

		th_buf_printf(&name, "%.*s_output",
			      TH_FMT(known ? th_str_sub(type, 1, TH_MIN(type.len - 2, (size_t)100))
					   : TH_STR("function_call")));
		th_jw_kstr(w, "type", th_buf_str(&name));
		th_jw_kstr(w, "call_id", item->call_id);
		th_jw_key(w, TH_STR("output"));
		print_output(item->output, w);
		if (item->acknowledged.len)
			th_jw_kraw(w, "acknowledged_safety_checks", item->acknowledged);
		th_buf_deinit(&name);
	}
	th_jw_object_end(w);
}

/* A part of type image is a picture that the session has, by its digest; others say input_image. */
static bool has_stray_image(const struct th_json *parts)
{
	struct th_json_iter it = th_json_iter(parts);
	struct th_digest digest;

	while (th_json_is_array(parts) && th_json_next(&it))
		if (th_str_is(th_json_get_str(it.val, "type"), "image") &&
		    !th_digest_parse(th_json_get_str(it.val, "blob"), &digest))
			return true;
	return false;
}

static bool is_text_part(struct th_str type)
{
	return th_str_is(type, "text") || th_str_is(type, "input_text") ||
	       th_str_is(type, "output_text");
}

/* Why no wire could give it to a model; NULL: it could. */
static const char *content_fault(const struct th_json *content)
{
	struct th_json_iter it = th_json_iter(content);

	if (th_json_type(content) == TH_JSON_STR)
		return NULL;
	if (!th_json_is_array(content))
		return "must be a string or a list of parts";
	while (th_json_next(&it)) {
		if (!th_json_is_object(it.val))
			return "has a part that is no object";
		if (is_text_part(th_json_get_str(it.val, "type")) &&
		    th_json_type(th_json_get(it.val, "text")) != TH_JSON_STR)
			return "has a part whose text is no string";
	}
	return NULL;
}

/* Of a message its content, of a function's or a custom tool's result its output. */
static enum th_code check_content(const struct th_json *item, size_t n, struct th_err *err)
{
	struct th_str type = th_json_get_str(item, "type");
	bool result =
	    th_str_is(type, "function_call_output") || th_str_is(type, "custom_tool_call_output");
	const char *member = result ? "output" : "content", *why = NULL;

	if (result || th_json_get_str(item, "role").len)
		why = content_fault(th_json_get(item, member));
	return why ? th_fail(err, TH_EPROTO, "item %zu: %s %s", n, member, why) : TH_OK;
}

enum th_code th_items_check(const struct th_json *items, struct th_err *err)
{
	struct th_json_iter it = th_json_iter(items);

	if (!th_json_is_array(items))
		return th_fail(err, TH_EPROTO, "it must be a list of items");
	while (th_json_next(&it)) {
		struct th_str type = th_json_get_str(it.val, "type");
		struct th_str role = th_json_get_str(it.val, "role");
		size_t n = it.index;

		if (!th_json_is_object(it.val) || (!type.len && !role.len))
			return th_fail(err, TH_EPROTO,
				       "item %zu must be an object with a role or a type", n);
		if (role.len && !th_str_is(role, "user") && !th_str_is(role, "assistant") &&
		    !th_str_is(role, "system") && !th_str_is(role, "developer"))
			return th_fail(
			    err, TH_EPROTO,
			    "item %zu: role must be user, assistant, system or developer", n);
		if (role.len && th_json_is_null(th_json_get(it.val, "content")))
			return th_fail(err, TH_EPROTO, "item %zu has no content", n);
		if (has_stray_image(th_json_get(it.val, "content")) ||
		    has_stray_image(th_json_get(it.val, "output")))
			return th_fail(err, TH_EPROTO,
				       "item %zu: an image part's blob must be the 64 digits of a "
				       "SHA-256; other pictures are input_image",
				       n);
		if (check_content(it.val, n, err) != TH_OK)
			return TH_EPROTO;
	}
	return TH_OK;
}
