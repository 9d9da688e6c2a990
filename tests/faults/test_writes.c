/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_writes.c - every write, flush and change of size of the store's and the
 * journal's files fails once: a full disk (for a moment, or from then on), a
 * broken one, half of a write.
 *
 * A flush that fails stops the process; no effect runs without a durable
 * intent; with a healthy disk what was acknowledged is there and the task goes
 * on to its end.
 */
#include "unit.h"

#include <stdio.h>

#include "sweep.h"

static const struct {
	enum shim_kind kind;
	const char *name;
} kinds[] = {
	{ SHIM_WRITE_FULL, "the disk is full" },
	{ SHIM_WRITE_ONCE, "the disk is full once" },
	{ SHIM_WRITE_IO, "a write fails" },
	{ SHIM_WRITE_SHORT, "half a write, then a full disk" },
	{ SHIM_WRITE_PART, "half a write" },
	{ SHIM_SYNC, "a flush fails" },
	{ SHIM_TRUNCATE, "a change of size fails" },
	{ SHIM_TRUNCATE_FULL, "no room for a larger file" },
};

static void each_kind(const char *begun, const struct rig_truth *truth, const char *when)
{
	char name[80];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(name, sizeof(name), "%s, %s", kinds[i].name, when);
		sweep(name, kinds[i].kind, begun, truth, 30);
	}
	sweep_end(begun);
}

static void a_whole_task(void **state)
{
	(void)state;
	each_kind(NULL, NULL, "new");
}

static void taken_up_again(void **state)
{
	const struct rig_truth *truth = NULL;
	const char *begun = sweep_begun(&truth);

	(void)state;
	each_kind(begun, truth, "taken up");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_task),
		cmocka_unit_test(taken_up_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
