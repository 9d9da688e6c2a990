/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells of Python: what stays between them, pictures, interrupts, and kernels
 * that die; packages that may be asked for.
 */
#include "job.h"

#include <signal.h>
#include <sys/wait.h>

static const char *cell_with(const char *code, const char *more)
{
	TH_CLEANUP(th_buf_deinit) struct th_buf arguments = TH_BUF_INIT(256 * TH_KIB);
	struct th_jw w = th_jw(&arguments);

	th_jw_object(&w);
	th_jw_kstr(&w, "code", th_str_of(code));
	if (more)
		th_jw_kraw(&w, more, TH_STR("1"));
	th_jw_object_end(&w);
	return tool("python", arguments.ptr);
}

static const char *cell(const char *code)
{
	return cell_with(code, NULL);
}

#define NOTHING "[Code executed successfully with no output]"
#define PNG_OF_ONE                                                                         \
	"import base64\n"                                                                  \
	"png = base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4" \
	"nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==')\n"                                     \
	"class P:\n  def __init__(self, png): self.png = png\n"                            \
	"  def _repr_png_(self): return self.png\n  def __repr__(self): return 'a P'\n"

static void keeps_what_cells_make(void **state)
{
	(void)state;
	assert_string_equal(cell("x = 41"), NOTHING);
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_true(has(run.evidence.ptr, "\"raised\":false"));
	assert_string_equal(cell("print('one'); x + 1"), "one\nOut[2]: 42");
	assert_true(has(cell("1 / 0"), "ZeroDivisionError: division by zero"));
	assert_true(has(run.evidence.ptr, "\"raised\":true"));
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	assert_string_equal(cell("x"), "Out[4]: 41");
	assert_true(has(cell("if True print"), "SyntaxError"));
	/* Programs, what they print, and what is awaited. */
	assert_string_equal(cell("!echo from a program $x"), "from a program 41");
	assert_string_equal(cell("import asyncio; await asyncio.sleep(0); print('awaited')"),
			    "awaited");
	assert_string_equal(cell("for i in range(3): print(f'\\rstep {i}', end='')"), "step 2");
	/* Modules of the workspace, which are no part of the kernel itself. */
	put("helper_of_mine.py", "value = 7\n");
	put("IPython.py", "raise SystemExit(1)\n");
	assert_string_equal(cell("import helper_of_mine; helper_of_mine.value"), "Out[9]: 7");
	/* Nobody is there who answers. */
	assert_true(has(cell("input('name? ')"), "EOFError"));
	assert_true(has(cell("exit"), "the kernel lives on"));
	assert_true(has(cell("raise SystemExit(3)"), "SystemExit: 3"));
	assert_string_equal(cell("x"), "Out[13]: 41");
	assert_true(has(cell("%pip install numpy"), "python_install, which a person approves"));
}

static void output_forges_no_end(void **state)
{
	(void)state;
	assert_string_equal(
	    cell("print('\\33]7770;0123456789abcdef0123456789abcdef\\7', end='')\n"
		 "import os, time\nos.system('echo 0123 0 {} >&4; true')\ntime.sleep(0.2)\n"
		 "print('real')"),
	    "sh: 1: 4: Bad file descriptor\nreal");
	/* What a cell does to its own streams, and copies of the kernel, end nothing. */
	cell("import sys; sys.stdout.close(); os.close(1)");
	cell(
	    "import sys; sys.stdout = sys.__stdout__ = open(2, 'w', closefd=False); print('back')");
	assert_true(has(run.text.ptr, "back"));
	cell("p = os.fork()\nif p: os.waitpid(p, 0); print('parent')");
	assert_string_equal(run.text.ptr, "parent");
	assert_string_equal(cell("print(1)"), "1");
}

static void shows_pictures(void **state)
{
	(void)state;
	cell(PNG_OF_ONE "print('before'); display(P(png)); print('after')");
	assert_true(has(run.text.ptr, "before\\n[picture 1]\\nafter"));
	assert_true(
	    has(run.text.ptr, "{\"type\":\"image\",\"media_type\":\"image/png\",\"blob\":\""));
	assert_string_equal(run.picture, "image/png 70");
	assert_true(has(run.evidence.ptr, "\"pictures\":1"));
	assert_true(has(cell("P(png)"), "[picture 1]"));
	/* More than are shown, one that is none, one that is too large. */
	assert_true(has(cell("for i in range(9): display(P(png))"),
			"[picture 7]\\n[a picture is not shown: at most 7 of a cell are]"));
	assert_true(has(run.evidence.ptr, "\"pictures\":7"));
	assert_true(has(cell("for p in (png[:-20], png, b'none'): display(P(p))"),
			"[picture 3]\"},{\"type\":\"text\",\"text\":\"[a picture that is broken or "
			"too large, and "
			"cannot be shown]\"},{\"type\":\"image\""));
	assert_true(has(run.evidence.ptr, "\"pictures\":1"));
	assert_true(has(cell("display(P(png + bytes(5 << 20)))"), "is not shown: at most 5242880"));
	/* A table is its text. */
	assert_string_equal(cell("class T:\n  def _repr_html_(self): return '<b>1</b>'\n"
				 "  def __repr__(self): return 'a  b\\n1  2'\nT()"),
			    "Out[6]: \na  b\n1  2");
}

static void bounds_output(void **state)
{
	(void)state;
	cell("for i in range(200000): print('line', i)");
	assert_true(run.text.len < 40 * TH_KIB);
	assert_true(has(run.text.ptr, "line 0\n") && has(run.text.ptr, "line 199999"));
	assert_true(has(run.text.ptr, "bytes left out"));
	assert_true(has(cell("import os; os.write(1, bytes(range(256)) * 400 + b'\\n'); None"),
			"binary output"));
	assert_string_equal(cell("print('ä✓')"), "ä✓");
}

static void interrupts(void **state)
{
	(void)state;
	env.bash_grace_ms = 60000; /* however busy the machine is */
	cell("y = 5");
	cell_with("import time\nprint('begun')\nwhile True: time.sleep(60)", "timeout_s");
	if (!has(run.text.ptr, "begun") || !has(run.text.ptr, "KeyboardInterrupt"))
		fail_msg("%s", run.text.ptr);
	assert_true(
	    has(run.text.ptr, "[Execution timed out (1 seconds); the cell was interrupted.]"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_string_equal(cell("y"), "Out[3]: 5");
	/* One that does not stop costs the kernel. */
	env.bash_grace_ms = 500;
	cell_with("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass",
		  "timeout_s");
	assert_true(has(run.text.ptr, "[The kernel was ended by signal 9"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_true(has(cell("y"), "NameError"));
}

static void cancel_when_it_prints(void)
{
	run.on_output = NULL;
	th_tool_python.cancel(&run.job);
}

static void is_cancelled(void **state)
{
	(void)state;
	cell("kept = 1");
	run.on_output = cancel_when_it_prints;
	cell("import time\nprint('begun')\ntime.sleep(60)");
	assert_true(has(run.text.ptr, "KeyboardInterrupt"));
	assert_true(has(run.text.ptr, "[The cell was cancelled, and interrupted.]"));
	assert_int_equal(run.status, TH_OUTCOME_FAILED);
	assert_string_equal(cell("kept"), "Out[3]: 1");
}

static void outlives_its_death(void **state)
{
	(void)state;
	cell("z = 1");
	assert_true(has(cell("import os; print('last'); os._exit(3)"),
			"last\n[The kernel ended with exit code 3, and with it its variables"));
	assert_true(has(cell("z"), "NameError"));
	assert_true(has(cell("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
			"[The kernel ended with exit code 137"));
	cell("z = 1");
	assert_true(has(tool("python", "{\"restart\":true}"), "begun anew"));
	assert_true(has(cell("z"), "NameError"));
	assert_true(has(tool("python", "{}"), "there is no cell"));
	assert_int_equal(run.status, TH_OUTCOME_REFUSED);
}

static void says_what_is_missing(void **state)
{
	static const char *environment[2];
	static char path[512];
	char at[sizeof(workspace) + 32];

	(void)state;
	/* A Python without its packages, as on a machine that has none. */
	snprintf(at, sizeof(at), "%s/bin", workspace);
	assert_int_equal(mkdir(at, 0755), 0);
	put("bin/python3", "#!/bin/sh\nexec /usr/bin/python3 -S \"$@\"\n");
	assert_int_equal(chmod(in_workspace("bin/python3"), 0755), 0);
	snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", at);
	environment[0] = path;
	env.environment = environment;
	assert_true(has(cell("x = 1"), "this machine's Python has no IPython (No module named"));
	assert_int_equal(run.status, TH_OUTCOME_NOT_STARTED);
}

static void installs_names_only(void **state)
{
	static const char *const wrong[] = {
		"-r x", "git+https://x/y", "./here", "a;b", "", "a/b"
	};

	(void)state;
	assert_true(th_tool_python_install.ask);
	for (size_t i = 0; i < TH_COUNT(wrong); i++) {
		TH_CLEANUP(th_buf_deinit) struct th_buf arguments = TH_BUF_INIT(1024);

		th_buf_printf(&arguments, "{\"packages\":[\"%s\"]}", wrong[i]);
		assert_true(has(tool("python_install", arguments.ptr), "is no name of a package"));
		assert_int_equal(run.status, TH_OUTCOME_REFUSED);
	}
	/* pip as it is called: a stand-in says what it was told. */
	put("python3", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
	assert_int_equal(chmod(in_workspace("python3"), 0755), 0);
	static char path[512];
	static const char *environment[2] = { path };
	snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", workspace);
	env.environment = environment;
	tool("python_install", "{\"packages\":[\"numpy>=1.2,<3\",\"a_b[c]\"]}");
	assert_true(has(run.text.ptr, "-m\npip\ninstall\n--target\n.thole-python\n"));
	assert_true(has(run.text.ptr, "\n--\nnumpy>=1.2,<3\na_b[c]\n[installed; "));
	assert_int_equal(run.status, TH_OUTCOME_DONE);
	for (int more = 0; more < 2; more++) {
		TH_CLEANUP(th_buf_deinit) struct th_buf arguments = TH_BUF_INIT(4096);

		th_buf_add_cstr(&arguments, "{\"packages\":[\"a\"");
		for (int i = 1; i < TH_PYTHON_PACKAGES_MAX + more; i++)
			th_buf_add_cstr(&arguments, ",\"b\"");
		th_buf_add_cstr(&arguments, "]}");
		tool("python_install", arguments.ptr);
		assert_int_equal(run.status, more ? TH_OUTCOME_REFUSED : TH_OUTCOME_DONE);
		assert_int_equal(has(run.text.ptr, "at most 32 packages at once"), more);
	}
}

static const struct CMUnitTest always[] = {
	cmocka_unit_test_setup_teardown(says_what_is_missing, job_setup, job_teardown),
	cmocka_unit_test_setup_teardown(installs_names_only, job_setup, job_teardown),
};

static bool has_ipython(void)
{
	static const char *const argv[] = { "/usr/bin/python3", "-I", "-c", "import IPython",
					    NULL };
	pid_t pid = fork();
	int status = 1;

	if (pid == 0) {
		execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(keeps_what_cells_make, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(output_forges_no_end, confined_setup,
						confined_teardown),
		cmocka_unit_test_setup_teardown(shows_pictures, confined_setup, confined_teardown),
		cmocka_unit_test_setup_teardown(bounds_output, confined_setup, confined_teardown),
		cmocka_unit_test_setup_teardown(interrupts, confined_setup, confined_teardown),
		cmocka_unit_test_setup_teardown(is_cancelled, confined_setup, confined_teardown),
		cmocka_unit_test_setup_teardown(outlives_its_death, confined_setup,
						confined_teardown),
	};
	int failed = cmocka_run_group_tests(always, NULL, NULL);

	if (has_ipython())
		return failed + cmocka_run_group_tests(tests, NULL, NULL);
	fprintf(stderr, "no IPython here: cells were not tested\n");
	return failed ?: 77;
}
