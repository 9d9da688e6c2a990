/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/session_name.h"
#include "rig.h"

static void names(void **state)
{
	static const char *const good[] = { "a", "mine.6", "a-b_c", "\xc3\xa4", "a:b", "1" };
	static const char *const bad[] = { "a b", "a@3", "a/b", "\n", "-a", "\x7f", "\xff", "a\t" };
	char longest[TH_SESSION_ID_MAX + 1];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(good); i++)
		assert_null(th_session_name_fault(th_str_of(good[i])));
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_non_null(th_session_name_fault(th_str_of(bad[i])));
	assert_non_null(th_session_name_fault(TH_STR("")));
	assert_non_null(th_session_name_fault(th_str_n("a\0b", 3)));
	memset(longest, 'a', sizeof(longest));
	assert_null(th_session_name_fault(th_str_n(longest, TH_SESSION_ID_MAX)));
	assert_string_equal(th_session_name_fault(th_str_n(longest, TH_SESSION_ID_MAX + 1)),
			    "is text of 1 to 128 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
