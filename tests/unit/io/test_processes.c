/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit of a command's processes is its own: neither what else its user runs nor another
 * session's fork bomb takes from it.  The user has more processes here than the limit is.
 */
#include "io/processes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "io/child.h"
#include "io/sandbox.h"

#define OTHERS 40
#define LIMIT 24
/* As many at once as half of the limit. */
#define FORKS "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.1 & done; wait; echo forked"
/* Without end; says when it can fork no more, and stays there. */
#define BOMB                                                          \
	"(n=0; while [ $n -lt 40 ]; do sleep 1000 & n=$((n+1)); done" \
	"; echo endless); echo full; exec sleep 1000"

static struct th_loop *loop;
static struct th_sandbox_report report;
static struct th_buf out;
static const char *until; /* a word of the output */
static bool ended;
static uid_t uid;
static pid_t others[OTHERS];

static int setup(void **state)
{
	(void)state;
	th_buf_init(&out, TH_MIB);
	/* Of a copy of this test beside it, too, there shall be none. */
	uid = geteuid() ? geteuid() : 20000 + (uid_t)getpid() % 40000;
	for (size_t i = 0; i < OTHERS; i++) {
		others[i] = fork();
		assert_true(others[i] >= 0);
		if (others[i] == 0) {
			if (geteuid() == 0 && setresuid(uid, uid, uid) < 0)
				_exit(1);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	return th_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < OTHERS; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
	th_buf_deinit(&out);
	loop = th_loop_free(loop);
	return 0;
}

static void on_output(void *ctx, enum th_child_stream which, struct th_str bytes)
{
	(void)ctx;
	(void)which;
	th_buf_add(&out, bytes);
	if (until && th_str_find(th_buf_str(&out), th_str_of(until)) >= 0)
		th_loop_stop(loop);
}

static void on_ended(void *ctx, const struct th_child_exit *s)
{
	(void)ctx;
	(void)s;
	ended = true;
	th_loop_stop(loop);
}

/* Until it ended, or has said `word`. */
static struct th_child *start(const struct th_sandbox_plan *plan, const char *script,
			      const char *word)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	struct th_child_spec spec = { .argv = argv,
				      .env = env,
				      .cwd = "/",
				      .sandbox = plan,
				      .set_ids = !plan && geteuid() == 0,
				      .uid = uid,
				      .gid = uid,
				      .limits = { .processes = LIMIT },
				      .merge_err = true,
				      .tree = true,
				      .on_output = on_output,
				      .on_exit = on_ended };
	struct th_child *child = NULL;
	struct th_err err = {};

	th_buf_clear(&out);
	ended = false;
	until = word;
	if (th_child_start(loop, &spec, &child, &err))
		fail_msg("start: %s", err.msg);
	th_loop_run(loop);
	return child;
}

static void expect(const struct th_sandbox_plan *plan, const char *script, const char *expected)
{
	th_child_free(start(plan, script, NULL));
	assert_true(ended);
	assert_string_equal(out.ptr, expected);
}

static struct th_sandbox_plan *plan_of(enum th_sandbox_level level)
{
	struct th_sandbox s = { .level_min = level, .level_max = level, .uid = uid };
	struct th_sandbox_plan *plan = NULL;
	struct th_err err = {};

	if (report.level < level)
		skip();
	if (th_sandbox_plan_new(&s, &plan, &err))
		fail_msg("plan: %s", err.msg);
	return plan;
}

static void a_command_has_all_of_its_limit(void **state)
{
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *plan = plan_of(TH_SANDBOX_FULL);

	(void)state;
	expect(plan, FORKS, "forked\n");
}

static void and_no_more_than_that(void **state)
{
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *plan = plan_of(TH_SANDBOX_FULL);
	char expected[80];

	(void)state;
	snprintf(expected, sizeof(expected), "Max processes %d %d processes\n", LIMIT, LIMIT);
	expect(plan, "grep processes /proc/self/limits | tr -s ' ' | sed 's/ $//'", expected);
	struct th_child *bomb = start(plan, BOMB, "full\n");
	assert_false(ended);
	assert_null(strstr(out.ptr, "endless"));
	th_child_free(bomb);
	/* And as many again when it is over. */
	expect(plan, FORKS, "forked\n");
}

static void a_bomb_of_another_session_takes_nothing(void **state)
{
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *plan = plan_of(TH_SANDBOX_FULL);
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *other = plan_of(TH_SANDBOX_FULL);

	(void)state;
	struct th_child *bomb = start(other, BOMB, "full\n");
	assert_false(ended);
	assert_null(strstr(out.ptr, "endless"));
	expect(plan, FORKS, "forked\n");
	th_child_free(bomb);
}

/* The namespace in which its processes are counted is no business of a command's. */
static void a_command_holds_no_namespace(void **state)
{
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *plan = plan_of(TH_SANDBOX_FULL);

	(void)state;
	expect(plan, "readlink /proc/self/fd/* | grep -c user:", "0\n");
}

/* There its user's others count, and are added to the limit. */
static void without_namespaces_others_take_nothing(void **state)
{
	TH_CLEANUP(th_sandbox_plan_freep) struct th_sandbox_plan *plan = NULL;

	(void)state;
	expect(NULL, FORKS, "forked\n");
	plan = plan_of(TH_SANDBOX_KERNEL);
	expect(plan, FORKS, "forked\n");
}

static void nobody_has_more_than_he_was_given(void **state)
{
	struct rlimit low = { 50, 50 };
	int status = 0;

	(void)state;
	assert_int_equal(th_processes_alone(10), 10);
	assert_true(th_processes_beside(10) > OTHERS + 10);
	pid_t pid = fork();
	if (pid == 0)
		_exit(setrlimit(RLIMIT_NPROC, &low) == 0 && th_processes_alone(49) == 49 &&
			      th_processes_alone(51) == 50 && th_processes_beside(51) == 50
			  ? 0
			  : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	th_sandbox_probe(&report);
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(a_command_has_all_of_its_limit),          T(and_no_more_than_that),
		T(a_bomb_of_another_session_takes_nothing), T(a_command_holds_no_namespace),
		T(without_namespaces_others_take_nothing),  T(nobody_has_more_than_he_was_given),
	};
	return cmocka_run_group_tests_name("processes", tests, NULL, NULL);
}
