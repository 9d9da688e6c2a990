/* SPDX-License-Identifier: Apache-2.0 */
#include "base/geom.h"
#include "rig.h"

static void clips(void **state)
{
	const struct th_size s = { 100, 50 };
	static const struct {
		struct th_rect r, wanted;
	} cases[] = {
		{ { 0, 0, 100, 50 }, { 0, 0, 100, 50 } },
		{ { -5, -5, 10, 10 }, { 0, 0, 5, 5 } },
		{ { 95, 45, 10, 10 }, { 95, 45, 5, 5 } },
		{ { INT32_MIN, INT32_MIN, INT32_MAX, INT32_MAX }, { 0, 0, 0, 0 } },
		{ { -1, -1, INT32_MAX, INT32_MAX }, { 0, 0, 100, 50 } },
		{ { 10, 10, INT32_MAX, INT32_MAX }, { 10, 10, 90, 40 } },
	};

	(void)state;
	for (size_t i = 0; i < TH_COUNT(cases); i++) {
		struct th_rect r = th_rect_clip(cases[i].r, s);

		assert_memory_equal(&r, &cases[i].wanted, sizeof(r));
	}
	assert_int_equal(th_rect_clip((struct th_rect){ 100, 0, 5, 5 }, s).width, 0);
	assert_int_equal(th_rect_clip((struct th_rect){ 0, INT32_MAX, 5, INT32_MAX }, s).height, 0);
	assert_int_equal(th_rect_clip((struct th_rect){ 5, 5, -3, INT32_MIN }, s).width, 0);
	assert_int_equal(th_rect_clip((struct th_rect){ 5, 5, -3, INT32_MIN }, s).height, 0);
}

static void has(void **state)
{
	const struct th_size s = { 2, 1 };

	(void)state;
	assert_true(th_size_has(s, (struct th_point){ 0, 0 }));
	assert_true(th_size_has(s, (struct th_point){ 1, 0 }));
	assert_false(th_size_has(s, (struct th_point){ 2, 0 }));
	assert_false(th_size_has(s, (struct th_point){ 0, 1 }));
	assert_false(th_size_has(s, (struct th_point){ -1, 0 }));
	assert_false(th_size_has((struct th_size){ 0, 0 }, (struct th_point){ 0, 0 }));
}

static void maps(void **state)
{
	const struct th_size screen = { 1920, 1080 }, seen = { 1280, 720 };
	struct th_point p = th_point_map((struct th_point){ 0, 0 }, seen, screen);

	(void)state;
	assert_int_equal(p.x, 0);
	p = th_point_map((struct th_point){ 1279, 719 }, seen, screen);
	assert_int_equal(p.x, 1919); /* 1279.5 * 1.5 = 1919.25 */
	assert_int_equal(p.y, 1079);
}

/* Inside stays inside, order is kept, equal sizes change nothing, and no neighbour is skipped when
 * the way back is taken. */
static void map_properties(void **state)
{
	(void)state;
	for (uint64_t seed = 1, round = 0; round < 3000; round++) {
		struct th_size from = { 1 + (int32_t)draw_below(&seed, 3000), 1 };
		struct th_size to = { 1 + (int32_t)draw_below(&seed, 3000), 1 };
		int32_t before = 0;

		for (int32_t x = 0; x < from.width; x += 1 + (int32_t)draw_below(&seed, 50)) {
			struct th_point p = th_point_map((struct th_point){ x, 0 }, from, to);

			assert_true(th_size_has(to, p) && p.x >= before);
			before = p.x;
			assert_int_equal(th_point_map((struct th_point){ x, 0 }, from, from).x, x);
			if (to.width >= from.width)
				assert_int_equal(th_point_map(p, to, from).x, x);
		}
		assert_true(th_point_map((struct th_point){ -1, 0 }, from, to).x < 0);
		assert_true(th_point_map((struct th_point){ from.width, 0 }, from, to).x >=
			    to.width);
	}
}

static void map_extremes(void **state)
{
	const struct th_size one = { 1, 1 }, huge = { INT32_MAX, INT32_MAX };
	struct th_point p = th_point_map((struct th_point){ INT32_MAX, INT32_MIN }, one, huge);

	(void)state;
	assert_int_equal(p.x, INT32_MAX);
	assert_int_equal(p.y, INT32_MIN);
	p = th_point_map((struct th_point){ INT32_MAX - 1, 0 }, huge, huge);
	assert_int_equal(p.x, INT32_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clips),        cmocka_unit_test(has),
		cmocka_unit_test(maps),         cmocka_unit_test(map_properties),
		cmocka_unit_test(map_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
