/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's functions are called, with and without a namespace. */
#include "server/function_names.h"

#include "base/limits.h"
#include "unit.h"

static void expect(const char *space, const char *name, const char *full)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_MIB);

	th_function_full_name(th_str_of(space), th_str_of(name), &out);
	assert_string_equal(out.ptr, full);
	if (*space)
		assert_true(out.len <= TH_TOOL_NAME_MAX);
}

static void test_full_names(void **state)
{
	(void)state;
	expect("", "look", "look");
	expect("", "no name of a tool", "no name of a tool"); /* refused where it is taken */
	expect("mcp__a", "look", "mcp__a__look");
	expect("a.b", "look", "a_b__look_17f913b8");
	expect("a_b", "look", "a_b__look");
	/* 64 bytes, and one more. */
	expect("123456789012345678901234567890", "12345678901234567890123456789012",
	       "123456789012345678901234567890__12345678901234567890123456789012");
	expect("123456789012345678901234567890", "123456789012345678901234567890123",
	       "123456789012345678901234567890__12345678901234567890123_de35c057");
}

#define LIST                                                                                      \
	"[{\"name\":\"a\"},{\"type\":\"web_search\",\"name\":\"b\"},"                             \
	"{\"type\":\"namespace\",\"name\":\"s\",\"tools\":[{\"type\":\"custom\",\"name\":\"c\"}," \
	"{\"type\":\"namespace\",\"name\":\"t\",\"tools\":[{\"name\":\"d\"}]}]},"                 \
	"{\"type\":\"namespace\",\"name\":\"e\"},{\"type\":\"namespace\",\"tools\":[{\"name\":"   \
	"\"f\"}]},{\"type\":\"function\",\"name\":\"g\"},{\"type\":\"function\"},7]"

#define SEARCHES                                                                           \
	"[{\"name\":\"tool_search\",\"execution\":\"client\"},{\"name\":\"tool_search\"}," \
	"{\"name\":\"run\",\"execution\":\"client\"},"                                     \
	"{\"type\":\"namespace\",\"name\":\"s\",\"tools\":[{\"name\":\"tool_search\","     \
	"\"execution\":\"client\"}]}]"

static void test_a_list(void **state)
{
	static const char *const full[] = { "a", "s__c", "f", "g" };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_function_name *list;
	size_t count;

	(void)state;
	assert_int_equal(th_json_parse(TH_STR(LIST), &doc, NULL), TH_OK);
	list = th_function_names(th_json_root(doc), &count);
	assert_int_equal(count, TH_COUNT(full));
	for (size_t i = 0; i < count; i++)
		assert_string_equal(list[i].full, full[i]);
	assert_string_equal(list[1].space, "s");
	assert_string_equal(list[1].name, "c");
	assert_null(list[0].space);
	th_function_names_free(list, count);
}

/* The client's search alone: others have a name that their calls must say. */
static void test_a_search(void **state)
{
	static const bool search[] = { true, false, false, false };
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_function_name *list;
	size_t count;

	(void)state;
	assert_int_equal(th_json_parse(TH_STR(SEARCHES), &doc, NULL), TH_OK);
	list = th_function_names(th_json_root(doc), &count);
	assert_int_equal(count, TH_COUNT(search));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(list[i].search, search[i]);
	th_function_names_free(list, count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_names),
		cmocka_unit_test(test_a_list),
		cmocka_unit_test(test_a_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
