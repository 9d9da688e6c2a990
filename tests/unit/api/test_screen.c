/* SPDX-License-Identifier: Apache-2.0 */
/* Live views without a desktop: what is asked, what is said, who is told, and when.
 * tests/e2e/cli/test_screen.py has one. */
#include "rig.h"

#include <poll.h>

struct told {
	int count;
	struct thole_screen *leaves; /* in its own callback */
};

static void on_new(void *ctx, struct thole_screen *screen)
{
	struct told *t = ctx;

	assert_int_equal(thole_screen_width(screen), 0);
	assert_int_equal(thole_screen_height(screen), 0);
	assert_non_null(strstr(thole_screen_reason(screen), "no executor"));
	t->count++;
	if (t->leaves)
		thole_screen_free(screen);
	t->leaves = NULL;
}

static void spin(struct thole_runtime *rt, const int *count)
{
	while (!*count) {
		struct pollfd p = { .fd = thole_runtime_fd(rt), .events = POLLIN };

		(void)!poll(&p, 1, thole_runtime_timeout_ms(rt));
		GOOD(thole_runtime_dispatch(rt, &error));
	}
}

static void on_tile(void *ctx, int x, int y, int width, int height, const void *bytes, size_t size)
{
	(void)ctx, (void)x, (void)y, (void)width, (void)height, (void)bytes, (void)size;
	fail_msg("there is no screen");
}

static void test_options(void **state)
{
	static const char *const bad[][3] = {
		{ "format", "gif", NULL }, { "quality", "0", NULL }, { "quality", "101", NULL },
		{ "rate", "0", NULL },     { "rate", "31", NULL },   { "rate", "many", NULL },
		{ "speed", "1", NULL },
	};
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	struct thole_screen *screen = NULL;
	char too_long[130] = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		BAD(THOLE_EUSAGE,
		    thole_screen_watch(rt, "desk", bad[i], on_new, NULL, &screen, &error));
	BAD(THOLE_EUSAGE, thole_screen_watch(NULL, "desk", NULL, on_new, NULL, &screen, &error));
	BAD(THOLE_EUSAGE, thole_screen_watch(rt, NULL, NULL, on_new, NULL, &screen, &error));
	memset(too_long, 'x', sizeof(too_long) - 1);
	BAD(THOLE_ELIMIT, thole_screen_watch(rt, too_long, NULL, on_new, NULL, &screen, &error));
	BAD(THOLE_EUSAGE, thole_screen_watch(rt, "", NULL, on_new, NULL, &screen, &error));
	BAD(THOLE_EUSAGE, thole_screen_watch(rt, "desk", NULL, NULL, NULL, &screen, &error));
	BAD(THOLE_EUSAGE, thole_screen_watch(rt, "desk", NULL, on_new, NULL, NULL, &error));
	BAD(THOLE_EUSAGE, thole_screen_take(NULL, on_tile, NULL, &error));
	assert_null(screen);
	assert_int_equal(thole_screen_width(NULL), 0);
	assert_int_equal(thole_screen_height(NULL), 0);
	assert_null(thole_screen_reason(NULL));
	assert_false(thole_screen_pointer(NULL, NULL, NULL));
	thole_screen_free(NULL);
	GOOD(thole_runtime_free(rt));
}

/* Who watches where there is no executor is told so once, and not again before it was taken. */
static void test_no_screen(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	const char *const options[] = { "format", "webp", "quality", "60", "rate", "5", NULL };
	struct told one = { 0 }, two = { 0 }, three = { 0 };
	struct thole_screen *screen = NULL, *second = NULL, *third = NULL;
	struct thole_agent *agent = agent_of("desk");
	struct thole_session *session = NULL;
	int x, y;

	(void)state;
	/* It has no computer; to watch it changes nothing about that. */
	GOOD(thole_session_new(rt, agent, "desk", &session, &error));
	thole_agent_free(agent);
	GOOD(thole_screen_watch(rt, "desk", NULL, on_new, &one, &screen, &error));
	assert_int_equal(one.count, 0);
	spin(rt, &one.count);
	assert_false(thole_screen_pointer(screen, &x, &y));
	BAD(THOLE_EUSAGE, thole_screen_take(screen, NULL, NULL, &error));
	GOOD(thole_screen_take(screen, on_tile, NULL, &error));
	/* A second one of the same view is told what is known, without another look for it. */
	GOOD(thole_screen_watch(rt, "desk", NULL, on_new, &two, &second, &error));
	GOOD(thole_screen_watch(rt, "desk", options, on_new, &three, &third, &error));
	three.leaves = third;
	spin(rt, &two.count);
	spin(rt, &three.count);
	assert_int_equal(one.count, 1);
	assert_int_equal(two.count, 1);
	thole_screen_free(screen);
	/* The second one ends with the runtime. */
	GOOD(thole_runtime_free(rt));
}

/* 4096 in one runtime, who share one look; there is room again when one leaves. */
static void test_no_more_than_so_many(void **state)
{
	struct thole_runtime *rt = runtime_at("http://127.0.0.1:1/v1", "memory:");
	static struct thole_screen *all[4096];
	struct thole_screen *screen = NULL;
	static struct told told[4096];

	(void)state;
	for (int i = 0; i < 4096; i++)
		GOOD(thole_screen_watch(rt, "desk", NULL, on_new, &told[i], &all[i], &error));
	BAD(THOLE_ELIMIT, thole_screen_watch(rt, "desk", NULL, on_new, NULL, &screen, &error));
	spin(rt, &told[0].count);
	thole_screen_free(all[7]);
	told[0].count = 0;
	while (thole_screen_watch(rt, "desk", NULL, on_new, &told[0], &screen, &error) != 0)
		GOOD(thole_runtime_dispatch(rt, &error));
	spin(rt, &told[0].count);
	GOOD(thole_runtime_free(rt));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_no_screen),
		cmocka_unit_test_setup(test_no_more_than_so_many, away_from_home),
	};

	return cmocka_run_group_tests(tests, away_from_home, NULL);
}
