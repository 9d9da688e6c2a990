/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.c - pictures in requests: how large, and how many.
 */
#include "base/limits.h"
#include "models/model.h"

static const struct th_size xga[] = { { 1024, 768 }, { 1280, 800 }, { 1366, 768 } };

static bool fits(struct th_size size, struct th_size in)
{
	return size.width <= in.width && size.height <= in.height;
}

/* The size of that shape whose ratio is nearest; compared without fractions. */
static struct th_size nearest_xga(struct th_size screen)
{
	struct th_size best = xga[0];
	double ratio = (double)screen.width / screen.height, off = 1e9;

	for (size_t i = 0; i < TH_COUNT(xga); i++) {
		double d = (double)xga[i].width / xga[i].height - ratio;

		d = d < 0 ? -d : d;
		if (d < off) {
			off = d;
			best = xga[i];
		}
	}
	return best;
}

static int32_t scaled(int32_t side, double by)
{
	int32_t n = (int32_t)(side * by + 0.5);

	return TH_MIN(TH_MAX(n, 1), side);
}

/* Newton's: there is no libm in the pure layers. */
static double root(double v)
{
	double x = v > 1 ? v : 1;

	for (int i = 0; i < 64; i++)
		x = (x + v / x) / 2;
	return x;
}

struct th_size th_image_size(const struct th_profile *p, struct th_size screen)
{
	const struct th_resize *r = &p->resize;
	int32_t longer = TH_MAX(screen.width, screen.height);
	int64_t pixels = (int64_t)screen.width * screen.height;
	double by = 1;

	if (screen.width <= 0 || screen.height <= 0)
		return screen;
	if (r->box.width && !fits(screen, r->box)) {
		double wide = (double)r->box.width / screen.width;
		double high = (double)r->box.height / screen.height;

		by = TH_MIN(wide, high);
		return (struct th_size){ TH_MAX((int32_t)(screen.width * by), 1),
					 TH_MAX((int32_t)(screen.height * by), 1) };
	}
	if (r->xga) {
		struct th_size to = nearest_xga(screen);

		if (!fits(screen, to)) {
			double wide = (double)to.width / screen.width;
			double high = (double)to.height / screen.height;

			by = TH_MIN(wide, high);
		}
	}
	if (r->side_max && longer * by > r->side_max)
		by = (double)r->side_max / longer;
	if (r->pixels_max && (double)pixels * by * by > (double)r->pixels_max)
		by = root((double)r->pixels_max / (double)pixels);
	if (by >= 1)
		return screen;
	struct th_size size = { scaled(screen.width, by), scaled(screen.height, by) };

	/* Rounding may have gone a pixel too far; and whoever takes the picture fits it into this
	 * size by the shape of the screen, which must give this size. */
	for (;;) {
		struct th_size next = th_size_fit(screen, size);

		if (r->pixels_max && (int64_t)next.width * next.height > r->pixels_max &&
		    next.width > 1 && next.height > 1)
			next.width > next.height ? next.width-- : next.height--;
		else if (th_size_eq(next, size))
			return size;
		size = next;
	}
}

size_t th_images_keep(const struct th_request_options *o)
{
	const struct th_agent_model_settings *s = o->agent ? o->agent->settings : NULL;
	int64_t keep = s && s->images > 0 ? s->images : TH_IMAGES_IN_CONTEXT_DEFAULT;

	if (o->profile->images_max > 0 && keep > o->profile->images_max)
		keep = o->profile->images_max;
	return (size_t)keep;
}
