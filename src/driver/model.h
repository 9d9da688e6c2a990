/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - one model request, from its event to its answer.
 */
#ifndef TH_DRIVER_MODEL_H
#define TH_DRIVER_MODEL_H

#include "driver/live.h"

/* Whether a limit of tokens or cost cannot count this answer of the model `p`. */
bool th_live_unmetered(const struct th_live *l, const struct th_profile *p,
		       const struct th_usage *u, int64_t cost_nano);
void th_live_request(struct th_live *l);    /* REQUEST: writes MODEL_REQUESTED */
void th_live_model_call(struct th_live *l); /* MODEL_CALL: sends it */
void th_live_model_cancel(struct th_live *l, bool log);
void th_driver_texts_free(struct th_driver *d);
/* A blob as base64.  Each need is ended by one th_driver_text_drop. */
TH_NODISCARD enum th_code th_driver_text_need(struct th_driver *d, const struct th_digest *hash,
					      struct th_str *ret, struct th_err *err);
void th_driver_text_drop(struct th_driver *d, const struct th_digest *hash);
void th_live_poll(struct th_live *l); /* the timer expired */

#endif
