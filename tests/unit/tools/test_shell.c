/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: what they say, how they end, and that nothing of them stays. */
#include "job.h"
#include "peak.h"

#include <dirent.h>

static void says_output_and_exit_code(void **state)
{
	(void)state;
	assert_string_equal(tool("shell", "{\"command\":\"echo out; echo err >&2; exit 3\"}"),
			    "out\nerr\n[exit code 3]");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(run.evidence.ptr, "{\"exit_code\":3,\"output_size\":8}");
	assert_string_equal(run.streamed.ptr, "out\nerr\n");
	assert_string_equal(tool("shell", "{\"command\":\"printf x\"}"), "x\n[exit code 0]");
	assert_string_equal(tool("shell", "{\"command\":\"true\"}"), "[exit code 0]");
	assert_true(has(tool("shell", "{\"command\":\"kill -SEGV $$\"}"),
			"[ended by signal 11, Segmentation fault]") ||
		    has(run.text.ptr, "[exit code 139]"));
	assert_true(has(tool("shell", "{\"command\":\"no-such-program\"}"), "[exit code 127]"));
}

static void runs_in_the_workspace_with_a_clean_environment(void **state)
{
	struct th_buf back = TH_BUF_INIT(64);
	(void)state;
	setenv("OPENAI_API_KEY", "sk-secret", 1);
	tool("shell", "{\"command\":\"pwd; env; echo hi > made; cat /proc/$PPID/environ "
		      "/proc/1/environ | tr '\\\\0' ' '\"}");
	assert_true(th_str_starts(th_buf_str(&run.text), th_str_of(workspace)));
	assert_false(has(run.text.ptr, "sk-secret"));
	assert_false(has(run.text.ptr, "OPENAI"));
	assert_int_equal(th_file_read(in_workspace("made"), 64, &back, NULL), TH_OK);
	assert_string_equal(back.ptr, "hi\n");
	th_buf_deinit(&back);
}

static void strange_arguments_are_refused(void **state)
{
	struct th_buf json = TH_BUF_INIT(TH_MIB);
	(void)state;
	assert_true(has(tool("shell", "{\"command\":\"echo a\\u0000b\"}"), "NUL"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	th_buf_add(&json, TH_STR("{\"command\":\""));
	for (size_t i = 0; i <= TH_COMMAND_SIZE_MAX; i++)
		th_buf_add_char(&json, 'x');
	th_buf_add(&json, TH_STR("\"}"));
	assert_true(has(tool("shell", json.ptr), "longer than"));
	th_buf_deinit(&json);
	/* Just what a shell would take apart is one argument. */
	assert_string_equal(
	    tool("shell", "{\"command\":\"printf '%s' \\\"a;b $(printf c) | d\\\"\"}"),
	    "a;b c | d\n[exit code 0]");
}

static void long_output_loses_its_middle(void **state)
{
	(void)state;
	tool("shell", "{\"command\":\"echo first; yes xxxxxxxxx | head -n 100000; echo last\"}");
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_true(th_str_starts(th_buf_str(&run.text), TH_STR("first\nxxxxxxxxx\n")));
	assert_true(th_str_ends(th_buf_str(&run.text), TH_STR("xxxxxxxxx\nlast\n[exit code 0]")));
	assert_true(has(run.text.ptr, " bytes left out …\n"));
	assert_true(run.text.len < TH_TOOL_OUTPUT_MODEL_MAX + 200);
	assert_true(has(run.evidence.ptr, "\"output_size\":1000011,\"left_out\":967243"));
	assert_int_equal(run.streamed.len, 1000011);
}

static void binary_output_is_only_told(void **state)
{
	(void)state;
	assert_string_equal(tool("shell", "{\"command\":\"head -c 5000 /dev/urandom\"}"),
			    "[binary output of 5000 bytes, not shown]\n[exit code 0]");
	assert_string_equal(tool("shell", "{\"command\":\"printf '\\\\033[31mred\\\\033[0m "
					  "\\\\303\\\\244 \\\\000 \\\\377'\"}"),
			    "red ä \xef\xbf\xbd \xef\xbf\xbd\n[exit code 0]");
}

/* A process with this word, which only this test uses, in its command line. */
static bool alive(const char *word)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	bool found = false;
	DIR *dir = opendir("/proc");

	for (struct dirent *e; (e = readdir(dir));) {
		char path[300];
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		th_buf_clear(&text);
		if (th_file_read(path, TH_MIB, &text, NULL) == TH_OK)
			found |= memmem(text.ptr, text.len, word, strlen(word)) != NULL;
	}
	closedir(dir);
	th_buf_deinit(&text);
	return found;
}

static void a_timeout_kills_all(void **state)
{
	(void)state;
	/* Leaves its session and its parent, ignores what can be ignored, and holds the output
	 * open. */
	tool("shell", "{\"command\":\"trap '' TERM INT HUP; (setsid sh -c 'trap \\\"\\\" TERM HUP; "
		      "(sleep 98765 & sleep 98764) & "
		      "sleep 98763' &) ; echo go; sleep 98762\",\"timeout_s\":1}");
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_string_equal(
	    run.text.ptr, "go\n[ended after 1 s, its time limit, with everything it had started]");
	assert_true(has(run.evidence.ptr, "\"timed_out\":true"));
	assert_false(alive("98765") || alive("98764") || alive("98763") || alive("98762"));
}

static void nothing_is_left_behind(void **state)
{
	(void)state;
	uint64_t start = th_clock_ms();
	assert_string_equal(
	    tool("shell", "{\"command\":\"sleep 87651 & setsid sleep 87652 & echo started\"}"),
	    "started\n[exit code 0]");
	assert_true(th_clock_ms() - start < 20000);
	assert_false(alive("87651") || alive("87652"));
}

static void cancel_now(void)
{
	run.on_output = NULL;
	th_tool_shell.cancel(&run.job);
}

static void cancel_ends_it(void **state)
{
	(void)state;
	run.on_output = cancel_now;
	tool_begin("shell", "{\"command\":\"echo one; sleep 76543\"}", false);
	tool_wait();
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(run.text.ptr, "[cancelled, and ended with everything it had started]"));
	assert_false(alive("76543"));
}

static void flood_drop(void)
{
	th_buf_clear(&run.streamed);
}

static void a_flood_takes_no_memory(void **state)
{
	long before;

	(void)state;
	run.on_output = flood_drop;
	tool("shell", "{\"command\":\"echo warm\"}");
	before = peak_begin(getpid());
	tool("shell", "{\"command\":\"yes | head -c 300000000\"}");
	long cost = peak_since(getpid(), before);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_true(has(run.evidence.ptr, "\"output_size\":300000000"));
	assert_true(cost < PEAK_OF_A_FLOOD);
}

static void without_a_workspace_there_are_no_commands(void **state)
{
	(void)state;
	int fd = env.workspace_fd;
	env.workspace_fd = -1;
	assert_true(has(tool("shell", "{\"command\":\"true\"}"), "no workspace"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	assert_true(has(tool("read_file", "{\"path\":\"x\"}"), "no workspace"));
	env.workspace_fd = fd;
}

static const char *said; /* by a stand-in that ends with 126, as for a command's own 126 */

static const char *const *stand_in(void *ctx)
{
	static const char *prefix[] = { "/bin/sh", "-c", NULL, NULL };
	static char script[64];

	(void)ctx;
	snprintf(script, sizeof(script), "printf '%s' >&3; exit 126", said);
	prefix[2] = script;
	return prefix;
}

static void a_desktop_that_is_gone_is_not_done(void **state)
{
	static const struct {
		const char *said, *text;
		enum th_outcome_status status;
	} cases[] = {
		{ "S", "[exit code 126]", TH_OUTCOME_DONE },
		{ "N", "[not started]", TH_OUTCOME_NOT_STARTED },
		{ "L", "may or may not have happened", TH_OUTCOME_UNKNOWN },
		{ "SL", "cut off", TH_OUTCOME_FAILED },
	};

	(void)state;
	env.desktop_prefix = stand_in;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		said = cases[i].said;
		assert_true(has(tool("shell", "{\"command\":\"true\"}"), cases[i].text));
		assert_int_equal(run.status, cases[i].status);
	}
	env.desktop_prefix = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: what others have had and given back would hide what it takes. */
		cmocka_unit_test_setup_teardown(a_flood_takes_no_memory, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(says_output_and_exit_code, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(runs_in_the_workspace_with_a_clean_environment,
						confined_setup, confined_teardown),
		cmocka_unit_test_setup_teardown(strange_arguments_are_refused, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(long_output_loses_its_middle, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(binary_output_is_only_told, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(a_timeout_kills_all, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(nothing_is_left_behind, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(cancel_ends_it, confined_setup, confined_teardown),
		cmocka_unit_test_setup_teardown(a_desktop_that_is_gone_is_not_done, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(without_a_workspace_there_are_no_commands,
						confined_setup, confined_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
