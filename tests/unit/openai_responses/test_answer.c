/* SPDX-License-Identifier: Apache-2.0 */
/* Limits at their edges and hostile bytes; what answers look like is in tests/golden/responses. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "openai_responses/responses.h"

static struct th_decoder *d;
static struct th_answer answer;

static int setup(void **state)
{
	(void)state;
	d = th_responses_new(NULL, NULL, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	d = th_responses_free(d);
	return 0;
}

static int feed(const char *text)
{
	return th_responses_feed(d, th_str_of(text));
}

static void expect_class(const char *class)
{
	struct th_json_doc *doc;

	th_responses_end(d, false, &answer);
	assert_int_equal(th_json_parse(answer.items, &doc, NULL), TH_OK);
	assert_true(th_json_is_array(th_json_root(doc)));
	th_json_free(doc);
	if (!class) {
		assert_int_not_equal(answer.status, TH_ANSWER_FAILED);
		return;
	}
	assert_int_equal(answer.status, TH_ANSWER_FAILED);
	assert_true(th_str_is(answer.error_class, class));
	assert_true(answer.error_message.len > 0);
}

static void again(void)
{
	teardown(NULL);
	setup(NULL);
}

/* ---- the order of things ---- */

static void test_finished(void **state)
{
	(void)state;
	assert_false(th_responses_finished(d));
	assert_int_equal(
	    feed("data: {\"type\":\"response.created\",\"response\":{\"id\":\"r\"}}\n\n"), 1);
	assert_int_equal(
	    feed("data: {\"type\":\"error\",\"message\":\"x\"}\n\ndata: [DONE]\n\n: c\n\n"), 2);
	assert_false(th_responses_finished(d));
	assert_int_equal(
	    feed("data: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\"}}\n\ndata"), 1);
	assert_true(th_responses_finished(d));
	assert_int_equal(feed(": anything\n\n"), 1);
	expect_class("server");
	assert_true(th_str_is(answer.error_message, "x"));
	expect_class("server"); /* twice is once */
}

/* A cut after the terminal event is none. */
static void test_cut(void **state)
{
	(void)state;
	feed("data: "
	     "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]"
	     "}}\n\n");
	th_responses_end(d, true, &answer);
	assert_int_equal(answer.status, TH_ANSWER_COMPLETED);
	again();
	assert_int_equal(feed("{\"output\":["), 0);
	th_responses_end(d, true, &answer);
	assert_true(th_str_is(answer.error_class, "cut"));
	again();
	th_responses_end(d, true, &answer);
	assert_true(th_str_is(answer.error_class, "cut"));
}

/* ---- limits ---- */

static void feed_output(const char *item, size_t count)
{
	th_responses_feed(d, TH_STR("{\"status\":\"completed\",\"output\":["));
	for (size_t i = 0; i < count; i++) {
		if (i)
			feed(",");
		feed(item);
	}
	feed("]}");
}

/* What no request may say again is not taken. */
static void test_roles(void **state)
{
	static const struct {
		const char *item, *class;
	} cases[] = {
		{ "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[]}", NULL },
		{ "{\"type\":\"message\",\"content\":[]}", NULL },
		{ "{\"type\":\"other\",\"role\":\"x\"}", NULL },
		{ "{\"type\":\"message\",\"role\":\"a9sistant\",\"content\":[]}", "malformed" },
		{ "{\"type\":\"message\",\"role\":\"\",\"content\":[]}", "malformed" },
		{ "{\"type\":\"message\",\"role\":[],\"content\":[]}", "malformed" },
		{ "{\"role\":\"tool\",\"content\":\"x\"}", "malformed" },
		{ "{\"nype\":\"message\",\"role\":\"assistant\",\"content\":[]}", "malformed" },
		{ "{\"type\":7}", "malformed" },
		{ "7", "malformed" },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		char body[256];

		snprintf(body, sizeof(body),
			 "{\"id\":\"r\",\"status\":\"completed\",\"output\":[%s]}", cases[i].item);
		again();
		feed(body);
		expect_class(cases[i].class);
	}
}

static void test_items_max(void **state)
{
	(void)state;
	feed_output("{\"type\":\"reasoning\"}", TH_ANSWER_ITEMS_MAX);
	expect_class(NULL);
	again();
	feed_output("{\"type\":\"reasoning\"}", TH_ANSWER_ITEMS_MAX + 1);
	expect_class("limit");
}

static void test_calls_max(void **state)
{
	(void)state;
	feed_output("{\"type\":\"function_call\"}", TH_CALLS_MAX);
	expect_class(NULL);
	again();
	feed_output("{\"type\":\"computer_call\"}", TH_CALLS_MAX + 1);
	expect_class("limit");
	again();
	feed_output("{\"type\":\"web_search_call\"}", TH_CALLS_MAX + 1);
	expect_class(NULL);
}

static int feed_item(size_t index, const char *kind)
{
	char text[300];

	snprintf(
	    text, sizeof(text),
	    "data: "
	    "{\"type\":\"response.%s\",\"output_index\":%zu,\"content_index\":%zu,\"delta\":\"x\","
	    "\"item\":{\"type\":\"message\"}}\n\n",
	    kind, strstr(kind, "item") ? index : 0, index);
	return feed(text);
}

static void test_streamed_max(void **state)
{
	static const char *const kinds[] = { "output_item.added", "output_item.done",
					     "output_text.delta" };

	(void)state;
	for (size_t k = 0; k < TH_COUNT(kinds); k++) {
		for (size_t i = 0; i < TH_ANSWER_ITEMS_MAX; i++)
			assert_int_equal(feed_item(TH_ANSWER_ITEMS_MAX - i, kinds[k]), 1);
		assert_int_equal(feed_item(5, kinds[k]), 1);
		assert_int_equal(feed_item(0, kinds[k]), TH_ELIMIT);
		assert_int_equal(feed_item(1, kinds[k]), TH_ELIMIT);
		expect_class("limit");
		again();
	}
}

static void fill(struct th_buf *b, size_t len, char c)
{
	for (size_t i = 0; i < len; i++)
		th_buf_add_char(b, c);
}

static void test_body_max(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_ANSWER_MAX);

	(void)state;
	fill(&text, TH_ANSWER_MAX - 32, ' ');
	assert_int_equal(feed("{\"status\":\"completed\",\"output\":["), 0); /* 32 bytes */
	assert_int_equal(th_responses_feed(d, th_buf_str(&text)), 0);
	assert_int_equal(feed("]"), TH_ELIMIT);
	assert_int_equal(feed(""), TH_ELIMIT);
	expect_class("limit");
	again();
	th_buf_truncate(&text, text.len - 2);
	feed("{\"status\":\"completed\",\"output\":[");
	assert_int_equal(th_responses_feed(d, th_buf_str(&text)), 0);
	assert_int_equal(feed("]}"), 0);
	expect_class(NULL);
	th_buf_deinit(&text);
}

/* Text that streams without end. */
static void test_deltas_max(void **state)
{
	struct th_buf text = TH_BUF_INIT(2 * TH_MIB);
	size_t n = 0;

	(void)state;
	th_buf_add_cstr(
	    &text,
	    "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"");
	fill(&text, TH_MIB, 'x');
	th_buf_add_cstr(&text, "\"}\n\n");
	while (th_responses_feed(d, th_buf_str(&text)) == 1)
		n++;
	assert_int_equal(n, TH_ANSWER_MAX / TH_MIB);
	expect_class("limit");
	th_buf_deinit(&text);
}

static void test_line_max(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_SSE_LINE_MAX);

	(void)state;
	fill(&text, TH_SSE_LINE_MAX, ':');
	assert_int_equal(th_responses_feed(d, th_buf_str(&text)), 0);
	assert_int_equal(feed(":"), TH_ELIMIT);
	expect_class("limit");
	th_buf_deinit(&text);
}

static void test_indices(void **state)
{
	static const char *const indices[] = {
		"-1", "1e3", "null", "\"0\"", "99999999999999999999", "[0]", "9223372036854775807"
	};
	char text[300];

	(void)state;
	for (size_t i = 0; i < TH_COUNT(indices); i++) {
		snprintf(text, sizeof(text),
			 "data: {\"type\":\"response.output_text.delta\",\"output_index\":%s,"
			 "\"content_index\":%s,\"delta\":\"x\"}\n\n",
			 indices[i], indices[i]);
		assert_int_equal(feed(text), 1);
	}
	expect_class("cut");
}

/* ---- hostile bytes ---- */

static uint64_t random_state = 88172645463325252ull;

static size_t random_below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state % n);
}

static void test_mutations(void **state)
{
	static const char stream[] = "data: "
				     "{\"type\":\"response.output_item.added\",\"output_index\":0,"
				     "\"item\":{\"type\":\"message\"}}\n\n"
				     "data: "
				     "{\"type\":\"response.output_text.delta\",\"output_index\":0,"
				     "\"delta\":\"a\\ud83d\"}\n\n"
				     "data: "
				     "{\"type\":\"response.output_text.annotation.added\",\"output_"
				     "index\":0,\"annotation\":{}}\n\n"
				     "data: "
				     "{\"type\":\"response.output_item.added\",\"output_index\":1,"
				     "\"item\":{\"arguments\":\"\"}}\n\n"
				     "data: "
				     "{\"type\":\"response.function_call_arguments.delta\","
				     "\"output_index\":1,\"delta\":\"{\"}\n\n"
				     "data: "
				     "{\"type\":\"response.completed\",\"response\":{\"status\":"
				     "\"completed\",\"output\":[{}]}}\n\n";
	static const char bytes[] = "\"\\{}[]:,\n\r 0x\xff\xc3\xed\xa0\x80u";
	char text[sizeof(stream)];

	(void)state;
	for (int round = 0; round < 20000; round++) {
		memcpy(text, stream, sizeof(stream));
		for (size_t n = random_below(6); n > 0; n--)
			text[random_below(sizeof(stream) - 1)] =
			    bytes[random_below(sizeof(bytes) - 1)];
		th_responses_feed(d, th_str_n(text, random_below(sizeof(stream))));
		th_responses_end(d, false, &answer);
		struct th_json_doc *doc;

		assert_int_equal(th_json_parse(answer.items, &doc, NULL), TH_OK);
		th_json_free(doc);
		assert_int_equal(answer.status == TH_ANSWER_FAILED, answer.error_class.len > 0);
		again();
	}
}

static void test_errors_of_any_body(void **state)
{
	static const char *const bodies[] = { "",
					      "[",
					      "[]",
					      "null",
					      "{\"error\":null}",
					      "{\"error\":[]}",
					      "{\"error\":{\"message\":7,\"code\":{}}}",
					      "\xff\xfe\x00",
					      "data: x\n\n",
					      "{\"error\":{\"message\":\"\"}}",
					      "\"text\"",
					      "{\"message\":\"m\"}" };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(bodies); i++) {
		feed(bodies[i]);
		th_responses_error(d, 500, &answer);
		assert_true(th_str_is(answer.error_class, "server"));
		assert_true(answer.error_message.len > 0);
		assert_true(th_str_is(answer.items, "[]"));
		again();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_finished, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_roles, setup, teardown),
		cmocka_unit_test_setup_teardown(test_items_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_calls_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_streamed_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_body_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deltas_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_line_max, setup, teardown),
		cmocka_unit_test_setup_teardown(test_indices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mutations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors_of_any_body, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
