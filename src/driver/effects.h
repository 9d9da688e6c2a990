/* SPDX-License-Identifier: Apache-2.0 */
/*
 * effects.h - what happens for each effect that a step of the fold asks for.
 */
#ifndef TH_DRIVER_EFFECTS_H
#define TH_DRIVER_EFFECTS_H

#include "live/queue.h"

extern const struct th_effect_row th_effect_rows[TH_EFFECT_COUNT];

#endif
