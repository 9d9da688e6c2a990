/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_format.c - what requests of each wire say about the answer's form (tool
 * choice, parallel calls, output schema), and what is read of it in the
 * requests of others.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "providers/wires.h"

#define SCHEMA                                                                                    \
	"{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}},\"required\":[\"x\"]," \
	"\"additionalProperties\":false}"
#define TOLD                                                                                       \
	"Your final message must be one JSON value and nothing else: no other words, no code "     \
	"fence. It must fit this JSON Schema:\\n"                                                  \
	"{\\\"type\\\":\\\"object\\\",\\\"properties\\\":{\\\"x\\\":{\\\"type\\\":\\\"string\\\"}" \
	"},"                                                                                       \
	"\\\"required\\\":[\\\"x\\\"],\\\"additionalProperties\\\":false}"

static const struct th_tool_spec shell = {
	.name = TH_STR_INIT("shell"),
	.schema = TH_STR_INIT("{\"type\":\"object\"}"),
};
static struct th_agent_model_settings effort = { TH_SETTINGS_UNSET, .effort = TH_STR_INIT("low") };
static struct th_agent agent;
static struct th_request_options o;

/* A request with one tool, nothing said about the answer. */
static void ask(const char *model)
{
	struct th_err err;

	agent = (struct th_agent){ 0 };
	o = (struct th_request_options){ .tools = &shell, .tool_count = 1, .agent = &agent };
	assert_int_equal(th_model_resolve(th_str_of(model), &o.profile, &o.model, &err), TH_OK);
}

static void with_computer(void)
{
	o.has_computer = true;
	o.screen = o.image = (struct th_size){ 1024, 768 };
}

static void with_schema(bool strict)
{
	o.format = (struct th_output_format){ .schema = TH_STR(SCHEMA), .strict = strict };
}

/* The member of the request's body, as it is written; NULL: there is none. */
static void says(const char *member, const char *wanted)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc;
	struct th_err err;
	struct th_str got;

	o.profile->wire->head(&o, &out);
	o.profile->wire->tail(&o, &out);
	assert_int_equal(th_json_parse(th_buf_str(&out), &doc, &err), TH_OK);
	th_json_free(doc);
	got = th_json_raw_get(th_buf_str(&out), member);
	if (wanted ? !th_str_is(got, wanted) : got.len > 0)
		fail_msg("%s of %.*s: %.*s\nnot %s", member, TH_FMT(o.model), TH_FMT(got), wanted);
	th_buf_deinit(&out);
}

static void choose(enum th_choice_kind kind, const char *tool)
{
	o.choice = (struct th_tool_choice){ kind, th_str_of(tool) };
}

/* The five choices, and what a request without tools says: nothing. */
static void choices(const char *model, const char *member, const char *const *wanted)
{
	ask(model);
	says(member, NULL);
	choose(TH_CHOICE_AUTO, NULL);
	says(member, wanted[0]);
	choose(TH_CHOICE_REQUIRED, NULL);
	says(member, wanted[1]);
	choose(TH_CHOICE_NONE, NULL);
	says(member, wanted[2]);
	choose(TH_CHOICE_TOOL, "shell");
	says(member, wanted[3]);
	o.parallel = TH_PARALLEL_NO;
	o.tool_count = 0;
	says(member, NULL);
	says("parallel_tool_calls", NULL);
}

static void test_choices(void **unused)
{
	static const char *const responses[] = { "\"auto\"", "\"required\"", "\"none\"",
						 "{\"type\":\"function\",\"name\":\"shell\"}" };
	static const char *const chat[] = {
		"\"auto\"", "\"required\"", "\"none\"",
		"{\"type\":\"function\",\"function\":{\"name\":\"shell\"}}"
	};
	static const char *const messages[] = { "{\"type\":\"auto\"}", "{\"type\":\"any\"}",
						"{\"type\":\"none\"}",
						"{\"type\":\"tool\",\"name\":\"shell\"}" };
	static const char *const gemini[] = {
		"{\"functionCallingConfig\":{\"mode\":\"AUTO\"}}",
		"{\"functionCallingConfig\":{\"mode\":\"ANY\"}}",
		"{\"functionCallingConfig\":{\"mode\":\"NONE\"}}",
		("{\"functionCallingConfig\":{\"mode\":\"ANY\","
		 "\"allowedFunctionNames\":[\"shell\"]}}"),
	};

	(void)unused;
	choices("gpt-5.4", "tool_choice", responses);
	choices("openrouter/some/model", "tool_choice", chat);
	choices("claude-sonnet-4-5", "tool_choice", messages);
	choices("gemini-3-pro", "toolConfig", gemini);
}

static void test_the_computer_is_chosen(void **unused)
{
	static const struct {
		const char *model, *member, *wanted;
	} rows[] = {
		{ "gpt-5.4", "tool_choice", "{\"type\":\"computer\"}" },
		{ "computer-use-preview", "tool_choice", "{\"type\":\"computer_use_preview\"}" },
		{ "gpt-4.1", "tool_choice", "{\"type\":\"function\",\"name\":\"computer\"}" },
		{ "claude-sonnet-4-5", "tool_choice", "{\"type\":\"tool\",\"name\":\"computer\"}" },
		{ "claude-opus-9", "tool_choice", "{\"type\":\"any\"}" }, /* a toolset */
		{ "gemini-3-pro", "toolConfig", "{\"functionCallingConfig\":{\"mode\":\"ANY\"}}" },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		ask(rows[i].model);
		with_computer();
		o.tool_count = 0;
		choose(TH_CHOICE_TOOL, "computer");
		says(rows[i].member, rows[i].wanted);
	}
}

static void test_parallel_calls(void **unused)
{
	(void)unused;
	ask("gpt-5.4");
	says("parallel_tool_calls", NULL);
	o.parallel = TH_PARALLEL_YES;
	says("parallel_tool_calls", "true");
	o.parallel = TH_PARALLEL_NO;
	says("parallel_tool_calls", "false");
	ask("openrouter/some/model");
	o.parallel = TH_PARALLEL_NO;
	says("parallel_tool_calls", "false");
	ask("claude-sonnet-4-5");
	o.parallel = TH_PARALLEL_NO;
	says("tool_choice", "{\"type\":\"auto\",\"disable_parallel_tool_use\":true}");
	choose(TH_CHOICE_TOOL, "shell");
	says("tool_choice",
	     "{\"type\":\"tool\",\"name\":\"shell\",\"disable_parallel_tool_use\":true}");
	choose(TH_CHOICE_NONE, NULL);
	says("tool_choice", "{\"type\":\"none\"}");
	ask("gemini-3-pro");
	o.parallel = TH_PARALLEL_NO;
	says("toolConfig", NULL);
}

/* Claude does not think beside a call that is demanded. */
static void test_forced_claude(void **unused)
{
	(void)unused;
	ask("claude-opus-4-6");
	agent.settings = &effort;
	says("thinking", "{\"type\":\"adaptive\"}");
	says("output_config", "{\"effort\":\"low\"}");
	choose(TH_CHOICE_NONE, NULL);
	says("thinking", "{\"type\":\"adaptive\"}");
	choose(TH_CHOICE_REQUIRED, NULL);
	says("thinking", NULL);
	says("output_config", NULL);
	o.tool_count = 0; /* nothing is demanded of a request without tools */
	says("thinking", "{\"type\":\"adaptive\"}");
}

static void test_formats(void **unused)
{
	(void)unused;
	ask("gpt-5.4");
	says("text", NULL);
	with_schema(true);
	says("text",
	     "{\"format\":{\"type\":\"json_schema\",\"name\":\"final_output\",\"schema\":" SCHEMA
	     ",\"strict\":true}}");
	o.format.name = TH_STR("person");
	o.format.strict = false;
	says("text", "{\"format\":{\"type\":\"json_schema\",\"name\":\"person\",\"schema\":" SCHEMA
		     ",\"strict\":false}}");
	ask("openrouter/some/model");
	with_schema(true);
	says("response_format",
	     "{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"final_output\","
	     "\"strict\":true,\"schema\":" SCHEMA "}}");
	says("messages", "[]");
	ask("gemini-3-pro");
	with_schema(true);
	says("generationConfig",
	     "{\"responseMimeType\":\"application/json\",\"responseJsonSchema\":" SCHEMA
	     ",\"thinkingConfig\":{\"includeThoughts\":true}}");
	ask("claude-opus-4-6");
	with_schema(true);
	says("output_config", "{\"format\":{\"type\":\"json_schema\",\"schema\":" SCHEMA "}}");
	says("system", NULL);
	agent.settings = &effort;
	says("output_config",
	     "{\"effort\":\"low\",\"format\":{\"type\":\"json_schema\",\"schema\":" SCHEMA "}}");
	ask("claude-sonnet-4-5-20250929");
	with_schema(true);
	says("output_config", "{\"format\":{\"type\":\"json_schema\",\"schema\":" SCHEMA "}}");
}

/* Who cannot be held to a schema is told it, behind what it is told anyhow. */
static void test_told_formats(void **unused)
{
	(void)unused;
	ask("claude-3-7-sonnet-latest");
	with_schema(true);
	says("output_config", NULL);
	says("system", "[{\"type\":\"text\",\"text\":\"" TOLD
		       "\",\"cache_control\":{\"type\":\"ephemeral\"}}]");
	agent.instructions = TH_STR("Be brief.");
	says("system", "[{\"type\":\"text\",\"text\":\"Be brief.\\n\\n" TOLD
		       "\",\"cache_control\":{\"type\":\"ephemeral\"}}]");
	ask("claude-opus-4-6"); /* the schema need not be closed */
	with_schema(false);
	says("output_config", NULL);
	says("system", "[{\"type\":\"text\",\"text\":\"" TOLD
		       "\",\"cache_control\":{\"type\":\"ephemeral\"}}]");
	ask("deepseek/deepseek-chat");
	with_schema(true);
	says("response_format", "{\"type\":\"json_object\"}");
	says("messages", "[{\"role\":\"system\",\"content\":\"" TOLD "\"}]");
	agent.instructions = TH_STR("Be brief.");
	says("messages", "[{\"role\":\"system\",\"content\":\"Be brief.\\n\\n" TOLD "\"}]");
	ask("gemini-2.5-flash");
	with_schema(true);
	says("systemInstruction", "{\"parts\":[{\"text\":\"" TOLD "\"}]}");
	says("generationConfig", "{\"thinkingConfig\":{\"includeThoughts\":true}}");
	o.tool_count = 0;
	says("systemInstruction", NULL);
	says("generationConfig",
	     "{\"responseMimeType\":\"application/json\",\"responseJsonSchema\":" SCHEMA
	     ",\"thinkingConfig\":{\"includeThoughts\":true}}");
}

/* ---- the server's side ---- */

static const struct th_wire *wire(const char *name)
{
	for (size_t i = 0; th_wires[i]; i++)
		if (!strcmp(th_wires[i]->name, name))
			return th_wires[i];
	fail_msg("no wire %s", name);
	return NULL;
}

/* What the body says is in the settings, not in what is left over, and gives the body back. */
static void reads(const char *name, const char *body, const char *settings, const char *extra)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB), again = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *a, *b;
	struct th_err err = {};

	if (wire(name)->request_decode(TH_STR("m"), th_str_of(body), &out, &err) ||
	    wire(name)->request_encode(th_buf_str(&out), &again, &err))
		fail_msg("%s: %s", body, err.msg);
	if (!th_str_is(th_json_raw_get(th_buf_str(&out), "settings"), settings) ||
	    !th_str_is(th_json_raw_get(th_buf_str(&out), "extra"), extra))
		fail_msg("%s:\n%s", body, out.ptr);
	assert_int_equal(th_json_parse(th_str_of(body), &a, &err), TH_OK);
	assert_int_equal(th_json_parse(th_buf_str(&again), &b, &err), TH_OK);
	if (!th_json_equal(th_json_root(a), th_json_root(b)))
		fail_msg("%s:\n%s", body, again.ptr);
	th_json_free(a);
	th_json_free(b);
	th_buf_deinit(&out);
	th_buf_deinit(&again);
}

static void test_responses_reads(void **unused)
{
	(void)unused;
	reads(
	    "responses",
	    "{\"model\":\"m\",\"input\":[],\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":"
	    "\"n\","
	    "\"schema\":{},\"strict\":true}},\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}"
	    ","
	    "\"parallel_tool_calls\":false}",
	    "{\"parallel_tool_calls\":false,\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"},"
	    "\"format\":{\"type\":\"json_schema\",\"name\":\"n\",\"schema\":{},\"strict\":true}}",
	    "{\"input\":[]}");
	reads("responses",
	      "{\"model\":\"m\",\"input\":\"i\",\"text\":{\"format\":{\"type\":\"text\"},"
	      "\"verbosity\":\"low\"}}",
	      "{\"format\":{\"type\":\"text\"}}",
	      "{\"text\":{\"format\":{\"type\":\"text\"},\"verbosity\":\"low\"}}");
}

static void test_chat_reads(void **unused)
{
	(void)unused;
	reads("chat",
	      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"response_"
	      "format\":{\"type\":\"json_schema\","
	      "\"json_schema\":"
	      "{\"name\":\"n\",\"schema\":{\"a\":[1]}}}}",
	      "{\"format\":{\"type\":\"json_schema\",\"name\":\"n\",\"schema\":{\"a\":[1]}}}",
	      "{}");
	reads("chat",
	      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"response_"
	      "format\":{\"type\":\"json_object\"}}",
	      "{\"format\":{\"type\":\"json_object\"}}", "{}");
	reads("chat",
	      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"response_"
	      "format\":{\"type\":\"json_object\","
	      "\"more\":1}}",
	      "{}", "{\"response_format\":{\"type\":\"json_object\",\"more\":1}}");
	reads("chat",
	      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"response_"
	      "format\":7}",
	      "{}", "{\"response_format\":7}");
}

static void test_messages_reads(void **unused)
{
	static const char *const choices[][2] = {
		{ "{\"type\":\"auto\"}", "{\"tool_choice\":\"auto\"}" },
		{ "{\"type\":\"any\"}", "{\"tool_choice\":\"required\"}" },
		{ "{\"type\":\"none\"}", "{\"tool_choice\":\"none\"}" },
		{ "{\"type\":\"tool\",\"name\":\"f\",\"disable_parallel_tool_use\":true}",
		  "{\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"},"
		  "\"parallel_tool_calls\":false}" },
	};
	char body[256];

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(choices); i++) {
		(void)snprintf(body, sizeof(body),
			       "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":"
			       "\"x\"}],\"tool_choice\":%s}",
			       choices[i][0]);
		reads("messages", body, choices[i][1], "{}");
	}
	reads("messages",
	      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tool_"
	      "choice\":{\"type\":\"any\",\"new\":1}}",
	      "{\"tool_choice\":\"required\"}", "{\"tool_choice\":{\"type\":\"any\",\"new\":1}}");
	reads("messages",
	      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"output_"
	      "config\":{\"format\":{\"type\":\"json_"
	      "schema\","
	      "\"schema\":{}}}}",
	      "{\"format\":{\"type\":\"json_schema\",\"schema\":{}}}", "{}");
	reads("messages",
	      "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"output_"
	      "config\":{\"effort\":\"low\",\"format\":{}"
	      "}}",
	      "{\"format\":{}}", "{\"output_config\":{\"effort\":\"low\",\"format\":{}}}");
}

static void test_gemini_reads(void **unused)
{
	(void)unused;
	reads("gemini",
	      "{\"generationConfig\":{\"responseMimeType\":\"application/"
	      "json\",\"responseJsonSchema\":"
	      "{\"type\":\"object\"}},\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\","
	      "\"allowedFunctionNames\":[\"f\"]}},\"contents\":[]}",
	      "{\"format\":{\"type\":\"json_schema\",\"schema\":{\"type\":\"object\"}},"
	      "\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}}",
	      "{}");
	reads("gemini",
	      "{\"generationConfig\":{\"responseMimeType\":\"application/json\",\"responseSchema\":"
	      "{\"type\":\"OBJECT\"}},\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\","
	      "\"allowedFunctionNames\":[\"f\",\"g\"]}},\"contents\":[]}",
	      "{\"format\":{\"type\":\"json_object\"},\"tool_choice\":\"required\"}",
	      "{\"generationConfig\":{\"responseMimeType\":\"application/json\",\"responseSchema\":"
	      "{\"type\":\"OBJECT\"}},\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\","
	      "\"allowedFunctionNames\":[\"f\",\"g\"]}}}");
}

/* The choice stands within the settings, the schema beside them. */
static void test_interactions(void **unused)
{
	static const struct {
		enum th_choice_kind kind;
		const char *tool, *wanted;
	} rows[] = {
		{ TH_CHOICE_UNSET, NULL, "" },
		{ TH_CHOICE_AUTO, NULL, ",\"tool_choice\":\"auto\"" },
		{ TH_CHOICE_REQUIRED, NULL, ",\"tool_choice\":\"any\"" },
		{ TH_CHOICE_NONE, NULL, ",\"tool_choice\":\"none\"" },
		{ TH_CHOICE_TOOL, "shell",
		  ",\"tool_choice\":{\"allowed_tools\":{\"mode\":\"any\",\"tools\":[\"shell\"]}}" },
		{ TH_CHOICE_TOOL, "computer", ",\"tool_choice\":\"any\"" },
	};
	char wanted[200];

	(void)unused;
	ask("interactions:gemini-3-flash-preview");
	with_computer();
	with_schema(true);
	says("response_format",
	     "{\"type\":\"text\",\"mime_type\":\"application/json\",\"schema\":" SCHEMA "}");
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		choose(rows[i].kind, rows[i].tool);
		(void)snprintf(wanted, sizeof(wanted), "{\"thinking_summaries\":\"auto\"%s}",
			       rows[i].wanted);
		says("generation_config", wanted);
	}
	o.tool_count = 0;
	o.has_computer = false;
	says("generation_config", "{\"thinking_summaries\":\"auto\"}");
	ask("interactions:gemini-2.5-flash");
	with_schema(true);
	says("response_format", NULL);
	says("system_instruction", "\"" TOLD "\"");
}

static void test_interactions_reads(void **unused)
{
	(void)unused;
	reads("interactions",
	      "{\"model\":\"m\",\"generation_config\":{\"tool_choice\":\"any\"},"
	      "\"response_format\":{\"type\":\"text\",\"mime_type\":\"application/json\"}}",
	      "{\"tool_choice\":\"required\",\"format\":{\"type\":\"json_object\"}}", "{}");
	reads("interactions",
	      "{\"model\":\"m\",\"generation_config\":{\"tool_choice\":{\"allowed_tools\":{"
	      "\"mode\":\"auto\",\"tools\":[\"f\"]}},\"seed\":7},\"store\":true}",
	      "{}",
	      "{\"generation_config\":{\"tool_choice\":{\"allowed_tools\":{\"mode\":\"auto\","
	      "\"tools\":[\"f\"]}},\"seed\":7},\"store\":true}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_the_computer_is_chosen),
		cmocka_unit_test(test_parallel_calls),
		cmocka_unit_test(test_forced_claude),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_told_formats),
		cmocka_unit_test(test_responses_reads),
		cmocka_unit_test(test_chat_reads),
		cmocka_unit_test(test_messages_reads),
		cmocka_unit_test(test_gemini_reads),
		cmocka_unit_test(test_interactions),
		cmocka_unit_test(test_interactions_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
