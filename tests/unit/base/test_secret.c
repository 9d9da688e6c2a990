/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"
#include "rig.h"

static void compares(void **state)
{
	struct th_secret *s = th_secret_new(TH_STR("sk-abc\0x"));

	(void)state;
	assert_str(th_secret_expose(s), TH_STR("sk-abc\0x"));
	assert_true(th_secret_eq(s, TH_STR("sk-abc\0x")));
	assert_false(th_secret_eq(s, TH_STR("sk-abc\0y")));
	assert_false(th_secret_eq(s, TH_STR("Sk-abc\0x")));
	assert_false(th_secret_eq(s, TH_STR("sk-abc\0")));
	assert_false(th_secret_eq(s, TH_STR("sk-abc\0x\0")));
	assert_false(th_secret_eq(s, TH_STR("sk-abc\0xsk-abc\0x")));
	assert_false(th_secret_eq(s, (struct th_str){ NULL, 0 }));
	assert_null(th_secret_free(s));
	assert_null(th_secret_free(NULL));
}

static void empty(void **state)
{
	struct th_secret *s = th_secret_new((struct th_str){ NULL, 0 });

	(void)state;
	assert_true(th_secret_eq(s, TH_STR("")));
	assert_false(th_secret_eq(s, TH_STR("\0")));
	assert_false(th_secret_eq(s, TH_STR("a")));
	assert_int_equal(th_secret_expose(s).len, 0);
	assert_null(th_secret_free(s));
}

static void owns_its_copy(void **state)
{
	char text[] = "token";
	struct th_secret *s = th_secret_new(th_str_of(text));

	(void)state;
	memset(text, 0, sizeof(text));
	assert_true(th_secret_eq(s, TH_STR("token")));
	assert_null(th_secret_free(s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compares),
		cmocka_unit_test(empty),
		cmocka_unit_test(owns_its_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
