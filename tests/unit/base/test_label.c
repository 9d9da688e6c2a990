/* SPDX-License-Identifier: Apache-2.0 */
#include "base/label.h"

#include "rig.h"

static const char *fault_of(size_t count, struct th_str *list, size_t *at)
{
	const struct th_strs all = { list, count };

	*at = 99;
	return th_labels_fault(&all, at);
}

static void lists(void **state)
{
	struct th_str good[] = { TH_STR("gpu"),
				 TH_STR("eu-west_1.a"),
				 TH_STR("a23456789012345678901234"), /* the longest */
				 TH_STR("d"),
				 TH_STR("e"),
				 TH_STR("f"),
				 TH_STR("g"),
				 TH_STR("h"),
				 TH_STR("i") };
	struct th_str bad[] = { TH_STR(""),
				TH_STR("GPU"),
				TH_STR("a b"),
				TH_STR("a,b"),
				TH_STR("a:b"),
				TH_STR("\xc3\xa9"),
				TH_STR("a234567890123456789012345") };
	struct th_str twice[] = { TH_STR("a"), TH_STR("b"), TH_STR("a") };
	size_t at;

	(void)state;
	assert_null(fault_of(0, NULL, &at));
	assert_null(fault_of(TH_LABELS_MAX, good, &at));
	assert_non_null(strstr(fault_of(TH_LABELS_MAX + 1, good, &at), "one too many"));
	assert_int_equal(at, TH_LABELS_MAX);
	for (size_t i = 0; i < TH_COUNT(bad); i++)
		assert_non_null(strstr(fault_of(1, &bad[i], &at), "1 to 24 of a-z"));
	assert_string_equal(fault_of(3, twice, &at), "stands there twice");
	assert_int_equal(at, 2);
}

static void texts(void **state)
{
	struct th_str text = TH_STR("  eu, gpu  a");
	struct th_buf made TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_LABELS_TEXT_MAX);

	(void)state;
	assert_true(th_str_is(th_label_next(&text), "eu"));
	assert_true(th_str_is(th_label_next(&text), "gpu"));
	assert_true(th_str_is(th_label_next(&text), "a"));
	assert_int_equal(th_label_next(&text).len, 0);
	assert_true(th_labels_has(TH_STR("eu gpu"), TH_STR("gpu")));
	assert_false(th_labels_has(TH_STR("eu gpu"), TH_STR("gp")));
	assert_false(th_labels_has(TH_STR(""), TH_STR("gpu")));
	assert_true(th_labels_have(TH_STR("eu gpu x"), TH_STR("x, eu")));
	assert_false(th_labels_have(TH_STR("eu gpu"), TH_STR("gpu, x")));
	assert_true(th_labels_have(TH_STR(""), TH_STR("")));
	th_labels_add(&made, TH_STR("gpu"), ", ");
	th_labels_add(&made, TH_STR("eu"), ", ");
	th_labels_add(&made, TH_STR("gpu"), ", ");
	assert_true(th_str_is(th_buf_str(&made), "gpu, eu"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
