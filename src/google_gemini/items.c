/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.c - the parts of a content of the model as items: texts that
 * follow each other are one message, thoughts one reasoning item.  Parts that
 * no item is like stay in the raw form only.
 */
#include "base/limits.h"
#include "google_gemini/gemini.h"

struct writer {
	struct th_jw w;
	struct th_str id_base;
	enum { NOTHING, MESSAGE, REASONING } open;
	size_t call_count;
	bool text; /* in the open item's string */
};

static void close_item(struct writer *x)
{
	if (x->open == MESSAGE)
		th_buf_add(x->w.out, TH_STR("\",\"annotations\":[]}]}"));
	else if (x->open == REASONING)
		th_buf_add(x->w.out, TH_STR("\"}]}"));
	x->open = NOTHING;
}

static void put_text(struct writer *x, struct th_str text, bool thought)
{
	int kind = thought ? REASONING : MESSAGE;

	if (!text.len)
		return;
	if ((int)x->open != kind) {
		close_item(x);
		th_jw_raw(&x->w, thought ? TH_STR("{\"type\":\"reasoning\",\"summary\":[{\"type\":"
						  "\"summary_text\",\"text\":\"")
					 : TH_STR("{\"type\":\"message\",\"role\":\"assistant\","
						  "\"content\":[{\"type\":\"output_text\","
						  "\"text\":\""));
		x->open = thought ? REASONING : MESSAGE;
	}
	th_buf_add(x->w.out, text);
}

static void put_call(struct writer *x, struct th_str call)
{
	struct th_str id = th_json_raw_get(call, "id"), name = th_json_raw_get(call, "name");
	struct th_str args = th_json_raw_get(call, "args");
	struct th_jw *w = &x->w;

	close_item(x);
	x->call_count++;
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function_call"));
	if (th_json_raw_inside(id).len) {
		th_jw_kraw(w, "id", id);
		th_jw_kraw(w, "call_id", id);
	} else {
		th_jw_key(w, TH_STR("call_id"));
		th_jw_raw(w, TH_STR("\"call_"));
		th_buf_add(w->out, x->id_base);
		th_buf_add_char(w->out, '_');
		th_buf_add_u64(w->out, x->call_count);
		th_buf_add_char(w->out, '"');
	}
	th_jw_key(w, TH_STR("name"));
	th_jw_raw(w, th_json_raw_inside(name).len ? name : TH_STR("\"\""));
	th_jw_kstr(w, "arguments", args.len && args.ptr[0] == '{' ? args : TH_STR("{}"));
	th_jw_object_end(w);
}

/* What the provider ran itself: nothing to answer. */
static void put_code(struct writer *x, struct th_str code)
{
	close_item(x);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("code_interpreter_call"));
	th_jw_kraw(&x->w, "code", code);
	th_jw_kstr(&x->w, "status", TH_STR("completed"));
	th_jw_object_end(&x->w);
}

static void put_image(struct writer *x, struct th_str data)
{
	close_item(x);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("image_generation_call"));
	th_jw_kraw(&x->w, "result", data);
	th_jw_kstr(&x->w, "status", TH_STR("completed"));
	th_jw_object_end(&x->w);
}

static void put_part(struct writer *x, struct th_str part)
{
	struct th_str text = th_json_raw_get(part, "text");
	struct th_str call = th_json_raw_get(part, "functionCall");
	struct th_str code = th_json_raw_get(th_json_raw_get(part, "executableCode"), "code");
	struct th_str data = th_json_raw_get(th_json_raw_get(part, "inlineData"), "data");

	if (!call.len) /* requests are written in both spellings */
		call = th_json_raw_get(part, "function_call");
	if (call.len && call.ptr[0] == '{')
		put_call(x, call);
	else if (text.len)
		put_text(x, th_json_raw_inside(text),
			 th_str_is(th_json_raw_get(part, "thought"), "true"));
	else if (th_json_raw_inside(code).len)
		put_code(x, code);
	else if (th_json_raw_inside(data).len)
		put_image(x, data);
}

enum th_code th_gemini_items(struct th_str parts, struct th_str id_base, struct th_buf *out,
			     struct th_err *err)
{
	struct writer x = { .w = th_jw(out), .id_base = id_base };
	struct th_json_raw_iter it = th_json_raw_iter(parts);

	th_jw_array(&x.w);
	while (!it.object && th_json_raw_next(&it))
		put_part(&x, it.val);
	close_item(&x);
	th_jw_array_end(&x.w);
	if (x.call_count > TH_CALLS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d calls", TH_CALLS_MAX);
	return th_buf_check(out, "the answer", err);
}
