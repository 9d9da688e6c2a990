/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chat Completions: limits at their edges, groups and their holes; what answers
 * and requests look like is in tests/golden/chat.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "openai_chat/chat.h"
#include "openai_chat/message.h"

static struct th_decoder *d;
static struct th_answer answer;
static struct th_err err;

static int setup(void **state)
{
	(void)state;
	d = th_chat_new(NULL, NULL, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	d = th_chat_free(d);
	return 0;
}

static void again(void)
{
	teardown(NULL);
	setup(NULL);
}

static int feed(const char *text)
{
	return th_chat_feed(d, th_str_of(text));
}

static void expect_class(const char *class)
{
	th_chat_end(d, false, &answer);
	if (!class) {
		assert_int_not_equal(answer.status, TH_ANSWER_FAILED);
		return;
	}
	assert_int_equal(answer.status, TH_ANSWER_FAILED);
	assert_true(th_str_is(answer.error_class, class));
	assert_true(answer.error_message.len > 0);
}

/* ---- the order of things ---- */

static void test_finished(void **state)
{
	(void)state;
	assert_int_equal(feed("data: {\"choices\":[{\"delta\":{\"content\":\"x\"},"
			      "\"finish_reason\":\"stop\"}]}\n\n: ping\n\n"),
			 1);
	assert_false(th_chat_finished(d)); /* the usage may follow */
	assert_int_equal(feed("data: [DONE]\n\n"), 1);
	assert_true(th_chat_finished(d));
	expect_class(NULL);
	th_chat_end(d, false, &answer); /* the same again */
	assert_int_equal(answer.status, TH_ANSWER_COMPLETED);
	assert_non_null(strstr(answer.raw.ptr, "\"content\":\"x\""));
}

static void test_cut_body(void **state)
{
	(void)state;
	feed("{\"choices\":[");
	th_chat_end(d, true, &answer);
	assert_true(th_str_is(answer.error_class, "cut"));
}

/* ---- limits ---- */

static void feed_calls(int count)
{
	char text[200];

	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text),
			 "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%d,"
			 "\"id\":\"c%d\",\"function\":{\"name\":\"f\"}}]}}]}\n\n",
			 i, i);
		(void)feed(text);
	}
	(void)feed("data: [DONE]\n\n");
}

static void test_calls(void **state)
{
	(void)state;
	feed_calls(TH_CALLS_MAX);
	expect_class(NULL);
	again();
	feed_calls(TH_CALLS_MAX + 1);
	expect_class("limit");
	again();
	feed_calls(TH_CALLS_MAX + 2);           /* one more than is kept */
	assert_int_equal(feed("x"), TH_ELIMIT); /* for good */
	expect_class("limit");
}

static void feed_members(int count)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);

	th_buf_add_cstr(&text, "data: {\"choices\":[{\"delta\":{");
	for (int i = 0; i < count; i++)
		th_buf_printf(&text, "%s\"m%d\":1", i ? "," : "", i);
	th_buf_add_cstr(&text, "}}]}\n\ndata: [DONE]\n\n");
	(void)th_chat_feed(d, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void test_members(void **state)
{
	(void)state;
	feed_members(TH_CHAT_MEMBERS_MAX);
	expect_class(NULL);
	again();
	feed_members(TH_CHAT_MEMBERS_MAX + 1);
	expect_class("limit");
}

/* As deep as JSON may be, and one deeper. */
static void feed_nest(int depth)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);

	th_buf_add_cstr(&text, "data: {\"choices\":[{\"delta\":{\"x\":");
	for (int i = 0; i < depth; i++)
		th_buf_add_cstr(&text, "{\"x\":");
	th_buf_add_char(&text, '1');
	for (int i = 0; i < depth; i++)
		th_buf_add_char(&text, '}');
	th_buf_add_cstr(&text, "}}]}\n\ndata: [DONE]\n\n");
	(void)th_chat_feed(d, th_buf_str(&text));
	th_buf_deinit(&text);
}

static void test_depth(void **state)
{
	(void)state;
	feed_nest(TH_JSON_DEPTH_MAX - 6);
	expect_class(NULL);
	again();
	feed_nest(TH_JSON_DEPTH_MAX);
	expect_class("malformed");
}

/* Objects inside each other are joined TH_CHAT_DEPTH_MAX deep; of what lies deeper the last counts.
 */
static void test_depth_of_joining(void **state)
{
	(void)state;
	for (int more = 0; more <= 1; more++) {
		struct th_buf delta, out;
		struct th_chat_message m;

		th_chat_message_init(&m);
		for (int piece = 0; piece < 2; piece++) {
			th_buf_init(&delta, TH_KIB);
			for (int i = 0; i < TH_CHAT_DEPTH_MAX + more; i++)
				th_buf_add_cstr(&delta, "{\"x\":");
			th_buf_add_cstr(&delta, piece ? "{\"b\":2}" : "{\"a\":1}");
			for (int i = 0; i < TH_CHAT_DEPTH_MAX + more; i++)
				th_buf_add_char(&delta, '}');
			(void)th_chat_message_add(&m, th_buf_str(&delta));
			th_buf_deinit(&delta);
		}
		assert_false(m.failed);
		th_buf_init(&out, TH_KIB);
		th_chat_message_print(&m, &out);
		assert_true(th_str_find(th_buf_str(&out), more
							      ? TH_STR(":{\"b\":2}")
							      : TH_STR(":{\"a\":1,\"b\":2}")) >= 0);
		th_buf_deinit(&out);
		th_chat_message_deinit(&m);
	}
}

/* More than an answer may hold: in one body, and in many chunks. */
static void test_size(void **state)
{
	size_t len = TH_ANSWER_MAX / 8;
	char *text = malloc(len + 1);
	int r = 0;

	(void)state;
	memset(text, 'x', len);
	text[len] = '\0';
	assert_int_equal(feed("{\"x\":\""), 0);
	for (int i = 0; i < 7; i++)
		assert_int_equal(feed(text), 0);
	assert_int_equal(feed(text), TH_ELIMIT);
	expect_class("limit");
	again();
	for (int i = 0; i < 8; i++) {
		r = feed("data: {\"choices\":[{\"delta\":{\"content\":\"");
		assert_true(r >= 0);
		(void)feed(text);
		r = feed("\"}}]}\n\n");
		assert_int_equal(r, 1);
	}
	assert_int_equal(feed("data: {\"choices\":[{\"delta\":{\"content\":\"y\"}}]}\n\n"),
			 TH_ELIMIT);
	expect_class("limit");
	free(text);
}

/* ---- groups ---- */

#define BLOB "0000000000000000000000000000000000000000000000000000000000000000"
#define PICTURE "{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\"" BLOB "\"}"

static struct th_request_options options(const char *model)
{
	struct th_request_options o = { .stream = true };

	assert_int_equal(th_model_resolve(th_str_of(model), &o.profile, &o.model, &err), TH_OK);
	return o;
}

static void test_holes(void **state)
{
	struct th_request_options o = options("chat:m");
	struct th_group g = { .kind = TH_GROUP_MESSAGE,
			      .role = TH_STR("user"),
			      .content = TH_STR("[" PICTURE "," PICTURE "]") };
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_hole holes[2];
	size_t count;

	(void)state;
	assert_int_equal(th_group_render(&o, &g, true, &out, holes, 2, &count, &err), TH_OK);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++) {
		const struct th_hole *h = &holes[i];

		assert_true(h->part && h->from < h->at && h->at < h->to && h->to < h->end);
		assert_int_equal(out.ptr[h->from], '{');
		assert_true(
		    th_str_ends(th_str_n(out.ptr, h->at), TH_STR("data:image/png;base64,")));
		assert_true(th_str_ends(th_str_n(out.ptr, h->to), TH_STR("\"}}")));
		assert_true(th_str_starts(th_str_n(out.ptr + h->to, h->end - h->to),
					  TH_STR("{\"type\":\"text\"")));
	}
	th_buf_clear(&out);
	assert_int_equal(th_group_render(&o, &g, true, &out, holes, 1, &count, &err), TH_ELIMIT);
	assert_int_equal(out.len, 0);
	assert_int_equal(count, 0);
	th_buf_deinit(&out);
}

/* A raw answer of this wire goes back with its opaque members; of another, its items do. */
static void test_raw(void **state)
{
	struct th_group g = {
		.kind = TH_GROUP_ANSWER,
		.items = TH_STR("[{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
				"[{\"type\":\"output_text\",\"text\":\"item\"}]}]"),
		.raw =
		    TH_STR("{\"wire\":\"chat\",\"message\":{\"role\":\"assistant\",\"content\":"
			   "\"raw\",\"reasoning_content\":\"r\",\"reasoning_details\":[{\"data\":"
			   "\"\\u0041==\"}],\"annotations\":[1]}}"),
	};
	static const struct {
		const char *model, *is;
	} cases[] = {
		{ "chat:m", "{\"role\":\"assistant\",\"content\":\"raw\",\"reasoning_details\":[{"
			    "\"data\":\"\\u0041==\"}]}" },
		{ "openrouter/m",
		  "{\"role\":\"assistant\",\"content\":\"raw\",\"reasoning_details\":"
		  "[{\"data\":\"\\u0041==\"}],\"annotations\":[1]}" },
		{ "moonshot/m", "{\"role\":\"assistant\",\"content\":\"raw\",\"reasoning_content\":"
				"\"r\"}" },
		{ "deepseek/m", "{\"role\":\"assistant\",\"content\":\"raw\"}" },
		{ "azure/m", "{\"role\":\"assistant\",\"content\":\"raw\"}" },
	};
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	size_t count;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_request_options o = options(cases[i].model);

		th_buf_clear(&out);
		assert_int_equal(th_group_render(&o, &g, true, &out, NULL, 0, &count, &err), TH_OK);
		assert_string_equal(out.ptr, cases[i].is);
	}
	struct th_request_options o = options("chat:m");

	g.raw = TH_STR("{\"wire\":\"messages\",\"message\":{}}");
	th_buf_clear(&out);
	assert_int_equal(th_group_render(&o, &g, false, &out, NULL, 0, &count, &err), TH_OK);
	assert_string_equal(out.ptr, ",{\"role\":\"assistant\",\"content\":\"item\"}");
	g.items = TH_STR("[{\"type\":\"reasoning\",\"summary\":[]}]"); /* nothing to say */
	th_buf_clear(&out);
	assert_int_equal(th_group_render(&o, &g, false, &out, NULL, 0, &count, &err), TH_OK);
	assert_int_equal(out.len, 0);
	th_buf_deinit(&out);
}

/* Where the mark of the cache may go: the system's message has one, the driver fills in the last
 * of the others. */
static void test_marks(void **state)
{
	static const struct th_result results[] = {
		{ .call_id = { "a", 1 }, .output = { "\"1\"", 3 } },
		{ .call_id = { "b", 1 }, .output = { "\"\"", 2 } },
	};
	static const struct {
		const char *model;
		bool marks;
	} cases[] = {
		{ "openrouter/anthropic/claude-sonnet-4.5", true },
		{ "openrouter/~anthropic/Claude-Opus", true },
		{ "openrouter/qwen/qwen3-max", false },
		{ "chat:claude-sonnet-4-5", false },
	};
	const struct th_group groups[] = {
		{ .kind = TH_GROUP_MESSAGE, .role = TH_STR("user"), .content = TH_STR("\"x\"") },
		{ .kind = TH_GROUP_MESSAGE,
		  .role = TH_STR("user"),
		  .content = TH_STR(
		      "[{\"type\":\"text\",\"text\":\"x\"},{\"type\":\"input_text\",\"text\":"
		      "\"y\"}]") },
		{ .kind = TH_GROUP_RESULTS, .results = results, .result_count = 2 },
		{ .kind = TH_GROUP_MESSAGE, .role = TH_STR("user"), .content = TH_STR("\"\"") },
		{ .kind = TH_GROUP_MESSAGE,
		  .role = TH_STR("developer"),
		  .content = TH_STR("\"x\"") },
	};
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_hole holes[4];
	size_t count;

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++)
		for (size_t g = 0; g < TH_COUNT(groups); g++) {
			struct th_request_options o = options(cases[i].model);

			th_buf_clear(&out);
			assert_int_equal(
			    th_group_render(&o, &groups[g], true, &out, holes, 4, &count, &err),
			    TH_OK);
			assert_int_equal(count, cases[i].marks && g < 3);
			if (!count)
				continue;
			assert_int_equal(holes[0].kind, TH_HOLE_MARK);
			/* Inside of the last part of text. */
			assert_true(th_str_starts(th_str_sub(th_buf_str(&out), holes[0].at, 99),
						  TH_STR("}]}")));
		}
	th_buf_deinit(&out);
}

/* Calls that have no ids get some: from the answer and their place in it. */
static void test_ids(void **state)
{
	char text[300], first[100], id[100];

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct th_json_doc *doc;

		again();
		snprintf(text, sizeof(text),
			 "{\"id\":\"r%d\",\"choices\":[{\"message\":{\"tool_calls\":["
			 "{\"function\":{\"name\":\"f\"}},{\"function\":{\"name\":\"f\"}}]}}]}",
			 i);
		feed(text);
		expect_class(NULL);
		assert_int_equal(th_json_parse(answer.items, &doc, &err), TH_OK);
		struct th_str a = th_json_get_str(th_json_at(th_json_root(doc), 0), "call_id");
		struct th_str b = th_json_get_str(th_json_at(th_json_root(doc), 1), "call_id");

		assert_true(a.len > 0 && a.len <= 40 && !th_str_eq(a, b));
		snprintf(i ? id : first, 100, "%.*s", TH_FMT(a));
		th_json_free(doc);
	}
	assert_string_not_equal(first, id); /* another answer, another id */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_finished), TEST(test_cut_body), TEST(test_calls),
		TEST(test_members),  TEST(test_depth),    TEST(test_depth_of_joining),
		TEST(test_size),     TEST(test_holes),    TEST(test_raw),
		TEST(test_ids),      TEST(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
