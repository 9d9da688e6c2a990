/* SPDX-License-Identifier: Apache-2.0 */
/* The size that pictures are sent in. */
#include "unit.h"

#include "models/model.h"

static struct th_size sent(struct th_resize resize, int32_t width, int32_t height)
{
	const struct th_profile p = { .resize = resize };

	return th_image_size(&p, (struct th_size){ width, height });
}

static void expect(struct th_resize resize, int32_t width, int32_t height, int32_t to_width,
		   int32_t to_height)
{
	struct th_size s = sent(resize, width, height);

	assert_int_equal(s.width, to_width);
	assert_int_equal(s.height, to_height);
}

static void rules(void **state)
{
	struct th_resize none = { 0 }, xga = { .xga = true }, side = { .side_max = 1568 },
			 pixels = { .pixels_max = 1000000 };

	(void)state;
	expect(none, 3840, 2160, 3840, 2160);
	expect(none, 1, 1, 1, 1);
	expect(xga, 1024, 768, 1024, 768);
	expect(xga, 2048, 1536, 1024, 768);
	expect(xga, 1920, 1080, 1365, 768);
	expect(xga, 2560, 1600, 1280, 800);
	expect(xga, 800, 600, 800, 600);
	expect(side, 1568, 100, 1568, 100);
	expect(side, 3136, 1000, 1568, 500);
	expect(side, 1000, 3136, 500, 1568);
	expect(pixels, 1000, 1000, 1000, 1000);
	expect(pixels, 2000, 2000, 1000, 1000);
}

/* Never larger, within the rule, and what a fit into it gives. */
static void holds_everywhere(void **state)
{
	static const struct th_resize resizes[] = { { .xga = true },
						    { .side_max = 1568, .pixels_max = 1192464 },
						    { .pixels_max = 5000 },
						    { .side_max = 1 } };
	uint32_t random = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		const struct th_resize *r = &resizes[i % 4];
		struct th_size screen, s, fit;

		random = random * 1664525 + 1013904223;
		screen.width = (int32_t)(random >> 8) % 4096 + 1;
		random = random * 1664525 + 1013904223;
		screen.height = (int32_t)(random >> 8) % 4096 + 1;
		s = sent(*r, screen.width, screen.height);
		assert_true(s.width >= 1 && s.height >= 1);
		assert_true(s.width <= screen.width && s.height <= screen.height);
		fit = th_size_fit(screen, s);
		assert_true(th_size_eq(fit, s));
		if (r->side_max)
			assert_true(s.width <= r->side_max && s.height <= r->side_max);
		if (r->pixels_max)
			assert_true((int64_t)s.width * s.height <= r->pixels_max || s.width == 1 ||
				    s.height == 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(holds_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
