/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/tool_names.h"

#include "unit.h"

#include "base/buf.h"

/* "own, own | names of tools that do the same" */
static void expect(const char *tool, unsigned calls, const char *want)
{
	const struct th_tool_called called = th_tool_called(th_str_of(tool), calls);
	struct th_buf found = TH_BUF_INIT(TH_KIB);

	for (size_t i = 0; i < called.count; i++)
		th_buf_printf(&found, "%s%.*s",
			      i == called.same ? " | "
			      : i              ? " "
					       : "",
			      TH_FMT(called.names[i]));
	assert_string_equal(found.ptr, want);
	th_buf_deinit(&found);
}

static void names(void **state)
{
	(void)state;
	expect("bash", TH_TOOL_CHANGES, "bash execute_bash terminal | shell");
	expect("terminal", TH_TOOL_CHANGES, "terminal bash execute_bash | shell");
	expect("shell", TH_TOOL_CHANGES, "shell | bash execute_bash terminal");
	expect("edit", TH_TOOL_LOOKS,
	       "edit str_replace_editor file_editor str_replace_based_edit_tool | "
	       "read_file list_dir");
	expect("file_editor", TH_TOOL_CHANGES,
	       "file_editor edit str_replace_editor str_replace_based_edit_tool | write_file");
	expect("edit", TH_TOOL_ANY,
	       "edit str_replace_editor file_editor str_replace_based_edit_tool | "
	       "read_file list_dir write_file");
	expect("write_file", TH_TOOL_CHANGES,
	       "write_file | edit str_replace_editor file_editor str_replace_based_edit_tool");
	expect("grep", TH_TOOL_LOOKS, "grep search");
	expect("mine", TH_TOOL_ANY, "mine");
	assert_int_equal(th_tool_called_alone(TH_STR("bash")).count, 1);
}

static void pairs(void **state)
{
	(void)state;
	assert_true(th_tool_named(TH_STR("shell"), TH_STR("bash")));
	assert_true(th_tool_named(TH_STR("execute_bash"), TH_STR("shell")));
	assert_true(th_tool_named(TH_STR("read_file"), TH_STR("edit")));
	assert_false(th_tool_named(TH_STR("read_file"), TH_STR("write_file")));
	assert_false(th_tool_named(TH_STR("apply_patch"), TH_STR("edit")));
	assert_true(th_str_is(th_tool_own_name(TH_STR("terminal")), "bash"));
	assert_true(th_str_is(th_tool_own_name(TH_STR("mine")), "mine"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
