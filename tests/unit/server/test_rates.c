/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rates.h"

#include <stdio.h>

#include "base/limits.h"
#include "unit.h"

static void test_a_bucket(void **state)
{
	struct th_rates r = {};

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(th_rates_take(&r, TH_STR("ann"), 4, 1000), 0);
	assert_in_range(th_rates_take(&r, TH_STR("ann"), 4, 1000), 250, 251);
	assert_int_equal(th_rates_take(&r, TH_STR("bob"), 4, 1000), 0);
	assert_in_range(th_rates_take(&r, TH_STR("ann"), 4, 1249), 1, 2);
	assert_int_equal(th_rates_take(&r, TH_STR("ann"), 4, 1250), 0);
	assert_true(th_rates_take(&r, TH_STR("ann"), 4, 1250) > 0);
	/* It holds a second's worth, however long nobody came. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(th_rates_take(&r, TH_STR("ann"), 4, 1000000), 0);
	assert_true(th_rates_take(&r, TH_STR("ann"), 4, 1000000) > 0);
	/* Less than one a second is still one at once. */
	assert_int_equal(th_rates_take(&r, TH_STR("slow"), 0.5, 0), 0);
	assert_in_range(th_rates_take(&r, TH_STR("slow"), 0.5, 0), 2000, 2001);
	assert_int_equal(th_rates_take(&r, TH_STR("ann"), 0, 1000000), 0); /* no limit */
	th_rates_deinit(&r);
}

static void test_no_more_than_so_many(void **state)
{
	struct th_rates r = {};
	char name[20];

	(void)state;
	for (int i = 0; i < TH_SERVE_RATE_USERS_MAX; i++) {
		snprintf(name, sizeof(name), "user %d", i);
		assert_int_equal(th_rates_take(&r, th_str_of(name), 1, i < 100 ? 0 : 500), 0);
	}
	assert_int_equal(r.count, TH_SERVE_RATE_USERS_MAX);
	/* The first hundred are full again; the others are not forgotten for one more. */
	assert_int_equal(th_rates_take(&r, TH_STR("one more"), 1, 1000), 0);
	assert_int_equal(r.count, TH_SERVE_RATE_USERS_MAX - 100 + 1);
	assert_true(th_rates_take(&r, TH_STR("user 100"), 1, 1000) > 0);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "new %d", i);
		assert_int_equal(th_rates_take(&r, th_str_of(name), 1, 1000), 0);
	}
	assert_true(r.count <= TH_SERVE_RATE_USERS_MAX);
	th_rates_deinit(&r);
	assert_int_equal(r.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_bucket),
		cmocka_unit_test(test_no_more_than_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
