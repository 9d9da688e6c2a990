/* SPDX-License-Identifier: Apache-2.0 */
/* test_crash.c - children that are killed at a stop, at a moment, or not. */
#include "unit.h"

#include <unistd.h>

#include "io/crash.h"

static struct th_crash start(const char *script, bool trace)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct th_crash_spec spec = { .program = "/bin/sh", .argv = argv, .trace = trace };
	struct th_crash c = { 0 };
	struct th_err err = { 0 };

	assert_int_equal(th_crash_start(&spec, &c, &err), TH_OK);
	assert_true(c.pid > 0);
	return c;
}

static struct th_crash_end run(struct th_crash *c, struct th_crash_limits limits)
{
	struct th_crash_end end;
	struct th_err err = { 0 };

	assert_int_equal(th_crash_run(c, &limits, &end, &err), TH_OK);
	assert_int_equal(c->pid, 0);
	th_crash_kill(c); /* over is over */
	return end;
}

static void test_left_alone(void **unused)
{
	(void)unused;
	for (int trace = 0; trace <= (th_crash_can_trace() ? 1 : 0); trace++) {
		struct th_crash c = start("exit 7", trace);
		struct th_crash_end end = run(&c, (struct th_crash_limits){ .ms = 60000 });

		assert_false(end.killed);
		assert_int_equal(end.exit_code, 7);
		assert_true(trace ? end.stops > 0 : end.stops == 0);
		c = start("kill -TERM $$", trace);
		end = run(&c, (struct th_crash_limits){ .ms = 60000 });
		assert_int_equal(end.exit_code, 128 + 15);
	}
}

static void count(void *ctx)
{
	++*(int *)ctx;
}

static void test_killed_at_a_stop(void **unused)
{
	struct th_crash_end end;
	struct th_crash c;
	int called = 0;

	(void)unused;
	if (!th_crash_can_trace())
		skip();
	for (uint64_t stops = 1; stops < 40; stops += 13) {
		c = start("while :; do :; done", true);
		/* A loop without system calls: of what sh does before there are enough. */
		end = run(&c, (struct th_crash_limits){
				  .stops = stops, .before_kill = count, .ctx = &called });
		assert_true(end.killed);
		assert_int_equal(end.stops, stops);
	}
	assert_int_equal(called, 3);
}

static void test_killed_at_a_moment(void **unused)
{
	(void)unused;
	for (int trace = 0; trace <= (th_crash_can_trace() ? 1 : 0); trace++) {
		struct th_crash c = start("exec sleep 1000", trace);
		struct th_crash_end end = run(&c, (struct th_crash_limits){ .ms = 50 });

		assert_true(end.killed);
	}
}

static void test_a_program_that_is_none(void **unused)
{
	const char *const argv[] = { "x", NULL };
	struct th_crash_spec spec = { .program = "/nowhere/at/all", .argv = argv };
	struct th_crash c = { 0 };
	struct th_crash_end end;
	struct th_err err = { 0 };

	(void)unused;
	assert_int_equal(th_crash_start(&spec, &c, &err), TH_OK);
	end = run(&c, (struct th_crash_limits){ .ms = 60000 });
	assert_int_equal(end.exit_code, 127);
	if (!th_crash_can_trace())
		return;
	spec.trace = true;
	assert_int_equal(th_crash_start(&spec, &c, &err), TH_EUNSUPPORTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left_alone),
		cmocka_unit_test(test_killed_at_a_stop),
		cmocka_unit_test(test_killed_at_a_moment),
		cmocka_unit_test(test_a_program_that_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
