/* SPDX-License-Identifier: Apache-2.0 */
/* Tabs and frames as a page makes them: no more of them than there is room for. */
#include "browser/tabs.h"

#include <stdlib.h>

#include "unit.h"

#include "base/limits.h"

#define PARENT "P"

/* A browser with a tab, and as many frames as it may have. */
static struct th_browser *browser_full(void)
{
	struct th_browser *b = th_alloc(sizeof(*b));

	*b = (struct th_browser){ .tab_count = 1,
				  .session_count = TH_BROWSER_SESSIONS_MAX,
				  .active = 1,
				  .last_tab = 1,
				  .drawn = 7 };
	b->tabs[0].number = 1;
	for (size_t i = 0; i < TH_BROWSER_SESSIONS_MAX; i++) {
		b->sessions[i].tab = 1;
		b->sessions[i].space = ++b->last_space;
	}
	memcpy(b->sessions[0].id, PARENT, sizeof(PARENT));
	return b;
}

static void test_a_frame_too_many(void **state)
{
	static const char text[] = "{\"sessionId\": \"0123456789ABCDEF0123456789ABCDEF\", "
				   "\"targetInfo\": {\"targetId\": \"T\", \"type\": \"iframe\"}}";
	struct th_browser *b = browser_full();
	struct th_json_doc *doc = NULL;
	struct th_cdp_message m = { .session = TH_STR(PARENT) };
	struct th_err err = { 0 };

	(void)state;
	assert_int_equal(th_json_parse(th_str_of(text), &doc, &err), TH_OK);
	m.params = th_json_root(doc);
	assert_int_equal(th_browser_attached(b, &m, &err), TH_OK); /* nothing is said to it */
	assert_int_equal(b->session_count, TH_BROWSER_SESSIONS_MAX);
	assert_int_equal(b->active, 1);
	assert_int_equal(b->last_tab, 1);
	assert_int_equal(b->drawn, 7);
	assert_null(th_browser_session_find(b, th_json_get_str(m.params, "sessionId")));
	th_json_free(doc);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_frame_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
