/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "base/priority.h"
#include "unit.h"

static void test_names(void **state)
{
	enum th_priority p = TH_PRIORITY_HIGH;

	(void)state;
	assert_false(th_priority_parse(TH_STR(""), &p));
	assert_false(th_priority_parse(TH_STR("Low"), &p));
	assert_false(th_priority_parse(TH_STR("lower"), &p));
	assert_int_equal(p, TH_PRIORITY_HIGH);
	for (enum th_priority i = TH_PRIORITY_LOW; i <= TH_PRIORITY_HIGH; i++) {
		assert_true(th_priority_parse(th_str_of(th_priority_name(i)), &p));
		assert_int_equal(p, i);
	}
}

static void test_waiting_raises(void **state)
{
	const int64_t step = TH_PRIORITY_AGE_MS;

	(void)state;
	assert_int_equal(th_priority_after(TH_PRIORITY_LOW, -5), TH_PRIORITY_LOW);
	assert_int_equal(th_priority_after(TH_PRIORITY_LOW, step - 1), TH_PRIORITY_LOW);
	assert_int_equal(th_priority_after(TH_PRIORITY_LOW, step), TH_PRIORITY_NORMAL);
	assert_int_equal(th_priority_after(TH_PRIORITY_LOW, 2 * step - 1), TH_PRIORITY_NORMAL);
	assert_int_equal(th_priority_after(TH_PRIORITY_LOW, 2 * step), TH_PRIORITY_HIGH);
	assert_int_equal(th_priority_after(TH_PRIORITY_NORMAL, step), TH_PRIORITY_HIGH);
	assert_int_equal(th_priority_after(TH_PRIORITY_HIGH, INT64_MAX), TH_PRIORITY_HIGH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_waiting_raises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
