/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plumb_encode.c - unified items -> a provider's request.  Items are put into
 * groups as a session puts them.
 */
#include "base/codec.h"
#include "base/hash.h"
#include "base/limits.h"
#include "model_wire/frame.h"
#include "model_wire/unified.h"
#include "profiles/plumb.h"

#include <stdlib.h>

/* A call of the input, and the images of a group's results. */
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
	struct th_buf body, frame, rendered, scratch;
	struct seen_call *calls;
	size_t call_count, call_cap;
	bool any;
	/* The group under way: an answer's items or results; in `memory`. */
	struct th_arena memory;
	struct th_buf answer; /* "[item,item" */
	struct th_str raw;    /* of the answer: its first item's */
	size_t raw_left;      /* items that it still stands for */
	struct th_result *results;
	size_t result_count, result_cap;
	struct seen_image *images;
	size_t image_count, image_cap;
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

/* The next result of the group under way; false where its output is not of a form we know. */
static bool take_result(struct encoder *x, struct th_str item)
{
	struct th_str call = find_call(x, raw_str(item, "call_id"));
	struct th_buf call_id = TH_BUF_INIT(TH_REQUEST_MAX), name = TH_BUF_INIT(TH_REQUEST_MAX);
	bool good = call.len && th_json_unescape(th_json_raw_get(item, "call_id"), &call_id) &&
		    put_output(x, th_json_raw_get(item, "output"));

	if (good && x->result_count == x->result_cap) {
		x->result_cap = x->result_cap ? x->result_cap * 2 : 16;
		x->results = th_realloc(x->results, x->result_cap * sizeof(*x->results));
	}
	if (good) {
		if (!th_json_unescape(th_json_raw_get(call, "name"), &name))
			th_buf_clear(&name); /* a call without a name, as the computer's is */
		x->results[x->result_count++] = (struct th_result){
			.call_item = call,
			.call_id = th_arena_str(&x->memory, th_buf_str(&call_id)),
			.tool = th_arena_str(&x->memory, th_buf_str(&name)),
			.output = th_arena_str(&x->memory, th_buf_str(&x->scratch)),
			.acknowledged = th_json_raw_get(item, "acknowledged_safety_checks"),
		};
	}
	th_buf_deinit(&call_id);
	th_buf_deinit(&name);
	return good;
}

static void fill_image(struct encoder *x, const struct th_hole *hole)
{
	for (size_t i = 0; i < x->image_count; i++)
		if (th_digest_eq(&x->images[i].blob, &hole->blob)) {
			th_buf_add(&x->body, x->images[i].base64);
			return;
		}
}

/* All pictures are sent; the cache's marks are a session's affair. */
static enum th_code put_group(struct encoder *x, const struct th_group *g)
{
	struct th_hole holes[TH_GROUP_HOLES_MAX];
	size_t hole_count, from = 0;
	struct th_str bytes;
	enum th_code code;

	th_buf_clear(&x->rendered);
	code = th_group_render(x->o, g, !x->any, &x->rendered, holes, TH_COUNT(holes), &hole_count,
			       x->err);
	if (code)
		return code;
	bytes = th_buf_str(&x->rendered);
	for (size_t i = 0; i < hole_count; i++) {
		if (holes[i].kind != TH_HOLE_IMAGE)
			continue;
		th_buf_add(&x->body, th_str_sub(bytes, from, holes[i].at - from));
		fill_image(x, &holes[i]);
		th_buf_add(&x->body, th_str_sub(bytes, holes[i].at, holes[i].to - holes[i].at));
		from = holes[i].end;
	}
	th_buf_add(&x->body, th_str_sub(bytes, from, bytes.len));
	x->any = x->any || bytes.len;
	return TH_OK;
}

static enum th_code close_group(struct encoder *x)
{
	struct th_group g = { .kind = TH_GROUP_RESULTS,
			      .results = x->results,
			      .result_count = x->result_count };
	enum th_code code = TH_OK;

	if (x->answer.len) {
		th_buf_add_char(&x->answer, ']');
		g = (struct th_group){ .kind = TH_GROUP_ANSWER,
				       .items = th_buf_str(&x->answer),
				       .raw = x->raw };
	}
	if (x->answer.len || x->result_count)
		code = put_group(x, &g);
	th_buf_clear(&x->answer);
	x->raw = (struct th_str){ NULL, 0 };
	x->raw_left = 0;
	x->result_count = x->image_count = 0;
	th_arena_reset(&x->memory);
	return code;
}

static void add_to_answer(struct encoder *x, struct th_str item)
{
	note_call(x, item);
	th_buf_add_char(&x->answer, x->answer.len ? ',' : '[');
	th_buf_add(&x->answer, item);
}

/* An item of an answer that has its own form, whatever else it looks like. */
static bool add_raw_item(struct encoder *x, struct th_str item, enum th_code *ret)
{
	size_t items;
	bool own = th_unified_raw(item, x->o->profile->wire->name, &items).len > 0;

	*ret = TH_OK;
	if (!own && !x->raw_left)
		return false;
	if (own && (*ret = close_group(x)))
		return true;
	if (own)
		x->raw = th_json_raw_get(item, "raw");
	x->raw_left = own ? items - 1 : x->raw_left - 1;
	add_to_answer(x, item);
	return true;
}

static enum th_code add_item(struct encoder *x, struct th_str item)
{
	struct th_str type = raw_str(item, "type"), role = raw_str(item, "role");
	bool message =
	    (!type.len || th_str_is(type, "message")) && role.len && !raw_str(item, "id").len;
	bool result = th_str_is(type, "function_call_output") ||
		      th_str_is(type, "computer_call_output") ||
		      th_str_is(type, "custom_tool_call_output");
	enum th_code code;

	if (add_raw_item(x, item, &code))
		return code;
	if (message || (result && x->answer.len) || (!result && x->result_count))
		code = close_group(x);
	if (code)
		return code;
	if (message) {
		struct th_group g = { .kind = TH_GROUP_MESSAGE,
				      .role = role,
				      .content = th_json_raw_get(item, "content") };
		return put_group(x, &g);
	}
	if (result && take_result(x, item))
		return TH_OK;
	if (x->result_count && (code = close_group(x)))
		return code;
	add_to_answer(x, item);
	return TH_OK;
}

static enum th_code add_items(struct encoder *x, struct th_str items)
{
	struct th_json_raw_iter it = th_json_raw_iter(items);
	size_t index = 0, at;
	enum th_code code = TH_OK;

	if (!items.len || items.ptr[0] != '[')
		return th_fail(x->err, TH_EPROTO,
			       "the input must be an object with a list \"items\"");
	code = th_request_frame(x->o, &x->frame, &at, x->err);
	if (code)
		return code;
	th_buf_add(&x->body, th_str_n(x->frame.ptr, at));
	for (; !code && th_json_raw_next(&it); index++)
		code = add_item(x, it.val);
	if (!code)
		code = close_group(x);
	if (code)
		return th_prefix(x->err, code, "items[%zu]", index ? index - 1 : 0);
	th_buf_add(&x->body, th_str_n(x->frame.ptr + at, x->frame.len - at));
	return th_buf_check(&x->body, "the request", x->err);
}

/* "name: value\n" lines as members. */
static void put_headers(const struct th_request_options *o, struct th_jw *w)
{
	struct th_buf lines = TH_BUF_INIT(8 * TH_KIB);
	struct th_str rest, line, name;

	th_jw_object(w);
	th_jw_kstr(w, "content-type", TH_STR("application/json"));
	th_jw_kstr(w, "accept",
		   o->stream ? TH_STR("text/event-stream") : TH_STR("application/json"));
	th_request_headers(o, &lines);
	for (rest = th_buf_str(&lines); rest.len;) {
		line = th_str_split(&rest, '\n');
		name = th_str_split(&line, ':');
		th_jw_key(w, name);
		th_jw_str(w, th_str_trim(line));
	}
	th_jw_object_end(w);
	th_buf_deinit(&lines);
}

enum th_code th_plumb_encode(const struct th_request_options *o, struct th_str input,
			     struct th_buf *out, struct th_err *err)
{
	struct encoder x = { .o = o, .err = err };
	struct th_buf path = TH_BUF_INIT(8 * TH_KIB);
	struct th_json_doc *doc;
	struct th_jw w = th_jw(out);
	enum th_code code = th_json_parse(input, &doc, err);

	if (code)
		return th_prefix(err, code, "the input");
	th_json_free(doc); /* it is JSON: its text can be walked */
	th_buf_init(&x.body, TH_REQUEST_MAX);
	th_buf_init(&x.frame, TH_REQUEST_MAX);
	th_buf_init(&x.rendered, TH_REQUEST_MAX);
	th_buf_init(&x.scratch, TH_REQUEST_MAX);
	th_buf_init(&x.answer, TH_REQUEST_MAX);
	th_arena_init(&x.memory, 2 * TH_REQUEST_MAX);
	code = add_items(&x, th_json_raw_get(input, "items"));
	if (!code) {
		o->profile->wire->path(o, &path);
		th_jw_object(&w);
		th_jw_kstr(&w, "path", th_buf_str(&path));
		th_jw_key(&w, TH_STR("headers"));
		put_headers(o, &w);
		th_jw_kraw(&w, "body", th_buf_str(&x.body));
		th_jw_object_end(&w);
		code = th_buf_check(out, "the request", err);
	}
	th_buf_deinit(&path);
	th_buf_deinit(&x.body);
	th_buf_deinit(&x.frame);
	th_buf_deinit(&x.rendered);
	th_buf_deinit(&x.scratch);
	th_buf_deinit(&x.answer);
	th_arena_deinit(&x.memory);
	free(x.calls);
	free(x.results);
	free(x.images);
	return code;
}
