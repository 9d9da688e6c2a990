/* SPDX-License-Identifier: Apache-2.0 */
#include "models/plumb.h"

#include <stdlib.h>

#include "base/codec.h"
#include "base/limits.h"

/* ---- route ---- */

static const char *computer_name(enum th_computer_tool tool)
{
	switch (tool) {
	case TH_COMPUTER_PREVIEW:
		return "preview";
	case TH_COMPUTER_GA:
		return "native";
	case TH_COMPUTER_FUNCTION:
		return "function";
	case TH_COMPUTER_NONE:
		break;
	}
	return "none";
}

enum th_code th_plumb_route(struct th_str model, struct th_buf *out, struct th_err *err)
{
	const struct th_profile *p;
	struct th_str name;
	struct th_jw w = th_jw(out);
	enum th_code code = th_model_resolve(model, &p, &name, err);

	if (code)
		return code;
	th_jw_object(&w);
	th_jw_kstr(&w, "profile", th_str_of(p->name));
	th_jw_kstr(&w, "wire", th_str_of(p->wire->name));
	th_jw_kstr(&w, "dialect", th_str_of(p->dialect));
	th_jw_kstr(&w, "model", name);
	th_jw_key(&w, TH_STR("capabilities"));
	th_jw_object(&w);
	th_jw_kstr(&w, "computer", th_str_of(computer_name(p->computer)));
	th_jw_kbool(&w, "vision", p->vision);
	th_jw_kbool(&w, "reasoning", p->reasoning);
	th_jw_object_end(&w);
	th_jw_object_end(&w);
	return TH_OK;
}

/* ---- decode ---- */

static void put_count(struct th_jw *w, const char *key, int64_t tokens)
{
	if (tokens >= 0)
		th_jw_kint(w, key, tokens);
}

static const char *status_name(enum th_answer_status status)
{
	switch (status) {
	case TH_ANSWER_COMPLETED:
		return "completed";
	case TH_ANSWER_INCOMPLETE:
		return "incomplete";
	case TH_ANSWER_FAILED:
		break;
	}
	return "failed";
}

static void put_error(const struct th_answer *a, struct th_jw *w)
{
	th_jw_key(w, TH_STR("error"));
	if (a->status != TH_ANSWER_FAILED) {
		th_jw_null(w);
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "class", a->error_class);
	th_jw_kstr(w, "message", a->error_message);
	if (a->error_code.len)
		th_jw_kstr(w, "code", a->error_code);
	if (a->error_raw.len)
		th_jw_kraw(w, "raw", a->error_raw);
	th_jw_object_end(w);
}

void th_plumb_answer(const struct th_answer *a, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kraw(&w, "items", a->items);
	th_jw_key(&w, TH_STR("usage"));
	th_jw_object(&w);
	put_count(&w, "input", a->usage.input);
	put_count(&w, "cached", a->usage.cached);
	put_count(&w, "output", a->usage.output);
	put_count(&w, "reasoning", a->usage.reasoning);
	put_count(&w, "total", a->usage.total);
	th_jw_object_end(&w);
	th_jw_kstr(&w, "status", th_str_of(status_name(a->status)));
	if (a->reason.len)
		th_jw_kstr(&w, "reason", a->reason);
	put_error(a, &w);
	if (a->response_id.len)
		th_jw_kstr(&w, "response_id", a->response_id);
	if (a->model.len)
		th_jw_kstr(&w, "model", a->model);
	th_jw_object_end(&w);
}

void th_plumb_decode(const struct th_profile *profile, struct th_str body, int http_status,
		     struct th_buf *out)
{
	const struct th_wire *wire = profile->wire;
	struct th_decoder *d = wire->decoder_new(profile, NULL, NULL);
	struct th_answer answer;

	(void)wire->feed(d, body);
	if (http_status == 0 || (http_status >= 200 && http_status < 300))
		wire->end(d, false, &answer);
	else
		wire->error(d, http_status, &answer);
	th_plumb_answer(&answer, out);
	wire->decoder_free(d);
}

void th_plumb_decode_text(struct th_str text, struct th_buf *out)
{
	struct th_buf items = TH_BUF_INIT(6 * TH_ANSWER_MAX + TH_KIB);
	struct th_jw w = th_jw(&items);
	struct th_answer answer = {
		.status = TH_ANSWER_COMPLETED,
		.usage = { -1, -1, -1, -1, -1 },
	};

	th_buf_add(&items, TH_STR("[{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
				  "[{\"type\":\"output_text\",\"text\":"));
	th_jw_str(&w, th_str_sub(text, 0, TH_ANSWER_MAX));
	th_buf_add(&items, TH_STR(",\"annotations\":[]}]}]"));
	answer.items = th_buf_str(&items);
	th_plumb_answer(&answer, out);
	th_buf_deinit(&items);
}

/* ---- encode ---- */

static enum th_code take_tools(struct th_str input, const struct th_json *list, struct th_arena *a,
			       struct th_tool_spec *tools, struct th_err *err)
{
	struct th_json_raw_iter raw = th_json_raw_iter(th_json_raw_get(input, "tools"));
	struct th_json_iter it = th_json_iter(list);

	while (th_json_next(&it) && th_json_raw_next(&raw)) {
		struct th_tool_spec *t = &tools[it.index];

		t->name = th_arena_str(a, th_json_get_str(it.val, "name"));
		t->description = th_arena_str(a, th_json_get_str(it.val, "description"));
		t->schema = th_arena_str(a, th_json_raw_get(raw.val, "parameters"));
		t->strict = th_json_bool(th_json_get(it.val, "strict"), false);
		if (!t->name.len || !th_json_is_object(th_json_get(it.val, "parameters")))
			return th_fail(err, TH_EPROTO,
				       "tools[%zu] must have a name and parameters, an object",
				       it.index);
	}
	return TH_OK;
}

enum th_code th_plumb_tools(struct th_str input, struct th_arena *a, struct th_tool_spec **ret,
			    size_t *ret_count, struct th_err *err)
{
	struct th_json_doc *doc;
	const struct th_json *list;
	enum th_code code = th_json_parse(input, &doc, err);

	*ret_count = 0;
	if (code)
		return th_prefix(err, code, "the input");
	list = th_json_get(th_json_root(doc), "tools");
	*ret = th_arena_array(a, th_json_count(list) + 1, sizeof(**ret));
	if (!*ret || th_json_count(list) > TH_AGENT_TOOLS_MAX)
		code = th_fail(err, TH_ELIMIT, "more than %d tools", TH_AGENT_TOOLS_MAX);
	else if (th_json_is_array(list))
		code = take_tools(input, list, a, *ret, err);
	if (!code && th_json_is_array(list))
		*ret_count = th_json_count(list);
	th_json_free(doc);
	return code;
}

/* A call of the input, and its result's images. */
struct seen_call {
	struct th_str call_id, item; /* call_id is raw */
};

struct seen_image {
	struct th_digest blob;
	struct th_str base64;
};

struct encoder {
	const struct th_request_options *o;
	struct th_err *err;
	struct th_buf body, entry, scratch;
	struct seen_call *calls;
	size_t call_count, call_cap;
	struct seen_image *images; /* of the entry under way */
	size_t image_count, image_cap;
	bool any;
};

static struct th_str raw_str(struct th_str object, const char *key)
{
	struct th_str raw = th_json_raw_get(object, key);

	return raw.len >= 2 && raw.ptr[0] == '"' ? th_str_sub(raw, 1, raw.len - 2)
						 : (struct th_str){ NULL, 0 };
}

/* "data:image/png;base64,…": its media type and text. */
static bool split_data_url(struct th_str url, struct th_str *ret_media, struct th_str *ret_base64)
{
	struct th_str mark = TH_STR(";base64,");
	ptrdiff_t at = th_str_find(url, mark);

	if (!th_str_starts(url, TH_STR("data:image/")) || at < 0 ||
	    th_str_find_char(url, '\\') >= 0)
		return false;
	*ret_media = th_str_sub(url, 5, (size_t)at - 5);
	*ret_base64 = th_str_sub(url, (size_t)at + mark.len, url.len);
	return true;
}

/* An image as a part of ours; its base64 is kept for the hole. */
static bool put_image(struct encoder *x, struct th_str url, struct th_jw *w)
{
	struct th_str media, base64;
	struct th_buf bytes = TH_BUF_INIT(TH_BLOB_MAX);
	char hex[TH_SHA256_HEX_SIZE + 1];
	bool good = split_data_url(url, &media, &base64) && th_base64_decode(&bytes, base64);

	if (good) {
		struct th_digest blob = th_sha256_of(bytes.ptr, bytes.len);

		if (x->image_count == x->image_cap) {
			x->image_cap = x->image_cap ? x->image_cap * 2 : 4;
			x->images = th_realloc(x->images, x->image_cap * sizeof(*x->images));
		}
		x->images[x->image_count++] = (struct seen_image){ blob, base64 };
		th_digest_hex(&blob, hex);
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("image"));
		th_jw_kstr(w, "media_type", media);
		th_jw_kstr(w, "blob", th_str_of(hex));
		th_jw_object_end(w);
	}
	th_buf_deinit(&bytes);
	return good;
}

/* A result's output in our form, in x->scratch; false where it has something we have no form for.
 */
static bool put_output(struct encoder *x, struct th_str output)
{
	struct th_jw w = th_jw(&x->scratch);
	struct th_json_raw_iter it = th_json_raw_iter(output);

	th_buf_clear(&x->scratch);
	if (output.len && output.ptr[0] == '"') {
		th_buf_add(&x->scratch, output);
		return true;
	}
	th_jw_array(&w);
	if (output.len && output.ptr[0] == '{') { /* a screenshot */
		if (!put_image(x, raw_str(output, "image_url"), &w))
			return false;
	} else {
		while (th_json_raw_next(&it)) {
			if (th_str_is(raw_str(it.val, "type"), "input_image")) {
				if (!put_image(x, raw_str(it.val, "image_url"), &w))
					return false;
			} else {
				th_jw_raw(&w, it.val);
			}
		}
	}
	th_jw_array_end(&w);
	return output.len > 0;
}

static void note_call(struct encoder *x, struct th_str item)
{
	struct th_str call_id = raw_str(item, "call_id");

	if (!call_id.len)
		return;
	if (x->call_count == x->call_cap) {
		x->call_cap = x->call_cap ? x->call_cap * 2 : 16;
		x->calls = th_realloc(x->calls, x->call_cap * sizeof(*x->calls));
	}
	x->calls[x->call_count++] = (struct seen_call){ call_id, item };
}

static struct th_str find_call(const struct encoder *x, struct th_str call_id)
{
	for (size_t i = x->call_count; i > 0; i--)
		if (th_str_eq(x->calls[i - 1].call_id, call_id))
			return x->calls[i - 1].item;
	return (struct th_str){ NULL, 0 };
}

/* What the entry is; its strings are the input's or x->scratch's. */
static struct th_entry entry_of(struct encoder *x, struct th_str item, struct th_str items,
				struct th_buf *call_id)
{
	struct th_str type = raw_str(item, "type"), role = raw_str(item, "role");
	struct th_entry e = { .kind = TH_ENTRY_ITEM, .item = item, .items = items };

	if ((!type.len || th_str_is(type, "message")) && role.len && !raw_str(item, "id").len) {
		e.kind = TH_ENTRY_MESSAGE;
		e.role = role;
		e.content = th_json_raw_get(item, "content");
	} else if (th_str_is(type, "function_call_output") ||
		   th_str_is(type, "computer_call_output") ||
		   th_str_is(type, "custom_tool_call_output")) {
		struct th_str call = find_call(x, raw_str(item, "call_id"));

		if (call.len && th_json_unescape(th_json_raw_get(item, "call_id"), call_id) &&
		    put_output(x, th_json_raw_get(item, "output"))) {
			e.kind = TH_ENTRY_RESULT;
			e.call_item = call;
			e.call_id = th_buf_str(call_id);
			e.output = th_buf_str(&x->scratch);
			e.acknowledged = th_json_raw_get(item, "acknowledged_safety_checks");
		}
	} else {
		note_call(x, item);
	}
	return e;
}

static void fill_hole(struct encoder *x, const struct th_hole *hole)
{
	for (size_t i = 0; i < x->image_count; i++)
		if (th_digest_eq(&x->images[i].blob, &hole->blob)) {
			th_buf_add(&x->body, x->images[i].base64);
			return;
		}
}

static enum th_code add_item(struct encoder *x, struct th_str item, struct th_str items)
{
	struct th_hole holes[TH_ENTRY_HOLES_MAX];
	size_t hole_count, from = 0;
	struct th_buf call_id = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_str bytes;
	struct th_entry e;
	enum th_code code;

	x->image_count = 0;
	e = entry_of(x, item, items, &call_id);
	th_buf_clear(&x->entry);
	code = x->o->profile->wire->entry(x->o, &e, !x->any, &x->entry, holes, TH_COUNT(holes),
					  &hole_count, x->err);
	th_buf_deinit(&call_id);
	if (code)
		return code;
	bytes = th_buf_str(&x->entry);
	for (size_t i = 0; i < hole_count; i++) {
		th_buf_add(&x->body, th_str_sub(bytes, from, holes[i].offset - from));
		fill_hole(x, &holes[i]);
		from = holes[i].offset;
	}
	th_buf_add(&x->body, th_str_sub(bytes, from, bytes.len));
	x->any = x->any || bytes.len;
	return TH_OK;
}

static enum th_code add_items(struct encoder *x, struct th_str items)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);
	size_t index = 0;

	if (!items.len || items.ptr[0] != '[')
		return th_fail(x->err, TH_EPROTO,
			       "the input must be an object with a list \"items\"");
	x->o->profile->wire->head(x->o, &x->body);
	while (th_json_raw_next(&it)) {
		enum th_code code = add_item(x, it.val, items);

		if (code)
			return th_prefix(x->err, code, "items[%zu]", index);
		index++;
	}
	x->o->profile->wire->tail(x->o, &x->body);
	return th_buf_check(&x->body, "the request", x->err);
}

enum th_code th_plumb_encode(const struct th_request_options *o, struct th_str input,
			     struct th_buf *out, struct th_err *err)
{
	struct encoder x = { .o = o, .err = err };
	struct th_json_doc *doc;
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse(input, &doc, err);

	if (code)
		return th_prefix(err, code, "the input");
	th_json_free(doc); /* it is JSON: its text can be walked */
	th_buf_init(&x.body, TH_REQUEST_MAX);
	th_buf_init(&x.entry, TH_REQUEST_MAX);
	th_buf_init(&x.scratch, TH_REQUEST_MAX);
	code = add_items(&x, th_json_raw_get(input, "items"));
	if (!code) {
		th_jw_object(&w);
		th_jw_kstr(&w, "path", th_str_of(o->profile->wire->path));
		th_jw_key(&w, TH_STR("headers"));
		th_jw_object(&w);
		th_jw_kstr(&w, "content-type", TH_STR("application/json"));
		th_jw_kstr(&w, "accept",
			   o->stream ? TH_STR("text/event-stream") : TH_STR("application/json"));
		th_jw_object_end(&w);
		th_jw_kraw(&w, "body", th_buf_str(&x.body));
		th_jw_object_end(&w);
		code = th_buf_check(out, "the request", err);
	}
	th_buf_deinit(&x.body);
	th_buf_deinit(&x.entry);
	th_buf_deinit(&x.scratch);
	free(x.calls);
	free(x.images);
	return code;
}
