/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "wire/mcp_sample.h"

static enum th_code prompt(const char *text, struct th_buf *out, int64_t *ret_tokens)
{
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };
	enum th_code code;

	assert_int_equal(th_json_parse(th_str_of(text), &doc, &err), TH_OK);
	th_buf_clear(out);
	code = th_mcp_sample_prompt(th_json_root(doc), out, ret_tokens, &err);
	th_json_free(doc);
	return code;
}

static void test_prompt(void **state)
{
	static const struct {
		const char *params, *want; /* NULL: refused */
		int64_t tokens;
	} rows[] = {
		{ "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"a\"}"
		  "}],"
		  "\"maxTokens\":100}",
		  "a", 100 },
		{ "{\"systemPrompt\":\"s\",\"maxTokens\":0,\"messages\":[{\"role\":\"user\","
		  "\"content\":"
		  "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}]}",
		  "s\n\nab", 1 },
		{ "{\"maxTokens\":99999,\"messages\":[{\"role\":\"user\",\"content\":{\"type\":"
		  "\"text\","
		  "\"text\":\"a\"}},{\"role\":\"assistant\",\"content\":{\"type\":\"text\","
		  "\"text\":\"b\"}}]}",
		  "[it says] a\n\n[you said] b", TH_MCP_SAMPLE_TOKENS_MAX },
		{ "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":"
		  "\"AA\"}}]}",
		  NULL, 0 },
		{ "{\"messages\":[{\"role\":\"user\",\"content\":7}]}", NULL, 0 },
		{ "{\"messages\":[]}", NULL, 0 },
		{ "{\"messages\":\"x\"}", NULL, 0 },
		{ "[]", NULL, 0 },
	};
	struct th_buf out = TH_BUF_INIT(TH_KIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		int64_t tokens = 0;

		if (!rows[i].want) {
			assert_int_not_equal(prompt(rows[i].params, &out, &tokens), TH_OK);
			continue;
		}
		assert_int_equal(prompt(rows[i].params, &out, &tokens), TH_OK);
		assert_string_equal(out.ptr, rows[i].want);
		assert_int_equal(tokens, rows[i].tokens);
	}
	th_buf_deinit(&out);
}

/* What a terminal obeys is not in the question, and the answer is JSON whatever the model says. */
static void test_hostile(void **state)
{
	struct th_buf out = TH_BUF_INIT(64 * TH_KIB);
	struct th_json_doc *doc = NULL;
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(
	    th_json_parse(TH_STR("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
				 "\"text\":\"\\u001b[2Jhello\\nyou\\u202e\"}}]}"),
			  &doc, &err),
	    TH_OK);
	assert_int_equal(th_mcp_sample_question(th_json_root(doc), &out, &err), TH_OK);
	assert_true(th_json_valid(th_buf_str(&out)));
	assert_null(strstr(out.ptr, "\\u001b"));
	assert_null(strstr(out.ptr, "\xe2\x80\xae"));
	assert_non_null(strstr(out.ptr, "\"options\":[\"yes\",\"no\"]"));
	th_json_free(doc);
	th_buf_clear(&out);
	th_mcp_sample_answer(TH_STR("a\"\n"), TH_STR("m"), &out);
	assert_string_equal(
	    out.ptr,
	    "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"a\\\"\\n\"},"
	    "\"model\":\"m\",\"stopReason\":\"endTurn\"}");
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_prompt),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
