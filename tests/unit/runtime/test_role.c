/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is named as the thole program, ignores its arguments and
 * makes a runtime: it must not start itself again and again.  Run without the
 * argument "test" this is that program.
 */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "computers/computers.h"
#include "display/link.h"
#include "exec_client/client.h"
#include "executor/reaper.h"
#include "io/files.h"
#include "io/loop.h"
#include "io/role.h"
#include "runtime/runtime.h"

#define SELF "/proc/self/exe"
#define STARTS_MAX 10 /* should the guard fail, the test does, and not the machine */

static struct th_loop *loop;

static void note(const char *text)
{
	char path[TH_PATH_LEN_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/notes", getenv("XDG_STATE_HOME"));
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || fstat(fd, &st) < 0 || dprintf(fd, "%s\n", text) < 0)
		exit(1);
	close(fd);
	if (strcmp(text, "started") == 0 && st.st_size > STARTS_MAX * 300)
		exit(1);
}

/* ---- the program that ignores its arguments ---- */

static void on_ready(void *ctx, const struct th_executor_info *info, const struct th_err *err)
{
	(void)ctx;
	note(info ? "executor: ready" : err->msg);
	th_loop_stop(loop);
}

static void on_open(void *ctx, const struct th_exec_screen *screen, const struct th_err *err)
{
	(void)ctx;
	note(screen ? "display: ready" : err->msg);
	th_loop_stop(loop);
}

static void use_executor(void)
{
	struct th_executor_options o = { .session = TH_STR("s"), .epoch = 1, .program = SELF };
	struct th_executor_client *x;

	if (th_executor_client_new(loop, &o, &x, NULL))
		exit(1);
	th_executor_client_ready(x, true, on_ready, NULL);
	th_loop_run(loop);
	th_executor_client_free(x);
}

static void use_display(void)
{
	char folder[TH_PATH_LEN_MAX];
	struct th_display_options o = { .loop = loop,
					.program = SELF,
					.computer = TH_STR("{\"kind\":\"desktop\"}") };

	snprintf(folder, sizeof(folder), "%s/display", getenv("XDG_STATE_HOME"));
	o.state_dir = th_str_of(folder);
	struct th_display *d = th_display_new(&o);
	th_display_open(d, on_open, NULL);
	th_loop_run(loop);
	th_display_free(d);
}

static int be_the_program(void)
{
	struct th_runtime_options ro = { .store_url = TH_STR("memory:"), .program = SELF };
	struct th_computer_options co = { .kind = TH_STR("desktop") };
	char entry[TH_REAPER_ENTRY_SIZE];
	struct th_computer *computer = NULL;
	struct th_runtime *rt = NULL;
	struct th_err err;
	int fd;

	note("started");
	if (th_loop_new(&loop, NULL))
		return 1;
	note(th_runtime_new(&ro, &rt, &err) ? err.msg : "runtime: made");
	note(th_computer_open(&co, &computer, &err) ? err.msg : "computer: open");
	note(th_reaper_start(entry, &fd, &err) ? err.msg : "reaper: started");
	use_executor();
	use_display();
	th_computer_close(computer);
	th_runtime_free(rt);
	return 0;
}

/* ---- the test ---- */

static char folder[] = "/tmp/thole-role-XXXXXX";

static size_t count(const struct th_buf *text, const char *part)
{
	size_t n = 0;

	for (const char *at = text->ptr; (at = strstr(at, part)); at++)
		n++;
	return n;
}

static void nothing_starts_itself(void **state)
{
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	char path[TH_PATH_LEN_MAX];
	int status;

	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		execl(SELF, "some-program", "exec", "--role", "display", (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	snprintf(path, sizeof(path), "%s/notes", folder);
	assert_int_equal(th_file_read(path, TH_MIB, &text, NULL), TH_OK);
	/* One by us, one as the executor, one as the display: and these start nothing. */
	assert_int_equal(count(&text, "started\n"), 3);
	assert_int_equal(count(&text, "runtime: made"), 1);
	assert_int_equal(count(&text, ": ready"), 0);
	assert_int_equal(count(&text, "computer: open"), 0);
	assert_int_equal(count(&text, "reaper: started"), 0);
	assert_int_equal(count(&text, "this program is not thole and cannot be started again"), 2);
	/* Each of the two is refused five times. */
	assert_int_equal(count(&text, "was started as thole's executor, but is not thole"), 5);
	assert_int_equal(count(&text, "was started as thole's display, but is not thole"), 5);
	assert_int_equal(count(&text,
			       "the program " SELF " ended without saying that it is thole's "
			       "executor"),
			 1);
	assert_int_equal(count(&text,
			       "the program " SELF " ended without saying that it is thole's "
			       "display process"),
			 1);
	th_buf_deinit(&text);
}

static void roles_are_taken_once(void **state)
{
	struct th_err err;

	(void)state;
	assert_int_equal(th_role_check(&err), TH_OK);
	assert_int_equal(th_role_take(TH_ROLE_EXECUTOR, &err), TH_EUSAGE);
	setenv(TH_ROLE_VARIABLE, TH_ROLE_DISPLAY, 1);
	assert_int_equal(th_role_take(TH_ROLE_EXECUTOR, &err), TH_EUSAGE);
	assert_int_equal(th_role_check(&err), TH_EUSAGE);
	assert_int_equal(th_role_take(TH_ROLE_DISPLAY, &err), TH_OK);
	assert_int_equal(th_role_check(&err), TH_OK);
	assert_null(getenv(TH_ROLE_VARIABLE));
}

/* A program that says nothing is ended, and whoever frees the client does not wait for it. */
static void a_silent_program_is_ended(void **state)
{
	struct th_executor_options o = { .session = TH_STR("s"), .epoch = 1, .start_ms = 40 };
	struct th_buf text = TH_BUF_INIT(TH_MIB);
	char path[TH_PATH_LEN_MAX], program[TH_PATH_LEN_MAX];
	struct th_executor_client *x;
	int64_t pid;

	(void)state;
	assert_int_equal(th_loop_new(&loop, NULL), TH_OK);
	snprintf(path, sizeof(path), "%s/pid", folder);
	snprintf(program, sizeof(program), "%s/silent", folder);
	th_buf_printf(&text,
		      "#!/bin/sh\necho $$ >%s/pid.new\nmv %s/pid.new %s/pid\nexec sleep 1000\n",
		      folder, folder, folder);
	assert_int_equal(th_file_write(program, th_buf_str(&text), 0700, NULL), TH_OK);
	o.program = program;
	for (int i = 0; i < 2; i++) {
		unlink(path);
		assert_int_equal(th_executor_client_new(loop, &o, &x, NULL), TH_OK);
		th_executor_client_ready(x, false, on_ready, NULL);
		th_loop_run(loop);
		th_executor_client_free(x);
		/* Killed before it could write, or after: it is gone. */
		th_buf_clear(&text);
		if (th_file_read(path, TH_KIB, &text, NULL) == TH_OK) {
			assert_true(th_str_i64(th_str_trim(th_buf_str(&text)), &pid));
			struct pollfd p = {
				.fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0u),
				.events = POLLIN,
			};
			assert_true(p.fd < 0 || poll(&p, 1, 20000) == 1);
			th_fd_close(&p.fd);
		}
		o.start_ms = 1000;
	}
	loop = th_loop_free(loop);
	snprintf(path, sizeof(path), "%s/notes", folder);
	th_buf_clear(&text);
	assert_int_equal(th_file_read(path, TH_MIB, &text, NULL), TH_OK);
	assert_int_equal(count(&text, "/silent does not say that it is thole's executor"), 2);
	th_buf_deinit(&text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_starts_itself),
		cmocka_unit_test(a_silent_program_is_ended),
		cmocka_unit_test(roles_are_taken_once),
	};

	if (argc != 2 || strcmp(argv[1], "test") != 0)
		return be_the_program();
	if (!mkdtemp(folder))
		return 1;
	setenv("XDG_STATE_HOME", folder, 1);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	return th_dir_remove(folder, NULL) ? 1 : failed;
}
