/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <stdio.h>

#include "console/console.h"
#include "console/view.h"

static struct th_buf out;
static struct th_view *view;

static int set_up(void **state TH_UNUSED)
{
	th_buf_init(&out, TH_MIB);
	view = th_view_new(&(struct th_view_options){ .columns = 100, .stream = true });
	return 0;
}

static int tear_down(void **state TH_UNUSED)
{
	view = th_view_free(view);
	th_buf_deinit(&out);
	return 0;
}

/* What an event adds. */
static const char *shown(enum th_event_kind kind, int64_t ts_ms, const char *data)
{
	struct th_event ev = {
		.seq = 1, .ts_ms = 1000000 + ts_ms, .kind = kind, .data = th_str_of(data)
	};

	th_buf_clear(&out);
	th_view_event(view, &ev, &out);
	return out.ptr;
}

static const char *streamed(enum th_delta_kind kind, const char *text)
{
	th_buf_clear(&out);
	th_view_delta(view, kind, th_str_of(text), &out);
	return out.ptr;
}

static void test_steps(void **state TH_UNUSED)
{
	assert_string_equal(
	    shown(TH_EV_SESSION_CREATED, 0,
		  "{\"agent\":{\"name\":\"a\",\"computer\":{\"kind\":\"desktop\"}},\"model\":\"m\","
		  "\"workspace\":\"/w\"}"),
	    "   0:00  agent      agent a, model m, computer desktop, in /w\n");
	assert_string_equal(
	    shown(TH_EV_MESSAGE, 1000, "{\"role\":\"user\",\"content\":\"do\\nit\"}"),
	    "   0:01  message    do\n                    it\n");
	assert_string_equal(
	    shown(TH_EV_MODEL_REQUESTED, 1000, "{\"model\":\"m\",\"turn\":3,\"attempt\":1}"), "");
	assert_string_equal(
	    shown(TH_EV_MODEL_ANSWERED, 62000,
		  "{\"status\":\"completed\",\"items\":[{\"type\":\"reasoning\",\"summary\":[{"
		  "\"type\":\"summary_text\","
		  "\"text\":\"hm\"}]},{\"type\":\"message\",\"content\":[{\"type\":\"output_text\","
		  "\"text\":\"I list\"}]},"
		  "{\"type\":\"function_call\",\"call_id\":\"c\"}],\"usage\":{\"input\":12345,"
		  "\"output\":6,\"cached\":7},"
		  "\"cost_nano\":1234567,\"elapsed_ms\":1500}"),
	    "   1:02  thinks     hm\n"
	    "   1:02  says       I list\n"
	    "   1:02  turn       3: 12.3k tokens in (7 cached), 6 out, $0.0012, 1.5 s\n");
	assert_string_equal(shown(TH_EV_CALL, 62000,
				  "{\"call_id\":\"c\",\"tool\":\"shell\",\"arguments\":{"
				  "\"command\":\"ls\\n-l\"},\"class\":\"W\","
				  "\"digest\":\"d\",\"policy\":\"run\"}"),
			    "   1:02  does       shell: ls\\n-l\n");
	assert_string_equal(shown(TH_EV_INTENT, 62000, "{}"), "");
	assert_string_equal(
	    shown(TH_EV_OUTCOME, 62000,
		  "{\"call_id\":\"c\",\"status\":\"done\",\"output\":\"a\\nb\\nc\\n\","
		  "\"evidence\":{\"exit_code\":0},\"elapsed_ms\":5}"),
	    "   1:02             done, exit 0, 5 ms: a (+2 lines)\n");
}

/* A search, or a log from its middle: the request that has the number is not among the events. */
static void test_turn_without_its_request(void **state TH_UNUSED)
{
	static const char answer[] = "{\"status\":\"completed\",\"items\":[],\"elapsed_ms\":500,"
				     "\"usage\":{\"input\":5,\"output\":2}}";

	assert_string_equal(shown(TH_EV_MODEL_ANSWERED, 0, answer),
			    "   0:00  turn       5 tokens in, 2 out, 0.5 s\n");
	(void)shown(TH_EV_MODEL_REQUESTED, 0, "{\"model\":\"m\",\"turn\":4,\"attempt\":1}");
	assert_string_equal(shown(TH_EV_MODEL_ANSWERED, 0, answer),
			    "   0:00  turn       4: 5 tokens in, 2 out, 0.5 s\n");
	assert_string_equal(shown(TH_EV_MODEL_ANSWERED, 0, answer),
			    "   0:00  turn       5 tokens in, 2 out, 0.5 s\n");
}

static void test_computer(void **state TH_UNUSED)
{
	struct th_buf line = TH_BUF_INIT(TH_KIB);

	(void)th_view_call(
	    TH_STR("computer"),
	    TH_STR("{\"actions\":[{\"type\":\"click\",\"x\":1,\"y\":2},{\"type\":\"key\","
		   "\"keys\":[\"ctrl\",\"s\"]}],"
		   "\"screenshot\":true}"),
	    200, &line);
	assert_non_null(strstr(line.ptr, "computer: click left at (1, 2); "));
	assert_non_null(strstr(line.ptr, ", then look"));
	th_buf_clear(&line);
	(void)th_view_call(TH_STR("x"), TH_STR("not json"), 200, &line);
	assert_string_equal(line.ptr, "x not json");
	th_buf_clear(&line);
	(void)th_view_call(TH_STR("write_file"), TH_STR("{\"path\":\"p\",\"content\":\"abc\"}"),
			   200, &line);
	assert_string_equal(line.ptr, "write_file: p, 3 bytes");
	th_buf_deinit(&line);
	assert_string_equal(shown(TH_EV_OUTCOME, 0,
				  "{\"call_id\":\"c\",\"status\":\"done\",\"output\":[{\"type\":"
				  "\"text\",\"text\":\"hi\"},"
				  "{\"type\":\"image\",\"blob\":\"0123456789abcdef\",\"width\":10,"
				  "\"height\":20,\"size\":1500}]}"),
			    "   0:00             done: hi, picture 10x20, 1.5 KB 0123456789ab\n");
}

static bool calls(const char *tool, const char *arguments, size_t columns, const char *want)
{
	struct th_buf line TH_CLEANUP(th_buf_deinit) = TH_BUF_INIT(TH_KIB);
	bool whole = th_view_call(th_str_of(tool), th_str_of(arguments), columns, &line);

	assert_string_equal(line.ptr, want);
	return whole;
}

/* People approve what they read here. */
static void test_nothing_hides_in_a_call(void **state TH_UNUSED)
{
	assert_true(calls("shell", "{\"command\":\"ls\"}", 200, "shell: ls"));
	assert_true(calls("pay", "{\"path\":\"ann\",\"euros\":9,\"at\":[1]}", 200,
			  "pay: ann {\"euros\":9,\"at\":[1]}"));
	assert_true(calls("shell", "{\"command\":\"ls\",\"path\":\"p\"}", 200,
			  "shell: ls {\"path\":\"p\"}"));
	assert_true(calls("pay", "{\"path\":\"p\",\"content\":7}", 200, "pay: p {\"content\":7}"));
	assert_true(
	    calls("pay", "{\"actions\":[],\"euros\":9}", 200, "pay {\"actions\":[],\"euros\":9}"));
	assert_true(
	    calls("shell", "{\"command\":\"ls\\u0000; rm x\"}", 200, "shell: ls\\x00; rm x"));
	/* What has no room, and a file's content, are left out, and the caller is told. */
	assert_false(calls("write_file", "{\"path\":\"p\",\"content\":\"abc\"}", 200,
			   "write_file: p, 3 bytes"));
	assert_true(calls("shell", "{\"command\":\"abc\"}", 10, "shell: abc"));
	assert_false(calls("shell", "{\"command\":\"abcd\"}", 10, "shell: ab\xe2\x80\xa6"));
}

/* People read these: no event is shown as its JSON. */
static void test_words_for_every_event(void **state TH_UNUSED)
{
	assert_string_equal(shown(TH_EV_SESSION_CREATED, 0,
				  "{\"agent\":{\"name\":\"lead\"},\"model\":\"m\","
				  "\"begins\":\"researcher\"}"),
			    "   0:00  agent      agent researcher, model m\n");
	assert_string_equal(
	    shown(TH_EV_GUARDRAIL, 0, "{\"name\":\"g\",\"stage\":\"input\",\"tripped\":false}"),
	    "   0:00  guardrail  g (input) passed\n");
	assert_string_equal(
	    shown(TH_EV_GUARDRAIL, 0,
		  "{\"name\":\"h 1\",\"stage\":\"tool_input\",\"tripped\":false,"
		  "\"info\":{\"failed\":\"no JSON\"}}"),
	    "   0:00  guardrail  h 1 (tool_input) failed, and all goes on: no JSON\n");
	assert_string_equal(
	    shown(TH_EV_GUARDRAIL, 0,
		  "{\"name\":\"h 1\",\"stage\":\"tool_input\",\"tripped\":false,"
		  "\"message\":\"h 1 failed: no JSON\",\"info\":{\"failed\":\"no JSON\"}}"),
	    "   0:00  guardrail  h 1 (tool_input) has the model told instead: h 1 failed: no "
	    "JSON\n");
	assert_string_equal(shown(TH_EV_GUARDRAIL, 0,
				  "{\"name\":\"g\",\"stage\":\"output\",\"tripped\":true,"
				  "\"message\":\"too long\"}"),
			    "   0:00  guardrail  g (output) stops the run: too long\n");
	assert_string_equal(
	    shown(TH_EV_GUARDRAIL, 0,
		  "{\"name\":\"g\",\"stage\":\"tool_input\",\"tripped\":false,"
		  "\"call_id\":\"c\",\"message\":\"not here\"}"),
	    "   0:00  guardrail  g (tool_input) has the model told instead: not here\n");
	assert_string_equal(
	    shown(TH_EV_HANDOFF, 0,
		  "{\"from\":\"a\",\"to\":\"b\",\"call_id\":\"c\",\"history\":[[2,0]]}"),
	    "   0:00  handoff    from a to b\n");
	assert_string_equal(
	    shown(TH_EV_CODE, 0,
		  "{\"use\":\"tool_use\",\"name\":\"f\",\"answer\":{\"final\":false}}"),
	    "   0:00  code       f (tool_use) says {\"final\":false}\n");
	assert_string_equal(
	    shown(TH_EV_CODE, 0, "{\"use\":\"llm_end\",\"name\":\"f\",\"failed\":\"no\"}"),
	    "   0:00  code       f (llm_end) failed: no\n");
	assert_string_equal(shown(TH_EV_SESSION_FORKED, 0, "{\"parent\":\"p\",\"seq\":7}"),
			    "   0:00  forked     from p, after event 7\n");
	assert_string_equal(shown(TH_EV_ITEMS_ADDED, 0, "{\"items\":[{}]}"),
			    "   0:00  history    1 item added\n");
	assert_string_equal(shown(TH_EV_ITEMS_REMOVED, 0, "{\"count\":2}"),
			    "   0:00  history    the newest 2 items taken out\n");
	assert_string_equal(shown(TH_EV_ITEMS_REMOVED, 0, "{\"count\":0}"),
			    "   0:00  history    all items taken out\n");
	assert_string_equal(
	    shown(TH_EV_CONDENSATION, 0, "{\"first_seq\":2,\"last_seq\":9,\"name\":\"shorten\"}"),
	    "   0:00  history    shortened up to event 9 by shorten\n");
	assert_string_equal(shown(TH_EV_BUDGET, 0, "{\"limits\":{\"turns\":9}}"),
			    "   0:00  limits     {\"turns\":9}\n");
}

/* The exit code, which ends the text for the model, is no line of it here. */
static void test_lines_of_a_command(void **state TH_UNUSED)
{
	static const struct {
		const char *output, *line;
	} cases[] = {
		{ "2\\n[exit code 0]", "done, exit 0: 2\n" },
		{ "[exit code 0]", "done, exit 0\n" },
		{ "a\\nb\\n[exit code 0]", "done, exit 0: a (+1 line)\n" },
		{ "a\\n[exit code 1]", "done, exit 0: a (+1 line)\n" },
	};

	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		char data[200], line[100];

		(void)snprintf(data, sizeof(data),
			       "{\"call_id\":\"c\",\"status\":\"done\",\"output\":\"%s\","
			       "\"evidence\":{\"exit_code\":0}}",
			       cases[i].output);
		(void)snprintf(line, sizeof(line), "   0:00             %s", cases[i].line);
		assert_string_equal(shown(TH_EV_OUTCOME, 0, data), line);
	}
}

/* The time is that of the task: what lies between two tasks is nobody's work. */
static void test_time_of_the_task(void **state TH_UNUSED)
{
	struct th_session s;

	th_session_init(&s);
	s.state = TH_STATE_FINISHED;
	s.created_ms = 1000;
	s.task_ms = 3601000;
	s.updated_ms = 3603500;
	th_buf_clear(&out);
	th_view_summary(&s, &out);
	assert_string_equal(out.ptr, "finished: 0 turns, 0 calls, 2.5 s");
	s.task_ms = 0;
	s.updated_ms = 2500;
	th_buf_clear(&out);
	th_view_summary(&s, &out);
	assert_string_equal(out.ptr, "finished: 0 turns, 0 calls, 1.5 s");
	th_session_deinit(&s);
}

static void test_final_is_said_once(void **state TH_UNUSED)
{
	static const char *answer =
	    "{\"status\":\"completed\",\"items\":[{\"type\":\"message\",\"content\":[{\"type\":"
	    "\"output_text\",\"text\":\"Done.\"}]}],\"elapsed_ms\":5}";

	assert_string_equal(shown(TH_EV_MODEL_ANSWERED, 0, answer), "   0:00  turn       5 ms\n");
	assert_string_equal(shown(TH_EV_FINAL, 0, "{\"output\":\"Done.\"}"),
			    "   0:00  says       Done.\n");

	assert_string_equal(streamed(TH_DELTA_REASONING, "hm"), "   0:00  thinks     hm");
	assert_string_equal(streamed(TH_DELTA_TEXT, "Do"), "\n   0:00  says       Do");
	assert_string_equal(streamed(TH_DELTA_TEXT, "ne.\nTwo\033[m"),
			    "ne.\n                    Two\\x1b[m");
	assert_string_equal(shown(TH_EV_MODEL_ANSWERED, 0, answer), "\n   0:00  turn       5 ms\n");
	assert_string_equal(shown(TH_EV_FINAL, 0, "{\"output\":\"Done.\"}"), "");
	assert_string_equal(shown(TH_EV_FINAL, 0, "{\"output\":\"Done.\"}"),
			    "   0:00  says       Done.\n");

	/* What was not the last answer after all stands before what follows. */
	shown(TH_EV_MODEL_ANSWERED, 0, answer);
	assert_string_equal(shown(TH_EV_MESSAGE, 0, "{\"content\":\"More.\"}"),
			    "   0:00  says       Done.\n   0:00  message    More.\n");
	assert_string_equal(shown(TH_EV_MODEL_REQUESTED, 0, "{\"turn\":2}"), "");
	shown(TH_EV_MODEL_ANSWERED, 0, answer);
	assert_string_equal(shown(TH_EV_MODEL_REQUESTED, 0, "{\"turn\":3}"),
			    "   0:00  says       Done.\n");
}

static void test_changed_secrets(void **state TH_UNUSED)
{
	assert_string_equal(
	    shown(TH_EV_SESSION_CHANGED, 0, "{\"secrets\":[\"TOKEN\",\"KEY\"],\"by\":\"ada\"}"),
	    "   0:00  changed    secrets TOKEN, KEY\n");
	assert_string_equal(
	    shown(TH_EV_SESSION_CHANGED, 0, "{\"title\":\"Report\",\"secrets\":[\"TOKEN\"]}"),
	    "   0:00  changed    Report; secrets TOKEN\n");
}

static void test_outside_text(void **state TH_UNUSED)
{
	shown(TH_EV_ERROR, 0, "{\"class\":\"x\",\"message\":\"bad \\u001b[31m\\u202e end\"}");
	assert_null(strchr(out.ptr, '\033'));
	shown(TH_EV_APPROVAL_REQUESTED, 0,
	      "{\"call_id\":\"\\u001b\",\"digest\":\"\",\"reason\":\"\\u009b31m\"}");
	assert_null(strchr(out.ptr, '\033'));
	assert_null(strstr(out.ptr, "\xc2\x9b"));
	shown(TH_EV_GUARDRAIL, 0, "{\"name\":\"\\u001b\"}");
	assert_null(strchr(out.ptr, '\033'));
}

/* Whatever the data is, a line comes or nothing does. */
static void test_odd_data(void **state TH_UNUSED)
{
	static const char *const datas[] = { "",   "{",    "[]",
					     "{}", "null", "{\"items\":3,\"output\":[3,null]}" };

	for (int kind = 0; kind < TH_EVENT_COUNT; kind++)
		for (size_t i = 0; i < TH_COUNT(datas); i++) {
			shown((enum th_event_kind)kind, 0, datas[i]);
			assert_true(out.len == 0 || out.ptr[out.len - 1] == '\n');
		}
}

static void test_numbers(void **state TH_UNUSED)
{
	struct th_buf b = TH_BUF_INIT(TH_KIB);

	th_cli_time(&b, 99);
	th_buf_add_char(&b, '|');
	th_cli_time(&b, 59900);
	th_buf_add_char(&b, '|');
	th_cli_time(&b, 61000);
	th_buf_add_char(&b, '|');
	th_cli_time(&b, 7200000);
	th_buf_add_char(&b, '|');
	th_cli_cost(&b, 12300000);
	th_buf_add_char(&b, '|');
	th_cli_cost(&b, 12340000000);
	th_buf_add_char(&b, '|');
	th_cli_number(&b, 9999);
	th_buf_add_char(&b, '|');
	th_cli_number(&b, 12345678);
	th_buf_add_char(&b, '|');
	th_cli_size(&b, 1234567);
	assert_string_equal(b.ptr,
			    "99 ms|59.9 s|1 min 1 s|2 h 0 min|$0.0123|$12.34|9999|12.3M|1.2 MB");
	th_buf_deinit(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_steps, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_turn_without_its_request, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_computer, set_up, tear_down),
		cmocka_unit_test(test_nothing_hides_in_a_call),
		cmocka_unit_test_setup_teardown(test_words_for_every_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lines_of_a_command, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_time_of_the_task, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_final_is_said_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_changed_secrets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_outside_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_odd_data, set_up, tear_down),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
