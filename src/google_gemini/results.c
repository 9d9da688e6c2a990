/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - results of an answer's calls: one content with a response
 * for each, in their order.  A response holds text; the picture that belongs to
 * it stands in its own parts, where the model takes that, else behind all
 * responses.
 */
#include "base/limits.h"
#include "google_gemini/gemini.h"
#include "google_gemini/writer.h"

static bool is_image(struct th_str part)
{
	return th_str_is(th_gemini_raw_str(part, "type"), "image");
}

struct th_str th_gemini_address(struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);
	struct th_str found = TH_STR("\"about:blank\""), url;

	if (output.len && output.ptr[0] == '"')
		return found;
	while (th_json_raw_next(&it)) {
		url = is_image(it.val) ? th_json_raw_get(it.val, "url") : TH_STR("");
		if (th_str_starts(url, TH_STR("\"")))
			found = url;
	}
	return found;
}

/* The picture that goes into the response: the last. */
static struct th_str own_image(const struct th_request_options *o, struct th_str output)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);
	struct th_str found = { NULL, 0 };

	if (!o->profile->vision || (th_gemini_is_old(o->profile) && !o->profile->tool))
		return found;
	while (th_json_raw_next(&it))
		if (is_image(it.val))
			found = it.val;
	return found;
}

/* The texts of a result, as the inside of one string. */
static void add_texts(struct th_str output, struct th_buf *out)
{
	struct th_json_raw_iter it = th_json_raw_iter(output);

	if (output.len >= 2 && output.ptr[0] == '"') {
		th_buf_add(out, th_str_sub(output, 1, output.len - 2));
		return;
	}
	while (th_json_raw_next(&it)) {
		struct th_str text = th_gemini_raw_str(it.val, "text");

		if (text.len && out->len)
			th_buf_add(out, TH_STR("\\n"));
		th_buf_add(out, text);
	}
}

static bool is_acknowledged(const struct th_result *r)
{
	struct th_json_raw_iter it = th_json_raw_iter(r->acknowledged);

	return !it.object && th_json_raw_next(&it);
}

static bool is_computer(const struct th_result *r)
{
	return th_str_is(th_gemini_raw_str(r->call_item, "type"), "computer_call") ||
	       th_json_raw_get(r->call_item, "function").len;
}

/* The members of the response but for its end. */
static void put_response(struct th_group_writer *x, const struct th_result *r, bool last)
{
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

	if (last)
		add_texts(r->output, &text);
	else
		th_buf_add(&text, TH_STR("The result is in the response of the next call."));
	th_jw_key(&x->w, TH_STR("output"));
	th_jw_raw(&x->w, TH_STR("\""));
	th_buf_add(x->w.out, th_buf_str(&text));
	th_buf_add_char(x->w.out, '"');
	th_buf_deinit(&text);
	if (is_acknowledged(r))
		th_jw_kbool(&x->w, "safety_acknowledgement", true);
	if (th_gemini_is_browser(x->o) && is_computer(r)) /* a desktop has no page to name */
		th_jw_kraw(&x->w, "url", th_gemini_address(r->output));
}

/*
 * "response":{…},"parts":[PICTURE], or when that is left out
 * "response":{…,"screenshot":"…"}: from the brace that closes the response on,
 * both are written and one is passed over.
 */
static enum th_code put_picture(struct th_group_writer *x, struct th_str image)
{
	struct th_hole hole = { .kind = TH_HOLE_IMAGE, .from = x->w.out->len };
	enum th_code code;

	th_jw_object_end(&x->w);
	th_jw_key(&x->w, TH_STR("parts"));
	th_jw_array(&x->w);
	code = th_gemini_blob(x, image, &hole.at, &hole.blob);
	if (code)
		return code;
	th_jw_array_end(&x->w);
	hole.to = x->w.out->len;
	th_buf_add(x->w.out, TH_STR(",\"screenshot\":\"it was left out\"}"));
	hole.end = x->w.out->len;
	return th_gemini_hole(x, hole);
}

static enum th_code put_call_result(struct th_group_writer *x, const struct th_result *r,
				    struct th_str call, bool last)
{
	struct th_str image = own_image(x->o, r->output);
	enum th_code code = TH_OK;

	th_jw_object(&x->w);
	th_jw_key(&x->w, TH_STR("functionResponse"));
	th_jw_object(&x->w);
	if (th_json_raw_get(call, "id").len) /* see gemini.h */
		th_jw_kstr(&x->w, "id", r->call_id);
	th_jw_kraw(&x->w, "name", th_gemini_call_name(call));
	th_jw_key(&x->w, TH_STR("response"));
	th_jw_object(&x->w);
	put_response(x, r, last);
	if (last && image.len)
		code = put_picture(x, image);
	else
		th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
	return code;
}

enum th_code th_gemini_responses(struct th_group_writer *x, const struct th_group *g)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; !code && i < g->result_count; i++)
		code = th_gemini_put_result(x, &g->results[i], put_call_result);
	for (size_t i = 0; !code && i < g->result_count; i++) {
		struct th_str output = g->results[i].output, own = own_image(x->o, output);
		struct th_json_raw_iter it = th_json_raw_iter(output);

		while (!code && output.len && output.ptr[0] == '[' && th_json_raw_next(&it))
			if (is_image(it.val) && it.val.ptr != own.ptr)
				code = th_gemini_image(x, it.val);
	}
	return code;
}
