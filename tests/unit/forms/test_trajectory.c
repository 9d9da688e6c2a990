/* SPDX-License-Identifier: Apache-2.0 */
/* A session as steps, and the steps in each form. */
#include "unit.h"

#include "base/limits.h"
#include "forms/trajectory.h"

#define HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const struct {
	enum th_event_kind kind;
	const char *data;
} story[] = {
	{ TH_EV_SESSION_CREATED, "{\"agent\":{\"name\":\"a\",\"instructions\":\"be good\"},"
				 "\"model\":\"m\"}" },
	{ TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"go\"}" },
	{ TH_EV_MODEL_ANSWERED,
	  "{\"status\":\"completed\",\"model\":\"m1\",\"items\":[{\"type\":\"reasoning\","
	  "\"summary\":"
	  "[{\"type\":\"summary_text\",\"text\":\"hm\"}]},{\"type\":\"message\",\"role\":"
	  "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"look\"}]},{\"type\":"
	  "\"function_call\",\"call_id\":\"c\",\"name\":\"see\",\"arguments\":\"{}\"}],\"usage\":{"
	  "\"input\":10,\"output\":2,\"cached\":5},\"cost_nano\":500000000}" },
	{ TH_EV_CALL, "{\"call_id\":\"c\",\"tool\":\"see\",\"arguments\":{\"x\":1}}" },
	{ TH_EV_OUTCOME,
	  "{\"call_id\":\"c\",\"status\":\"failed\",\"output\":[{\"type\":"
	  "\"input_text\",\"text\":\"red\"},{\"type\":\"input_image\",\"blob\":\"" HASH
	  "\",\"media_type\":\"image/png\"}]}" },
	{ TH_EV_CONDENSATION, "{\"first_seq\":1,\"last_seq\":2,\"summary\":\"S\"}" },
	{ TH_EV_ITEMS_ADDED,
	  "{\"items\":[{\"type\":\"message\",\"role\":\"user\",\"content\":\"twice\"}],\"origin\":{"
	  "\"form\":\"openhands\",\"view\":true}}" },
};

static enum th_code put(void *ctx, struct th_str text, struct th_err *err)
{
	(void)err;
	th_buf_add(ctx, text);
	return TH_OK;
}

static enum th_code picture(void *ctx, const struct th_digest *hash, struct th_buf *out,
			    struct th_err *err)
{
	char hex[TH_SHA256_HEX_SIZE + 1];

	(void)ctx;
	(void)err;
	th_digest_hex(hash, hex);
	assert_string_equal(hex, HASH);
	th_buf_add_cstr(out, "AAAA");
	return TH_OK;
}

static void is_in_form(const struct th_trajectory_form *form, const char *want)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	const struct th_trajectory_out out = { &text, put, picture };
	struct th_trajectory t;

	th_trajectory_init(&t, TH_STR("s"));
	for (size_t i = 0; i < TH_COUNT(story); i++) {
		const struct th_event ev = { .seq = i + 1,
					     .ts_ms = 1700000000123,
					     .kind = story[i].kind,
					     .data = th_str_of(story[i].data) };

		assert_int_equal(th_trajectory_add(&t, &ev, NULL), TH_OK);
	}
	assert_int_equal(form->write(&t, &out, NULL), TH_OK);
	assert_string_equal(text.ptr, want);
	th_trajectory_deinit(&t);
	th_buf_deinit(&text);
}

static void openai(void **state)
{
	(void)state;
	is_in_form(
	    &th_trajectory_openai,
	    "{\"messages\":[{\"role\":\"system\",\"content\":\"be good\"},{\"role\":\"user\","
	    "\"content\":\"go\"},{\"role\":\"assistant\",\"content\":\"look\",\"tool_calls\":[{"
	    "\"id\":"
	    "\"c\",\"type\":\"function\",\"function\":{\"name\":\"see\",\"arguments\":\"{\\\"x\\\":"
	    "1}"
	    "\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"red\"},{\"role\":"
	    "\"user\","
	    "\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
	    "png;base64,AAAA"
	    "\"}}]},{\"role\":\"system\",\"content\":\"S\"}]}\n");
}

static void anthropic(void **state)
{
	(void)state;
	is_in_form(
	    &th_trajectory_anthropic,
	    "{\"system\":\"be "
	    "good\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
	    "\"text\":\"go\"}]},{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":"
	    "\"look\"},{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"see\",\"input\":{\"x\":1}}]},"
	    "{"
	    "\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c\","
	    "\"content\":[{\"type\":\"text\",\"text\":\"red\"},{\"type\":\"image\",\"source\":{"
	    "\"type\":\"base64\",\"media_type\":\"image/"
	    "png\",\"data\":\"AAAA\"}}],\"is_error\":true}"
	    ",{\"type\":\"text\",\"text\":\"S\"}]}]}\n");
}

static void sharegpt(void **state)
{
	(void)state;
	is_in_form(
	    &th_trajectory_sharegpt,
	    "{\"id\":\"s\",\"system\":\"be good\",\"conversations\":[{\"from\":\"human\",\"value\":"
	    "\"go\"},{\"from\":\"gpt\",\"value\":\"look\"},{\"from\":\"function_call\",\"value\":"
	    "\"{"
	    "\\\"name\\\":\\\"see\\\",\\\"arguments\\\":{\\\"x\\\":1}}\"},{\"from\":"
	    "\"observation\","
	    "\"value\":\"red\\n<image>\"},{\"from\":\"human\",\"value\":\"S\"}],\"images\":[\"data:"
	    "image/png;base64,AAAA\"]}\n");
}

static void atif(void **state)
{
	(void)state;
	is_in_form(
	    &th_trajectory_atif,
	    "{\"schema_version\":\"ATIF-v1.8\",\"session_id\":\"s\",\"agent\":{\"name\":\"a\","
	    "\"version\":\"" TH_VERSION "\",\"model_name\":\"m\"},\"steps\":[{\"step_id\":1,"
	    "\"source\":\"system\",\"message\":\"be good\"},{\"step_id\":2,\"timestamp\":"
	    "\"2023-11-14T22:13:20.123Z\",\"source\":\"user\",\"message\":\"go\"},{\"step_id\":3,"
	    "\"timestamp\":\"2023-11-14T22:13:20.123Z\",\"source\":\"agent\",\"model_name\":\"m1\","
	    "\"message\":\"look\",\"reasoning_content\":\"hm\",\"tool_calls\":[{\"tool_call_id\":"
	    "\"c\",\"function_name\":\"see\",\"arguments\":{\"x\":1}}],\"observation\":{"
	    "\"results\":"
	    "[{\"source_call_id\":\"c\",\"content\":[{\"type\":\"text\",\"text\":\"red\"},{"
	    "\"type\":"
	    "\"image\",\"source\":{\"media_type\":\"image/png\",\"path\":\"data:image/png;base64,"
	    "AAAA\"}}],\"extra\":{\"status\":\"failed\"}}]},\"metrics\":{\"prompt_tokens\":10,"
	    "\"completion_tokens\":2,\"cached_tokens\":5,\"cost_usd\":0.5},\"llm_call_count\":1},{"
	    "\"step_id\":4,\"timestamp\":\"2023-11-14T22:13:20.123Z\",\"source\":\"system\","
	    "\"message\":\"S\"}],\"final_metrics\":{\"total_prompt_tokens\":10,\"total_completion_"
	    "tokens\":2,\"total_cached_tokens\":5,\"total_cost_usd\":0.5,\"total_steps\":4}}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openai),
		cmocka_unit_test(anthropic),
		cmocka_unit_test(sharegpt),
		cmocka_unit_test(atif),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
