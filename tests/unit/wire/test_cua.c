/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/limits.h"
#include "wire/cua.h"

static void test_commands(void **state)
{
	static const struct {
		const char *text, *name, *error;
		int32_t x; /* 0: it has none */
	} rows[] = {
		{ "{\"command\":\"a\"}", "a", NULL, 0 },
		{ "{\"command\":\"a\",\"params\":null}", "a", NULL, 0 },
		{ "{\"command\":\"a\",\"params\":{\"x\":3}}", "a", NULL, 3 },
		{ "{\"command\":\"a\",\"params\":{\"x\":2.5}}", "a", NULL, 3 },
		{ "{\"command\":\"a\",\"params\":{\"x\":\"-7\"}}", "a", NULL, -7 },
		{ "{\"command\":\"a\",\"params\":{\"x\":1e99}}", "a", NULL, 0 },
		{ "{\"command\":\"a\",\"params\":{\"x\":true}}", "a", NULL, 0 },
		{ "{\"command\":\"a\",\"params\":{},\"x\":3}", "a", NULL, 0 },
		{ "{\"command\":\"a\",\"x\":3}", "a", NULL, 3 },
		{ "{\"command\":\"a\",\"params\":[]}", NULL, "params must be an object", 0 },
		{ "{\"command\":\"\"}", NULL, "Command is required", 0 },
		{ "{\"command\":3}", NULL, "Command is required", 0 },
		{ "[]", NULL, "Command is required", 0 },
		{ "{", NULL, "Invalid JSON: ", 0 },
		{ "", NULL, "Invalid JSON: ", 0 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
		struct th_cua_command c;
		struct th_err err = { 0 };
		int32_t x = 0;
		enum th_code code = th_cua_parse(th_str_of(rows[i].text), &doc, &c, &err);

		if (rows[i].error) {
			assert_int_equal(code, TH_EPROTO);
			assert_true(strncmp(err.msg, rows[i].error, strlen(rows[i].error)) == 0);
			continue;
		}
		assert_int_equal(code, TH_OK);
		(void)th_cua_number(c.params, "x", &x);
		if (!th_str_is(c.name, rows[i].name) || x != rows[i].x)
			fail_msg("row %zu: x is %d", i, x);
	}
}

static void test_flat(void **state)
{
	static const char *const rows[][3] = {
		{ "{\"success\":true}", NULL, "{\"success\":true,\"result\":{\"success\":true}}" },
		{ "{\"success\":true,\"a\":[1]}", "a",
		  "{\"success\":true,\"a\":[1],\"result\":[1]}" },
		{ "{\"success\":true,\"b\":1}", "a", "{\"success\":true,\"b\":1}" },
		{ "{\"success\":true,\"result\":\"T\"}", NULL,
		  "{\"success\":true,\"result\":\"T\"}" },
		{ "{\"success\":false,\"error\":\"e\"}", NULL,
		  "{\"success\":false,\"error\":\"e\"}" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

		th_cua_print_flat(th_str_of(rows[i][0]), rows[i][1], &out);
		assert_string_equal(out.ptr, rows[i][2]);
	}
}

static void test_printed(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"success\":true,\"size\":{\"width\":1920,\"height\":1080}}",
		  "{\"success\": true, \"size\": {\"width\": 1920, \"height\": 1080}}" },
		{ "[1,\"a,b:c\",[]]", "[1, \"a,b:c\", []]" },
		{ "\"q\\\"\\\\,\\n\"", "\"q\\\"\\\\,\\n\"" },
		{ "\"\xc3\xa9\xe2\x82\xac\"", "\"\\u00e9\\u20ac\"" },
		{ "\"\xf0\x9f\x98\x80\x7f\"", "\"\\ud83d\\ude00\x7f\"" },
	};
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		th_buf_clear(&out);
		th_cua_print(th_str_of(rows[i][0]), &out);
		assert_true(th_str_is(th_buf_str(&out), rows[i][1]));
	}
	th_buf_clear(&out);
	th_cua_print_line(TH_STR("{\"success\":true}"), &out);
	assert_true(th_str_is(th_buf_str(&out), "data: {\"success\": true}\n\n"));
	th_buf_clear(&out);
	th_cua_print_error(TH_STR("no \"x\""), &out);
	assert_true(th_str_is(th_buf_str(&out), "{\"success\":false,\"error\":\"no \\\"x\\\"\"}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_flat),
		cmocka_unit_test(test_printed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
