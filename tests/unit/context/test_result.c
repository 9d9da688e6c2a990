/* SPDX-License-Identifier: Apache-2.0 */
/* test_result.c - what is shown of a long result. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "context/result.h"

static const char *shorten(const char *output, const struct th_result_shown *how)
{
	static char text[64 * 1024];
	struct th_buf out = TH_BUF_INIT(TH_EVENT_DATA_MAX);
	struct th_json_doc *doc = NULL;
	struct th_err err;
	bool done = th_result_shorten(th_str_of(output), how, &out);

	snprintf(text, sizeof(text), "%.*s", TH_FMT(th_buf_str(&out)));
	if (done) /* JSON again, whatever was cut */
		assert_int_equal(th_json_parse(th_buf_str(&out), &doc, &err), TH_OK);
	th_json_free(doc);
	th_buf_deinit(&out);
	return done ? text : NULL;
}

static void test_a_text(void **unused)
{
	struct th_result_shown how = { .max = 10, .seq = 7 };

	(void)unused;
	assert_null(shorten("\"0123456789\"", &(struct th_result_shown){ .max = 12 }));
	assert_null(shorten("\"0123456789abcdef\"", &(struct th_result_shown){ 0 }));
	assert_string_equal(shorten("\"0123456789\"", &how), "\"0123456789\"");
	assert_string_equal(shorten("\"0123456789abcdef\"", &how),
			    "\"01234\\n[... 6 bytes of this result are not shown ...]\\nbcdef\"");
	how.history = true;
	assert_non_null(strstr(shorten("\"0123456789abcdef\"", &how),
			       "read on with history {\\\"event\\\": 7, \\\"offset\\\": 5} ..."));
	/* No character is cut in two. */
	assert_string_equal(shorten("\"abcd\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4zzzz\"",
				    &(struct th_result_shown){ .max = 10 }),
			    "\"abcd\\n[... 8 bytes of this result are not shown ...]\\nzzzz\"");
}

static void test_parts(void **unused)
{
	static const char parts[] =
	    "[{\"type\":\"text\",\"text\":\"0123456789abcdef\"},{\"type\":"
	    "\"image\",\"blob\":\"x\"},{\"type\":\"text\",\"text\":\"more\"}]";
	struct th_result_shown how = { .max = 18, .seq = 7 };

	(void)unused;
	assert_null(shorten(parts, &(struct th_result_shown){ .max = 40 }));
	/* Pictures stay; texts share what there is, the first comes first. */
	assert_string_equal(
	    shorten(parts, &how),
	    "[{\"type\":\"text\",\"text\":\"0123456789abcdef\"},{\"type\":\"image\","
	    "\"blob\":\"x\"},{\"type\":\"text\",\"text\":\"m\\n[... 2 bytes of "
	    "this result are not shown ...]\\ne\"}]");
	assert_null(shorten("{\"is\":\"no result\"}", &(struct th_result_shown){ .max = 1 }));
	assert_null(shorten("", &how));
}

/* A blob has more than the event: it is named where the model can read it. */
static void test_a_blob(void **unused)
{
	struct th_result_shown how = { .max = 100, .seq = 7, .whole = 70000 };

	(void)unused;
	assert_int_equal(th_result_whole(TH_STR("{\"exit_code\":0,\"full_output\":{\"blob\":\"ab\","
						"\"size\":70000}}")),
			 70000);
	assert_int_equal(th_result_whole(TH_STR("{\"full_output\":{\"size\":-1}}")), 0);
	assert_int_equal(th_result_whole(TH_STR("[1]")), 0);
	assert_null(shorten("\"short\"", &how)); /* it cannot be read on */
	how.history = true;
	assert_string_equal(shorten("\"short\"", &how),
			    "\"short\\n[All of this result has 70000 bytes; read it with history "
			    "{\\\"event\\\": 7, \\\"offset\\\": 0}]\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_text),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_a_blob),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
