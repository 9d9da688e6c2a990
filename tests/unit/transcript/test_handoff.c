/* SPDX-License-Identifier: Apache-2.0 */
/* What a handoff's filter is shown, and what its answer means. */
#include "transcript_rig.h"

#include "transcript/handoff.h"

static const struct line lines[] = {
	{ TH_EV_MESSAGE, SAYS("old") },
	{ TH_EV_MESSAGE, SAYS("do it") },
	{ TH_EV_MODEL_ANSWERED, ANSWER(CALL("function_call", "a")) },
	{ TH_EV_OUTCOME, OUTCOME("a") },
	{ TH_EV_MODEL_ANSWERED, ANSWER(TEXT("over") "," CALL("function_call", "b")) },
	{ TH_EV_OUTCOME, OUTCOME("b") },
};
#define RESULT(id) "{\"type\":\"function_call_output\",\"call_id\":\"" id "\",\"output\":\"ok\"}"

static void test_three_parts(void **state)
{
	struct th_transcript transcript;
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	th_jw_object(&w);
	th_handoff_put_parts(&transcript, &w);
	th_jw_object_end(&w);
	th_buf_add_char(&out, '\0');
	assert_string_equal(
	    out.ptr,
	    "{\"input_history\":[" SAYS("old") "," SAYS("do it") "],\"pre_handoff_items\":[" CALL(
		"function_call", "a") "," RESULT("a") "],"
						      "\"new_items\":[" TEXT("over") "," CALL(
							  "function_call",
							  "b") "," RESULT("b") "]}");
	th_buf_deinit(&out);
	th_transcript_deinit(&transcript);
}

static void test_answers(void **state)
{
	static const struct {
		const char *answer, *marks;
		size_t run_items;
	} cases[] = {
		/* A list is all that is seen, and what the next run goes on from. */
		{ "[]", "[]", 0 },
		{ "[" SAYS("old") "]", "[[1,0]]", 0 },
		/* What is left out stays. */
		{ "{\"new_items\":[]}", "[[1,0],[2,0],[3,0],[4,0]]", 2 },
		{ "{\"input_history\":[],\"else\":1}", "[[3,0],[4,0],[5,0],[5,1],[6,1]]", 5 },
		{ "{\"pre_handoff_items\":[]}", "[[1,0],[2,0],[5,0],[5,1],[6,1]]", 3 },
		{ "{\"input_history\":\"anew\",\"pre_handoff_items\":[]}",
		  "[" SAYS("anew") ",[5,0],[5,1],[6,1]]", 3 },
		/* What the next agent sees of the turn, in place of it. */
		{ "{\"new_items\":[" SAYS("x") "],\"input_items\":[" TEXT("over") "]}",
		  "[[1,0],[2,0],[3,0],[4,0],[5,0]]", 3 },
		{ "{\"input_items\":null,\"new_items\":[]}", "[[1,0],[2,0],[3,0],[4,0]]", 2 },
	};
	static const struct {
		const char *answer, *why;
	} bad[] = {
		{ "\"nope\"", "it must be a list of items" },
		{ "{}", "it must be a list of items, or an object with input_history, "
			"pre_handoff_items, new_items or input_items" },
		{ "{\"new_items\":{}}", "new_items: it must be a list of items" },
		{ "{\"new_items\":\"text\"}", "new_items: it must be a list of items" },
		{ "{\"input_items\":[1]}",
		  "input_items: item 0 must be an object with a role or a type" },
		{ "{\"input_history\":[{\"role\":\"user\"}]}",
		  "input_history: item 0 has no content" },
		{ "{\"input_history\":[{\"role\":\"user\",\"content\":5}]}",
		  "input_history: item 0: content must be a string or a list of parts" },
		{ "{\"input_history\":[{\"role\":\"user\",\"content\":[[]]}]}",
		  "input_history: item 0: content has a part that is no object" },
		{ "{\"new_items\":[{\"type\":\"function_call_output\",\"call_id\":\"c\","
		  "\"output\":[{\"type\":\"input_text\",\"text\":5}]}]}",
		  "new_items: item 0: output has a part whose text is no string" },
	};
	struct th_transcript transcript;
	struct th_json_doc *doc;
	struct th_err err;
	size_t run_items;

	(void)state;
	fill(&transcript, TH_COUNT(lines), lines);
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_buf marks = TH_BUF_INIT(TH_MIB);

		assert_int_equal(th_json_parse(th_str_of(cases[i].answer), &doc, &err), TH_OK);
		if (th_handoff_mark(&transcript, th_json_root(doc), &marks, &run_items, &err))
			fail_msg("%s: %s", cases[i].answer, err.msg);
		th_buf_add_char(&marks, '\0');
		assert_string_equal(marks.ptr, cases[i].marks);
		assert_int_equal(run_items, cases[i].run_items);
		th_buf_deinit(&marks);
		th_json_free(doc);
	}
	for (size_t i = 0; i < TH_COUNT(bad); i++) {
		struct th_buf marks = TH_BUF_INIT(TH_MIB);

		assert_int_equal(th_json_parse(th_str_of(bad[i].answer), &doc, &err), TH_OK);
		assert_int_equal(
		    th_handoff_mark(&transcript, th_json_root(doc), &marks, &run_items, &err),
		    TH_EPROTO);
		assert_string_equal(err.msg, bad[i].why);
		th_buf_deinit(&marks);
		th_json_free(doc);
	}
	th_transcript_deinit(&transcript);
}

static void test_room(void **state)
{
	static const char answer[] = "{\"input_history\":[" SAYS("0123456789") "]}";
	struct th_transcript transcript;
	struct th_json_doc *doc;
	struct th_err err;
	size_t run_items, need;
	struct th_buf marks = TH_BUF_INIT(TH_MIB);

	(void)state;
	fill(&transcript, 2, lines);
	assert_int_equal(th_json_parse(th_str_of(answer), &doc, &err), TH_OK);
	assert_int_equal(th_handoff_mark(&transcript, th_json_root(doc), &marks, &run_items, &err),
			 TH_OK);
	need = marks.len;
	for (size_t i = 0; i < 2; i++) {
		th_buf_deinit(&marks);
		th_buf_init(&marks, need - i);
		assert_int_equal(
		    th_handoff_mark(&transcript, th_json_root(doc), &marks, &run_items, &err),
		    i ? TH_ELIMIT : TH_OK);
	}
	th_buf_deinit(&marks);
	th_json_free(doc);
	th_transcript_deinit(&transcript);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_parts),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
