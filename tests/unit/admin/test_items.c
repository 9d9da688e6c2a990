/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a stored session as a list, whole and in parts. */
#include "admin/items.h"

#include "../store/lab.h"

#include "base/json.h"
#include "base/limits.h"

const struct lab_kind *lab_kind;

#define MESSAGES 5 /* behind SESSION_CREATED */

static struct th_store *store;

static int setup(void **state)
{
	struct lab_log log;

	(void)state;
	store = lab_open("memory:", NULL);
	lab_log_init(&log, "s");
	return lab_append_now(store, &log, 1 + MESSAGES) == TH_OK ? 0 : -1;
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
		cmocka_unit_test_setup_teardown(what_cannot_be_read, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
