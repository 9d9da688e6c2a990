/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blank.h - a black picture of any size as a PNG of about a thousandth of its
 * pixels, for results that must have a screenshot where none could be taken.
 */
#ifndef TH_MODEL_WIRE_BLANK_H
#define TH_MODEL_WIRE_BLANK_H

#include "base/buf.h"
#include "base/geom.h"

/* Sides are clamped to 1..TH_SCREEN_SIDE_MAX. */
void th_blank_png(struct th_buf *out, struct th_size size);

#endif
