/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - requests but for their steps: instructions, tools,
 * settings, and what the server stores.  None of these is taken over from the
 * interaction before, so they are in every request.
 */
#include "base/limits.h"
#include "google_gemini/writer.h"
#include "google_interactions/interactions.h"
#include "model_wire/format.h"

/* ---- tools ---- */

/* ENVIRONMENT_DESKTOP is "desktop" here. */
static void put_environment(const char *tool, struct th_jw *w)
{
	const char *name = strncmp(tool, "ENVIRONMENT_", 12) == 0 ? tool + 12 : tool;
	char lower[32];
	size_t len = 0;

	for (; name[len] && len + 1 < sizeof(lower); len++)
		lower[len] =
		    (char)(name[len] >= 'A' && name[len] <= 'Z' ? name[len] | 0x20 : name[len]);
	th_jw_kstr(w, "environment", th_str_n(lower, len));
}

static void put_computer(const struct th_request_options *o, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("computer_use"));
	put_environment(o->profile->tool, w);
	if (th_gemini_is_browser(o))
		th_jw_kraw(w, "excluded_predefined_functions", TH_STR(TH_GEMINI_EXCLUDED));
	th_jw_object_end(w);
}

/* The dialect's functions are {name, description, parameters}. */
static void put_dialect_tools(const struct th_request_options *o, struct th_jw *w)
{
	struct th_dialect_context c = th_gemini_context(o);
	struct th_buf list = TH_BUF_INIT(TH_MIB);
	struct th_jw inner = th_jw(&list);
	struct th_json_raw_iter it;

	th_jw_array(&inner);
	if (o->profile->dialect->tools)
		o->profile->dialect->tools(&c, &inner);
	th_jw_array_end(&inner);
	for (it = th_json_raw_iter(th_buf_str(&list)); th_json_raw_next(&it);) {
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("function"));
		th_jw_kraw(w, "name", th_json_raw_get(it.val, "name"));
		th_jw_kraw(w, "description", th_json_raw_get(it.val, "description"));
		th_jw_kraw(w, "parameters", th_json_raw_get(it.val, "parameters"));
		th_jw_object_end(w);
	}
	th_buf_deinit(&list);
}

static enum th_computer_tool computer_of(const struct th_request_options *o)
{
	return o->has_computer ? o->profile->computer : TH_COMPUTER_NONE;
}

static bool has_tools(const struct th_request_options *o)
{
	return o->tool_count || computer_of(o) == TH_COMPUTER_NATIVE ||
	       computer_of(o) == TH_COMPUTER_DIALECT;
}

static void put_tools(const struct th_request_options *o, struct th_jw *w)
{
	if (!has_tools(o))
		return;
	th_jw_key(w, TH_STR("tools"));
	th_jw_array(w);
	if (computer_of(o) == TH_COMPUTER_NATIVE)
		put_computer(o, w);
	if (computer_of(o) == TH_COMPUTER_DIALECT)
		put_dialect_tools(o, w);
	for (size_t i = 0; i < o->tool_count; i++) {
		const struct th_tool_spec *t = &o->tools[i];

		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("function"));
		th_jw_kstr(w, "name", t->name);
		if (t->description.len)
			th_jw_kstr(w, "description", t->description);
		th_jw_kraw(w, "parameters", t->schema);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
}

static void put_choice(const struct th_request_options *o, struct th_jw *w)
{
	static const char *const words[] = {
		[TH_CHOICE_UNSET] = NULL,  [TH_CHOICE_AUTO] = "auto", [TH_CHOICE_REQUIRED] = "any",
		[TH_CHOICE_NONE] = "none", [TH_CHOICE_TOOL] = "any",
	};
	const char *word = words[o->choice.kind];

	if (!word || !has_tools(o))
		return;
	if (o->choice.kind != TH_CHOICE_TOOL || th_choice_is_computer(o)) {
		th_jw_kstr(w, "tool_choice", th_str_of(word));
		return;
	}
	th_jw_key(w, TH_STR("tool_choice"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("allowed_tools"));
	th_jw_object(w);
	th_jw_kstr(w, "mode", th_str_of(word));
	th_jw_key(w, TH_STR("tools"));
	th_jw_array(w);
	th_jw_str(w, o->choice.tool);
	th_jw_array_end(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

/* ---- settings ---- */

static const struct {
	const char *effort, *level;
} levels[] = {
	{ "none", "minimal" }, { "minimal", "minimal" }, { "low", "low" },  { "medium", "medium" },
	{ "high", "high" },    { "xhigh", "high" },      { "max", "high" },
};

static void put_thinking(const struct th_request_options *o, struct th_jw *w)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;

	if (!o->profile->reasoning)
		return;
	for (size_t i = 0; s && i < TH_COUNT(levels); i++)
		if (th_str_is(s->effort, levels[i].effort))
			th_jw_kstr(w, "thinking_level", th_str_of(levels[i].level));
	th_jw_kstr(w, "thinking_summaries", TH_STR("auto"));
}

static void put_config(const struct th_request_options *o, struct th_jw *w)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;

	th_jw_key(w, TH_STR("generation_config"));
	th_jw_object(w);
	if (s && s->temperature >= 0)
		th_jw_kreal(w, "temperature", s->temperature);
	if (s && s->top_p >= 0)
		th_jw_kreal(w, "top_p", s->top_p);
	if (s && s->max_output_tokens > 0)
		th_jw_kint(w, "max_output_tokens", s->max_output_tokens);
	put_thinking(o, w);
	put_choice(o, w);
	th_jw_object_end(w);
}

/* The second generation takes no schema beside tools. */
static bool is_instructed(const struct th_request_options *o)
{
	return th_format_wanted(o) && th_gemini_is_old(o->profile) && has_tools(o);
}

static void put_format(const struct th_request_options *o, struct th_jw *w)
{
	if (!th_format_wanted(o) || is_instructed(o))
		return;
	th_jw_key(w, TH_STR("response_format"));
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("text"));
	th_jw_kstr(w, "mime_type", TH_STR("application/json"));
	th_jw_kraw(w, "schema", o->format.schema);
	th_jw_object_end(w);
}

static void put_instructions(const struct th_request_options *o, struct th_jw *w)
{
	struct th_dialect_context c = th_gemini_context(o);
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX), more = TH_BUF_INIT(TH_REQUEST_MAX);

	if (o->agent)
		th_buf_add(&text, o->agent->instructions);
	if (o->has_computer && o->profile->dialect->prompt)
		o->profile->dialect->prompt(&c, &more);
	if (text.len && more.len)
		th_buf_add(&text, TH_STR("\n\n"));
	th_buf_add(&text, th_buf_str(&more));
	if (is_instructed(o))
		th_format_instruct(o, &text);
	if (text.len)
		th_jw_kstr(w, "system_instruction", th_buf_str(&text));
	th_buf_deinit(&text);
	th_buf_deinit(&more);
}

/* The API stores its answers unless the request says otherwise. */
static void put_state(const struct th_request_options *o, struct th_jw *w)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;

	th_jw_kbool(w, "store", th_request_stores(o));
	if (s && s->background)
		th_jw_kbool(w, "background", true);
	if (o->previous.len)
		th_jw_kstr(w, "previous_interaction_id", o->previous);
}

void th_interactions_head(const struct th_request_options *o, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "model", o->model);
	put_instructions(o, &w);
	put_tools(o, &w);
	put_config(o, &w);
	put_format(o, &w);
	put_state(o, &w);
	th_jw_kbool(&w, "stream", o->stream);
	th_jw_key(&w, TH_STR("input"));
	th_jw_array(&w);
}
