/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime reads from its store for a server: pages of sessions, blobs, what waits. */
#include "base/json.h"
#include "base/limits.h"
#include "rig.h"

static void says_hello(void *ctx, const char *request, int nth, struct th_buf *items)
{
	(void)ctx;
	(void)request;
	(void)nth;
	scripted_say(items, "Hello to you.");
}

/* The names in a page, and its cursor; "" at the end. */
static size_t page(struct thole_runtime *rt, const char *const *options, char names[256],
		   char next[256])
{
	struct th_json_doc *doc = NULL;
	struct th_json_iter it;
	char *json = NULL;
	size_t count = 0;

	names[0] = next[0] = '\0';
	GOOD(thole_runtime_page(rt, options, &json, &error));
	assert_int_equal(th_json_parse(th_str_of(json), &doc, NULL), TH_OK);
	it = th_json_iter(th_json_get(th_json_root(doc), "sessions"));
	while (th_json_next(&it)) {
		struct th_str id = th_json_get_str(it.val, "session_id");

		assert_true(th_json_is_object(th_json_get(it.val, "metadata")));
		assert_true(th_json_get_int(it.val, "head_seq", 0) > 0);
		snprintf(names + strlen(names), 256 - strlen(names), "%.*s ", TH_FMT(id));
		count++;
	}
	snprintf(next, 256, "%.*s", TH_FMT(th_json_get_str(th_json_root(doc), "next")));
	th_json_free(doc);
	thole_free(json);
	return count;
}

static void pages_of_sessions(void **state)
{
	struct scripted *model = scripted_new(says_hello, NULL);
	struct thole_runtime *rt = runtime_at(scripted_url(model), "memory:");
	struct thole_agent *agent = agent_of("a");
	struct thole_session *s = NULL;
	char names[256], next[256], all[256], walked[256] = "", after[256], *json = NULL;
	static char text_too_long[TH_PATH_LEN_MAX + 2];
	const char *orders[] = { "updated", "created" };

	(void)state;
	for (int i = 0; i < 5; i++) {
		char id[16];

		snprintf(id, sizeof(id), "s%d", i);
		GOOD(thole_session_new(rt, agent, id, &s, &error));
		GOOD(thole_session_run(s, i % 2 ? "An odd task" : "Some task", &error));
	}
	assert_int_equal(page(rt, NULL, all, next), 5);
	assert_string_equal(next, "");
	for (size_t k = 0; k < 2; k++) {
		const char *first[] = { "order", orders[k], NULL };
		const char *options[] = { "order", orders[k], "limit", "2", NULL, NULL, NULL };

		assert_int_equal(page(rt, first, all, next), 5);
		walked[0] = '\0';
		for (int n = 0; n < 3; n++) {
			assert_int_equal(page(rt, options, names, next), n < 2 ? 2 : 1);
			strcat(walked, names);
			options[4] = "after";
			options[5] = strcpy(after, next);
			assert_int_equal(strlen(next) > 0, n < 2);
		}
		assert_string_equal(walked, all);
	}
	assert_int_equal(page(rt, (const char *[]){ "title", "ODD", NULL }, names, next), 2);
	assert_int_equal(page(rt, (const char *[]){ "prefix", "s3", NULL }, names, next), 1);
	assert_string_equal(names, "s3 ");
	assert_int_equal(page(rt, (const char *[]){ "state", "waiting", NULL }, names, next), 0);
	assert_int_equal(page(rt, (const char *[]){ "limit", "1000", NULL }, names, next), 5);
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "limit", "1001", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "limit", "0", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "after", "x", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "after", "c1.a", "order", "updated", NULL },
			       &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "order", "updated", "after", "c1.a", NULL },
			       &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "state", "tired", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "metadata", "k", NULL }, &json, &error));
	BAD(THOLE_EUSAGE,
	    thole_runtime_page(rt, (const char *[]){ "colour", "red", NULL }, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_page(rt, (const char *[]){ "user", NULL }, &json, &error));
	memset(text_too_long, 'x', sizeof(text_too_long) - 1);
	BAD(THOLE_ELIMIT, thole_runtime_page(rt, (const char *[]){ "title", text_too_long, NULL },
					     &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_page(NULL, NULL, &json, &error));
	BAD(THOLE_EUSAGE, thole_runtime_page(rt, NULL, NULL, &error));
	assert_null(json);
	GOOD(thole_runtime_free(rt));
	thole_agent_free(agent);
	scripted_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_of_sessions),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
