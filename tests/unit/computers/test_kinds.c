/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of the kinds say, and the options that one kind alone has. */
#include "computers/computers.h"

#include "unit.h"

#include "base/limits.h"

#define TH_FIELDS_phone(F)                                         \
	F(phone, str, serial, "serial", TH_REQ | TH_NONEMPTY, "x") \
	F(phone, int, port, "port", TH_POSITIVE, "x")
TH_STRUCT(phone)
TH_TABLE(phone, "options of a kind that is no part of the program", false)

static const struct th_computer_kind phone = { .name = "phone", .own = &th_phone_table };
static struct th_err err;

static void test_rows(void **state)
{
	struct th_buf names = TH_BUF_INIT(TH_ERR_MSG_MAX);

	(void)state;
	for (size_t i = 0; th_computer_kinds[i]; i++) {
		const struct th_computer_kind *k = th_computer_kinds[i];

		assert_ptr_equal(th_computer_find(th_str_of(k->name)), k);
		assert_true(k->name[0] && k->summary[0] && (k->caps & TH_CAP_SEE));
		assert_true(k->open && k->size && k->see && k->act && k->reset && k->fd &&
			    k->dispatch && k->close);
		/* Programs to start need a way to start them. */
		assert_true(!(k->shared & TH_HAS_START) || k->prefix);
		assert_true(!(k->caps & TH_CAP_SETTLE) || k->settle);
	}
	th_computer_names(0, " or ", &names);
	assert_string_equal(names.ptr, "desktop, x11, browser or browser_window");
	th_buf_clear(&names);
	th_computer_names(TH_HAS_BUS, " or ", &names);
	assert_string_equal(names.ptr, "x11");
	assert_string_equal(TH_COMPUTER_WORDS, "desktop x11 browser browser_window ");
	th_buf_deinit(&names);
}

static void test_own(void **state)
{
	static const char *const bad[] = { "",
					   "{}",
					   "[]",
					   "{\"serial\":\"\"}",
					   "nothing",
					   "{\"serial\":\"a\",\"port\":0}",
					   "{\"serial\":\"a\",\"host\":1}" };
	struct th_json_doc *doc;
	struct th_arena a;
	struct th_phone p;

	(void)state;
	th_arena_init(&a, 64 * TH_KIB);
	assert_int_equal(
	    th_computer_own(&phone, TH_STR("{\"serial\":\"a1\",\"port\":7}"), &a, &doc, &p, &err),
	    TH_OK);
	assert_true(th_str_is(p.serial, "a1"));
	assert_int_equal(p.port, 7);
	th_json_free(doc);
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		assert_int_not_equal(
		    th_computer_own(&phone, th_str_of(bad[i]), &a, &doc, NULL, &err), TH_OK);
		th_json_free(doc);
	}
	for (size_t i = 0; th_computer_kinds[i]; i++) {
		const struct th_computer_kind *k = th_computer_kinds[i];

		if (k->own)
			continue;
		assert_int_equal(th_computer_own(k, TH_STR(""), &a, &doc, NULL, &err), TH_OK);
		assert_int_equal(th_computer_own(k, TH_STR("{}"), &a, &doc, NULL, &err), TH_EUSAGE);
	}
	th_arena_deinit(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
