/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - what stands around the messages of a Chat Completions
 * request: the model, tools, settings, and the system's message.
 */
#include "base/limits.h"
#include "dialects/actions.h"
#include "model_wire/format.h"
#include "openai_chat/writer.h"

struct th_dialect_context th_chat_dialect_context(const struct th_request_options *o)
{
	return (struct th_dialect_context){ .profile = o->profile,
					    .screen = o->screen,
					    .image = o->image,
					    .tools = o->tools,
					    .tool_count = o->tool_count };
}

void th_chat_path(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add(out, TH_STR("/chat/completions"));
}

/* ---- tools ---- */

static void open_function(struct th_jw *w)
{
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("function"));
	th_jw_key(w, TH_STR("function"));
}

static void put_computer(const struct th_request_options *o, struct th_jw *w)
{
	open_function(w);
	th_jw_object(w);
	th_jw_kstr(w, "name", TH_STR(TH_COMPUTER_FUNCTION_NAME));
	th_jw_key(w, TH_STR("description"));
	th_computer_function_description(o->screen, w);
	th_jw_key(w, TH_STR("parameters"));
	th_computer_function_schema(w);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

/* The dialect writes {name, description, parameters}. */
static void put_dialect_tools(const struct th_request_options *o, struct th_jw *w)
{
	struct th_dialect_context c = th_chat_dialect_context(o);
	struct th_buf list = TH_BUF_INIT(TH_MIB);
	struct th_jw inner = th_jw(&list);
	struct th_json_raw_iter it;

	th_jw_array(&inner);
	o->profile->dialect->tools(&c, &inner);
	th_jw_array_end(&inner);
	it = th_json_raw_iter(th_buf_str(&list));
	while (th_json_raw_next(&it)) {
		open_function(w);
		th_jw_raw(w, it.val);
		th_jw_object_end(w);
	}
	th_buf_deinit(&list);
}

static void put_tool(const struct th_tool_spec *t, struct th_jw *w)
{
	open_function(w);
	th_jw_object(w);
	th_jw_kstr(w, "name", t->name);
	if (t->description.len)
		th_jw_kstr(w, "description", t->description);
	th_jw_kraw(w, "parameters", t->schema);
	if (t->strict)
		th_jw_kbool(w, "strict", true);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static void put_named_choice(const struct th_request_options *o, struct th_jw *w)
{
	open_function(w);
	th_jw_object(w);
	th_jw_kstr(w, "name", o->choice.tool);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

static bool tools_in_prompt(const struct th_request_options *o)
{
	return o->profile->dialect && o->profile->dialect->tools_in_prompt;
}

static void put_tools(const struct th_request_options *o, struct th_jw *w)
{
	const struct th_dialect *dialect = o->has_computer ? o->profile->dialect : NULL;
	bool in_prompt = tools_in_prompt(o);
	bool function = o->has_computer && o->profile->computer == TH_COMPUTER_FUNCTION;
	struct th_buf list = TH_BUF_INIT(TH_REQUEST_MAX);
	struct th_jw inner = th_jw(&list);

	if (function)
		put_computer(o, &inner);
	if (dialect && dialect->tools)
		put_dialect_tools(o, &inner);
	for (size_t i = 0; i < o->tool_count && !in_prompt; i++)
		put_tool(&o->tools[i], &inner);
	if (list.len) { /* an empty list is refused */
		th_jw_key(w, TH_STR("tools"));
		th_jw_array(w);
		th_jw_raw(w, th_buf_str(&list));
		th_jw_array_end(w);
		th_choice_put(o, w, put_named_choice);
	}
	th_buf_deinit(&list);
}

/* ---- settings ---- */

/* The last part of a name such as openai/gpt-5. */
static struct th_str bare_name(struct th_str name)
{
	for (struct th_str rest = name; rest.len;) {
		name = th_str_split(&rest, '/');
		if (!rest.len)
			break;
	}
	return name;
}

/* OpenAI's reasoning models refuse the old name of the limit, wherever they are served. */
static bool is_new_limit(const struct th_request_options *o, const struct th_chat_flavour *flavour)
{
	struct th_str name = bare_name(o->model);

	return flavour->new_limit || th_str_istarts(name, TH_STR("gpt-5")) ||
	       (name.len >= 2 && (name.ptr[0] | 0x20) == 'o' && name.ptr[1] >= '1' &&
		name.ptr[1] <= '9');
}

static void put_effort(const struct th_chat_flavour *flavour, struct th_str effort, struct th_jw *w)
{
	bool none = th_str_is(effort, "none");

	switch (flavour->effort) {
	case TH_CHAT_EFFORT_OBJECT:
		th_jw_key(w, TH_STR("reasoning"));
		th_jw_object(w);
		th_jw_kstr(w, "effort", effort);
		th_jw_object_end(w);
		return;
	case TH_CHAT_EFFORT_THINKING:
		th_jw_key(w, TH_STR("thinking"));
		th_jw_object(w);
		th_jw_kstr(w, "type", none ? TH_STR("disabled") : TH_STR("enabled"));
		th_jw_object_end(w);
		if (none)
			return;
		break;
	case TH_CHAT_EFFORT_MEMBER:
		break;
	}
	th_jw_kstr(w, "reasoning_effort", effort);
}

static void put_settings(const struct th_request_options *o, const struct th_chat_flavour *flavour,
			 struct th_jw *w)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;

	if (tools_in_prompt(o) && o->tool_count && o->profile->dialect->stop) {
		th_jw_key(w, TH_STR("stop"));
		th_jw_array(w);
		th_jw_str(w, th_str_of(o->profile->dialect->stop));
		th_jw_array_end(w);
	}
	if (!s)
		return;
	if (s->effort.len)
		put_effort(flavour, s->effort, w);
	if (s->temperature >= 0)
		th_jw_kreal(w, "temperature", s->temperature);
	if (s->top_p >= 0)
		th_jw_kreal(w, "top_p", s->top_p);
	if (s->max_output_tokens > 0)
		th_jw_kint(w, is_new_limit(o, flavour) ? "max_completion_tokens" : "max_tokens",
			   s->max_output_tokens);
}

/* ---- the answer's form ---- */

/* Servers without schemas are asked for JSON, and the schema goes into the instructions. */
static bool is_instructed(const struct th_request_options *o)
{
	return th_format_wanted(o) && th_chat_flavour_of(o->profile)->no_schema;
}

static void put_format(const struct th_request_options *o, struct th_jw *w)
{
	if (!th_format_wanted(o))
		return;
	th_jw_key(w, TH_STR("response_format"));
	if (is_instructed(o)) {
		th_jw_raw(w, TH_STR("{\"type\":\"json_object\"}"));
		return;
	}
	th_jw_object(w);
	th_jw_kstr(w, "type", TH_STR("json_schema"));
	th_jw_key(w, TH_STR("json_schema"));
	th_jw_object(w);
	th_jw_kstr(w, "name", th_format_name(o));
	th_jw_kbool(w, "strict", o->format.strict);
	th_jw_kraw(w, "schema", o->format.schema);
	th_jw_object_end(w);
	th_jw_object_end(w);
}

/* ---- head and tail ---- */

static bool has_prompt(const struct th_request_options *o)
{
	return (tools_in_prompt(o) ? o->tool_count > 0 : o->has_computer) && o->profile->dialect &&
	       o->profile->dialect->prompt;
}

bool th_chat_has_system(const struct th_request_options *o)
{
	return has_prompt(o) || is_instructed(o) || (o->agent && o->agent->instructions.len);
}

static void put_system(const struct th_request_options *o, struct th_jw *w)
{
	struct th_dialect_context c = th_chat_dialect_context(o);
	struct th_buf text = TH_BUF_INIT(TH_REQUEST_MAX);

	if (!th_chat_has_system(o))
		return;
	if (o->agent)
		th_buf_add(&text, o->agent->instructions);
	if (has_prompt(o)) {
		if (text.len)
			th_buf_add(&text, TH_STR("\n\n"));
		o->profile->dialect->prompt(&c, &text);
	}
	if (is_instructed(o))
		th_format_instruct(o, &text);
	th_jw_object(w);
	th_jw_kstr(w, "role", TH_STR("system"));
	if (th_chat_marks(o)) {
		th_jw_key(w, TH_STR("content"));
		th_jw_array(w);
		th_jw_object(w);
		th_jw_kstr(w, "type", TH_STR("text"));
		th_jw_kstr(w, "text", th_buf_str(&text));
		th_buf_add(w->out, TH_STR(TH_CHAT_MARK));
		th_jw_object_end(w);
		th_jw_array_end(w);
	} else {
		th_jw_kstr(w, "content", th_buf_str(&text));
	}
	th_jw_object_end(w);
	th_buf_deinit(&text);
}

void th_chat_head(const struct th_request_options *o, struct th_buf *out)
{
	const struct th_chat_flavour *flavour = th_chat_flavour_of(o->profile);
	struct th_jw w = th_jw(out);

	th_jw_object(&w);
	th_jw_kstr(&w, "model", o->model);
	put_tools(o, &w);
	put_settings(o, flavour, &w);
	put_format(o, &w);
	th_jw_kbool(&w, "stream", o->stream);
	if (o->stream && !flavour->no_stream_options)
		th_jw_kraw(&w, "stream_options", TH_STR("{\"include_usage\":true}"));
	th_jw_key(&w, TH_STR("messages"));
	th_jw_array(&w);
	put_system(o, &w);
}

void th_chat_tail(const struct th_request_options *o, struct th_buf *out)
{
	(void)o;
	th_buf_add(out, TH_STR("]}"));
}
