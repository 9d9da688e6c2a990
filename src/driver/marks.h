/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - calls that name elements by the numbers of their marks.
 */
#ifndef TH_DRIVER_MARKS_H
#define TH_DRIVER_MARKS_H

#include "live/live.h"

bool th_live_marks(const struct th_live *l); /* pictures carry marks for the planner */
bool th_live_mark(struct th_live *l, struct th_call *c,
		  th_record_item_fn *record); /* true: it named marks and was recorded */

#endif
