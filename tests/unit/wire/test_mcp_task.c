/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "wire/mcp_task.h"

/* Both forms; names, states and times that do not hold. */
static void test_rows(void **state)
{
	static const struct {
		const char *result;
		bool is;
		enum th_code code;
		const char *id;
		enum th_mcp_task_state state;
		int64_t poll_ms;
	} rows[] = {
		{ "{\"task\":{\"taskId\":\"t1\",\"status\":\"working\",\"pollInterval\":250}}",
		  true, TH_OK, "t1", TH_MCP_TASK_WORKING, 250 },
		{ "{\"resultType\":\"task\",\"taskId\":\"t\\u0032\",\"status\":\"input_required\","
		  "\"pollIntervalMs\":1}",
		  true, TH_OK, "t2", TH_MCP_TASK_INPUT, TH_MCP_POLL_MS_MIN },
		{ "{\"taskId\":\"t3\",\"status\":\"completed\",\"pollIntervalMs\":1e300}", false,
		  TH_OK, "t3", TH_MCP_TASK_COMPLETED, TH_MCP_POLL_MS_MAX },
		{ "{\"taskId\":\"t4\",\"status\":\"failed\",\"pollIntervalMs\":\"soon\"}", false,
		  TH_OK, "t4", TH_MCP_TASK_FAILED, TH_MCP_POLL_MS },
		{ "{\"taskId\":\"t5\",\"status\":\"cancelled\",\"pollInterval\":-1e300}", false,
		  TH_OK, "t5", TH_MCP_TASK_CANCELLED, TH_MCP_POLL_MS_MIN },
		{ "{\"taskId\":\"t6\",\"status\":\"asleep\"}", false, TH_EPROTO, "", 0, 0 },
		{ "{\"taskId\":\"\",\"status\":\"working\"}", false, TH_EPROTO, "", 0, 0 },
		{ "{\"taskId\":\"a\\nb\",\"status\":\"working\"}", false, TH_EPROTO, "", 0, 0 },
		{ "{\"taskId\":7,\"status\":\"working\"}", false, TH_EPROTO, "", 0, 0 },
		{ "{\"content\":[],\"task\":7}", false, TH_EPROTO, "", 0, 0 },
		{ "{\"content\":[]}", false, TH_EPROTO, "", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_mcp_task t;
		struct th_err err = { 0 };

		assert_int_equal(th_mcp_task_is(th_str_of(rows[i].result)), rows[i].is);
		assert_int_equal(th_mcp_task_read(th_str_of(rows[i].result), &t, &err),
				 rows[i].code);
		if (rows[i].code)
			continue;
		assert_string_equal(t.id, rows[i].id);
		assert_int_equal(t.state, rows[i].state);
		assert_int_equal(t.poll_ms, rows[i].poll_ms);
	}
}

static void test_name(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_KIB), out = TH_BUF_INIT(TH_KIB);
	struct th_mcp_task t;
	struct th_err err = { 0 };

	(void)state;
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&text);
		th_buf_add_cstr(&text, "{\"status\":\"working\",\"taskId\":\"");
		for (int i = 0; i < TH_MCP_TASK_MAX + more; i++)
			th_buf_add_char(&text, 'x');
		th_buf_add_cstr(&text, "\"}");
		assert_int_equal(th_mcp_task_read(th_buf_str(&text), &t, &err),
				 more ? TH_EPROTO : TH_OK);
	}
	th_mcp_task_params("a\"b", TH_STR(""), &out);
	assert_string_equal(out.ptr, "{\"taskId\":\"a\\\"b\"}");
	th_buf_clear(&out);
	th_mcp_task_params("a", TH_STR("\"inputResponses\":{}"), &out);
	assert_string_equal(out.ptr, "{\"taskId\":\"a\",\"inputResponses\":{}}");
	th_buf_deinit(&text);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
