/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "unit.h"

#include "actions/browse.h"
#include "base/limits.h"
#include "events/effect.h"

static struct th_err err;

/* How many steps; -1: refused, and `err` says why. */
static int read_it(const char *text, struct th_browse_step *first)
{
	struct th_json_doc *doc TH_CLEANUP(th_json_freep) = NULL;
	struct th_arena a TH_CLEANUP(th_arena_deinit) = {};
	struct th_browse b;
	struct th_browse_step *steps;
	size_t count;

	th_arena_init(&a, TH_MIB);
	assert_int_equal(th_json_parse(th_str_of(text), &doc, &err), TH_OK);
	if (th_table_parse(&th_browse_table, th_json_root(doc), &a, &b, &err) ||
	    th_browse_check(&b, &steps, &count, &err))
		return -1;
	*first = steps[0];
	return (int)count;
}

static void test_good(void **state)
{
	static const struct {
		const char *text;
		int count;
		enum th_browse_kind kind;
	} rows[] = {
		{ "{\"action\":\"snapshot\"}", 1, TH_BROWSE_SNAPSHOT },
		{ "{\"action\":\"open\"}", 1, TH_BROWSE_OPEN },
		{ "{\"action\":\"goto\",\"url\":\"http://a\"}", 1, TH_BROWSE_OPEN },
		{ "{\"action\":\"go_back\"}", 1, TH_BROWSE_BACK },
		{ "{\"action\":\"fill\",\"ref\":3,\"text\":\"a\"}", 1, TH_BROWSE_TYPE },
		{ "{\"action\":\"click\",\"x\":0,\"y\":0}", 1, TH_BROWSE_CLICK },
		{ "{\"action\":\"click\",\"ref\":1,\"count\":3}", 1, TH_BROWSE_CLICK },
		{ "{\"steps\":[{\"action\":\"back\"},{\"action\":\"read\"}]}", 2, TH_BROWSE_BACK },
		{ "{\"action\":\"upload\",\"ref\":1}", 1, TH_BROWSE_UPLOAD },
		/* Cua's and BrowserGym's. */
		{ "{\"action\":\"visit_url\",\"url\":\"http://a\"}", 1, TH_BROWSE_OPEN },
		{ "{\"action\":\"web_search\",\"query\":\"a\"}", 1, TH_BROWSE_SEARCH },
		{ "{\"action\":\"get_current_url\"}", 1, TH_BROWSE_TABS },
		{ "{\"action\":\"scroll\",\"delta_y\":5}", 1, TH_BROWSE_SCROLL },
		{ "{\"action\":\"dblclick\",\"index\":7}", 1, TH_BROWSE_CLICK },
		{ "{\"action\":\"select_option\",\"ref\":1,\"values\":[\"a\"]}", 1,
		  TH_BROWSE_SELECT },
		{ "{\"action\":\"drag_and_drop\",\"ref\":1,\"to\":2}", 1, TH_BROWSE_DRAG },
		{ "{\"action\":\"upload_file\",\"ref\":1}", 1, TH_BROWSE_UPLOAD },
		{ "{\"action\":\"noop\"}", 1, TH_BROWSE_WAIT },
	};
	struct th_effect_looks looks = { "action", th_browse_looks };
	struct th_browse_step s;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		if (read_it(rows[i].text, &s) != rows[i].count)
			fail_msg("%s: %s", rows[i].text, err.msg);
		assert_int_equal(s.action, rows[i].kind);
		/* A word is a look for what it stands for. */
		if (rows[i].count == 1)
			assert_true(th_effect_only_looks(&looks, th_str_of(rows[i].text)) ==
				    th_browse_only_looks(rows[i].kind));
	}
	assert_int_equal(read_it("{\"action\":\"scroll\",\"delta_x\":3,\"delta_y\":5}", &s), 1);
	assert_true(s.dx == 3 && s.dy == 5);
	assert_int_equal(read_it("{\"action\":\"dblclick\",\"index\":7}", &s), 1);
	assert_true(s.ref == 7 && s.count == 2);
	/* `fill` is what others call to type into an empty field. */
	assert_int_equal(read_it(rows[4].text, &s), 1);
	assert_true(s.clear);
	assert_int_equal(read_it("{\"action\":\"type\",\"text\":\"a\"}", &s), 1);
	assert_true(!s.clear && s.x == -1 && s.y == -1 && s.count == 1 && s.button == 0);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "{}", "action: is missing" },
		{ "{\"action\":\"jump\"}", "action" },
		{ "{\"action\":\"snapshot\",\"steps\":[{\"action\":\"click\",\"ref\":1}]}",
		  "not both" },
		{ "{\"action\":\"click\"}", "click needs ref, or x and y" },
		{ "{\"action\":\"click\",\"x\":1}", "belong together" },
		{ "{\"action\":\"click\",\"ref\":-1}", "ref" },
		{ "{\"action\":\"click\",\"ref\":1,\"count\":4}", "count: must be 1 to 3" },
		{ "{\"action\":\"type\",\"ref\":1}", "type needs text" },
		{ "{\"action\":\"select\",\"ref\":1}", "select needs ref and values" },
		{ "{\"action\":\"drag\",\"ref\":1}", "drag needs ref and to" },
		{ "{\"action\":\"key\",\"ref\":1}", "key needs keys" },
		{ "{\"action\":\"scroll\"}", "scroll needs" },
		{ "{\"action\":\"search\"}", "search needs query" },
		{ "{\"action\":\"tab\"}", "tab needs tab" },
		{ "{\"action\":\"evaluate\"}", "evaluate needs script" },
		{ "{\"action\":\"wait\",\"seconds\":121}", "seconds: must be 1 to 120" },
		{ "{\"steps\":[{\"action\":\"back\"},{\"action\":\"tab\"}]}", "step 2 of 2: tab" },
		{ "{\"action\":\"back\",\"password\":\"x\"}", "password" },
	};
	struct th_browse_step s;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		assert_int_equal(read_it(rows[i].text, &s), -1);
		if (!strstr(err.msg, rows[i].words))
			fail_msg("%s: %s", rows[i].text, err.msg);
	}
}

static void test_limit(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	struct th_browse_step s;

	(void)state;
	for (int more = 0; more < 2; more++) {
		th_buf_clear(&text);
		th_buf_add_cstr(&text, "{\"steps\":[{\"action\":\"back\"}");
		for (int i = 1; i < TH_ACTIONS_MAX + more; i++)
			th_buf_add_cstr(&text, ",{\"action\":\"back\"}");
		th_buf_add_cstr(&text, "]}");
		assert_int_equal(read_it(text.ptr, &s), more ? -1 : TH_ACTIONS_MAX);
	}
	th_buf_deinit(&text);
}

/* The classes of the calls are those of the kinds. */
static void test_classes(void **state)
{
	(void)state;
	for (int i = 0; i < TH_BROWSE_COUNT; i++) {
		const char *name = th_browse_name((enum th_browse_kind)i);
		assert_int_equal(th_names_find(th_browse_looks, th_str_of(name)) >= 0,
				 th_browse_only_looks((enum th_browse_kind)i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_classes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
