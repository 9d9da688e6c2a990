/* SPDX-License-Identifier: Apache-2.0 */
/*
 * responses_result.c - results of calls.  A computer call's result is a whole
 * screenshot and nothing else; what else there is to say follows as a message.
 */
#include "base/codec.h"
#include "base/limits.h"
#include "models/blank.h"
#include "models/dialect.h"
#include "models/responses_writer.h"

static void put_call_id(struct th_writer *x, const struct th_result *r)
{
	th_jw_kstr(&x->w, "call_id", r->call_id);
}

static enum th_code put_output(struct th_writer *x, const struct th_result *r, const char *type)
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

/* The text of a result as one raw string's inside. */
static void add_texts(struct th_str output, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	if (output.len >= 2 && output.ptr[0] == '"') {
		th_buf_add(out, th_str_sub(output, 1, output.len - 2));
		return;
	}
	while (th_json_raw_next(&it)) {
		struct th_str text = th_writer_raw_str(it.val, "text");

		if (text.len && out->len)
			th_buf_add(out, TH_STR("\\n"));
		th_buf_add(out, text);
	}
}

static void put_raw_text(struct th_writer *x, const char *key, struct th_str output)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

	add_texts(output, &text);
	th_jw_key(&x->w, th_str_of(key));
	th_jw_raw(&x->w, TH_STR("\""));
	th_buf_add(x->w.out, th_buf_str(&text));
	th_buf_add_char(x->w.out, '"');
	th_buf_deinit(&text);
}

/* Tools of the API that thole does not offer, called all the same: an answer of the right form. */
static void put_local_shell(struct th_writer *x, const struct th_result *r)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("local_shell_call_output"));
	put_call_id(x, r);
	put_raw_text(x, "output", r->output);
	th_jw_object_end(&x->w);
}

static void put_apply_patch(struct th_writer *x, const struct th_result *r)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("apply_patch_call_output"));
	put_call_id(x, r);
	th_jw_kstr(&x->w, "status", TH_STR("failed"));
	put_raw_text(x, "output", r->output);
	th_jw_object_end(&x->w);
}

static void put_shell(struct th_writer *x, const struct th_result *r)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("shell_call_output"));
	put_call_id(x, r);
	th_jw_key(&x->w, TH_STR("output"));
	th_jw_array(&x->w);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "stdout", TH_STR(""));
	put_raw_text(x, "stderr", r->output);
	th_jw_kraw(&x->w, "outcome", TH_STR("{\"type\":\"exit\",\"exit_code\":1}"));
	th_jw_object_end(&x->w);
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
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

static void put_blank_url(struct th_writer *x)
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
static enum th_code put_url(struct th_writer *x, struct th_str screenshot)
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
static enum th_code put_remarks(struct th_writer *x, struct th_str output, struct th_str screenshot)
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

static enum th_code put_screenshot(struct th_writer *x, const struct th_result *r)
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

static enum th_code put_said(struct th_writer *x, const struct th_result *r)
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

enum th_code th_writer_result(struct th_writer *x, const struct th_result *r)
{
	struct th_str type = th_writer_raw_str(r->call_item, "type");
	/* What no dialect rewrites went back as it came, and wants a result of its own form. */
	bool tool = x->o->profile->computer == TH_COMPUTER_PREVIEW ||
		    x->o->profile->computer == TH_COMPUTER_GA || !x->o->profile->dialect->encode;

	if (th_str_is(type, "computer_call") && tool)
		return put_screenshot(x, r);
	/* A dialect's call was a function's, or text. */
	if (th_str_is(type, "computer_call") && !th_writer_raw_str(r->call_item, "name").len)
		return put_said(x, r);
	if (th_str_is(type, "custom_tool_call"))
		return put_output(x, r, "custom_tool_call_output");
	if (th_str_is(type, "local_shell_call"))
		put_local_shell(x, r);
	else if (th_str_is(type, "shell_call"))
		put_shell(x, r);
	else if (th_str_is(type, "apply_patch_call"))
		put_apply_patch(x, r);
	else
		return put_output(x, r, "function_call_output");
	return TH_OK;
}
