/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "wire/jsonrpc.h"

static struct th_rpc read_it(const char *text)
{
	struct th_rpc r;

	th_rpc_read(th_str_of(text), &r);
	return r;
}

#define assert_str(a, b) assert_true(th_str_is(a, b))

static void test_kinds(void **state)
{
	static const struct {
		const char *text;
		enum th_rpc_kind kind;
		const char *id;
	} rows[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/b\"}", TH_RPC_REQUEST, "1" },
		{ " {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a\",\"params\":{}}\r\n",
		  TH_RPC_REQUEST, "\"x\"" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"params\":[1]}", TH_RPC_NOTIFICATION,
		  "" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", TH_RPC_RESULT, "1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}", TH_RPC_ERROR, "1" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}", TH_RPC_ERROR, "" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", TH_RPC_WRONG, "" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}", TH_RPC_WRONG, "" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":3}", TH_RPC_WRONG, "7" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":3}", TH_RPC_WRONG,
		  "7" },
		{ "{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"a\"}", TH_RPC_WRONG, "7" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":2}", TH_RPC_WRONG, "7" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":null}", TH_RPC_RESULT,
		  "7" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":null,\"error\":{}}", TH_RPC_ERROR,
		  "7" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":7}", TH_RPC_WRONG, "7" },
		{ "[]", TH_RPC_WRONG, "" },
		{ "3", TH_RPC_WRONG, "" },
		{ "", TH_RPC_BROKEN, "" },
		{ "{\"jsonrpc\":\"2.0\"", TH_RPC_BROKEN, "" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_rpc r = read_it(rows[i].text);

		if (r.kind != rows[i].kind || !th_str_is(r.id, rows[i].id))
			fail_msg("row %zu is of kind %d with id %.*s", i, r.kind, TH_FMT(r.id));
	}
}

static void test_an_id_at_its_limit(void **state)
{
	char text[2 * TH_RPC_ID_MAX];

	(void)state;
	for (int more = 0; more < 2; more++) {
		struct th_rpc r;

		snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"%0*d\",\"method\":\"a\"}",
			 TH_RPC_ID_MAX - 2 + more, 0);
		r = read_it(text);
		assert_int_equal(r.kind, more ? TH_RPC_WRONG : TH_RPC_REQUEST);
		assert_int_equal(r.id.len, more ? 0 : TH_RPC_ID_MAX);
	}
}

static void test_members(void **state)
{
	struct th_rpc r =
	    read_it("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a/b\",\"params\":{\"c\":[2]}}");

	(void)state;
	assert_str(r.method, "a/b");
	assert_str(r.params, "{\"c\":[2]}");
	assert_str(read_it("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"d\":1}}").value,
		   "{\"d\":1}");
}

static void test_print(void **state)
{
	struct th_buf out = TH_BUF_INIT(4096);
	struct th_str none = { 0 };

	(void)state;
	th_rpc_print_call(TH_STR("1"), "m", TH_STR("{\"a\":1}"), &out);
	th_rpc_print_call(none, "n", none, &out);
	th_rpc_print_result(TH_STR("\"x\""), none, &out);
	th_rpc_print_error(none, TH_RPC_EPARSE, TH_STR("no \"JSON\""), TH_STR("[1]"), &out);
	assert_string_equal(out.ptr,
			    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"a\":1}}"
			    "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}"
			    "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}"
			    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,"
			    "\"message\":\"no \\\"JSON\\\"\",\"data\":[1]}}");
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_an_id_at_its_limit),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
