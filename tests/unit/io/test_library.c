/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "io/library.h"

struct two {
	__typeof__(puts) *puts;
	__typeof__(strlen) *strlen;
};

static const char *const names[] = { "puts", "strlen" };

static void fills_the_table(void **state)
{
	struct two table = { 0 };
	struct th_library l = {
		.file = "libc.so.6", .what = "C", .names = names, .count = 2, .table = &table
	};

	(void)state;
	assert_null(th_library_open(&l));
	assert_int_equal(table.strlen("four"), 4);
	table.strlen = NULL;
	assert_null(th_library_open(&l)); /* once */
	assert_null(table.strlen);
}

static void says_what_is_missing(void **state)
{
	static const char *const wrong[] = { "strlen", "no_such_function" };
	struct two table = { 0 };
	struct th_library none = { .file = "libnone.so.1",
				   .what = "a library of this test",
				   .packages = "Debian: libnone1" };
	struct th_library old = {
		.file = "libc.so.6", .what = "C", .names = wrong, .count = 2, .table = &table
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_string_equal(th_library_open(&none),
				    "libnone.so.1, a library of this test, is not installed here "
				    "(Debian: libnone1)");
		assert_string_equal(th_library_open(&old),
				    "libc.so.6 has no function no_such_function");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fills_the_table),
		cmocka_unit_test(says_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
