/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/limits.h"
#include "wire/mcp_offer.h"

static void test_table(void **state)
{
	struct th_buf out = TH_BUF_INIT(64 * TH_KIB);
	struct th_jw w = th_jw(&out);

	(void)state;
	assert_null(th_mcp_offer_find(TH_STR("read_resource")));
	assert_string_equal(th_mcp_offer_find(TH_STR("@read_resource"))->method, "resources/read");
	th_jw_array(&w);
	th_mcp_offers_put(0, &w);
	th_jw_array_end(&w);
	assert_string_equal(out.ptr, "[]");
	th_buf_clear(&out);
	w = th_jw(&out);
	th_jw_array(&w);
	th_mcp_offers_put(TH_MCP_PROMPTS, &w);
	th_jw_array_end(&w);
	assert_true(th_json_valid(th_buf_str(&out)));
	assert_null(strstr(out.ptr, "resource"));
	th_buf_deinit(&out);
}

static void result(const char *name, const char *result, const char *want)
{
	struct th_buf out = TH_BUF_INIT(64 * TH_KIB);
	struct th_err err = { 0 };
	enum th_code code =
	    th_mcp_offer_result(th_mcp_offer_find(th_str_of(name)), th_str_of(result), &out, &err);

	assert_int_equal(code, want ? TH_OK : TH_EPROTO);
	if (want)
		assert_string_equal(out.ptr, want);
	th_buf_deinit(&out);
}

static void test_results(void **state)
{
	(void)state;
	result(
	    "@read_resource", "{\"contents\":[{\"uri\":\"a\",\"text\":\"t\"}]}",
	    "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"a\",\"text\":\"t\"}}]}");
	result("@list_resources", "{\"resources\":[{\"uri\":\"a\"}],\"nextCursor\":\"n\\\"x\"}",
	       "{\"content\":[{\"type\":\"text\",\"text\":\"[{\\\"uri\\\":\\\"a\\\"}]\\nThere are "
	       "more: "
	       "cursor \\\"n\\\\\\\"x\\\"\"}]}");
	result("@get_prompt",
	       "{\"messages\":[{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":"
	       "\"x\"}},3]}",
	       "{\"content\":[{\"type\":\"text\",\"text\":\"[assistant]\"},{\"type\":\"text\","
	       "\"text\":"
	       "\"x\"},{\"type\":\"text\",\"text\":\"[user]\"}]}");
	result("@list_prompts", "{\"tools\":[]}", NULL);
	result("@read_resource", "{\"contents\":{}}", NULL);
}

/* Where a list goes on is told in so many bytes, or not at all. */
static void test_cursor(void **state)
{
	struct th_err err = { 0 };

	(void)state;
	for (size_t more = 0; more < 2; more++) {
		struct th_buf list TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(64 * TH_KIB);

		th_buf_add_cstr(&list, "{\"prompts\":[],\"nextCursor\":\"");
		for (size_t i = 0; i < TH_MCP_CURSOR_MAX + more; i++)
			th_buf_add_char(&list, 'c');
		th_buf_add_cstr(&list, "\"}");
		assert_int_equal(th_mcp_offer_result(th_mcp_offer_find(TH_STR("@list_prompts")),
						     th_buf_str(&list), &out, &err),
				 TH_OK);
		assert_int_equal(strstr(out.ptr, "There are more") != NULL, !more);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_table),
					    cmocka_unit_test(test_results),
					    cmocka_unit_test(test_cursor) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
