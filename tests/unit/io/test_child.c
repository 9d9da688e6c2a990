/* SPDX-License-Identifier: Apache-2.0 */
#include "io/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"

static struct th_loop *loop;
static struct th_buf out, errors;
static struct th_child_exit status;
static bool ended;
static char folder[64];

static int setup(void **state)
{
	(void)state;
	th_buf_init(&out, 4 * TH_MIB);
	th_buf_init(&errors, 4 * TH_MIB);
	ended = false;
	status = (struct th_child_exit){};
	strcpy(folder, "/tmp/thole-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	return th_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	(void)state;
	th_buf_deinit(&out);
	th_buf_deinit(&errors);
	loop = th_loop_free(loop);
	return th_dir_remove(folder, NULL);
}

static void on_output(void *ctx, enum th_child_stream which, struct th_str bytes)
{
	(void)ctx;
	th_buf_add(which == TH_CHILD_OUT ? &out : &errors, bytes);
}

static void on_exit_status(void *ctx, const struct th_child_exit *s)
{
	(void)ctx;
	assert_false(ended);
	ended = true;
	status = *s;
	th_loop_stop(loop);
}

static const char *const plain_env[] = { "PATH=/usr/bin:/bin", NULL };

static struct th_child_spec spec_of(const char *const *argv)
{
	return (struct th_child_spec){
		.argv = argv, .env = plain_env, .on_output = on_output, .on_exit = on_exit_status
	};
}

static struct th_child *start(const struct th_child_spec *spec)
{
	struct th_child *c = NULL;
	struct th_err err = {};
	if (th_child_start(loop, spec, &c, &err))
		fail_msg("%s", err.msg);
	return c;
}

/* Runs to the end; the output is in `out` and `errors`. */
static void run(const struct th_child_spec *spec)
{
	struct th_child *c = start(spec);
	th_loop_run(loop);
	assert_true(ended);
	th_child_free(c);
}

static void shell(const char *script)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	struct th_child_spec spec = spec_of(argv);
	run(&spec);
}

static bool says(const struct th_buf *b, const char *text)
{
	return strstr(b->ptr, text) != NULL;
}

static void output_and_status_come_back(void **state)
{
	(void)state;
	shell("echo one; echo two >&2; exit 7");
	assert_string_equal(out.ptr, "one\n");
	assert_string_equal(errors.ptr, "two\n");
	assert_false(status.signalled);
	assert_int_equal(status.code, 7);
	assert_false(status.killed);
}

static void a_signal_is_told_from_a_status(void **state)
{
	(void)state;
	shell("kill -TERM $$");
	assert_true(status.signalled);
	assert_int_equal(status.code, SIGTERM);
}

static void arguments_are_never_a_shell_string(void **state)
{
	const char *const argv[] = { "printf", "%s|", "a b", "$(id)", "; rm -rf /", "", NULL };
	struct th_child_spec spec = spec_of(argv);
	(void)state;
	run(&spec);
	assert_string_equal(out.ptr, "a b|$(id)|; rm -rf /||");
}

static void a_missing_program_is_an_error_not_a_status(void **state)
{
	const char *const argv[] = { "no-such-program", NULL };
	struct th_child_spec spec = spec_of(argv);
	struct th_child *c = NULL;
	struct th_err err = {};
	(void)state;
	assert_int_equal(th_child_start(loop, &spec, &c, &err), TH_ENOENT);
	assert_true(strstr(err.msg, "no-such-program") != NULL);
	const char *const there[] = { "/bin/true", NULL };
	spec = spec_of(there);
	spec.cwd = "/no/such/folder";
	assert_int_equal(th_child_start(loop, &spec, &c, &err), TH_ENOENT);
	assert_true(strstr(err.msg, "folder") != NULL);
}

static void the_environment_is_what_was_listed(void **state)
{
	const char *const argv[] = { "env", NULL };
	const char *const more[] = { "A=1", "PATH=/usr/bin", "A=2", NULL };
	struct th_child_spec spec = spec_of(argv);
	struct th_arena arena;
	(void)state;
	setenv("SECRET_API_KEY", "sk-123", 1);
	th_arena_init(&arena, TH_MIB);
	spec.env = th_child_env(&arena, "/nowhere", "me", more);
	assert_non_null(spec.env);
	run(&spec);
	th_arena_deinit(&arena);
	assert_false(says(&out, "SECRET"));
	assert_false(says(&out, "A=1"));
	assert_true(says(&out, "A=2\n"));
	assert_true(says(&out, "PATH=/usr/bin\n"));
	assert_true(says(&out, "HOME=/nowhere\n"));
	assert_true(says(&out, "USER=me\n"));
}

static void no_descriptor_of_ours_is_inherited(void **state)
{
	(void)state;
	int fd = open("/etc/passwd", O_RDONLY); /* without close-on-exec */
	/* By number: a pipe or a glob of the shell would be a descriptor itself. */
	shell("n=0; while [ $n -lt 64 ]; do [ ! -e /proc/$$/fd/$n ] || printf '%s ' $n; n=$((n + "
	      "1)); done");
	assert_in_range(fd, 3, 63);
	close(fd);
	assert_string_equal(out.ptr, "0 1 2 ");
}

static void descriptors_are_mapped_even_when_crossed(void **state)
{
	int ends[2], to[2];
	char text[8] = "";
	const char *const argv[] = { "/bin/sh", "-c", "cat </proc/self/fd/65 >/proc/self/fd/64",
				     NULL };
	struct th_child_spec spec = spec_of(argv);
	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	/* Sources numbered as the targets of each other. */
	assert_int_equal(dup3(ends[0], 64, O_CLOEXEC), 64);
	assert_int_equal(dup3(to[1], 65, O_CLOEXEC), 65);
	struct th_child_fd fds[] = { { 64, 65 }, { 65, 64 } };
	spec.fds = fds;
	spec.fd_count = 2;
	assert_int_equal(write(ends[1], "hey", 3), 3);
	struct th_child *c = start(&spec);
	close(ends[1]);
	th_loop_run(loop);
	th_child_free(c);
	close(64);
	close(65);
	assert_int_equal(read(to[0], text, 7), 3);
	assert_string_equal(text, "hey");
	close(ends[0]);
	close(to[0]);
	close(to[1]);
}

static void input_is_fed_and_ended(void **state)
{
	const char *const argv[] = { "wc", "-c", NULL };
	struct th_child_spec spec = spec_of(argv);
	struct th_err err = {};
	(void)state;
	spec.write_in = true;
	struct th_child *c = start(&spec);
	static char much[700 * 1024];
	memset(much, 'x', sizeof(much));
	assert_int_equal(th_child_write(c, th_str_n(much, sizeof(much)), &err), TH_OK);
	assert_int_equal(th_child_write(c, TH_STR("!"), &err), TH_OK);
	th_child_close_in(c);
	assert_int_equal(th_child_write(c, TH_STR("!"), &err), TH_ECONN);
	th_loop_run(loop);
	th_child_free(c);
	assert_string_equal(out.ptr, "716801\n");
}

static void more_input_than_the_limit_is_refused(void **state)
{
	const char *const argv[] = { "sleep", "1000", NULL };
	struct th_child_spec spec = spec_of(argv);
	struct th_err err = {};
	(void)state;
	spec.write_in = true;
	struct th_child *c = start(&spec);
	char *much = (char *)calloc(1, TH_TOOL_OUTPUT_MAX + 1);
	assert_int_equal(th_child_write(c, th_str_n(much, TH_TOOL_OUTPUT_MAX + 1), &err),
			 TH_ELIMIT);
	assert_int_equal(th_child_write(c, th_str_n(much, TH_TOOL_OUTPUT_MAX), &err), TH_OK);
	free(much);
	th_child_free(c);
	assert_false(ended); /* no callback after free */
}

static void merged_errors_keep_their_place(void **state)
{
	const char *const argv[] = { "/bin/sh", "-c", "echo a; echo b >&2; echo c", NULL };
	struct th_child_spec spec = spec_of(argv);
	(void)state;
	spec.merge_err = true;
	run(&spec);
	assert_string_equal(out.ptr, "a\nb\nc\n");
}

static struct th_child *flooding;
static uint64_t flood;
static bool paused_once, killed_it;

static void on_flood(void *ctx, enum th_child_stream which, struct th_str bytes)
{
	(void)ctx;
	(void)which;
	flood += bytes.len;
	assert_true(!paused_once || status.killed || killed_it);
	if (flood > TH_MIB && !paused_once)
		th_child_pause(flooding, paused_once = true);
}

static void kill_flooding(void *ctx)
{
	(void)ctx;
	killed_it = true;
	th_child_kill(flooding);
	th_child_pause(flooding, false);
}

/* yes writes gigabytes a second: paused, it must stand still. */
static void a_paused_reader_stops_the_writer(void **state)
{
	const char *const argv[] = { "yes", NULL };
	struct th_child_spec spec = spec_of(argv);
	struct th_timer t;
	(void)state;
	spec.on_output = on_flood;
	flood = 0;
	flooding = start(&spec);
	th_timer_init(&t, loop, kill_flooding, NULL);
	th_timer_start(&t, 300, 0);
	th_loop_run(loop);
	assert_true(ended && status.killed && status.signalled);
	assert_true(flood > TH_MIB && flood < 4 * TH_MIB);
	flooding = th_child_free(flooding);
}

static void limits_are_set(void **state)
{
	const char *const argv[] = { "/bin/sh", "-c", "ulimit -n; ulimit -c", NULL };
	struct th_child_spec spec = spec_of(argv);
	(void)state;
	spec.limits.open_files = 77;
	run(&spec);
	assert_string_equal(out.ptr, "77\n0\n");
}

static void count_exits(void *ctx, const struct th_child_exit *s)
{
	size_t *left = (size_t *)ctx;

	assert_false(s->signalled);
	assert_int_equal(s->code, 0);
	if (--*left == 0)
		th_loop_stop(loop);
}

/* One more is told so before anything of it is begun; whoever ends makes room. */
static void as_many_as_there_may_be(void **state)
{
	static struct th_child *all[TH_CHILDREN_MAX];
	const char *const argv[] = { "cat", NULL };
	struct th_child_spec spec = spec_of(argv);
	struct th_child *more = NULL;
	struct th_err err = {};
	struct rlimit old, wide;
	size_t left = 1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	wide = (struct rlimit){ TH_MIN((rlim_t)8 * TH_CHILDREN_MAX, old.rlim_max), old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &wide), 0);
	spec.on_output = NULL;
	spec.on_exit = count_exits;
	spec.ctx = &left;
	spec.write_in = true;
	for (size_t i = 0; i < TH_COUNT(all); i++)
		all[i] = start(&spec);
	assert_int_equal(th_child_start(loop, &spec, &more, &err), TH_ELIMIT);
	assert_null(more);
	assert_string_equal(err.msg, "256 programs run already, the maximum");
	th_child_close_in(all[0]);
	th_loop_run(loop);
	th_child_free(all[0]);
	all[0] = start(&spec);
	left = TH_COUNT(all);
	for (size_t i = 0; i < TH_COUNT(all); i++)
		th_child_close_in(all[i]);
	th_loop_run(loop);
	assert_int_equal(left, 0);
	for (size_t i = 0; i < TH_COUNT(all); i++)
		th_child_free(all[i]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static pid_t pid_in(const char *file)
{
	struct th_buf b = TH_BUF_INIT(64);
	char path[128];
	snprintf(path, sizeof(path), "%s/%s", folder, file);
	(void)!th_file_read(path, 64, &b, NULL);
	pid_t pid = (pid_t)strtol(b.ptr, NULL, 10);
	th_buf_deinit(&b);
	return pid;
}

static bool alive(pid_t pid)
{
	char path[64];
	struct th_buf b = TH_BUF_INIT(4096);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	bool there = th_file_read(path, 4096, &b, NULL) == TH_OK && !strstr(b.ptr, ") Z ");
	th_buf_deinit(&b);
	return there;
}

/* A daemon: own session, reparented, its descriptors closed. */
#define DAEMON "setsid sh -c 'echo $$ > %s/daemon; exec sleep 1000' </dev/null >/dev/null 2>&1 & "

static void a_contained_tree_leaves_nothing(void **state)
{
	char script[512];
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	struct th_child_spec spec = spec_of(argv);
	(void)state;
	snprintf(script, sizeof(script), DAEMON "while ! test -s %s/daemon; do sleep 0.01; done",
		 folder, folder);
	spec.tree = true;
	run(&spec);
	pid_t pid = pid_in("daemon");
	assert_true(pid > 1);
	assert_false(alive(pid));
	assert_int_equal(status.code, 0);
}

static void freeing_a_running_tree_leaves_nothing(void **state)
{
	char script[512], path[128];
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	struct th_child_spec spec = spec_of(argv);
	(void)state;
	snprintf(script, sizeof(script), "trap '' TERM INT; " DAEMON "sleep 1000", folder);
	snprintf(path, sizeof(path), "%s/daemon", folder);
	spec.tree = true;
	struct th_child *c = start(&spec);
	while (pid_in("daemon") <= 1)
		poll(NULL, 0, 1);
	pid_t pid = th_child_pid(c), daemon_pid = pid_in("daemon");
	th_child_free(c);
	assert_false(alive(pid));
	assert_false(alive(daemon_pid));
	assert_false(ended);
}

/* Without cgroups of its own, as an unprivileged user has it. */
static void without_cgroups_the_tree_is_adopted_and_killed(void **state)
{
	char script[512];
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	struct th_child_spec spec = spec_of(argv);
	int child_status;
	(void)state;
	assert_int_equal(chmod(folder, 0777), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(1);
		struct th_loop *own;
		struct th_child *c;
		if (th_loop_new(&own, NULL))
			_exit(2);
		snprintf(script, sizeof(script),
			 DAEMON "while ! test -s %s/daemon; do sleep 0.01; done", folder, folder);
		loop = own;
		spec.tree = true;
		if (th_child_start(own, &spec, &c, NULL))
			_exit(3);
		if (th_child_tree_kind(c) != TH_TREE_ADOPT)
			_exit(42); /* it may make cgroups: nothing to test */
		th_loop_run(own);
		if (!ended || alive(pid_in("daemon")) || pid_in("daemon") <= 1)
			_exit(4);
		/* Nothing is left to wait for, not even a zombie. */
		if (waitpid(-1, NULL, WNOHANG) != -1)
			_exit(5);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &child_status, 0), pid);
	assert_true(WIFEXITED(child_status));
	if (WEXITSTATUS(child_status) == 42)
		skip();
	assert_int_equal(WEXITSTATUS(child_status), 0);
}

static void no_zombie_stays(void **state)
{
	char script[512];
	(void)state;
	for (int i = 0; i < 20; i++) {
		ended = false;
		shell("true");
	}
	snprintf(script, sizeof(script), "ps -o pid= --ppid %d | wc -l", (int)getpid());
	ended = false;
	th_buf_clear(&out);
	shell(script);
	assert_int_equal(strtol(out.ptr, NULL, 10), 1); /* the shell itself */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(output_and_status_come_back),
		T(a_signal_is_told_from_a_status),
		T(arguments_are_never_a_shell_string),
		T(a_missing_program_is_an_error_not_a_status),
		T(the_environment_is_what_was_listed),
		T(no_descriptor_of_ours_is_inherited),
		T(descriptors_are_mapped_even_when_crossed),
		T(input_is_fed_and_ended),
		T(more_input_than_the_limit_is_refused),
		T(merged_errors_keep_their_place),
		T(a_paused_reader_stops_the_writer),
		T(limits_are_set),
		T(as_many_as_there_may_be),
		T(a_contained_tree_leaves_nothing),
		T(freeing_a_running_tree_leaves_nothing),
		T(without_cgroups_the_tree_is_adopted_and_killed),
		T(no_zombie_stays),
	};
	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
