/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a machine has room for one session more. */
#include <string.h>

#include "base/limits.h"
#include "server/admission.h"
#include "server/settings.h"
#include "unit.h"

static void test_at_the_edges(void **state)
{
	static const struct {
		int64_t keeps, memory;
		double load_max, load;
		const char *why; /* NULL: there is room */
	} rows[] = {
		{ 0, 0, 0, 99, NULL }, /* nothing is asked for */
		{ 512, 512 * (int64_t)TH_MIB, 0, 99, NULL },
		{ 512, 512 * (int64_t)TH_MIB - 1, 0, 0,
		  "511 MiB of memory are free here, and 512 must stay free" },
		{ 512, 0, 0, 0, "0 MiB" },
		{ 512, -1, 0, 0, NULL }, /* it cannot be known */
		{ 0, 0, 1.5, 1.5, NULL },
		{ 0, 0, 1.5, 1.51, "is 1.51, and above 1.50" },
		{ 0, 0, 1.5, -1, NULL },
		{ 512, 0, 1.5, 9, "MiB of memory" }, /* the first is named */
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_serve_settings set = { .free_memory_mib = rows[i].keeps,
						 .load_per_processor = rows[i].load_max };
		struct th_machine machine = { rows[i].memory, rows[i].load };
		struct th_err why = { 0 };

		assert_int_equal(th_admission_allows(&set, &machine, &why), !rows[i].why);
		if (rows[i].why)
			assert_non_null(strstr(why.msg, rows[i].why));
	}
}

static void test_this_machine(void **state)
{
	struct th_serve_settings set = { .free_memory_mib = INT64_MAX / (int64_t)TH_MIB };
	struct th_admission a = { 0 };
	struct th_machine machine;
	struct th_err why = { 0 };

	(void)state;
	th_machine_look(&machine);
	assert_true(machine.memory > (int64_t)TH_MIB);
	assert_true(machine.load >= 0 && machine.load < 1e6);
	assert_false(th_admission(&a, &set, 5000, &why));
	/* It is looked at again after a second, and not before. */
	a.machine.memory = INT64_MAX;
	assert_true(th_admission(&a, &set, 5000 + TH_ADMISSION_LOOK_MS - 1, &why));
	assert_false(th_admission(&a, &set, 5000 + TH_ADMISSION_LOOK_MS, &why));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_at_the_edges),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
