/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.c - results of calls.  A computer call's result is a whole
 * screenshot and nothing else; what else there is to say follows as a message.
 */
#include "base/codec.h"
#include "base/limits.h"
#include "dialects/dialect.h"
#include "events/native.h"
#include "model_wire/blank.h"
#include "openai_responses/writer.h"

static void put_call_id(struct th_group_writer *x, const struct th_result *r)
{
	th_jw_kstr(&x->w, "call_id", r->call_id);
}

static enum th_code put_output(struct th_group_writer *x, const struct th_result *r,
			       const char *type)
{
	enum th_code code;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", th_str_of(type));
	put_call_id(x, r);
	th_jw_key(&x->w, TH_STR("output"));
	code = th_writer_content(x, r->output, false);
	th_jw_object_end(&x->w);
	return code;
}

/* A call that the API has its own item for: so has its result. */
static void put_native(struct th_group_writer *x, const struct th_result *r, enum th_native kind)
{
	const struct th_native_result native = {
		.item = r->call_item,
		.call_id = r->call_id,
		.status = r->status,
		.output = r->output,
		.evidence = r->evidence,
	};

	th_native_put_result(kind, &native, &x->w);
}

/* The picture of the result: its last. */
static struct th_str last_image(struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);
	struct th_str found = { NULL, 0 };

	while (th_json_raw_next(&it))
		if (th_writer_is_image(it.val))
			found = it.val;
	return found;
}

static void put_blank_url(struct th_group_writer *x)
{
	struct th_buf png = TH_BUF_INIT(TH_MIB);

	th_blank_png(&png, x->o->screen);
	th_buf_add(x->w.out, TH_STR("\"data:image/png;base64,"));
	th_base64_encode(x->w.out, png.ptr, png.len);
	th_buf_add_char(x->w.out, '"');
	th_buf_deinit(&png);
}

/* The picture, and the black one that stands in its place when it is left out: the API takes no
 * result without. */
static enum th_code put_url(struct th_group_writer *x, struct th_str screenshot)
{
	struct th_hole *hole = NULL;
	enum th_code code;

	th_jw_key(&x->w, TH_STR("image_url"));
	if (!screenshot.len) {
		th_jw_raw(&x->w, TH_STR("")); /* a value follows */
		put_blank_url(x);
		return TH_OK;
	}
	code = th_writer_image_url(x, screenshot, x->w.out->len, &hole);
	if (code || !hole)
		return code;
	hole->to = x->w.out->len;
	put_blank_url(x);
	hole->end = x->w.out->len;
	return TH_OK;
}

/*
 * What a computer call's result has beside its screenshot: the API has no place
 * for it in the result, so it follows as a message of the user.
 */
static enum th_code put_remarks(struct th_group_writer *x, struct th_str output,
				struct th_str screenshot)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);
	struct th_str blank =
	    TH_STR("No screenshot could be taken; the black picture stands for it.");
	bool is_text = output.len > 2 && output.ptr[0] == '"', any = is_text || !screenshot.len;
	enum th_code code = TH_OK;

	while (!any && th_json_raw_next(&it))
		any = it.val.ptr != screenshot.ptr;
	if (!any)
		return TH_OK;
	it = th_json_raw_iter(output);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("message"));
	th_jw_kstr(&x->w, "role", TH_STR("user"));
	th_jw_key(&x->w, TH_STR("content"));
	th_jw_array(&x->w);
	th_jw_raw(&x->w,
		  TH_STR("{\"type\":\"input_text\",\"text\":\"Result of the computer call:\"}"));
	if (is_text) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("input_text"));
		th_jw_kraw(&x->w, "text", output);
		th_jw_object_end(&x->w);
	}
	while (!code && th_json_raw_next(&it))
		if (it.val.ptr != screenshot.ptr)
			code = th_writer_part(x, it.val, false);
	if (!screenshot.len) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("input_text"));
		th_jw_kstr(&x->w, "text", blank);
		th_jw_object_end(&x->w);
	}
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
	return code;
}

static enum th_code put_screenshot(struct th_group_writer *x, const struct th_result *r)
{
	struct th_str screenshot = last_image(r->output);
	enum th_code code = TH_OK;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("computer_call_output"));
	put_call_id(x, r);
	th_jw_key(&x->w, TH_STR("output"));
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("computer_screenshot"));
	code = put_url(x, screenshot);
	if (x->o->profile->computer == TH_COMPUTER_GA)
		th_jw_kstr(&x->w, "detail", TH_STR("original"));
	th_jw_object_end(&x->w);
	if (r->acknowledged.len && r->acknowledged.ptr[0] == '[' &&
	    !th_writer_is_empty_list(r->acknowledged))
		th_jw_kraw(&x->w, "acknowledged_safety_checks", r->acknowledged);
	th_jw_object_end(&x->w);
	return code ? code : put_remarks(x, r->output, screenshot);
}

static enum th_code put_said(struct th_group_writer *x, const struct th_result *r)
{
	enum th_code code;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("message"));
	th_jw_kstr(&x->w, "role", TH_STR("user"));
	th_jw_key(&x->w, TH_STR("content"));
	code = th_writer_content(x, r->output, false);
	th_jw_object_end(&x->w);
	return code;
}

enum th_code th_writer_result(struct th_group_writer *x, const struct th_result *r)
{
	struct th_str type = th_writer_raw_str(r->call_item, "type");
	enum th_native native;
	/* What no dialect rewrites went back as it came, and wants a result of its own form. */
	bool tool = x->o->profile->computer == TH_COMPUTER_PREVIEW ||
		    x->o->profile->computer == TH_COMPUTER_GA || !x->o->profile->dialect->encode;

	if (th_str_is(type, "computer_call") && tool)
		return put_screenshot(x, r);
	/* A dialect's call was a function's, or text. */
	if (th_str_is(type, "computer_call") && !th_writer_raw_str(r->call_item, "name").len)
		return put_said(x, r);
	native = th_native_of_type(type);
	if (th_writer_patch_called(x, r->call_item))
		native = TH_NATIVE_PATCH;
	if (native == TH_NATIVE_CUSTOM)
		return put_output(x, r, "custom_tool_call_output");
	if (native == TH_NATIVE_NONE)
		return put_output(x, r, "function_call_output");
	put_native(x, r, native);
	return TH_OK;
}
