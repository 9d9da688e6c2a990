/* SPDX-License-Identifier: Apache-2.0 */
/* Names, prices, classes of failures, waiting, and the picture that stands for none. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "dialects/dialect.h"
#include "model_wire/blank.h"
#include "profiles/compose.h"
#include "profiles/plumb.h"
#include "profiles/profiles.h"
#include "providers/wires.h"

static struct th_err err;

static void expect(const char *model, const char *profile, const char *name)
{
	const struct th_profile *p = NULL;
	struct th_str got;

	err = (struct th_err){ 0 };
	if (th_model_resolve(th_str_of(model), &p, &got, &err))
		fail_msg("%s: %s", model, err.msg);
	assert_string_equal(p->name, profile);
	assert_true(th_str_is(got, name));
}

static void test_names(void **state)
{
	(void)state;
	expect("computer-use-preview", "openai-computer-use-preview", "computer-use-preview");
	expect("openai/computer-use-preview-2025-03-11", "openai-computer-use-preview",
	       "computer-use-preview-2025-03-11");
	expect("azure/my-Computer-Use-Preview", "azure-computer-use-preview",
	       "my-Computer-Use-Preview");
	expect("azure/gpt-5.4", "azure-gpt-5.4", "gpt-5.4");
	expect("azure/my-deployment", "azure", "my-deployment");
	expect("gemini-2.5-computer-use-preview-10-2025", "gemini-computer-use-preview",
	       "gemini-2.5-computer-use-preview-10-2025");
	expect("google/gemini-3-flash-preview", "gemini-3-flash", "gemini-3-flash-preview");
	expect("gemini/gemini-2.5-pro", "gemini-2.5", "gemini-2.5-pro");
	expect("models/gemini-9-flash", "gemini-flash", "gemini-9-flash");
	expect("gemini-9-ultra", "gemini", "gemini-9-ultra");
	expect("gpt-4o", "openai-gpt-4o", "gpt-4o");
	expect("GPT-4o-mini-2024", "openai-gpt-4o-mini", "GPT-4o-mini-2024");
	expect("gpt-4", "openai-gpt-text", "gpt-4");
	expect("gpt-4.1-mini", "openai-gpt-4.1-mini", "gpt-4.1-mini");
	expect("gpt-5", "openai-gpt-5", "gpt-5");
	expect("gpt-5-2025-08-07", "openai-gpt-5", "gpt-5-2025-08-07");
	expect("gpt-5-pro", "openai-gpt-5-other", "gpt-5-pro");
	expect("gpt-5.1", "openai-gpt-5", "gpt-5.1");
	expect("gpt-5.2", "openai-gpt-5.2", "gpt-5.2");
	expect("gpt-5.4", "openai-gpt", "gpt-5.4");
	expect("gpt-5.10", "openai-gpt", "gpt-5.10"); /* newer than the table: the newest profile */
	expect("gpt-7-mini", "openai-gpt", "gpt-7-mini");
	expect("gpt5.4", "openai-gpt", "gpt5.4");
	expect("openai/gpt54", "openai-gpt", "gpt54");
	expect("azure/my-gpt5.4", "azure-gpt-5.4", "my-gpt5.4");
	expect("human/me", "human", "me");
	expect("litellm/anthropic/claude-sonnet-4-5", "anthropic-claude-sonnet-4",
	       "claude-sonnet-4-5");
	expect("any-llm/openrouter/x/y", "openrouter", "x/y");
	expect("litellm/gpt-4o", "openai-gpt-4o", "gpt-4o");
	expect("gpt-oss:20b", "responses-gpt-oss", "gpt-oss:20b");
	expect("o3", "openai-o3", "o3");
	expect("o3-pro", "openai-o", "o3-pro");
	expect("o4-mini", "openai-o4-mini", "o4-mini");
	expect("mock", "responses", "mock");
	expect("local/mock-7", "responses", "mock-7");
	expect("responses:qwen/Qwen3-VL", "responses", "qwen/Qwen3-VL");
	expect("responses:claude-x", "responses", "claude-x");
	expect("RESPONSES:some/gpt-5.4", "openai-gpt", "some/gpt-5.4");
	expect("responses:a/", "responses", "a/");
	expect("chat:a/b", "chat", "a/b");
	expect("Chat:gpt-4o", "chat", "gpt-4o");
	expect("openrouter/anthropic/claude-sonnet-5", "openrouter", "anthropic/claude-sonnet-5");
	expect("hosted_vllm/Qwen/Qwen3-32B", "vllm", "Qwen/Qwen3-32B");
	expect("together_ai/a/b", "together", "a/b");
	expect("together/a/b", "together", "a/b");
	expect("ollama_chat/llama4:70b", "ollama", "llama4:70b");
}

/* Models of open weights: the family says the words, the server where it is. */
static void test_families(void **state)
{
	static const struct {
		const char *name, *profile, *dialect, *key, *sent;
	} cases[] = {
		{ "ui-tars-7b-dpo", "ui-tars-1", "uitars", "OPENAI_API_KEY", "ui-tars-7b-dpo" },
		{ "UI-TARS-2B-SFT", "ui-tars-1", "uitars", "OPENAI_API_KEY", "UI-TARS-2B-SFT" },
		{ "UI-TARS-2509", "ui-tars-1.5", "uitars15", "OPENAI_API_KEY", "UI-TARS-2509" },
		{ "ByteDance-Seed/UI-TARS-1.5-7B", "ui-tars-1.5", "uitars15", "OPENAI_API_KEY",
		  "ByteDance-Seed/UI-TARS-1.5-7B" },
		{ "cua/bytedance/ui-tars-2", "ui-tars", "uitars2",
		  "CUA_INFERENCE_API_KEY|CUA_API_KEY", "bytedance/ui-tars-2" },
		{ "ui-tars-7", "ui-tars", "uitars2", "OPENAI_API_KEY", "ui-tars-7" },
		{ "openrouter/qwen/qwen3-vl-235b-a22b-instruct", "qwen3-vl", "qwen",
		  "OPENROUTER_API_KEY", "qwen/qwen3-vl-235b-a22b-instruct" },
		{ "hosted_vllm/Qwen/Qwen2.5-VL-72B", "qwen2.5-vl", "qwen", "HOSTED_VLLM_API_KEY",
		  "Qwen/Qwen2.5-VL-72B" },
		{ "qwen3.5-vl", "qwen3.5", "qwen35", "OPENAI_API_KEY", "qwen3.5-vl" },
		{ "qwen35-4b", "qwen3.5", "qwen35", "OPENAI_API_KEY", "qwen35-4b" },
		{ "chat:microsoft/Fara-7B", "fara", "fara", "OPENAI_API_KEY", "microsoft/Fara-7B" },
		{ "fara1.5", "fara", "fara", "OPENAI_API_KEY", "fara1.5" },
		{ "gta1-7b", "gta1", "points", "OPENAI_API_KEY", "gta1-7b" },
		{ "Gelato-30B", "gelato", "points", "OPENAI_API_KEY", "Gelato-30B" },
		{ "UI-Ins-7B", "ui-ins", "uiins", "OPENAI_API_KEY", "UI-Ins-7B" },
		{ "Hcompany/Holo1.5-7B", "holo1.5", "holo", "OPENAI_API_KEY",
		  "Hcompany/Holo1.5-7B" },
		{ "Holo2-30B", "holo", "holo", "OPENAI_API_KEY", "Holo2-30B" },
		{ "InternVL3", "internvl", "internvl", "OPENAI_API_KEY", "InternVL3" },
		{ "OpenCUA-7B", "opencua", "opencua", "OPENAI_API_KEY", "OpenCUA-7B" },
		{ "openrouter/z-ai/GLM-4.5V", "glm-v", "glm", "OPENROUTER_API_KEY",
		  "z-ai/GLM-4.5V" },
		{ "GLM-4.6V", "glm-v", "glm", "OPENAI_API_KEY", "GLM-4.6V" },
		{ "yutori/n1-latest", "yutori-n1", "yutori", "YUTORI_API_KEY", "n1-latest" },
		{ "n1", "yutori-n1", "yutori", "YUTORI_API_KEY", "n1" },
	};
	const struct th_profile *p;
	struct th_str name;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		expect(cases[i].name, cases[i].profile, cases[i].sent);
		assert_int_equal(th_model_resolve(th_str_of(cases[i].name), &p, &name, &err),
				 TH_OK);
		assert_string_equal(p->dialect->name, cases[i].dialect);
		assert_string_equal(p->key_env, cases[i].key);
		assert_string_equal(p->wire->name, "chat");
	}
	/* What others load into their own process. */
	assert_int_equal(
	    th_model_resolve(TH_STR("huggingface-local/microsoft/Fara-7B"), &p, &name, &err),
	    TH_EUSAGE);
	assert_non_null(
	    strstr(err.msg, "write vllm/microsoft/Fara-7B and set HOSTED_VLLM_API_BASE"));
	assert_int_equal(
	    th_model_resolve(TH_STR("mlx/x/GTA1-7B+anthropic/claude-5"), &p, &name, &err),
	    TH_EUSAGE);
	assert_non_null(strstr(err.msg, "write vllm/x/GTA1-7B and set"));
	assert_int_equal(th_model_resolve(TH_STR("mlx/UI-TARS-1.5"), &p, &name, &err), TH_EUSAGE);
}

static void test_claude(void **state)
{
	static const struct {
		const char *name, *tool, *beta;
	} cases[] = {
		{ "claude-3-5-sonnet-20241022", "computer_20241022", "computer-use-2024-10-22" },
		{ "claude-3-7-sonnet-latest", "computer_20250124", "computer-use-2025-01-24" },
		{ "claude-opus-4-20250514", "computer_20250124", "computer-use-2025-01-24" },
		{ "claude-opus-4-1", "computer_20250124", "computer-use-2025-01-24" },
		{ "anthropic/claude-sonnet-4-5", "computer_20250124", "computer-use-2025-01-24" },
		{ "claude-haiku-4-5-20251001", "computer_20250124", "computer-use-2025-01-24" },
		{ "claude-opus-4-5-20251101", "computer_20251124", "computer-use-2025-11-24" },
		{ "anthropic/claude-opus-4-6", "computer_20251124", "computer-use-2025-11-24" },
		{ "Claude-Sonnet-4-6", "computer_20251124", "computer-use-2025-11-24" },
		{ "claude-opus-4-10", "computer_20251124", "computer-use-2025-11-24" },
		{ "claude-opus-5", "computer_toolset_20260801", NULL },
		{ "claude-something-new", "computer_toolset_20260801", NULL },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		const struct th_profile *p;
		struct th_str name;

		assert_int_equal(th_model_resolve(th_str_of(cases[i].name), &p, &name, &err),
				 TH_OK);
		assert_string_equal(p->wire->name, "messages");
		assert_string_equal(p->tool, cases[i].tool);
		if (cases[i].beta)
			assert_string_equal(p->beta, cases[i].beta);
		else
			assert_null(p->beta);
		assert_true(th_str_istarts(name, TH_STR("claude-")));
	}
}

/* Cua passes on what its makers have an API of their own for. */
static void test_cua(void **state)
{
	static const struct {
		const char *name, *profile, *wire, *tool, *path, *sent;
	} cases[] = {
		{ "cua/anthropic/claude-sonnet-4-5", "anthropic-claude-sonnet-4", "messages",
		  "computer_20250124", "/v1/messages", "claude-sonnet-4-5" },
		{ "cua/Anthropic/claude-9", "anthropic-claude", "messages",
		  "computer_toolset_20260801", "/v1/messages", "claude-9" },
		{ "cua/google/gemini-2.5-computer-use-preview-10-2025",
		  "gemini-computer-use-preview", "gemini", "ENVIRONMENT_BROWSER",
		  "/gemini/v1beta/models/gemini-2.5-computer-use-preview-10-2025:generateContent",
		  "gemini-2.5-computer-use-preview-10-2025" },
		{ "cua/gemini/gemini-3-flash-preview", "gemini-3-flash", "gemini",
		  "ENVIRONMENT_DESKTOP",
		  "/gemini/v1beta/models/gemini-3-flash-preview:generateContent",
		  "gemini-3-flash-preview" },
		{ "cua/anthropic/other", "cua", "chat", NULL, "/chat/completions",
		  "anthropic/other" },
		{ "cua/openai/gpt-5.4", "cua", "chat", NULL, "/chat/completions",
		  "openai/gpt-5.4" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_request_options o = { 0 };
		struct th_buf path = TH_BUF_INIT(TH_KIB);

		expect(cases[i].name, cases[i].profile, cases[i].sent);
		assert_int_equal(
		    th_model_resolve(th_str_of(cases[i].name), &o.profile, &o.model, &err), TH_OK);
		assert_string_equal(o.profile->wire->name, cases[i].wire);
		assert_string_equal(o.profile->base_url, "https://inference.cua.ai/v1");
		assert_string_equal(o.profile->base_url_env, "CUA_BASE_URL");
		assert_string_equal(o.profile->key_env, "CUA_INFERENCE_API_KEY|CUA_API_KEY");
		if (cases[i].tool)
			assert_string_equal(o.profile->tool, cases[i].tool);
		else
			assert_null(o.profile->tool);
		o.profile->wire->path(&o, &path);
		assert_string_equal(path.ptr, cases[i].path);
		if (!strcmp(cases[i].wire, "messages"))
			assert_string_equal(o.profile->wire->key_header, "Authorization");
		th_buf_deinit(&path);
	}
}

static void expect_no(struct th_str model, const char *sentence)
{
	const struct th_profile *p;
	struct th_str name;

	assert_int_equal(th_model_resolve(model, &p, &name, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, sentence));
}

static void test_bad_names(void **state)
{
	char text[TH_MODEL_NAME_MAX + 20];

	(void)state;
	expect_no(TH_STR("nobody-5"), "write chat:nobody-5");
	expect_no(TH_STR("bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"),
		  "Bedrock's signed requests are not spoken; write anthropic/NAME, and set");
	expect_no(TH_STR("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), "ANTHROPIC_BASE_URL");
	expect_no(TH_STR("vertex_ai/claude-sonnet-4-5@20250929"), "Vertex's signed requests");
	expect_no(TH_STR("vertex_ai/gemini-3-pro"),
		  "write gemini/gemini-3-pro, set GEMINI_API_KEY");
	expect_no(TH_STR("gemini/"), "ends behind its prefix");
	expect_no(TH_STR("litellm/"), "ends behind its prefix");
	expect_no(TH_STR("litellm/bedrock/claude"), "Bedrock's signed requests");
	expect_no(TH_STR(""), "empty");
	expect_no(TH_STR("responses:"), "ends behind its prefix");
	expect_no(TH_STR("chat:"), "ends behind its prefix");
	expect_no(TH_STR("openrouter/"), "ends behind its prefix");
	expect_no(TH_STR("gpt 4"), "blank");
	expect_no(TH_STR("gpt-4\x1b[2J"), "control");
	expect_no(TH_STR("gpt-4\xff"), "UTF-8");
	expect_no(TH_STR("gpt-4\0x"), "control");
	memset(text, 'x', sizeof(text));
	memcpy(text, "responses:", 10);
	const struct th_profile *p;
	struct th_str name;

	assert_int_equal(th_model_resolve(th_str_n(text, TH_MODEL_NAME_MAX), &p, &name, &err),
			 TH_OK);
	expect_no(th_str_n(text, TH_MODEL_NAME_MAX + 1), "bytes");
}

/* What every row must have. */
static void meant(const char *model, const char *near)
{
	const struct th_profile *p;
	struct th_str name;
	char text[128];

	assert_int_equal(th_model_resolve(th_str_of(model), &p, &name, &err), TH_EUSAGE);
	(void)snprintf(text, sizeof(text), "did you mean \"%s\"? The", near);
	if (near ? !strstr(err.msg, text) : strstr(err.msg, "did you mean") != NULL)
		fail_msg("%s: %s", model, err.msg);
	if (near) /* it can be typed */
		assert_int_equal(th_model_resolve(th_str_of(near), &p, &name, &err), TH_OK);
}

static void test_near_names(void **state)
{
	(void)state;
	meant("gpt4", "gpt-4");
	meant("gpt5.2", "gpt-5.2");
	meant("openai/gpt4o", "gpt-4o");
	meant("claud", "claude");
	meant("cluade-opus-4-5", "claude-opus-4-5");
	meant("litellm/gpt4", "gpt-4");
	meant("zzzzzz", NULL);
	meant("gp", NULL);
	meant("grok", NULL);
	meant("openruter/x", NULL); /* a provider is no model */
}

static void test_rows(void **state)
{
	(void)state;
	for (const struct th_profile *p = th_profile_next(NULL); p; p = th_profile_next(p)) {
		assert_non_null(p->pattern);
		assert_non_null(p->wire);
		assert_non_null(p->dialect);
		assert_non_null(p->note);
		assert_non_null(p->key_env);
		assert_non_null(p->base_url_env);
		assert_true(p->computer == TH_COMPUTER_NONE || p->vision);
		for (const struct th_profile *q = th_profile_next(NULL); q != p;
		     q = th_profile_next(q))
			assert_string_not_equal(p->name, q->name);
	}
	for (size_t i = 0; i == 0 || th_wires[i - 1]; i++) {
		if (!th_wires[i]) {
			assert_null(th_wire_names[i]);
			break;
		}
		assert_string_equal(th_wires[i]->name, th_wire_names[i]);
	}
}

static void test_route(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	struct th_dialect_context c = { .turn = 1 };
	struct th_str name;

	(void)state;
	assert_int_equal(th_model_resolve(TH_STR("gpt-4o"), &c.profile, &name, NULL), TH_OK);
	assert_int_equal(th_plumb_route(TH_STR("gpt-4o"), &out, &err), TH_OK);
	assert_string_equal(
	    out.ptr, "{\"profile\":\"openai-gpt-4o\",\"wire\":\"responses\",\"dialect\":\"native\","
		     "\"model\":\"gpt-4o\",\"capabilities\":{\"computer\":\"function\","
		     "\"vision\":true,\"reasoning\":false}}");
	th_buf_clear(&out);
	th_plumb_decode_text(&c, TH_STR("a\"b"), &out);
	assert_string_equal(out.ptr,
			    "{\"items\":[{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
			    "[{\"type\":\"output_text\",\"text\":\"a\\\"b\",\"annotations\":[]}]}],"
			    "\"usage\":{},\"status\":\"completed\",\"error\":null}");
	th_buf_deinit(&out);
}

/* Elements by numbered marks: what stands behind the last plus plans. */
static void test_omni(void **state)
{
	static const char *const planners[] = { "omni+claude-sonnet-4-5",
						"omniparser+claude-sonnet-4-5",
						"OMNI+x+anthropic/claude-sonnet-4-5" };
	static const char *const bad[][2] = { { "omni+", "no planner is named" },
					      { "omni+HelloKKMe/GTA1-7B", "only points" },
					      { "omni+deepseek-chat", "the planner" } };
	struct th_composed c;
	struct th_match match;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(planners); i++) {
		assert_int_equal(th_model_compose(NULL, th_str_of(planners[i]), &c, &match, &err),
				 TH_OK);
		assert_true(c.marks);
		assert_null(c.grounder);
		assert_string_equal(match.profile->dialect->name, "elements");
		assert_string_equal(match.profile->wire->name, "messages");
		assert_true(th_str_is(match.name, "claude-sonnet-4-5"));
	}
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		assert_int_equal(th_model_compose(NULL, th_str_of(bad[i][0]), &c, &match, &err),
				 TH_EUSAGE);
		assert_non_null(strstr(err.msg, bad[i][1]));
	}
	assert_int_equal(th_model_compose(NULL, TH_STR("qwen2.5-omni"), &c, &match, &err), TH_OK);
	assert_false(c.marks);
}

static void expect_capability(const char *model, const char *computer)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB), want = TH_BUF_INIT(TH_KIB);

	assert_int_equal(th_plumb_route(th_str_of(model), &out, &err), TH_OK);
	th_buf_printf(&want, "\"computer\":\"%s\"", computer);
	assert_true(th_str_find(th_buf_str(&out), th_buf_str(&want)) > 0);
	th_buf_deinit(&out);
	th_buf_deinit(&want);
}

static void test_plumb(void **state)
{
	const struct th_profile *p;
	struct th_str name;
	struct th_buf out = TH_BUF_INIT(TH_MIB);

	(void)state;
	expect_capability("computer-use-preview", "preview");
	expect_capability("gpt-5.4", "native");
	expect_capability("gpt-4", "none");
	assert_int_equal(th_plumb_route(TH_STR("?"), &out, &err), TH_EUSAGE);
	assert_int_equal(th_model_resolve(TH_STR("mock"), &p, &name, &err), TH_OK);
	th_plumb_decode(p, TH_STR("{\"status\":\"completed\",\"output\":[]}"), 201, &out);
	assert_string_equal(out.ptr,
			    "{\"items\":[],\"usage\":{},\"status\":\"completed\",\"error\":null}");
	th_buf_clear(&out);
	th_plumb_decode(p, TH_STR("no"), 418, &out);
	assert_string_equal(out.ptr, "{\"items\":[],\"usage\":{},\"status\":\"failed\",\"error\":"
				     "{\"class\":\"rejected\",\"message\":\"no\"}}");
	th_buf_deinit(&out);
}

/* ---- money ---- */

static void test_cost(void **state)
{
	const struct th_profile p = { .price = { .input = 2500, .cached = 250, .output = 10000 } },
				dear = { .price = { 3000, 300, 15000, 3750 } }, free = { 0 };

	(void)state;
	assert_int_equal(th_model_cost_nano(&p, &(struct th_usage){ 1000, 10, 400, 3, 1010, 0 }),
			 600 * 2500 + 400 * 250 + 10 * 10000);
	assert_int_equal(th_model_cost_nano(&p, &(struct th_usage){ -1, -1, -1, -1, -1, 0 }), 0);
	assert_int_equal(th_model_cost_nano(&p, &(struct th_usage){ 10, 0, 50, 0, 0, 0 }),
			 10 * 250);
	assert_int_equal(
	    th_model_cost_nano(&p, &(struct th_usage){ INT64_MAX, INT64_MAX, 0, 0, 0, 0 }),
	    INT64_MAX);
	assert_int_equal(
	    th_model_cost_nano(
		&p, &(struct th_usage){ INT64_MAX / 2500, INT64_MAX / 10000, 0, 0, 0, 0 }),
	    INT64_MAX);
	/* What is written to a cache may cost more than what is not. */
	assert_int_equal(th_model_cost_nano(&dear, &(struct th_usage){ 1000, 10, 400, 0, 0, 500 }),
			 100 * 3000 + 400 * 300 + 500 * 3750 + 10 * 15000);
	assert_int_equal(th_model_cost_nano(&dear, &(struct th_usage){ 1000, 0, 400, 0, 0, 5000 }),
			 400 * 300 + 600 * 3750);
	assert_int_equal(th_model_cost_nano(&free, &(struct th_usage){ 1, 1, 0, 0, 2, 0 }), -1);
}

/* ---- failures ---- */

static void expect_class(int status, const char *code, const char *type, const char *class)
{
	assert_string_equal(
	    th_failure_name(th_failure_of(status, th_str_of(code), th_str_of(type))), class);
}

static void test_context_length(void **state)
{
	static const struct {
		enum th_failure from;
		const char *code, *message;
		bool is;
	} rows[] = {
		{ TH_FAILURE_REJECTED, "context_length_exceeded", "", true },
		{ TH_FAILURE_REJECTED, "invalid_request_error", "prompt is too long: 214000 tokens",
		  true },
		{ TH_FAILURE_REJECTED, "INVALID_ARGUMENT",
		  "The input token count (1048600) exceeds the maximum number of tokens allowed "
		  "(1048576).",
		  true },
		{ TH_FAILURE_REJECTED, "", "This model's maximum context length is 8192 tokens.",
		  true },
		{ TH_FAILURE_SERVER, "", "the request exceeds the available context size", true },
		{ TH_FAILURE_REJECTED, "string_above_max_length", "Invalid 'input': too long.",
		  false },
		{ TH_FAILURE_RATE_LIMITED, "context_length_exceeded", "", false },
		{ TH_FAILURE_REJECTED, "", "", false },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		assert_int_equal(th_failure_context(rows[i].from, th_str_of(rows[i].code),
						    th_str_of(rows[i].message)),
				 rows[i].is ? TH_FAILURE_CONTEXT : rows[i].from);
}

static void test_classes(void **state)
{
	(void)state;
	expect_class(400, "", "", "rejected");
	expect_class(400, "invalid_value", "invalid_request_error", "rejected");
	expect_class(400, "model_not_found", "invalid_request_error", "not_found");
	expect_class(400, "billing_hard_limit_reached", "", "quota");
	expect_class(400, "invalid_api_key", "", "auth");
	expect_class(401, "", "", "auth");
	expect_class(402, "", "", "quota");
	expect_class(403, "unsupported_country_region_territory", "", "auth");
	expect_class(403, "model_not_found", "", "not_found");
	expect_class(404, "", "", "not_found");
	expect_class(408, "", "server_error", "server");
	expect_class(409, "", "invalid_request_error", "server");
	expect_class(413, "", "", "rejected");
	expect_class(422, "", "", "rejected");
	expect_class(429, "rate_limit_exceeded", "", "rate_limited");
	expect_class(429, "", "insufficient_quota", "quota");
	expect_class(429, "slow_down", "", "rate_limited");
	expect_class(500, "", "server_error", "server");
	expect_class(500, "", "overloaded_error", "overloaded");
	expect_class(502, "", "", "server");
	expect_class(503, "", "", "overloaded");
	expect_class(504, "", "", "server");
	expect_class(529, "", "", "overloaded");
	expect_class(301, "", "", "not_found");
	expect_class(0, "server_error", "", "server");
	expect_class(0, "", "", "server");
	expect_class(0, "Rate_Limit_Exceeded", "", "rate_limited");
	expect_class(0, "context_length_exceeded", "invalid_request_error", "rejected");
	expect_class(0, "image_content_policy_violation", "", "rejected");
	expect_class(0, "misalignment_policy_violation", "", "rejected");
	expect_class(0, "vector_store_timeout", "", "server");
	expect_class(0, "insufficient_quota", "", "quota");
	for (int f = 0; f < TH_FAILURE_COUNT; f++)
		assert_int_equal(th_failure_find(th_str_of(th_failure_name((enum th_failure)f))),
				 f);
	assert_int_equal(th_failure_find(TH_STR("none")), -1);
}

static void test_waiting(void **state)
{
	const struct th_retry_hints none = { -1, -1 }, second = { 1000, -1 },
				    minute = { 60000, -1 }, long_hint = { 60001, -1 },
				    never = { 1000, 0 }, forced = { -1, 1 };

	(void)state;
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_SERVER, NULL, 1, 5, 0.5), 250);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_SERVER, &none, 2, 5, 0.5), 500);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_SERVER, &none, 1, 5, 0), 0);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_OVERLOADED, &none, 1, 5, 0.5), 1000);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_SERVER, &none, 60, 100, 0.5),
			 30000); /* the cap */
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_OVERLOADED, &none, 1000000, INT32_MAX, 0.5),
			 30000);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_SERVER, &none, 5, 5, 0.5), -1);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_RATE_LIMITED, &second, 1, 5, 0.9), 1000);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_RATE_LIMITED, &minute, 1, 5, 0.9), 60000);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_RATE_LIMITED, &long_hint, 1, 5, 0.5), 250);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_RATE_LIMITED, &never, 1, 5, 0.5), -1);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_REJECTED, &second, 1, 5, 0.5), -1);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_REJECTED, &forced, 1, 5, 0.5), 250);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_QUOTA, NULL, 1, 5, 0.5), -1);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_CANCELLED, NULL, 1, 5, 0.5), -1);
	assert_int_equal(th_retry_delay_ms(TH_FAILURE_CUT, NULL, 1, 5, 7),
			 250); /* no good random number */
}

/* ---- the blank picture ---- */

/* Undoes fixed-code deflate as far as th_blank_png uses it. */
static size_t inflated_size(const uint8_t *p, size_t len)
{
	size_t bit = 3, total = 0;

	assert_true(len > 0 && (p[0] & 7) == 3);
	for (;;) {
		unsigned code = 0;
		int bits = 0;

		while (bits < 7 || (code >= 0x18 && bits < 8)) {
			assert_true(bit / 8 < len);
			code = code << 1 | (p[bit / 8] >> bit % 8 & 1);
			bit++;
			bits++;
		}
		if (bits == 7 && code == 0)
			return total;
		if (code == 0x30) {
			total++;
		} else {
			assert_int_equal(code, 0xc5);
			total += 258;
			bit += 5;
		}
	}
}

static void test_blank(void **state)
{
	static const struct th_size sizes[] = {
		{ 1, 1 }, { 8, 1 }, { 1280, 800 }, { 1081, 1921 }, { 3840, 2160 }
	};
	struct th_buf png = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(sizes); i++) {
		const uint8_t *p;
		size_t rows = ((size_t)(sizes[i].width + 7) / 8 + 1) * (size_t)sizes[i].height;

		th_buf_clear(&png);
		th_blank_png(&png, sizes[i]);
		p = (const uint8_t *)png.ptr;
		assert_memory_equal(p, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
		assert_int_equal(p[16] << 24 | p[17] << 16 | p[18] << 8 | p[19], sizes[i].width);
		assert_int_equal(p[20] << 24 | p[21] << 16 | p[22] << 8 | p[23], sizes[i].height);
		assert_int_equal(inflated_size(p + 43, png.len - 43), rows);
		assert_true(png.len < 80 + rows / 100);
		assert_memory_equal(p + png.len - 12, "\0\0\0\0IEND\xae\x42\x60\x82", 12);
	}
	th_buf_clear(&png);
	th_blank_png(&png, (struct th_size){ 0, -5 }); /* no screen known */
	assert_int_equal(png.ptr[19], 1);
	assert_int_equal(png.ptr[23], 1);
	th_buf_deinit(&png);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),      cmocka_unit_test(test_families),
		cmocka_unit_test(test_cua),        cmocka_unit_test(test_claude),
		cmocka_unit_test(test_bad_names),  cmocka_unit_test(test_rows),
		cmocka_unit_test(test_omni),       cmocka_unit_test(test_route),
		cmocka_unit_test(test_plumb),      cmocka_unit_test(test_cost),
		cmocka_unit_test(test_classes),    cmocka_unit_test(test_context_length),
		cmocka_unit_test(test_waiting),    cmocka_unit_test(test_blank),
		cmocka_unit_test(test_near_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
