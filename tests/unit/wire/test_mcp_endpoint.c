/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/limits.h"
#include "wire/mcp_endpoint.h"

/* Whole addresses and parts of them; none of another origin. */
static void test_rows(void **state)
{
	static const struct {
		const char *url, *named, *want; /* NULL: it is refused */
	} rows[] = {
		{ "https://a.example/sse", "/messages?id=1", "https://a.example/messages?id=1" },
		{ "https://a.example/x/sse?q=/y", "messages", "https://a.example/x/messages" },
		{ "https://a.example", "messages", "https://a.example/messages" },
		{ "https://a.example/x/sse?q", "?id=1", "https://a.example/x/sse?id=1" },
		{ "https://a.example/sse", " https://A.example/m#part ", "https://A.example/m" },
		{ "https://a.example/sse", "//a.example/m", "https://a.example/m" },
		{ "https://a.example/sse", "/a:b", "https://a.example/a:b" },
		{ "https://a.example/sse", "https://b.example/m", NULL },
		{ "https://a.example/sse", "//b.example/m", NULL },
		{ "https://a.example/sse", "http://a.example/m", NULL },
		{ "https://a.example/sse", "https://a.example:444/m", NULL },
		{ "https://a.example/sse", "https://a.example@b.example/m", NULL },
		{ "https://a.example/sse", "https://u@a.example/m", NULL },
		{ "https://a.example/sse", "javascript:1", NULL },
		{ "https://a.example/sse", "/\\b.example", NULL },
		{ "https://a.example/sse", "/m\r\nX: y", NULL },
		{ "https://a.example/sse", "#part", NULL },
		{ "https://a.example/sse", "", NULL },
		{ "nothing", "/m", NULL },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf out = TH_BUF_INIT(2 * TH_MCP_ENDPOINT_MAX);
		struct th_err err = { 0 };
		enum th_code code =
		    th_mcp_endpoint(th_str_of(rows[i].url), th_str_of(rows[i].named), &out, &err);

		assert_int_equal(code, rows[i].want ? TH_OK : TH_EPROTO);
		if (rows[i].want)
			assert_string_equal(out.ptr, rows[i].want);
		th_buf_deinit(&out);
	}
}

static void test_limit(void **state)
{
	struct th_buf named = TH_BUF_INIT(2 * TH_MCP_ENDPOINT_MAX);
	struct th_buf out = TH_BUF_INIT(2 * TH_MCP_ENDPOINT_MAX);
	struct th_err err = { 0 };

	(void)state;
	while (named.len < TH_MCP_ENDPOINT_MAX)
		th_buf_add_char(&named, '/');
	named.ptr[1] = 'm';
	assert_int_equal(
	    th_mcp_endpoint(TH_STR("https://a.example/"), th_buf_str(&named), &out, &err), TH_OK);
	th_buf_add_char(&named, 'x');
	assert_int_equal(
	    th_mcp_endpoint(TH_STR("https://a.example/"), th_buf_str(&named), &out, &err),
	    TH_EPROTO);
	th_buf_deinit(&named);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
