/* SPDX-License-Identifier: Apache-2.0 */
/* mcp_fixtures.c - the kit that the MCP conformance suite expects. */
#include "mcp_fixtures.h"

#include <stdlib.h>

#define PNG                                                             \
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+" \
	"M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
#define STEP_MS 50

static void answer(struct th_mcp *m, const char *result)
{
	th_mcp_answer(m, th_str_of(result));
}

/* ---- tools ---- */

static void simple_text(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	th_mcp_text(m, TH_STR("This is a simple text response for testing."), false);
}

static void image(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	answer(m, "{\"content\":[{\"type\":\"image\",\"data\":\"" PNG
		  "\",\"mimeType\":\"image/png\"}]}");
}

static void audio(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	answer(m, "{\"content\":[{\"type\":\"audio\",\"data\":\"" WAV
		  "\",\"mimeType\":\"audio/wav\"}]}");
}

static void embedded(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	answer(m, "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":"
		  "\"test://embedded-resource\",\"mimeType\":\"text/plain\",\"text\":"
		  "\"This is an embedded resource content.\"}}]}");
}

static void mixed(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	answer(m, "{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"},"
		  "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"},"
		  "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\","
		  "\"mimeType\":\"application/json\",\"text\":"
		  "\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]}");
}

static void error(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	th_mcp_text(m, TH_STR("This tool intentionally returns an error for testing"), true);
}

/* ---- tools that take their time ---- */

struct steps {
	struct th_mcp *m;
	struct th_timer timer;
	int count;
	bool logs;
};

static void steps_gone(struct th_mcp *m)
{
	struct steps *s = m->ctx;

	th_timer_stop(&s->timer);
	free(s);
}

static void step(void *ctx)
{
	static const char *const logs[] = { "Tool execution started", "Tool processing data",
					    "Tool execution completed" };
	struct steps *s = ctx;
	struct th_mcp *m = s->m;

	if (s->count == 3) {
		m->gone = NULL;
		th_timer_stop(&s->timer);
		free(s);
		th_mcp_text(m, TH_STR("It took three steps."), false);
		return;
	}
	if (s->logs)
		th_mcp_log(m, "info", th_str_of(logs[s->count]));
	else
		th_mcp_progress(m, s->count * 50, 100, NULL);
	s->count++;
	th_timer_start(&s->timer, s->count == 3 ? 0 : STEP_MS, 0);
}

static void begin_steps(struct th_mcp *m, bool logs)
{
	struct steps *s = th_alloc(sizeof(*s));

	*s = (struct steps){ .m = m, .logs = logs };
	m->ctx = s;
	m->gone = steps_gone;
	th_timer_init(&s->timer, m->access->server->loop, step, s);
	step(s);
}

static void logging(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	begin_steps(m, true);
}

static void progress(struct th_mcp *m, const void *arguments)
{
	(void)arguments;
	begin_steps(m, false);
}

/* ---- prompts ---- */

static void prompt_simple(struct th_mcp *m)
{
	answer(m, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":"
		  "\"This is a simple prompt for testing.\"}}]}");
}

static void prompt_arguments(struct th_mcp *m)
{
	const struct th_json *given = th_json_get(m->params, "arguments");
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	th_buf_printf(&text, "Prompt with arguments: arg1='%.*s', arg2='%.*s'",
		      TH_FMT(th_json_get_str(given, "arg1")),
		      TH_FMT(th_json_get_str(given, "arg2")));
	th_buf_add_cstr(&out, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
			      "\"text\":");
	th_jw_str(&w, th_buf_str(&text));
	th_buf_add_cstr(&out, "}}]}");
	th_mcp_answer(m, th_buf_str(&out));
}

static void prompt_resource(struct th_mcp *m)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	th_buf_add_cstr(&out,
			"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"resource\","
			"\"resource\":{\"uri\":");
	th_jw_str(&w, th_json_get_str(th_json_get(m->params, "arguments"), "resourceUri"));
	th_buf_add_cstr(&out, ",\"mimeType\":\"text/plain\",\"text\":\"Embedded resource content "
			      "for testing.\"}}},{\"role\":\"user\",\"content\":{\"type\":\"text\","
			      "\"text\":\"Please process the embedded resource above.\"}}]}");
	th_mcp_answer(m, th_buf_str(&out));
}

static void prompt_image(struct th_mcp *m)
{
	answer(m,
	       "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":\"" PNG
	       "\",\"mimeType\":\"image/png\"}},{\"role\":\"user\",\"content\":{\"type\":"
	       "\"text\",\"text\":\"Please analyze the image above.\"}}]}");
}

#define ARGUMENT(name) "{\"name\":\"" name "\",\"description\":\"for testing\",\"required\":true}"

static const struct th_mcp_prompt prompts[] = {
	{ "test_simple_prompt", "Simple", "a text", "[]", prompt_simple },
	{ "test_prompt_with_arguments", "Arguments", "a text with two arguments",
	  "[" ARGUMENT("arg1") "," ARGUMENT("arg2") "]", prompt_arguments },
	{ "test_prompt_with_embedded_resource", "Resource", "a resource",
	  "[" ARGUMENT("resourceUri") "]", prompt_resource },
	{ "test_prompt_with_image", "Picture", "a picture", "[]", prompt_image },
	{ "test_input_required_result_prompt", "Asks", "asks for its context", "[]",
	  mcp_ask_prompt },
	{ NULL, NULL, NULL, NULL, NULL },
};

/* ---- resources ---- */

static void resources(struct th_mcp *m, struct th_jw *w)
{
	static const char *const list[] = {
		"{\"uri\":\"test://static-text\",\"name\":\"static-text\",\"description\":\"a "
		"text\","
		"\"mimeType\":\"text/plain\"}",
		"{\"uri\":\"test://static-binary\",\"name\":\"static-binary\",\"description\":"
		"\"a picture\",\"mimeType\":\"image/png\"}",
		"{\"uri\":\"test://watched-resource\",\"name\":\"watched\",\"description\":"
		"\"one that may change\",\"mimeType\":\"text/plain\"}",
	};

	(void)m;
	for (size_t i = 0; i < TH_COUNT(list); i++)
		th_jw_raw(w, th_str_of(list[i]));
}

static void give(struct th_mcp *m, struct th_str uri, const char *type, const char *member,
		 struct th_str content)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	th_jw_object(&w);
	th_jw_name(&w, TH_STR("contents"));
	th_jw_array(&w);
	th_jw_object(&w);
	th_jw_kstr(&w, "uri", uri);
	th_jw_kstr(&w, "mimeType", th_str_of(type));
	th_jw_kstr(&w, member, content);
	th_jw_object_end(&w);
	th_jw_array_end(&w);
	if (m->modern) {
		th_jw_kint(&w, "ttlMs", 0);
		th_jw_kstr(&w, "cacheScope", TH_STR("private"));
	}
	th_jw_object_end(&w);
	th_mcp_answer(m, th_buf_str(&out));
}

static bool read_one(struct th_mcp *m, struct th_str uri)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);
	struct th_str rest = uri, id;

	if (th_str_is(uri, "test://static-text") || th_str_is(uri, "test://watched-resource")) {
		give(m, uri, "text/plain", "text",
		     TH_STR("This is the content of the static text resource."));
		return true;
	}
	if (th_str_is(uri, "test://static-binary")) {
		give(m, uri, "image/png", "blob", TH_STR(PNG));
		return true;
	}
	if (!th_str_starts(uri, TH_STR("test://template/")) || !th_str_ends(uri, TH_STR("/data")))
		return false;
	rest = th_str_sub(uri, strlen("test://template/"), uri.len);
	id = th_str_split(&rest, '/');
	th_buf_printf(&text,
		      "{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}",
		      TH_FMT(id), TH_FMT(id));
	give(m, uri, "application/json", "text", th_buf_str(&text));
	return true;
}

static bool watch(struct th_mcp *m, struct th_mcp_watch *w)
{
	(void)m;
	return strcmp(w->uri, "test://watched-resource") == 0;
}

static void complete(struct th_mcp *m, struct th_jw *w)
{
	(void)m;
	th_jw_str(w, TH_STR("test value"));
}

/* ---- the kit ---- */

#define NOTHING "{\"type\":\"object\",\"properties\":{}}"
#define TEXT(name)                                     \
	"{\"type\":\"object\",\"properties\":{\"" name \
	"\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define TOOL(name, schema, fn)                                                   \
	{                                                                        \
		name, NULL, "a fixture", NULL, schema, 0, false, false, NULL, fn \
	}

// clang-format off
static const struct th_mcp_tool tools[] = {
	TOOL("test_simple_text", NOTHING, simple_text),
	TOOL("test_image_content", NOTHING, image),
	TOOL("test_audio_content", NOTHING, audio),
	TOOL("test_embedded_resource", NOTHING, embedded),
	TOOL("test_multiple_content_types", NOTHING, mixed),
	TOOL("test_tool_with_logging", NOTHING, logging),
	TOOL("test_logging_tool", NOTHING, logging),
	TOOL("test_tool_with_progress", NOTHING, progress),
	TOOL("test_error_handling", NOTHING, error),
	TOOL("test_sampling", TEXT("prompt"), mcp_ask_sampling),
	TOOL("test_elicitation", TEXT("message"), mcp_ask_elicitation),
	TOOL("test_elicitation_sep1034_defaults", NOTHING, mcp_ask_defaults),
	TOOL("test_elicitation_sep1330_enums", NOTHING, mcp_ask_enums),
	TOOL("test_missing_capability", NOTHING, mcp_ask_missing),
	TOOL("test_streaming_elicitation", NOTHING, mcp_ask_streaming),
	TOOL("test_input_required_result_elicitation", NOTHING, mcp_ask_name),
	TOOL("test_input_required_result_sampling", NOTHING, mcp_ask_capital),
	TOOL("test_input_required_result_list_roots", NOTHING, mcp_ask_roots),
	TOOL("test_input_required_result_request_state", NOTHING, mcp_ask_state),
	TOOL("test_input_required_result_multiple_inputs", NOTHING, mcp_ask_many),
	TOOL("test_input_required_result_multi_round", NOTHING, mcp_ask_rounds),
	TOOL("test_input_required_result_tampered_state", NOTHING, mcp_ask_state),
	TOOL("test_input_required_result_capabilities", NOTHING, mcp_ask_capabilities),
	TOOL(NULL, NULL, NULL),
};
// clang-format on

const struct th_mcp_kit mcp_fixtures = {
	.name = "thole",
	.tools = tools,
	.prompts = prompts,
	.resources = resources,
	.templates = "[{\"uriTemplate\":\"test://template/{id}/data\",\"name\":\"template\","
		     "\"description\":\"data by its id\",\"mimeType\":\"application/json\"}]",
	.read = read_one,
	.watch = watch,
	.complete = complete,
	.logs = true,
};
