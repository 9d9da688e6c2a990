/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/shell.h"
#include "rig.h"

static void words(void **state)
{
	struct th_buf out = TH_BUF_INIT(64);

	(void)state;
	th_shell_word(TH_STR(""), &out);
	th_buf_add_char(&out, ' ');
	th_shell_word(TH_STR("it's $(x) \\ \"\n*'"), &out);
	assert_string_equal(out.ptr, "'' 'it'\\''s $(x) \\ \"\n*'\\'''");
	th_buf_deinit(&out);
}

static void names(void **state)
{
	static const char *const good[] = { "A", "_", "a1_B" };
	static const char *const bad[] = { "", "1A", "A-B", "A B", "A=", "a.b", "\xc3\xa4" };
	char longest[TH_VARIABLE_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(good); i++)
		assert_true(th_shell_name_ok(th_str_of(good[i])));
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_false(th_shell_name_ok(th_str_of(bad[i])));
	memset(longest, 'A', sizeof(longest));
	assert_true(th_shell_name_ok(th_str_n(longest, TH_VARIABLE_NAME_MAX)));
	assert_false(th_shell_name_ok(th_str_n(longest, TH_VARIABLE_NAME_MAX + 1)));
	assert_false(th_shell_name_ok(th_str_n("A\0B", 3)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
