/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that were taken over and left again: how long each rests, and how many are remembered.
 */
#include <stdio.h>

#include "api/tried.h"
#include "base/limits.h"
#include "unit.h"

static void test_twice_as_long(void **state)
{
	const struct th_str id = TH_STR("s");
	struct th_tried t = { 0 };
	uint64_t now = 5000, wait = TH_FLEET_RETRY_MS;

	(void)state;
	assert_false(th_tried_rests(&t, id, now));
	for (int i = 0; i < 20; i++) {
		th_tried_note(&t, id, now);
		assert_true(th_tried_rests(&t, id, now + wait - 1));
		assert_false(th_tried_rests(&t, id, now + wait));
		now += wait;
		wait = TH_MIN(2 * wait, (uint64_t)TH_FLEET_RETRY_MAX_MS);
	}
	/* After a long time it is as if it were new. */
	now += TH_FLEET_RETRY_MAX_MS;
	th_tried_note(&t, id, now);
	assert_false(th_tried_rests(&t, id, now + TH_FLEET_RETRY_MS));
	th_tried_deinit(&t);
}

static void test_as_many_as_there_may_be(void **state)
{
	static uint64_t resting[TH_FLEET_TRIED_MAX];
	struct th_tried t = { 0 };
	char id[16];
	size_t count;

	(void)state;
	assert_int_equal(th_tried_resting(&t, 0, resting), 0);
	for (int i = 0; i <= TH_FLEET_TRIED_MAX; i++) {
		snprintf(id, sizeof(id), "s%d", i);
		th_tried_note(&t, th_str_of(id), 1000 + (uint64_t)i);
	}
	/* The one that has waited longest is tried again early. */
	assert_false(th_tried_rests(&t, TH_STR("s0"), 1500));
	assert_true(th_tried_rests(&t, TH_STR("s1"), 1500));
	assert_true(th_tried_rests(&t, th_str_of(id), 1500));
	count = th_tried_resting(&t, 1500, resting);
	assert_int_equal(count, TH_FLEET_TRIED_MAX);
	assert_true(th_tried_has(resting, count, th_str_of(id)));
	assert_false(th_tried_has(resting, count, TH_STR("s0")));
	/* One that waits no longer is forgotten before others. */
	assert_int_equal(th_tried_resting(&t, 1000 + TH_FLEET_RETRY_MS + 1, resting),
			 TH_FLEET_TRIED_MAX - 1);
	th_tried_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_twice_as_long),
		cmocka_unit_test(test_as_many_as_there_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
