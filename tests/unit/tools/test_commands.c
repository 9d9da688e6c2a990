/* SPDX-License-Identifier: Apache-2.0 */
/* Several commands of one call: what each wrote, in order, and how the last of them ends. */
#include "job.h"

#define EXIT(code) "\"outcome\":{\"type\":\"exit\",\"exit_code\":" #code "}"

static void both_streams_of_each(void **state)
{
	(void)state;
	assert_string_equal(tool("commands",
				 "{\"commands\":[\"echo out; echo err >&2; exit 3\",\"printf x\","
				 "\"true\"]}"),
			    "$ echo out; echo err >&2; exit 3\nout\nstderr:\nerr\nexit code: 3\n\n"
			    "$ printf x\nx\n\n$ true\n(no output)");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(
	    run.evidence.ptr,
	    "{\"commands\":[{\"stdout\":\"out\\n\",\"stderr\":\"err\\n\"," EXIT(
		3) "},{\"stdout\":\"x\",\"stderr\":\"\"," EXIT(0) "},{\"stdout\":\"\",\"stderr\":"
								  "\"\"," EXIT(0) "}]}");
	/* Each sees what those before it did. */
	assert_true(has(tool("commands", "{\"commands\":[\"echo hi > made\",\"cat made\"]}"),
			"$ cat made\nhi"));
}

/* Its words are the program's, whatever they look like to a shell. */
static void a_program(void **state)
{
	(void)state;
	tool("commands", "{\"argv\":[\"printf\",\"%s|\",\"a b\",\"$(touch no)\",\"'; touch no\"]}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_true(has(run.evidence.ptr, "{\"stdout\":\"a b|$(touch no)|'; touch no|\""));
	assert_int_equal(access(in_workspace("no"), F_OK), -1);
	tool("commands", "{\"commands\":[\"mkdir -- -P && mkdir -- -\"]}");
	tool("commands", "{\"argv\":[\"touch\",\"here\"],\"folder\":\"-P\"}");
	assert_int_equal(access(in_workspace("-P/here"), F_OK), 0);
	tool("commands",
	     "{\"argv\":[\"env\",\"A=b\",\"sh\",\"-c\",\"echo $A > made\"],\"folder\":\"-\"}");
	assert_int_equal(access(in_workspace("-/made"), F_OK), 0);
	assert_true(has(tool("commands", "{\"argv\":[\"true\"],\"folder\":\"none\"}"), "none"));
	tool("commands", "{\"argv\":[\"touch\",\"a\\u0000b\"]}");
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	tool("commands", "{}");
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	tool("commands", "{\"argv\":[\"true\"],\"commands\":[\"true\"]}");
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
}

static void time_is_over_for_all(void **state)
{
	(void)state;
	tool("commands",
	     "{\"commands\":[\"echo first\",\"sleep 60\",\"echo never\"],\"timeout_ms\":300}");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.evidence.ptr, "{\"stdout\":\"first\\n\""));
	assert_true(has(run.evidence.ptr, "\"outcome\":{\"type\":\"timeout\"}},{\"stdout\":\"\","
					  "\"stderr\":\"[not run"));
	assert_false(has(run.text.ptr, "never\nnever"));
}

static void cancel_when_it_speaks(void)
{
	if (has(run.streamed.ptr, "begun"))
		th_tool_find(TH_STR("commands"))->cancel(&run.job);
}

static void a_cancel_ends_it(void **state)
{
	(void)state;
	run.on_output = cancel_when_it_speaks;
	tool("commands", "{\"commands\":[\"echo begun; sleep 60\",\"touch never\"]}");
	run.on_output = NULL;
	assert_false(has(run.evidence.ptr, "timeout"));
	assert_true(has(run.text.ptr, "status: not run"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.evidence.ptr, "\"cancelled\":true"));
	assert_int_equal(access(in_workspace("never"), F_OK), -1);
}

static void the_edges(void **state)
{
	struct th_buf json = TH_BUF_INIT(TH_MIB);

	(void)state;
	assert_true(has(tool("commands", "{\"commands\":[\"touch done\",\"a\\u0000b\"]}"), "NUL"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	assert_int_equal(access(in_workspace("done"), F_OK), -1); /* nothing of it began */
	for (int count = TH_COMMANDS_MAX; count <= TH_COMMANDS_MAX + 1; count++) {
		th_buf_clear(&json);
		th_buf_add_cstr(&json, "{\"commands\":[");
		for (int i = 0; i < count; i++)
			th_buf_add_cstr(&json, i ? ",\"true\"" : "\"true\"");
		th_buf_add_cstr(&json, "]}");
		tool("commands", json.ptr);
		assert_int_equal(run.status,
				 count > TH_COMMANDS_MAX ? TH_OUTCOME_REFUSED : TH_OUTCOME_DONE);
	}
	th_buf_deinit(&json);
	/* All output together is as long as one command's. */
	tool("commands", "{\"commands\":[\"yes | head -c 200000\",\"yes | head -c 200000 >&2\"]}");
	assert_true(run.text.len < 2 * TH_TOOL_OUTPUT_MODEL_MAX);
	assert_true(has(run.text.ptr, "left out"));
}

/* No agent file and no model names it. */
static void it_is_nobodys(void **state)
{
	(void)state;
	for (size_t i = 0; th_tools[i]; i++)
		assert_false(th_tool_is_internal(th_tools[i]));
	assert_true(th_tool_is_internal(th_tool_find(TH_STR("commands"))));
	assert_true(th_tool_is_internal(th_tool_find(TH_STR("command"))));
	assert_false(th_tool_is_internal(th_tool_find(TH_STR("shell"))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_streams_of_each, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(a_program, confined_setup, confined_teardown),
		cmocka_unit_test_setup_teardown(time_is_over_for_all, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(a_cancel_ends_it, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(the_edges, confined_setup, confined_teardown),
		cmocka_unit_test(it_is_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
