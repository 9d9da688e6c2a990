/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as HTTP statuses. */
#include "unit.h"

#include "server/access.h"
#include "thole/thole.h"

static void test_who_may_try_again(void **state)
{
	/* Another node, or this one later, may do it. */
	static const int passing[] = { THOLE_EIO, THOLE_ECONN, THOLE_EPLACE, THOLE_ENOMEM,
				       THOLE_ETIMEOUT };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(passing); i++)
		assert_int_equal(th_status_of(passing[i]), 503);
	assert_int_equal(th_status_of(THOLE_ECORRUPT), 500);
	assert_int_equal(th_status_of(THOLE_ESETUP), 500);
	assert_int_equal(th_status_of(THOLE_EFENCED), 409);
	assert_int_equal(th_status_of(THOLE_EUSAGE), 400);
}

static void test_what_passes(void **state)
{
	(void)state;
	assert_true(th_code_passes(THOLE_EIO));
	assert_true(th_code_passes(THOLE_EBUSY));
	assert_false(th_code_passes(THOLE_ENOENT));
	assert_false(th_code_passes(THOLE_ECORRUPT));
	assert_false(th_code_passes(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_may_try_again),
		cmocka_unit_test(test_what_passes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
