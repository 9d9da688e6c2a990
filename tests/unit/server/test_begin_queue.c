/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that begin something, while the loop has more to do. */
#include <string.h>

#include "base/limits.h"
#include "io/clock.h"
#include "server/begin_queue.h"
#include "unit.h"

static struct th_loop *loop;
static struct th_begin_queue queue;
static struct th_begin_entry entries[4];
static uint64_t passes[4]; /* in which each began */
static char order[8];
static size_t count;
static bool slow; /* each takes all of the share */

static void spin(void)
{
	while (!th_loop_pass_took(loop, TH_LOOP_SHARE_MS + 2))
		;
}

static void begin(struct th_begin_entry *e)
{
	size_t i = (size_t)(e - entries);

	assert_null(e->queue);
	assert_int_equal(th_begin_queue_ask(&queue, e), TH_BEGIN_NOW);
	passes[i] = th_loop_pass_number(loop);
	order[count++] = (char)('a' + i);
	for (uint64_t until = th_clock_ms() + TH_LOOP_SHARE_MS; slow && th_clock_ms() <= until;)
		;
}

static int setup(void **state)
{
	(void)state;
	memset(entries, 0, sizeof(entries));
	memset(order, 0, sizeof(order));
	count = 0;
	slow = false;
	assert_int_equal(th_loop_new(&loop, NULL), TH_OK);
	th_begin_queue_init(&queue, loop, begin);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	th_begin_queue_deinit(&queue);
	loop = th_loop_free(loop);
	return 0;
}

/* The pass has done enough: all of them wait. */
static void ask_all(void *ctx)
{
	(void)ctx;
	spin();
	for (size_t i = 0; i < TH_COUNT(entries); i++)
		assert_int_equal(th_begin_queue_ask(&queue, &entries[i]), TH_BEGIN_WAITS);
}

static void ask_first(void *ctx)
{
	(void)ctx;
	assert_int_equal(th_begin_queue_ask(&queue, &entries[0]), TH_BEGIN_NOW);
	assert_int_equal(th_begin_queue_ask(&queue, &entries[0]), TH_BEGIN_NOW);
	assert_null(queue.first);
}

static void nobody_waits_where_there_is_time(void **state)
{
	struct th_deferred d = { .fn = ask_first };

	(void)state;
	th_loop_defer(loop, &d);
	th_loop_run(loop);
	assert_int_equal(count, 0); /* who may begin does so himself */
}

static void they_begin_in_their_order(void **state)
{
	struct th_deferred d = { .fn = ask_all };

	(void)state;
	th_loop_defer(loop, &d);
	th_loop_run(loop);
	assert_string_equal(order, "abcd");
}

static void a_pass_begins_for_its_share(void **state)
{
	struct th_deferred d = { .fn = ask_all };

	(void)state;
	slow = true;
	th_loop_defer(loop, &d);
	th_loop_run(loop);
	assert_string_equal(order, "abcd");
	for (size_t i = 1; i < TH_COUNT(passes); i++)
		assert_true(passes[i] > passes[i - 1]);
}

static void ask_and_leave(void *ctx)
{
	ask_all(ctx);
	th_begin_queue_leave(&entries[1]);
	th_begin_queue_leave(&entries[1]);
	th_begin_queue_leave(&entries[3]);
	th_begin_queue_leave(&entries[0]);
	assert_ptr_equal(queue.first, &entries[2]);
	assert_ptr_equal(queue.last, &entries[2]);
}

static void who_leaves_does_not_begin(void **state)
{
	struct th_deferred d = { .fn = ask_and_leave };

	(void)state;
	th_loop_defer(loop, &d);
	th_loop_run(loop);
	assert_string_equal(order, "c");
}

/* The first one waits for so long: up to that, others do too. */
static void ask_late(void *ctx)
{
	uint64_t now_ms = th_loop_now_ms(loop);

	(void)ctx;
	spin();
	assert_int_equal(th_begin_queue_ask(&queue, &entries[0]), TH_BEGIN_WAITS);
	entries[0].since_ms = now_ms - (TH_SERVE_BEGIN_MS - 1);
	assert_int_equal(th_begin_queue_ask(&queue, &entries[1]), TH_BEGIN_WAITS);
	entries[0].since_ms = now_ms - TH_SERVE_BEGIN_MS;
	assert_int_equal(th_begin_queue_ask(&queue, &entries[2]), TH_BEGIN_LATE);
	assert_null(entries[2].queue);
	th_begin_queue_leave(&entries[0]); /* the next one has not waited for so long */
	assert_int_equal(th_begin_queue_ask(&queue, &entries[2]), TH_BEGIN_WAITS);
}

static void who_comes_too_late_is_told(void **state)
{
	struct th_deferred d = { .fn = ask_late };

	(void)state;
	th_loop_defer(loop, &d);
	th_loop_run(loop);
	assert_string_equal(order, "bc");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(nobody_waits_where_there_is_time), T(they_begin_in_their_order),
		T(a_pass_begins_for_its_share),      T(who_leaves_does_not_begin),
		T(who_comes_too_late_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
