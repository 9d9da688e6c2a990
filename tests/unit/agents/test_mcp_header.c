/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "agents/mcp_header.h"
#include "base/limits.h"

static const char *fault(const char *properties)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc = NULL;
	const char *why;

	th_buf_printf(&text, "{\"type\":\"object\",\"properties\":{%s}}", properties);
	assert_int_equal(th_json_parse(th_buf_str(&text), &doc, NULL), TH_OK);
	why = th_mcp_headers_fault(th_json_root(doc));
	th_json_free(doc);
	th_buf_deinit(&text);
	return why;
}

static void test_faults(void **state)
{
	struct th_buf many = TH_BUF_INIT(TH_MIB), name = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_null(th_mcp_headers_fault(NULL));
	assert_null(fault("\"a\":{\"type\":\"string\"}"));
	assert_null(fault("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A-b\"},"
			  "\"b\":{\"type\":\"integer\",\"x-mcp-header\":\"C\"},"
			  "\"c\":{\"type\":\"boolean\",\"x-mcp-header\":\"D\"}"));
	assert_non_null(fault("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\"}"));
	assert_non_null(fault("\"a\":{\"type\":\"string\",\"x-mcp-header\":3}"));
	assert_non_null(fault("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A b\"}"));
	assert_non_null(fault("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A:\"}"));
	assert_non_null(fault("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"\\u00e4\"}"));
	assert_non_null(fault("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"a\\u0000\"}"));
	assert_non_null(fault("\"a\":{\"type\":\"number\",\"x-mcp-header\":\"A\"}"));
	assert_non_null(fault("\"a\":{\"type\":\"object\",\"x-mcp-header\":\"A\"}"));
	assert_non_null(fault("\"a\":{\"type\":\"string\",\"x-mcp-header\":\"A\"},"
			      "\"b\":{\"type\":\"string\",\"x-mcp-header\":\"a\"}"));
	for (int i = 0; i < TH_MCP_HEADERS_MAX; i++)
		th_buf_printf(&many, "%s\"p%d\":{\"type\":\"string\",\"x-mcp-header\":\"H%d\"}",
			      i ? "," : "", i, i);
	assert_null(fault(many.ptr));
	th_buf_add_cstr(&many, ",\"q\":{\"type\":\"string\",\"x-mcp-header\":\"Q\"}");
	assert_non_null(fault(many.ptr));
	th_buf_add_cstr(&name, "\"a\":{\"type\":\"string\",\"x-mcp-header\":\"");
	for (int i = 0; i < TH_MCP_HEADER_NAME_MAX; i++)
		th_buf_add_char(&name, 'x');
	th_buf_add_cstr(&name, "\"}");
	assert_null(fault(name.ptr));
	th_buf_truncate(&name, name.len - 2);
	th_buf_add_cstr(&name, "x\"}");
	assert_non_null(fault(name.ptr));
	th_buf_deinit(&many);
	th_buf_deinit(&name);
}

static void test_values(void **state)
{
	static const struct {
		const char *value, *line;
	} rows[] = {
		{ "\"us west 1\"", "[\"Mcp-Param-R: us west 1\"]" },
		{ "42", "[\"Mcp-Param-R: 42\"]" },
		{ "false", "[\"Mcp-Param-R: false\"]" },
		{ "null", "[]" },
		{ "\"\"", "[\"Mcp-Param-R: =?base64?\x3f=\"]" },
		{ "\" a\"", "[\"Mcp-Param-R: =?base64?IGE=?=\"]" },
		{ "\"a\\r\\nB: c\"", "[\"Mcp-Param-R: =?base64?YQ0KQjogYw==?=\"]" },
		{ "\"\\u00e4\"", "[\"Mcp-Param-R: =?base64?w6Q=?=\"]" },
		{ "\"=?base64?YQ==?=\"", "[\"Mcp-Param-R: =?base64?PT9iYXNlNjQ/WVE9PT89?=\"]" },
	};
	struct th_json_doc *schema = NULL;

	(void)state;
	assert_int_equal(th_json_parse(TH_STR("{\"properties\":{\"r\":{\"x-mcp-header\":\"R\"},"
					      "\"s\":{\"x-mcp-header\":\"S\"},\"t\":{}}}"),
				       &schema, NULL),
			 TH_OK);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf text = TH_BUF_INIT(TH_KIB), list = TH_BUF_INIT(TH_KIB);
		struct th_json_doc *doc = NULL;
		struct th_jw w = th_jw(&list);

		th_buf_printf(&text, "{\"r\":%s,\"t\":1}", rows[i].value);
		assert_int_equal(th_json_parse(th_buf_str(&text), &doc, NULL), TH_OK);
		th_jw_array(&w);
		th_mcp_headers_put(th_json_root(schema), th_json_root(doc), &w);
		th_jw_array_end(&w);
		assert_string_equal(list.ptr, rows[i].line);
		th_json_free(doc);
		th_buf_deinit(&text);
		th_buf_deinit(&list);
	}
	th_json_free(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
