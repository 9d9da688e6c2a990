/* SPDX-License-Identifier: Apache-2.0 */
/* Who comes before whom at a server that was full. */
#include <stdio.h>
#include <string.h>

#include "server/shares.h"
#include "unit.h"

/* anna has three, bob one, the others none. */
static size_t running(void *ctx, const char *user)
{
	(void)ctx;
	return strcmp(user, "anna") == 0 ? 3 : strcmp(user, "bob") == 0;
}

static size_t before(struct th_shares *s, const char *user, enum th_priority p, uint64_t now)
{
	return th_shares_before(s, user, p, now, running, NULL);
}

static struct th_shares shares;

static void test_who_has_fewer(void **state)
{
	const enum th_priority normal = TH_PRIORITY_NORMAL;

	(void)state;
	shares = (struct th_shares){ 0 };
	assert_int_equal(before(&shares, "anna", normal, 0), 0);
	th_shares_refuse(&shares, "bob", normal, 1000);
	th_shares_refuse(&shares, "bob", normal, 1000); /* who asks often is one all the same */
	assert_int_equal(before(&shares, "anna", normal, 1001), 1);
	assert_int_equal(before(&shares, "bob", normal, 1001), 0);
	assert_int_equal(before(&shares, "carl", normal, 1001), 0);
	th_shares_refuse(&shares, "carl", normal, 1001);
	assert_int_equal(before(&shares, "anna", normal, 1002), 2);
	assert_int_equal(before(&shares, "bob", normal, 1002), 1);
	/* As many: who asks first has it. */
	assert_int_equal(before(&shares, "dora", normal, 1002), 0);
	th_shares_forget(&shares, "bob");
	th_shares_forget(&shares, "nobody");
	assert_int_equal(before(&shares, "anna", normal, 1002), 1);
	/* He does not come back. */
	assert_int_equal(before(&shares, "anna", normal, 1000 + TH_ADMISSION_WAIT_MS), 1);
	assert_int_equal(before(&shares, "anna", normal, 1001 + TH_ADMISSION_WAIT_MS), 0);
}

static void test_priorities(void **state)
{
	uint64_t now = 1000;

	(void)state;
	shares = (struct th_shares){ 0 };
	th_shares_refuse(&shares, "anna", TH_PRIORITY_HIGH, now);
	th_shares_refuse(&shares, "anna", TH_PRIORITY_LOW, now); /* the higher one counts */
	assert_int_equal(before(&shares, "carl", TH_PRIORITY_NORMAL, now), 1);
	assert_int_equal(before(&shares, "carl", TH_PRIORITY_HIGH, now), 0);
	th_shares_refuse(&shares, "bob", TH_PRIORITY_LOW, now);
	assert_int_equal(before(&shares, "anna", TH_PRIORITY_HIGH, now), 0);
	assert_int_equal(before(&shares, "carl", TH_PRIORITY_NORMAL, now), 1);
	/* Who is refused for long matters more, whatever he asked for. */
	for (; now < 1000 + 2 * (uint64_t)TH_PRIORITY_AGE_MS; now += 1000)
		th_shares_refuse(&shares, "bob", TH_PRIORITY_LOW, now);
	th_shares_refuse(&shares, "anna", TH_PRIORITY_HIGH, now);
	assert_int_equal(before(&shares, "anna", TH_PRIORITY_HIGH, now), 1);
	assert_int_equal(before(&shares, "bob", TH_PRIORITY_LOW, now), 0);
}

static void test_many(void **state)
{
	(void)state;
	shares = (struct th_shares){ 0 };
	for (int i = 0; i < TH_ADMISSION_USERS_MAX + 1; i++) {
		char user[16];

		snprintf(user, sizeof(user), "u%d", i);
		th_shares_refuse(&shares, user, TH_PRIORITY_NORMAL, 1000 + (uint64_t)i);
		assert_int_equal(before(&shares, "anna", TH_PRIORITY_NORMAL, 1000 + (uint64_t)i),
				 TH_MIN(i + 1, TH_ADMISSION_USERS_MAX));
	}
	/* The one that is forgotten was there first. */
	th_shares_forget(&shares, "u0");
	assert_int_equal(shares.count, TH_ADMISSION_USERS_MAX);
	th_shares_forget(&shares, "u1");
	assert_int_equal(shares.count, TH_ADMISSION_USERS_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_has_fewer),
		cmocka_unit_test(test_priorities),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
