/* SPDX-License-Identifier: Apache-2.0 */
/* test_restated.c - what is said again after a condensation, and the limits' edges. */
#include "unit.h"

#include <string.h>

#include "base/limits.h"
#include "core/restated.h"
#include "events/event_text.h"

static const char *printed(const struct th_restated *k)
{
	static char text[4 * TH_RESTATED_MAX];
	struct th_buf out = TH_BUF_INIT(sizeof(text) - 1);

	th_restated_print(k, &out);
	th_buf_add_char(&out, '\0');
	memcpy(text, out.ptr, out.len);
	th_buf_deinit(&out);
	return text;
}

static void test_notes_and_tasks(void **unused)
{
	struct th_restated k;

	(void)unused;
	th_restated_init(&k);
	assert_string_equal(printed(&k), "");
	th_restated_take(&k, TH_STR("bash"), TH_STR("{\"text\":\"no\"}"));
	th_restated_take(&k, TH_STR("notes"), TH_STR("no JSON"));
	assert_string_equal(printed(&k), "");
	th_restated_take(&k, TH_STR("notes"), TH_STR("{\"text\":\"one\"}"));
	th_restated_take(&k, TH_STR("notes"), TH_STR("{\"text\":\"two\"}"));
	th_restated_take(
	    &k, TH_STR("task_tracker"),
	    TH_STR("{\"command\":\"plan\",\"task_list\":[{\"title\":\"a\",\"status\":\"done\"},"
		   "{\"title\":\"b\",\"status\":\"in_progress\",\"notes\":\"n\"},{\"title\":"
		   "\"c\"}]}"));
	th_restated_take(&k, TH_STR("task_list"), TH_STR("{\"command\":\"view\"}"));
	assert_string_equal(printed(&k),
			    "[Your notes:]\ntwo\n\n[Your task list:]\n1. [x] a\n2. [~] b - "
			    "n\n3. [ ] c");
	th_restated_take(&k, TH_STR("notes"), TH_STR("{\"text\":\"\"}"));
	th_restated_take(&k, TH_STR("task_list"),
			 TH_STR("{\"command\":\"plan\",\"task_list\":[]}"));
	assert_string_equal(printed(&k), "");
	th_restated_deinit(&k);
}

static void test_limits(void **unused)
{
	(void)unused;
	for (size_t over = 0; over <= 1; over++) {
		struct th_buf text = TH_BUF_INIT(2 * TH_RESTATED_MAX);
		struct th_err err = { 0 };
		struct th_restated k;

		th_restated_init(&k);
		th_buf_add_cstr(&text, "{\"text\":\"");
		for (size_t i = 0; i < TH_RESTATED_MAX + over; i++)
			th_buf_add_char(&text, 'x');
		th_buf_add_cstr(&text, "\"}");
		assert_int_equal(th_restated_check(th_buf_str(&text), &err),
				 over ? TH_ELIMIT : TH_OK);
		th_restated_take(&k, TH_STR("notes"), th_buf_str(&text));
		assert_int_equal(k.notes.len, TH_RESTATED_MAX);
		/* A list of any length is cut. */
		th_buf_deinit(&text);
		th_buf_init(&text, TH_MIB);
		th_buf_add_cstr(&text, "{\"command\":\"plan\",\"task_list\":[{\"title\":\"t\"}");
		for (size_t i = 0; i < 2000; i++)
			th_buf_add_cstr(&text, ",{\"title\":\"a task\"}");
		th_buf_add_cstr(&text, "]}");
		th_restated_take(&k, TH_STR("task_list"), th_buf_str(&text));
		assert_true(k.tasks.len < TH_RESTATED_MAX + 200);
		assert_non_null(strstr(printed(&k), "the rest is in the task list"));
		th_buf_deinit(&text);
		th_restated_deinit(&k);
	}
}

static void test_words_of_events(void **unused)
{
	static const struct {
		enum th_event_kind kind;
		const char *data, *label, *text;
	} rows[] = {
		{ TH_EV_MESSAGE, "{\"role\":\"user\",\"content\":\"hello\"}", "user", "hello" },
		{ TH_EV_MESSAGE,
		  "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"a\"},{"
		  "\"type\":"
		  "\"image\",\"blob\":\"ff\"},{\"type\":\"input_text\",\"text\":\"b\"}]}",
		  "user", "a\nb" },
		{ TH_EV_MODEL_ANSWERED,
		  "{\"items\":[{\"type\":\"reasoning\",\"encrypted_content\":\"x\"},{\"type\":"
		  "\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"I "
		  "look\"}]},{\"type\":"
		  "\"function_call\",\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":1}\"}]}",
		  "assistant", "I look\nbash\n{\"command\":1}" },
		{ TH_EV_OUTCOME, "{\"call_id\":\"c1\",\"output\":\"done\"}", "result of c1",
		  "done" },
		{ TH_EV_OUTCOME, "{\"call_id\":\"c1\",\"output\":\"\"}", NULL, NULL },
		{ TH_EV_CONDENSATION, "{\"summary\":\"S\"}", "summary", "S" },
		{ TH_EV_INTENT, "{\"tool\":\"bash\"}", NULL, NULL },
		{ TH_EV_MESSAGE, "no JSON", NULL, NULL },
	};

	(void)unused;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		const struct th_event ev = { .kind = rows[i].kind,
					     .data = th_str_of(rows[i].data) };
		struct th_buf label = TH_BUF_INIT(TH_KIB), text = TH_BUF_INIT(TH_KIB);

		assert_int_equal(th_event_text(&ev, &label, &text), rows[i].text != NULL);
		th_buf_add_char(&label, '\0');
		th_buf_add_char(&text, '\0');
		assert_string_equal(label.ptr, rows[i].label ?: "");
		assert_string_equal(text.ptr, rows[i].text ?: "");
		th_buf_deinit(&label);
		th_buf_deinit(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notes_and_tasks),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_words_of_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
