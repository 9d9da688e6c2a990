/* SPDX-License-Identifier: Apache-2.0 */
/* think and task_list: what is kept, what is shown, and the limits' edges. */
#include "job.h"

static void keeps_a_list(void **state)
{
	(void)state;
	assert_string_equal(tool("task_list", "{}"),
			    "No task list found. Use the \"plan\" command to create one.");
	assert_string_equal(
	    tool("task_list", "{\"command\":\"plan\",\"task_list\":[{\"title\":\"look\",\"status\":"
			      "\"done\"},{\"title\":\"mend\",\"status\":\"in_progress\",\"notes\":"
			      "\"the\\nlast one\",\"id\":\"7\"},{}]}"),
	    "Task list has been updated with 3 item(s).");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(tool("task_list", "{\"command\":\"view\"}"),
			    "# Task List\n1. [x] look\n2. [~] mend (in progress)\n   the\\nlast "
			    "one\n3. [ ] Untitled task");
	assert_string_equal(tool("task_list", "{\"command\":\"plan\",\"task_list\":[]}"),
			    "Task list has been updated with 0 item(s).");
	assert_string_equal(tool("task_list", "{\"command\":\"view\"}"), "# Task List");
	assert_int_equal(access(in_workspace("tasks"), F_OK), -1);
	assert_true(th_effect_only_looks(th_tool_find(TH_STR("task_tracker"))->looks,
					 TH_STR("{\"command\":\"view\"}")));
}

static void has_limits(void **state)
{
	struct th_buf arguments = TH_BUF_INIT(TH_MIB);

	(void)state;
	for (int extra = 0; extra < 2; extra++) {
		th_buf_clear(&arguments);
		th_buf_add_cstr(&arguments, "{\"command\":\"plan\",\"task_list\":[{}");
		for (int i = 1; i < TH_TASKS_MAX + extra; i++)
			th_buf_add_cstr(&arguments, ",{}");
		th_buf_add_cstr(&arguments, "]}");
		tool("task_list", arguments.ptr);
		assert_int_equal(run.status, extra ? TH_OUTCOME_REFUSED : TH_OUTCOME_DONE);
	}
	assert_string_equal(run.text.ptr, "error: a task list has at most 200 tasks");
	th_fd_close(&env.undo_fd);
	assert_true(
	    has(tool("task_list", "{\"command\":\"plan\"}"), "has no place for a task list"));
	assert_true(has(tool("task_list", "{}"), "No task list found."));
	th_buf_deinit(&arguments);
}

static void thinks(void **state)
{
	(void)state;
	assert_string_equal(tool("think", "{\"thought\":\"hm\"}"), "Your thought has been logged.");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, job_setup, job_teardown)
	const struct CMUnitTest tests[] = { TEST(keeps_a_list), TEST(has_limits), TEST(thinks) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
