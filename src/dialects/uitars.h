/* SPDX-License-Identifier: Apache-2.0 */
/*
 * uitars.h - what the generations of UI-TARS share: its words.
 */
#ifndef TH_DIALECTS_UITARS_H
#define TH_DIALECTS_UITARS_H

#include "dialects/call.h"

bool th_uitars_knows(struct th_str name);
/* TH_EPROTO, TH_EUSAGE: a sentence for the model. */
TH_NODISCARD enum th_code th_uitars_word(const struct th_dialect_context *c,
					 const struct th_text_call *call, struct th_arena *a,
					 struct th_word *ret, struct th_err *err);

/* Why no generation can say it, or NULL; its word; of a scroll, where to. */
const char *th_uitars_unsayable(const struct th_action *a);
const char *th_uitars_word_of(const struct th_action *a);
const char *th_uitars_direction(const struct th_action *a);
struct th_str th_uitars_key(struct th_str key); /* as it is written in a chord */

#define TH_UITARS_WAIT_MS 5000 /* what its wait() is */

#endif
