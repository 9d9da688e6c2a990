/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <math.h>
#include <stdlib.h>

#include "dialects/space.h"

static const struct th_space qwen28 = { TH_SPACE_SMART, 0, 28, 3136, 12845056, false };
static const struct th_space uitars28 = { TH_SPACE_SMART, 0, 28, 78400, 12845056, false };
static const struct th_space qwen32 = { TH_SPACE_SMART, 0, 32, 3136, 12845056, false };
static const struct th_space floor28 = { TH_SPACE_SMART, 0, 28, 3136, 8847360, true };
static const struct th_space norm1000 = { TH_SPACE_NORM, 1000, 0, 0, 0, false };
static const struct th_space norm999 = { TH_SPACE_NORM, 999, 0, 0, 0, true };
static const struct th_space fractions = { TH_SPACE_NORM, 1, 0, 0, 0, false };
static const struct th_space pixels = { TH_SPACE_PIXELS, 0, 0, 0, 0, false };

static const struct th_space *const all[] = { &qwen28,   &uitars28, &qwen32,    &floor28,
					      &norm1000, &norm999,  &fractions, &pixels };

static const struct th_size screens[] = {
	{ 1920, 1080 }, { 1000, 800 }, { 1366, 768 },  { 1080, 1920 },
	{ 3840, 2160 }, { 1, 1 },      { 1021, 767 },  { 200, 20 },
	{ 20, 200 },    { 16384, 1 },  { 5000, 3000 }, { 16384, 4096 },
};

/* As upstream gave them: (height, width) in spec/cua-agent.md section 3. */
static void test_sizes(void **state)
{
	static const struct {
		struct th_size screen, sizes[4];
	} rows[] = {
		{ { 1920, 1080 },
		  { { 1932, 1092 }, { 1932, 1092 }, { 1920, 1088 }, { 1904, 1064 } } },
		{ { 1000, 800 }, { { 1008, 812 }, { 1008, 812 }, { 992, 800 }, { 980, 784 } } },
		{ { 1280, 720 }, { { 1288, 728 }, { 1288, 728 }, { 1280, 704 }, { 1260, 700 } } },
		{ { 3840, 2160 },
		  { { 3836, 2156 }, { 3836, 2156 }, { 3840, 2176 }, { 3836, 2156 } } },
		{ { 5000, 3000 },
		  { { 4620, 2772 }, { 4620, 2772 }, { 4608, 2752 }, { 3836, 2296 } } },
		{ { 100, 100 }, { { 280, 280 }, { 112, 112 }, { 96, 96 }, { 84, 84 } } },
	};
	static const struct th_space *const spaces[] = { &uitars28, &qwen28, &qwen32, &floor28 };

	(void)state;
	for (size_t i = 0; i < TH_COUNT(rows); i++) {
		for (size_t k = 0; k < TH_COUNT(spaces); k++) {
			struct th_size size = th_space_size(spaces[k], rows[i].screen);

			assert_int_equal(size.width, rows[i].sizes[k].width);
			assert_int_equal(size.height, rows[i].sizes[k].height);
		}
	}
	/* Upstream divides by zero here. */
	assert_int_equal(th_space_size(&floor28, (struct th_size){ 200, 20 }).height, 28);
}

static void check_pixel(const struct th_space *s, struct th_size image, struct th_size screen,
			struct th_point p)
{
	struct th_size range = th_space_size(s, image);
	struct th_space_point at = th_space_of_screen(s, image, screen, p), again;
	struct th_point back;
	struct th_err err;

	assert_true(at.x >= 0 && at.y >= 0 && at.x <= range.width && at.y <= range.height);
	assert_int_equal(th_space_to_screen(s, image, screen, at.x, at.y, &back, &err), TH_OK);
	assert_true(th_size_has(screen, back));
	if (s == &fractions || range.width >= screen.width)
		assert_int_equal(back.x, p.x);
	if (s == &fractions || range.height >= screen.height)
		assert_int_equal(back.y, p.y);
	assert_true(abs(back.x - p.x) <= screen.width / range.width + 1);
	assert_true(abs(back.y - p.y) <= screen.height / range.height + 1);
	/* What the model sees as its own point stays that. */
	again = th_space_of_screen(s, image, screen, back);
	if (s != &fractions && range.width < screen.width)
		assert_true(fabs(again.x - at.x) < 0.5);
	if (s != &fractions && range.height < screen.height)
		assert_true(fabs(again.y - at.y) < 0.5);
}

static void test_there_and_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_COUNT(screens) * TH_COUNT(all); i++) {
		const struct th_space *s = all[i % TH_COUNT(all)];
		struct th_size screen = screens[i / TH_COUNT(all)], half = screen;

		half.width = TH_MAX(half.width / 2, 1);
		half.height = TH_MAX(half.height / 2, 1);
		for (int32_t x = 0; x < screen.width; x += TH_MAX(screen.width / 997, 1)) {
			struct th_point p = { x, (int32_t)((int64_t)x * screen.height /
							   screen.width) };

			check_pixel(s, screen, screen, p);
			check_pixel(s, half, screen, p);
		}
		check_pixel(s, screen, screen,
			    (struct th_point){ screen.width - 1, screen.height - 1 });
	}
}

static void refuse(const struct th_space *s, struct th_size screen, double x, double y)
{
	struct th_point p;
	struct th_err err;

	assert_int_equal(th_space_to_screen(s, screen, screen, x, y, &p, &err), TH_EUSAGE);
	assert_non_null(strstr(err.msg, "is outside the screen: x must be 0 to "));
}

static void test_outside(void **state)
{
	(void)state;
	for (size_t i = 0; i < TH_COUNT(screens) * TH_COUNT(all); i++) {
		const struct th_space *s = all[i % TH_COUNT(all)];
		struct th_size screen = screens[i / TH_COUNT(all)];
		struct th_size range = th_space_size(s, screen);
		struct th_point p;
		struct th_err err;

		refuse(s, screen, range.width + 0.01, 0);
		refuse(s, screen, 0, range.height + 1);
		refuse(s, screen, -0.01, 0);
		refuse(s, screen, 0, -1e300);
		refuse(s, screen, NAN, 0);
		refuse(s, screen, 0, INFINITY);
		/* The last number of a side is its last pixel. */
		assert_int_equal(
		    th_space_to_screen(s, screen, screen, range.width, range.height, &p, &err),
		    TH_OK);
		assert_int_equal(p.x, screen.width - 1);
		assert_int_equal(p.y, screen.height - 1);
	}
}

static void test_clamp(void **state)
{
	struct th_size screen = { 1000, 800 };
	struct th_space_point p = th_space_clamp(&qwen28, screen, 5000, -3);

	(void)state;
	assert_true(p.x == 1008 && p.y == 0);
	p = th_space_clamp(&norm1000, screen, NAN, 12.5);
	assert_true(p.x == 0 && p.y == 12.5);
}

static void test_regions(void **state)
{
	struct th_size screen = { 1920, 1080 }, image = { 960, 540 };
	const double corners[] = { 960, 540, 0, 0 }, dot[] = { 960, 540, 960, 540 };
	const double out[] = { 0, 0, 961, 1 };
	struct th_rect r;
	struct th_err err;

	(void)state;
	assert_int_equal(th_space_to_rect(&pixels, image, screen, corners, &r, &err), TH_OK);
	assert_true(r.x == 0 && r.y == 0 && r.width == 1920 && r.height == 1080);
	assert_int_equal(th_space_to_rect(&pixels, image, screen, dot, &r, &err), TH_OK);
	assert_true(r.x == 1919 && r.y == 1079 && r.width == 1 && r.height == 1);
	assert_int_equal(th_space_to_rect(&pixels, image, screen, out, &r, &err), TH_EUSAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),   cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_outside), cmocka_unit_test(test_clamp),
		cmocka_unit_test(test_regions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
