/* SPDX-License-Identifier: Apache-2.0 */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
