/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "a2a/task.h"

static bool event(struct th_a2a_task *t, unsigned seq, const char *kind, const char *data)
{
	char line[512];

	snprintf(line, sizeof(line), "{\"seq\":%u,\"ts_ms\":%u,\"kind\":\"%s\",\"data\":%s}", seq,
		 1000 * seq, kind, data);
	return th_a2a_task_event(t, th_str_of(line));
}

static void test_ids(void **state)
{
	char session[TH_SESSION_ID_MAX + 1], id[TH_A2A_ID_MAX], longest[TH_SESSION_ID_MAX + 4];
	struct th_a2a_task t;
	uint64_t after;

	(void)state;
	th_a2a_task_init(&t, "a.b", 17);
	th_a2a_task_id(&t, id);
	assert_string_equal(id, "a.b.17");
	assert_true(th_a2a_task_parse(th_str_of(id), session, &after));
	assert_string_equal(session, "a.b");
	assert_int_equal(after, 17);
	assert_false(th_a2a_task_parse(TH_STR(""), session, &after));
	assert_false(th_a2a_task_parse(TH_STR(".1"), session, &after));
	assert_false(th_a2a_task_parse(TH_STR("a."), session, &after));
	assert_false(th_a2a_task_parse(TH_STR("a.-1"), session, &after));
	assert_false(th_a2a_task_parse(TH_STR("a.1x"), session, &after));
	assert_false(th_a2a_task_parse(TH_STR("a\0b.1"), session, &after));
	memset(longest, 'x', sizeof(longest));
	memcpy(longest + TH_SESSION_ID_MAX, ".1", 3);
	assert_true(th_a2a_task_parse(th_str_of(longest), session, &after));
	memcpy(longest + TH_SESSION_ID_MAX, "x.1", 4);
	assert_false(th_a2a_task_parse(th_str_of(longest), session, &after));
}

static void test_states(void **state)
{
	struct th_a2a_task t;

	(void)state;
	th_a2a_task_init(&t, "s", 0);
	assert_true(event(&t, 1, "message", "{\"role\":\"user\",\"content\":\"go\"}"));
	assert_int_equal(t.state, TH_A2A_SUBMITTED);
	event(&t, 2, "model_requested", "{}");
	assert_int_equal(t.state, TH_A2A_WORKING);
	event(&t, 3, "call", "{\"call_id\":\"c\",\"tool\":\"shell\",\"arguments\":{}}");
	event(&t, 4, "approval_requested", "{\"call_id\":\"c\",\"reason\":\"r\"}");
	assert_int_equal(t.state, TH_A2A_INPUT_REQUIRED);
	event(&t, 4, "final", "{\"output\":\"told before\"}");
	assert_int_equal(t.state, TH_A2A_INPUT_REQUIRED);
	event(&t, 5, "approval_decided", "{\"call_id\":\"c\",\"approve\":true}");
	assert_int_equal(t.state, TH_A2A_WORKING);
	event(&t, 6, "outcome", "{\"call_id\":\"c\",\"status\":\"done\"}");
	event(&t, 7, "delegation_waits",
	      "{\"waits\":[{\"session\":\"k\",\"call_id\":\"d\",\"tool\":\"t\"}]}");
	assert_int_equal(t.state, TH_A2A_INPUT_REQUIRED);
	assert_string_equal(t.calls[0].call_id, "k/d");
	event(&t, 8, "delegation_waits", "{\"waits\":[]}");
	event(&t, 9, "error", "{\"message\":\"no\"}");
	assert_int_equal(t.state, TH_A2A_FAILED);
	event(&t, 10, "state_changed", "{\"to\":\"running\"}");
	assert_int_equal(t.state, TH_A2A_WORKING);
	event(&t, 11, "final", "{\"output\":\"yes\"}");
	assert_int_equal(t.state, TH_A2A_COMPLETED);
	assert_false(event(&t, 12, "message", "{\"role\":\"user\",\"content\":\"next\"}"));
	assert_int_equal(t.last_seq, 11);
	t.latest = true;
	assert_true(event(&t, 12, "message", "{\"role\":\"user\",\"content\":\"next\"}"));
	assert_int_equal(t.after, 11);
	assert_int_equal(t.state, TH_A2A_SUBMITTED);
	th_a2a_task_deinit(&t);
}

static void test_questions(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);
	struct th_a2a_task t;

	(void)state;
	th_a2a_task_init(&t, "s", 0);
	event(&t, 1, "items_added",
	      "{\"begins\":true,\"items\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\","
	      "\"blob\":\"x\"},{\"type\":\"input_file\",\"filename\":\"a.pdf\"}]}]}");
	assert_string_equal(t.messages[0].text, "[picture]\n[file a.pdf]");
	event(&t, 2, "model_requested", "{}");
	event(&t, 3, "call", "{\"call_id\":\"c\",\"tool\":\"shell\",\"arguments\":{}}");
	event(&t, 4, "approval_requested", "{\"call_id\":\"c\",\"reason\":\"r\"}");
	assert_null(th_a2a_task_question(&t));
	event(&t, 5, "call",
	      "{\"call_id\":\"q\",\"tool\":\"ask\",\"question\":true,\"arguments\":{\"question\":"
	      "\"Which?\",\"options\":[\"red\"]}}");
	assert_null(th_a2a_task_question(&t));
	event(&t, 6, "approval_requested", "{\"call_id\":\"q\",\"reason\":\"r\"}");
	assert_string_equal(th_a2a_task_question(&t)->call_id, "q");
	th_a2a_print_task(&t, true, 0, &w);
	assert_true(th_str_find(th_buf_str(&out), TH_STR("Which?\\n- red")) > 0);
	assert_true(th_str_find(th_buf_str(&out), TH_STR("\"word\":\"answer\"")) > 0);
	event(&t, 7, "approval_decided", "{\"call_id\":\"q\",\"approve\":true}");
	assert_null(th_a2a_task_question(&t));
	/* A server of tools asks: what is shown is its question. */
	event(&t, 8, "call", "{\"call_id\":\"m\",\"tool\":\"s_do\",\"arguments\":{}}");
	event(&t, 9, "question", "{\"call_id\":\"m\",\"arguments\":{\"question\":\"Sure?\"}}");
	event(&t, 10, "approval_requested", "{\"call_id\":\"m\",\"reason\":\"r\"}");
	assert_string_equal(th_a2a_task_question(&t)->arguments, "{\"question\":\"Sure?\"}");
	event(&t, 11, "final", "{\"output\":\"yes\"}");
	assert_true(
	    event(&t, 12, "items_added", "{\"items\":[{\"role\":\"user\",\"content\":\"x\"}]}"));
	assert_false(event(&t, 13, "items_added", "{\"begins\":true,\"items\":[]}"));
	th_a2a_task_deinit(&t);
	th_buf_deinit(&out);
}

/* The newest are kept. */
static void test_history(void **state)
{
	struct th_buf out = TH_BUF_INIT(TH_MIB);
	struct th_jw w = th_jw(&out);
	struct th_a2a_task t;
	char data[64];

	(void)state;
	th_a2a_task_init(&t, "s", 0);
	for (unsigned i = 1; i <= TH_A2A_HISTORY_MAX + 1; i++) {
		snprintf(data, sizeof(data), "{\"role\":\"user\",\"content\":\"n%u\"}", i);
		event(&t, i, "message", data);
		assert_int_equal(t.message_count, TH_MIN(i, (unsigned)TH_A2A_HISTORY_MAX));
	}
	assert_string_equal(t.messages[0].text, "n2");
	th_a2a_print_task(&t, true, 1, &w);
	assert_true(th_str_find(th_buf_str(&out), TH_STR("\"n101\"")) > 0);
	assert_true(th_str_find(th_buf_str(&out), TH_STR("\"n100\"")) < 0);
	assert_true(th_json_valid(th_buf_str(&out)));
	th_a2a_task_deinit(&t);
	th_buf_deinit(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_questions),
		cmocka_unit_test(test_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
