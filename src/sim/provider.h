/* SPDX-License-Identifier: Apache-2.0 */
/*
 * provider.h - the simulator's model: draws an answer, as the bytes that a
 * provider of the Responses wire would send, good, bad and ugly.
 */
#ifndef TH_SIM_PROVIDER_H
#define TH_SIM_PROVIDER_H

#include "live/world.h"
#include "sim/disk.h"

/* One answer on its way. */
struct th_sim_answer {
	struct th_buf body;
	struct th_model_end end;
	bool endless; /* nothing more comes before the deadline */
};

/* `numbers` makes ids unique in a simulation.  final_in: one answer in so many is a last one.
 * `team`: calls may hand over to its agents; `asks`: so many calls more may ask them (NULL: none
 * may). */
void th_sim_answer_draw(struct th_sim_random *r, uint64_t *numbers, unsigned final_in, bool team,
			unsigned *asks, struct th_sim_answer *ret);

/* In its place: the provider works on it by itself. */
void th_sim_answer_not_yet(uint64_t *numbers, struct th_sim_answer *ret);

#endif
