/* SPDX-License-Identifier: Apache-2.0 */
/*
 * space.h - points between the screen and what a model counts in.
 *
 * Three sizes take part: the screen; the picture as it was sent (th_image_size);
 * and the size that the model's numbers refer to (th_space_size).  Results are
 * rounded to the nearest pixel, or down where the space says so.
 */
#ifndef TH_DIALECTS_SPACE_H
#define TH_DIALECTS_SPACE_H

#include "models/model.h"

/* The range of the model's numbers: [0, width) x [0, height) for pixels, (max, max) for NORM. */
struct th_size th_space_size(const struct th_space *s, struct th_size image);

struct th_space_point {
	double x, y;
};

/* TH_EUSAGE: the point is outside the model's range (which the sentence names, in the model's own
 * numbers).  The last number of a side (1000 of 1000, the width itself) is its last pixel. */
TH_NODISCARD enum th_code th_space_to_screen(const struct th_space *s, struct th_size image,
					     struct th_size screen, double x, double y,
					     struct th_point *ret, struct th_err *err);
/* The nearest point of the model's range; numbers that are not finite become 0. */
struct th_space_point th_space_clamp(const struct th_space *s, struct th_size image, double x,
				     double y);
/* Two corners in the model's numbers, in any order, as a part of the screen of at least one pixel.
 * TH_EUSAGE as above. */
TH_NODISCARD enum th_code th_space_to_rect(const struct th_space *s, struct th_size image,
					   struct th_size screen, const double corners[4],
					   struct th_rect *ret, struct th_err *err);

/* The model's numbers for a pixel; th_space_to_screen gives the same pixel back wherever the
 * model's range has at least as many values as the screen. */
struct th_space_point th_space_of_screen(const struct th_space *s, struct th_size image,
					 struct th_size screen, struct th_point p);

#endif
