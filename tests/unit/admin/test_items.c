/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a stored session as a list, whole and in parts. */
#include "admin/items.h"

#include "../store/lab.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/limits.h"

const struct lab_kind *lab_kind;

#define MESSAGES 5 /* behind SESSION_CREATED */

static struct th_store *store;
static struct lab_log written;

static int setup(void **state)
{
	(void)state;
	store = lab_open("memory:", NULL);
	lab_log_init(&written, "s");
	return lab_append_now(store, &written, 1 + MESSAGES) == TH_OK ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	th_store_close(store);
	return 0;
}

/* How many items there are, and the first one's text in *ret_first (th_json_free ends it). */
static size_t read_items(int64_t first, size_t count, struct th_json_doc **ret)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	size_t found;

	assert_int_equal(th_items_read(store, TH_STR("s"), 0, first, count, &out, &lab_err), TH_OK);
	assert_int_equal(th_json_parse(th_buf_str(&out), ret, &lab_err), TH_OK);
	th_buf_deinit(&out);
	found = th_json_count(th_json_root(*ret));
	return found;
}

static struct th_str text_at(struct th_json_doc *doc, size_t at)
{
	return th_json_get_str(th_json_at(th_json_root(doc), at), "content");
}

static void parts_of_a_history(void **state)
{
	static const struct {
		int64_t first;
		size_t count, wanted, from;
	} cases[] = {
		{ 0, 0, MESSAGES, 0 },
		{ 0, MESSAGES, MESSAGES, 0 },
		{ 0, MESSAGES + 1, MESSAGES, 0 },
		{ 1, 0, MESSAGES - 1, 1 },
		{ 1, 2, 2, 1 },
		{ MESSAGES - 1, 0, 1, MESSAGES - 1 },
		{ MESSAGES, 0, 0, 0 },
		{ INT64_MAX, SIZE_MAX, 0, 0 },
		{ -1, 0, 1, MESSAGES - 1 },
		{ -2, 1, 1, MESSAGES - 2 },
		{ -MESSAGES, 0, MESSAGES, 0 },
		{ -MESSAGES - 1, 0, MESSAGES, 0 },
		{ INT64_MIN, 2, 2, 0 },
	};
	struct th_json_doc *all = NULL, *part = NULL;

	(void)state;
	assert_int_equal(read_items(0, 0, &all), MESSAGES);
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		size_t found = read_items(cases[i].first, cases[i].count, &part);

		if (found != cases[i].wanted)
			fail_msg("case %zu: %zu items", i, found);
		for (size_t k = 0; k < found; k++)
			assert_true(th_str_eq(text_at(part, k), text_at(all, cases[i].from + k)));
		part = th_json_free(part);
	}
	th_json_free(all);
}

/* The newest is taken out, and what comes then has another number. */
static void numbers(void **state)
{
	struct lab_append *a = th_alloc(sizeof(*a));
	struct th_append append;
	struct th_batch batch = { .appends = &append, .append_count = 1 };
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_json_doc *doc = NULL;
	const struct th_json *items;

	(void)state;
	lab_make(&written, 2, a, &append);
	a->events[0].kind = TH_EV_ITEMS_REMOVED;
	a->events[0].data = TH_STR("{\"count\":1}");
	lab_rechain(&written, a, &append);
	assert_int_equal(store->kind->commit_now(store, &batch, &lab_err), TH_OK);
	assert_int_equal(th_items_read_numbered(store, TH_STR("s"), 0, &out, &lab_err), TH_OK);
	assert_int_equal(th_json_parse(th_buf_str(&out), &doc, &lab_err), TH_OK);
	items = th_json_get(th_json_root(doc), "items");
	assert_int_equal(th_json_count(items), MESSAGES);
	assert_int_equal(th_json_get_int(th_json_at(items, 0), "number", -1), 0);
	assert_int_equal(th_json_get_int(th_json_at(items, MESSAGES - 2), "number", -1),
			 MESSAGES - 2);
	assert_int_equal(th_json_get_int(th_json_at(items, MESSAGES - 1), "number", -1), MESSAGES);
	assert_int_equal(th_json_get_int(th_json_root(doc), "next", -1), MESSAGES + 1);
	th_json_free(doc);
	th_buf_deinit(&out);
	free(a);
}

static void what_cannot_be_read(void **state)
{
	struct th_buf little = TH_BUF_INIT(16), out = TH_BUF_INIT(TH_MIB);

	(void)state;
	assert_int_equal(th_items_read(store, TH_STR("s"), 0, 0, 0, &little, &lab_err), TH_ELIMIT);
	assert_int_equal(th_items_read(store, TH_STR("other"), 0, 0, 0, &out, &lab_err), TH_ENOENT);
	th_buf_deinit(&little);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(parts_of_a_history, setup, teardown),
		cmocka_unit_test_setup_teardown(numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_read, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
