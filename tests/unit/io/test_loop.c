/* SPDX-License-Identifier: Apache-2.0 */
#include "io/loop.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "io/clock.h"
#include "io/files.h"

static struct th_loop *loop;
static char order[64];
static size_t order_len;

static int setup(void **state)
{
	(void)state;
	order_len = 0;
	memset(order, 0, sizeof(order));
	return th_loop_new(&loop, NULL);
}

static int teardown(void **state)
{
	(void)state;
	loop = th_loop_free(loop);
	return 0;
}

static void note(const char *what)
{
	order[order_len++] = *what;
}

static void on_note(void *ctx)
{
	note((const char *)ctx);
}

#define LETTER(c) ((void *)(uintptr_t)(c))

static void timers_fire_in_order_of_time_then_of_starting(void **state)
{
	struct th_timer t[5];
	(void)state;
	const char *names[] = { "a", "b", "c", "d", "e" };
	for (size_t i = 0; i < 5; i++)
		th_timer_init(&t[i], loop, on_note, LETTER(names[i]));
	th_timer_start(&t[4], 30, 0);
	th_timer_start(&t[1], 5, 0);
	th_timer_start(&t[0], 0, 0);
	th_timer_start(&t[3], 15, 0);
	th_timer_start(&t[2], 5, 0);
	th_timer_stop(&t[3]);
	th_timer_stop(&t[3]);
	assert_false(th_timer_running(&t[3]));
	th_loop_run(loop);
	assert_string_equal(order, "abce");
}

/* What is held goes on with what was left; what was stopped or had not begun does not. */
static void timers_stand_still(void **state)
{
	struct th_timer t[5];
	const char *names[] = { "a", "b", "c", "d", "e" };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		th_timer_init(&t[i], loop, on_note, LETTER(names[i]));
	th_timer_start(&t[0], 1, 0);
	th_timer_start(&t[1], 1, 0);
	for (size_t i = 0; i < 4; i++)
		th_timer_hold(&t[i]);
	th_timer_hold(&t[0]);
	th_timer_stop(&t[1]);
	th_timer_start(&t[2], 0, 0); /* begins while it is held */
	th_timer_start(&t[4], 10, 0);
	th_loop_run(loop);
	assert_string_equal(order, "e");
	for (size_t i = 0; i < 4; i++)
		th_timer_go_on(&t[i]);
	th_loop_run(loop);
	assert_string_equal(order, "eac");
}

static struct th_timer self;
static int left;

static void again(void *ctx)
{
	(void)ctx;
	if (--left > 0)
		th_timer_start(&self, 0, 0);
}

static void a_timer_may_restart_itself_without_delay(void **state)
{
	(void)state;
	left = 100;
	th_timer_init(&self, loop, again, NULL);
	th_timer_start(&self, 0, 0);
	th_loop_run(loop);
	assert_int_equal(left, 0);
}

static void stop_after_three(void *ctx)
{
	(void)ctx;
	if (++left == 3)
		th_timer_stop(&self);
}

static void a_repeating_timer_repeats_until_stopped(void **state)
{
	(void)state;
	left = 0;
	th_timer_init(&self, loop, stop_after_three, NULL);
	th_timer_start(&self, 1, 1);
	uint64_t start = th_clock_ms();
	th_loop_run(loop);
	assert_int_equal(left, 3);
	assert_true(th_clock_ms() - start >= 2);
}

/* Against a plain list: thousands of timers started, moved and stopped. */
struct model {
	struct th_timer t;
	uint64_t due;
	bool fired;
};
static uint64_t last_due;
static size_t fired;

static void on_model(void *ctx)
{
	struct model *m = (struct model *)ctx;
	assert_false(m->fired);
	assert_true(m->t.due_ms >= last_due);
	last_due = m->t.due_ms;
	m->fired = true;
	fired++;
}

static void many_timers_keep_their_order(void **state)
{
	enum { COUNT = 5000 };
	struct model *m = (struct model *)calloc(COUNT, sizeof(*m));
	size_t running = 0;
	unsigned seed = 7;
	(void)state;
	fired = 0;
	last_due = 0;
	for (size_t i = 0; i < COUNT; i++)
		th_timer_init(&m[i].t, loop, on_model, &m[i]);
	for (size_t i = 0; i < 4 * COUNT; i++) {
		struct model *x = &m[(size_t)rand_r(&seed) % COUNT];
		if (rand_r(&seed) % 4 == 0)
			th_timer_stop(&x->t);
		else
			th_timer_start(&x->t, 1 + (unsigned)rand_r(&seed) % 50, 0);
	}
	for (size_t i = 0; i < COUNT; i++)
		running += th_timer_running(&m[i].t);
	th_loop_run(loop);
	assert_int_equal(fired, running);
	free(m);
}

/* ---- passes that take long ---- */

static unsigned most;
static struct th_timer nap;

static void on_long(void *ctx)
{
	struct th_deferred *d = ctx;
	uint64_t until = th_clock_ns() + (TH_LOOP_LONG_MS + 2) * UINT64_C(1000000);

	most = th_loop_long_passes(loop);
	while (th_clock_ns() < until)
		;
	if (most < 4)
		th_loop_defer(loop, d);
	else
		th_timer_start(&nap, 500, 0);
}

static void on_nap(void *ctx)
{
	*(unsigned *)ctx = th_loop_long_passes(loop);
}

static void long_passes_count_until_there_is_a_rest(void **state)
{
	struct th_deferred d = { .fn = on_long };
	unsigned after = 9;

	(void)state;
	most = 0;
	d.ctx = &d;
	th_timer_init(&nap, loop, on_nap, &after);
	th_loop_defer(loop, &d);
	th_loop_run(loop);
	assert_int_equal(most, 4);
	assert_int_equal(after, 0);
	assert_int_equal(th_loop_long_passes(loop), 0);
}

/* ---- deferred calls ---- */

static struct th_deferred first, second, repeating;

static void on_first(void *ctx)
{
	(void)ctx;
	note("1");
	th_loop_defer(loop, &second); /* in the same iteration */
}

static void on_second(void *ctx)
{
	(void)ctx;
	note("2");
}

static void on_repeating(void *ctx)
{
	(void)ctx;
	note("r");
	if (--left > 0)
		th_loop_defer(loop, &repeating); /* in the next */
}

static void deferred_calls_run_once_and_before_sleeping(void **state)
{
	(void)state;
	struct th_timer t;
	left = 3;
	first = (struct th_deferred){ .fn = on_first };
	second = (struct th_deferred){ .fn = on_second };
	repeating = (struct th_deferred){ .fn = on_repeating };
	th_timer_init(&t, loop, on_note, LETTER("t"));
	th_timer_start(&t, 20, 0);
	th_loop_defer(loop, &repeating);
	th_loop_defer(loop, &first);
	th_loop_defer(loop, &repeating); /* queued already: keeps its place */
	th_loop_run(loop);
	assert_string_equal(order, "r12rrt");
}

static void on_sender(void *ctx)
{
	(void)ctx;
	note("s");
	th_loop_defer(loop, &second);
}

static void the_last_call_waits_for_the_others(void **state)
{
	struct th_deferred last = { .fn = on_repeating, .last = true },
			   sender = { .fn = on_sender };
	(void)state;
	left = 2;
	repeating = (struct th_deferred){ .fn = on_repeating, .last = true };
	second = (struct th_deferred){ .fn = on_second };
	th_loop_defer(loop, &repeating); /* once more in the next iteration, for itself */
	th_loop_defer(loop, &sender);    /* what it queues also comes first */
	th_loop_run(loop);
	assert_string_equal(order, "s2rr");
	th_loop_defer(loop, &last);
	th_loop_undefer(loop, &last);
	th_loop_run(loop);
	assert_string_equal(order, "s2rr");
}

static void an_undeferred_call_does_not_run(void **state)
{
	(void)state;
	first = (struct th_deferred){ .fn = on_first };
	second = (struct th_deferred){ .fn = on_second };
	th_loop_defer(loop, &first);
	th_loop_defer(loop, &second);
	th_loop_undefer(loop, &first);
	th_loop_undefer(loop, &first);
	th_loop_run(loop);
	assert_string_equal(order, "2");
}

/* ---- descriptors ---- */

static struct th_poll *polls[2];
static int ends[2];

static void on_readable(void *ctx, unsigned events)
{
	char c;
	(void)ctx;
	assert_true(events & TH_POLL_READ);
	if (read(ends[0], &c, 1) == 1) {
		note(&c);
		return;
	}
	note("$");
	polls[0] = th_poll_free(polls[0]);
}

static void on_writable(void *ctx, unsigned events)
{
	(void)ctx;
	assert_true(events & TH_POLL_WRITE);
	assert_int_equal(write(ends[1], "xy", 2), 2);
	polls[1] = th_poll_free(polls[1]);
	th_fd_close(&ends[1]);
}

static void polls_report_bytes_room_and_the_end(void **state)
{
	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(th_poll_new(loop, ends[0], on_readable, NULL, &polls[0], NULL), TH_OK);
	assert_int_equal(th_poll_new(loop, ends[1], on_writable, NULL, &polls[1], NULL), TH_OK);
	th_poll_set(polls[0], TH_POLL_READ);
	th_poll_set(polls[1], TH_POLL_WRITE);
	assert_int_equal(th_poll_get(polls[1]), TH_POLL_WRITE);
	th_loop_run(loop);
	assert_string_equal(order, "xy$");
	th_fd_close(&ends[0]);
}

static void a_regular_file_cannot_be_polled(void **state)
{
	struct th_err err = {};
	(void)state;
	FILE *f = tmpfile();
	assert_int_equal(th_poll_new(loop, fileno(f), on_readable, NULL, &polls[0], &err), TH_EIO);
	assert_true(err.msg[0] != '\0');
	fclose(f);
}

/* ---- signals, workers, wakes ---- */

static struct th_signal *sig;

static void on_signal(void *ctx, int signum)
{
	(void)ctx;
	assert_int_equal(signum, SIGUSR1);
	note("s");
	sig = th_signal_free(sig);
	th_loop_stop(loop);
}

static void signals_arrive_and_do_not_keep_the_loop(void **state)
{
	struct th_timer t;
	(void)state;
	assert_int_equal(th_signal_new(loop, SIGUSR1, on_signal, NULL, &sig, NULL), TH_OK);
	th_loop_run(loop); /* nothing else: returns */
	raise(SIGUSR1);
	th_timer_init(&t, loop, on_note, LETTER("t"));
	th_timer_start(&t, 10000, 0);
	th_loop_run(loop);
	th_timer_stop(&t);
	assert_string_equal(order, "s");
}

struct job {
	pthread_t thread;
	int value;
};
static int done_sum;

static void job_run(void *ctx)
{
	struct job *j = (struct job *)ctx;
	j->thread = pthread_self();
	j->value *= 2;
}

static void job_done(void *ctx)
{
	struct job *j = (struct job *)ctx;
	assert_false(pthread_equal(j->thread, pthread_self()));
	done_sum += j->value;
}

static void work_runs_elsewhere_and_ends_here(void **state)
{
	struct job jobs[32];
	(void)state;
	done_sum = 0;
	for (int i = 0; i < 32; i++) {
		jobs[i].value = i;
		th_work(loop, job_run, job_done, &jobs[i]);
	}
	th_loop_run(loop);
	assert_int_equal(done_sum, 2 * (31 * 32 / 2));
}

static struct th_wake *wake;

static void on_wake(void *ctx)
{
	(void)ctx;
	note("w");
	wake = th_wake_free(wake);
}

static void *send_wake(void *ctx)
{
	th_wake_send((struct th_wake *)ctx);
	return NULL;
}

static void another_thread_can_wake_the_loop(void **state)
{
	pthread_t thread;
	(void)state;
	assert_int_equal(th_wake_new(loop, on_wake, NULL, &wake, NULL), TH_OK);
	pthread_create(&thread, NULL, send_wake, wake);
	th_loop_run(loop);
	pthread_join(thread, NULL);
	assert_string_equal(order, "w");
}

static void embedding_needs_only_a_descriptor_and_a_timeout(void **state)
{
	struct th_timer t;
	(void)state;
	th_timer_init(&t, loop, on_note, LETTER("t"));
	first = (struct th_deferred){ .fn = on_second };
	th_timer_start(&t, 5, 0);
	th_loop_defer(loop, &first);
	assert_true(th_loop_fd(loop) >= 0);
	assert_int_equal(th_loop_timeout_ms(loop), 0);
	while (th_loop_pass(loop)) {
		int timeout_ms = th_loop_timeout_ms(loop);
		assert_true(timeout_ms >= 0 && timeout_ms <= 6);
		usleep((unsigned)timeout_ms * 1000); /* stands for somebody else's poll */
	}
	assert_string_equal(order, "2t");
}

static void time_and_chance(void **state)
{
	(void)state;
	uint64_t a = th_clock_ns(), b = th_clock_ns();
	assert_true(b >= a);
	assert_true(th_clock_wall_ms() > 1600000000000);
	uint8_t x[300], y[300];
	th_random(x, sizeof(x));
	th_random(y, sizeof(y));
	assert_memory_not_equal(x, y, sizeof(x));
	struct th_uuid u = th_uuid_now(), v = th_uuid_now();
	assert_memory_not_equal(&u, &v, sizeof(u));
	assert_int_equal(u.bytes[6] >> 4, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(timers_fire_in_order_of_time_then_of_starting),
		T(timers_stand_still),
		T(a_timer_may_restart_itself_without_delay),
		T(a_repeating_timer_repeats_until_stopped),
		T(many_timers_keep_their_order),
		T(long_passes_count_until_there_is_a_rest),
		T(deferred_calls_run_once_and_before_sleeping),
		T(the_last_call_waits_for_the_others),
		T(an_undeferred_call_does_not_run),
		T(polls_report_bytes_room_and_the_end),
		T(a_regular_file_cannot_be_polled),
		T(signals_arrive_and_do_not_keep_the_loop),
		T(work_runs_elsewhere_and_ends_here),
		T(another_thread_can_wake_the_loop),
		T(embedding_needs_only_a_descriptor_and_a_timeout),
		T(time_and_chance),
	};
	return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
