/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/space.h"

#define FRACTION_PARTS 1000000.0 /* a millionth of the widest screen is less than a pixel */

/* ---- sizes ---- */

/* side / factor, to the nearest; a half to the even one, as the models' own code does. */
static int64_t nearest(int64_t side, int64_t factor)
{
	int64_t whole = side / factor, twice = 2 * (side % factor);

	return whole + (twice > factor || (twice == factor && whole % 2 != 0));
}

/* The most factors whose side keeps within side * sqrt(pixels / (side * other)). */
static int64_t shrink(int64_t side, int64_t other, int64_t factor, int64_t pixels)
{
	int64_t low = 1, high = TH_MAX(side / factor, 1);

	while (low < high) {
		int64_t k = (low + high + 1) / 2;

		if (k * factor * k * factor * other <= side * pixels)
			low = k;
		else
			high = k - 1;
	}
	return low;
}

/* The fewest factors whose side reaches it. */
static int64_t grow(int64_t side, int64_t other, int64_t factor, int64_t pixels)
{
	int64_t low = 1, high = pixels / factor + 1;

	while (low < high) {
		int64_t k = (low + high) / 2;
		double reached = (double)(k * factor) * (double)(k * factor) * (double)other;

		if (reached >= (double)side * (double)pixels)
			high = k;
		else
			low = k + 1;
	}
	return low;
}

/* Qwen's smart_resize, and with `floor` that of GTA1 and its kin.  Sides are at least one factor.
 */
static struct th_size smart_resize(struct th_size image, int32_t factor, int64_t pixels_min,
				   int64_t pixels_max, bool floor)
{
	int64_t width = TH_MAX(image.width, 1), height = TH_MAX(image.height, 1);
	int64_t across, down, part = TH_MAX(factor, 1);

	across = TH_MAX(floor ? width / part : nearest(width, part), 1);
	down = TH_MAX(floor ? height / part : nearest(height, part), 1);
	if (pixels_max > 0 && across * down * part * part > pixels_max) {
		across = shrink(width, height, part, pixels_max);
		down = shrink(height, width, part, pixels_max);
	} else if (across * down * part * part < pixels_min) {
		across = grow(width, height, part, pixels_min);
		down = grow(height, width, part, pixels_min);
	}
	return (struct th_size){ (int32_t)(across * part), (int32_t)(down * part) };
}

struct th_size th_space_size(const struct th_space *s, struct th_size image)
{
	switch (s->kind) {
	case TH_SPACE_NORM:
		return (struct th_size){ TH_MAX(s->max, 1), TH_MAX(s->max, 1) };
	case TH_SPACE_SMART:
		return smart_resize(image, s->factor, s->pixels_min, s->pixels_max, s->floor);
	case TH_SPACE_PIXELS:
		break;
	}
	return (struct th_size){ TH_MAX(image.width, 1), TH_MAX(image.height, 1) };
}

/* ---- points ---- */

static int32_t to_pixel(double x, int32_t range, int32_t side, bool floor)
{
	double pixel = x * side / range + (floor ? 0 : 0.5);

	return TH_MIN((int32_t)pixel, side - 1);
}

static bool in_range(double x, int32_t range)
{
	return x >= 0 && x <= range; /* not for NaN either */
}

static enum th_code check_range(struct th_size range, double x, double y, struct th_err *err)
{
	if (in_range(x, range.width) && in_range(y, range.height))
		return TH_OK;
	return th_fail(err, TH_EUSAGE,
		       "(%.6g, %.6g) is outside the screen: x must be 0 to %d and y 0 to %d", x, y,
		       range.width, range.height);
}

enum th_code th_space_to_screen(const struct th_space *s, struct th_size image,
				struct th_size screen, double x, double y, struct th_point *ret,
				struct th_err *err)
{
	struct th_size range = th_space_size(s, image);
	enum th_code code = check_range(range, x, y, err);

	if (code)
		return code;
	ret->x = to_pixel(x, range.width, screen.width, s->floor);
	ret->y = to_pixel(y, range.height, screen.height, s->floor);
	return TH_OK;
}

static double clamp(double x, int32_t range)
{
	return x >= 0 ? TH_MIN(x, (double)range) : 0;
}

struct th_space_point th_space_clamp(const struct th_space *s, struct th_size image, double x,
				     double y)
{
	struct th_size range = th_space_size(s, image);

	return (struct th_space_point){ clamp(x, range.width), clamp(y, range.height) };
}

/* An edge lies between pixels: the last one is the side itself. */
static int32_t to_edge(double x, int32_t range, int32_t side)
{
	return TH_MIN((int32_t)(x * side / range + 0.5), side);
}

enum th_code th_space_to_rect(const struct th_space *s, struct th_size image, struct th_size screen,
			      const double corners[4], struct th_rect *ret, struct th_err *err)
{
	struct th_size range = th_space_size(s, image);
	double left = TH_MIN(corners[0], corners[2]), right = TH_MAX(corners[0], corners[2]);
	double top = TH_MIN(corners[1], corners[3]), bottom = TH_MAX(corners[1], corners[3]);
	enum th_code code = check_range(range, corners[0], corners[1], err);

	if (!code)
		code = check_range(range, corners[2], corners[3], err);
	if (code)
		return code;
	ret->x = TH_MIN(to_edge(left, range.width, screen.width), screen.width - 1);
	ret->y = TH_MIN(to_edge(top, range.height, screen.height), screen.height - 1);
	ret->width = TH_MAX(to_edge(right, range.width, screen.width) - ret->x, 1);
	ret->height = TH_MAX(to_edge(bottom, range.height, screen.height) - ret->y, 1);
	return TH_OK;
}

static double of_pixel(int32_t p, int32_t range, int32_t side, bool floor, bool norm)
{
	int64_t product = (int64_t)p * range, up = floor ? side - 1 : side / 2;
	int64_t last = norm ? range : range - 1;

	if (norm && range == 1) { /* fractions */
		double parts = p * FRACTION_PARTS / side;

		return (double)(int64_t)(parts + 0.5) / FRACTION_PARTS;
	}
	return (double)TH_MIN((product + up) / side, last);
}

struct th_space_point th_space_of_screen(const struct th_space *s, struct th_size image,
					 struct th_size screen, struct th_point p)
{
	struct th_size range = th_space_size(s, image);
	bool norm = s->kind == TH_SPACE_NORM;

	return (struct th_space_point){
		of_pixel(p.x, range.width, screen.width, s->floor, norm),
		of_pixel(p.y, range.height, screen.height, s->floor, norm),
	};
}
