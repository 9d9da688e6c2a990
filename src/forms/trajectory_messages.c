/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trajectory_messages.c - the messages of OpenAI's Chat Completions, as one line of a
 * training file: {"messages": […]}.
 *
 * A tool's message has only text there, so the pictures of a result follow as a message of
 * the user.
 */
#include "base/limits.h"
#include "forms/trajectory.h"

struct writer {
	const struct th_trajectory_out *out;
	struct th_buf text;
	struct th_jw w;
	bool pictures_only;
	size_t pictures;
};

static enum th_code put_part(void *ctx, const struct th_step_part *part, struct th_err *err)
{
	struct writer *x = ctx;

	if (part->text.len && x->pictures_only)
		return TH_OK;
	th_jw_object(&x->w);
	if (part->text.len) {
		th_jw_kstr(&x->w, "type", TH_STR("text"));
		th_jw_kstr(&x->w, "text", part->text);
		th_jw_object_end(&x->w);
		return TH_OK;
	}
	th_jw_kstr(&x->w, "type", TH_STR("image_url"));
	th_jw_name(&x->w, TH_STR("image_url"));
	th_jw_object(&x->w);
	th_jw_name(&x->w, TH_STR("url"));
	th_buf_add_char(&x->text, '"');
	if (!part->url.len)
		th_buf_printf(&x->text, "data:%.*s;base64,", TH_FMT(part->media_type));
	th_json_escape(&x->text, part->url.len ? part->url : part->base64);
	th_buf_add_char(&x->text, '"');
	x->w.comma = true;
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
	return th_buf_check(&x->text, "a step", err);
}

static enum th_code count_picture(void *ctx, const struct th_step_part *part, struct th_err *err)
{
	(void)err;
	((struct writer *)ctx)->pictures += part->text.len == 0;
	return TH_OK;
}

static void put_text(struct writer *x, const char *name, struct th_str content)
{
	struct th_buf said TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_EVENT_DATA_MAX);

	th_step_text(content, &said);
	th_jw_kstr(&x->w, name, th_buf_str(&said));
}

static enum th_code put_said(struct writer *x, const char *role, struct th_str content,
			     struct th_err *err)
{
	enum th_code code = TH_OK;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", th_str_of(role));
	if (!content.len || content.ptr[0] == '"') {
		put_text(x, "content", content);
	} else {
		th_jw_name(&x->w, TH_STR("content"));
		th_jw_array(&x->w);
		code = th_step_parts(content, x->out, put_part, x, err);
		th_jw_array_end(&x->w);
	}
	th_jw_object_end(&x->w);
	return code;
}

static void put_agent(struct writer *x, const struct th_trajectory_step *s)
{
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", TH_STR("assistant"));
	put_text(x, "content", s->content);
	if (s->call_count) {
		th_jw_name(&x->w, TH_STR("tool_calls"));
		th_jw_array(&x->w);
		for (size_t i = 0; i < s->call_count; i++) {
			th_jw_object(&x->w);
			th_jw_kstr(&x->w, "id", s->calls[i].id);
			th_jw_kstr(&x->w, "type", TH_STR("function"));
			th_jw_name(&x->w, TH_STR("function"));
			th_jw_object(&x->w);
			th_jw_kstr(&x->w, "name", s->calls[i].tool);
			th_jw_kstr(&x->w, "arguments", s->calls[i].arguments);
			th_jw_object_end(&x->w);
			th_jw_object_end(&x->w);
		}
		th_jw_array_end(&x->w);
	}
	th_jw_object_end(&x->w);
}

/* Each call has a message, or the file would be refused. */
static enum th_code put_results(struct writer *x, const struct th_trajectory_step *s,
				struct th_err *err)
{
	enum th_code code = TH_OK;

	for (size_t i = 0; i < s->call_count; i++) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "role", TH_STR("tool"));
		th_jw_kstr(&x->w, "tool_call_id", s->calls[i].id);
		put_text(x, "content", s->calls[i].output);
		th_jw_object_end(&x->w);
	}
	for (size_t i = 0; !code && i < s->call_count; i++) {
		x->pictures = 0;
		code = th_step_parts(s->calls[i].output, x->out, count_picture, x, err);
		if (code || !x->pictures)
			continue;
		x->pictures_only = true;
		code = put_said(x, "user", s->calls[i].output, err);
		x->pictures_only = false;
	}
	return code;
}

static enum th_code write_openai(const struct th_trajectory *t, const struct th_trajectory_out *out,
				 struct th_err *err)
{
	struct writer x = { .out = out };
	enum th_code code = TH_OK;

	th_buf_init(&x.text, 2 * TH_BLOB_MAX);
	x.w = th_jw(&x.text);
	th_jw_object(&x.w);
	th_jw_name(&x.w, TH_STR("messages"));
	th_jw_array(&x.w);
	if (t->instructions.len) {
		th_jw_object(&x.w);
		th_jw_kstr(&x.w, "role", TH_STR("system"));
		th_jw_kstr(&x.w, "content", t->instructions);
		th_jw_object_end(&x.w);
	}
	for (size_t i = 0; !code && i < t->count; i++) {
		const struct th_trajectory_step *s = &t->list[i];

		if (s->source == TH_STEP_AGENT)
			put_agent(&x, s);
		else
			code = put_said(&x, s->source == TH_STEP_USER ? "user" : "system",
					s->content, err);
		if (!code && s->source == TH_STEP_AGENT)
			code = put_results(&x, s, err);
		code = code ?: th_step_flush(out, &x.text, err);
	}
	th_jw_array_end(&x.w);
	th_jw_object_end(&x.w);
	th_buf_add_char(&x.text, '\n');
	code = code ?: th_step_flush(out, &x.text, err);
	th_buf_deinit(&x.text);
	return code;
}

const struct th_trajectory_form th_trajectory_openai = {
	.name = "openai",
	.write = write_openai,
};
