/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_memory.c - every allocation fails once, and with it all later ones.
 *
 * The ledger path (store, fold, history, the driver's flush, the executor's
 * journal) answers with an ordinary error; elsewhere the process stops.  In
 * both cases what was acknowledged is there, nothing is half written, and the
 * task goes on to its end afterwards.
 */
#include "unit.h"

#include "sweep.h"

static void a_whole_task(void **state)
{
	(void)state;
	sweep("memory: one, a new session", SHIM_MALLOC, NULL, NULL, 200);
	sweep("memory: all from one on, new", SHIM_MALLOC_ALL, NULL, NULL, 60);
	sweep_end(NULL);
}

static void taken_up_again(void **state)
{
	const struct rig_truth *truth = NULL;
	const char *begun = sweep_begun(&truth);

	(void)state;
	sweep("memory: one, a session taken up", SHIM_MALLOC, begun, truth, 120);
	sweep("memory: all from one on, taken up", SHIM_MALLOC_ALL, begun, truth, 40);
	sweep_end(begun);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_task),
		cmocka_unit_test(taken_up_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
