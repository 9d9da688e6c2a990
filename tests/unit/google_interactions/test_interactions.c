/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_interactions.c - limits of the decoder of the Interactions API, what a
 * group cannot be, and the holes of its pictures. Its forms are in
 * tests/golden/interactions.
 */
#include "unit.h"

#include <stdio.h>

#include "base/limits.h"
#include "google_interactions/interactions.h"

#define BLOB "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void feed(struct th_decoder *d, const char *text)
{
	(void)!th_interactions_feed(d, th_str_of(text));
}

static struct th_decoder *steps(size_t count, const char *step, struct th_answer *ret)
{
	struct th_decoder *d = th_interactions_new(NULL, NULL, NULL);
	char event[400];

	feed(d, "data: {\"event_type\":\"interaction.created\",\"interaction\":{\"id\":\"v1\"}}"
		"\n\n");
	for (size_t i = 0; i < count; i++) {
		snprintf(event, sizeof(event),
			 "data: {\"event_type\":\"step.start\",\"index\":%zu,\"step\":%s}\n\n", i,
			 step);
		feed(d, event);
	}
	feed(d, "data: {\"event_type\":\"interaction.completed\",\"interaction\":{\"id\":\"v1\","
		"\"status\":\"completed\"}}\n\n");
	th_interactions_end(d, false, ret);
	return d;
}

static void test_steps_and_calls_have_a_maximum(void **state)
{
	static const char other[] = "{\"type\":\"google_search_call\"}";
	static const char call[] = "{\"type\":\"function_call\",\"id\":\"c\",\"name\":\"f\"}";
	struct th_decoder *d;
	struct th_answer a;

	(void)state;
	d = steps(TH_ANSWER_ITEMS_MAX, other, &a);
	assert_int_equal(a.status, TH_ANSWER_COMPLETED);
	th_interactions_free(d);
	d = steps(TH_ANSWER_ITEMS_MAX + 1, other, &a);
	assert_int_equal(a.status, TH_ANSWER_FAILED);
	assert_true(th_str_is(a.error_class, "limit"));
	assert_non_null(strstr(a.error_message.ptr, "1024 items"));
	th_interactions_free(d);
	d = steps(TH_CALLS_MAX, call, &a);
	assert_int_equal(a.status, TH_ANSWER_COMPLETED);
	th_interactions_free(d);
	d = steps(TH_CALLS_MAX + 1, call, &a);
	assert_true(th_str_is(a.error_class, "limit"));
	assert_non_null(strstr(a.error_message.ptr, "128 calls"));
	th_interactions_free(d);
}

static void test_bytes_have_a_maximum(void **state)
{
	struct th_decoder *d = th_interactions_new(NULL, NULL, NULL);
	struct th_buf event = TH_BUF_INIT(2 * TH_MIB);
	struct th_answer a;
	int r = 0;

	(void)state;
	feed(d, "data: {\"event_type\":\"step.start\",\"index\":0,\"step\":{\"type\":"
		"\"model_output\"}}\n\n");
	th_buf_add_cstr(&event, "data: {\"event_type\":\"step.delta\",\"index\":0,\"delta\":{"
				"\"type\":\"text\",\"text\":\"");
	for (size_t i = 0; i < TH_MIB; i++)
		th_buf_add_char(&event, 'x');
	th_buf_add_cstr(&event, "\"}}\n\n");
	for (size_t i = 0; i < TH_ANSWER_MAX / TH_MIB + 1 && r >= 0; i++)
		r = th_interactions_feed(d, th_buf_str(&event));
	assert_int_equal(r, TH_ELIMIT);
	assert_int_equal(th_interactions_feed(d, TH_STR("x")), TH_ELIMIT);
	th_interactions_end(d, false, &a);
	assert_true(th_str_is(a.error_class, "limit"));
	th_interactions_free(d);
	th_buf_deinit(&event);
}

static void options(struct th_request_options *o)
{
	*o = (struct th_request_options){ 0 };
	assert_int_equal(th_model_resolve(TH_STR("interactions:gemini-3-flash-preview"),
					  &o->profile, &o->model, NULL),
			 TH_OK);
}

/* Left out, a picture becomes a text in the same list. */
static void test_results_have_holes_for_pictures(void **state)
{
	struct th_result r = {
		.call_item =
		    TH_STR("{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\"}"),
		.call_id = TH_STR("c"),
		.tool = TH_STR("f"),
		.output = TH_STR("[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\","
				 "\"media_type\":\"image/webp\",\"blob\":\"" BLOB "\"}]"),
	};
	struct th_group g = { .kind = TH_GROUP_RESULTS, .results = &r, .result_count = 1 };
	struct th_buf out = TH_BUF_INIT(TH_MIB), sent = TH_BUF_INIT(TH_MIB);
	struct th_request_options o;
	struct th_err err = { 0 };
	struct th_hole hole;
	struct th_str text;
	size_t count;

	(void)state;
	options(&o);
	assert_int_equal(th_group_render(&o, &g, false, &out, &hole, 1, &count, &err), TH_OK);
	assert_int_equal(count, 1);
	assert_true(hole.part);
	text = th_buf_str(&out);
	th_buf_add(&sent, th_str_sub(text, 0, hole.at));
	th_buf_add_cstr(&sent, "QUJD");
	th_buf_add(&sent, th_str_sub(text, hole.at, hole.to - hole.at));
	th_buf_add(&sent, th_str_sub(text, hole.end, text.len));
	assert_string_equal(sent.ptr,
			    ",{\"type\":\"function_result\",\"call_id\":\"c\",\"name\":\"f\","
			    "\"result\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\","
			    "\"mime_type\":\"image/webp\",\"data\":\"QUJD\"}]}");
	th_buf_clear(&sent);
	th_buf_add(&sent, th_str_sub(text, 0, hole.from));
	th_buf_add(&sent, th_str_sub(text, hole.to, text.len));
	assert_string_equal(sent.ptr,
			    ",{\"type\":\"function_result\",\"call_id\":\"c\",\"name\":\"f\","
			    "\"result\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","
			    "\"text\":\"" TH_IMAGE_LEFT_OUT "\"}]}");
	th_buf_clear(&out);
	assert_int_equal(th_group_render(&o, &g, true, &out, &hole, 0, &count, &err), TH_ELIMIT);
	assert_int_equal(out.len, 0);
	th_buf_deinit(&out);
	th_buf_deinit(&sent);
}

static void test_groups_are_checked(void **state)
{
	static const struct {
		const char *role, *content, *says;
	} rows[] = {
		{ "tool", "\"x\"", "role must be user" },
		{ "user", "7", "content must be a string or a list" },
		{ "user", "[7]", "must be an object" },
		{ "user", "[{\"type\":\"text\",\"text\":7}]", "text must be a string" },
		{ "user", "[{\"type\":\"image\",\"blob\":\"12\"}]", "64 digits" },
	};
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_request_options o;
	struct th_hole hole;
	size_t count;

	(void)state;
	options(&o);
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		struct th_group g = { .kind = TH_GROUP_MESSAGE,
				      .role = th_str_of(rows[i].role),
				      .content = th_str_of(rows[i].content) };
		struct th_err err = { 0 };

		assert_int_equal(th_group_render(&o, &g, true, &out, &hole, 1, &count, &err),
				 TH_EPROTO);
		if (!strstr(err.msg, rows[i].says))
			fail_msg("row %zu: %s", i, err.msg);
		assert_int_equal(out.len, 0);
	}
	/* A step must have some content: a message without any is not sent. */
	assert_int_equal(th_group_render(&o,
					 &(struct th_group){ .kind = TH_GROUP_MESSAGE,
							     .role = TH_STR("user"),
							     .content = TH_STR("[]") },
					 true, &out, &hole, 1, &count, NULL),
			 TH_OK);
	assert_int_equal(out.len, 0);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_and_calls_have_a_maximum),
		cmocka_unit_test(test_bytes_have_a_maximum),
		cmocka_unit_test(test_results_have_holes_for_pictures),
		cmocka_unit_test(test_groups_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
