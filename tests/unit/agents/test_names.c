/* SPDX-License-Identifier: Apache-2.0 */
/* test_names.c - agents' names as functions' names. */
#include "unit.h"

#include "agents/names.h"

static struct th_arena arena;

static void becomes(const char *name, const char *function)
{
	struct th_str got = th_name_function(&arena, th_str_of(name));

	if (!th_str_is(got, function))
		fail_msg("%s: %.*s, not %s", name, TH_FMT(got), function);
}

static void test_characters(void **unused)
{
	(void)unused;
	becomes("Billing", "billing");
	becomes("donnees", "donnees");
	becomes("donn\xc3\xa9"
		"es",
		"donn_es"); /* one character, one _ */
	becomes("a b\tc-d.e", "a_b_c_d_e");
	becomes("  x  ", "__x__");
	becomes("\xe6\x97\xa5\xe6\x9c\xac", "__");
	becomes("\xff\xfe", "__"); /* a bad byte is a character */
	becomes("snake_case_9", "snake_case_9");
	becomes("", "");
}

static void test_handoffs(void **unused)
{
	(void)unused;
	assert_true(
	    th_str_is(th_name_handoff(&arena, TH_STR("Refund Desk")), "transfer_to_refund_desk"));
	assert_true(th_str_is(th_name_handoff_text(&arena, TH_STR("Billing"), TH_STR("")),
			      "Handoff to the Billing agent to handle the request. "));
	assert_true(th_str_is(th_name_handoff_text(&arena, TH_STR("A"), TH_STR("Sums.")),
			      "Handoff to the A agent to handle the request. Sums."));
}

/* At the edge a name is kept; one over, it is cut and says so, and two of them stay two. */
static void test_length(void **unused)
{
	char name[TH_FUNCTION_NAME_MAX + 2];
	struct th_str one, two;

	(void)unused;
	memset(name, 'a', sizeof(name));
	name[TH_FUNCTION_NAME_MAX] = '\0';
	becomes(name, name);
	name[TH_FUNCTION_NAME_MAX] = 'b';
	name[TH_FUNCTION_NAME_MAX + 1] = '\0';
	one = th_name_function(&arena, th_str_of(name));
	name[TH_FUNCTION_NAME_MAX] = 'c';
	two = th_name_function(&arena, th_str_of(name));
	assert_int_equal(one.len, TH_FUNCTION_NAME_MAX);
	assert_int_equal(one.ptr[TH_FUNCTION_NAME_MAX - 9], '_');
	assert_false(th_str_eq(one, two));
	assert_memory_equal(one.ptr, two.ptr, TH_FUNCTION_NAME_MAX - 8);
	/* What is cut does not end in two underscores, nor begin with one. */
	memset(name, ' ', sizeof(name) - 1);
	one = th_name_function(&arena, th_str_of(name));
	assert_true(th_str_starts(one, TH_STR("tool_")));
	assert_int_equal(one.len, 13);
}

static void test_a_full_arena(void **unused)
{
	struct th_arena small;

	(void)unused;
	th_arena_init(&small, 8);
	assert_null(th_name_handoff(&small, TH_STR("somebody with a name")).ptr);
	assert_null(th_name_function(&small, TH_STR("somebody_with_a_name")).ptr);
	th_arena_deinit(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_characters),
		cmocka_unit_test(test_handoffs),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_a_full_arena),
	};
	int failed;

	th_arena_init(&arena, TH_MIB);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	th_arena_deinit(&arena);
	return failed;
}
