/* SPDX-License-Identifier: Apache-2.0 */
/* What a critic is sent, and what its answer means. */
#include "unit.h"

#include <stdlib.h>

#include "base/limits.h"
#include "side_models/critic.h"

#define BUF(size) TH_BUF_INIT(size)

static struct th_transcript_item said(const char *role, const char *content)
{
	return (struct th_transcript_item){ .kind = TH_TRANSCRIPT_MESSAGE,
					    .role = th_str_of(role),
					    .content = th_str_of(content) };
}

static void what_it_is_sent(void **unused)
{
	struct th_transcript_item list[] = {
		said("user", "\"a <|im_end|> b\""),
		{ .kind = TH_TRANSCRIPT_OUTPUT,
		  .item = TH_STR("{\"type\":\"message\",\"content\":[{\"type\":\"output_text\","
				 "\"text\":\"I look\"}]}") },
		{ .kind = TH_TRANSCRIPT_OUTPUT, .item = TH_STR("{\"type\":\"function_call\"}") },
		{ .kind = TH_TRANSCRIPT_RESULT, .output = TH_STR("\"one\"") },
		{ .kind = TH_TRANSCRIPT_RESULT,
		  .output = TH_STR("[{\"type\":\"text\",\"text\":\"two\"},{\"type\":\"image\"}]") },
	};
	const struct th_transcript t = { .list = list, .count = TH_COUNT(list) };
	struct th_buf out TH_CLEANUP(th_buf_deinit) = BUF(TH_MIB);

	(void)unused;
	th_critic_print_input(&t, TH_STR("Be good."), 64 * TH_KIB, &out);
	assert_string_equal(out.ptr, "<|im_start|>system\nBe good.<|im_end|>\n"
				     "<|im_start|>user\na < |im_end|> b<|im_end|>\n"
				     "<|im_start|>assistant\nI look<|im_end|>\n"
				     "<|im_start|>user\n<tool_response>\none\n</tool_response>\n"
				     "<tool_response>\ntwo\n</tool_response><|im_end|>\n");
}

/* The task and the newest stay. */
static void a_long_one_is_cut(void **unused)
{
	struct th_transcript_item *list = th_alloc(4000 * sizeof(*list));
	struct th_transcript t = { .list = list, .count = 4000 };
	struct th_buf out TH_CLEANUP(th_buf_deinit) = BUF(16 * TH_MIB);

	(void)unused;
	for (size_t i = 0; i < t.count; i++)
		list[i] =
		    said("user", "\"in the middle, and long enough that not all can be told\"");
	list[0] = said("user", "\"the task\"");
	list[t.count - 1] = said("user", "\"the newest\"");
	th_critic_print_input(&t, TH_STR(""), 32 * TH_KIB, &out);
	assert_in_range(out.len, 8 * TH_KIB, 32 * TH_KIB);
	assert_non_null(strstr(out.ptr, "the task"));
	assert_non_null(strstr(out.ptr, "the newest"));
	free(list);
}

static void the_question(void **unused)
{
	const struct th_agent_critic critic = { .url = TH_STR("http://c.example/v1/"),
						.token_env = TH_STR("T") };
	struct th_buf out TH_CLEANUP(th_buf_deinit) = BUF(TH_MIB);

	(void)unused;
	th_critic_print_question(&critic, TH_STR("x"), &out);
	assert_string_equal(out.ptr,
			    "{\"url\":\"http://c.example/v1/classify\",\"token_env\":\"T\","
			    "\"input\":{\"model\":\"critic-qwen3-4b\",\"input\":\"x\"},"
			    "\"timeout_s\":300}");
}

/* So many numbers, the first and the tenth as given. */
static void answer(struct th_buf *out, size_t count, const char *first, const char *tenth)
{
	th_buf_clear(out);
	th_buf_add_cstr(out, "{\"data\":[{\"probs\":[");
	for (size_t i = 0; i < count; i++)
		th_buf_printf(out, "%s%s", i ? "," : "", i == 0 ? first : i == 9 ? tenth : "0.1");
	th_buf_printf(out, "],\"num_classes\":%zu}]}", count);
}

static enum th_code read(struct th_buf *text, double *score, struct th_buf *labels,
			 struct th_buf *missing)
{
	struct th_err err = { 0 };

	th_buf_clear(labels);
	th_buf_clear(missing);
	return th_critic_read(th_buf_str(text), 0.6, score, labels, missing, &err);
}

static void what_it_says(void **unused)
{
	struct th_buf text TH_CLEANUP(th_buf_deinit) = BUF(TH_MIB);
	struct th_buf labels TH_CLEANUP(th_buf_deinit) = BUF(TH_MIB);
	struct th_buf missing TH_CLEANUP(th_buf_deinit) = BUF(TH_MIB);
	static const char *const bad[] = { "", "{}", "[]", "{\"data\":[]}",
					   "{\"data\":[{\"probs\":7}]}" };
	double score = 0;

	(void)unused;
	answer(&text, 27, "0.9", "0.8");
	assert_int_equal(read(&text, &score, &labels, &missing), TH_OK);
	assert_true(score == 0.9);
	assert_string_equal(missing.ptr, "[]"); /* it is done: there is nothing to check */
	assert_non_null(strstr(labels.ptr, "{\"success\":0.9,"));
	assert_non_null(strstr(labels.ptr, "\"loop_behavior\":0.8,"));
	answer(&text, 27, "0.37", "0.5");
	assert_int_equal(read(&text, &score, &labels, &missing), TH_OK);
	assert_non_null(strstr(missing.ptr, "a likelihood of 37 %"));
	assert_non_null(strstr(missing.ptr, "the critic sees: loop behavior (50 %)"));
	assert_null(strstr(missing.ptr, "correction"));
	answer(&text, 26, "0.9", "0");
	assert_int_equal(read(&text, &score, &labels, &missing), TH_EPROTO);
	answer(&text, 28, "0.9", "0");
	assert_int_equal(read(&text, &score, &labels, &missing), TH_EPROTO);
	for (size_t i = 0; i < 4; i++) {
		static const char *const values[] = { "1.1", "-0.1", "\"1\"", "null" };

		answer(&text, 27, "0.9", values[i]);
		assert_int_equal(read(&text, &score, &labels, &missing), TH_EPROTO);
	}
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		th_buf_clear(&text);
		th_buf_add_cstr(&text, bad[i]);
		assert_int_equal(read(&text, &score, &labels, &missing), TH_EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_is_sent),
		cmocka_unit_test(a_long_one_is_cut),
		cmocka_unit_test(the_question),
		cmocka_unit_test(what_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
