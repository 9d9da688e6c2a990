/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "io/variable.h"

static void a_name_is_data(void **state)
{
	static const char text[] = "TH_TESTED and more";
	struct th_str name = th_str_n(text, 9);

	(void)state;
	assert_int_equal(setenv("TH_TESTED", "value", 1), 0);
	assert_string_equal(th_variable(name), "value");
	assert_null(th_variable(th_str_n(text, 8)));
	assert_null(th_variable(TH_STR("")));
	assert_null(th_variable((struct th_str){ 0 }));
	assert_null(th_variable(th_str_n("TH_TESTED\0x", 11)));
}

static void a_name_has_a_maximum(void **state)
{
	char name[TH_VARIABLE_NAME_MAX + 2];

	(void)state;
	memset(name, 'N', sizeof(name));
	for (size_t size = TH_VARIABLE_NAME_MAX; size < sizeof(name); size++) {
		name[size] = '\0';
		assert_int_equal(setenv(name, "value", 1), 0);
		assert_true(!th_variable(th_str_of(name)) == (size > TH_VARIABLE_NAME_MAX));
		assert_int_equal(unsetenv(name), 0);
		name[size] = 'N';
	}
}

static void a_token_is_there_or_named(void **state)
{
	struct th_secret *token;
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(setenv("TH_TESTED", "value", 1), 0);
	assert_int_equal(th_variable_token(TH_STR("TH_TESTED"), &token, &err), TH_OK);
	assert_true(th_secret_eq(token, TH_STR("value")));
	th_secret_free(token);
	assert_int_equal(th_variable_token(TH_STR(""), &token, &err), TH_OK);
	assert_null(token);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(i ? unsetenv("TH_TESTED") : setenv("TH_TESTED", "", 1), 0);
		assert_int_equal(th_variable_token(TH_STR("TH_TESTED"), &token, &err), TH_EUSAGE);
		assert_null(token);
		assert_string_equal(err.msg, "the variable TH_TESTED is not set");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_data),
		cmocka_unit_test(a_name_has_a_maximum),
		cmocka_unit_test(a_token_is_there_or_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
