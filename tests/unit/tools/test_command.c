/* SPDX-License-Identifier: Apache-2.0 */
/* test_command.c - programs as tools: what goes in, what comes back, and how they end. */
#include "job.h"

/* sh -c SCRIPT as the program; scripts here have no quotes or backslashes. */
static const char *command_in(const char *script, const char *input, int timeout_s)
{
	char arguments[4096];

	snprintf(arguments, sizeof(arguments),
		 "{\"name\":\"probe\",\"argv\":[\"/bin/sh\",\"-c\",\"%s\"],\"input\":%s,"
		 "\"timeout_s\":%d}",
		 script, input, timeout_s);
	return tool("command", arguments);
}

static const char *command(const char *script)
{
	return command_in(script, "{}", 0);
}

static void json_in_and_text_out(void **state)
{
	(void)state;
	assert_string_equal(command_in("cat", "{\"city\":\"Bern\",\"n\":[1,2]}", 0),
			    "{\"city\":\"Bern\",\"n\":[1,2]}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(run.evidence.ptr, "{\"exit_code\":0,\"output_size\":25}");
	/* A JSON string is its text. */
	assert_string_equal(command_in("cat", "\"two\\nlines\"", 0), "two\nlines");
	assert_string_equal(command("echo plain words"), "plain words");
	assert_string_equal(command("true"), "");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	/* A program that does not read. */
	assert_string_equal(command_in("exec 0<&-; echo ok", "{\"a\":1}", 0), "ok");
}

static void words_are_no_shell(void **state)
{
	(void)state;
	assert_string_equal(tool("command",
				 "{\"name\":\"p\",\"argv\":[\"printf\",\"%s|\",\"$(id)\",\"a b\","
				 "\";x\"],\"input\":{}}"),
			    "$(id)|a b|;x|");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
}

static void progress_is_shown_and_kept_out(void **state)
{
	(void)state;
	assert_string_equal(command("echo step 1 >&2; echo result; echo step 2 >&2"), "result");
	assert_string_equal(run.streamed.ptr, "step 1\nstep 2\n");
}

/* Lines are longer as JSON, and what one effect gives back has an end. */
static void both_streams_fit(void **state)
{
	struct th_buf json = TH_BUF_INIT(8 * TH_MIB);
	struct th_jw w = th_jw(&json);

	(void)state;
	tool("command",
	     "{\"name\":\"p\",\"argv\":[\"/bin/sh\",\"-c\",\"yes | head -c 393216; yes | head "
	     "-c 393216 >&2\"],\"input\":{},\"apart\":true,\"most\":393216}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	th_jw_str(&w, th_buf_str(&run.text));
	assert_true(json.len > TH_EXEC_OUTPUT_MAX / 4 && json.len <= TH_EXEC_OUTPUT_MAX);
	assert_true(has(run.text.ptr, "bytes left out"));
	assert_true(has(run.text.ptr, "\"err\":\"y\\ny\\n"));
	th_buf_deinit(&json);
	tool("command",
	     "{\"name\":\"p\",\"argv\":[\"/bin/sh\",\"-c\",\"yes | head -c 100000 | tr -d "
	     "'\\n'\"],\"input\":{},\"apart\":true,\"most\":393216}");
	assert_int_equal(run.text.len, 50000 + strlen("{\"out\":\"\",\"err\":\"\"}"));
}

static void a_failure_is_told(void **state)
{
	(void)state;
	assert_string_equal(command("echo no such city >&2; echo half; exit 3"),
			    "error: probe failed with exit status 3\nno such city\nhalf");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_string_equal(run.evidence.ptr, "{\"exit_code\":3,\"output_size\":5}");
	assert_string_equal(command("exit 1"), "error: probe failed with exit status 1");
	assert_true(has(command("kill -9 $$"), "error: probe"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	tool("command", "{\"name\":\"p\",\"argv\":[\"/no/such/program\"],\"input\":{}}");
	assert_true(run.status == TH_OUTCOME_NOT_STARTED || run.status == TH_OUTCOME_FAILED);
}

static void it_ends_in_time(void **state)
{
	(void)state;
	/* What it had written by then depends on the machine. */
	assert_true(has(command_in("echo begun >&2; sleep 60 & sleep 60", "{}", 1),
			"error: probe was ended after 1 s, its time limit, with everything it had "
			"started"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.evidence.ptr, "\"timed_out\":true"));
}

static void cancel_now(void)
{
	run.on_output = NULL;
	th_tool_command.cancel(&run.job);
}

static void it_can_be_cancelled(void **state)
{
	(void)state;
	run.on_output = cancel_now;
	assert_string_equal(command("echo begun >&2; sleep 60"),
			    "error: probe was cancelled, with everything it had started\nbegun");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
}

static void environment_is_clean_and_names_the_effect(void **state)
{
	(void)state;
	setenv("OPENAI_API_KEY", "sk-secret", 1);
	command("pwd; env");
	assert_true(th_str_starts(th_buf_str(&run.text), th_str_of(workspace)));
	assert_false(has(run.text.ptr, "sk-secret"));
	assert_true(has(run.text.ptr, "THOLE_EFFECT_ID=effect-1"));
}

/* Output and input at their edges. */
static void limits(void **state)
{
	struct th_buf arguments = TH_BUF_INIT(2 * TH_MIB);
	int fd = env.workspace_fd;

	(void)state;
	command("head -c 300000 /dev/zero | tr '[:cntrl:]' x");
	assert_true(run.text.len < 2 * TH_TOOL_OUTPUT_MODEL_MAX);
	assert_true(has(run.text.ptr, "bytes left out"));
	/* What a program said while it worked is told with its failure. */
	assert_int_equal(TH_COMMAND_PROGRESS_MAX, 4096);
	command("head -c 4096 /dev/zero | tr '[:cntrl:]' x >&2; exit 1");
	assert_int_equal(run.text.len, strlen("error: probe failed with exit status 1\n") + 4096);
	assert_false(has(run.text.ptr, "left out"));
	command("head -c 4097 /dev/zero | tr '[:cntrl:]' x >&2; exit 1");
	assert_true(has(run.text.ptr, "left out"));
	for (int over = 0; over < 2; over++) {
		th_buf_clear(&arguments);
		th_buf_add_cstr(&arguments,
				"{\"name\":\"p\",\"argv\":[\"wc\",\"-c\"],\"input\":\"");
		for (size_t i = 0; i < TH_COMMAND_INPUT_MAX - 2 + (size_t)over; i++)
			th_buf_add_char(&arguments, 'x');
		th_buf_add_cstr(&arguments, "\"}");
		tool("command", arguments.ptr);
		assert_int_equal(run.status, over ? TH_OUTCOME_REFUSED : TH_OUTCOME_DONE);
	}
	assert_true(has(run.text.ptr, "at most 524288 bytes"));
	env.workspace_fd = -1;
	assert_true(has(command("true"), "no workspace"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	env.workspace_fd = fd;
	th_buf_deinit(&arguments);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_in_and_text_out),
		cmocka_unit_test(words_are_no_shell),
		cmocka_unit_test(progress_is_shown_and_kept_out),
		cmocka_unit_test(both_streams_fit),
		cmocka_unit_test(a_failure_is_told),
		cmocka_unit_test(it_ends_in_time),
		cmocka_unit_test(it_can_be_cancelled),
		cmocka_unit_test(environment_is_clean_and_names_the_effect),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, confined_setup, confined_teardown);
}
