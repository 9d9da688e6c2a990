/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transcript.h - the callbacks that replace the history: session_input and compact.
 */
#ifndef TH_TURNS_TRANSCRIPT_H
#define TH_TURNS_TRANSCRIPT_H

#include "live/live.h"

/* True: the request waits for the code's answer. */
bool th_live_join(struct th_live *l);
bool th_live_compact(struct th_live *l);

#endif
