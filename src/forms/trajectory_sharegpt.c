/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trajectory_sharegpt.c - a row of training data as ShareGPT's and its followers' tools
 * read it: {"id", "system", "conversations": [{"from", "value"}], "images": […]}.
 *
 * from: human, gpt, function_call, observation.  A picture is the word <image> in a value,
 * and a data URL in the list, in the same order.
 */
#include "base/limits.h"
#include "forms/trajectory.h"

struct writer {
	const struct th_trajectory_out *out;
	struct th_buf text, value;
	struct th_jw w;
	bool images; /* the second pass writes them */
};

static enum th_code put_part(void *ctx, const struct th_step_part *part, struct th_err *err)
{
	struct writer *x = ctx;

	if (x->images && part->text.len)
		return TH_OK;
	if (!x->images) {
		th_buf_add_cstr(&x->value, x->value.len ? "\n" : "");
		th_buf_add(&x->value, part->text.len ? part->text : TH_STR("<image>"));
		return TH_OK;
	}
	if (x->w.comma)
		th_buf_add_char(&x->text, ',');
	th_buf_add_char(&x->text, '"');
	if (!part->url.len)
		th_buf_printf(&x->text, "data:%.*s;base64,", TH_FMT(part->media_type));
	th_json_escape(&x->text, part->url.len ? part->url : part->base64);
	th_buf_add_char(&x->text, '"');
	x->w.comma = true;
	return th_step_flush(x->out, &x->text, err);
}

static void put_row(struct writer *x, const char *from)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "from", th_str_of(from));
	th_jw_kstr(&x->w, "value", th_buf_str(&x->value));
	th_jw_object_end(&x->w);
	th_buf_clear(&x->value);
}

static void put_call(struct writer *x, const struct th_step_call *c)
{
	struct th_jw inside = th_jw(&x->value);

	th_jw_object(&inside);
	th_jw_kstr(&inside, "name", c->tool);
	th_jw_kraw(&inside, "arguments", c->arguments);
	th_jw_object_end(&inside);
	put_row(x, "function_call");
}

static enum th_code put_step(struct writer *x, const struct th_trajectory_step *s,
			     struct th_err *err)
{
	bool agent = s->source == TH_STEP_AGENT;
	enum th_code code = th_step_parts(s->content, x->out, put_part, x, err);

	if (!code && !x->images && (s->content.len || !agent))
		put_row(x, agent ? "gpt" : "human");
	/* A call and its result take turns, as such rows do. */
	for (size_t i = 0; !code && i < s->call_count; i++) {
		if (!x->images)
			put_call(x, &s->calls[i]);
		code = th_step_parts(s->calls[i].output, x->out, put_part, x, err);
		if (!code && !x->images)
			put_row(x, "observation");
	}
	return code ?: th_step_flush(x->out, &x->text, err);
}

static enum th_code write_sharegpt(const struct th_trajectory *t,
				   const struct th_trajectory_out *out, struct th_err *err)
{
	struct writer x = { .out = out };
	enum th_code code = TH_OK;

	th_buf_init(&x.text, 2 * TH_BLOB_MAX);
	th_buf_init(&x.value, TH_EVENT_DATA_MAX);
	x.w = th_jw(&x.text);
	th_jw_object(&x.w);
	th_jw_kstr(&x.w, "id", t->session);
	if (t->instructions.len)
		th_jw_kstr(&x.w, "system", t->instructions);
	th_jw_name(&x.w, TH_STR("conversations"));
	th_jw_array(&x.w);
	for (size_t i = 0; !code && i < t->count; i++)
		code = put_step(&x, &t->list[i], err);
	th_jw_array_end(&x.w);
	th_jw_name(&x.w, TH_STR("images"));
	th_jw_array(&x.w);
	x.images = true;
	for (size_t i = 0; !code && i < t->count; i++)
		code = put_step(&x, &t->list[i], err);
	th_jw_array_end(&x.w);
	th_jw_object_end(&x.w);
	th_buf_add_char(&x.text, '\n');
	code = code ?: th_step_flush(out, &x.text, err);
	th_buf_deinit(&x.text);
	th_buf_deinit(&x.value);
	return code;
}

const struct th_trajectory_form th_trajectory_sharegpt = {
	.name = "sharegpt",
	.write = write_sharegpt,
};
