/* SPDX-License-Identifier: Apache-2.0 */
/* Who watches a display: how many can, and which orders are none. */
#include "display/watch.h"

#include <stdio.h>

#include "unit.h"

static enum th_code never(struct th_computer *c, struct th_live_look *ret, struct th_err *err)
{
	(void)c;
	(void)ret;
	return th_fail(err, TH_EPROTO, "nobody looks here");
}

static enum th_code order(struct th_watches *w, const char *op, int id, struct th_err *err)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	char text[100];

	snprintf(text, sizeof(text), "{\"op\":\"%s\",\"id\":%d}", op, id);
	assert_int_equal(th_json_parse(th_str_of(text), &doc, err), TH_OK);
	return th_watches_order(w, strcmp(op, "watch") == 0 ? TH_EXEC_OP_WATCH : TH_EXEC_OP_UNWATCH,
				th_json_root(doc), err);
}

static void test_as_many_as_there_may_be(void **state)
{
	const struct th_computer_kind kind = { .name = "played", .live = never };
	struct th_computer computer = { .kind = &kind };
	struct th_watches w = {};
	struct th_err err = {};

	(void)state;
	th_watches_init(&w, &computer, NULL);
	for (int i = 1; i <= TH_LIVE_WATCHES_MAX; i++)
		assert_int_equal(order(&w, "watch", i, &err), TH_OK);
	assert_int_equal(order(&w, "watch", TH_LIVE_WATCHES_MAX + 1, &err), TH_EPROTO);
	assert_string_equal(err.msg, "more than 16 watches");
	assert_int_equal(order(&w, "watch", 1, &err), TH_EPROTO); /* of the same number */
	assert_int_equal(order(&w, "unwatch", 7, &err), TH_OK);
	assert_int_equal(order(&w, "watch", TH_LIVE_WATCHES_MAX + 1, &err), TH_OK);
	th_watches_deinit(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_as_many_as_there_may_be) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
