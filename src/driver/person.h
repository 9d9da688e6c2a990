/* SPDX-License-Identifier: Apache-2.0 */
/*
 * person.h - a person in the agent's place: takes over, acts, gives back.
 *
 * What the person does is an INPUT event, durable before it is done, and goes
 * to the executor as any effect.  One at a time.  An input that was recorded
 * and not begun when its runtime died is never begun: the person is gone.
 * Who gives back has the model told, with a fresh picture.
 */
#ifndef TH_DRIVER_PERSON_H
#define TH_DRIVER_PERSON_H

#include "live/live.h"

/* The input whose event is durable is done; settle: an earlier runtime dispatched it. */
void th_live_input_run(struct th_live *l, bool settle);
/* The executor is there, or it is known that it is not. */
void th_live_person_ready(struct th_live *l);
/* A result for one of the person's tickets. */
void th_live_person_done(struct th_live *l, struct th_ticket t, const struct th_effect_result *r);
/* Is it taken?  Then resuming it, or stopping it, gives it back first. */
bool th_live_taken(const struct th_live *l);
TH_NODISCARD enum th_code th_live_give_back(struct th_live *l, struct th_str reason, bool look,
					    struct th_err *err);
void th_live_person_free(struct th_live *l);

#endif
