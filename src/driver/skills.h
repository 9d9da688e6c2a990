/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skills.h - skills that are said while a session goes on: each once, as a message of the
 * environment right after what made it be said.
 */
#ifndef TH_DRIVER_SKILLS_H
#define TH_DRIVER_SKILLS_H

#include "live/live.h"

/* A user said this. */
void th_live_skills_said(struct th_live *l, struct th_str message);
/* A call with these arguments ran: what they name as paths. */
void th_live_skills_touched(struct th_live *l, struct th_str arguments);

#endif
