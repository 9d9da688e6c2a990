/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - requests but for their contents: instructions, tools,
 * settings, and where they go.
 */
#include "base/limits.h"
#include "google_gemini/gemini.h"
#include "google_gemini/writer.h"
#include "model_wire/format.h"

bool th_gemini_is_old(const struct th_profile *p)
{
	return p->flavour && !strcmp(p->flavour, "gemini-2");
}

bool th_gemini_is_browser(const struct th_request_options *o)
{
	const struct th_profile *p = o->profile;

	return o->has_computer && p->tool && !strcmp(p->tool, "ENVIRONMENT_BROWSER");
}

struct th_dialect_context th_gemini_context(const struct th_request_options *o)
{
	return (struct th_dialect_context){
		.profile = o->profile,
		.screen = o->screen,
		.image = o->image,
	};
}

/* ---- tools ---- */

static void put_computer(const struct th_request_options *o, struct th_jw *w)
{
	th_jw_object(w);
	th_jw_key(w, TH_STR("computerUse"));
	th_jw_object(w);
	th_jw_kstr(w, "environment", th_str_of(o->profile->tool));
	if (th_gemini_is_browser(o))
		th_jw_kraw(w, "excludedPredefinedFunctions", TH_STR(TH_GEMINI_EXCLUDED));
	th_jw_object_end(w);
	th_jw_object_end(w);
}

/* The dialect's functions are {name, description, parameters}; here the schema has another name:
 * the one of OpenAPI's subset takes half of what a schema may say. */
static void put_dialect_tools(const struct th_request_options *o, struct th_jw *w)
{
	struct th_dialect_context c = th_gemini_context(o);
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_jw inner = th_jw(&text);
	struct th_json_raw_iter it;

	th_jw_array(&inner);
	if (o->profile->dialect && o->profile->dialect->tools)
		o->profile->dialect->tools(&c, &inner);
	th_jw_array_end(&inner);
	for (it = th_json_raw_iter(th_buf_str(&text)); th_json_raw_next(&it);) {
		th_jw_object(w);
		th_jw_kraw(w, "name", th_json_raw_get(it.val, "name"));
		th_jw_kraw(w, "description", th_json_raw_get(it.val, "description"));
		th_jw_kraw(w, "parametersJsonSchema", th_json_raw_get(it.val, "parameters"));
		th_jw_object_end(w);
	}
	th_buf_deinit(&text);
}

static bool has_tools(const struct th_request_options *o)
{
	enum th_computer_tool how = o->has_computer ? o->profile->computer : TH_COMPUTER_NONE;

	return o->tool_count || how == TH_COMPUTER_NATIVE || how == TH_COMPUTER_DIALECT;
}

static void put_choice(const struct th_request_options *o, struct th_jw *w)
{
	const char *mode = NULL;

	switch (o->choice.kind) {
	case TH_CHOICE_UNSET:
		return;
	case TH_CHOICE_AUTO:
		mode = "AUTO";
		break;
	case TH_CHOICE_REQUIRED:
	case TH_CHOICE_TOOL:
		mode = "ANY";
		break;
	case TH_CHOICE_NONE:
		mode = "NONE";
		break;
	}
	th_jw_key(w, TH_STR("toolConfig"));
	th_jw_object(w);
	th_jw_key(w, TH_STR("functionCallingConfig"));
	th_jw_object(w);
	th_jw_kstr(w, "mode", th_str_of(mode));
	if (o->choice.kind == TH_CHOICE_TOOL && !th_choice_is_computer(o)) {
		th_jw_key(w, TH_STR("allowedFunctionNames"));
		th_jw_array(w);
		th_jw_str(w, o->choice.tool);
		th_jw_array_end(w);
	}
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static void put_tools(const struct th_request_options *o, struct th_jw *w)
{
	enum th_computer_tool how = o->has_computer ? o->profile->computer : TH_COMPUTER_NONE;

	if (!has_tools(o))
		return;
	th_jw_key(w, TH_STR("tools"));
	th_jw_array(w);
	if (how == TH_COMPUTER_NATIVE)
		put_computer(o, w);
	if (o->tool_count || how == TH_COMPUTER_DIALECT) {
		th_jw_object(w);
		th_jw_key(w, TH_STR("functionDeclarations"));
		th_jw_array(w);
		if (how == TH_COMPUTER_DIALECT)
			put_dialect_tools(o, w);
		for (size_t i = 0; i < o->tool_count; i++) {
			const struct th_tool_spec *t = &o->tools[i];

			th_jw_object(w);
			th_jw_kstr(w, "name", t->name);
			if (t->description.len)
				th_jw_kstr(w, "description", t->description);
			th_jw_kraw(w, "parametersJsonSchema", t->schema);
			th_jw_object_end(w);
		}
		th_jw_array_end(w);
		th_jw_object_end(w);
	}
	th_jw_array_end(w);
	put_choice(o, w);
}

/* The second generation takes no schema beside tools. */
static bool is_instructed(const struct th_request_options *o)
{
	return th_format_wanted(o) && th_gemini_is_old(o->profile) && has_tools(o);
}

/* ---- settings ---- */

struct effort {
	const char *name, *level;
	int32_t budget;
};

/* How hard to think: a level since the third generation, tokens before. */
static const struct effort efforts[] = {
	{ "none", "MINIMAL", 0 },     { "minimal", "MINIMAL", 512 }, { "low", "LOW", 2048 },
	{ "medium", "MEDIUM", 8192 }, { "high", "HIGH", 24576 },     { "xhigh", "HIGH", 32768 },
	{ "max", "HIGH", 32768 },
};

static void put_effort(const struct th_request_options *o, struct th_str effort, struct th_jw *w)
{
	for (size_t i = 0; i < TH_COUNT(efforts); i++) {
		int32_t budget = efforts[i].budget;

		if (!th_str_is(effort, efforts[i].name))
			continue;
		/* The larger ones cannot do without. */
		if (!budget && th_str_find(o->model, TH_STR("pro")) >= 0)
			budget = 128;
		if (th_str_find(o->model, TH_STR("flash")) >= 0)
			budget = TH_MIN(budget, 24576);
		if (th_gemini_is_old(o->profile))
			th_jw_kint(w, "thinkingBudget", budget);
		else
			th_jw_kstr(w, "thinkingLevel", th_str_of(efforts[i].level));
		return;
	}
}

static void put_config(const struct th_request_options *o, struct th_jw *w)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;

	th_jw_key(w, TH_STR("generationConfig"));
	th_jw_object(w);
	if (s && s->temperature >= 0)
		th_jw_kreal(w, "temperature", s->temperature);
	if (s && s->top_p >= 0)
		th_jw_kreal(w, "topP", s->top_p);
	if (s && s->max_output_tokens > 0)
		th_jw_kint(w, "maxOutputTokens", s->max_output_tokens);
	if (th_format_wanted(o) && !is_instructed(o)) {
		th_jw_kstr(w, "responseMimeType", TH_STR("application/json"));
		th_jw_kraw(w, "responseJsonSchema", o->format.schema);
	}
	if (o->profile->reasoning) {
		bool silent = s && th_str_is(s->effort, "none") && th_gemini_is_old(o->profile);

		th_jw_key(w, TH_STR("thinkingConfig"));
		th_jw_object(w);
		if (!silent)
			th_jw_kbool(w, "includeThoughts", true);
		if (s)
			put_effort(o, s->effort, w);
		th_jw_object_end(w);
	}
	th_jw_object_end(w);
}

/* ---- head and tail ---- */

static void put_instructions(const struct th_request_options *o, struct th_jw *w)
{
	struct th_dialect_context c = th_gemini_context(o);
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_buf more = TH_BUF_INIT(TH_REQUEST_MAX);

	if (o->agent)
		th_buf_add(&text, o->agent->instructions);
	if (o->has_computer && o->profile->dialect && o->profile->dialect->prompt)
		o->profile->dialect->prompt(&c, &more);
	if (text.len && more.len)
		th_buf_add(&text, TH_STR("\n\n"));
	th_buf_add(&text, th_buf_str(&more));
	if (is_instructed(o))
		th_format_instruct(o, &text);
	if (text.len) {
		th_jw_key(w, TH_STR("systemInstruction"));
		th_jw_object(w);
		th_jw_key(w, TH_STR("parts"));
		th_jw_array(w);
		th_jw_object(w);
		th_jw_kstr(w, "text", th_buf_str(&text));
		th_jw_object_end(w);
		th_jw_array_end(w);
		th_jw_object_end(w);
	}
	th_buf_deinit(&text);
	th_buf_deinit(&more);
}

void th_gemini_head(const struct th_request_options *o, struct th_buf *out)
{
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	put_instructions(o, &w);
	put_tools(o, &w);
	put_config(o, &w);
	th_jw_key(&w, TH_STR("contents"));
	th_jw_array(&w);
}

void th_gemini_tail(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add(out, TH_STR("]}"));
}

/* The name is part of the path: what would end it there is escaped. */
void th_gemini_path(const struct th_request_options *o, struct th_buf *out)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~/";

	th_buf_add_char(out, '/');
	if (th_str_find_char(o->model, '/') < 0)
		th_buf_add(out, TH_STR("models/"));
	for (size_t i = 0; i < o->model.len; i++) {
		char c = o->model.ptr[i];

		if (c && strchr(plain, c))
			th_buf_add_char(out, c);
		else
			th_buf_printf(out, "%%%02X", (unsigned)(unsigned char)c);
	}
	th_buf_add(out, o->stream ? TH_STR(":streamGenerateContent?alt=sse")
				  : TH_STR(":generateContent"));
}
