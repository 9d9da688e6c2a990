/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trajectory_anthropic.c - Anthropic's messages: {"system": …, "messages": […]}.
 *
 * Roles take turns: what follows in the same role is one message.  Each tool_use has its
 * tool_result in the next message.
 */
#include "base/limits.h"
#include "forms/trajectory.h"

struct writer {
	const struct th_trajectory_out *out;
	struct th_buf text;
	struct th_jw w;
	const char *role; /* of the message that is open; NULL: none is */
};

static void close_message(struct writer *x)
{
	if (!x->role)
		return;
	th_jw_array_end(&x->w);
	th_jw_object_end(&x->w);
	x->role = NULL;
}

static void open_message(struct writer *x, const char *role)
{
	if (x->role && strcmp(x->role, role) == 0)
		return;
	close_message(x);
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "role", th_str_of(role));
	th_jw_name(&x->w, TH_STR("content"));
	th_jw_array(&x->w);
	x->role = role;
}

static enum th_code put_part(void *ctx, const struct th_step_part *part, struct th_err *err)
{
	struct writer *x = ctx;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", part->text.len ? TH_STR("text") : TH_STR("image"));
	if (part->text.len) {
		th_jw_kstr(&x->w, "text", part->text);
		th_jw_object_end(&x->w);
		return TH_OK;
	}
	th_jw_name(&x->w, TH_STR("source"));
	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", part->url.len ? TH_STR("url") : TH_STR("base64"));
	if (part->url.len) {
		th_jw_kstr(&x->w, "url", part->url);
	} else {
		th_jw_kstr(&x->w, "media_type", part->media_type);
		th_jw_kstr(&x->w, "data", part->base64);
	}
	th_jw_object_end(&x->w);
	th_jw_object_end(&x->w);
	return th_buf_check(&x->text, "a step", err);
}

static enum th_code put_agent(struct writer *x, const struct th_trajectory_step *s,
			      struct th_err *err)
{
	enum th_code code;

	if (!s->content.len && !s->call_count)
		return TH_OK; /* it only thought */
	open_message(x, "assistant");
	code = th_step_parts(s->content, x->out, put_part, x, err);
	for (size_t i = 0; i < s->call_count; i++) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("tool_use"));
		th_jw_kstr(&x->w, "id", s->calls[i].id);
		th_jw_kstr(&x->w, "name", s->calls[i].tool);
		th_jw_kraw(&x->w, "input", s->calls[i].arguments);
		th_jw_object_end(&x->w);
	}
	if (s->call_count)
		open_message(x, "user");
	for (size_t i = 0; !code && i < s->call_count; i++) {
		th_jw_object(&x->w);
		th_jw_kstr(&x->w, "type", TH_STR("tool_result"));
		th_jw_kstr(&x->w, "tool_use_id", s->calls[i].id);
		th_jw_name(&x->w, TH_STR("content"));
		th_jw_array(&x->w);
		code = th_step_parts(s->calls[i].output, x->out, put_part, x, err);
		th_jw_array_end(&x->w);
		if (s->calls[i].status.len && !th_str_is(s->calls[i].status, "done"))
			th_jw_kbool(&x->w, "is_error", true);
		th_jw_object_end(&x->w);
	}
	return code;
}

static enum th_code write_anthropic(const struct th_trajectory *t,
				    const struct th_trajectory_out *out, struct th_err *err)
{
	struct writer x = { .out = out };
	enum th_code code = TH_OK;

	th_buf_init(&x.text, 2 * TH_BLOB_MAX);
	x.w = th_jw(&x.text);
	th_jw_object(&x.w);
	if (t->instructions.len)
		th_jw_kstr(&x.w, "system", t->instructions);
	th_jw_name(&x.w, TH_STR("messages"));
	th_jw_array(&x.w);
	for (size_t i = 0; !code && i < t->count; i++) {
		const struct th_trajectory_step *s = &t->list[i];

		if (s->source == TH_STEP_AGENT) {
			code = put_agent(&x, s, err);
		} else {
			open_message(&x, "user");
			code = th_step_parts(s->content, out, put_part, &x, err);
		}
		code = code ?: th_step_flush(out, &x.text, err);
	}
	close_message(&x);
	th_jw_array_end(&x.w);
	th_jw_object_end(&x.w);
	th_buf_add_char(&x.text, '\n');
	code = code ?: th_step_flush(out, &x.text, err);
	th_buf_deinit(&x.text);
	return code;
}

const struct th_trajectory_form th_trajectory_anthropic = {
	.name = "anthropic",
	.write = write_anthropic,
};
