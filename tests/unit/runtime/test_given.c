/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of clients are for the session that they were given to, and for no other of its name. */
#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/mask.h"
#include "runtime/given.h"
#include "runtime/internal.h"

static void on_ready(void *ctx, struct th_handle h, const struct th_err *err)
{
	assert_null(err);
	*(struct th_handle *)ctx = h;
}

static bool has_any(const struct th_runtime_session *s)
{
	struct th_mask *mask = th_mask_new();
	struct th_err err;
	bool ret;

	assert_int_equal(th_runtime_given_mask(s, mask, &err), TH_OK);
	ret = !th_mask_empty(mask);
	th_mask_free(mask);
	return ret;
}

static void give(struct th_runtime *rt, struct th_handle h)
{
	struct th_json_doc *doc;
	struct th_err err;

	assert_int_equal(th_json_parse(TH_STR("{\"TOKEN\":\"of one user\"}"), &doc, &err), TH_OK);
	assert_int_equal(th_runtime_give(rt, h, th_json_root(doc), &err), TH_OK);
	th_json_free(doc);
}

/* One that is deleted by another process leaves its secrets here: nobody says so. */
static void test_another_of_that_name(void **state)
{
	struct th_agent agent = { .name = TH_STR("a"),
				  .model = TH_STR("gpt-5.4"),
				  .base_url = TH_STR("http://127.0.0.1:9") };
	struct th_start start = { .agent = &agent, .session_id = TH_STR("ours") };
	struct th_runtime_options options = { .store_url = TH_STR("memory:"),
					      .store_create = true };
	struct th_observer observer = { 0 };
	struct th_config *config;
	struct th_runtime *rt;
	struct th_runtime_session *s;
	struct th_handle h = { 0 };
	struct th_err err = { 0 };
	int64_t born_ms;

	(void)state;
	assert_int_equal(th_config_load(TH_STR(""), &config, &err), TH_OK);
	options.config = config;
	assert_int_equal(th_runtime_new(&options, &rt, &err), TH_OK);
	if (th_runtime_start(rt, &start, false, &observer, on_ready, &h, &err))
		fail_msg("%s", err.msg);
	s = th_runtime_find(rt, h.index, h.generation);
	born_ms = th_driver_session(rt->driver, h)->created_ms;
	assert_false(has_any(s));
	give(rt, h);
	assert_true(has_any(s));
	/* Taken up again, it has them; another one of that name has none. */
	s->stored = true;
	s->row.created_ms = born_ms;
	assert_true(has_any(s));
	s->row.created_ms = born_ms + 1;
	assert_false(has_any(s));
	give(rt, h);
	assert_true(has_any(s));
	s->row.created_ms = born_ms;
	assert_false(has_any(s));
	/* As one session after the other: none of them is open. */
	give(rt, h);
	for (int i = 1; i <= TH_SECRETS_SESSIONS_MAX; i++) {
		char name[32];
		const struct th_str ours = s->id;

		assert_true(has_any(s));
		snprintf(name, sizeof(name), "other %d", i);
		s->id = th_str_of(name);
		give(rt, h);
		s->id = ours;
	}
	assert_false(has_any(s)); /* its own were used the longest time ago */
	s->stored = false;
	th_runtime_free(rt);
	th_config_free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_of_that_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
