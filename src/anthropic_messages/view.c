/* SPDX-License-Identifier: Apache-2.0 */
#include "anthropic_messages/view.h"

#include "base/limits.h"
#include "dialects/actions.h"
#include "model_wire/seal.h"

struct th_str th_messages_raw_str(struct th_str object, const char *key)
{
	struct th_str raw = th_json_raw_get(object, key);

	return raw.len >= 2 && raw.ptr[0] == '"' ? th_str_sub(raw, 1, raw.len - 2)
						 : (struct th_str){ NULL, 0 };
}

void th_messages_put_member(struct th_jw *w, struct th_str key, struct th_str val)
{
	th_jw_raw(w, TH_STR("\""));
	th_buf_add(w->out, key);
	th_buf_add(w->out, TH_STR("\":"));
	th_buf_add(w->out, val);
}

bool th_messages_is_among(struct th_str key, const char *const *names)
{
	for (; *names; names++)
		if (th_str_is(key, *names))
			return true;
	return false;
}

void th_messages_put_rest(struct th_jw *w, struct th_str object, const char *const *names)
{
	struct th_json_raw_iter it = th_json_raw_iter(object);

	while (it.object && th_json_raw_next(&it))
		if (!th_messages_is_among(it.key, names))
			th_messages_put_member(w, it.key, it.val);
}

/* ---- parts of content ---- */

static bool is_source(struct th_str source)
{
	struct th_str type = th_messages_raw_str(source, "type");

	return (th_str_is(type, "base64") && th_messages_raw_str(source, "data").len) ||
	       (th_str_is(type, "url") && th_messages_raw_str(source, "url").len);
}

/* As a data URL, or the URL that it is. */
static void put_source_view(struct th_jw *w, struct th_str source)
{
	if (th_str_is(th_messages_raw_str(source, "type"), "url")) {
		th_jw_raw(w, th_json_raw_get(source, "url"));
		return;
	}
	th_jw_raw(w, TH_STR("\"data:"));
	th_buf_add(w->out, th_messages_raw_str(source, "media_type"));
	th_buf_add(w->out, TH_STR(";base64,"));
	th_buf_add(w->out, th_messages_raw_str(source, "data"));
	th_buf_add_char(w->out, '"');
}

/* base64 pictures and files become data URLs; what has no unified form stays as it is. */
static void put_part_view(struct th_jw *w, struct th_str block, bool output)
{
	struct th_str type = th_messages_raw_str(block, "type"),
		      source = th_json_raw_get(block, "source");

	if (th_str_is(type, "text") && th_json_raw_get(block, "text").len) {
		th_jw_object(w);
		th_jw_kstr(w, "type", output ? TH_STR("output_text") : TH_STR("input_text"));
		th_jw_kraw(w, "text", th_json_raw_get(block, "text"));
		th_jw_object_end(w);
	} else if (th_str_is(type, "image") && is_source(source)) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("input_image"));
		th_jw_key(w, TH_STR("image_url"));
		put_source_view(w, source);
		th_jw_object_end(w);
	} else if (th_str_is(type, "document") && is_source(source)) {
		bool url = th_str_is(th_messages_raw_str(source, "type"), "url");
		struct th_str title = th_json_raw_get(block, "title");

		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("input_file"));
		if (title.len && title.ptr[0] == '"')
			th_jw_kraw(w, "filename", title);
		else if (!url)
			th_jw_kstr(w, "filename", TH_STR("document"));
		th_jw_key(w, url ? TH_STR("file_url") : TH_STR("file_data"));
		put_source_view(w, source);
		th_jw_object_end(w);
	} else {
		th_jw_raw(w, block);
	}
}

/* {"type": BLOCK, "source": {…}} of a URL, which may be a data URL. */
static void put_source(struct th_jw *w, const char *block, struct th_str title, struct th_str url)
{
	struct th_str mark = TH_STR(";base64,");
	ptrdiff_t at = th_str_find(url, mark);
	bool data = th_str_starts(url, TH_STR("data:")) && at > 5;

	th_jw_object(w);
	th_jw_kstr(w, "type", th_str_of(block));
	if (title.len && title.ptr[0] == '"')
		th_jw_kraw(w, "title", title);
	th_jw_key(w, TH_STR("source"));
	th_jw_object(w);
	th_jw_kstr(w, "type", data ? TH_STR("base64") : TH_STR("url"));
	th_jw_key(w, data ? TH_STR("media_type") : TH_STR("url"));
	th_jw_raw(w, TH_STR("\""));
	th_buf_add(w->out, data ? th_str_sub(url, 5, (size_t)at - 5) : url);
	th_buf_add_char(w->out, '"');
	if (data) {
		th_jw_key(w, TH_STR("data"));
		th_jw_raw(w, TH_STR("\""));
		th_buf_add(w->out, th_str_sub(url, (size_t)at + mark.len, url.len));
		th_buf_add_char(w->out, '"');
	}
	th_jw_object_end(w);
	th_jw_object_end(w);
}

bool th_messages_put_media(struct th_jw *w, struct th_str part)
{
	struct th_str type = th_messages_raw_str(part, "type"), none = { NULL, 0 };
	struct th_str url = th_messages_raw_str(part, "image_url");

	if (th_str_is(type, "input_image") && url.len) {
		put_source(w, "image", none, url);
		return true;
	}
	url = th_messages_raw_str(part, "file_data");
	if (!url.len)
		url = th_messages_raw_str(part, "file_url");
	if (!th_str_is(type, "input_file") || !url.len)
		return false;
	put_source(w, "document", th_json_raw_get(part, "filename"), url);
	return true;
}

static void put_part(struct th_jw *w, struct th_str part)
{
	static const char *const texts[] = { "input_text", "output_text", NULL };
	struct th_str type = th_messages_raw_str(part, "type");

	if (th_messages_is_among(type, texts)) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("text"));
		th_jw_kraw(w, "text", th_json_raw_get(part, "text"));
		th_jw_object_end(w);
	} else if (!th_messages_put_media(w, part)) {
		th_jw_raw(w, part);
	}
}

/* ---- a block as an item: members only, so that raw can follow ---- */

static void view_message(struct th_jw *w, struct th_str block, struct th_str role)
{
	th_jw_kstr(w, "type", TH_STR("message"));
	th_jw_kstr(w, "role", role);
	th_jw_key(w, TH_STR("content"));
	th_jw_array(w);
	put_part_view(w, block, th_str_is(role, "assistant"));
	th_jw_array_end(w);
}

static void view_call(struct th_jw *w, struct th_str block)
{
	bool member =
	    th_str_is(th_messages_raw_str(block, "toolset_name"), TH_COMPUTER_FUNCTION_NAME);
	struct th_str input = th_json_raw_get(block, "input");
	struct th_buf arguments = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw in = th_jw(&arguments);
	static const char *const none[] = { NULL };

	if (member) { /* as the decoder gives it */
		th_jw_object(&in);
		th_jw_kraw(&in, "action", th_json_raw_get(block, "name"));
		th_messages_put_rest(&in, input, none);
		th_jw_object_end(&in);
		input = th_buf_str(&arguments);
	}
	th_jw_kstr(w, "type", TH_STR("function_call"));
	th_jw_kraw(w, "call_id", th_json_raw_get(block, "id"));
	if (member)
		th_jw_kstr(w, "name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
	else
		th_jw_kraw(w, "name", th_json_raw_get(block, "name"));
	th_jw_kstr(w, "arguments", input.len ? input : TH_STR("{}"));
	th_buf_deinit(&arguments);
}

static void view_result(struct th_jw *w, struct th_str block)
{
	struct th_str content = th_json_raw_get(block, "content"),
		      error = th_json_raw_get(block, "is_error");
	struct th_json_raw_iter it = th_json_raw_iter(content);

	th_jw_kstr(w, "type", TH_STR("function_call_output"));
	th_jw_kraw(w, "call_id", th_json_raw_get(block, "tool_use_id"));
	th_jw_key(w, TH_STR("output"));
	if (content.len && content.ptr[0] == '[') {
		th_jw_array(w);
		while (th_json_raw_next(&it))
			put_part_view(w, it.val, false);
		th_jw_array_end(w);
	} else {
		th_jw_raw(w, content.len && content.ptr[0] == '"' ? content : TH_STR("\"\""));
	}
	if (error.len)
		th_jw_kraw(w, "is_error", error);
}

static void view_thinking(struct th_jw *w, struct th_str block, struct th_str type)
{
	struct th_str text = th_json_raw_get(block, "thinking");
	struct th_buf sealed TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_ANSWER_MAX);
	const char *member = th_str_is(type, "thinking") ? "signature" : "data";

	th_jw_kstr(w, "type", TH_STR("reasoning"));
	th_jw_key(w, TH_STR("summary"));
	th_jw_array(w);
	if (text.len > 2) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("summary_text"));
		th_jw_kraw(w, "text", text);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
	th_seal_of_parts(type, th_messages_raw_str(block, member), &sealed);
	if (sealed.len)
		th_jw_kstr(w, "encrypted_content", th_buf_str(&sealed));
}

void th_messages_put_view(struct th_jw *w, struct th_str block, struct th_str role)
{
	static const char *const thinking[] = { "thinking", "redacted_thinking", NULL };
	struct th_str type = th_messages_raw_str(block, "type");
	bool string_id = th_messages_raw_str(block, "id").ptr,
	     string_name = th_messages_raw_str(block, "name").ptr;

	if (th_str_is(type, "tool_use") && string_id && string_name)
		view_call(w, block);
	else if (th_str_is(type, "tool_result") && th_messages_raw_str(block, "tool_use_id").ptr)
		view_result(w, block);
	else if (th_messages_is_among(type, thinking))
		view_thinking(w, block, type);
	else
		view_message(w, block, role);
}

/* ---- an item as a block, or as several ---- */

static void block_call(struct th_jw *w, const struct th_json *item)
{
	struct th_str arguments = th_json_get_str(item, "arguments");
	struct th_json_doc *doc = NULL;
	bool good = !th_json_parse(arguments, &doc, NULL) && th_json_is_object(th_json_root(doc));

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("tool_use"));
	th_jw_kstr(w, "id", th_json_get_str(item, "call_id"));
	th_jw_kstr(w, "name", th_json_get_str(item, "name"));
	th_jw_key(w, TH_STR("input"));
	if (good) {
		th_jw_raw(w, th_str_trim(arguments));
	} else {
		th_jw_object(w);
		th_jw_kstr(w, "arguments", arguments);
		th_jw_object_end(w);
	}
	th_jw_object_end(w);
	th_json_free(doc);
}

static void block_result(struct th_jw *w, struct th_str item)
{
	struct th_str output = th_json_raw_get(item, "output"),
		      error = th_json_raw_get(item, "is_error");
	struct th_json_raw_iter it = th_json_raw_iter(output);

	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("tool_result"));
	th_jw_kraw(w, "tool_use_id", th_json_raw_get(item, "call_id"));
	th_jw_key(w, TH_STR("content"));
	if (output.len && output.ptr[0] == '[') {
		th_jw_array(w);
		while (th_json_raw_next(&it))
			put_part(w, it.val);
		th_jw_array_end(w);
	} else {
		th_jw_raw(w, output.len && output.ptr[0] == '"' ? output : TH_STR("\"\""));
	}
	if (error.len)
		th_jw_kraw(w, "is_error", error);
	th_jw_object_end(w);
}

static void block_thinking(struct th_jw *w, const struct th_json *item)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str sealed = th_json_get_str(item, "encrypted_content");

	if (!sealed.len)
		return;
	th_seal_text(item, &text);
	th_seal_put_block(w, th_buf_str(&text), sealed);
}

void th_messages_put_blocks(struct th_jw *w, const struct th_json *item, struct th_str raw)
{
	struct th_str type = th_messages_raw_str(raw, "type"),
		      content = th_json_raw_get(raw, "content");
	struct th_json_raw_iter it = th_json_raw_iter(content);

	if (th_str_is(type, "function_call")) {
		block_call(w, item);
	} else if (th_str_is(type, "function_call_output")) {
		block_result(w, raw);
	} else if (th_str_is(type, "reasoning")) {
		block_thinking(w, item);
	} else if (th_str_is(type, "message") && content.len && content.ptr[0] == '"') {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("text"));
		th_jw_kraw(w, "text", content);
		th_jw_object_end(w);
	} else if (th_str_is(type, "message")) {
		while (!it.object && th_json_raw_next(&it))
			put_part(w, it.val);
	}
}

struct th_str th_messages_role_of(struct th_str item)
{
	struct th_str type = th_messages_raw_str(item, "type"),
		      role = th_messages_raw_str(item, "role");

	if (th_str_is(type, "function_call_output"))
		return TH_STR("user");
	return th_str_is(type, "message") && role.len ? role : TH_STR("assistant");
}
