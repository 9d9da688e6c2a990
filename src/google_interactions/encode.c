/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - requests in the unified form, as the Interactions API has them.
 */
#include "google_interactions/encode.h"
#include "base/limits.h"
#include "google_gemini/writer.h"
#include "google_interactions/interactions.h"
#include "model_wire/unified.h"

/* What unified items are written as. */
const char *const th_interactions_numbers[TH_INTERACTIONS_NUMBERS] = { "temperature", "top_p",
								       "max_output_tokens" };

static const struct th_profile plain = { .name = TH_INTERACTIONS_WIRE,
					 .flavour = "gemini-2",
					 .vision = true };
static const struct th_request_options options = { .profile = &plain };

/* Parts of a result's output: of ours, and those of the unified form. */
static enum th_code put_output(struct th_group_writer *x, struct th_str output)
{
	enum th_code code;

	th_jw_key(&x->w, TH_STR("result"));
	if (!th_interactions_is_list(output)) {
		th_jw_raw(&x->w, th_interactions_is_string(output) ? output : TH_STR("\"\""));
		return TH_OK;
	}
	th_jw_array(&x->w);
	code = th_interactions_content(x, output);
	th_jw_array_end(&x->w);
	return code;
}

static enum th_code put_result(struct th_group_writer *x, struct th_str item)
{
	struct th_str id = th_json_raw_get(item, "call_id"), name = th_json_raw_get(item, "name");
	enum th_code code;

	th_jw_object(&x->w);
	th_jw_kstr(&x->w, "type", TH_STR("function_result"));
	th_jw_kraw(&x->w, "call_id", th_interactions_is_string(id) ? id : TH_STR("\"\""));
	if (th_interactions_is_string(name))
		th_jw_kraw(&x->w, "name", name);
	code = put_output(x, th_json_raw_get(item, "output"));
	th_jw_object_end(&x->w);
	return code;
}

static enum th_code put_item(struct th_group_writer *x, struct th_str item)
{
	struct th_str type = th_interactions_raw(item, "type"),
		      role = th_interactions_raw(item, "role");
	struct th_group g = { .kind = TH_GROUP_MESSAGE,
			      .role = role,
			      .content = th_json_raw_get(item, "content") };
	bool signs = false;

	if (th_str_ends(type, TH_STR("_output")))
		return put_result(x, item);
	if (role.len && (!type.len || th_str_is(type, "message")))
		return th_interactions_message(x, &g);
	return th_interactions_item(x, item, &signs);
}

enum th_code th_interactions_put_steps(struct th_str items, struct th_buf *out, struct th_err *err)
{
	struct th_group_writer x = { .o = &options, .w = th_jw(out), .err = err };
	struct th_json_raw_iter it = th_json_raw_iter(items);
	enum th_code code = TH_OK;

	th_jw_array(&x.w);
	while (!code && !it.object && th_json_raw_next(&it)) {
		size_t count;
		struct th_str message = th_unified_raw(it.val, TH_INTERACTIONS_WIRE, &count);
		struct th_str steps = th_json_raw_get(message, "steps");
		struct th_json_raw_iter step = th_json_raw_iter(steps);

		if (!message.len) {
			code = put_item(&x, it.val);
			continue;
		}
		if (!steps.len)
			th_jw_raw(&x.w, message);
		while (!step.object && th_json_raw_next(&step))
			th_jw_raw(&x.w, step.val);
		while (--count > 0 && th_json_raw_next(&it))
			;
	}
	th_jw_array_end(&x.w);
	return code ? code : th_buf_check(out, "the request", err);
}

void th_interactions_put_tools(struct th_jw *w, struct th_str tools)
{
	struct th_json_raw_iter it = th_json_raw_iter(tools);

	th_jw_array(w);
	while (!it.object && th_json_raw_next(&it)) {
		size_t count;
		struct th_str raw = th_unified_raw(it.val, TH_INTERACTIONS_WIRE, &count);
		static const char *const members[] = { "type", "name", "description",
						       "parameters" };

		if (raw.len) {
			th_jw_raw(w, raw);
			continue;
		}
		if (!th_str_is(th_interactions_raw(it.val, "type"), "function"))
			continue; /* a tool that only another provider has */
		th_jw_object(w);
		for (size_t i = 0; i < TH_COUNT(members); i++)
			if (th_json_raw_get(it.val, members[i]).len)
				th_jw_kraw(w, members[i], th_json_raw_get(it.val, members[i]));
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

static void put_choice(struct th_jw *w, struct th_str choice)
{
	struct th_str name = th_json_raw_get(choice, "name");

	if (!choice.len)
		return;
	if (!name.len) {
		th_jw_kstr(w, "tool_choice",
			   th_str_is(choice, "\"required\"") ? TH_STR("any")
			   : th_str_is(choice, "\"none\"")   ? TH_STR("none")
							     : TH_STR("auto"));
		return;
	}
	th_jw_key(w, TH_STR("tool_choice"));
	th_jw_raw(w, TH_STR("{\"allowed_tools\":{\"mode\":\"any\",\"tools\":["));
	th_buf_add(w->out, name);
	th_buf_add_cstr(w->out, "]}}");
}

/* False: there is nothing to say, and nothing was written. */
static bool put_config(struct th_jw *w, struct th_str settings)
{
	struct th_str effort = th_json_raw_get(settings, "effort");
	size_t start = w->out->len, empty;
	bool comma = w->comma;

	th_jw_key(w, TH_STR("generation_config"));
	th_jw_object(w);
	empty = w->out->len;
	for (size_t i = 0; i < TH_COUNT(th_interactions_numbers); i++)
		if (th_json_raw_get(settings, th_interactions_numbers[i]).len)
			th_jw_kraw(w, th_interactions_numbers[i],
				   th_json_raw_get(settings, th_interactions_numbers[i]));
	if (th_interactions_is_string(effort))
		th_jw_kraw(w, "thinking_level", effort);
	put_choice(w, th_json_raw_get(settings, "tool_choice"));
	if (w->out->len == empty) {
		th_buf_truncate(w->out, start);
		w->comma = comma;
		return false;
	}
	th_jw_object_end(w);
	return true;
}

static void put_format(struct th_jw *w, struct th_str format)
{
	struct th_str schema = th_json_raw_get(format, "schema");

	if (!th_str_is(th_interactions_raw(format, "type"), "json_schema") &&
	    !th_str_is(th_interactions_raw(format, "type"), "json_object"))
		return;
	th_jw_key(w, TH_STR("response_format"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("text"));
	th_jw_kstr(w, "mime_type", TH_STR("application/json"));
	if (schema.len)
		th_jw_kraw(w, "schema", schema);
	th_jw_object_end(w);
}

static enum th_code put_unified(struct th_str unified, struct th_jw *w, struct th_err *err)
{
	struct th_str extra = th_json_raw_get(unified, "extra"),
		      settings = th_json_raw_get(unified, "settings"),
		      instructions = th_json_raw_get(unified, "instructions"),
		      tools = th_json_raw_get(unified, "tools"),
		      model = th_json_raw_get(unified, "model"),
		      stream = th_json_raw_get(unified, "stream");
	struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw inner = th_jw(&list);
	enum th_code code = TH_OK;

	th_jw_object(w);
	if (!th_str_eq(model, th_json_raw_get(extra, "agent")))
		th_jw_kraw(w, "model", model.len ? model : TH_STR("\"\""));
	if (instructions.len && !th_interactions_has(extra, "system_instruction"))
		th_jw_kraw(w, "system_instruction", instructions);
	th_interactions_put_tools(&inner, tools);
	if (list.len > 2 && !th_interactions_has(extra, "tools"))
		th_jw_kraw(w, "tools", th_buf_str(&list));
	if (!th_interactions_has(extra, "generation_config"))
		put_config(w, settings);
	if (!th_interactions_has(extra, "response_format"))
		put_format(w, th_json_raw_get(settings, "format"));
	if (stream.len && !th_interactions_has(extra, "stream"))
		th_jw_kraw(w, "stream", stream);
	th_buf_clear(&list);
	if (!th_interactions_has(extra, "input"))
		code = th_interactions_put_steps(th_json_raw_get(unified, "items"), &list, err);
	if (list.len > 2)
		th_jw_kraw(w, "input", th_buf_str(&list));
	th_unified_put_extra(w, extra);
	th_jw_object_end(w);
	th_buf_deinit(&list);
	return code;
}

enum th_code th_interactions_request_encode(struct th_str unified, struct th_buf *out,
					    struct th_err *err)
{
	struct th_jw w = th_jw(out);
	enum th_code code = th_unified_is_request(unified, err);

	if (!code)
		code = put_unified(unified, &w, err);
	return code ? code : th_buf_check(out, "the request", err);
}
