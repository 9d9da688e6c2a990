/* SPDX-License-Identifier: Apache-2.0 */
/*
 * items.c - steps as items in the unified form.  Steps of the
 * provider's own tools are passed on as they are.
 */
#include "base/json.h"
#include "base/limits.h"
#include "google_interactions/steps.h"

struct writer {
	struct th_jw w;
	struct th_str id_base;
	size_t item_count, call_count;
};

static struct th_str inside(struct th_str object, const char *key)
{
	return th_json_raw_inside(th_json_raw_get(object, key));
}

static void open_item(struct writer *x, const char *type)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", th_str_of(type));
	x->item_count++;
}

static void put_part(struct writer *x, struct th_str part)
{
	struct th_str notes = th_json_raw_get(part, "annotations");

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("output_text"));
	th_jw_kraw(&x->w, "text", th_json_raw_get(part, "text"));
	th_jw_kraw(&x->w, "annotations", notes.len && notes.ptr[0] == '[' ? notes : TH_STR("[]"));
	th_jw_object_end(&x->w);
}

/* Its texts are one message; a picture is an item of its own. */
static void put_output(struct writer *x, struct th_str step)
{
	struct th_str content = th_json_raw_get(step, "content");
	struct th_json_raw_iter it = th_json_raw_iter(content);
	bool message = false;

	while (!it.object && th_json_raw_next(&it)) {
		if (!th_str_is(inside(it.val, "type"), "text") || !inside(it.val, "text").len)
			continue;
		if (!message) {
			open_item(x, "message");
			th_jw_kstr(&x->w, "role", TH_STR("assistant"));
			th_jw_kstr(&x->w, "status", TH_STR("completed"));
			th_jw_key(&x->w, TH_STR("content"));
			th_jw_array(&x->w);
		}
		message = true;
		put_part(x, it.val);
	}
	if (message) {
		th_jw_array_end(&x->w);
		th_jw_object_end(&x->w);
	}
	it = th_json_raw_iter(content);
	while (!it.object && th_json_raw_next(&it)) {
		if (!th_str_is(inside(it.val, "type"), "image") || !inside(it.val, "data").len)
			continue;
		open_item(x, "image_generation_call");
		th_jw_kraw(&x->w, "result", th_json_raw_get(it.val, "data"));
		th_jw_kstr(&x->w, "status", TH_STR("completed"));
		th_jw_object_end(&x->w);
	}
}

/* Its signature stays in the raw form: it means nothing to any other provider. */
static void put_thought(struct writer *x, struct th_str step)
{
	struct th_json_raw_iter it = th_json_raw_iter(th_json_raw_get(step, "summary"));

	open_item(x, "reasoning");
	th_jw_key(&x->w, TH_STR("summary"));
	th_jw_array(&x->w);
	while (!it.object && th_json_raw_next(&it)) {
		if (!inside(it.val, "text").len)
			continue;
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("summary_text"));
		th_jw_kraw(&x->w, "text", th_json_raw_get(it.val, "text"));
		th_jw_object_end(&x->w);
	}
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
}

static void put_id(struct writer *x, struct th_str step)
{
	struct th_str id = th_json_raw_get(step, "id");

	if (th_json_raw_inside(id).len) {
		th_jw_kraw(&x->w, "id", id);
		th_jw_kraw(&x->w, "call_id", id);
		return;
	}
	th_jw_key(&x->w, TH_STR("call_id"));
	th_jw_raw(&x->w, TH_STR("\"call_"));
	th_buf_add_u64(x->w.out, x->call_count);
	th_buf_add_char(x->w.out, '_');
	th_buf_add(x->w.out, x->id_base);
	th_buf_add_char(x->w.out, '"');
}

static void put_call(struct writer *x, struct th_str step, const struct th_step *streamed)
{
	struct th_str arguments = th_json_raw_get(step, "arguments");
	struct th_str name = th_json_raw_get(step, "name");
	bool broken = streamed && streamed->broken;

	open_item(x, "function_call");
	x->call_count++;
	put_id(x, step);
	th_jw_kraw(&x->w, "name", th_json_raw_inside(name).len ? name : TH_STR("\"\""));
	th_jw_key(&x->w, TH_STR("arguments"));
	if (broken) { /* the inside of a string, as it came */
		th_jw_raw(&x->w, TH_STR("\""));
		th_buf_add(x->w.out, th_buf_str(&streamed->arguments));
		th_buf_add_char(x->w.out, '"');
	} else {
		th_jw_str(&x->w, th_json_raw_is_object(arguments) ? arguments : TH_STR("{}"));
	}
	th_jw_kstr(&x->w, "status", broken ? TH_STR("incomplete") : TH_STR("completed"));
	th_jw_object_end(&x->w);
}

static void put_step(struct writer *x, struct th_str step, const struct th_step *streamed)
{
	struct th_str type = inside(step, "type");

	if (th_str_is(type, "model_output")) {
		put_output(x, step);
	} else if (th_str_is(type, "thought")) {
		put_thought(x, step);
	} else if (th_str_is(type, "function_call")) {
		put_call(x, step, streamed);
	} else if (type.len && !th_str_is(type, "user_input") &&
		   !th_str_is(type, "function_result")) {
		th_jw_raw(&x->w, step);
		x->item_count++;
	}
}

/* Arguments that are no JSON object go into the item as they came: they must at least be a JSON
 * string. */
static bool is_text(const struct th_steps *steps, struct th_str items)
{
	bool broken = false;

	for (size_t i = 0; steps && i < steps->count; i++)
		broken = broken || steps->list[i].broken;
	return !broken || th_json_valid(items);
}

enum th_code th_interactions_items(struct th_str list, const struct th_steps *steps,
				   struct th_str id_base, struct th_buf *out, struct th_err *err)
{
	struct writer x = { .w = th_jw(out), .id_base = id_base };
	struct th_json_raw_iter it = th_json_raw_iter(list);
	size_t start = out->len;

	th_jw_array(&x.w);
	for (size_t i = 0; !it.object && th_json_raw_next(&it); i++) {
		if (!th_json_raw_is_object(it.val))
			return th_fail(err, TH_EPROTO, "step %zu of the answer is not an object",
				       i);
		put_step(&x, it.val, steps && i < steps->count ? &steps->list[i] : NULL);
	}
	th_jw_array_end(&x.w);
	if (x.item_count > TH_ANSWER_ITEMS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d items",
			       TH_ANSWER_ITEMS_MAX);
	if (x.call_count > TH_CALLS_MAX)
		return th_fail(err, TH_ELIMIT, "the answer has more than %d calls", TH_CALLS_MAX);
	if (!out->failed && !is_text(steps, th_str_sub(th_buf_str(out), start, out->len)))
		return th_fail(err, TH_EPROTO, "the arguments of a call are no JSON string");
	return th_buf_check(out, "the answer", err);
}
