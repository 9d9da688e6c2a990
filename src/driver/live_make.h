/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_make.h - a session in memory: made, fitted to its configuration, and freed.
 */
#ifndef TH_DRIVER_LIVE_MAKE_H
#define TH_DRIVER_LIVE_MAKE_H

#include "live/live.h"

/* Without its configuration: th_live_fit must follow. */
TH_NODISCARD enum th_code th_live_new(struct th_driver *d, struct th_str id,
				      const struct th_observer *observer, struct th_live **ret,
				      struct th_err *err);
TH_NODISCARD enum th_code
th_live_fit(struct th_live *l, const struct th_session_config *session_config, struct th_err *err);
void th_live_free(struct th_live *l); /* nothing of it waits to be written */
/* What waits to be written is given up. */
void th_live_drop(struct th_live *l);

#endif
