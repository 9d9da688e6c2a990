/* SPDX-License-Identifier: Apache-2.0 */
/* Events that are looked for. */
#include "unit.h"

#include "events/search.h"

static void events_match(void **state)
{
	const struct {
		struct th_search s;
		bool want;
	} rows[] = {
		{ { .query = TH_STR_INIT("HELLO") }, true },
		{ { .query = TH_STR_INIT("hello!") }, false },
		{ { .to = 4 }, false },
		{ { .from = 5, .to = 5 }, true },
		{ { .from = 6 }, false },
		{ { .source = TH_STR_INIT("agent") }, false },
		{ { .kinds = TH_STR_INIT("call, message") }, true },
		{ { .kinds = TH_STR_INIT("mess") }, false },
		{ { .without = TH_STR_INIT("message") }, false },
	};
	const struct th_searched ev = { 5, TH_STR("user"), TH_STR("message"),
					TH_STR("{\"content\":\"hello\"}") };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++)
		assert_int_equal(th_search_matches(&rows[i].s, &ev), rows[i].want);
}

static void oldest_or_newest(void **state)
{
	struct th_search s = { .limit = 3 };
	struct th_found oldest = {}, newest = {}, all = {};
	struct th_searched ev = {};
	size_t seen = 0;

	(void)state;
	for (ev.seq = 1; ev.seq <= 10; ev.seq++) {
		seen++;
		if (!th_search_add(&s, &ev, &oldest))
			break;
	}
	assert_int_equal(seen, 3);
	assert_int_equal(th_search_nth(&s, &oldest, 0), 1);
	assert_int_equal(th_search_nth(&s, &oldest, 2), 3);
	s.newest = true;
	for (ev.seq = 1; ev.seq <= 10; ev.seq++)
		assert_true(th_search_add(&s, &ev, &newest));
	assert_int_equal(th_search_count(&s, &newest), 3);
	assert_int_equal(th_search_nth(&s, &newest, 0), 10);
	assert_int_equal(th_search_nth(&s, &newest, 2), 8);
	/* No more than there is room for. */
	s.limit = 2 * TH_SEARCH_MAX;
	for (ev.seq = 1; ev.seq <= TH_SEARCH_MAX + 1; ev.seq++)
		(void)th_search_add(&s, &ev, &all);
	assert_int_equal(th_search_count(&s, &all), TH_SEARCH_MAX);
	assert_int_equal(th_search_nth(&s, &all, TH_SEARCH_MAX - 1), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_match),
		cmocka_unit_test(oldest_or_newest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
