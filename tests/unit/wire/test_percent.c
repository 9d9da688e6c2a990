/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "base/limits.h"
#include "wire/percent.h"

static void test_queries(void **state)
{
	static const struct {
		const char *query, *name, *want; /* NULL: it is not there, or is none */
	} rows[] = {
		{ "a=1&b=2", "b", "2" },
		{ "b=1&b=2", "b", "1" },
		{ "a=x+y%2Bz%26", "a", "x y+z&" },
		{ "a=", "a", "" },
		{ "a", "a", "" },
		{ "a=b=c", "a", "b=c" },
		{ "=x&&ab=1", "a", NULL },
		{ "", "a", NULL },
		{ "a=%4", "a", NULL },
		{ "a=%00", "a", NULL },
		{ "A=1", "a", NULL },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

		th_buf_add_cstr(&out, "before");
		assert_int_equal(th_query_get(th_str_of(rows[i].query), rows[i].name, &out),
				 rows[i].want != NULL);
		if (rows[i].want)
			assert_true(th_str_is(th_buf_str(&out), rows[i].want));
	}
}

/* A zero would end it for those who read it as a text of C. */
static void test_a_zero(void **state)
{
	struct th_buf out TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);

	(void)state;
	assert_false(th_percent_decode(th_str_n("a\0b", 3), &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_queries),
					    cmocka_unit_test(test_a_zero) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
