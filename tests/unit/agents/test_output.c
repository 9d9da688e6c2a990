/* SPDX-License-Identifier: Apache-2.0 */
/* test_output.c - what is no object stands in one, and is the final output without it. */
#include "unit.h"

#include "agents/output.h"
#include "base/limits.h"

#define LIST "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"
#define RESPONSE(s)                                                                             \
	"{\"type\":\"object\",\"properties\":{\"response\":" s "},\"required\":[\"response\"]," \
	"\"additionalProperties\":false}"

static struct th_err err;

static void test_providers_are_sent_an_object(void **unused)
{
	static const struct {
		const char *schema, *sent;
		bool strict;
	} rows[] = {
		{ "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}",
		  "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}},"
		  "\"additionalProperties\":false,\"required\":[\"a\"]}",
		  true },
		{ LIST, RESPONSE(LIST), true },
		{ "{\"type\":\"integer\"}", RESPONSE("{\"type\":\"integer\"}"), true },
		{ "{\"enum\":[\"a\",1]}", RESPONSE("{\"enum\":[\"a\",1]}"), true },
		{ "{\"type\":[\"object\",\"null\"],\"properties\":{},\"additionalProperties\":"
		  "false}",
		  RESPONSE("{\"type\":[\"object\",\"null\"],\"properties\":{},"
			   "\"additionalProperties\":false,\"required\":[]}"),
		  true },
		/* Where references point stays at the top. */
		{ "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/n\"},\"$defs\":{\"n\":{"
		  "\"type\":\"number\"}}}",
		  "{\"$defs\":{\"n\":{\"type\":\"number\"}},\"type\":\"object\",\"properties\":{"
		  "\"response\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/n\"}}},"
		  "\"required\":[\"response\"],\"additionalProperties\":false}",
		  true },
		/* What cannot be strict is as it was. */
		{ "{\"type\":\"object\",\"additionalProperties\":true}",
		  "{\"type\":\"object\",\"additionalProperties\":true}", false },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_arena a;
		struct th_str sent;
		bool strict;

		th_arena_init(&a, TH_MIB);
		assert_int_equal(
		    th_output_schema(th_str_of(rows[i].schema), &a, &sent, &strict, &err), TH_OK);
		assert_memory_equal(sent.ptr, rows[i].sent, strlen(rows[i].sent));
		assert_int_equal(sent.len, strlen(rows[i].sent));
		assert_int_equal(strict, rows[i].strict);
		th_arena_deinit(&a);
	}
}

static void test_the_answer_is_what_stands_in_it(void **unused)
{
	static const struct {
		const char *schema, *text, *value, *fault;
	} rows[] = {
		{ LIST, "{\"response\":[\"a\",\"b\"]}", "[\"a\",\"b\"]", NULL },
		{ LIST, "[\"a\"]", "[\"a\"]", NULL }, /* a server that does not hold it */
		{ LIST, "{\"response\":[1]}", NULL, "[0]: must be a string, not 1" },
		{ LIST, "{\"other\":[\"a\"]}", NULL,
		  "the member \"response\", which is the answer, is not there" },
		{ LIST, "{\"response\":[\"a\"],\"more\":1}", NULL,
		  "the member \"response\", which is the answer, is not there" },
		/* An object's own member of that name is nothing special. */
		{ "{\"type\":\"object\"}", "{\"response\":1}", "{\"response\":1}", NULL },
		{ "{\"type\":\"object\",\"required\":[\"a\"]}", "{\"response\":1}", NULL,
		  "\"a\" is missing" },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf value = TH_BUF_INIT(TH_MIB);
		enum th_code code = th_output_read(th_str_of(rows[i].schema),
						   th_str_of(rows[i].text), &value, &err);

		assert_int_equal(code, rows[i].fault ? TH_EPROTO : TH_OK);
		if (rows[i].fault)
			assert_string_equal(err.msg, rows[i].fault);
		else
			assert_true(th_str_is(th_buf_str(&value), rows[i].value));
		th_buf_deinit(&value);
	}
}

static void test_what_is_no_json_is_told(void **unused)
{
	struct th_buf value = TH_BUF_INIT(TH_MIB);
	struct th_arena a;
	struct th_str sent;
	bool strict;

	(void)unused;
	th_arena_init(&a, TH_MIB);
	assert_int_equal(th_output_schema(TH_STR("{"), &a, &sent, &strict, &err), TH_EPROTO);
	assert_int_equal(th_output_read(TH_STR(LIST), TH_STR("a, b"), &value, &err), TH_EPROTO);
	assert_int_equal(th_output_read(TH_STR(LIST), TH_STR(""), &value, &err), TH_EPROTO);
	assert_int_equal(value.len, 0);
	th_buf_deinit(&value);
	th_arena_deinit(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_providers_are_sent_an_object),
		cmocka_unit_test(test_the_answer_is_what_stands_in_it),
		cmocka_unit_test(test_what_is_no_json_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
